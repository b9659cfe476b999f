#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "measure/device_kernels.h"
#include "measure/instruments.h"

namespace tiletune {

namespace {

constexpr int kSamples = 5;
constexpr unsigned kLargestBlock = 1024;
constexpr unsigned kMostThreads = 2048;  // per multiprocessor

/// Threads per block, and blocks per multiprocessor.
struct Crowd {
  unsigned threads = 0;
  unsigned blocks = 0;
};
constexpr std::array<Crowd, 3> kCrowds{{{512, 1}, {1024, 1}, {1024, 2}}};

constexpr std::array kTensorTypes{ElementType::f16, ElementType::bf16, ElementType::tf32, ElementType::e4m3,
                                  ElementType::i8};

bool has_tensor_cores(const DeviceFacts& device, ElementType type) {
  const int capability = 10 * device.compute_major + device.compute_minor;
  return capability >= (type == ElementType::e4m3 ? 89 : 80);
}

class Ceilings {
 public:
  Ceilings(Gpu& gpu, CacheFlush& flush)
      : gpu_(gpu),
        flush_(flush),
        cubin_(cubin_of(kCalibrationKernels, gpu.facts())),
        out_(sizeof(float) * kMostThreads * multiprocessors()),
        operands_(sizeof(float) * kOperands) {
    std::array<float, kOperands> operands{};
    for (std::size_t i = 0; i < operands.size(); ++i) operands.at(i) = 0.5F + 0.003F * static_cast<float>(i);
    gpu_.copy_to_device(operands_.address(), operands.data(), sizeof operands);
    gpu_.synchronize();
  }

  double ffma_tflops() {
    const Kernel shorter(cubin_, "multiply_add_256");
    const Kernel longer(cubin_, "multiply_add_512");
    // An idle GPU takes some milliseconds to reach its clock.
    constexpr unsigned kAboutTwentyMs = 20000;
    multiply_add(shorter, {kLargestBlock, 1}, kAboutTwentyMs);
    double best = 0;
    for (const Crowd crowd : kCrowds)
      best = std::max({best, multiply_add_rate(shorter, 256, crowd), multiply_add_rate(longer, 512, crowd)});
    return best / kTera;
  }

  /// The rate for operands of that type. 0: the GPU has no such tensor cores.
  double tensor_tflops(ElementType type) {
    if (!has_tensor_cores(gpu_.facts(), type)) return 0;
    const Kernel kernel(cubin_of(kTensorKernels, gpu_.facts(), type), kTensorKernels.kernel);
    constexpr unsigned kTurnsInAMillisecond = 2000;
    constexpr unsigned kThreads = 256;
    constexpr double kOperationsPerTurn = 8 * 2 * 64 * 256 * 32;  // of a block with elements of one byte
    double best = 0;
    for (const unsigned blocks : {1U, 2U}) {
      const double spent_s = seconds([&] {
        launch(kernel, blocks * multiprocessors(), kThreads, out_.address(), kTurnsInAMillisecond);
      });
      best = std::max(best, kOperationsPerTurn / static_cast<double>(size_bytes(type)) *
                                kTurnsInAMillisecond * blocks * multiprocessors() / spent_s);
    }
    return best / kTera;
  }

  double copy_gbs() {
    const std::size_t tiles = copied_bytes() / kCopyTileBytes;
    const DeviceBuffer from(tiles * kCopyTileBytes);
    const DeviceBuffer to(tiles * kCopyTileBytes);
    gpu_.fill32(from.address(), 0x3f8a5c21, from.bytes() / sizeof(std::uint32_t));
    const Kernel kernel(cubin_, "copy");
    std::vector<std::size_t> grids{tiles};
    for (const std::size_t blocks : {8, 16, 32}) grids.push_back(std::min(blocks * multiprocessors(), tiles));
    constexpr int kCopies = 4;
    const std::uint64_t quads = from.bytes() / kQuadBytes;
    double best = 0;
    for (const std::size_t grid : grids) {
      const double spent_s = seconds([&] {
        for (int i = 0; i < kCopies; ++i)
          launch(kernel, static_cast<unsigned>(grid), 256, from.address(), to.address(), quads);
      });
      best = std::max(best, 2.0 * kCopies * static_cast<double>(from.bytes()) / spent_s);
    }
    return best / kGiga;
  }

  double read_gbs() {
    constexpr int kReads = 4;
    const DeviceBuffer from(copied_bytes());
    gpu_.fill32(from.address(), 0, from.bytes() / sizeof(std::uint32_t));
    const Kernel kernel(cubin_, "read");
    double best = 0;
    for (const unsigned blocks : {2U, 4U, 8U, 16U}) {
      const double spent_s = seconds([&] {
        for (int i = 0; i < kReads; ++i)
          launch(kernel, blocks * multiprocessors(), kReaders, from.address(), out_.address(),
                 from.bytes() / kQuadBytes);
      });
      best = std::max(best, kReads * static_cast<double>(from.bytes()) / spent_s);
    }
    return best / kGiga;
  }

