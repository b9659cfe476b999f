#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "doctor/doctor.h"

namespace tiletune {

namespace {

/// What a rule says, but for its check; one that does not apply says nothing. In a remedy "{smi}" stands for
/// nvidia-smi and the GPU.
using MaybeSaid = std::optional<DoctorFinding>;

MaybeSaid ok(const std::string& found) { return DoctorFinding{"", Health::ok, found, "", ""}; }
MaybeSaid note(const std::string& found, const std::string& why, const std::string& remedy) {
  return DoctorFinding{"", Health::note, found, why, remedy};
}
MaybeSaid warning(const std::string& found, const std::string& why, const std::string& remedy) {
  return DoctorFinding{"", Health::warning, found, why, remedy};
}
MaybeSaid problem(const std::string& found, const std::string& why, const std::string& remedy) {
  return DoctorFinding{"", Health::problem, found, why, remedy};
}

template <typename Facts>
struct Rule {
  const char* check;
  MaybeSaid (*say)(const Facts& facts);
};

constexpr const char* kWorksWithoutGpu =
    "compiling, 'tiletune inspect' and predicting sweeps (--gpu NAME) work";

/// {13, 0} of "13.0"
std::pair<int, int> version_numbers(const std::string& text) {
  std::pair<int, int> numbers{0, 0};
  std::sscanf(text.c_str(), "%d.%d", &numbers.first, &numbers.second);
  return numbers;
}

/// Null for what is not set.
const std::string* value_of(const MachineFacts& facts, const std::string& variable) {
  const auto found = facts.environment.find(variable);
  return found == facts.environment.end() ? nullptr : &found->second;
}

MaybeSaid compiler(const MachineFacts& facts) {
  const std::string nvrtc = facts.nvrtc_version.empty() ? "NVRTC" : "NVRTC " + facts.nvrtc_version;
  if (!facts.compile_failure.empty())
    return problem(fmt::format("{} compiles nothing: {}", nvrtc, facts.compile_failure),
                   "no kernel can be compiled",
                   "Install a CUDA toolkit, 12.4 or newer (NVRTC, its builtins library and the headers of "
                   "one version), or name the folder of libnvrtc in LD_LIBRARY_PATH. tools/quickstart takes "
                   "them from NVIDIA's PyPI wheels where there is no toolkit.");
  const auto compiler = version_numbers(facts.nvrtc_version);
  const auto driver = version_numbers(facts.cuda_version);
  if (facts.cuda_version.empty() || compiler <= driver)
    return ok(fmt::format("{} compiled a kernel in {}", nvrtc, human_seconds(facts.compile_s)));
  const bool same_major = compiler.first == driver.first;
  return (same_major ? note : warning)(
      fmt::format("{} is newer than the driver's CUDA {}", nvrtc, facts.cuda_version),
      same_major ? "the driver loads what it compiles, unless that uses something new"
                 : "the driver may refuse to load what it compiles",
      fmt::format("Update the driver, or build tiletune with CUDA {} (-DTILETUNE_CUDA_ROOT=FOLDER).",
                  facts.cuda_version));
}

MaybeSaid confinement(const MachineFacts& facts) {
  if (facts.not_confined.empty() && facts.hides_names) return ok("kernels reach no files but their own");
  if (facts.not_confined.empty())
    return note("kernels reach no files but their own, but this system allows no user namespaces",
                "Python functions can find out which files exist, with their sizes and times",
                "Allow user namespaces with mounts in them (on Ubuntu: sysctl "
                "kernel.apparmor_restrict_unprivileged_userns=0), or run as root.");
  return note("kernels are not confined here: " + facts.not_confined,
              "an untrusted kernel that exploits a compiler bug could read and write your files",
              "Use Linux 5.13 or newer with Landlock in the kernel's lsm= list; --confined refuses to run "
              "without it.");
}

MaybeSaid compile_workers(const MachineFacts& facts) {
  const int workers = std::max(1, facts.cores);
  const std::string found = counted(workers, "compile worker") + " on " + counted(facts.cores, "core");
  if (facts.core_quota && *facts.core_quota < workers)
    return note(fmt::format("{}, of which this container may use {:.1f}", found, *facts.core_quota),
                "the workers are throttled, and with them the process that waits for the GPU",
                fmt::format("Sweep with -j {}.", std::max(1, static_cast<int>(*facts.core_quota))));
  if (facts.cores > 1) return ok(found);
  return note(
      found,
      "compiling and measuring share the core: sweeps take longer, but measured times are not affected",
      "Take a machine with more cores for large spaces.");
}

MaybeSaid kernel_cache(const MachineFacts& facts) {
  constexpr std::uint64_t kScarce = std::uint64_t{256} << 20;
  const CacheFacts& cache = facts.cache;
  if (!cache.failure.empty())
    return warning(fmt::format("{}: {}", cache.folder.string(), cache.failure),
                   "every sweep compiles all kernels again, or does not start",
                   "Make the folder writable, or set XDG_CACHE_HOME to one of your own that is.");
  const std::string found = fmt::format("{}: {}, {} free", cache.folder.string(), human_bytes(cache.bytes),
                                        human_bytes(cache.free_bytes));
  if (cache.free_bytes >= kScarce) return ok(found);
  return warning(found, "kernels that do not fit are compiled again in every sweep",
                 "Free space on the disk; the whole folder may be deleted.");
}

MaybeSaid library(const MachineFacts& facts, const char* name, const char* file) {
  for (const LibraryFacts& library : facts.libraries) {
    if (library.name != name) continue;
    if (!library.file.empty()) return ok(fmt::format("{}, {}", library.version, library.file));
    return note(
        fmt::format("{} is not found", name),
        "kernels are verified and timed, but there is no NVIDIA library to compare them with",
        fmt::format("Install cuBLAS of CUDA 12 or 13 and name the folder of {} in LD_LIBRARY_PATH.", file));
  }
  return std::nullopt;
}

/// A variable that changes how everything on the GPU runs.
MaybeSaid disturbing_variable(const MachineFacts& facts, const char* variable, const char* why) {
  const std::string* value = value_of(facts, variable);
  if (value == nullptr || value->empty() || *value == "0") return std::nullopt;
  return warning(fmt::format("{}={}", variable, shell_quoted(*value)), why,
                 fmt::format("Unset {}.", variable));
}

MaybeSaid driver(const MachineFacts& facts) {
  const std::string version = facts.driver_version.empty() ? "" : facts.driver_version + ", ";
  if (facts.no_gpu.empty() && facts.cuda_version.empty())
    return warning("it does not say its version", "the GPU could not be asked",
                   "See the entries of the GPU.");
  if (facts.no_gpu.empty()) return ok(fmt::format("{}CUDA {}", version, facts.cuda_version));
  const std::string why = std::string("nothing can be timed here; ") + kWorksWithoutGpu;
  if (facts.nvml_gpus.empty())
    return note(
        facts.no_gpu, why,
        "To measure, run on a machine with an NVIDIA GPU and its driver; a container needs --gpus all.");
  const std::string* visible = value_of(facts, "CUDA_VISIBLE_DEVICES");
  return problem(fmt::format("{}, but NVML lists {}", facts.no_gpu, facts.nvml_gpus.size()), why,
                 visible != nullptr
                     ? fmt::format("CUDA_VISIBLE_DEVICES={} hides them: unset it.", shell_quoted(*visible))
                     : "Check that libcuda.so.1 is the driver's own and that /dev/nvidia* may be opened; a "
                       "container needs --gpus all.");
}

MaybeSaid nvml(const MachineFacts& facts) {
  if (!facts.no_gpu.empty() && facts.nvml_gpus.empty()) return std::nullopt;
  if (facts.no_nvml.empty()) return ok("answers, and lists " + counted(facts.nvml_gpus.size(), "GPU"));
  return warning(facts.no_nvml,
                 "clocks, throttling, power and other programs on the GPU cannot be seen: what disturbs a "
                 "measurement goes unnoticed",
                 "Install the driver's NVML of the driver's version, and restart after an update of the "
                 "driver; a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility.");
}

constexpr std::array<Rule<MachineFacts>, 11> kMachineRules{{
    {"compiler", compiler},
    {"confinement", confinement},
    {"compile_workers", compile_workers},
    {"kernel_cache", kernel_cache},
    {"cublas", [](const MachineFacts& facts) { return library(facts, "cuBLAS", "libcublas.so"); }},
    {"cublaslt", [](const MachineFacts& facts) { return library(facts, "cuBLASLt", "libcublasLt.so"); }},
    {"environment",
     [](const MachineFacts& facts) {
       return disturbing_variable(facts, "CUDA_LAUNCH_BLOCKING",
                                  "every launch waits for the previous kernel: times include the launch");
     }},
    {"environment",
     [](const MachineFacts& facts) {
       return disturbing_variable(facts, "CUDA_INJECTION64_PATH",
                                  "a profiler intercepts every driver call and slows launches down");
     }},
    {"environment",
     [](const MachineFacts& facts) -> MaybeSaid {
       const std::string* visible = value_of(facts, "CUDA_VISIBLE_DEVICES");
       if (visible == nullptr || !facts.no_gpu.empty()) return std::nullopt;
       return ok(fmt::format("CUDA_VISIBLE_DEVICES={} picks and numbers the GPUs", shell_quoted(*visible)));
     }},
    {"driver", driver},
    {"nvml", nvml},
}};

MaybeSaid not_reported() {
  return note("NVML does not report it", "a disturbance of this kind would go unnoticed",
              "A newer driver may report it; see also 'nvidia-smi -q -i {gpu}'.");
}

MaybeSaid use(const GpuFacts& facts) {
  if (facts.failure.empty()) return ok(fmt::format("{}, {}", facts.name, facts.architecture));
  const bool is_taken = facts.readings &&
                        facts.readings->compute_mode.value_or(ComputeMode::shared) != ComputeMode::shared &&
                        facts.readings->processes && !facts.readings->processes->empty();
  const char* const remedy = is_taken ? "It is for one program at a time: stop the one that has it, or share "
                                        "it: {smi} --compute-mode=DEFAULT"
                                      : "See whether 'nvidia-smi' answers and what 'sudo dmesg | grep -i "
                                        "xid' says; restart the driver or the machine.";
  return problem(facts.name.empty() ? facts.failure : facts.name + ": " + facts.failure,
                 std::string("nothing can be timed on it; ") + kWorksWithoutGpu,
                 facts.remedy.empty() ? remedy : facts.remedy);
}

MaybeSaid memory(const GpuReadings& now) {
  /// Other people's programs hold some memory at least; an idle driver may keep a little for itself.
  constexpr std::uint64_t kSomebodysMemory = std::uint64_t{256} << 20;
  if (!now.memory) return not_reported();
  const std::string found =
      fmt::format("{} of {} free", human_bytes(now.memory->free_bytes), human_bytes(now.memory->total_bytes));
  const bool unexplained =
      now.processes && now.processes->empty() && now.memory->used_bytes >= kSomebodysMemory;
  if (!unexplained) return ok(found);
  return warning(fmt::format("{}; {} are held by programs that cannot be seen from here", found,
                             human_bytes(now.memory->used_bytes)),
                 "their kernels may take turns with those measured",
                 "Look outside this container: 'nvidia-smi' on the host.");
}

MaybeSaid clock(const GpuReadings& now) {
  if (!now.sm_clock_mhz) return not_reported();
  std::string found = fmt::format("SM {:.0f} MHz now", *now.sm_clock_mhz);
  if (now.max_sm_clock_mhz) found += fmt::format(", at most {:.0f} MHz", *now.max_sm_clock_mhz);
  const auto& set = now.application_sm_clock_mhz;
  const auto& usual = now.default_application_sm_clock_mhz;
  if (!set || !usual || *set == *usual) return ok(found);
  return note(fmt::format("{}; set to {:.0f} MHz for applications (default {:.0f} MHz)", found, *set, *usual),
              "times are those of this clock",
              "Keep it for everything you compare, or reset it: {smi} --reset-applications-clocks");
}

MaybeSaid throttling(const GpuReadings& now) {
  if (!now.throttle_reasons) return not_reported();
  const std::string reasons = throttle_text(*now.throttle_reasons);
  if (reasons.empty()) return ok("none");
  // What helps against the first reason that is named.
  constexpr std::pair<const char*, const char*> kRemedies[]{
      {"thermal", "Let the GPU cool down; check fans, air flow and the load of its neighbours."},
      {"power_brake", "Check the machine's power supply: it asks the GPU to save power."},
      {"sw_power_cap", "Stop what else loads the GPU; check its power limit."},
      {"", "Wait until it is over; see 'nvidia-smi -q -d PERFORMANCE'."}};
  const auto* const remedy = std::find_if(std::begin(kRemedies), std::end(kRemedies), [&](const auto& entry) {
    return reasons.find(entry.first) != std::string::npos;
  });
  return warning(reasons, "the clock is lower than the GPU allows, and changes while kernels are timed",
                 remedy->second);
}

MaybeSaid power(const GpuReadings& now) {
  if (!now.power_w) return not_reported();
  std::string found = fmt::format("{:.0f} W now", *now.power_w);
  if (now.power_limit_w) found += fmt::format(", limit {:.0f} W", *now.power_limit_w);
  const auto& usual = now.default_power_limit_w;
  if (!now.power_limit_w || !usual || *now.power_limit_w >= *usual) return ok(found);
  return warning(
      fmt::format("{} (default {:.0f} W)", found, *usual),
      "kernels that draw much power lose clock at the lowered limit, and rank behind others because of it",
      fmt::format("Raise it: {{smi}} --power-limit={:.0f}", *usual));
}

MaybeSaid temperature(const GpuReadings& now) {
  constexpr double kClose_c = 5;
  if (!now.temperature_c) return std::nullopt;
  const std::string found = fmt::format("{:.0f} C", *now.temperature_c);
  if (!now.slowdown_temperature_c || *now.temperature_c < *now.slowdown_temperature_c - kClose_c)
    return ok(found);
  return warning(fmt::format("{}, clocks are slowed from {:.0f} C on", found, *now.slowdown_temperature_c),
                 "a few seconds of load bring the clock down",
                 "Let the GPU cool down; check fans and air flow.");
}

MaybeSaid processes(const GpuReadings& now) {
  constexpr std::size_t kMostNamed = 4;
  constexpr const char* kTakeTurns =
      "kernels of other programs take turns with those measured: times grow and scatter";
  if (!now.processes) return not_reported();
  const int busy = now.utilization_percent.value_or(0);
  if (now.processes->empty() && busy == 0) return ok("none");
  // Programs of other containers may be invisible, but not what they do.
  if (now.processes->empty())
    return warning(fmt::format("none visible from here, but the GPU is busy {}%", busy), kTakeTurns,
                   "Look outside this container: 'nvidia-smi' on the host.");
  std::vector<std::string> texts;
  bool tiletune = false;
  for (const GpuProcess& process : *now.processes) {
    std::string text = fmt::format("pid {}", process.pid);
    if (!process.name.empty()) text += " " + process.name;
    if (process.memory_bytes) text += fmt::format(" ({})", human_bytes(*process.memory_bytes));
    if (texts.size() < kMostNamed) texts.push_back(std::move(text));
    tiletune = tiletune || process.name == "tiletune";
  }
  std::string found = join(texts, ", ");
  if (now.processes->size() > kMostNamed)
    found += fmt::format(" and {} more", now.processes->size() - kMostNamed);
  if (busy > 0) found += fmt::format("; busy {}%", busy);
  return warning(found,
                 tiletune ? "another tiletune is running on this GPU: each disturbs the other" : kTakeTurns,
                 "Wait for them or stop them, or sweep on another GPU (--gpus).");
}

MaybeSaid ecc(const GpuReadings& now) {
  if (!now.ecc) return std::nullopt;
  const std::uint64_t errors = now.ecc->uncorrected_errors.value_or(0);
  if (errors > 0)
    return warning(
        counted(errors, "uncorrected memory error") + " since the driver was loaded",
        "memory errors can make results wrong and stop kernels",
        "Reset the GPU ({smi} --gpu-reset) or restart the machine; replace the GPU if they return.");
  if (now.ecc->enabled) return ok("on, no uncorrected errors");
  return note("off", "a memory error looks like a wrong result of the kernel",
              "Switch it on and restart: {smi} --ecc-config=1");
}

MaybeSaid persistence(const GpuReadings& now) {
  if (!now.persistence_mode) return std::nullopt;
  if (*now.persistence_mode) return ok("on");
  return note("off",
              "the driver releases the GPU whenever nothing uses it: every start takes seconds, and clock "
              "settings are lost",
              "{smi} --persistence-mode=1");
}

MaybeSaid compute_mode(const GpuReadings& now) {
  if (!now.compute_mode) return std::nullopt;
  if (*now.compute_mode == ComputeMode::shared)
    return ok("shared: other programs may use the GPU at any time");
  if (*now.compute_mode == ComputeMode::prohibited)
    return problem("prohibited", "no program may compute on this GPU", "{smi} --compute-mode=DEFAULT");
  return ok("exclusive: no other program can use it while it is measured");
}

constexpr std::array<Rule<GpuReadings>, 11> kGpuRules{{
    {"memory", memory},
    {"clock", clock},
    {"throttling", throttling},
    {"power", power},
    {"temperature", temperature},
    {"processes", processes},
    {"ecc", ecc},
    {"persistence", persistence},
    {"mig",
     [](const GpuReadings& now) {
       return !now.mig_mode.value_or(false)
                  ? std::nullopt
                  : warning("the GPU is partitioned into MIG slices",
                            "a slice is measured, and the other slices share its clock and its power",
                            "Measure the whole GPU: {smi} -mig 0");
     }},
    {"compute_mode", compute_mode},
    {"display",
     [](const GpuReadings& now) {
       return !now.display_active.value_or(false)
                  ? std::nullopt
                  : note("a screen is attached",
                         "drawing takes turns with kernels, and a kernel of several seconds may be stopped",
                         "Measure on another GPU, or without a graphical session.");
     }},
}};

template <typename Rules, typename Facts>
void apply(const Rules& rules, const Facts& facts, std::vector<DoctorFinding>& findings) {
  for (const auto& [check, say] : rules)
    if (const MaybeSaid said = say(facts)) findings.emplace_back(*said).check = check;
}

auto count(const std::vector<DoctorFinding>& findings, Health health) {
  return std::ranges::count(findings, health, &DoctorFinding::health);
}

}  // namespace

std::vector<DoctorFinding> examine_machine(const MachineFacts& facts) {
  std::vector<DoctorFinding> findings;
  apply(kMachineRules, facts, findings);
  return findings;
}

std::vector<DoctorFinding> examine_gpu(const GpuFacts& facts) {
  std::vector<DoctorFinding> findings{*use(facts)};
  findings.front().check = "gpu";
  if (facts.readings) apply(kGpuRules, *facts.readings, findings);
  const std::array<Replacement, 2> names{
      {{"{smi}", "sudo nvidia-smi -i " + facts.smi_name}, {"{gpu}", facts.smi_name}}};
  for (DoctorFinding& finding : findings) {
    finding.remedy = replaced(finding.remedy, names);
    finding.gpu = facts.index;
  }
  return findings;
}

int exit_code(const std::vector<DoctorFinding>& findings) {
  constexpr int kDisturbed = 1;
  constexpr int kUnusable = 3;
  // A GPU, or the driver with the GPUs that it does not show.
  if (std::ranges::any_of(findings, [](const DoctorFinding& one) {
        return one.health == Health::problem && (one.gpu || one.check == "driver");
      }))
    return kUnusable;
  return count(findings, Health::warning) + count(findings, Health::problem) > 0 ? kDisturbed : 0;
}

std::string verdict(const std::vector<DoctorFinding>& findings) {
  const auto problems = count(findings, Health::problem);
  const auto warnings = count(findings, Health::warning);
  const bool compiles = std::ranges::none_of(findings, [](const DoctorFinding& one) {
    return one.check == "compiler" && one.health == Health::problem;
  });
  const std::string rest = compiles ? "; compiling, inspecting and predicting work" : "";
  std::string text;
  if (problems > 0) text = counted(problems, "problem");
  if (warnings > 0) text += (text.empty() ? "" : ", ") + counted(warnings, "warning");
  if (!text.empty()) text += ": ";
  if (exit_code(findings) >= 3) return text + "not every GPU can be measured on" + rest;
  if (std::ranges::none_of(findings, [](const DoctorFinding& one) { return one.gpu.has_value(); }))
    return text + "there is no GPU to measure on" + rest;
  return text + (text.empty() ? "nothing was found that would disturb a measurement"
                              : "measurements may be disturbed");
}

}  // namespace tiletune
