#include "tune/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "inspect/kernel_code.h"

namespace tiletune {

namespace {

constexpr const char* kFp32 = "fp32";

struct TensorPipe {
  const char* name;
  double Calibration::*tflops;
};
constexpr TensorPipe kF16{"tensor_f16", &Calibration::tensor_f16_tflops};
constexpr TensorPipe kBF16{"tensor_bf16", &Calibration::tensor_bf16_tflops};
constexpr TensorPipe kTF32{"tensor_tf32", &Calibration::tensor_tf32_tflops};
constexpr TensorPipe kFP8{"tensor_fp8", &Calibration::tensor_fp8_tflops};
constexpr TensorPipe kI8{"tensor_i8", &Calibration::tensor_i8_tflops};
constexpr std::array kTensorPipes{kF16, kBF16, kTF32, kFP8, kI8};

const TensorPipe* tensor_pipe(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return &kF16;
    case ElementType::bf16:
      return &kBF16;
    case ElementType::tf32:
      return &kTF32;
    case ElementType::e4m3:
    case ElementType::e5m2:
      return &kFP8;
    case ElementType::i8:
    case ElementType::u8:
      return &kI8;
    default:
      return nullptr;
  }
}

/// Of its first input of a type that tensor cores take; empty: it has none.
std::string tensor_pipe(const Operation& operation) {
  for (const Buffer& buffer : operation.buffers) {
    const TensorPipe* pipe = tensor_pipe(buffer.type);
    if (buffer.role == BufferRole::in && pipe != nullptr) return pipe->name;
  }
  return "";
}

/// Kernels without matrix instructions multiply in the accumulator's type.
std::string scalar_pipe(const Operation& operation) {
  return operation.accumulator == ElementType::f32 ? kFp32 : "";
}

}  // namespace

std::string pipe_of(const Operation& operation, const Binary& binary) {
  return arithmetic_of(binary) == Arithmetic::tensor ? tensor_pipe(operation) : scalar_pipe(operation);
}

std::string library_pipe(const Operation& operation) {
  const std::string tensor = tensor_pipe(operation);
  return tensor.empty() ? scalar_pipe(operation) : tensor;
}

double ceiling_of(std::string_view pipe, const Calibration& ceilings) {
  if (pipe == kFp32) return ceilings.ffma_tflops;
  for (const TensorPipe& tensor : kTensorPipes)
    if (pipe == tensor.name) return ceilings.*tensor.tflops;
  return 0;
}

std::string pipe_text(std::string_view pipe) {
  constexpr std::string_view kTensor = "tensor_";
  if (pipe.starts_with(kTensor)) return fmt::format("tensor cores in {}", pipe.substr(kTensor.size()));
  return "multiply-adds in FP32";
}

void add_roofline(Trial& trial, const Task& task, const std::optional<Calibration>& ceilings) {
  const Workload& workload = task.instantiator.workload();
  if (workload.flops > 0 && workload.bytes > 0) trial.arithmetic_intensity = workload.flops / workload.bytes;
  const bool counts_flops = workload.flops > 0 && task.spec->operation.bound == Ceiling::ffma;
  if (!counts_flops && workload.bytes > 0) trial.bound = "memory";
  if (!ceilings || !trial.median_us) return;
  const double copy_gbs = workload.gpus * ceilings->copy_gbs;
  if (trial.gbs && copy_gbs > 0) trial.percent_of_copy = 100 * *trial.gbs / copy_gbs;
  const double arithmetic_tflops = workload.gpus * ceiling_of(trial.pipe, *ceilings);
  if (counts_flops && !(arithmetic_tflops > 0)) return;
  constexpr double kTeraPerMicrosecond = 1e6;
  constexpr double kGigaPerMicrosecond = 1e3;
  const auto time_us = [](double amount, double per_us) { return per_us > 0 ? amount / per_us : 0; };
  const double compute_us =
      time_us(counts_flops ? workload.flops : 0, arithmetic_tflops * kTeraPerMicrosecond);
  const double memory_us = time_us(workload.bytes, copy_gbs * kGigaPerMicrosecond);
  if (compute_us == 0 && memory_us == 0) return;
  trial.bound = compute_us > memory_us ? "compute" : "memory";
  trial.percent_of_ceiling = 100 * std::max(compute_us, memory_us) / *trial.median_us;
}

}  // namespace tiletune
