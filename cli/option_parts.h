// Options and checks that several commands share.
//
// Thread safety: pure functions, but for the app that they add to.

#ifndef SELARI_CLI_OPTION_PARTS_H_
#define SELARI_CLI_OPTION_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace selari {

// The limits of the fields of job.proto.
constexpr int64_t kMembersMax = 1024;
constexpr int64_t kThreadsMax = 256;

// More than anyone will reach: not worth a word.
constexpr int64_t kNoLimit = int64_t{1} << 62;

// A whole number in [least, most]: CLI11's own range check takes fractions and
// names no field.
CLI::Validator Between(int64_t least, int64_t most);
// A path: not empty. An empty one is a script's variable that was not set.
CLI::Validator PathText();
// host:port, both there.
CLI::Validator HostAndPort();

// The job file, needed.
void AddJobFile(CLI::App* command, std::string* job_file);
// --set FIELD=VALUE, in order.
void AddAssignments(CLI::App* command, std::vector<std::string>* fields);

}  // namespace selari

#endif  // SELARI_CLI_OPTION_PARTS_H_
