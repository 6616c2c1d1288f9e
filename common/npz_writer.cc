#include "common/npz_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/tensor_file.h"

namespace selari {
namespace {

// Numbers of PKWARE's APPNOTE 6.3; the field names below are its own.
constexpr uint32_t kLocalFileHeader = 0x04034b50;
constexpr uint32_t kDataDescriptor = 0x08074b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kZip64EndRecord = 0x06064b50;
constexpr uint32_t kZip64EndLocator = 0x07064b50;
constexpr uint32_t kEndRecord = 0x06054b50;
constexpr uint16_t kVersionZip64 = 45;
constexpr uint16_t kFlagDataDescriptor = 1 << 3;
constexpr uint16_t kMethodStored = 0;
constexpr uint16_t kZip64ExtraTag = 1;
// 1980-01-01 00:00: the same tensors give the same file at any time.
constexpr uint16_t kDosTime = 0;
constexpr uint16_t kDosDate = (0 << 9) | (1 << 5) | 1;
// "See the zip64 field instead."
constexpr uint16_t kIn64Short = 0xffff;
constexpr uint32_t kIn64 = 0xffffffff;

constexpr std::size_t kNameBytesMax = 65000;

// Appends little-endian numbers.
class Record {
 public:
  Record& U16(uint16_t value) { return Put(value, 2); }
  Record& U32(uint32_t value) { return Put(value, 4); }
  Record& U64(uint64_t value) { return Put(value, 8); }
  Record& Text(absl::string_view text) {
    bytes_.append(text.data(), text.size());
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& Put(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) {
      bytes_.push_back(static_cast<char>(value >> (8 * i)));
    }
    return *this;
  }

  std::string bytes_;
};

struct Member {
  std::string file_name;
  std::string npy_header;
  uint64_t size_bytes = 0;  // With the npy header.
  uint64_t offset = 0;      // Of its local header in the file.
  uint32_t crc32 = 0;
};

std::string LocalHeader(const Member& member) {
  Record record;
  record.U32(kLocalFileHeader).U16(kVersionZip64).U16(kFlagDataDescriptor);
  record.U16(kMethodStored).U16(kDosTime).U16(kDosDate);
  // Checksum and sizes follow in the data descriptor; the zip64 field tells
  // that its sizes have 8 bytes.
  record.U32(0).U32(kIn64).U32(kIn64);
  record.U16(static_cast<uint16_t>(member.file_name.size())).U16(20);
  record.Text(member.file_name);
  record.U16(kZip64ExtraTag).U16(16).U64(0).U64(0);
  return record.bytes();
}

std::string DataDescriptor(const Member& member) {
  Record record;
  record.U32(kDataDescriptor).U32(member.crc32);
  record.U64(member.size_bytes).U64(member.size_bytes);
  return record.bytes();
}

// The central directory and the end records of a file whose members end at
// `offset`.
std::string Directory(const std::vector<Member>& members, uint64_t offset) {
  Record record;
  for (const Member& member : members) {
    record.U32(kCentralHeader).U16(kVersionZip64).U16(kVersionZip64);
    record.U16(kFlagDataDescriptor).U16(kMethodStored);
    record.U16(kDosTime).U16(kDosDate).U32(member.crc32);
    record.U32(kIn64).U32(kIn64);
    record.U16(static_cast<uint16_t>(member.file_name.size())).U16(28);
    record.U16(0).U16(0).U16(0).U32(0).U32(kIn64);
    record.Text(member.file_name);
    record.U16(kZip64ExtraTag).U16(24).U64(member.size_bytes);
    record.U64(member.size_bytes).U64(member.offset);
  }
  const uint64_t size = record.bytes().size();
  record.U32(kZip64EndRecord).U64(44).U16(kVersionZip64).U16(kVersionZip64);
  record.U32(0).U32(0).U64(members.size()).U64(members.size());
  record.U64(size).U64(offset);
  record.U32(kZip64EndLocator).U32(0).U64(offset + size).U32(1);
  record.U32(kEndRecord).U16(0).U16(0).U16(kIn64Short).U16(kIn64Short);
  record.U32(kIn64).U32(kIn64).U16(0);
  return record.bytes();
}

class Writer final : public TensorFileWriter {
 public:
  Writer(std::unique_ptr<WritableFile> file, std::vector<Member> members)
      : file_(std::move(file)), members_(std::move(members)) {}

