#include "output/configuration_report.h"

#include <nlohmann/json.hpp>

#include "output/display.h"
#include "output/distribution.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/report_sections.h"
#include "output/view.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

Json distribution_json(const std::vector<double>& samples) {
  if (samples.empty()) return nullptr;
  const Quartiles middle = quartiles(samples);
  Json bins = Json::array();
  for (const HistogramBin& bin : histogram(samples, kMostBins))
    bins.push_back({{"low_us", bin.low}, {"high_us", bin.high}, {"count", bin.count}});
  return {{"lower_quartile_us", middle.lower}, {"upper_quartile_us", middle.upper}, {"histogram", bins}};
}

Json calibration_json(const CalibrationRecord& record) {
  return {{"recorded_at", record.recorded_at},
          {"ffma_tflops", record.ffma_tflops},
          {"tensor_f16_tflops", record.tensor_f16_tflops},
          {"tensor_bf16_tflops", record.tensor_bf16_tflops},
          {"tensor_tf32_tflops", record.tensor_tf32_tflops},
          {"tensor_fp8_tflops", record.tensor_fp8_tflops},
          {"tensor_i8_tflops", record.tensor_i8_tflops},
          {"copy_gbs", record.copy_gbs},
          {"read_gbs", record.read_gbs},
          {"shared_gbs", record.shared_gbs},
          {"event_floor_us", record.event_floor_us},
          {"empty_kernel_us", record.empty_kernel_us},
          {"empty_kernel_batch_us", record.empty_kernel_batch_us}};
}

}  // namespace

void write_report(std::ostream& out, const ConfigurationReport& report) {
  const std::string banner = source_banner(report.kernel.source, report.kernel.gpu);
  if (!banner.empty()) out << '\n' << printable(banner) << '\n';
  what_section(report.kernel).write(out);
  binary_section(report).write(out);
  time_section(report.kernel).write(out);
  prediction_section(report.kernel).write(out);
  throughput_section(report).write(out);
  sustained_section(report).write(out);
  accuracy_section(report).write(out);
  method_section(report).write(out);
}

Json report_json(const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  const auto count = waves(report);
  Json baselines = Json::array();
  for (const Trial& baseline : report.baselines) {
    Json row = to_json(baseline, true);
    const bool compares = baseline.median_us && kernel.median_us;
    row["kernel_percent_of_it"] =
        compares ? Json(100 * *baseline.median_us / *kernel.median_us) : Json(nullptr);
    baselines.push_back(std::move(row));
  }
  const auto verified = verified_of(kernel);
  return {{"configuration", to_json(kernel, true)},
          {"verified", verified ? Json(*verified) : Json(nullptr)},
          {"waves", count ? Json(*count) : Json(nullptr)},
          {"flops", report.flops},
          {"bytes", report.bytes},
          {"error_bound", report.error_bound},
          {"distribution", distribution_json(kernel.samples_us)},
          {"baselines", baselines},
          {"twin", report.twin ? to_json(*report.twin, true) : Json(nullptr)},
          {"calibration", report.calibration ? calibration_json(*report.calibration) : Json(nullptr)}};
}

}  // namespace tiletune
