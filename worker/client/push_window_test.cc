#include "worker/client/push_window.h"

#include <thread>

#include "gtest/gtest.h"

namespace selari {
namespace {

// One chunk of 32 floats: 128 bytes.
class PushWindowTest : public ::testing::Test {
 protected:
  PushWindowTest()
      : layout_(*ChunkLayout::Create({32}, {1, 1000})), window_(&layout_) {}

  void Send() {
    ChunkPush push;
    push.gradient = FloatSlice(nullptr, 32, nullptr);
    window_.CountSent({push, ChunkPull()});
  }

  const ChunkLayout layout_;
  PushWindow window_;
};

TEST_F(PushWindowTest, WaitsForAnAnswerWhenFull) {
  window_.Start(256);
  Send();
  window_.Wait();  // half full
  Send();
  std::thread pusher([this] { window_.Wait(); });
  window_.CountAnswered({ChunkValue(), PushAck()});
  pusher.join();
}

TEST_F(PushWindowTest, RefusedPushCountsAsAnswered) {
  window_.Start(128);
  Send();
  RequestError refused;
  refused.sequence = 1;
  window_.CountAnswered({refused});
  window_.Wait();
}

TEST_F(PushWindowTest, NobodyWaitsWithoutAConnection) {
  Send();
  window_.Wait();
  window_.Start(128);
  Send();
  std::thread pusher([this] { window_.Wait(); });
  window_.Open();
  pusher.join();
}

TEST_F(PushWindowTest, NonsenseOfAServerIsIgnored) {
  PushAck ack;
  ack.chunk = 7;
  window_.Start(128);
  window_.CountAnswered({ack});
  window_.Wait();
}

}  // namespace
}  // namespace selari