  // Ends the current member if it is complete and starts the next that has
  // room for bytes. Called at the start and after each byte that fills one,
  // so at the end every member, also an empty one, is written.
  absl::Status Advance() {
    while (bytes_left_ == 0 && !complete_) {
      if (started_ > 0) {
        SELARI_RETURN_IF_ERROR(EndMember(members_[started_ - 1]));
      }
      complete_ = started_ == members_.size();
      if (!complete_) {
        SELARI_RETURN_IF_ERROR(StartMember(members_[started_++]));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Append(absl::string_view bytes) override {
    while (!bytes.empty()) {
      SELARI_CHECK(bytes_left_ > 0);
      const auto size = static_cast<std::size_t>(
          std::min<uint64_t>(bytes.size(), bytes_left_));
      SELARI_RETURN_IF_ERROR(
          PutContent(members_[started_ - 1], bytes.substr(0, size)));
      bytes.remove_prefix(size);
      SELARI_RETURN_IF_ERROR(Advance());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<WrittenFile> Finish() override {
    SELARI_CHECK(complete_);
    SELARI_RETURN_IF_ERROR(Put(Directory(members_, offset_)));
    SELARI_RETURN_IF_ERROR(file_->Sync());
    SELARI_RETURN_IF_ERROR(file_->Close());
    return WrittenFile{static_cast<int64_t>(offset_), hash_.FinishHex()};
  }

 private:
  absl::Status Put(absl::string_view bytes) {
    offset_ += bytes.size();
    hash_.Update(bytes);
    return file_->Append(bytes);
  }

  absl::Status PutContent(Member& member, absl::string_view bytes) {
    member.crc32 = static_cast<uint32_t>(
        ::crc32_z(member.crc32, reinterpret_cast<const Bytef*>(bytes.data()),
                  bytes.size()));
    bytes_left_ -= bytes.size();
    return Put(bytes);
  }

  absl::Status StartMember(Member& member) {
    member.offset = offset_;
    bytes_left_ = member.size_bytes;
    SELARI_RETURN_IF_ERROR(Put(LocalHeader(member)));
    return PutContent(member, member.npy_header);
  }

  absl::Status EndMember(const Member& member) {
    return Put(DataDescriptor(member));
  }

  const std::unique_ptr<WritableFile> file_;
  std::vector<Member> members_;
  std::size_t started_ = 0;
  uint64_t bytes_left_ = 0;  // Of the member started last.
  bool complete_ = false;
  uint64_t offset_ = 0;
  Sha256 hash_;
};

// As NumPy's format module spells it, or empty.
absl::string_view NumpyType(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return "|b1";
    case ElementType::kU8:
      return "|u1";
    case ElementType::kI8:
      return "|i1";
    case ElementType::kU16:
      return "<u2";
    case ElementType::kI16:
      return "<i2";
    case ElementType::kF16:
      return "<f2";
    case ElementType::kU32:
      return "<u4";
    case ElementType::kI32:
      return "<i4";
    case ElementType::kF32:
      return "<f4";
    case ElementType::kU64:
      return "<u8";
    case ElementType::kI64:
      return "<i8";
    case ElementType::kF64:
      return "<f8";
    case ElementType::kBF16:
    case ElementType::kF8E5M2:
    case ElementType::kF8E4M3:
      break;
  }
  return "";
}

absl::StatusOr<std::vector<Member>> MakeMembers(
    const std::vector<TensorDeclaration>& tensors) {
  std::vector<Member> members;
  std::set<absl::string_view> names;
  for (const TensorDeclaration& tensor : tensors) {
    if (tensor.name.empty() || tensor.name.size() > kNameBytesMax ||
        !names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor name \"", tensor.name.substr(0, 80),
          "\" is empty, longer than ", kNameBytesMax, " or taken"));
    }
    Member member;
    member.file_name = absl::StrCat(tensor.name, ".npy");
    SELARI_ASSIGN_OR_RETURN(member.npy_header, BuildNpyHeader(tensor));
    SELARI_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(tensor));
    member.size_bytes = static_cast<uint64_t>(bytes) + member.npy_header.size();
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

absl::StatusOr<std::string> BuildNpyHeader(const TensorDeclaration& tensor) {
  const absl::string_view type = NumpyType(tensor.type);
  if (type.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", tensor.name, "\" is of type ",
                     ElementTypeName(tensor.type), ", which NumPy lacks"));
  }
  // A Python tuple: "()", "(2,)", "(2, 3)".
  const std::string text =
      absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(tensor.shape, ", "),
                   tensor.shape.size() == 1 ? ",)" : ")", ", }");
  constexpr std::size_t kPrefix = 10;
  constexpr std::size_t kAlignment = 64;
  const std::size_t padded =
      (kPrefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t size = padded - kPrefix;
  if (size > 0xffff) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", tensor.name, "\" has ", tensor.shape.size(),
                     " dimensions, more than a .npy file can say"));
  }
  Record record;
  record.Text("\x93NUMPY\x01").Text(absl::string_view("\0", 1));
  record.U16(static_cast<uint16_t>(size)).Text(text);
  record.Text(std::string(size - text.size() - 1, ' ')).Text("\n");
  return record.bytes();
}

absl::StatusOr<std::unique_ptr<TensorFileWriter>> CreateNpzFile(
    FileEnv& env, absl::string_view path,
    const std::vector<TensorDeclaration>& tensors) {
  SELARI_ASSIGN_OR_RETURN(std::vector<Member> members, MakeMembers(tensors));
  SELARI_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                          env.OpenForWrite(path));
  auto writer = std::make_unique<Writer>(std::move(file), std::move(members));
  SELARI_RETURN_IF_ERROR(writer->Advance());
  return writer;
}

}  // namespace selari
