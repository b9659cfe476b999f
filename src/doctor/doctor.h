#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/spelling.h"
#include "gpu/cublas.h"
#include "gpu/nvml.h"
#include "measure/client.h"

namespace tiletune {

/// How much a finding disturbs measurements: not at all; not the times themselves, or in a way that is the
/// same for all; times cannot be trusted; something does not work.
enum class Health { ok, note, warning, problem };
template <>
inline constexpr std::array<Named<Health>, 4> kSpellings<Health>{
    {{Health::ok, "ok"}, {Health::note, "note"}, {Health::warning, "warning"}, {Health::problem, "problem"}}};

/// One thing that was looked at. What is not ok says why it matters, and what to do about it.
struct DoctorFinding {
  std::string check;  ///< "throttling"
  Health health = Health::ok;
  std::string found;
  std::string why;
  std::string remedy;
  std::optional<int> gpu{};  ///< the driver's number, for what concerns one GPU
};

struct CacheFacts {
  std::filesystem::path folder;
  std::string failure;  ///< why it cannot be written; empty when it can
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0;
};

struct MachineFacts {
  std::string nvrtc_version;
  std::string compile_failure;  ///< of a trial kernel; empty when it was compiled
  double compile_s = 0;
  std::string not_confined;  ///< why untrusted kernels cannot be confined; empty when they are
  bool hides_names = false;  ///< from Python functions, of all files that they may not read
  int cores = 1;
  std::optional<double> core_quota;  ///< what a container may use of them
  CacheFacts cache;
  std::vector<LibraryFacts> libraries;
  std::map<std::string, std::string> environment;  ///< variables that are set
  std::string driver_version;                      ///< empty when there is no driver that answers
  std::string cuda_version;                        ///< highest the driver supports
  std::string no_gpu;                              ///< why the driver shows none
  std::string no_nvml;                             ///< why NVML answers nothing
  std::vector<NvmlGpu> nvml_gpus;
};

struct GpuFacts {
  int index = 0;
  std::string name;          ///< empty when it could not be opened
  std::string architecture;  ///< "sm_90a"; empty when NVRTC makes no code for it
  std::string failure;       ///< why it cannot be used
  std::string remedy;        ///< of the failure, where it is known
  std::string smi_name;      ///< how nvidia-smi calls it: its number there
  std::optional<GpuReadings> readings;
};

struct DoctorFacts {
  MachineFacts machine;
  std::vector<GpuFacts> gpus;
};

/// A worker for each of these GPUs, all started.
using StartGpuClients = std::function<std::vector<std::unique_ptr<GpuClient>>(const std::vector<int>& gpus)>;

/// Looks at the machine and opens these GPUs, or all where none is named, each in a worker that may fail or
/// be given up. Changes nothing.
DoctorFacts collect_facts(const StartGpuClients& start, const std::vector<int>& gpus);

std::vector<DoctorFinding> examine_machine(const MachineFacts& facts);
std::vector<DoctorFinding> examine_gpu(const GpuFacts& facts);

/// 0 when nothing disturbs a measurement, 1 when something does, 3 when a GPU is there that cannot be used.
int exit_code(const std::vector<DoctorFinding>& findings);
/// The closing sentence: what works, and whether measurements would be disturbed.
std::string verdict(const std::vector<DoctorFinding>& findings);

}  // namespace tiletune
