#include "common/buffer_pool.h"

#include <atomic>
#include <cstddef>
#include <utility>

#include "common/check.h"

namespace selari {

// What outlives the pool as long as buffers are held.
struct BufferPool::Core {
  // Free again, pushed by any thread. Take empties it as a whole, so a node
  // is never popped under another thread's feet.
  std::atomic<Node*> returned{nullptr};
  // Held buffers, and 1 for the pool.
  std::atomic<int64_t> references{1};
};

struct BufferPool::Node {
  // Room for libstdc++'s control block, checked in allocate().
  static constexpr size_t kControlBlockBytes = 64;

  Node(Core* core, std::shared_ptr<FloatBuffer> buffer)
      : core(core), buffer(std::move(buffer)) {}

  Core* const core;
  const std::shared_ptr<FloatBuffer> buffer;
  Node* next = nullptr;
  alignas(std::max_align_t) std::byte control_block[kControlBlockBytes];
};

// Puts the control block of the published shared_ptr into its node. That block
// goes when no strong and no weak reference is left: exactly when the node may
// be used again.
template <typename T>
class BufferPool::NodeAllocator {
 public:
  using value_type = T;

  explicit NodeAllocator(Node* node) : node_(node) {}
  template <typename U>
  NodeAllocator(const NodeAllocator<U>& other)  // NOLINT: as allocators do
      : node_(other.node_) {}

  T* allocate(size_t n) {
    static_assert(sizeof(T) <= Node::kControlBlockBytes);
    static_assert(alignof(T) <= alignof(std::max_align_t));
    SELARI_CHECK(n == 1);
    return reinterpret_cast<T*>(node_->control_block);
  }
  void deallocate(T*, size_t) { Return(node_); }

  template <typename U>
  bool operator==(const NodeAllocator<U>& other) const {
    return node_ == other.node_;
  }
  template <typename U>
  bool operator!=(const NodeAllocator<U>& other) const {
    return node_ != other.node_;
  }

 private:
  template <typename U>
  friend class NodeAllocator;

  Node* node_;
};

BufferPool::BufferPool(int64_t floats, BufferSource source)
    : floats_(floats), source_(std::move(source)), core_(new Core) {}

BufferPool::~BufferPool() {
  while (free_ != nullptr) {
    delete std::exchange(free_, free_->next);
  }
  Unreference(core_);
}

std::shared_ptr<FloatBuffer> BufferPool::Take() {
  if (free_ == nullptr) {
    free_ = core_->returned.exchange(nullptr, std::memory_order_acquire);
  }
  Node* node = free_;
  if (node != nullptr) {
    free_ = node->next;
  } else {
    node = new Node(core_, source_(floats_));
    ++buffers_made_;
  }
  core_->references.fetch_add(1, std::memory_order_relaxed);
  return std::shared_ptr<FloatBuffer>(
      node->buffer.get(), [](FloatBuffer*) {},
      NodeAllocator<FloatBuffer>(node));
}

void BufferPool::Return(Node* node) {
  Core* const core = node->core;
  node->next = core->returned.load(std::memory_order_relaxed);
  while (!core->returned.compare_exchange_weak(
      node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
  Unreference(core);
}

void BufferPool::Unreference(Core* core) {
  if (core->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  Node* node = core->returned.load(std::memory_order_acquire);
  while (node != nullptr) {
    delete std::exchange(node, node->next);
  }
  delete core;
}

}  // namespace selari
