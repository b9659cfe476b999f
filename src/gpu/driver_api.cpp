#include "gpu/driver_api.h"

#include <fmt/format.h>

#include <array>

#include "gpu/device.h"

namespace tiletune {

namespace {

Library open_driver() {
  const std::array<std::string, 2> names{"libcuda.so.1", "libcuda.so"};
  try {
    return Library(names);
  } catch (const GpuError&) {
    throw NoGpu("no NVIDIA driver is installed (libcuda.so.1 cannot be opened)");
  }
}

}  // namespace

const DriverApi& driver_api() {
  static const DriverApi api = [] {
    DriverApi loaded{open_driver()};
    const CUresult result = loaded.init(0);
    if (result != CUDA_SUCCESS) {
      const char* text = nullptr;
      loaded.error_string(result, &text);
      if (result == CUDA_ERROR_NO_DEVICE) throw NoGpu("the NVIDIA driver shows no GPU");
      throw GpuError(fmt::format("the CUDA driver does not start: {} (code {})",
                                 text != nullptr ? text : "unknown error", static_cast<int>(result)));
    }
    return loaded;
  }();
  return api;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* error = nullptr;
  const char* text = nullptr;
  driver_api().error_name(result, &error);
  driver_api().error_string(result, &text);
  throw CudaError(static_cast<int>(result),
                  fmt::format("{}: {} ({})", call, text != nullptr ? text : "unknown error",
                              error != nullptr ? error : "?"));
}

}  // namespace tiletune
