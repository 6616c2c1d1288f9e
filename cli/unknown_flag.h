// A flag that a command does not have.

#ifndef SELARI_CLI_UNKNOWN_FLAG_H_
#define SELARI_CLI_UNKNOWN_FLAG_H_

#include <string>

#include "CLI/CLI.hpp"

namespace selari {

// The first word that looks like a flag and is none of its command's, in a
// sentence with the flag that was meant; empty when there is none. Changes
// nothing.
std::string UnknownFlag(CLI::App* app, int argc, const char* const* argv);

}  // namespace selari

#endif  // SELARI_CLI_UNKNOWN_FLAG_H_
