#include "cli/prepare_run.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include "absl/strings/str_format.h"
#include "cli/find_checkpoint.h"
#include "cli/job_file.h"
#include "cli/path_check.h"
#include "common/file_lock.h"
#include "common/job_config.h"
#include "common/printable.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/resume_rules.h"
#include "server/shard/shard_job.h"

namespace selari {
namespace {

// Runs of one job that may start in one folder within a second.
constexpr int kSameSecondMax = 1000;

// Where new folders are made when no --output is named.
constexpr absl::string_view kDefaultOutput = "selari-output";

absl::StatusOr<v1::Job> ReadJob(FileEnv& env, const JobOptions& options) {
  SELARI_ASSIGN_OR_RETURN(v1::Job job, LoadJobFile(env, options.job_file));
  for (const std::string& assignment : options.assignments) {
    SELARI_RETURN_IF_ERROR(SetJobField(assignment, &job));
  }
  if (options.servers >= 0) {
    job.mutable_cluster()->set_servers(options.servers);
  }
  if (options.workers >= 0) {
    job.mutable_cluster()->set_workers(options.workers);
  }
  if (options.steps >= 0) {
    job.mutable_training()->set_steps(options.steps);
  }
  FillJobDefaults(&job);
  SELARI_RETURN_IF_ERROR(Annotate(CheckUtf8(job), options.job_file));
  // What is wrong is so in either mode, also where one does not look at it.
  SELARI_RETURN_IF_ERROR(
      Annotate(CheckClusterRanges(job.cluster()), options.job_file));
  if (options.centralised) {
    job.mutable_cluster()->set_servers(0);
    job.mutable_cluster()->set_workers(1);
  }
  SELARI_RETURN_IF_ERROR(Annotate(ValidateJob(job), options.job_file));
  return job;
}

absl::Status CheckShape(const JobOptions& options, const v1::Job& job) {
  if (options.centralised && (options.servers > 0 || options.workers > 1)) {
    return absl::InvalidArgumentError(
        "--centralised trains in one process; leave out --servers and "
        "--workers");
  }
  if (job.cluster().servers() == 0 && job.cluster().workers() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster.workers is ", job.cluster().workers(),
                     " but cluster.servers 0, which trains in one process; set "
                     "cluster.servers to at least 1, or add --centralised"));
  }
  return absl::OkStatus();
}

// A new folder, made here so that no other run that starts now has the same.
absl::StatusOr<std::string> MakeNewOutputDir(const std::string& job_name) {
  const std::time_t now = std::time(nullptr);
  std::tm local;
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
  const std::string name =
      AbsolutePath(absl::StrCat(kDefaultOutput, "/", job_name, "-", stamp));
  std::error_code error;
  std::filesystem::create_directories(std::string(DirName(name)), error);
  for (int number = 1; !error && number <= kSameSecondMax; ++number) {
    std::string path = number == 1 ? name : absl::StrCat(name, "-", number);
    if (std::filesystem::create_directory(path, error)) {
      return path;
    }
  }
  return absl::InternalError(absl::StrCat(
      "cannot make the output folder ", name, ": ",
      error ? error.message() : "too many runs start in this second"));
}

absl::Status ResumeRun(FileEnv& env, PreparedRun* run) {
  // What it has not saved yet is not missing.
  const std::string lock = JoinPath(run->output_dir, "coordinator/LOCK");
  SELARI_ASSIGN_OR_RETURN(const FileLock::Holder holder, FileLock::Find(lock));
  if (holder.held) {
    return FileLock::HeldError(lock, holder.process);
  }
  const absl::StatusOr<std::string> found =
      FindCheckpointToResume(env, run->output_dir);
  if (absl::IsNotFound(found.status())) {
    return absl::NotFoundError(absl::StrCat(found.status().message(),
                                            "; leave out --resume to start "
                                            "anew"));
  }
  SELARI_ASSIGN_OR_RETURN(run->resume_checkpoint, found);
  SELARI_ASSIGN_OR_RETURN(const v1::CheckpointManifest manifest,
                          LoadManifest(env, run->resume_checkpoint));
  run->start_step = manifest.step();
  const absl::Status fits = CheckCanGoOn(manifest.job(), run->job);
  if (!fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot go on from ", run->resume_checkpoint, ": ", fits.message()));
  }
  if (run->job.total_steps() > 0 && manifest.step() >= run->job.total_steps()) {
    return absl::InvalidArgumentError(absl::StrCat(
        run->resume_checkpoint, " has all of the job's ",
        run->job.total_steps(), " steps; raise --steps to train on"));
  }
  return absl::OkStatus();
}

