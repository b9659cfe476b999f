#include "compile/nvjitlink_api.h"

#include <fmt/format.h>

#include <optional>

#include "base/cuda_libraries.h"
#include "base/error.h"
#include "base/library.h"

namespace tiletune {

namespace {

std::optional<NvJitLinkApi> load_nvjitlink() {
  try {
    const Library library(cuda_library_names("nvJitLink"));
    NvJitLinkApi api{};
    int (*version)(unsigned* major, unsigned* minor) = nullptr;
    library.load(version, "nvJitLinkVersion");
    library.load(api.create, "nvJitLinkCreate");
    library.load(api.destroy, "nvJitLinkDestroy");
    library.load(api.add_data, "nvJitLinkAddData");
    library.load(api.complete, "nvJitLinkComplete");
    library.load(api.cubin_size, "nvJitLinkGetLinkedCubinSize");
    library.load(api.cubin, "nvJitLinkGetLinkedCubin");
    library.load(api.log_size, "nvJitLinkGetErrorLogSize");
    library.load(api.log, "nvJitLinkGetErrorLog");
    unsigned major = 0;
    unsigned minor = 0;
    if (version(&major, &minor) != 0) return std::nullopt;
    api.version = fmt::format("{}.{}", major, minor);
    return api;
  } catch (const GpuError&) {
    return std::nullopt;
  }
}

}  // namespace

const NvJitLinkApi* find_nvjitlink() {
  static const std::optional<NvJitLinkApi> api = load_nvjitlink();
  return api ? &*api : nullptr;
}

}  // namespace tiletune
