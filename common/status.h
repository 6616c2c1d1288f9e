// Status helpers: the two macros through which every fallible call returns,
// so that an early return reads as one line.
//
//   SELARI_RETURN_IF_ERROR(file->Sync());
//   SELARI_ASSIGN_OR_RETURN(std::string text, ReadFile(path));

#ifndef SELARI_COMMON_STATUS_H_
#define SELARI_COMMON_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#define SELARI_STATUS_CONCAT_INNER_(a, b) a##b
#define SELARI_STATUS_CONCAT_(a, b) SELARI_STATUS_CONCAT_INNER_(a, b)

// Returns from the enclosing function when `expr` is not OK.
#define SELARI_RETURN_IF_ERROR(expr)      \
  do {                                    \
    absl::Status selari_status_ = (expr); \
    if (!selari_status_.ok()) {           \
      return selari_status_;              \
    }                                     \
  } while (false)

// Evaluates `rexpr` (an absl::StatusOr<T>), returns its error or assigns its
// value to `lhs`, which may declare a variable.
#define SELARI_ASSIGN_OR_RETURN(lhs, rexpr) \
  SELARI_ASSIGN_OR_RETURN_IMPL_(            \
      SELARI_STATUS_CONCAT_(selari_statusor_, __LINE__), lhs, rexpr)

#define SELARI_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, rexpr) \
  auto statusor = (rexpr);                                  \
  if (!statusor.ok()) {                                     \
    return statusor.status();                               \
  }                                                         \
  lhs = std::move(statusor).value()

namespace selari {

// The same code with `context` and ": " before the message. OK stays OK.
inline absl::Status Annotate(const absl::Status& status,
                             absl::string_view context) {
  if (status.ok()) {
    return status;
  }
  return absl::Status(status.code(),
                      absl::StrCat(context, ": ", status.message()));
}

}  // namespace selari

#endif  // SELARI_COMMON_STATUS_H_
