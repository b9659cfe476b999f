#include "compile/nvrtc_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/cuda_libraries.h"
#include "base/error.h"

namespace tiletune {

namespace {

Library open_nvrtc() {
  try {
    return Library(cuda_library_names("nvrtc"));
  } catch (const GpuError& error) {
    throw UserError(fmt::format("CUDA's compiler for kernels (libnvrtc) cannot be loaded.\n{}", error.what()),
                    "Install CUDA 12.4 or newer, or name the folder of libnvrtc in LD_LIBRARY_PATH.");
  }
}

/// NVRTC opens its builtins by name, which the loader finds where they are loaded already. Where they are
/// missing NVRTC says so itself, with every compilation.
void load_builtins(const NvrtcApi& api) {
  int major = 0;
  int minor = 0;
  if (api.version(&major, &minor) != NVRTC_SUCCESS) return;
  const auto builtins = api.file.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  ::dlopen(builtins.c_str(), RTLD_NOW);
}

NvrtcApi load_nvrtc() {
  NvrtcApi api{open_nvrtc()};
  load_builtins(api);
  return api;
}

}  // namespace

const NvrtcApi& nvrtc() {
  static const NvrtcApi api = load_nvrtc();
  return api;
}

}  // namespace tiletune
