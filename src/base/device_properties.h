#pragma once

#include <cstdint>

#include "base/fields.h"

namespace tiletune {

/// What occupancy, admission and prediction need to know of a GPU: as its driver says it, or as a file of
/// configs/gpus does.
struct DeviceProperties {
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  int warp_size = 32;
  int max_threads_per_block = 1024;
  int max_threads_per_multiprocessor = 0;
  int max_blocks_per_multiprocessor = 0;
  std::int64_t registers_per_multiprocessor = 65536;
  std::int64_t registers_per_block = 65536;
  std::int64_t shared_bytes_per_multiprocessor = 0;
  std::int64_t shared_bytes_per_block = 49152;  ///< without opting in
  std::int64_t shared_bytes_per_block_optin = 0;
  std::int64_t reserved_shared_bytes_per_block = 0;  ///< the runtime's reserve
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  double boost_clock_mhz = 0;  ///< highest SM clock

  /// All but the compute capability, which a file gives as one text: "9.0".
  static constexpr auto figures() {
    using P = DeviceProperties;
    // Far beyond any multiprocessor; occupancy is computed with `int`.
    constexpr Bounds<std::int64_t> kPerMultiprocessor{.min = 0, .max = std::int64_t{1} << 30};
    return joined(
        fields_from_zero<&P::multiprocessors, &P::warp_size, &P::max_threads_per_block,
                         &P::max_threads_per_multiprocessor, &P::max_blocks_per_multiprocessor>(),
        fields_of<&P::registers_per_multiprocessor, &P::registers_per_block,
                  &P::shared_bytes_per_multiprocessor, &P::shared_bytes_per_block,
                  &P::shared_bytes_per_block_optin, &P::reserved_shared_bytes_per_block>(kPerMultiprocessor),
        fields_from_zero<&P::l2_bytes, &P::memory_bytes, &P::boost_clock_mhz>());
  }
  static constexpr auto fields() {
    return joined(fields_from_zero<&DeviceProperties::compute_major, &DeviceProperties::compute_minor>(),
                  figures());
  }
};

/// What the harness measured of a GPU itself: the ceilings of kernels, and the floor of its own method.
struct Calibration {
  double ffma_tflops = 0;  ///< FP32 multiply-adds from registers, two operations each
  // Tensor cores, from random operands, with sums in FP32 or 32-bit integers; 0: this GPU has none for them.
  double tensor_f16_tflops = 0;
  double tensor_bf16_tflops = 0;
  double tensor_tf32_tflops = 0;
  double tensor_fp8_tflops = 0;
  double tensor_i8_tflops = 0;
  double copy_gbs = 0;    ///< copy in device memory far beyond L2, bytes read and written, 10^9 per second
  double read_gbs = 0;    ///< read of device memory far beyond L2; 0: taken with a cache full of dirty lines
  double shared_gbs = 0;  ///< 16-byte loads from shared memory without bank conflicts, all multiprocessors
  double event_floor_us = 0;         ///< two events with nothing between them; subtracted from every sample
  double empty_kernel_us = 0;        ///< what a kernel that does nothing is then reported to take
  double empty_kernel_batch_us = 0;  ///< what such a kernel is reported to take in a batch

  static constexpr auto fields() {
    using C = Calibration;
    return fields_from_zero<&C::ffma_tflops, &C::tensor_f16_tflops, &C::tensor_bf16_tflops,
                            &C::tensor_tf32_tflops, &C::tensor_fp8_tflops, &C::tensor_i8_tflops, &C::copy_gbs,
                            &C::read_gbs, &C::shared_gbs, &C::event_floor_us, &C::empty_kernel_us,
                            &C::empty_kernel_batch_us>();
  }
};

}  // namespace tiletune
