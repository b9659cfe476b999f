#include "tune/ceilings.h"

#include <fmt/format.h>

#include "base/text.h"
#include "inspect/kernel_code.h"
#include "tune/task_queue.h"

namespace tiletune {

namespace {

constexpr const char* kFp32 = "fp32";

/// What tensor cores do with a type.
struct TensorPipe {
  ElementType type;
  const char* name;
  double Calibration::*tflops;
};
using enum ElementType;
constexpr std::array kTensorPipes{TensorPipe{f16, "tensor_f16", &Calibration::tensor_f16_tflops},
                                  TensorPipe{bf16, "tensor_bf16", &Calibration::tensor_bf16_tflops},
                                  TensorPipe{tf32, "tensor_tf32", &Calibration::tensor_tf32_tflops},
                                  TensorPipe{e4m3, "tensor_fp8", &Calibration::tensor_fp8_tflops},
                                  TensorPipe{e5m2, "tensor_fp8", &Calibration::tensor_fp8_tflops},
                                  TensorPipe{i8, "tensor_i8", &Calibration::tensor_i8_tflops},
                                  TensorPipe{u8, "tensor_i8", &Calibration::tensor_i8_tflops}};

/// An emulation's tensor cores, and its products for each product.
struct EmulatedPipe {
  Emulation emulation;
  double Calibration::*tflops;
  double products;
};
constexpr std::array kEmulatedPipes{EmulatedPipe{Emulation::tf32x3, &Calibration::tensor_tf32_tflops, 3},
                                    EmulatedPipe{Emulation::f16x3, &Calibration::tensor_f16_tflops, 3},
                                    EmulatedPipe{Emulation::bf16x3, &Calibration::tensor_bf16_tflops, 3},
                                    EmulatedPipe{Emulation::bf16x6, &Calibration::tensor_bf16_tflops, 6},
                                    EmulatedPipe{Emulation::bf16x9, &Calibration::tensor_bf16_tflops, 9}};

/// The pipe of its first input of a type that tensor cores take; empty: it has none.
std::string tensor_pipe(const Operation& operation) {
  for (const Buffer& buffer : operation.buffers)
    for (const TensorPipe& pipe : kTensorPipes)
      if (buffer.role == BufferRole::in && buffer.type == pipe.type) return pipe.name;
  return "";
}

/// Kernels without matrix instructions multiply in the accumulator's type.
std::string scalar_pipe(const Operation& operation) {
  return operation.accumulator == ElementType::f32 ? kFp32 : "";
}

/// The ceilings are uncertain by this share: clocks differ between their calibration and a kernel's samples.
constexpr double kUncertainty = 0.05;
constexpr double kPerTera = 1e12;
constexpr double kPerGiga = 1e9;
constexpr double kMicrosecondsPerSecond = 1e6;

/// "137 G", "1.07 T"
std::string with_prefix(double amount) {
  constexpr std::array kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; amount >= 1000 && prefix + 1 < kPrefixes.size(); ++prefix) amount /= 1000;
  return fmt::format("{} {}", three_digits(amount), kPrefixes.at(prefix));
}

/// Work that takes so long at least.
struct Need {
  double amount = 0;
  double per_second = 0;  ///< the ceiling
  const char* unit = "";
  const char* rate = "";
  const char* ceiling = "";

