// The version of the program.

#ifndef SELARI_COMMON_VERSION_H_
#define SELARI_COMMON_VERSION_H_

namespace selari {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace selari

#endif  // SELARI_COMMON_VERSION_H_
