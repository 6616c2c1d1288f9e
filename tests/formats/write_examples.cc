// Writes one file of each format into a folder, for formats_test.py to read
// with the libraries that strangers use.
//
//   write_examples FOLDER

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/file_env.h"
#include "common/npz_writer.h"
#include "common/posix_file_env.h"
#include "common/safetensors_writer.h"
#include "common/status.h"
#include "common/tensor_file.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/export.h"
#include "worker/metrics/csv_writer.h"
#include "worker/metrics/event_writer.h"

namespace selari {
namespace {

// 0, 1, 2, … as bytes.
absl::Status WriteRising(TensorFileWriter& writer, int64_t size_bytes) {
  for (int64_t i = 0; i < size_bytes; ++i) {
    SELARI_RETURN_IF_ERROR(writer.Append(std::string(1, static_cast<char>(i))));
  }
  return writer.Finish().status();
}

absl::Status WriteTensorFiles(FileEnv& env, const std::string& dir) {
  SELARI_ASSIGN_OR_RETURN(
      const std::unique_ptr<TensorFileWriter> safetensors,
      CreateSafetensorsFile(env, JoinPath(dir, "types.safetensors"),
                            {{"f64", ElementType::kF64, {1, 2}},
                             {"i64", ElementType::kI64, {}},
                             {"f16", ElementType::kF16, {3}},
                             {"none", ElementType::kF32, {0, 4}},
                             {"bool", ElementType::kBool, {2}},
                             {"odd \"name\"\\", ElementType::kU8, {1}}},
                            {{"key", "a \"value\""}}));
  SELARI_RETURN_IF_ERROR(WriteRising(*safetensors, 33));
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFileWriter> npz,
                          CreateNpzFile(env, JoinPath(dir, "types.npz"),
                                        {{"f64", ElementType::kF64, {1, 2}},
                                         {"i64", ElementType::kI64, {}},
                                         {"f16", ElementType::kF16, {3}},
                                         {"none", ElementType::kF32, {0, 4}},
                                         {"bool", ElementType::kBool, {2}}}));
  return WriteRising(*npz, 32);
}

absl::Status WriteCheckpoint(FileEnv& env, const std::string& dir) {
  SELARI_ASSIGN_OR_RETURN(const std::string path,
                          WriteExample(env, JoinPath(dir, "checkpoints"), {}));
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                          CheckpointReader::Open(env, path));
  ExportOptions options;
  options.include_slots = true;
  SELARI_RETURN_IF_ERROR(ExportCheckpoint(env, *reader,
                                          JoinPath(dir, "model.safetensors"),
                                          options)
                             .status());
  options.format = ExportFormat::kNpz;
  return ExportCheckpoint(env, *reader, JoinPath(dir, "model.npz"), options)
      .status();
}

// A run of 100 steps, and another that goes on from step 50.
absl::Status WriteMetrics(FileEnv& env, const std::string& dir) {
  for (int64_t start : {0, 50}) {
    EventWriter::Options options;
    options.dir = JoinPath(dir, "tensorboard");
    options.host = "test";
    options.wall_time_ms = 1'000'000 + start * 1000;
    options.restart_step = start == 0 ? -1 : start;
    SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<EventWriter> events,
                            EventWriter::Create(env, options));
    CsvWriter::Options csv_options;
    csv_options.path = JoinPath(dir, "metrics.csv");
    csv_options.columns = {"train_loss", "test_accuracy"};
    csv_options.restart_step = options.restart_step;
    SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<CsvWriter> csv,
                            CsvWriter::Create(env, csv_options));
    for (int64_t step = start; step < start + 100; step += 10) {
      const double loss = 1.0 / static_cast<double>(1 + step + start);
      SELARI_RETURN_IF_ERROR(
          events->Write(options.wall_time_ms + step, step,
                        {{"train/loss", loss}, {"test/accuracy", 0.5}}));
      SELARI_RETURN_IF_ERROR(csv->Write(step, {{loss}, std::nullopt}));
    }
    SELARI_RETURN_IF_ERROR(events->Sync());
    SELARI_RETURN_IF_ERROR(csv->Sync());
  }
  return absl::OkStatus();
}

absl::Status WriteAll(const std::string& dir) {
  PosixFileEnv env;
  SELARI_RETURN_IF_ERROR(env.CreateDirs(dir));
  SELARI_RETURN_IF_ERROR(WriteTensorFiles(env, dir));
  SELARI_RETURN_IF_ERROR(WriteCheckpoint(env, dir));
  return WriteMetrics(env, dir);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  const absl::Status status =
      argc == 2 ? selari::WriteAll(argv[1])
                : absl::InvalidArgumentError("usage: write_examples FOLDER");
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
