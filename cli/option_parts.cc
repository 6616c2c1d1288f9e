#include "cli/option_parts.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/host_port.h"

namespace selari {

CLI::Validator Between(int64_t least, int64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        int64_t value = 0;
        if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) {
          return "";
        }
        return most == kNoLimit
                   ? absl::StrCat(text, " is no whole number of at least ",
                                  least)
                   : absl::StrCat(text, " is no whole number in [", least, ", ",
                                  most, "]");
      },
      "");
}

CLI::Validator PathText() {
  return CLI::Validator(
      [](std::string& text) {
        return std::string(text.empty() ? "is empty; name a path" : "");
      },
      "");
}

CLI::Validator HostAndPort() {
  return CLI::Validator(
      [](std::string& text) {
        return std::string(ParseHostPort(text).status().message());
      },
      "");
}

void AddJobFile(CLI::App* command, std::string* job_file) {
  command
      ->add_option("job", *job_file, "Job file: a text proto of selari.v1.Job")
      ->required()
      ->check(PathText());
}

void AddAssignments(CLI::App* command, std::vector<std::string>* fields) {
  command
      ->add_option("--set", *fields,
                   "Change a field of the job, e.g. "
                   "optimizer.learning_rate=0.1; may be repeated")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
}

}  // namespace selari
