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
// The instruction takes a word a cycle but has its result after three, so three
// lanes of the bytes run side by side. The checksum is linear: a lane's own,
// begun at 0, is added to what the lanes before it become behind so many zeros.
constexpr std::size_t kLaneBytes = 1024;

using LaneShift = std::array<std::array<uint32_t, 256>, 4>;

// shift[k][b]: what byte k of a state, being b, becomes behind kLaneBytes
// zeros.
constexpr LaneShift MakeLaneShift() {
  std::array<uint32_t, 32> bits{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    uint32_t state = uint32_t{1} << bit;
    for (std::size_t i = 0; i < kLaneBytes; ++i) {
      state = (state >> 8) ^ kTables[0][state & 0xff];
    }
    bits[bit] = state;
  }
  LaneShift shift{};
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t byte = 1; byte < 256; ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        shift[k][byte] ^= (byte >> bit & 1) != 0 ? bits[8 * k + bit] : 0;
      }
    }
  }
  return shift;
}

constexpr LaneShift kLaneShift = MakeLaneShift();

uint32_t ShiftLane(uint64_t state) {
  return kLaneShift[0][state & 0xff] ^ kLaneShift[1][state >> 8 & 0xff] ^
         kLaneShift[2][state >> 16 & 0xff] ^ kLaneShift[3][state >> 24 & 0xff];
}

uint64_t Word(const char* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

// The processor's own instruction, several times the speed of the tables.
__attribute__((target("sse4.2"))) uint32_t ExtendSse42(uint32_t state,
                                                       const char* data,
                                                       std::size_t size) {
  uint64_t wide = state;
  for (; size >= 3 * kLaneBytes;
       data += 3 * kLaneBytes, size -= 3 * kLaneBytes) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (std::size_t i = 0; i < kLaneBytes; i += 8) {
      wide = __builtin_ia32_crc32di(wide, Word(data + i));
      second = __builtin_ia32_crc32di(second, Word(data + kLaneBytes + i));
      third = __builtin_ia32_crc32di(third, Word(data + 2 * kLaneBytes + i));
    }
    wide = ShiftLane(ShiftLane(wide) ^ second) ^ third;
  }
  for (; size >= 8; data += 8, size -= 8) {
    wide = __builtin_ia32_crc32di(wide, Word(data));
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
