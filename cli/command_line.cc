#include "cli/command_line.h"

#include <functional>
#include <memory>
#include <sstream>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/bench_command_line.h"
#include "cli/chaos/fault_plan.h"
#include "cli/exit_code.h"
#include "cli/option_parts.h"
#include "cli/suggest.h"
#include "cli/unknown_flag.h"
#include "common/printable.h"
#include "common/version.h"

namespace selari {
namespace {

constexpr char kAbout[] =
    "Selari trains models on sharded parameter servers, or on one machine with "
    "the same result, bit for bit.";

constexpr char kExitCodes[] =
    "Exit codes: 0 done; 1 failed; 2 wrong command line or job file, or a file "
    "that it names is missing; 3 a member of the cluster is missing or was "
    "lost; 4 stored data is damaged; 128+n train was ended by signal n (130 "
    "after Ctrl-C, the run is saved).";

constexpr char kLauncher[] =
    "From a clone, ./selari also has the commands build, test, format and "
    "lint; see docs/HACKING.md.";

// One subcommand: its options and how it becomes a Command.
class Builder {
 public:
  Builder() : app_(kAbout, "selari") {
    app_.require_subcommand(1);
    app_.footer(std::string("Examples:\n"
                            "  selari train job.textproto\n"
                            "  selari train job.textproto --centralised\n"
                            "  selari COMMAND --help\n\n") +
                kExitCodes + "\n\n" + kLauncher);
    app_.set_version_flag("--version", std::string("selari ") + kVersion,
                          "Print the version");
    AddTrain();
    AddCoordinator();
    AddServer();
    AddWorker();
    AddStatus();
    AddCheckpoint();
    AddDigest();
    AddExport();
    AddChaos();
    AddBench(&app_, &bench_, [this](std::function<Command()> result) {
      result_ = std::move(result);
    });
    Add("version", "Print the version.", "selari version", &version_);
  }

  Command Parse(int argc, const char* const* argv) {
    if (argc <= 1) {
      return ExitNow{kExitUsage, app_.help()};
    }
    if (argv[1][0] != '-' && !HasCommand(argv[1])) {
      return ExitNow{kExitUsage, UnknownCommand(argv[1])};
    }
    // CLI11 reports by exceptions; they end here.
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      std::ostringstream out;
      std::ostringstream err;
      const int code = app_.exit(error, out, err);
      if (code != 0) {
        // What the value of an unknown flag is taken for is not the fault.
        const std::string unknown = UnknownFlag(&app_, argc, argv);
        return ExitNow{kExitUsage,
                       Refusal(unknown.empty() ? error.what() : unknown)};
      }
      return ExitNow{kExitOk, out.str() + err.str()};
    }
    train_.job.program = argv[0];
    coordinator_.job.program = argv[0];
    chaos_.job.program = argv[0];
    return result_();
  }

 private:
  bool HasCommand(const std::string& name) {
    for (const CLI::App* command : app_.get_subcommands({})) {
      if (command->get_name() == name) {
        return true;
      }
    }
    return false;
  }

  // One sentence that ends with the help of the command that was meant.
  std::string Refusal(const std::string& reason) {
    std::string help = "selari";
    for (CLI::App* command = &app_; command != nullptr;) {
      const std::vector<CLI::App*> used = command->get_subcommands();
      command = used.empty() ? nullptr : used.front();
      help += command == nullptr ? "" : " " + command->get_name();
    }
    return "selari: error: " + Printable(reason) + "; see `" + help +
           " --help`\n";
  }

  std::string UnknownCommand(const std::string& name) {
    std::vector<std::string> known;
    for (const CLI::App* command : app_.get_subcommands({})) {
      known.push_back(command->get_name());
    }
    const std::string nearest = Nearest(name, known);
    return Refusal(absl::StrCat(
        "there is no command \"", name, "\", ",
        nearest.empty() ? absl::StrCat("there are: ", absl::StrJoin(known, " "))
                        : "did you mean " + nearest + "?"));
  }

  // A subcommand that yields *options.
  template <class Options>
  CLI::App* Add(const char* name, const char* about, const char* examples,
                Options* options) {
    CLI::App* command = app_.add_subcommand(name, about);
    command->footer(std::string("Examples:\n  ") + examples);
    command->callback(
        [this, options] { result_ = [options] { return Command(*options); }; });
    return command;
  }

  void AddJobOptions(CLI::App* command, JobOptions* job) {
    AddJobFile(command, &job->job_file);
    AddAssignments(command, &job->assignments);
    command
        ->add_option("--servers", job->servers,
                     "Server processes (cluster.servers)")
        ->check(Between(0, kMembersMax));
    command
        ->add_option("--workers", job->workers,
                     "Worker processes (cluster.workers)")
        ->check(Between(1, kMembersMax));
    command
        ->add_option("--steps", job->steps,
                     "Updates in all, 1 or more (training.steps)")
        ->check(Between(1, kNoLimit));
    command
        ->add_option("--output", job->output,
                     "Folder for checkpoints, metrics and logs. Default: a "
                     "new one below selari-output")
        ->check(PathText());
  }

