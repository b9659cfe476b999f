#include "output/configuration_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "carries.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace configuration_report_test {

/// A kernel after finals, with everything that can be known of it.
ConfigurationReport full_report() {
  ConfigurationReport report;
  Trial& kernel = report.kernel;
  kernel = timed_trial("k", 200, 1);
  kernel.template_name = "tile";
  kernel.problem = "1024x1024x1024";
  kernel.parameters = R"({"BM":128,"BN":64})";
  kernel.kernel_expression = "tile<128, 64>";
  kernel.compile_options = R"(["--std=c++17","-DTYPE=float *"])";
  kernel.launch = R"({"grid":[16,8,1],"block":[256,1,1],"dynamic_shared_bytes":2048})";
  kernel.operation = "gemm";
  kernel.element_types = "f32";
  kernel.scalars = "alpha=1 beta=0";
  kernel.cache = "cold";
  kernel.samples_us = {199, 200, 200, 201};
  kernel.sample_count = 4;
  kernel.launches_per_sample = 100;
  kernel.discarded_samples = 3;
  kernel.isolated_us = 203;
  kernel.first_median_us = 201;
  kernel.timed_in = "final";
  kernel.min_us = 199;
  kernel.mean_us = 200;
  kernel.stddev_us = 0.8;
  kernel.median_cycles = 351000;
  kernel.sm_clock_mhz = 1755;
  kernel.power_w = 612.4;
  kernel.energy_mj = 122.48;
  kernel.throttle_reasons = "sw_power_cap";
  kernel.tflops = 10.7;
  kernel.gbs = 62.9;
  kernel.pipe = "tensor_bf16";
  kernel.bound = "compute";
  kernel.percent_of_ceiling = 18.2;
  kernel.relative_error = 1.2e-7;
  kernel.error_bound = 3.9e-6;
  kernel.largest_error = 2.5e-5;
  kernel.largest_error_at = "C[12,77]";
  kernel.noise_floor_percent = 0.12;
  kernel.with_copies_us = 1650;
  kernel.sustained_us = 220;
  kernel.sustained_clock_mhz = 1600;
  kernel.sustained_power_w = 698;
  kernel.sustained_energy_mj = 153.56;
  kernel.sustained_tflops_per_w = 0.014;
  kernel.registers = 96;
  kernel.spill_bytes = 24;
  kernel.stack_bytes = 32;
  kernel.static_shared_bytes = 8192;
  kernel.dynamic_shared_bytes = 2048;
  kernel.occupancy = 0.25;
  kernel.occupancy_limiter = "registers";
  kernel.blocks_per_multiprocessor = 2;
  kernel.driver_blocks_per_multiprocessor = 2;
  Trial baseline = timed_trial("b", 204, 1);
  baseline.kind = "baseline";
  baseline.template_name = "cublaslt";
  baseline.kernel_expression = "sm80_sgemm_128x64";
  baseline.derived = R"({"library":"cuBLASLt 13.0","algorithm":"heuristic 3 of 8"})";
  baseline.relative_error = 1.1e-7;
  report.baselines = {baseline};
  report.twin = timed_trial("t", 200.2, 1);
  report.calibration = CalibrationRecord{{58.9, 700, 690, 350, 1400, 1300, 4100, 4500, 30000, 1.25, 1.5, 0.9},
                                         "NVIDIA H200",
                                         "GPU-1",
                                         "580",
                                         ""};
  report.flops = 2.147483648e9;
  report.bytes = 12582912;
  report.error_bound = "2 u + 2 sqrt(K) u";
  report.multiprocessors = 48;
  return report;
}

std::string text_of(const ConfigurationReport& report) {
  std::ostringstream out;
  write_report(out, report);
  return out.str();
}

void expect_lines(const std::string& text, const std::vector<std::vector<std::string>>& lines) {
  for (const std::vector<std::string>& parts : lines) EXPECT_TRUE(has_line(text, parts));
}

TEST(ConfigurationReport, SaysWhatRan) {
  expect_lines(text_of(full_report()),
               {{"tile at 1024x1024x1024 on NVIDIA H200: ok"},
                {"  parameters      BM=128 BN=64"},
                {"  launch ", "16 x 8", "256"},
                {"  options         --std=c++17 '-DTYPE=float *'"},
                {"  registers       96", "spills 24 B", "stack 32 B"},
                {"  shared memory   8.0 KiB static, 2.0 KiB dynamic"},
                {"  occupancy       25%", "2 thread", "by registers", "driver says 2"},
                {"  waves           1.33 of 48", "67%"}});
}

TEST(ConfigurationReport, SaysHowLongItTook) {
  expect_lines(text_of(full_report()), {{"  median          200.00 us", "95%", "199.00 .. 201.00 us", "0.5%"},
                                        {"  spread ", "0.80000 us", "0.4%", "199.75 .. 200.25 us"},
                                        {"  samples         4", "100 launches", "3 discarded", "the finals"},
                                        {"  launched alone  203.00 us", "+1.5%"},
                                        {"  before finals   201.00 us", "+0.50%"},
                                        {"  with copies     1650.0 us", "pinned host memory"},
                                        {"  clock           351000 cycles", "1755 MHz"},
                                        {"  power           612 W"},
                                        {"  energy          122 mJ"},
                                        {"  throttled by    sw_power_cap"}});
}

