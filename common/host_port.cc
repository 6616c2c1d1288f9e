#include "common/host_port.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"

namespace selari {

absl::StatusOr<HostPort> ParseHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0 ||
      colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address \"", Excerpt(address),
                     "\" is not host:port, e.g. 127.0.0.1:7070"));
  }
  HostPort result;
  const absl::string_view port = address.substr(colon + 1);
  if (!absl::SimpleAtoi(port, &result.port) || result.port < 0 ||
      result.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("address \"", Excerpt(address), "\": port is ",
                     Excerpt(port), ", must be a number in [0, 65535]"));
  }
  absl::string_view host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  result.host = std::string(host);
  return result;
}

}  // namespace selari
