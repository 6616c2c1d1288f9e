#include "cli/unknown_flag.h"

#include <algorithm>
#include <vector>

#include "cli/suggest.h"

namespace selari {

std::string UnknownFlag(CLI::App* app, int argc, const char* const* argv) {
  CLI::App* command = app;
  for (int i = 1; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      for (CLI::App* inner : command->get_subcommands({})) {
        if (inner->get_name() == word) {
          command = inner;
          break;
        }
      }
      continue;
    }
    const std::string name = word.substr(2, word.find('=') - 2);
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& flag : option->get_lnames()) {
        known.push_back(flag);
      }
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string nearest = Nearest(name, known);
      return "there is no flag --" + name +
             (nearest.empty() ? "" : ", did you mean --" + nearest + "?");
    }
  }
  return "";
}

}  // namespace selari
