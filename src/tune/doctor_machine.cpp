#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "tune/doctor.h"

namespace tiletune {

namespace {

constexpr const char* kWorksWithoutGpu =
    "nothing can be timed here; compiling, 'tiletune inspect' and predicting sweeps (--gpu NAME) work";

DoctorFinding ok(const char* check, const std::string& found) {
  return {check, Health::ok, found, "", "", {}};
}

/// {13, 0} of "13.0"
std::pair<int, int> version_numbers(const std::string& text) {
  std::pair<int, int> numbers{0, 0};
  const std::size_t dot = std::min(text.find('.'), text.size());
  std::from_chars(text.data(), text.data() + dot, numbers.first);
  if (dot < text.size()) std::from_chars(text.data() + dot + 1, text.data() + text.size(), numbers.second);
  return numbers;
}

const std::string* value_of(const MachineFacts& facts, const std::string& variable) {
  const auto found = std::find_if(facts.environment.begin(), facts.environment.end(),
                                  [&](const auto& entry) { return entry.first == variable; });
  return found == facts.environment.end() ? nullptr : &found->second;
}

DoctorFinding examine_driver(const MachineFacts& facts) {
  const std::string version = facts.driver_version.empty() ? "" : facts.driver_version + ", ";
  if (facts.no_gpu.empty()) {
    if (facts.cuda_version.empty()) {
      return {"driver", Health::warning, "it does not say its version", "the GPU could not be asked",
              "See the entries of the GPU."};
    }
    return ok("driver", fmt::format("{}CUDA {}", version, facts.cuda_version));
  }
  if (facts.nvml_gpus.empty()) {
    return {"driver", Health::note, facts.no_gpu, kWorksWithoutGpu,
            "To measure, run on a machine with an NVIDIA GPU and its driver; a container needs --gpus all."};
  }
  DoctorFinding finding{
      "driver", Health::problem, fmt::format("{}, but NVML lists {}", facts.no_gpu, facts.nvml_gpus.size()),
      kWorksWithoutGpu,
      "Check that libcuda.so.1 is the driver's own and that /dev/nvidia* may be opened; a container "
      "needs --gpus all."};
  if (const std::string* visible = value_of(facts, "CUDA_VISIBLE_DEVICES"))
    finding.remedy = fmt::format("CUDA_VISIBLE_DEVICES={} hides them: unset it.", shell_quoted(*visible));
  return finding;
}

DoctorFinding examine_nvml(const MachineFacts& facts) {
  if (facts.no_nvml.empty())
    return ok("nvml", fmt::format("answers, and lists {} GPU{}", facts.nvml_gpus.size(),
                                  facts.nvml_gpus.size() == 1 ? "" : "s"));
  return {
      "nvml", Health::warning, facts.no_nvml,
      "clocks, throttling, power and other programs on the GPU cannot be seen: what disturbs a measurement "
      "goes unnoticed",
      "Install the driver's NVML of the driver's version, and restart after an update of the driver; a "
      "container "
      "needs NVIDIA_DRIVER_CAPABILITIES=compute,utility."};
}

DoctorFinding examine_compiler(const MachineFacts& facts) {
  const std::string nvrtc = facts.nvrtc_version.empty() ? "NVRTC" : "NVRTC " + facts.nvrtc_version;
  if (!facts.compile_failure.empty()) {
    return {
        "compiler", Health::problem, fmt::format("{} compiles nothing: {}", nvrtc, facts.compile_failure),
        "no kernel can be compiled",
        "Install a CUDA toolkit, 12.4 or newer (NVRTC, its builtins library and the headers of one version), "
        "or name the folder of libnvrtc in LD_LIBRARY_PATH. tools/quickstart takes them from NVIDIA's PyPI "
        "wheels where there is no toolkit."};
  }
  const auto compiler = version_numbers(facts.nvrtc_version);
  const auto driver = version_numbers(facts.cuda_version);
  if (facts.cuda_version.empty() || compiler <= driver)
    return ok("compiler", fmt::format("{} compiled a kernel in {}", nvrtc, human_seconds(facts.compile_s)));
  const std::string newer = fmt::format("{} is newer than the driver's CUDA {}", nvrtc, facts.cuda_version);
  const std::string remedy = fmt::format(
      "Update the driver, or build tiletune with CUDA {} (-DTILETUNE_CUDA_ROOT=FOLDER).", facts.cuda_version);
  if (compiler.first == driver.first)
    return {"compiler", Health::note, newer,
            "the driver loads what it compiles, unless that uses something new", remedy};
  return {"compiler", Health::warning, newer, "the driver may refuse to load what it compiles", remedy};
}

DoctorFinding examine_cores(const MachineFacts& facts) {
  const int workers = std::max(1, facts.cores);
  const std::string found = fmt::format("{} compile worker{} on {} core{}", workers, workers == 1 ? "" : "s",
                                        facts.cores, facts.cores == 1 ? "" : "s");
  if (facts.core_quota && *facts.core_quota < workers) {
    return {"compile_workers", Health::note,
            fmt::format("{}, of which this container may use {:.1f}", found, *facts.core_quota),
            "the workers are throttled, and with them the process that waits for the GPU",
            fmt::format("Sweep with -j {}.", std::max(1, static_cast<int>(*facts.core_quota)))};
  }
  if (facts.cores > 1) return ok("compile_workers", found);
  return {"compile_workers", Health::note, found,
          "compiling and measuring share the core: sweeps take longer, but measured times are not affected",
          "Take a machine with more cores for large spaces."};
}

DoctorFinding examine_confinement(const MachineFacts& facts) {
  if (facts.not_confined.empty()) return ok("confinement", "kernels reach no files but their own");
  return {"confinement", Health::note, "kernels are not confined here: " + facts.not_confined,
          "a stranger's kernel that exploits a compiler bug could read and write your files",
          "Use Linux 5.13 or newer with Landlock in the kernel's lsm= list; --confined refuses to run "
          "without it."};
}

DoctorFinding examine_cache(const CacheFacts& cache) {
  constexpr std::uint64_t kScarce = std::uint64_t{256} << 20;
  const std::string folder = cache.folder.string();
  if (!cache.failure.empty()) {
    return {"kernel_cache", Health::warning, fmt::format("{}: {}", folder, cache.failure),
            "every sweep compiles all kernels again, or does not start",
            "Make the folder writable, or set XDG_CACHE_HOME to one of your own that is."};
  }
  const std::string found =
      fmt::format("{}: {}, {} free", folder, human_bytes(cache.bytes), human_bytes(cache.free_bytes));
  if (cache.free_bytes >= kScarce) return ok("kernel_cache", found);
  return {"kernel_cache", Health::warning, found, "kernels that do not fit are compiled again in every sweep",
          "Free space on the disk; the whole folder may be deleted."};
}

DoctorFinding examine_library(const LibraryFacts& library) {
  const std::string check = library.name == "cuBLAS" ? "cublas" : "cublaslt";
  if (!library.file.empty()) return ok(check.c_str(), fmt::format("{}, {}", library.version, library.file));
  return {check, Health::note, library.name + " is not found",
          "kernels are verified and timed, but there is no NVIDIA library to compare them with",
          fmt::format("Install cuBLAS of CUDA 12 or 13 and name the folder of lib{}.so in LD_LIBRARY_PATH.",
                      library.name == "cuBLAS" ? "cublas" : "cublasLt")};
}

/// Variables that change how everything on the GPU runs, and how.
void examine_environment(const MachineFacts& facts, std::vector<DoctorFinding>& findings) {
  constexpr std::pair<const char*, const char*> kDisturbing[] = {
      {"CUDA_LAUNCH_BLOCKING", "every launch waits for the previous kernel: times include the launch"},
      {"CUDA_INJECTION64_PATH", "a profiler intercepts every driver call and slows launches down"}};
  for (const auto& [variable, why] : kDisturbing) {
    const std::string* value = value_of(facts, variable);
    if (value == nullptr || value->empty() || *value == "0") continue;
    findings.push_back({"environment", Health::warning, fmt::format("{}={}", variable, shell_quoted(*value)),
                        why, fmt::format("Unset {}.", variable)});
  }
  if (const std::string* visible = value_of(facts, "CUDA_VISIBLE_DEVICES"); visible && facts.no_gpu.empty())
    findings.push_back(ok("environment", fmt::format("CUDA_VISIBLE_DEVICES={} picks and numbers the GPUs",
                                                     shell_quoted(*visible))));
}

}  // namespace

std::vector<DoctorFinding> examine_machine(const MachineFacts& facts) {
  std::vector<DoctorFinding> findings{examine_compiler(facts), examine_confinement(facts),
                                      examine_cores(facts), examine_cache(facts.cache)};
  for (const LibraryFacts& library : facts.libraries) findings.push_back(examine_library(library));
  examine_environment(facts, findings);
  findings.push_back(examine_driver(facts));
  if (facts.no_gpu.empty() || !facts.nvml_gpus.empty()) findings.push_back(examine_nvml(facts));
  return findings;
}

}  // namespace tiletune
