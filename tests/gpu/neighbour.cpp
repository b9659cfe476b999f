// Another program on the GPU, for tests of what disturbs a measurement: multiplies FP16 matrices on the
// tensor cores without a pause, which drives the GPU into its power cap. Ends with its standard input:
// neighbour DEVICE

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gpu/cublas.h"
#include "gpu/device.h"
#include "measure/device_kernels.h"

namespace {

using namespace tiletune;

constexpr std::int64_t kSize = 8192;
constexpr std::uint64_t kElements = std::uint64_t{kSize} * kSize;
constexpr int kQueued = 8;

bool input_ended() {
  char byte = 0;
  return ::read(STDIN_FILENO, &byte, 1) == 0;
}

void disturb(int device) {
  Gpu gpu(device);
  DeviceKernels kernels(gpu);
  Blas blas(gpu);
  const DeviceBuffer a(kElements * 2);
  const DeviceBuffer b(kElements * 2);
  const DeviceBuffer c(kElements * 2);
  // On zeros the tensor cores need far less power.
  const ElementRows all{kElements, kElements, kElements};
  const Workload::Values values{Distribution::uniform, -1, 1};
  kernels.fill_values(ElementType::f16, a.address(), all, values, 1);
  kernels.fill_values(ElementType::f16, b.address(), all, values, 2);
  BlasGemm gemm;
  gemm.m = gemm.n = gemm.k = kSize;
  gemm.a = gemm.b = gemm.c = ElementType::f16;
  gemm.a_address = a.address();
  gemm.b_address = b.address();
  gemm.c_address = c.address();
  std::puts("running");
  std::fflush(stdout);
  while (!input_ended()) {
    for (int i = 0; i < kQueued; ++i) blas.gemm(gemm);
    gpu.synchronize();
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::fcntl(STDIN_FILENO, F_SETFL, ::fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
  try {
    disturb(argc > 1 ? std::stoi(argv[1]) : 0);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "neighbour: %s\n", error.what());
    return 1;
  }
}
