#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/confinement.h"
#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/own_view.h"
#include "base/text.h"
#include "compile/pool.h"
#include "doctor/doctor.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

/// Compiles a kernel that needs NVRTC's builtins and CUDA's headers.
void try_compiler(MachineFacts& facts) {
  CompileRequest request;
  request.source.name = "trial.cu";
  request.source.text =
      "#include <cuda_fp16.h>\n"
      "extern \"C\" __global__ void trial(__half* x) { x[threadIdx.x] = __float2half(1.0f); }\n";
  request.kernel_expressions = {"trial"};
  const auto started = Clock::now();
  try {
    facts.nvrtc_version = nvrtc_version();
    request.options = {"--gpu-architecture=" + architecture_for(9, 0), "--modify-stack-limit=false"};
    const Compiled compiled = compile_here(request);
    if (compiled.outcome != Outcome::ok) facts.compile_failure = split(compiled.reason, '\n').front();
  } catch (const std::exception& error) {
    facts.compile_failure = split(error.what(), '\n').front();
  }
  facts.compile_s = seconds_since(started);
}

/// cpu.max of control groups, version 2: "200000 100000", or "max 100000".
std::optional<double> core_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota_us = 0;
  double period_us = 0;
  if (!(file >> quota_us >> period_us) || period_us <= 0) return std::nullopt;
  return quota_us / period_us;
}

fs::path nearest_existing(fs::path folder) {
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder != folder.parent_path()) folder = folder.parent_path();
  return folder;
}

/// Why nothing can be written there; empty when it can.
std::string writing_failure(const fs::path& folder) {
  const fs::path nearest = nearest_existing(folder);
  if (!fs::is_directory(nearest)) return nearest.string() + " is not a folder";
  if (nearest != folder) return ::access(nearest.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  const fs::path trial = folder / fmt::format("doctor-{}", ::getpid());
  try {
    write_file_atomically(trial, "trial");
  } catch (const UserError& error) {
    return error.message();
  }
  std::error_code ignored;
  fs::remove(trial, ignored);
  return "";
}

CacheFacts look_at_cache() {
  CacheFacts cache;
  try {
    cache.folder = cache_folder() / "cubin";
    cache.failure = folder_distrust(cache.folder);
    if (cache.failure.empty()) cache.failure = writing_failure(cache.folder);
  } catch (const UserError& error) {
    cache.folder = error.where().file;
    cache.failure = error.message();
  }
  std::error_code error;
  const fs::space_info space = fs::space(nearest_existing(cache.folder), error);
  cache.free_bytes = error ? 0 : space.available;
  for (auto file = fs::recursive_directory_iterator(cache.folder, error);
       !error && file != fs::recursive_directory_iterator(); file.increment(error)) {
    // Files of other processes come and go.
    std::error_code gone;
    const std::uint64_t bytes = file->file_size(gone);
    if (!gone) cache.bytes += bytes;
  }
  return cache;
}

MachineFacts look_at_machine() {
  MachineFacts facts;
  try_compiler(facts);
  facts.not_confined = why_not_confinable();
  facts.hides_names = may_separate_mounts();
  facts.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  facts.core_quota = core_quota();
  facts.cache = look_at_cache();
  facts.libraries = find_libraries();
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_INJECTION64_PATH"}) {
    if (const char* value = std::getenv(name)) facts.environment[name] = value;
  }
  return facts;
}

/// Opens GPUs one after another and puts down what becomes of each.
class GpuVisit {
 public:
  GpuVisit(const StartGpuClients& start, bool named, DoctorFacts& facts)
      : start_(start), named_(named), facts_(facts) {
    MachineFacts& machine = facts_.machine;
    machine.no_nvml = nvml_.why();
    machine.driver_version = nvml_.driver_version().value_or("");
    machine.cuda_version = nvml_.cuda_version().value_or("");
    machine.nvml_gpus = nvml_.gpus();
    // Before any GPU is opened: afterwards the traces of that would be read too.
    for (const NvmlGpu& gpu : machine.nvml_gpus) readings_[gpu.uuid] = Nvml(gpu.uuid).readings();
  }

