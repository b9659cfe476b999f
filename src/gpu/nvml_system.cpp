#include <fmt/format.h>

#include <array>

#include "gpu/nvml.h"
#include "gpu/nvml_api.h"

namespace tiletune {

struct NvmlSystem::Impl {
  explicit Impl(const std::string& library) : session(library) {}
  NvmlSession session;
};

NvmlSystem::NvmlSystem(const std::string& library) : impl_(std::make_unique<Impl>(library)) {}
NvmlSystem::~NvmlSystem() = default;

const std::string& NvmlSystem::why() const { return impl_->session.why(); }

std::optional<std::string> NvmlSystem::driver_version() const {
  const std::string version = impl_->session.driver_version();
  if (version.empty()) return std::nullopt;
  return version;
}

std::optional<std::string> NvmlSystem::cuda_version() const {
  const NvmlApi& api = impl_->session.api();
  int version = 0;
  if (!impl_->session.started() || api.system_cuda_version == nullptr ||
      api.system_cuda_version(&version) != kNvmlSuccess)
    return std::nullopt;
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<NvmlGpu> NvmlSystem::gpus() const {
  const NvmlApi& api = impl_->session.api();
  unsigned count = 0;
  std::vector<NvmlGpu> gpus;
  if (!impl_->session.started() || api.count == nullptr || api.by_index == nullptr || api.uuid == nullptr ||
      api.name == nullptr || api.count(&count) != kNvmlSuccess)
    return gpus;
  for (unsigned index = 0; index < count; ++index) {
    constexpr unsigned kLongest = 96;
    std::array<char, kLongest> name{};
    std::array<char, kLongest> uuid{};
    NvmlDevice device = nullptr;
    if (api.by_index(index, &device) != kNvmlSuccess) continue;  // one that has fallen off the bus
    if (api.uuid(device, uuid.data(), kLongest) != kNvmlSuccess) continue;
    if (api.name(device, name.data(), kLongest) != kNvmlSuccess) continue;
    gpus.push_back({static_cast<int>(index), name.data(), uuid.data()});
  }
  return gpus;
}

}  // namespace tiletune