// Servers are told where to write by messages, which carry UTF-8 only.
absl::Status CheckOutputName(const JobOptions& options) {
  const std::string path = AbsolutePath(
      options.output.empty() ? std::string(kDefaultOutput) : options.output);
  return IsUtf8(path) ? absl::OkStatus()
                      : absl::InvalidArgumentError(absl::StrCat(
                            "the output folder ", Printable(path),
                            " is not UTF-8; name another with --output"));
}

// Said before a folder is made or a process started.
absl::Status CheckHasLayers(const PreparedRun& run) {
  if (!run.job.job().model().has_custom()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a model of the user's own (model.custom) has no layers that `train` "
      "could compute; start `selari coordinator`, a `selari server` for each "
      "of cluster.servers, and the user's own worker");
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::absolute(path, error).lexically_normal();
  return error ? path : absolute.string();
}

absl::StatusOr<PreparedRun> PrepareJob(FileEnv& env, const JobOptions& options,
                                       DataPlace place) {
  SELARI_ASSIGN_OR_RETURN(const v1::Job job, ReadJob(env, options));
  SELARI_RETURN_IF_ERROR(CheckShape(options, job));
  PreparedRun run;
  run.base_dir = AbsolutePath(std::string(DirName(options.job_file)));
  SELARI_ASSIGN_OR_RETURN(run.job, ResolveJob(env, job, run.base_dir, place));
  // Everything that the servers would refuse is refused here, at once.
  SELARI_RETURN_IF_ERROR(
      Annotate(ShardJob::Create(run.job).status(), options.job_file));
  return run;
}

absl::Status PrepareOutput(FileEnv& env, const JobOptions& options,
                           PreparedRun* run) {
  SELARI_RETURN_IF_ERROR(CheckOutputName(options));
  if (options.output.empty()) {
    if (options.resume) {
      return absl::InvalidArgumentError(
          "--resume needs --output, the folder of the run to go on with");
    }
    SELARI_ASSIGN_OR_RETURN(run->output_dir,
                            MakeNewOutputDir(run->job.job().name()));
    return CreateDirsDurably(env, run->output_dir);
  }
  SELARI_RETURN_IF_ERROR(
      CheckNewFolder(absl::StrCat("--output ", options.output), options.output,
                     "name a folder"));
  run->output_dir = AbsolutePath(options.output);
  if (options.resume) {
    return ResumeRun(env, run);
  }
  SELARI_ASSIGN_OR_RETURN(
      const std::vector<CheckpointInfo> checkpoints,
      ListCheckpoints(env, CheckpointsDir(run->output_dir)));
  if (!checkpoints.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(run->output_dir, " holds a run with a checkpoint of step ",
                     checkpoints.back().step,
                     ": add --resume to go on, or choose another --output"));
  }
  return CreateDirsDurably(env, run->output_dir);
}

absl::StatusOr<PreparedRun> PrepareRun(FileEnv& env, const JobOptions& options,
                                       DataPlace place) {
  SELARI_ASSIGN_OR_RETURN(PreparedRun run, PrepareJob(env, options, place));
  SELARI_RETURN_IF_ERROR(Annotate(CheckHasLayers(run), options.job_file));
  SELARI_RETURN_IF_ERROR(PrepareOutput(env, options, &run));
  return run;
}

}  // namespace selari
