#include "common/crc32c.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace selari {
namespace {

// tables[k][b]: the checksum of byte b followed by k zero bytes. Eight of them
// let the loop take 8 bytes a turn ("slicing by 8").
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    }
    tables[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (std::size_t k = 1; k < 8; ++k) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

uint32_t ExtendPortable(uint32_t state, const char* data, std::size_t size) {
  const auto byte = [](const char* p) { return static_cast<uint8_t>(*p); };
  while (size >= 8) {
    uint32_t turned = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const uint8_t mixed =
          byte(data + k) ^ static_cast<uint8_t>(state >> (8 * k));
      turned ^= kTables[7 - k][mixed] ^ kTables[3 - k][byte(data + 4 + k)];
    }
    state = turned;
    data += 8;
    size -= 8;
  }
  for (; size > 0; --size, ++data) {
    state = (state >> 8) ^ kTables[0][(state ^ byte(data)) & 0xff];
  }
  return state;
}

#if defined(__x86_64__)
// The processor's own instruction, several times the speed of the tables.
__attribute__((target("sse4.2"))) uint32_t ExtendSse42(uint32_t state,
                                                       const char* data,
                                                       std::size_t size) {
  uint64_t wide = state;
  for (; size >= 8; data += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, data, sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
  }
  state = static_cast<uint32_t>(wide);
  for (; size > 0; --size, ++data) {
    state = __builtin_ia32_crc32qi(state, static_cast<unsigned char>(*data));
  }
  return state;
}
#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) {
    return ~ExtendSse42(~crc, bytes.data(), bytes.size());
  }
#endif
  return ~ExtendPortable(~crc, bytes.data(), bytes.size());
}

uint32_t ExtendCrc32cPortableForTest(uint32_t crc, absl::string_view bytes) {
  return ~ExtendPortable(~crc, bytes.data(), bytes.size());
}

}  // namespace selari
