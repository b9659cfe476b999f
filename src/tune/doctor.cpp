#include "tune/doctor.h"

#include <algorithm>

#include "base/text.h"

namespace tiletune {

namespace {

constexpr int kDisturbed = 1;
constexpr int kUnusable = 3;

std::uint64_t count(const std::vector<DoctorFinding>& findings, Health health) {
  return static_cast<std::uint64_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const DoctorFinding& finding) { return finding.health == health; }));
}

/// A GPU, or the driver with the GPUs that it does not show.
bool is_unusable(const DoctorFinding& finding) {
  return finding.health == Health::problem && (finding.gpu || finding.check == "driver");
}

}  // namespace

const char* name(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::note:
      return "note";
    case Health::warning:
      return "warning";
    case Health::problem:
      return "problem";
  }
  return "";
}

GpuReadings read_gpu(const Nvml& nvml) {
  GpuReadings readings;
  // First of all, while nothing that is asked here can have an effect on it.
  readings.utilization_percent = nvml.utilization_percent();
  readings.processes = nvml.compute_processes();
  readings.sm_clock_mhz = nvml.sm_clock_mhz();
  readings.max_sm_clock_mhz = nvml.max_sm_clock_mhz();
  readings.application_sm_clock_mhz = nvml.application_sm_clock_mhz();
  readings.default_application_sm_clock_mhz = nvml.default_application_sm_clock_mhz();
  readings.throttle_reasons = nvml.throttle_reasons();
  readings.power_w = nvml.power_w();
  readings.power_limit_w = nvml.enforced_power_limit_w();
  readings.default_power_limit_w = nvml.default_power_limit_w();
  readings.temperature_c = nvml.temperature_c();
  readings.slowdown_temperature_c = nvml.slowdown_temperature_c();
  readings.memory = nvml.memory();
  readings.persistence_mode = nvml.persistence_mode();
  readings.mig_mode = nvml.mig_mode();
  readings.display_active = nvml.display_active();
  readings.ecc = nvml.ecc();
  readings.compute_mode = nvml.compute_mode();
  return readings;
}

int exit_code(const std::vector<DoctorFinding>& findings) {
  if (std::any_of(findings.begin(), findings.end(), is_unusable)) return kUnusable;
  return count(findings, Health::warning) + count(findings, Health::problem) > 0 ? kDisturbed : 0;
}

std::string verdict(const std::vector<DoctorFinding>& findings) {
  const std::uint64_t problems = count(findings, Health::problem);
  const std::uint64_t warnings = count(findings, Health::warning);
  const auto has = [&](const auto& condition) {
    return std::any_of(findings.begin(), findings.end(), condition);
  };
  const bool gpu = has([](const DoctorFinding& finding) { return finding.gpu.has_value(); });
  const bool compiles = !has([](const DoctorFinding& finding) {
    return finding.check == "compiler" && finding.health == Health::problem;
  });
  const std::string rest = compiles ? "; compiling, inspecting and predicting work" : "";
  std::string text;
  if (problems > 0) text = counted(problems, "problem");
  if (warnings > 0) text += (text.empty() ? "" : ", ") + counted(warnings, "warning");
  if (!text.empty()) text += ": ";
  if (exit_code(findings) == kUnusable) return text + "not every GPU can be measured on" + rest;
  if (!gpu) return text + "there is no GPU to measure on" + rest;
  return text + (text.empty() ? "nothing was found that would disturb a measurement"
                              : "measurements may be disturbed");
}

}  // namespace tiletune
