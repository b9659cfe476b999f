#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "gpu/device.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// How an output compares with its FP64 reference.
struct ComparisonResult {
  double relative_error = 0;       ///< ||out - ref|| / ||ref|| (Frobenius)
  double largest_error = 0;        ///< max |out - ref|
  std::uint64_t largest_at = 0;    ///< index of its first element, when it is above zero
  double reference_rms = 0;        ///< sqrt(mean(ref^2))
  std::uint64_t not_a_number = 0;  ///< elements that are NaN or infinite
  std::uint64_t first_not_a_number = 0;
};

/// Bytes of a guard band that do not hold the pattern any more.
struct GuardResult {
  std::uint64_t changed = 0;
  std::uint64_t first = 0;  ///< offset in the band
  std::uint64_t last = 0;
};

/// The harness' own kernels on one GPU, compiled for it on first use (through the cubin cache).
class DeviceKernels {
 public:
  explicit DeviceKernels(Gpu& gpu);

  /// Uniform in [-1, 1) (integers: thousandths of it), from a counter and the seed: the same on every GPU.
  void fill_random(ElementType type, DeviceAddress out, std::uint64_t elements, std::uint64_t seed);
  /// FP64 copy of a buffer.
  void widen(ElementType type, DeviceAddress in, DeviceAddress out, std::uint64_t elements);
  ComparisonResult compare(ElementType type, DeviceAddress out, DeviceAddress reference,
                           std::uint64_t elements);
  std::uint64_t checksum(DeviceAddress bytes, std::uint64_t count);
  GuardResult check_guard(DeviceAddress bytes, std::uint64_t count, std::uint8_t pattern);
  /// Bytes that do not hold the pattern in `bands` bands of `count` bytes each, whose starts lie `pitch`
  /// apart.
  std::uint64_t check_bands(DeviceAddress first, std::uint64_t bands, std::uint64_t pitch,
                            std::uint64_t count, std::uint8_t pattern);
  /// FP64 C = alpha A B + beta C, row-major and dense, without cuBLAS.
  void gemm_f64(std::uint64_t m, std::uint64_t n, std::uint64_t k, double alpha, DeviceAddress a,
                DeviceAddress b, double beta, DeviceAddress c);

  /// Loads a kernel by name now, so that its first launch need not.
  void prepare(const std::string& symbol) { kernel(symbol); }
  /// Queues a kernel that waits until the word at `words` is `ticket`, for `deadline_ns` at most: then it
  /// writes the ticket to the word after that.
  void block_stream(DeviceAddress words, std::uint32_t ticket, std::uint64_t deadline_ns);
  /// Queues a reading of every multiprocessor's cycle counter and of the nanosecond timer: 16 bytes each.
  void probe_clock(DeviceAddress out, int multiprocessors);
  /// Queues a kernel of one block that does nothing.
  void launch_empty();
  /// The step of the GPU's nanosecond timer. Waits.
  std::uint64_t timer_step_ns();

 private:
  const Kernel& kernel(const std::string& symbol);
  void launch(const std::string& symbol, unsigned blocks, unsigned threads, std::span<void* const> arguments);
  template <typename... Arguments>
  void run(const std::string& symbol, std::uint64_t elements, Arguments... arguments);

  Gpu& gpu_;
  std::string cubin_;
  std::map<std::string, Kernel> kernels_;
  DeviceBuffer result_;
};

}  // namespace tiletune
