// Bytes per second that a journal takes in and commits, beside a plain write
// and fdatasync of as many bytes to the same disk, in turns, so that both see
// the same disk.
//
//   bazel run //server/log:journal_benchmark
//
// The arguments are the KiB of one gradient and the ops of one commit. The
// counters: journal and disk in bytes per second, their ratio, and the share of
// the journal's time that Append took (copy, checksum, writes of a full
// buffer). The files lie in $TEST_TMPDIR or /tmp. As a test it runs once,
// small.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/float_buffer.h"
#include "common/posix_file_env.h"
#include "server/log/journal_files.h"
#include "server/log/journal_writer.h"
#include "server/shard/reduced_gradient.h"
#include "server/shard/shard_op.h"

namespace selari {
namespace {

// Files begin anew after so many bytes, to bound what lies on the disk.
constexpr int64_t kFileBytesMax = int64_t{512} << 20;
const JournalId kId = {"benchmark", 0};

void Check(const absl::Status& status) { SELARI_CHECK(status.ok()); }

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

// A plain file that grows as the journal does.
class PlainFile {
 public:
  PlainFile(FileEnv* env, std::string path)
      : env_(env), path_(std::move(path)) {}

  void StartFile() {
    auto file = env_->OpenForWrite(path_);
    Check(file.status());
    file_ = *std::move(file);
    Check(file_->Sync());
  }
  void Write(absl::string_view bytes, int64_t times) {
    for (int64_t i = 0; i < times; ++i) {
      Check(file_->Append(bytes));
    }
    Check(file_->Sync());
  }

 private:
  FileEnv* const env_;
  const std::string path_;
  std::unique_ptr<WritableFile> file_;
};

// Both files anew, outside of all times.
void StartFiles(FileEnv* env, const std::string& dir, JournalWriter* writer,
                PlainFile* plain) {
  Check(writer->StartFile(0));
  Check(RemoveJournalFilesBefore(*env, dir, kId, writer->next_sequence()));
  plain->StartFile();
}

void AppendAndCommit(benchmark::State& state) {
  const int64_t floats = state.range(0) * 256;
  const int64_t ops = state.range(1);
  const char* const temporary = std::getenv("TEST_TMPDIR");
  const std::string dir =
      JoinPath(temporary == nullptr ? "/tmp" : temporary, "journal_benchmark");
  PosixFileEnv env;
  Check(RemoveTree(env, dir));
  auto writer = JournalWriter::Open(&env, {dir, kId});
  Check(writer.status());
  PlainFile plain(&env, JoinPath(dir, "plain"));

  auto gradient = FloatBuffer::Allocate(floats);
  for (int64_t i = 0; i < floats; ++i) {
    gradient->data()[i] = static_cast<float>(i) * 0.001f;
  }
  const absl::string_view bytes(reinterpret_cast<const char*>(gradient->data()),
                                static_cast<size_t>(gradient->size_bytes()));
  const ShardOp op = ReducedOp{
      0, 0, ReducedGradient(FloatSlice(gradient->data(), floats, gradient))};

  double append_seconds = 0;
  double journal_seconds = 0;
  double plain_seconds = 0;
  int64_t file_bytes = kFileBytesMax;
  for (auto _ : state) {
    if (file_bytes >= kFileBytesMax) {
      StartFiles(&env, dir, writer->get(), &plain);
      file_bytes = 0;
    }
    const auto plain_begin = std::chrono::steady_clock::now();
    plain.Write(bytes, ops);
    plain_seconds += SecondsSince(plain_begin);

    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < ops; ++i) {
      Check((*writer)->Append(op));
    }
    append_seconds += SecondsSince(begin);
    Check((*writer)->Commit());
    const double seconds = SecondsSince(begin);
    journal_seconds += seconds;
    state.SetIterationTime(seconds);
    file_bytes += ops * gradient->size_bytes();
  }
  const auto total =
      static_cast<double>(state.iterations() * ops * gradient->size_bytes());
  using benchmark::Counter;
  state.counters["journal"] =
      Counter(total / journal_seconds, Counter::kDefaults, Counter::kIs1000);
  state.counters["disk"] =
      Counter(total / plain_seconds, Counter::kDefaults, Counter::kIs1000);
  state.counters["ratio"] = plain_seconds / journal_seconds;
  state.counters["append"] = append_seconds / journal_seconds;
  Check(RemoveTree(env, dir));
}

BENCHMARK(AppendAndCommit)
    ->Args({1, 1})
    ->Args({1, 64})
    ->Args({256, 1})
    ->Args({256, 4})
    ->Args({256, 64})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace selari
