#include "gpu/nvml.h"

#include <array>

#include "base/error.h"
#include "gpu/library.h"

namespace tiletune {

// nvml.h is not part of every toolkit: these few declarations follow NVIDIA's NVML API reference.
namespace {

struct nvmlDevice_st;
using NvmlDevice = nvmlDevice_st*;
constexpr int kNvmlSuccess = 0;
constexpr unsigned kNvmlClockSm = 1;
constexpr unsigned kVersionLength = 80;

}  // namespace

struct Nvml::Impl {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
  bool started = false;
  NvmlDevice device = nullptr;

  void load() {
    const std::array<std::string, 2> names{"libnvidia-ml.so.1", "libnvidia-ml.so"};
    const Library library(names);
    library.load(init, "nvmlInit_v2");
    library.load(shutdown, "nvmlShutdown");
    library.load(by_uuid, "nvmlDeviceGetHandleByUUID");
    library.load(driver_version, "nvmlSystemGetDriverVersion");
    library.load(clock, "nvmlDeviceGetClockInfo");
  }
};

Nvml::Nvml(const std::string& uuid) : impl_(std::make_unique<Impl>()) {
  try {
    impl_->load();
  } catch (const GpuError&) {
    return;  // No NVML on this machine: every answer is none.
  }
  impl_->started = impl_->init() == kNvmlSuccess;
  if (!impl_->started || impl_->by_uuid(uuid.c_str(), &impl_->device) != kNvmlSuccess)
    impl_->device = nullptr;
}

Nvml::~Nvml() {
  if (impl_->started) impl_->shutdown();
}

std::optional<std::string> Nvml::driver_version() const {
  std::array<char, kVersionLength> text{};
  if (!impl_->started || impl_->driver_version(text.data(), kVersionLength) != kNvmlSuccess)
    return std::nullopt;
  return text.data();
}

std::optional<double> Nvml::sm_clock_mhz() const {
  unsigned mhz = 0;
  if (impl_->device == nullptr || impl_->clock(impl_->device, kNvmlClockSm, &mhz) != kNvmlSuccess)
    return std::nullopt;
  return mhz;
}

}  // namespace tiletune
