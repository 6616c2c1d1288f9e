// Reading a job file: a text proto of selari.v1.Job, with changes from the
// command line.
//
// Thread safety: pure functions but for reading the file.

#ifndef SELARI_CLI_JOB_FILE_H_
#define SELARI_CLI_JOB_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "selari/v1/job.pb.h"

namespace selari {

// Parses the file. Errors of FileEnv; INVALID_ARGUMENT also when it is empty or
// longer than any job, and with "path:line:column: what is wrong".
absl::StatusOr<v1::Job> LoadJobFile(FileEnv& env, absl::string_view path);

// Parses text; `name` stands for the path in messages.
absl::StatusOr<v1::Job> ParseJob(const std::string& text,
                                 absl::string_view name);

// Changes one field: "optimizer.learning_rate=0.1". A path may lead into
// repeated fields by index ("model.layers[0].dense.units=64"). The value is
// what the text proto would hold; strings need no quotes and enum values may
// be shortened ("consistency.mode=ASYNC"). Naming a message alone replaces it:
// "optimizer.adam={beta1: 0.8}". INVALID_ARGUMENT names the unknown part and
// the fields there are.
absl::Status SetJobField(absl::string_view assignment, v1::Job* job);

// Every string must be UTF-8: a message with another cannot be sent, so that a
// cluster would fail halfway. INVALID_ARGUMENT names the field.
absl::Status CheckUtf8(const google::protobuf::Message& message);

}  // namespace selari

#endif  // SELARI_CLI_JOB_FILE_H_
