#include "cli/this_program.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace selari {

absl::StatusOr<std::string> ThisProgram() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0 || size == sizeof(path)) {
    return absl::InternalError("cannot find this program by /proc/self/exe");
  }
  return std::string(path, static_cast<size_t>(size));
}

}  // namespace selari
