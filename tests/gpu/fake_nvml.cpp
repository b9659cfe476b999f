// NVML for tests, without a GPU: three healthy, idle GPUs, the same that tests/measure/fake_gpu_worker.cpp
// pretends to have. The variable FAKE_NVML changes answers: words "name=value" for all GPUs or "1.name=value"
// for one, where the value "none" is an answer that is not supported; "pids=17:1024,18:none" are processes
// with their memory.

#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/nvml_api.h"

struct tiletune::nvmlDevice_st {
  int index;
};

namespace {

using tiletune::NvmlDevice;

constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kVersionMismatch = 18;

std::optional<std::string> override_of(const std::string& name) {
  const char* text = std::getenv("FAKE_NVML");
  std::istringstream words(text != nullptr ? text : "");
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('=');
    if (word.substr(0, at) == name) return word.substr(at + 1);
  }
  return std::nullopt;
}

std::string answer_of(NvmlDevice device, const std::string& name, const std::string& usual) {
  if (auto text = override_of(std::to_string(device->index) + "." + name)) return *text;
  return override_of(name).value_or(usual);
}

template <typename Number>
int answer(NvmlDevice device, const std::string& name, unsigned long long usual, Number* out) {
  const std::string text = answer_of(device, name, std::to_string(usual));
  if (text == "none") return kNotSupported;
  *out = static_cast<Number>(std::stoull(text, nullptr, 0));
  return tiletune::kNvmlSuccess;
}

int copy(const std::string& text, char* out, unsigned length) {
  if (text.size() >= length) return tiletune::kNvmlInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return tiletune::kNvmlSuccess;
}

std::string uuid_of(int index) { return "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index); }

NvmlDevice device_of(int index) {
  static std::vector<tiletune::nvmlDevice_st> devices{{0}, {1}, {2}};
  return &devices[static_cast<std::size_t>(index)];
}

int count() { return std::stoi(override_of("count").value_or("3")); }

std::string clock_name(const char* kind, unsigned clock) {
  return std::string(kind) + (clock == tiletune::kNvmlClockSm ? "_sm" : "_memory");
}

int list_processes(NvmlDevice device, unsigned* capacity, tiletune::NvmlProcessInfo* infos) {
  const std::string text = answer_of(device, "pids", "");
  if (text == "none") return kNotSupported;
  std::istringstream list(text);
  std::vector<tiletune::NvmlProcessInfo> all;
  for (std::string word; std::getline(list, word, ',');) {
    const std::string memory = word.substr(word.find(':') + 1);
    all.push_back(
        {static_cast<unsigned>(std::stoul(word)), memory == "none" ? ~0ULL : std::stoull(memory), 0, 0});
  }
  const bool fits = all.size() <= *capacity;
  *capacity = static_cast<unsigned>(all.size());
  if (!fits) return tiletune::kNvmlInsufficientSize;
  for (std::size_t i = 0; i < all.size(); ++i) infos[i] = all[i];
  return tiletune::kNvmlSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return override_of("mismatch") ? kVersionMismatch : 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) {
  return code == kVersionMismatch ? "Driver/library version mismatch" : "an error";
}
int nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  for (int index = 0; index < count(); ++index) {
    if (uuid != uuid_of(index)) continue;
    *device = device_of(index);
    return 0;
  }
  if (std::strcmp(uuid, "MIG-5") != 0) return kNotFound;
  *device = device_of(2);
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* number) {
  *number = static_cast<unsigned>(count());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  if (static_cast<int>(index) >= count()) return kInvalidArgument;
  *device = device_of(static_cast<int>(index));
  return override_of(std::to_string(index) + ".lost") ? kNotFound : 0;
}
int nvmlDeviceGetName(NvmlDevice device, char* name, unsigned length) {
  return copy(device->index == 2 ? "Fake H300" : "Fake H200", name, length);
}
int nvmlDeviceGetUUID(NvmlDevice device, char* uuid, unsigned length) {
  return copy(uuid_of(device->index), uuid, length);
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) { return copy("580.0", version, length); }
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = std::stoi(override_of("cuda").value_or("13000"));
  return 0;
}
int nvmlDeviceGetClockInfo(NvmlDevice device, unsigned clock, unsigned* mhz) {
  return answer(device, clock_name("now", clock), clock == tiletune::kNvmlClockSm ? 345 : 3201, mhz);
}
int nvmlDeviceGetPowerUsage(NvmlDevice device, unsigned* mw) { return answer(device, "power", 76123, mw); }
int nvmlDeviceGetPersistenceMode(NvmlDevice device, unsigned* mode) {
  return answer(device, "persistence", 1, mode);
}