  double us() const { return per_second > 0 ? amount / per_second * kMicrosecondsPerSecond : 0; }
  std::string against(double median_us) const {
    return fmt::format("{}{} in {} us = {}{}, more than {:g}% above the {}{} that {} here",
                       with_prefix(amount), unit, three_digits(median_us),
                       with_prefix(amount / median_us * kMicrosecondsPerSecond), rate, 100 * kUncertainty,
                       with_prefix(per_second), rate, ceiling);
  }
};

/// What a kernel of such types may use, and what it reached; 0 where that is not known: on compute capability
/// 10 the instructions that were measured are not the fastest. Sums in f16 may take half the time of those in
/// f32, with which tensor cores were measured.
std::pair<std::string, double> fastest_pipe(const TemplateSpec& kernel, const GpuModel& gpu,
                                            const Calibration& ceilings) {
  constexpr int kNotMeasured = 10;
  const double known = gpu.compute_major == kNotMeasured ? 0 : 1;
  if (kernel.pipe) {
    const std::string pipe(name(*kernel.pipe));
    return {pipe, known * ceiling_of(pipe, ceilings)};
  }
  const Operation& operation = kernel.operation;
  const double factor = known * (operation.accumulator == ElementType::f16 ? 2 : 1);
  std::pair<std::string, double> fastest;
  bool has_tensor_type = false;
  for (const Buffer& buffer : operation.buffers) {
    for (const TensorPipe& pipe : kTensorPipes) {
      if (buffer.role != BufferRole::in || buffer.type != pipe.type) continue;
      has_tensor_type = true;
      fastest = std::max(fastest, {pipe.name, factor * ceilings.*pipe.tflops},
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    }
  }
  if (has_tensor_type || operation.accumulator != ElementType::f32) return fastest;
  return {kFp32, ceilings.ffma_tflops};
}

/// How many of the bytes that the operation needs come from memory, or go there. The launches of a batch have
/// buffers of their own, which together exceed the cache.
double bytes_from_memory(const Workload& workload, const ClaimedTime& time, double cache_bytes) {
  double outputs = 0;
  for (const Workload::SizedBuffer& buffer : workload.buffers) {
    if (buffer.role != BufferRole::in)
      outputs += static_cast<double>(buffer.values()) * static_cast<double>(size_bytes(buffer.type));
  }
  const double written = std::min(outputs, workload.bytes);
  const double read = workload.bytes - written;
  const double launches = time.launches_per_sample;
  const auto beyond_cache = [&](double bytes) { return std::max(bytes - cache_bytes / launches, 0.0); };
  const bool is_cold = time.cache == CachePolicy::cold || time.cache == CachePolicy::dirty;
  const bool finds_nothing = launches == 1 || launches * workload.bytes > 2 * cache_bytes;
  return (is_cold && finds_nothing ? read : std::max(read - cache_bytes, 0.0)) + beyond_cache(written);
}

/// More than two calibrations of one GPU differ.
constexpr double kNoticed = 0.03;

struct Rate {
  double Calibration::*member;
  const char* what;
  const char* unit;
};
constexpr std::array kRates{Rate{&Calibration::ffma_tflops, "FP32 arithmetic", "TFLOP/s"},
                            Rate{&Calibration::copy_gbs, "copies in device memory", "GB/s"}};

}  // namespace

std::string pipe_of(const TemplateSpec& kernel, const Binary& binary) {
  const Operation& operation = kernel.operation;
  if (kernel.pipe) return std::string(name(*kernel.pipe));
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
  for (const EmulatedPipe& emulated : kEmulatedPipes)
    if (pipe == name(emulated.emulation)) return ceilings.*emulated.tflops / emulated.products;
  return 0;
}

std::string pipe_text(std::string_view pipe) {
  constexpr std::string_view kTensor = "tensor_";
  if (pipe.starts_with(kTensor)) return fmt::format("tensor cores in {}", pipe.substr(kTensor.size()));
  return pipe == kFp32 ? "multiply-adds in FP32" : fmt::format("FP32 products on tensor cores ({})", pipe);
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

std::optional<Calibration> known_calibration(const Database& database, const Target& target) {
  const auto record = database.calibration(target.uuid, target.driver_version);
  if (!record || record->read_gbs <= 0) return std::nullopt;
  const bool has_tensor_cores = target.model.compute_major >= 8;
  if (has_tensor_cores && record->tensor_f16_tflops <= 0) return std::nullopt;
  return *record;
}

std::optional<std::string> batch_fault(const ClaimedTime& time, const TemplateSpec& kernel) {
  constexpr double kFaster = 0.6, kLatencyUs = 3;
  const double latency_us = kLatencyUs * static_cast<double>(kernel.launches.size());
  if (!time.isolated_us || time.median_us > kFaster * *time.isolated_us - latency_us) return std::nullopt;
  return fmt::format("a launch takes {} us in batches and {} us alone: it does not do the same work in both",
                     three_digits(time.median_us), three_digits(*time.isolated_us));
}

std::optional<std::string> implausibility(const ClaimedTime& time, const Task& task, const GpuModel& gpu,
                                          const std::optional<Calibration>& ceilings) {
  if (!ceilings) return std::nullopt;
  const Workload& workload = task.instantiator.workload();
  const TemplateSpec& kernel = *task.spec;
  const auto contradicts = [&](const Need& need) { return time.median_us < (1 - kUncertainty) * need.us(); };
  const auto [pipe, tflops] = fastest_pipe(kernel, gpu, *ceilings);
  const std::string reach = pipe_text(pipe) + " reach";
  const Need arithmetic{workload.flops, workload.gpus * tflops * kPerTera, "FLOP", "FLOP/s", reach.c_str()};
  if (kernel.operation.bound == Ceiling::ffma && contradicts(arithmetic))
    return arithmetic.against(time.median_us);
  const Need memory{bytes_from_memory(workload, time, workload.gpus * static_cast<double>(gpu.l2_bytes)),
                    workload.gpus * std::max(ceilings->read_gbs, ceilings->copy_gbs) * kPerGiga, "B", "B/s",
                    "device memory reaches"};
  if (contradicts(memory)) return memory.against(time.median_us);
  return std::nullopt;
}

std::vector<std::string> notes_of_slow_gpus(std::vector<GpuSlot>& slots) {
  std::vector<std::string> notes;
  for (const Rate& rate : kRates) {
    double fastest = 0;
    for (const GpuSlot& slot : slots)
      if (slot.calibration && !slot.retired) fastest = std::max(fastest, *slot.calibration.*rate.member);
    for (GpuSlot& slot : slots) {
      if (!slot.calibration || slot.retired) continue;
      const double own = *slot.calibration.*rate.member;
      if (own >= fastest * (1 - kNoticed) || std::exchange(slot.is_known_as_slow, true)) continue;
      notes.push_back(
          fmt::format("{} is {:.1f}% slower than another {} of this sweep: {} {:.4g} {} instead of {:.4g}. "
                      "Its rows count "
                      "like those of the others; leave it out with --gpus",
                      slot.evaluator->target().uuid, 100 * (1 - own / fastest), slot.evaluator->target().name,
                      rate.what, own, rate.unit, fastest));
    }
  }
  return notes;
}

}  // namespace tiletune
