#include "gpu/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "gpu/nvml_api.h"

namespace tiletune {

namespace {

/// NVML, opened and started for as long as this lives; the library counts those who started it.
struct NvmlSession {
  explicit NvmlSession(const std::string& library);
  ~NvmlSession() {
    if (started()) api.shutdown();
  }
  NvmlSession(const NvmlSession&) = delete;
  NvmlSession& operator=(const NvmlSession&) = delete;

  bool started() const { return why.empty(); }
  std::optional<std::string> driver_version() const;

  NvmlApi api;
  std::string why;  ///< it did not start; empty when it did
};

NvmlSession::NvmlSession(const std::string& library) {
  try {
    const std::array<std::string, 1> names{library};
    api = NvmlApi{Library(names)};
  } catch (const GpuError&) {
  }
  if (api.init == nullptr || api.shutdown == nullptr || api.by_uuid == nullptr) {
    why = library + " cannot be opened";
    return;
  }
  const int code = api.init();
  if (code == kNvmlSuccess) return;
  why = fmt::format("NVML does not start: {} (code {})",
                    api.error_text != nullptr ? api.error_text(code) : "unknown error", code);
}

std::optional<std::string> NvmlSession::driver_version() const {
  constexpr unsigned kLongest = 80;
  std::array<char, kLongest> text{};
  const bool is_known = started() && api.system_driver_version != nullptr &&
                        api.system_driver_version(text.data(), kLongest) == kNvmlSuccess;
  if (!is_known || text[0] == '\0') return std::nullopt;
  return text.data();
}

constexpr double kPerMilli = 1e-3;
constexpr std::string_view kGpuPrefix = "GPU-";

std::optional<double> scaled(std::optional<unsigned> value, double factor = 1) {
  if (!value) return std::nullopt;
  return *value * factor;
}

std::optional<bool> as_bool(std::optional<unsigned> value) {
  if (!value) return std::nullopt;
  return *value != 0;
}

GpuProcess to_process(const NvmlProcessInfo& info) {
  constexpr auto kNotAvailable = std::numeric_limits<unsigned long long>::max();
  GpuProcess process;
  process.pid = static_cast<int>(info.pid);
  if (info.used_memory != kNotAvailable) process.memory_bytes = info.used_memory;
  std::ifstream file(fmt::format("/proc/{}/comm", info.pid));
  std::getline(file, process.name);
  return process;
}

}  // namespace

struct Nvml::Impl : NvmlSession {
  using NvmlSession::NvmlSession;

  /// The last argument of every question is where the answer goes.
  template <typename Value, typename Function, typename... Arguments>
  std::optional<Value> ask(Function* function, Arguments... arguments) const {
    Value value{};
    if (device == nullptr || function == nullptr || function(device, arguments..., &value) != kNvmlSuccess)
      return std::nullopt;
    return value;
  }

  std::optional<unsigned> number(NvmlNumber function) const { return ask<unsigned>(function); }
  std::optional<double> clock_mhz(NvmlNumberOf function, unsigned clock) const {
    return scaled(ask<unsigned>(function, clock));
  }
  /// The first of two: what holds now, and what will after the next reset.
  std::optional<bool> mode(NvmlMode function) const {
    unsigned current = 0;
    if (!ask<unsigned>(function, &current)) return std::nullopt;
    return current != 0;
  }

  std::optional<int> utilization_percent() const {
    const auto rates = ask<NvmlUtilization>(api.utilization);
    if (!rates) return std::nullopt;
    return static_cast<int>(rates->gpu);
  }
  std::optional<GpuMemory> memory() const {
    const auto info = ask<NvmlMemoryInfo>(api.memory);
    if (!info) return std::nullopt;
    // Drivers differ in whether `used` holds the reserve.
    const unsigned long long rest = info->free + info->reserved;
    return GpuMemory{info->total, info->free, info->total > rest ? info->total - rest : 0};
  }
  std::optional<EccState> ecc() const {
    const auto enabled = mode(api.ecc_mode);
    if (!enabled) return std::nullopt;
    return EccState{*enabled,
                    ask<unsigned long long>(api.ecc_errors, kNvmlErrorUncorrected, kNvmlCounterVolatile)};
  }
  std::optional<ComputeMode> compute_mode() const {
    const auto mode = number(api.compute_mode);
    if (!mode || *mode > static_cast<unsigned>(ComputeMode::exclusive_process)) return std::nullopt;
    return static_cast<ComputeMode>(*mode);
  }

  NvmlDevice device = nullptr;
};

Nvml::Nvml(const std::string& uuid, const std::string& library) : impl_(std::make_unique<Impl>(library)) {
  if (!impl_->started()) return;
  const NvmlApi& api = impl_->api;
  if (api.by_uuid(uuid.c_str(), &impl_->device) == kNvmlSuccess) return;
  impl_->device = nullptr;
  if (!uuid.starts_with(kGpuPrefix) || api.parent_of_slice == nullptr) return;
  NvmlDevice slice = nullptr;
  const std::string slice_uuid = "MIG-" + uuid.substr(kGpuPrefix.size());
  if (api.by_uuid(slice_uuid.c_str(), &slice) != kNvmlSuccess ||
      api.parent_of_slice(slice, &impl_->device) != kNvmlSuccess)
    impl_->device = nullptr;
}

Nvml::~Nvml() = default;

std::optional<std::string> Nvml::driver_version() const { return impl_->driver_version(); }

std::optional<double> Nvml::sm_clock_mhz() const { return impl_->clock_mhz(impl_->api.clock, kNvmlClockSm); }

std::optional<std::uint64_t> Nvml::throttle_reasons() const {
  return impl_->ask<unsigned long long>(impl_->api.throttle_reasons);
}

std::optional<double> Nvml::power_w() const { return scaled(impl_->number(impl_->api.power), kPerMilli); }

std::optional<double> Nvml::energy_j() const {
  const auto millijoules = impl_->ask<unsigned long long>(impl_->api.energy);
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) * kPerMilli;
}