  void AddResume(CLI::App* command, JobOptions* job) {
    command->add_flag("--resume", job->resume,
                      "Go on from the newest checkpoint in --output");
  }

  void AddTrain() {
    CLI::App* command =
        Add("train",
            "Train a model, on one machine or on an embedded cluster of "
            "server and worker processes.",
            "selari train job.textproto\n"
            "  selari train job.textproto --centralised --output run1\n"
            "  selari train job.textproto --servers 2 --workers 4\n"
            "  selari train job.textproto --set optimizer.learning_rate=0.01\n"
            "  selari train job.textproto --output run1 --resume",
            &train_);
    AddJobOptions(command, &train_.job);
    AddResume(command, &train_.job);
    command->add_flag("--centralised,--centralized", train_.job.centralised,
                      "Train in this one process");
    AddJson(command, &train_.json);
  }

  void AddJson(CLI::App* command, bool* json) {
    command->add_flag("--json", *json,
                      "Print events as JSON, one object a line");
  }

  void AddCoordinator() {
    CLI::App* command =
        Add("coordinator",
            "Run a job's coordinator: membership, shard map, checkpoints.",
            "selari coordinator job.textproto --servers 2 --workers 2 "
            "--listen 127.0.0.1:7070 --output run1",
            &coordinator_);
    AddJobOptions(command, &coordinator_.job);
    AddResume(command, &coordinator_.job);
    command
        ->add_option("--listen", coordinator_.listen,
                     "Address to serve on, host:port")
        ->capture_default_str()
        ->check(HostAndPort());
    AddJson(command, &coordinator_.json);
  }

  void AddServer() {
    CLI::App* command = Add(
        "server", "Run a parameter server: hosts a part of the weights.",
        "selari server --coordinator 127.0.0.1:7070\n"
        "  selari server --coordinator 10.0.0.1:7070 --listen 10.0.0.2:7071",
        &server_);
    AddCoordinatorAddress(command, &server_.coordinator);
    command
        ->add_option("--listen", server_.listen,
                     "Address to serve on, host:port; port 0 picks a free "
                     "one")
        ->capture_default_str()
        ->check(HostAndPort());
    command
        ->add_option("--advertise", server_.advertise,
                     "Address that others reach it by. Default: the one "
                     "it listens on")
        ->check(HostAndPort());
    AddId(command, &server_.id);
    command
        ->add_option("--threads", server_.threads,
                     "Threads that apply updates (cluster.server_threads)")
        ->check(Between(1, kThreadsMax));
  }

  void AddWorker() {
    CLI::App* command =
        Add("worker",
            "Run a worker: computes gradients of its part of every batch.",
            "selari worker --coordinator 127.0.0.1:7070\n"
            "  selari worker --coordinator 10.0.0.1:7070 --id 1 --data-folder "
            "/srv/data",
            &worker_);
    AddCoordinatorAddress(command, &worker_.coordinator);
    command
        ->add_option("--data-folder", worker_.data_folder,
                     "Where relative paths of the job's data start, if that "
                     "is not the folder it is started in")
        ->capture_default_str()
        ->check(PathText());
    AddId(command, &worker_.id);
    command
        ->add_option("--threads", worker_.threads,
                     "Compute threads (cluster.worker_threads)")
        ->check(Between(1, kThreadsMax));
  }

  void AddStatus() {
    CLI::App* command =
        Add("status", "Show a job: state, members, progress, how it ended.",
            "selari status --coordinator 127.0.0.1:7070\n"
            "  selari status --watch\n"
            "  selari status --output run1",
            &status_);
    AddCoordinatorAddress(command, &status_.coordinator);
    CLI::Option* watch = command->add_flag(
        "--watch", status_.watch,
        "Follow until the job ends; 1 if it fails. Waits up to 300 s for a "
        "coordinator that is not there yet");
    command
        ->add_option("--output", status_.output,
                     "Read what the coordinator left in a run's output folder "
                     "instead of asking it")
        ->excludes(watch)
        ->check(PathText());
    command->add_flag("--json", status_.json, "Print JSON");
  }

