#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tiletune {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// A program that computes on a GPU.
struct GpuProcess {
  int pid = 0;  ///< as the driver counts: in a container it may be another number than the container's
  std::optional<std::uint64_t> memory_bytes;
  std::string name;  ///< empty where /proc does not tell
};

struct GpuMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t used_bytes = 0;  ///< by programs: without what the driver keeps for itself
};

struct EccState {
  bool enabled = false;
  std::optional<std::uint64_t> uncorrected_errors;  ///< since the driver was loaded
};

/// Who may use a GPU, as `nvidia-smi --compute-mode` sets it.
enum class ComputeMode { shared, exclusive_thread, prohibited, exclusive_process };

/// What NVML says of one GPU at one moment.
struct GpuReadings {
  /// Percent of the last second or less in which a kernel ran, whosever it was.
  std::optional<int> utilization_percent;
  std::optional<std::vector<GpuProcess>> processes;
  std::optional<double> sm_clock_mhz, max_sm_clock_mhz;
  /// What programs get unless power or heat forbid it, and what that is when nobody has set it.
  std::optional<double> application_sm_clock_mhz, default_application_sm_clock_mhz;
  std::optional<std::uint64_t> throttle_reasons;
  std::optional<double> power_w, power_limit_w, default_power_limit_w;
  std::optional<double> temperature_c;
  std::optional<double> slowdown_temperature_c;  ///< from here on the hardware slows its clocks
  std::optional<GpuMemory> memory;
  std::optional<bool> persistence_mode, mig_mode, display_active;
  std::optional<EccState> ecc;
  std::optional<ComputeMode> compute_mode;
};

/// What NVML says of one GPU. NVML is loaded at run time; where it is missing, older than a question or
/// without an answer, the answer is none. Needs no CUDA context.
class Nvml {
 public:
  /// `uuid` as the driver gives it ("GPU-..."); of a MIG slice, the GPU it is part of answers.
  explicit Nvml(const std::string& uuid, const std::string& library = kNvmlLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> driver_version() const;  ///< "580.159.04"

  std::optional<double> sm_clock_mhz() const;
  /// Why clocks are lower than they could be, as bits: throttle_text() reads them.
  std::optional<std::uint64_t> throttle_reasons() const;
  std::optional<double> power_w() const;
  std::optional<double> energy_j() const;  ///< since the driver was loaded
  std::optional<std::vector<GpuProcess>> compute_processes() const;

  /// Asks for utilization and processes first, because the other questions could change them.
  GpuReadings readings() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A GPU as NVML lists it; its index is nvidia-smi's, which need not be CUDA's.
struct NvmlGpu {
  int index = 0;
  std::string name;
  std::string uuid;
};

/// What NVML says of the machine. While it lives, opening a GPU of it is cheap.
class NvmlSystem {
 public:
  explicit NvmlSystem(const std::string& library = kNvmlLibrary);
  ~NvmlSystem();
  NvmlSystem(const NvmlSystem&) = delete;
  NvmlSystem& operator=(const NvmlSystem&) = delete;

  /// Why it answers nothing; empty when it does.
  const std::string& why() const;
  std::optional<std::string> driver_version() const;
  std::optional<std::string> cuda_version() const;  ///< highest the driver supports: "13.0"
  std::vector<NvmlGpu> gpus() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "sw_power_cap, hw_slowdown", in nvidia-smi's words; empty when nothing throttles. That the GPU is idle, or
/// keeps to the clocks set for applications, is not throttling.
std::string throttle_text(std::uint64_t reasons);

/// The processes that are none of `own`. Where the driver counts processes in another way than `own` does (in
/// a container) none of them is found; then as many, the youngest, are taken to be own.
std::vector<GpuProcess> other_processes(std::vector<GpuProcess> processes, std::span<const int> own);
/// Other processes on a GPU; none where NVML reports none. `own` hold a context there.
std::vector<GpuProcess> other_processes(const Nvml& nvml, std::span<const int> own);

}  // namespace tiletune