  void visit(const std::vector<int>& indices) {
    const auto clients = start_(indices);
    for (std::size_t i = 0; i < clients.size(); ++i) visit(indices[i], *clients[i]);
  }

  void visit_all() {
    visit({0});
    // Without the first one the driver's number of GPUs is not known.
    if (devices_ == 0 && facts_.machine.no_gpu.empty() &&
        !facts_.machine.environment.contains("CUDA_VISIBLE_DEVICES"))
      devices_ = static_cast<int>(facts_.machine.nvml_gpus.size());
    std::vector<int> others;
    for (int index = 1; index < devices_; ++index) others.push_back(index);
    visit(others);
  }

 private:
  void visit(int index, GpuClient& client) {
    GpuFacts gpu;
    gpu.index = index;
    gpu.smi_name = std::to_string(index);
    try {
      if (const auto opened = client.open()) {
        take(*opened, gpu);
      } else {
        facts_.machine.no_gpu = client.why();
        if (!named_) return;
        gpu.failure = "is not available: " + client.why();
        gpu.remedy =
            "Measure on a machine that has one, or predict for a model: tiletune sweep CONFIG --gpu NAME";
      }
    } catch (const GpuError& error) {
      // A worker that hangs in the driver does not end by itself.
      client.stop();
      gpu.failure = error.what();
      if (const NvmlGpu* known = numbered(index)) {
        gpu.name = known->name;
        gpu.readings = readings_.at(known->uuid);
      }
    }
    facts_.gpus.push_back(std::move(gpu));
  }

  void take(const GpuOpened& opened, GpuFacts& gpu) {
    const DeviceFacts& device = opened.device;
    MachineFacts& machine = facts_.machine;
    devices_ = opened.devices;
    machine.cuda_version = device.cuda_version;
    if (machine.driver_version.empty()) machine.driver_version = opened.driver_version;
    gpu.name = device.name;
    if (const auto found = readings_.find(device.uuid); found != readings_.end())
      gpu.readings = found->second;
    else if (nvml_.why().empty())
      gpu.readings = Nvml(device.uuid).readings();  // NVML lists no MIG slices
    const auto known = std::find_if(machine.nvml_gpus.begin(), machine.nvml_gpus.end(),
                                    [&](const NvmlGpu& other) { return other.uuid == device.uuid; });
    gpu.smi_name = known != machine.nvml_gpus.end() ? std::to_string(known->index) : device.uuid;
    try {
      gpu.architecture = architecture_for(device.compute_major, device.compute_minor);
    } catch (const UserError& error) {
      gpu.failure = error.message();
      gpu.remedy = error.remedy();
    }
  }

  /// NVML's GPU with the driver's number, where both count alike for sure.
  const NvmlGpu* numbered(int index) const {
    const std::vector<NvmlGpu>& gpus = facts_.machine.nvml_gpus;
    const auto found =
        std::find_if(gpus.begin(), gpus.end(), [&](const NvmlGpu& gpu) { return gpu.index == index; });
    const bool one_model = std::all_of(gpus.begin(), gpus.end(),
                                       [&](const NvmlGpu& gpu) { return gpu.name == gpus.front().name; });
    const auto order = facts_.machine.environment.find("CUDA_DEVICE_ORDER");
    const bool alike =
        one_model || (order != facts_.machine.environment.end() && order->second == "PCI_BUS_ID");
    if (found == gpus.end() || !alike || facts_.machine.environment.contains("CUDA_VISIBLE_DEVICES"))
      return nullptr;
    return &*found;
  }

  const StartGpuClients& start_;
  bool named_;  ///< the person named the GPUs: one that is not there is a problem
  DoctorFacts& facts_;
  NvmlSystem nvml_;
  std::map<std::string, GpuReadings> readings_;
  int devices_ = 0;
};

}  // namespace

DoctorFacts collect_facts(const StartGpuClients& start, const std::vector<int>& gpus) {
  DoctorFacts facts;
  facts.machine = look_at_machine();
  GpuVisit visit(start, !gpus.empty(), facts);
  if (gpus.empty())
    visit.visit_all();
  else
    visit.visit(gpus);
  return facts;
}

}  // namespace tiletune
