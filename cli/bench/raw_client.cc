#include "cli/bench/raw_client.h"

#include <algorithm>
#include <thread>

#include "common/status.h"

namespace selari {
namespace {

int64_t FloatsOf(const RawClient::Tensors& tensors) {
  int64_t floats = 0;
  for (const auto& tensor : tensors) {
    floats += tensor->size();
  }
  return floats;
}

// Each page is written once, as the first receive must not pay for it.
std::shared_ptr<FloatBuffer> TouchedBuffer(int64_t floats) {
  auto buffer = FloatBuffer::Allocate(floats);
  std::fill_n(buffer->data(), floats, 0.0f);
  return buffer;
}

RawRequest UpdateRequest(RawOp op, int64_t step, const RawManner& manner) {
  RawRequest request;
  request.op = op;
  request.step = step;
  request.manner = manner;
  return request;
}

}  // namespace

RawClient::RawClient(Socket socket, Tensors gradient)
    : socket_(std::move(socket)),
      gradient_(std::move(gradient)),
      weights_(TouchedBuffer(FloatsOf(gradient_))) {}

absl::Status RawClient::Reset() {
  RawRequest request;
  request.op = RawOp::kReset;
  return CallRaw(&socket_, request).status();
}

absl::Status RawClient::SendGradient() {
  for (const auto& tensor : gradient_) {
    SELARI_RETURN_IF_ERROR(socket_.Send(tensor->data(), tensor->size_bytes()));
  }
  return absl::OkStatus();
}

absl::Status RawClient::ReceiveWeights() {
  return socket_.Receive(weights_->data(), weights_->size_bytes());
}

absl::Status RawClient::Push(int64_t step, const RawManner& manner) {
  SELARI_RETURN_IF_ERROR(
      SendRawRequest(&socket_, UpdateRequest(RawOp::kPush, step, manner)));
  SELARI_RETURN_IF_ERROR(SendGradient());
  return ReceiveRawReply(&socket_).status();
}

absl::Status RawClient::Pull() {
  RawRequest request;
  request.op = RawOp::kPull;
  SELARI_RETURN_IF_ERROR(SendRawRequest(&socket_, request));
  return ReceiveWeights();
}

absl::Status RawClient::Both(int64_t step, const RawManner& manner) {
  SELARI_RETURN_IF_ERROR(
      SendRawRequest(&socket_, UpdateRequest(RawOp::kBoth, step, manner)));
  absl::Status sent;
  std::thread sender([this, &sent] {
    sent = SendGradient();
    if (!sent.ok()) {
      socket_.Shutdown();  // nothing more will come
    }
  });
  const absl::Status received = ReceiveWeights();
  if (!received.ok()) {
    socket_.Shutdown();
  }
  sender.join();
  return sent.ok() ? received : sent;
}

absl::Status RawClient::PingPong(int64_t step) {
  SELARI_RETURN_IF_ERROR(
      SendRawRequest(&socket_, UpdateRequest(RawOp::kBoth, step, {})));
  SELARI_RETURN_IF_ERROR(SendGradient());
  return ReceiveWeights();
}

}  // namespace selari
