// Helpers for tests of the shard.

#ifndef SELARI_SERVER_SHARD_SHARD_TEST_UTIL_H_
#define SELARI_SERVER_SHARD_SHARD_TEST_UTIL_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/shard_message.h"
#include "selari/v1/job.pb.h"
#include "server/shard/shard.h"
#include "server/shard/shard_job.h"
#include "server/shard/shard_state.h"

namespace selari {

inline FloatSlice MakeSlice(std::vector<float> values) {
  auto memory = std::make_shared<const std::vector<float>>(std::move(values));
  return {memory->data(), static_cast<int64_t>(memory->size()), memory};
}

// The same floats as they may arrive over the wire: in pieces of `piece_bytes`,
// the first of which starts `shift` bytes after an address for floats.
inline FloatSlice MakeWireSlice(const std::vector<float>& values,
                                int64_t piece_bytes, int shift) {
  struct Frame {
    std::vector<float> memory;
    std::vector<FloatSlice::Piece> pieces;
  };
  const auto frame = std::make_shared<Frame>();
  frame->memory.resize(values.size() + 1);
  char* const begin = reinterpret_cast<char*>(frame->memory.data()) + shift;
  const auto size = static_cast<int64_t>(values.size() * sizeof(float));
  std::memcpy(begin, values.data(), static_cast<size_t>(size));
  for (int64_t at = 0; at < size; at += piece_bytes) {
    frame->pieces.push_back({begin + at, std::min(size, at + piece_bytes)});
  }
  return FloatSlice(frame->pieces, frame);
}

inline std::vector<float> Values(const FloatSlice& slice) {
  std::vector<float> values(static_cast<size_t>(slice.size()));
  slice.Copy(0, slice.size(), values.data());
  return values;
}

inline std::vector<float> Values(const FloatBuffer& buffer) {
  return {buffer.data(), buffer.data() + buffer.size()};
}

inline std::shared_ptr<const ShardJob> CreateJobOrDie(
    const v1::ResolvedJob& resolved) {
  auto job = ShardJob::Create(resolved);
  SELARI_CHECK(job.ok());
  return *std::move(job);
}

// The replies of one kind to one session, in order.
template <typename T>
std::vector<T> RepliesTo(SessionId session, const Shard::Replies& replies) {
  std::vector<T> found;
  for (const Shard::Reply& reply : replies) {
    if (reply.session == session && std::holds_alternative<T>(reply.reply)) {
      found.push_back(std::get<T>(reply.reply));
    }
  }
  return found;
}

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_TEST_UTIL_H_
