// A cubin with a kernel "k": the readers of its resources and of its code, and the model's prediction from
// them.

#include <cmath>

#include "fuzz/fuzz.h"
#include "inspect/elf.h"
#include "inspect/kernel_code.h"
#include "inspect/sass.h"
#include "inspect/static_model.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

Instance some_launch() {
  Instance instance;
  instance.launches.emplace_back();
  instance.launches[0].grid = {64, 2, 1};
  instance.launches[0].block = {32, 4, 1};
  for (const std::int64_t value : {512, 1024, -1}) {
    instance.launches[0].arguments.push_back({Argument::Kind::scalar, "n", ElementType::i32, value});
  }
  return instance;
}

GpuModel some_gpu() {
  GpuModel gpu;
  gpu.name = "some GPU";
  gpu.multiprocessors = 132;
  gpu.compute_major = 9;
  gpu.max_threads_per_multiprocessor = 2048;
  gpu.max_blocks_per_multiprocessor = 32;
  gpu.shared_bytes_per_multiprocessor = 233472;
  gpu.shared_bytes_per_block_optin = 232448;
  gpu.reserved_shared_bytes_per_block = 1024;
  gpu.memory_bandwidth_gbs = 3000;
  gpu.boost_clock_mhz = 1980;
  return gpu;
}

void check(const Resources& resources) {
  require(resources.registers > 0, "a kernel has registers");
  require(resources.stack_bytes >= 0 && resources.spill_bytes() >= 0 && resources.static_shared_bytes >= 0 &&
              resources.constant_bytes >= 0 && resources.code_bytes >= 0,
          "sizes are not negative");
  require(resources.barriers >= 0 && resources.max_threads >= 0, "counts are not negative");
}

void check(const Prediction& prediction) {
  require(std::isfinite(prediction.time_us) && prediction.time_us > 0, "a prediction is a time");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Instance instance = some_launch();
  static const GpuModel gpu = some_gpu();
  Binary binary;
  binary.kernel_symbols = {"k"};
  binary.cubin = text_of(data, size);
  refused([&] {
    const Resources resources = read_resources(binary);
    check(resources);
    const Occupancy occupancy = compute_occupancy(gpu, resources, 128, 0);
    check(predict(gpu, {}, {{}, 1e9, 1e6}, instance, binary, {occupancy}));
    const InstructionMix mix = mix_of_kernel(read_kernel_code(binary));
    require(mix.fma_share() >= 0 && mix.fma_share() <= 1, "a share lies between 0 and 1");
  });
  return 0;
}
