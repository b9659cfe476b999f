#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "tune/doctor.h"

namespace tiletune {

namespace {

/// Other people's programs hold some memory at least; an idle driver may keep a little for itself.
constexpr std::uint64_t kSomebodysMemory = std::uint64_t{256} << 20;

/// Collects the findings of one GPU.
class GpuExamination {
 public:
  explicit GpuExamination(const GpuFacts& facts) : facts_(facts) {}

  std::vector<DoctorFinding> run() {
    use();
    if (!facts_.readings) return std::move(findings_);
    now_ = *facts_.readings;
    memory();
    clock();
    throttling();
    power();
    temperature();
    processes();
    modes();
    return std::move(findings_);
  }

 private:
  void add(const char* check, Health health, const std::string& found, const std::string& why,
           const std::string& remedy) {
    findings_.push_back({check, health, found, why, remedy, facts_.index});
  }
  void ok(const char* check, const std::string& found) { add(check, Health::ok, found, "", ""); }
  void not_told(const char* check) {
    add(check, Health::note, "NVML does not report it", "a disturbance of this kind would go unnoticed",
        fmt::format("A newer driver may report it; see also 'nvidia-smi -q -i {}'.", facts_.smi_name));
  }
  std::string smi(const std::string& options) const {
    return fmt::format("sudo nvidia-smi -i {} {}", facts_.smi_name, options);
  }

  /// Another program has a GPU that is for one at a time.
  bool is_taken() const {
    return facts_.readings &&
           facts_.readings->compute_mode.value_or(ComputeMode::shared) != ComputeMode::shared &&
           facts_.readings->processes && !facts_.readings->processes->empty();
  }

  void use();
  void memory();
  void clock();
  void throttling();
  void power();
  void temperature();
  void processes();
  void load();
  void modes();
  void ecc();
  void compute_mode();