TEST(ConfigurationReport, SaysWhatThatIsWorth) {
  expect_lines(text_of(full_report()),
               {{"  memory          62.9 GB/s"},
                {"  intensity       171"},
                {"  bound by        compute", "18.2%", "690 TFLOP/s", "tensor cores in bf16"},
                {"  cublaslt        102.0%", "204.00 us, cuBLASLt 13.0, sm80_sgemm_128x64, heuristic 3 of 8"},
                {"  time            220.00 us", "+10.0%"},
                {"  arithmetic      9.76 TFLOP/s"},
                {"  energy          154 mJ"},
                {"  efficiency      14.0 GFLOP/s"},
                {"  relative error  1.20e-07"},
                {"  bound           3.90e-06 = 2 u + 2 sqrt(K) u"},
                {"  largest error   2.50e-05", "C[12,77]"},
                {"  cublaslt        1.10e-07"},
                {"  event floor     1.2500 us"},
                {"  empty kernel    1.5000 us", "0.90000 us"},
                {"  noise floor     0.12%", "+0.10%"}});
}

TEST(ConfigurationReport, SaysThatItWasComparedWithNothing) {
  ConfigurationReport report = full_report();
  EXPECT_FALSE(carries(text_of(report), {"unverified"}));
  EXPECT_EQ(report_json(report)["verified"], true);
  report.kernel.relative_error.reset();
  EXPECT_TRUE(has_line(text_of(report), {"result", "unverified"}));
  EXPECT_EQ(report_json(report)["verified"], false);
}

TEST(ConfigurationReport, ARefusedConfigurationHasItsReasonAndNoTimes) {
  ConfigurationReport report;
  report.kernel.template_name = "tile";
  report.kernel.outcome = Outcome::refused;
  report.kernel.reason = "registers: 300 > 255\x1b[31m";
  const std::string text = text_of(report);
  expect_lines(text, {{"  reason          registers: 300 > 255?[31m"}});
  for (const char* section : {"\ntime of one launch", "\nthroughput", "\naccuracy", "\nmethod", "\nbinary"})
    EXPECT_EQ(text.find(section), std::string::npos) << text;
}

TEST(ConfigurationReport, APredictionIsNoMeasurement) {
  ConfigurationReport report = full_report();
  report.kernel.source = Source::predicted;
  report.kernel.predicted_us = 150;
  const std::string text = text_of(report);
  expect_lines(text, {{"predicted", "NVIDIA H200", "nothing"}, {"  time            150 us"}});
  EXPECT_EQ(text.find("\ntime of one launch"), std::string::npos) << text;
  EXPECT_EQ(text.find("cublaslt        102"), std::string::npos) << text;
}

TEST(ConfigurationReport, JsonHasTheSamplesAndWhatFollowsFromThem) {
  const auto json = report_json(full_report());
  EXPECT_EQ(json["configuration"]["samples_us"].size(), 4U);
  EXPECT_EQ(json["distribution"]["lower_quartile_us"], 199.75);
  std::size_t counted = 0;
  for (const auto& bin : json["distribution"]["histogram"]) counted += bin["count"].get<std::size_t>();
  EXPECT_EQ(counted, 4U);
  EXPECT_NEAR(json["waves"].get<double>(), 128.0 / 96, 1e-12);
  EXPECT_NEAR(json["baselines"][0]["kernel_percent_of_it"].get<double>(), 102, 1e-9);
  EXPECT_EQ(json["calibration"]["event_floor_us"], 1.25);
  EXPECT_EQ(json["twin"]["median_us"], 200.2);
  const auto empty = report_json({});
  EXPECT_TRUE(empty["distribution"].is_null());
  EXPECT_TRUE(empty["waves"].is_null());
  EXPECT_TRUE(empty["twin"].is_null());
}

TEST(ConfigurationReport, NamesTheWorkspace) {
  ConfigurationReport report = full_report();
  report.kernel.launch = R"({"grid":[1,1,1],"block":[256,1,1],"workspace":[7,{"name":3,"bytes":-1},
      {"name":"partials","bytes":67108864,"zeroed":false},{"name":"tickets","bytes":4096,"zeroed":true}]})";
  expect_lines(text_of(report), {{"  workspace       partials 64.0 MiB, tickets 4.0 KiB (zero)"}});
}

TEST(ConfigurationReport, SurvivesRowsThatOthersWrote) {
  ConfigurationReport report = full_report();
  report.kernel.launch = R"({"grid":"many","block":null})";
  report.kernel.compile_options = "{";
  report.kernel.parameters = "[1";
  report.baselines.front().derived = "3";
  EXPECT_TRUE(report_json(report)["waves"].is_null());
  EXPECT_NE(text_of(report).find("cublaslt        102.0% of it: 204.00 us, sm80_sgemm_128x64\n"),
            std::string::npos);
}

}  // namespace configuration_report_test
}  // namespace tiletune