  double shared_gbs() {
    const Kernel kernel(cubin_, "read_shared");
    constexpr unsigned kBytesPerTurn = 8 * 16;           // of one thread
    constexpr unsigned kBytesInAMillisecond = 1U << 28;  // of a multiprocessor
    constexpr unsigned kFlip = 32;
    double best = 0;
    for (const Crowd crowd : kCrowds) {
      const unsigned threads = crowd.threads * crowd.blocks;
      const unsigned turns = kBytesInAMillisecond / (threads * kBytesPerTurn);
      const double spent_s = seconds([&] {
        launch(kernel, crowd.blocks * multiprocessors(), crowd.threads, out_.address(), turns, kFlip);
      });
      best =
          std::max(best, static_cast<double>(kBytesPerTurn) * turns * threads * multiprocessors() / spent_s);
    }
    return best / kGiga;
  }

 private:
  static constexpr std::size_t kOperands = 64;
  static constexpr std::size_t kQuadBytes = 16;
  static constexpr unsigned kReaders = 512;
  static constexpr double kTera = 1e12;
  static constexpr double kGiga = 1e9;
  static constexpr std::size_t kCopyTileBytes =
      std::size_t{4} * 256 * 16;  // four quads of each of 256 threads

  unsigned multiprocessors() const { return static_cast<unsigned>(gpu_.facts().multiprocessors); }

  /// Far beyond what the L2 cache could hold of it, and a quarter of what is free at most.
  std::size_t copied_bytes() const {
    constexpr std::size_t kLeast = std::size_t{256} << 20;
    const auto wanted = std::max(8 * static_cast<std::size_t>(gpu_.facts().l2_bytes), kLeast);
    return std::clamp(gpu_.free_bytes() / 4, kCopyTileBytes, wanted);
  }

  template <typename... Arguments>
  void launch(const Kernel& kernel, unsigned grid, unsigned block, Arguments... arguments) {
    const std::array<void*, sizeof...(Arguments)> addresses{&arguments...};
    gpu_.launch(kernel, {{grid}, {block}}, addresses);
  }

  /// Median of the seconds that `work` takes, after a first time that does not count.
  template <typename Work>
  double seconds(const Work& work) {
    constexpr double kSecondsPerMicrosecond = 1e-6;
    work();
    std::vector<double> samples_us;
    for (int i = 0; i < kSamples; ++i) {
      flush_.clean();
      gpu_.record(begin_);
      work();
      gpu_.record(end_);
      samples_us.push_back(gpu_.elapsed_us(begin_, end_));
    }
    return median(std::move(samples_us)) * kSecondsPerMicrosecond;
  }

  void multiply_add(const Kernel& kernel, Crowd crowd, unsigned turns) {
    launch(kernel, crowd.blocks * multiprocessors(), crowd.threads, operands_.address(), out_.address(),
           turns);
  }

  /// `steps`: multiply-adds of a thread in one turn.
  double multiply_add_rate(const Kernel& kernel, unsigned steps, Crowd crowd) {
    constexpr unsigned kStepsInAMillisecond = 1U << 28;  // of a multiprocessor with 128 lanes
    const unsigned threads = crowd.threads * crowd.blocks;
    const unsigned turns = kStepsInAMillisecond / (threads * steps);
    const double operations = 2.0 * steps * turns * threads * multiprocessors();
    return operations / seconds([&] { multiply_add(kernel, crowd, turns); });
  }

  Gpu& gpu_;
  CacheFlush& flush_;
  std::string cubin_;
  DeviceBuffer out_;
  DeviceBuffer operands_;
  Event begin_;
  Event end_;
};

}  // namespace

std::vector<OwnKernels> ceiling_kernels(const DeviceFacts& device) {
  std::vector<OwnKernels> kernels{{&kCalibrationKernels}};
  for (const ElementType type : kTensorTypes)
    if (has_tensor_cores(device, type)) kernels.push_back({&kTensorKernels, type});
  return kernels;
}

Calibration measure_ceilings(Gpu& gpu, CacheFlush& flush) {
  Ceilings ceilings(gpu, flush);
  Calibration calibration;
  calibration.ffma_tflops = ceilings.ffma_tflops();
  calibration.tensor_f16_tflops = ceilings.tensor_tflops(ElementType::f16);
  calibration.tensor_bf16_tflops = ceilings.tensor_tflops(ElementType::bf16);
  calibration.tensor_tf32_tflops = ceilings.tensor_tflops(ElementType::tf32);
  calibration.tensor_fp8_tflops = ceilings.tensor_tflops(ElementType::e4m3);
  calibration.tensor_i8_tflops = ceilings.tensor_tflops(ElementType::i8);
  calibration.copy_gbs = ceilings.copy_gbs();
  calibration.read_gbs = ceilings.read_gbs();
  calibration.shared_gbs = ceilings.shared_gbs();
  gpu.synchronize();
  return calibration;
}

}  // namespace tiletune