std::optional<std::vector<GpuProcess>> Nvml::compute_processes() const {
  if (impl_->device == nullptr || impl_->api.processes == nullptr) return std::nullopt;
  std::vector<NvmlProcessInfo> infos(256);
  unsigned count = 0;
  int code = kNvmlInsufficientSize;
  // Others may start between two tries, but not for ever.
  for (int tries = 0; tries < 4 && code == kNvmlInsufficientSize; ++tries) {
    infos.resize(std::max<std::size_t>(infos.size(), std::size_t{2} * count));
    count = static_cast<unsigned>(infos.size());
    code = impl_->api.processes(impl_->device, &count, infos.data());
  }
  if (code != kNvmlSuccess) return std::nullopt;
  std::vector<GpuProcess> processes;
  for (unsigned i = 0; i < count; ++i) processes.push_back(to_process(infos[i]));
  return processes;
}

GpuReadings Nvml::readings() const {
  const NvmlApi& api = impl_->api;
  // C++ evaluates the initialisers in their order, and so asks in it.
  return {.utilization_percent = impl_->utilization_percent(),
          .processes = compute_processes(),
          .sm_clock_mhz = sm_clock_mhz(),
          .max_sm_clock_mhz = impl_->clock_mhz(api.max_clock, kNvmlClockSm),
          .application_sm_clock_mhz = impl_->clock_mhz(api.application_clock, kNvmlClockSm),
          .default_application_sm_clock_mhz = impl_->clock_mhz(api.default_application_clock, kNvmlClockSm),
          .throttle_reasons = throttle_reasons(),
          .power_w = power_w(),
          .power_limit_w = scaled(impl_->number(api.power_limit), kPerMilli),
          .default_power_limit_w = scaled(impl_->number(api.default_power_limit), kPerMilli),
          .temperature_c = scaled(impl_->ask<unsigned>(api.temperature, kNvmlTemperatureGpu)),
          .slowdown_temperature_c =
              scaled(impl_->ask<unsigned>(api.temperature_threshold, kNvmlThresholdSlowdown)),
          .memory = impl_->memory(),
          .persistence_mode = as_bool(impl_->number(api.persistence_mode)),
          .mig_mode = impl_->mode(api.mig_mode),
          .display_active = as_bool(impl_->number(api.display_active)),
          .ecc = impl_->ecc(),
          .compute_mode = impl_->compute_mode()};
}

struct NvmlSystem::Impl : NvmlSession {
  using NvmlSession::NvmlSession;
};

NvmlSystem::NvmlSystem(const std::string& library) : impl_(std::make_unique<Impl>(library)) {}
NvmlSystem::~NvmlSystem() = default;

const std::string& NvmlSystem::why() const { return impl_->why; }

std::optional<std::string> NvmlSystem::driver_version() const { return impl_->driver_version(); }

std::optional<std::string> NvmlSystem::cuda_version() const {
  const NvmlApi& api = impl_->api;
  int version = 0;
  if (!impl_->started() || api.system_cuda_version == nullptr ||
      api.system_cuda_version(&version) != kNvmlSuccess)
    return std::nullopt;
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<NvmlGpu> NvmlSystem::gpus() const {
  const NvmlApi& api = impl_->api;
  unsigned count = 0;
  std::vector<NvmlGpu> gpus;
  if (!impl_->started() || api.count == nullptr || api.by_index == nullptr || api.uuid == nullptr ||
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

std::string throttle_text(std::uint64_t reasons) {
  constexpr std::uint64_t kIdle = 0x1;
  constexpr std::uint64_t kApplicationClocks = 0x2;
  constexpr std::array<std::pair<std::uint64_t, const char*>, 7> kNames{{{0x4, "sw_power_cap"},
                                                                         {0x8, "hw_slowdown"},
                                                                         {0x10, "sync_boost"},
                                                                         {0x20, "sw_thermal_slowdown"},
                                                                         {0x40, "hw_thermal_slowdown"},
                                                                         {0x80, "hw_power_brake_slowdown"},
                                                                         {0x100, "display_clock_setting"}}};
  std::uint64_t left = reasons & ~(kIdle | kApplicationClocks);
  std::string text;
  const auto add = [&text](const std::string& reason) { text += (text.empty() ? "" : ", ") + reason; };
  for (const auto& [bit, name] : kNames) {
    if ((left & bit) != 0) add(name);
    left &= ~bit;
  }
  if (left != 0) add(fmt::format("reason {:#x}", left));
  return text;
}

std::vector<GpuProcess> other_processes(std::vector<GpuProcess> processes, std::span<const int> own) {
  const auto is_own = [&](const GpuProcess& process) {
    return std::find(own.begin(), own.end(), process.pid) != own.end();
  };
  if (std::erase_if(processes, is_own) > 0) return processes;
  std::sort(processes.begin(), processes.end(),
            [](const GpuProcess& a, const GpuProcess& b) { return a.pid < b.pid; });
  processes.resize(processes.size() - std::min(processes.size(), own.size()));
  return processes;
}

std::vector<GpuProcess> other_processes(const Nvml& nvml, std::span<const int> own) {
  return other_processes(nvml.compute_processes().value_or(std::vector<GpuProcess>{}), own);
}

}  // namespace tiletune
