#include <cstdio>

#include "tuned.h"

int main() {
  tuned::Device device;
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  device.multiprocessors = 132;
  tuned::Plan plan;
  const tuned::Picked picked = choose(tuned::gemm_f32_problem{1000, 500, 512}, device, plan);
  if (picked.kernel == nullptr) return 1;  // picked.why says why no kernel can run these sizes
  const tuned::Launch& launch = plan.launch[0];
  std::printf("%s\n", picked.kernel->expressions[launch.kernel]);
  std::printf("%u blocks of %u threads, %u bytes of shared memory, %d arguments\n", launch.grid[0],
              launch.block[0], launch.shared_bytes, launch.arguments);
}