  const GpuFacts& facts_;
  GpuReadings now_;
  std::vector<DoctorFinding> findings_;
};

void GpuExamination::use() {
  if (facts_.failure.empty()) return ok("gpu", fmt::format("{}, {}", facts_.name, facts_.architecture));
  std::string remedy = facts_.remedy;
  if (remedy.empty() && is_taken()) {
    remedy = fmt::format("It is for one program at a time: stop the one that has it, or share it: {}",
                         smi("--compute-mode=DEFAULT"));
  } else if (remedy.empty()) {
    remedy =
        "See whether 'nvidia-smi' answers and what 'sudo dmesg | grep -i xid' says; restart the driver or "
        "the "
        "machine.";
  }
  add("gpu", Health::problem, facts_.name.empty() ? facts_.failure : facts_.name + ": " + facts_.failure,
      "nothing can be timed on it; compiling, 'tiletune inspect' and predicting sweeps (--gpu NAME) work",
      remedy);
}

void GpuExamination::memory() {
  if (!now_.memory) return not_told("memory");
  const GpuMemory& memory = *now_.memory;
  const std::string found =
      fmt::format("{} of {} free", human_bytes(memory.free_bytes), human_bytes(memory.total_bytes));
  const bool unexplained = now_.processes && now_.processes->empty() && memory.used_bytes >= kSomebodysMemory;
  if (!unexplained) return ok("memory", found);
  add("memory", Health::warning,
      fmt::format("{}; {} are held by programs that cannot be seen from here", found,
                  human_bytes(memory.used_bytes)),
      "their kernels may take turns with those measured",
      "Look outside this container: 'nvidia-smi' on the host.");
}

void GpuExamination::clock() {
  if (!now_.sm_clock_mhz) return not_told("clock");
  std::string found = fmt::format("SM {:.0f} MHz now", *now_.sm_clock_mhz);
  if (now_.max_sm_clock_mhz) found += fmt::format(", at most {:.0f} MHz", *now_.max_sm_clock_mhz);
  const auto& set = now_.application_sm_clock_mhz;
  const auto& usual = now_.default_application_sm_clock_mhz;
  if (!set || !usual || *set == *usual) return ok("clock", found);
  add("clock", Health::note,
      fmt::format("{}; set to {:.0f} MHz for applications (default {:.0f} MHz)", found, *set, *usual),
      "times are those of this clock",
      fmt::format("Keep it for everything you compare, or reset it: {}", smi("--reset-applications-clocks")));
}

/// What helps against the first reason that is named.
std::string remedy_of_throttling(const std::string& reasons) {
  if (reasons.find("thermal") != std::string::npos)
    return "Let the GPU cool down; check fans, air flow and the load of its neighbours.";
  if (reasons.find("power_brake") != std::string::npos)
    return "Check the machine's power supply: it asks the GPU to save power.";
  if (reasons.find("sw_power_cap") != std::string::npos)
    return "Stop what else loads the GPU; check its power limit.";
  return "Wait until it is over; see 'nvidia-smi -q -d PERFORMANCE'.";
}

void GpuExamination::throttling() {
  if (!now_.throttle_reasons) return not_told("throttling");
  const std::string reasons = throttle_text(*now_.throttle_reasons);
  if (reasons.empty()) return ok("throttling", "none");
  add("throttling", Health::warning, reasons,
      "the clock is lower than the GPU allows, and changes while kernels are timed",
      remedy_of_throttling(reasons));
}

void GpuExamination::power() {
  if (!now_.power_w) return not_told("power");
  std::string found = fmt::format("{:.0f} W now", *now_.power_w);
  if (now_.power_limit_w) found += fmt::format(", limit {:.0f} W", *now_.power_limit_w);
  const bool lowered =
      now_.power_limit_w && now_.default_power_limit_w && *now_.power_limit_w < *now_.default_power_limit_w;
  if (!lowered) return ok("power", found);
  add("power", Health::warning, fmt::format("{} (default {:.0f} W)", found, *now_.default_power_limit_w),
      "kernels that draw much power lose clock at the lowered limit, and rank behind others because of it",
      fmt::format("Raise it: {}", smi(fmt::format("--power-limit={:.0f}", *now_.default_power_limit_w))));
}

void GpuExamination::temperature() {
  constexpr double kClose_c = 5;
  if (!now_.temperature_c) return;
  const std::string found = fmt::format("{:.0f} C", *now_.temperature_c);
  if (!now_.slowdown_temperature_c || *now_.temperature_c < *now_.slowdown_temperature_c - kClose_c)
    return ok("temperature", found);
  add("temperature", Health::warning,
      fmt::format("{}, clocks are slowed from {:.0f} C on", found, *now_.slowdown_temperature_c),
      "a few seconds of load bring the clock down", "Let the GPU cool down; check fans and air flow.");
}

std::string process_text(const GpuProcess& process) {
  std::string text = fmt::format("pid {}", process.pid);
  if (!process.name.empty()) text += " " + process.name;
  if (process.memory_bytes) text += fmt::format(" ({})", human_bytes(*process.memory_bytes));
  return text;
}

void GpuExamination::processes() {
  if (!now_.processes) return not_told("processes");
  if (now_.processes->empty()) return load();
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> texts;
  bool tiletune = false;
  for (const GpuProcess& process : *now_.processes) {
    if (texts.size() < kMostNamed) texts.push_back(process_text(process));
    tiletune = tiletune || process.name == "tiletune";
  }
  std::string found = join(texts, ", ");
  if (now_.processes->size() > kMostNamed)
    found += fmt::format(" and {} more", now_.processes->size() - kMostNamed);
  if (now_.utilization_percent.value_or(0) > 0) found += fmt::format("; busy {}%", *now_.utilization_percent);
  add("processes", Health::warning, found,
      tiletune ? "another tiletune is running on this GPU: each disturbs the other"
               : "kernels of other programs take turns with those measured: times grow and scatter",
      "Wait for them or stop them, or sweep on another GPU (--gpus).");
}

/// Programs of other containers may be invisible, but not what they do.
void GpuExamination::load() {
  if (now_.utilization_percent.value_or(0) == 0) return ok("processes", "none");
  add("processes", Health::warning,
      fmt::format("none visible from here, but the GPU is busy {}%", *now_.utilization_percent),
      "kernels of other programs take turns with those measured: times grow and scatter",
      "Look outside this container: 'nvidia-smi' on the host.");
}

void GpuExamination::modes() {
  ecc();
  if (now_.persistence_mode == true) ok("persistence", "on");
  if (now_.persistence_mode == false) {
    add("persistence", Health::note, "off",
        "the driver releases the GPU whenever nothing uses it: every start takes seconds, and clock settings "
        "are lost",
        smi("--persistence-mode=1"));
  }
  if (now_.mig_mode == true) {
    add("mig", Health::warning, "the GPU is partitioned into MIG slices",
        "a slice is measured, and the other slices share its clock and its power",
        fmt::format("Measure the whole GPU: {}", smi("-mig 0")));
  }
  compute_mode();
  if (now_.display_active == true) {
    add("display", Health::note, "a screen is attached",
        "drawing takes turns with kernels, and a kernel of several seconds may be stopped",
        "Measure on another GPU, or without a graphical session.");
  }
}

void GpuExamination::ecc() {
  if (!now_.ecc) return;
  const std::uint64_t errors = now_.ecc->uncorrected_errors.value_or(0);
  if (errors > 0) {
    return add("ecc", Health::warning,
               fmt::format("{} uncorrected memory error{} since the driver was loaded", errors,
                           errors == 1 ? "" : "s"),
               "memory errors can make results wrong and stop kernels",
               fmt::format("Reset the GPU ({}) or restart the machine; replace the GPU if they return.",
                           smi("--gpu-reset")));
  }
  if (now_.ecc->enabled) return ok("ecc", "on, no uncorrected errors");
  add("ecc", Health::note, "off", "a memory error looks like a wrong result of the kernel",
      fmt::format("Switch it on and restart: {}", smi("--ecc-config=1")));
}

void GpuExamination::compute_mode() {
  if (!now_.compute_mode) return;
  switch (*now_.compute_mode) {
    case ComputeMode::shared:
      return ok("compute_mode", "shared: other programs may use the GPU at any time");
    case ComputeMode::exclusive_process:
    case ComputeMode::exclusive_thread:
      return ok("compute_mode", "exclusive: no other program can use it while it is measured");
    case ComputeMode::prohibited:
      return add("compute_mode", Health::problem, "prohibited", "no program may compute on this GPU",
                 smi("--compute-mode=DEFAULT"));
  }
}

}  // namespace

std::vector<DoctorFinding> examine_gpu(const GpuFacts& facts) { return GpuExamination(facts).run(); }

}  // namespace tiletune
