#include "doctor/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "carries.h"

namespace tiletune {
namespace doctor_test {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// A machine with nothing to complain of.
MachineFacts machine() {
  MachineFacts facts;
  facts.hides_names = true;
  facts.nvrtc_version = "13.0";
  facts.compile_s = 0.2;
  facts.cores = 16;
  facts.cache = {"/cache/cubin", "", kGiB, 100 * kGiB};
  facts.libraries = {{"cuBLAS", "/lib/libcublas.so.13", "13.0.2"},
                     {"cuBLASLt", "/lib/libcublasLt.so.13", "13.0.2"}};
  facts.driver_version = "580.0";
  facts.cuda_version = "13.0";
  facts.nvml_gpus = {{0, "NVIDIA H200", "GPU-0"}};
  return facts;
}

/// An idle GPU with nothing to complain of.
GpuFacts gpu() {
  GpuReadings readings;
  readings.sm_clock_mhz = 345;
  readings.max_sm_clock_mhz = 1980;
  readings.application_sm_clock_mhz = readings.default_application_sm_clock_mhz = 1980;
  readings.throttle_reasons = 0x1;
  readings.power_w = 76.4;
  readings.power_limit_w = readings.default_power_limit_w = 700;
  readings.temperature_c = 31;
  readings.slowdown_temperature_c = 90;
  readings.memory = GpuMemory{140 * kGiB, 139 * kGiB, 0};
  readings.utilization_percent = 0;
  readings.processes.emplace();
  readings.persistence_mode = true;
  readings.mig_mode = readings.display_active = false;
  readings.ecc = EccState{true, 0};
  readings.compute_mode = ComputeMode::shared;
  return {0, "NVIDIA H200", "sm_90a", "", "", "3", readings};
}

DoctorFinding only(const std::vector<DoctorFinding>& findings, const std::string& check) {
  const auto is_it = [&](const DoctorFinding& finding) { return finding.check == check; };
  EXPECT_EQ(std::count_if(findings.begin(), findings.end(), is_it), 1) << check;
  const auto found = std::find_if(findings.begin(), findings.end(), is_it);
  return found == findings.end() ? DoctorFinding{} : *found;
}

DoctorFinding of_machine(const MachineFacts& facts, const std::string& check) {
  return only(examine_machine(facts), check);
}

/// What is said after one reading of a healthy GPU has changed; nothing else is complained of.
template <typename Change>
DoctorFinding after(const std::string& check, Change change) {
  GpuFacts facts = gpu();
  change(*facts.readings);
  const std::vector<DoctorFinding> findings = examine_gpu(facts);
  for (const DoctorFinding& finding : findings) {
    EXPECT_EQ(finding.gpu, 0);
    EXPECT_TRUE(finding.health == Health::ok || finding.check == check) << finding.check << finding.found;
    EXPECT_EQ(finding.health == Health::ok, finding.why.empty()) << finding.check;
    EXPECT_EQ(finding.health == Health::ok, finding.remedy.empty()) << finding.check;
  }
  return only(findings, check);
}

TEST(Doctor, FindsNothingWrongWithAHealthyMachine) {
  std::vector<DoctorFinding> findings = examine_machine(machine());
  for (const DoctorFinding& finding : examine_gpu(gpu())) findings.push_back(finding);
  for (const DoctorFinding& finding : findings) {
    EXPECT_EQ(finding.health, Health::ok) << finding.check << ": " << finding.found;
    EXPECT_EQ(finding.why + finding.remedy, "") << finding.check;
  }
  EXPECT_EQ(exit_code(findings), 0);
  EXPECT_TRUE(carries(verdict(findings), {"nothing"}));
  EXPECT_EQ(only(findings, "driver").found, "580.0, CUDA 13.0");
  EXPECT_EQ(only(findings, "memory").found, "139.0 GiB of 140.0 GiB free");
  EXPECT_TRUE(carries(only(findings, "clock").found, {"345 MHz", "1980 MHz"}));
  EXPECT_TRUE(carries(only(findings, "power").found, {"76 W", "700 W"}));
}

TEST(Doctor, WithoutAGpuTheRestWorks) {
  MachineFacts facts = machine();
  facts.driver_version = facts.cuda_version = "";
  facts.no_gpu = "no NVIDIA driver is installed (libcuda.so.1 cannot be opened)";
  facts.no_nvml = "libnvidia-ml.so.1 cannot be opened";
  facts.nvml_gpus.clear();
  const std::vector<DoctorFinding> findings = examine_machine(facts);
  const DoctorFinding driver = only(findings, "driver");
  EXPECT_EQ(driver.health, Health::note);
  EXPECT_EQ(driver.found, facts.no_gpu);
  EXPECT_TRUE(carries(driver.why, {"--gpu NAME"}));
  EXPECT_TRUE(std::none_of(findings.begin(), findings.end(), [](const DoctorFinding& f) {
    return f.check == "nvml";
  })) << "the driver's absence explains that of NVML";
  EXPECT_EQ(exit_code(findings), 0);
  EXPECT_TRUE(carries(verdict(findings), {"no GPU", "predicting work"}));
}

TEST(Doctor, ADriverThatHidesItsGpusIsAProblem) {
  MachineFacts facts = machine();
  facts.no_gpu = "the NVIDIA driver shows no GPU";
  EXPECT_TRUE(carries(of_machine(facts, "driver").found, {"shows no", "NVML lists 1"}));
  EXPECT_NE(of_machine(facts, "driver").remedy.find("/dev/nvidia*"), std::string::npos);
  facts.environment = {{"CUDA_VISIBLE_DEVICES", "-1"}};
  EXPECT_TRUE(carries(of_machine(facts, "driver").remedy, {"CUDA_VISIBLE_DEVICES=-1"}));
  EXPECT_EQ(exit_code(examine_machine(facts)), 3);
}

TEST(Doctor, ComparesTheCompilerWithTheDriver) {
  MachineFacts facts = machine();
  facts.cuda_version = "12.4";
  DoctorFinding compiler = of_machine(facts, "compiler");
  EXPECT_EQ(compiler.health, Health::warning);
  EXPECT_TRUE(carries(compiler.found, {"NVRTC 13.0", "newer", "CUDA 12.4"}));
  EXPECT_TRUE(carries(compiler.remedy, {"CUDA 12.4", "-DTILETUNE_CUDA_ROOT"}));
  facts.nvrtc_version = "12.10";
  facts.cuda_version = "12.9";
  EXPECT_EQ(of_machine(facts, "compiler").health, Health::note) << "ten is more than nine";
  facts.cuda_version = "13.0";
  EXPECT_EQ(of_machine(facts, "compiler").health, Health::ok);
}

TEST(Doctor, ACompilerThatFailsIsAProblemOfTheMachineAndNotOfAGpu) {
  MachineFacts facts = machine();
  facts.compile_failure = "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.";
  const std::vector<DoctorFinding> findings = examine_machine(facts);
  EXPECT_EQ(only(findings, "compiler").health, Health::problem);
  EXPECT_EQ(exit_code(findings), 1);
  EXPECT_TRUE(carries(verdict(findings), {"1 problem", "no GPU"}));
  EXPECT_FALSE(carries(verdict(findings), {"work"}));
}

TEST(Doctor, LooksAtCoresCacheAndLibraries) {
  MachineFacts facts = machine();
  EXPECT_TRUE(carries(of_machine(facts, "compile_workers").found, {"16 cores"}));
  facts.core_quota = 4;
  EXPECT_TRUE(carries(of_machine(facts, "compile_workers").remedy, {"-j 4"}));
  facts.core_quota = 16;
  EXPECT_EQ(of_machine(facts, "compile_workers").health, Health::ok);
  facts.cores = 1;
  EXPECT_TRUE(carries(of_machine(facts, "compile_workers").found, {"1 core"}));
  facts.cache.free_bytes = 1000;
  EXPECT_EQ(of_machine(facts, "kernel_cache").health, Health::warning);
  facts.cache.failure = "Permission denied";
  EXPECT_EQ(of_machine(facts, "kernel_cache").found, "/cache/cubin: Permission denied");
  facts.libraries[1] = {"cuBLASLt", "", ""};
  EXPECT_EQ(of_machine(facts, "cublas").found, "13.0.2, /lib/libcublas.so.13");
  EXPECT_EQ(of_machine(facts, "cublaslt").health, Health::note);
  EXPECT_NE(of_machine(facts, "cublaslt").remedy.find("libcublasLt.so"), std::string::npos);
}

TEST(Doctor, VariablesThatChangeEveryLaunchAreNamed) {
  MachineFacts facts = machine();
  facts.environment = {{"CUDA_LAUNCH_BLOCKING", "0"}, {"CUDA_INJECTION64_PATH", ""}};
  EXPECT_EQ(exit_code(examine_machine(facts)), 0) << "both are off";
  facts.environment = {{"CUDA_LAUNCH_BLOCKING", "1"}};
  const DoctorFinding finding = of_machine(facts, "environment");
  EXPECT_EQ(finding.found, "CUDA_LAUNCH_BLOCKING=1");
  EXPECT_TRUE(carries(finding.remedy, {"CUDA_LAUNCH_BLOCKING"}));
  EXPECT_EQ(exit_code(examine_machine(facts)), 1);
}

TEST(Doctor, WithoutNvmlDisturbancesGoUnnoticed) {
  MachineFacts facts = machine();
  facts.nvml_gpus.clear();
  facts.no_nvml = "NVML does not start: Driver/library version mismatch (code 18)";
  EXPECT_EQ(of_machine(facts, "nvml").health, Health::warning);
  GpuFacts blind = gpu();
  blind.readings.reset();
  EXPECT_EQ(examine_gpu(blind).size(), 1U) << "it was opened; the rest is not known";
}

TEST(DoctorOfAGpu, ThrottlingIsAWarningWithItsRemedy) {
  const auto throttled_by = [](std::uint64_t reasons) {
    return after("throttling", [=](GpuReadings& now) { now.throttle_reasons = reasons; });
  };
  EXPECT_EQ(throttled_by(0x3).health, Health::ok) << "idle, at the clocks set";
  EXPECT_EQ(throttled_by(0x4).found, "sw_power_cap");
  EXPECT_EQ(throttled_by(0x4).health, Health::warning);
  EXPECT_TRUE(carries(throttled_by(0x4).remedy, {"power limit"}));
  EXPECT_NE(throttled_by(0x28).remedy.find("cool down"), std::string::npos);
  EXPECT_NE(throttled_by(0x88).remedy.find("power supply"), std::string::npos);
}

TEST(DoctorOfAGpu, OtherProgramsAreListed) {
  DoctorFinding finding = after("processes", [](GpuReadings& now) {
    now.processes = {{4242, 3 * kGiB, "python3"}, {17, std::nullopt, ""}};
    now.utilization_percent = 87;
  });
  EXPECT_EQ(finding.health, Health::warning);
  EXPECT_TRUE(carries(finding.found, {"pid 4242 python3 (3.0 GiB)", "pid 17", "87%"}));
  finding = after("processes", [](GpuReadings& now) {
    for (int pid = 1; pid <= 9; ++pid) now.processes->push_back({pid, std::nullopt, "tiletune"});
  });
  EXPECT_TRUE(carries(finding.found, {"pid 1 tiletune", "pid 4 tiletune", "5 more"}));
  EXPECT_TRUE(carries(finding.why, {"another tiletune"}));
}

TEST(DoctorOfAGpu, ProgramsThatCannotBeSeenBetrayThemselves) {
  const DoctorFinding busy = after("processes", [](GpuReadings& now) { now.utilization_percent = 30; });
  EXPECT_EQ(busy.health, Health::warning);
  EXPECT_TRUE(carries(busy.found, {"none", "30%"}));
  const DoctorFinding memory = after("memory", [](GpuReadings& now) {
    now.memory = {140 * kGiB, 138 * kGiB, kGiB};
  });
  EXPECT_EQ(memory.health, Health::warning);
  EXPECT_TRUE(carries(memory.found, {"138.0 GiB", "140.0 GiB", "1.0 GiB"}));
}

TEST(DoctorOfAGpu, SettingsThatChangeTimesAreNamed) {
  const DoctorFinding clock = after("clock", [](GpuReadings& now) { now.application_sm_clock_mhz = 1200; });
  EXPECT_EQ(clock.health, Health::note);
  EXPECT_TRUE(carries(clock.found, {"345 MHz", "1980 MHz", "1200 MHz", "default 1980"}));
  EXPECT_NE(clock.remedy.find("sudo nvidia-smi -i 3 --reset-applications-clocks"), std::string::npos);
  const DoctorFinding power = after("power", [](GpuReadings& now) { now.power_limit_w = 500; });
  EXPECT_EQ(power.health, Health::warning);
  EXPECT_TRUE(carries(power.found, {"76 W", "500 W", "default 700"}));
  EXPECT_TRUE(carries(power.remedy, {"sudo nvidia-smi -i 3 --power-limit=700"}));
  EXPECT_EQ(after("temperature", [](GpuReadings& now) { now.temperature_c = 84.9; }).health, Health::ok);
  EXPECT_EQ(after("temperature", [](GpuReadings& now) { now.temperature_c = 85; }).health, Health::warning);
}

TEST(DoctorOfAGpu, ModesAreNamed) {
  EXPECT_EQ(after("persistence", [](GpuReadings& now) { now.persistence_mode = false; }).health,
            Health::note);
  EXPECT_EQ(after("mig", [](GpuReadings& now) { now.mig_mode = true; }).health, Health::warning);
  EXPECT_EQ(after("display", [](GpuReadings& now) { now.display_active = true; }).health, Health::note);
  EXPECT_EQ(after("ecc", [](GpuReadings& now) { now.ecc->enabled = false; }).health, Health::note);
  EXPECT_TRUE(carries(after("ecc", [](GpuReadings& now) { now.ecc->uncorrected_errors = 1; }).found,
                      {"1 uncorrected"}));
  EXPECT_EQ(after("compute_mode", [](GpuReadings& now) { now.compute_mode = ComputeMode::exclusive_process; })
                .health,
            Health::ok);
}

TEST(DoctorOfAGpu, WhatNvmlDoesNotTellIsNoPeaceOfMind) {
  for (const char* check : {"clock", "throttling", "power", "memory", "processes"}) {
    GpuFacts facts = gpu();
    facts.readings = GpuReadings{};
    const DoctorFinding finding = only(examine_gpu(facts), check);
    EXPECT_EQ(finding.health, Health::note);
    EXPECT_TRUE(carries(finding.found, {"NVML"}));
    EXPECT_EQ(exit_code({finding}), 0);
  }
}

TEST(DoctorOfAGpu, OneThatCannotBeUsedIsAProblem) {
  GpuFacts facts = gpu();
  facts.failure = "the GPU worker did not answer within 1 min 00 s";
  std::vector<DoctorFinding> findings = examine_gpu(facts);
  EXPECT_EQ(only(findings, "gpu").health, Health::problem);
  EXPECT_TRUE(carries(only(findings, "gpu").found, {"NVIDIA H200", facts.failure}));
  EXPECT_NE(only(findings, "gpu").remedy.find("dmesg"), std::string::npos);
  EXPECT_EQ(exit_code(findings), 3);
  EXPECT_TRUE(carries(verdict(findings), {"1 problem", "not every"}));
  facts.remedy = "Build tiletune with a CUDA toolkit that supports this GPU.";
  EXPECT_EQ(only(examine_gpu(facts), "gpu").remedy, facts.remedy);
}

TEST(DoctorOfAGpu, OneThatIsTakenSaysByWhom) {
  GpuFacts facts = gpu();
  facts.failure = "cuDevicePrimaryCtxRetain: CUDA-capable device(s) is/are busy or unavailable";
  facts.readings->compute_mode = ComputeMode::exclusive_process;
  facts.readings->processes = {{4242, kGiB, "python3"}};
  const std::vector<DoctorFinding> findings = examine_gpu(facts);
  EXPECT_TRUE(carries(only(findings, "gpu").remedy, {"sudo nvidia-smi -i 3 --compute-mode=DEFAULT"}));
  EXPECT_EQ(only(findings, "processes").found, "pid 4242 python3 (1.0 GiB)");
  EXPECT_TRUE(carries(verdict(findings), {"1 problem, 1 warning", "not every"}));
}

}  // namespace doctor_test
}  // namespace tiletune