#ifdef OLD_DRIVER
int nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice device, unsigned long long* reasons) {
  return answer(device, "throttle", 0x1, reasons);
}
int nvmlDeviceGetComputeRunningProcesses_v2(NvmlDevice device, unsigned* capacity,
                                            tiletune::NvmlProcessInfo* infos) {
  return list_processes(device, capacity, infos);
}
#else
int nvmlDeviceGetCurrentClocksEventReasons(NvmlDevice device, unsigned long long* reasons) {
  return answer(device, "throttle", 0x1, reasons);
}
int nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, unsigned* capacity,
                                            tiletune::NvmlProcessInfo* infos) {
  return list_processes(device, capacity, infos);
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(NvmlDevice slice, NvmlDevice* device) {
  *device = slice;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(NvmlDevice device, unsigned clock, unsigned* mhz) {
  return answer(device, clock_name("max", clock), clock == tiletune::kNvmlClockSm ? 1980 : 3201, mhz);
}
int nvmlDeviceGetApplicationsClock(NvmlDevice device, unsigned clock, unsigned* mhz) {
  return answer(device, clock_name("application", clock), clock == tiletune::kNvmlClockSm ? 1980 : 3201, mhz);
}
int nvmlDeviceGetDefaultApplicationsClock(NvmlDevice device, unsigned clock, unsigned* mhz) {
  return answer(device, clock_name("default", clock), clock == tiletune::kNvmlClockSm ? 1980 : 3201, mhz);
}
int nvmlDeviceGetTotalEnergyConsumption(NvmlDevice device, unsigned long long* mj) {
  return answer(device, "energy", 123456, mj);
}
int nvmlDeviceGetEnforcedPowerLimit(NvmlDevice device, unsigned* mw) {
  return answer(device, "limit", 700000, mw);
}
int nvmlDeviceGetPowerManagementDefaultLimit(NvmlDevice device, unsigned* mw) {
  return answer(device, "default_limit", 700000, mw);
}
int nvmlDeviceGetTemperature(NvmlDevice device, unsigned sensor, unsigned* celsius) {
  return sensor == tiletune::kNvmlTemperatureGpu ? answer(device, "temperature", 31, celsius)
                                                 : kInvalidArgument;
}
int nvmlDeviceGetTemperatureThreshold(NvmlDevice device, unsigned threshold, unsigned* celsius) {
  return threshold == tiletune::kNvmlThresholdSlowdown ? answer(device, "slowdown", 90, celsius)
                                                       : kInvalidArgument;
}
int nvmlDeviceGetMemoryInfo_v2(NvmlDevice device, tiletune::NvmlMemoryInfo* memory) {
  if (memory->version != (sizeof(*memory) | 2U << 24U)) return kInvalidArgument;
  memory->total = 140ULL << 30;
  memory->reserved = 1ULL << 30;
  const int code = answer(device, "used", 0, &memory->used);
  memory->free = memory->total - memory->reserved - memory->used;
  return code;
}
int nvmlDeviceGetUtilizationRates(NvmlDevice device, tiletune::NvmlUtilization* rates) {
  return answer(device, "utilization", 0, &rates->gpu);
}
int nvmlDeviceGetEccMode(NvmlDevice device, unsigned* current, unsigned* pending) {
  *pending = 1;
  return answer(device, "ecc", 1, current);
}
int nvmlDeviceGetTotalEccErrors(NvmlDevice device, unsigned type, unsigned counter,
                                unsigned long long* errors) {
  if (type != tiletune::kNvmlErrorUncorrected || counter != tiletune::kNvmlCounterVolatile)
    return kInvalidArgument;
  return answer(device, "ecc_errors", 0, errors);
}
int nvmlDeviceGetMigMode(NvmlDevice device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return answer(device, "mig", 0, current);
}
int nvmlDeviceGetComputeMode(NvmlDevice device, unsigned* mode) {
  return answer(device, "compute_mode", 0, mode);
}
int nvmlDeviceGetDisplayActive(NvmlDevice device, unsigned* active) {
  return answer(device, "display", 0, active);
}
#endif

}  // extern "C"
