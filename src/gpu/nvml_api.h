#pragma once

#include <string>

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

/// The functions of NVML that tiletune calls. All but those of the first group may be null: older drivers
/// lack some of them.
struct NvmlApi {
  int (*init)();
  int (*shutdown)();
  int (*by_uuid)(const char*, NvmlDevice*);

  const char* (*error_text)(int);
  int (*system_driver_version)(char*, unsigned);
  int (*system_cuda_version)(int*);
  int (*count)(unsigned*);
  int (*by_index)(unsigned, NvmlDevice*);
  int (*parent_of_slice)(NvmlDevice, NvmlDevice*);
  int (*name)(NvmlDevice, char*, unsigned);
  int (*uuid)(NvmlDevice, char*, unsigned);
  int (*clock)(NvmlDevice, unsigned, unsigned*);
  int (*max_clock)(NvmlDevice, unsigned, unsigned*);
  int (*application_clock)(NvmlDevice, unsigned, unsigned*);
  int (*default_application_clock)(NvmlDevice, unsigned, unsigned*);
  int (*throttle_reasons)(NvmlDevice, unsigned long long*);
  int (*power)(NvmlDevice, unsigned*);
  int (*energy)(NvmlDevice, unsigned long long*);
  int (*power_limit)(NvmlDevice, unsigned*);
  int (*default_power_limit)(NvmlDevice, unsigned*);
  int (*temperature)(NvmlDevice, unsigned, unsigned*);
  int (*temperature_threshold)(NvmlDevice, unsigned, unsigned*);
  int (*memory)(NvmlDevice, NvmlMemoryInfo*);
  int (*utilization)(NvmlDevice, NvmlUtilization*);
  int (*processes)(NvmlDevice, unsigned*, NvmlProcessInfo*);
  int (*persistence_mode)(NvmlDevice, unsigned*);
  int (*ecc_mode)(NvmlDevice, unsigned*, unsigned*);
  int (*ecc_errors)(NvmlDevice, unsigned, unsigned, unsigned long long*);
  int (*mig_mode)(NvmlDevice, unsigned*, unsigned*);
  int (*compute_mode)(NvmlDevice, unsigned*);
  int (*display_active)(NvmlDevice, unsigned*);
};

/// NVML, opened and started for as long as this lives; the library counts those who started it.
class NvmlSession {
 public:
  explicit NvmlSession(const std::string& library);
  ~NvmlSession();
  NvmlSession(const NvmlSession&) = delete;
  NvmlSession& operator=(const NvmlSession&) = delete;

  bool started() const { return why_.empty(); }
  /// Why it did not start; empty when it did.
  const std::string& why() const { return why_; }
  const NvmlApi& api() const { return api_; }
  /// "580.159.04"; empty where NVML does not say.
  std::string driver_version() const;

 private:
  NvmlApi api_{};
  std::string why_;
};

}  // namespace tiletune
