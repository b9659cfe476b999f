#include "gpu/nvml_api.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/library.h"

namespace tiletune {

namespace {

NvmlApi load_nvml_api(const Library& library) {
  NvmlApi api{};
  library.load(api.init, "nvmlInit_v2");
  library.load(api.shutdown, "nvmlShutdown");
  library.load(api.by_uuid, "nvmlDeviceGetHandleByUUID");
  library.load_if_there(api.error_text, "nvmlErrorString");
  library.load_if_there(api.system_driver_version, "nvmlSystemGetDriverVersion");
  library.load_if_there(api.system_cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
  library.load_if_there(api.count, "nvmlDeviceGetCount_v2");
  library.load_if_there(api.by_index, "nvmlDeviceGetHandleByIndex_v2");
  library.load_if_there(api.parent_of_slice, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  library.load_if_there(api.name, "nvmlDeviceGetName");
  library.load_if_there(api.uuid, "nvmlDeviceGetUUID");
  library.load_if_there(api.clock, "nvmlDeviceGetClockInfo");
  library.load_if_there(api.max_clock, "nvmlDeviceGetMaxClockInfo");
  library.load_if_there(api.application_clock, "nvmlDeviceGetApplicationsClock");
  library.load_if_there(api.default_application_clock, "nvmlDeviceGetDefaultApplicationsClock");
  library.load_if_there(api.throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  if (api.throttle_reasons == nullptr)
    library.load_if_there(api.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  library.load_if_there(api.power, "nvmlDeviceGetPowerUsage");
  library.load_if_there(api.energy, "nvmlDeviceGetTotalEnergyConsumption");
  library.load_if_there(api.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  library.load_if_there(api.default_power_limit, "nvmlDeviceGetPowerManagementDefaultLimit");
  library.load_if_there(api.temperature, "nvmlDeviceGetTemperature");
  library.load_if_there(api.temperature_threshold, "nvmlDeviceGetTemperatureThreshold");
  library.load_if_there(api.memory, "nvmlDeviceGetMemoryInfo_v2");
  library.load_if_there(api.utilization, "nvmlDeviceGetUtilizationRates");
  library.load_if_there(api.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (api.processes == nullptr)
    library.load_if_there(api.processes, "nvmlDeviceGetComputeRunningProcesses_v2");
  library.load_if_there(api.persistence_mode, "nvmlDeviceGetPersistenceMode");
  library.load_if_there(api.ecc_mode, "nvmlDeviceGetEccMode");
  library.load_if_there(api.ecc_errors, "nvmlDeviceGetTotalEccErrors");
  library.load_if_there(api.mig_mode, "nvmlDeviceGetMigMode");
  library.load_if_there(api.compute_mode, "nvmlDeviceGetComputeMode");
  library.load_if_there(api.display_active, "nvmlDeviceGetDisplayActive");
  return api;
}

}  // namespace

NvmlSession::NvmlSession(const std::string& library) {
  try {
    const std::array<std::string, 1> names{library};
    api_ = load_nvml_api(Library(names));
  } catch (const GpuError&) {
    why_ = library + " cannot be opened";
    return;
  }
  const int code = api_.init();
  if (code == kNvmlSuccess) return;
  why_ = fmt::format("NVML does not start: {} (code {})",
                     api_.error_text != nullptr ? api_.error_text(code) : "unknown error", code);
}

NvmlSession::~NvmlSession() {
  if (started()) api_.shutdown();
}

std::string NvmlSession::driver_version() const {
  constexpr unsigned kLongest = 80;
  std::array<char, kLongest> text{};
  if (!started() || api_.system_driver_version == nullptr) return "";
  return api_.system_driver_version(text.data(), kLongest) == kNvmlSuccess ? text.data() : "";
}

}  // namespace tiletune