  void AddCheckpoint() {
    CLI::App* command =
        app_.add_subcommand("checkpoint", "List, verify or take checkpoints.");
    command->require_subcommand(1);
    command->footer(
        "Examples:\n"
        "  selari checkpoint list run1\n"
        "  selari checkpoint verify run1/checkpoints/step-000000000100\n"
        "  selari checkpoint save --coordinator 127.0.0.1:7070");
    using Action = CheckpointCommand::Action;
    CLI::App* list =
        AddAction(command, "list",
                  "List the checkpoints of a run, oldest first", Action::kList);
    list->add_option("path", checkpoint_.path, "Output folder of the run")
        ->required()
        ->check(PathText());
    CLI::App* verify = AddAction(command, "verify",
                                 "Read a checkpoint and check every checksum",
                                 Action::kVerify);
    verify
        ->add_option("path", checkpoint_.path,
                     "A checkpoint, or a run for its newest")
        ->required()
        ->check(PathText());
    AddCoordinatorAddress(
        AddAction(command, "save", "Take a checkpoint of a running job",
                  Action::kSave),
        &checkpoint_.coordinator);
  }

  CLI::App* AddAction(CLI::App* command, const char* name, const char* about,
                      CheckpointCommand::Action action) {
    CLI::App* sub = command->add_subcommand(name, about);
    sub->callback([this, action] {
      checkpoint_.action = action;
      result_ = [this] { return Command(checkpoint_); };
    });
    return sub;
  }

  void AddDigest() {
    CLI::App* command =
        Add("digest",
            "Print the digest of a checkpoint's weights, optimizer slots and "
            "step; equal digests mean equal bits.",
            "selari digest run1\n"
            "  selari digest run1/checkpoints/step-000000000100",
            &digest_);
    command
        ->add_option("path", digest_.path,
                     "A checkpoint, or a run for its newest")
        ->required()
        ->check(PathText());
  }

  void AddExport() {
    CLI::App* command =
        Add("export", "Write a checkpoint's tensors into one file.",
            "selari export run1 --output model.safetensors\n"
            "  selari export run1 --output model.npz",
            &export_);
    command
        ->add_option("path", export_.path,
                     "A checkpoint, or a run for its newest")
        ->required()
        ->check(PathText());
    command->add_option("--output", export_.output, "The file to write")
        ->required()
        ->check(PathText());
    command
        ->add_option("--format", export_.format,
                     "safetensors or npz. Default: as the name of the file "
                     "ends")
        ->check(CLI::IsMember({"safetensors", "npz"}));
    command->add_flag("--slots", export_.slots, "Also the optimizer's slots");
  }

  void AddChaos() {
    CLI::App* command = Add(
        "chaos",
        "Rehearse failures: train a job once undisturbed, then again and again "
        "while its processes are killed, and say whether the model is the same "
        "and whether each acknowledged push counted once. Exit code 0 if so.",
        "selari chaos job.textproto\n"
        "  selari chaos job.textproto --servers 3 --workers 3 --minutes 10\n"
        "  selari chaos job.textproto --set "
        "checkpointing.durability=DURABILITY_JOURNALED\n"
        "  selari chaos job.textproto --faults kill-coordinator,pause-server",
        &chaos_);
    AddJobOptions(command, &chaos_.job);
    command
        ->add_option("--minutes", chaos_.minutes,
                     "How long to disturb, after the undisturbed run; the last "
                     "run is let to its end")
        ->capture_default_str()
        ->check(CLI::Range(0.05, 1e6));
    command
        ->add_option("--every", chaos_.every_seconds,
                     "Seconds between two faults, on average")
        ->capture_default_str()
        ->check(CLI::Range(0.5, 1e6));
    command
        ->add_option("--faults", chaos_.faults,
                     "What happens, each as often as the others: kill-server, "
                     "kill-worker, kill-coordinator (all processes end, and go "
                     "on with --resume), pause-server, pause-worker (for 0.2 "
                     "to 2 s)")
        ->capture_default_str()
        ->delimiter(',')
        ->check(CLI::IsMember(FaultNames()));
    command
        ->add_option("--seed", chaos_.seed,
                     "Of the faults: the same ones in the same order")
        ->capture_default_str()
        ->check(Between(0, kNoLimit));
    AddJson(command, &chaos_.json);
  }

  void AddCoordinatorAddress(CLI::App* command, std::string* address) {
    command
        ->add_option("--coordinator", *address,
                     "The coordinator's address, host:port")
        ->capture_default_str()
        ->check(HostAndPort());
  }

  void AddId(CLI::App* command, int32_t* id) {
    command
        ->add_option("--id", *id,
                     "Its number, from 0. Default: the next free one")
        ->check(Between(0, kMembersMax - 1));
  }

  CLI::App app_;
  std::function<Command()> result_;
  TrainCommand train_;
  CoordinatorCommand coordinator_;
  ServerCommand server_;
  WorkerCommand worker_;
  StatusCommand status_;
  CheckpointCommand checkpoint_;
  DigestCommand digest_;
  ExportCommand export_;
  ChaosCommand chaos_;
  BenchCommands bench_;
  VersionCommand version_;
};

}  // namespace

Command ParseCommandLine(int argc, const char* const* argv) {
  return Builder().Parse(argc, argv);
}

}  // namespace selari
