// A GPU model as configs/gpus/ holds them, and the occupancy that follows from it.

#include "inspect/gpu_model.h"

#include "fuzz/fuzz.h"
#include "inspect/occupancy.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

void check_occupancy(const GpuModel& gpu, const Resources& resources, int threads, std::int64_t dynamic) {
  refused([&] {
    const Occupancy occupancy = compute_occupancy(gpu, resources, threads, dynamic);
    const std::int64_t blocks = occupancy.blocks_per_multiprocessor;
    require(blocks >= 0 && blocks <= gpu.max_blocks_per_multiprocessor,
            "no more blocks than the model allows");
    require(blocks * threads <= gpu.max_threads_per_multiprocessor, "no more threads than the model allows");
    require(occupancy.fraction >= 0 && occupancy.fraction <= 1, "occupancy is a share");
  });
}

void check(const GpuModel& gpu) {
  require(gpu.multiprocessors > 0 && gpu.fp32_peak_tflops() > 0, "a GPU can compute");
  for (const int registers : {1, 33, 255}) {
    for (const int threads : {1, 100, 1024}) {
      Resources resources;
      resources.registers = registers;
      resources.static_shared_bytes = threads * registers;
      check_occupancy(gpu, resources, threads, registers * std::int64_t{1000});
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = write_scratch("gpus/model.json", text_of(data, size));
  refused([&] {
    const std::vector<GpuModel> models = load_gpu_models(file.parent_path());
    require(models.size() == 1, "one file is one model");
    const bool nameless =
        refused([&] { require(&find_gpu_model(models, models[0].name) == &models[0], "found"); });
    require(!nameless, "a model is found by its name");
    check(models[0]);
  });
  return 0;
}
