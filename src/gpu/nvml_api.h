#pragma once

#include "base/library.h"

namespace tiletune {

// nvml.h is not part of every toolkit: these declarations follow NVIDIA's NVML API reference. Private to the
// gpu library.

struct nvmlDevice_st;
using NvmlDevice = nvmlDevice_st*;

inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlInsufficientSize = 7;
inline constexpr unsigned kNvmlClockSm = 1;
inline constexpr unsigned kNvmlTemperatureGpu = 0;
inline constexpr unsigned kNvmlThresholdSlowdown = 1;
inline constexpr unsigned kNvmlErrorUncorrected = 1;
inline constexpr unsigned kNvmlCounterVolatile = 0;

struct NvmlProcessInfo {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

struct NvmlMemoryInfo {
  unsigned version = sizeof(NvmlMemoryInfo) | 2U << 24U;
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct NvmlUtilization {
  unsigned gpu = 0;
  unsigned memory = 0;
};

// How it answers about a GPU: each function returns an error, and an argument is where the answer goes.
using NvmlNumber = int (*)(NvmlDevice, unsigned*);
using NvmlNumberOf = int (*)(NvmlDevice, unsigned kind, unsigned*);
using NvmlBigNumber = int (*)(NvmlDevice, unsigned long long*);
using NvmlMode = int (*)(NvmlDevice, unsigned* now, unsigned* after_reset);
using NvmlText = int (*)(NvmlDevice, char* text, unsigned length);

/// The functions of NVML that tiletune calls. Older drivers lack some of them, which are null then, but none
/// of the first group.
struct NvmlApi {
  Library library = {};

  int (*init)() = library.find("nvmlInit_v2");
  int (*shutdown)() = library.find("nvmlShutdown");
  int (*by_uuid)(const char*, NvmlDevice*) = library.find("nvmlDeviceGetHandleByUUID");

  const char* (*error_text)(int) = library.find("nvmlErrorString");
  int (*system_driver_version)(char*, unsigned) = library.find("nvmlSystemGetDriverVersion");
  int (*system_cuda_version)(int*) = library.find("nvmlSystemGetCudaDriverVersion_v2");
  int (*count)(unsigned*) = library.find("nvmlDeviceGetCount_v2");
  int (*by_index)(unsigned, NvmlDevice*) = library.find("nvmlDeviceGetHandleByIndex_v2");
  int (*parent_of_slice)(NvmlDevice,
                         NvmlDevice*) = library.find("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  NvmlText name = library.find("nvmlDeviceGetName");
  NvmlText uuid = library.find("nvmlDeviceGetUUID");
  NvmlNumberOf clock = library.find("nvmlDeviceGetClockInfo");
  NvmlNumberOf max_clock = library.find("nvmlDeviceGetMaxClockInfo");
  NvmlNumberOf application_clock = library.find("nvmlDeviceGetApplicationsClock");
  NvmlNumberOf default_application_clock = library.find("nvmlDeviceGetDefaultApplicationsClock");
  NvmlBigNumber throttle_reasons =
      library.find("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  NvmlNumber power = library.find("nvmlDeviceGetPowerUsage");
  NvmlBigNumber energy = library.find("nvmlDeviceGetTotalEnergyConsumption");
  NvmlNumber power_limit = library.find("nvmlDeviceGetEnforcedPowerLimit");
  NvmlNumber default_power_limit = library.find("nvmlDeviceGetPowerManagementDefaultLimit");
  NvmlNumberOf temperature = library.find("nvmlDeviceGetTemperature");
  NvmlNumberOf temperature_threshold = library.find("nvmlDeviceGetTemperatureThreshold");
  int (*memory)(NvmlDevice, NvmlMemoryInfo*) = library.find("nvmlDeviceGetMemoryInfo_v2");
  int (*utilization)(NvmlDevice, NvmlUtilization*) = library.find("nvmlDeviceGetUtilizationRates");
  int (*processes)(NvmlDevice, unsigned*,
                   NvmlProcessInfo*) = library.find("nvmlDeviceGetComputeRunningProcesses_v3",
                                                    "nvmlDeviceGetComputeRunningProcesses_v2");
  NvmlNumber persistence_mode = library.find("nvmlDeviceGetPersistenceMode");
  NvmlMode ecc_mode = library.find("nvmlDeviceGetEccMode");
  int (*ecc_errors)(NvmlDevice, unsigned, unsigned,
                    unsigned long long*) = library.find("nvmlDeviceGetTotalEccErrors");
  NvmlMode mig_mode = library.find("nvmlDeviceGetMigMode");
  NvmlNumber compute_mode = library.find("nvmlDeviceGetComputeMode");
  NvmlNumber display_active = library.find("nvmlDeviceGetDisplayActive");
};

}  // namespace tiletune
