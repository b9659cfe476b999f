#include "measure/blocker.h"

#include <atomic>

namespace tiletune {

namespace {

constexpr std::uint64_t kDeadlineNs = 500'000'000;

}  // namespace

Blocker::Blocker(DeviceKernels& kernels) : kernels_(kernels), words_(2) { kernels_.prepare("block_stream"); }

void Blocker::block() {
  if (!works()) return;
  ++ticket_;
  kernels_.block_stream(words_.device_address(), ticket_, kDeadlineNs);
}

void Blocker::release() {
  // Everything that the stream is to run was queued before; the kernel polls this word.
  std::atomic_ref<std::uint32_t>(words_[0]).store(ticket_, std::memory_order_release);
}

bool Blocker::gave_up() {
  const bool gave_up = works() && ticket_ != 0 &&
                       std::atomic_ref<std::uint32_t>(words_[1]).load(std::memory_order_acquire) == ticket_;
  failures_ = gave_up ? failures_ + 1 : works() ? 0 : failures_;
  return gave_up;
}

}  // namespace tiletune
