#pragma once

#include "base/fields.h"

namespace tiletune {

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
  double empty_kernel_batch_us = 0;  ///< the same in a batch

  static constexpr auto fields() {
    return std::tuple{field("ffma_tflops", &Calibration::ffma_tflops, {.min = 0}),
                      field("tensor_f16_tflops", &Calibration::tensor_f16_tflops, {.min = 0}),
                      field("tensor_bf16_tflops", &Calibration::tensor_bf16_tflops, {.min = 0}),
                      field("tensor_tf32_tflops", &Calibration::tensor_tf32_tflops, {.min = 0}),
                      field("tensor_fp8_tflops", &Calibration::tensor_fp8_tflops, {.min = 0}),
                      field("tensor_i8_tflops", &Calibration::tensor_i8_tflops, {.min = 0}),
                      field("copy_gbs", &Calibration::copy_gbs, {.min = 0}),
                      field("read_gbs", &Calibration::read_gbs, {.min = 0}),
                      field("shared_gbs", &Calibration::shared_gbs, {.min = 0}),
                      field("event_floor_us", &Calibration::event_floor_us, {.min = 0}),
                      field("empty_kernel_us", &Calibration::empty_kernel_us, {.min = 0}),
                      field("empty_kernel_batch_us", &Calibration::empty_kernel_batch_us, {.min = 0})};
  }
};

}  // namespace tiletune
