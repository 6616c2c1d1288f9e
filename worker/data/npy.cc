#include "worker/data/npy.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/printable.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr absl::string_view kMagic = "\x93NUMPY";

// What the dictionary says. NumPy writes exactly these three keys.
struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// A cursor over the dictionary's text; each Take skips leading blanks.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  bool Parse(Header* header) {
    bool seen_descr = false, seen_order = false, seen_shape = false;
    if (!Take("{")) {
      return false;
    }
    while (!Take("}")) {
      std::string key;
      if (!TakeString(&key) || !Take(":")) {
        return false;
      }
      bool* const seen = key == "descr"           ? &seen_descr
                         : key == "fortran_order" ? &seen_order
                         : key == "shape"         ? &seen_shape
                                                  : nullptr;
      if (seen == nullptr || *seen) {
        return false;
      }
      *seen = true;
      const bool valid = seen == &seen_descr   ? TakeString(&header->descr)
                         : seen == &seen_order ? TakeBool(header)
                                               : TakeShape(header);
      if (!valid) {
        return false;
      }
      Take(",");
    }
    return seen_descr && seen_order && seen_shape;
  }

 private:
  bool Take(absl::string_view token) {
    text_ = absl::StripLeadingAsciiWhitespace(text_);
    return absl::ConsumePrefix(&text_, token);
  }

  bool TakeString(std::string* value) {
    const absl::string_view quote = Take("'") ? "'" : Take("\"") ? "\"" : "";
    const std::size_t end = text_.find(quote);
    if (quote.empty() || end == absl::string_view::npos) {
      return false;
    }
    *value = std::string(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return true;
  }

  bool TakeBool(Header* header) {
    header->fortran_order = Take("True");
    return header->fortran_order || Take("False");
  }

  bool TakeShape(Header* header) {
    if (!Take("(")) {
      return false;
    }
    while (!Take(")")) {
      text_ = absl::StripLeadingAsciiWhitespace(text_);
      const std::size_t digits = text_.find_first_not_of("0123456789");
      int64_t dim = 0;
      if (digits == absl::string_view::npos ||
          !absl::SimpleAtoi(text_.substr(0, digits), &dim)) {
        return false;
      }
      text_.remove_prefix(digits);
      absl::ConsumePrefix(&text_, "L");  // Python 2 wrote 60000L.
      header->shape.push_back(dim);
      Take(",");
    }
    return true;
  }

  absl::string_view text_;
};

// "<f4": byte order, kind, bytes.
absl::Status SetType(absl::string_view descr, EncodedArray* array) {
  struct Known {
    absl::string_view code;
    EncodedType type;
  };
  constexpr Known kKnown[] = {
      {"b1", EncodedType::kUint8},   {"i1", EncodedType::kInt8},
      {"u1", EncodedType::kUint8},   {"i2", EncodedType::kInt16},
      {"u2", EncodedType::kUint16},  {"i4", EncodedType::kInt32},
      {"u4", EncodedType::kUint32},  {"i8", EncodedType::kInt64},
      {"u8", EncodedType::kUint64},  {"f4", EncodedType::kFloat32},
      {"f8", EncodedType::kFloat64},
  };
  if (descr.size() == 3 && absl::StrContains("<>|=", descr.substr(0, 1))) {
    for (const Known& known : kKnown) {
      if (descr.substr(1) == known.code) {
        array->type = known.type;
        array->big_endian = descr[0] == '>';
        return absl::OkStatus();
      }
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      array->source, ": NumPy element type '", Excerpt(descr),
      "' is not supported; save a.astype('float32') or an integer type"));
}

// Finds the dictionary, whose length field depends on the version.
absl::StatusOr<absl::string_view> HeaderText(const std::string& source,
                                             const std::string& bytes) {
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < kMagic.size() + 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": does not start as a .npy file (", bytes.size(),
                     " bytes); write it with numpy.save"));
  }
  const int version = static_cast<uint8_t>(bytes[kMagic.size()]);
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": .npy format version ", version,
                     " is not known; write it with numpy.save"));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t length_begin = kMagic.size() + 2;
  const std::size_t text_begin = length_begin + length_bytes;
  uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes && text_begin <= bytes.size(); ++i) {
    length |= uint64_t{static_cast<uint8_t>(bytes[length_begin + i])}
              << (8 * i);
  }
  if (text_begin > bytes.size() || length > bytes.size() - text_begin) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": .npy header takes ", text_begin + length,
        " bytes, the file has ", bytes.size(), "; fetch it again"));
  }
  return absl::string_view(bytes).substr(text_begin, length);
}

}  // namespace

absl::StatusOr<EncodedArray> ParseNpy(std::string source, std::string bytes) {
  SELARI_ASSIGN_OR_RETURN(const absl::string_view text,
                          HeaderText(source, bytes));
  Header header;
  if (!HeaderParser(text).Parse(&header)) {
    return absl::InvalidArgumentError(absl::StrCat(
        source,
        ": .npy header is not the usual {'descr', 'fortran_order', 'shape'} "
        "(structured arrays and objects are not supported); save a plain "
        "array with numpy.save"));
  }
  EncodedArray array;
  array.source = std::move(source);
  SELARI_RETURN_IF_ERROR(SetType(header.descr, &array));
  if (header.fortran_order && header.shape.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(array.source, ": array of shape ", ShapeName(header.shape),
                     " is in Fortran order; save numpy.ascontiguousarray(a)"));
  }
  array.shape = std::move(header.shape);
  array.elements_begin =
      static_cast<std::size_t>(text.data() + text.size() - bytes.data());
  // Moving a short string moves its bytes, so the offset comes first.
  array.bytes = std::move(bytes);
  SELARI_RETURN_IF_ERROR(CheckLength(array, ".npy"));
  return array;
}

}  // namespace selari
