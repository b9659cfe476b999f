#include "compile/nvjitlink_api.h"

#include <fmt/format.h>

#include <optional>

#include "base/cuda_libraries.h"
#include "base/error.h"

namespace tiletune {

namespace {

std::optional<NvJitLinkApi> load_nvjitlink() {
  try {
    NvJitLinkApi api{Library(cuda_library_names("nvJitLink"))};
    unsigned major = 0;
    unsigned minor = 0;
    if (api.version(&major, &minor) != 0) return std::nullopt;
    api.version_text = fmt::format("{}.{}", major, minor);
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
