#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/distribution.h"
#include "output/report_sections.h"
#include "tune/ceilings.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBarWidth = 40;

/// Five significant digits: a tenth of a permille is worth seeing.
std::string five_digits(double value) {
  if (!std::isfinite(value) || value == 0) return fmt::format("{}", value);
  constexpr double kReadable = 1e9;
  if (std::abs(value) >= kReadable) return fmt::format("{:.4e}", value);
  const int decimals = std::clamp(4 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 9);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string microseconds(double value) { return five_digits(value) + " us"; }

/// Percent by which a time exceeds another.
double percent_above(double time, double other) { return 100 * (time / other - 1); }

std::string median_text(const Trial& kernel) {
  std::string text = microseconds(*kernel.median_us);
  if (!kernel.ci_low_us || !kernel.ci_high_us) return text;
  const double half = (*kernel.ci_high_us - *kernel.ci_low_us) / 2;
  return text + fmt::format(", 95% interval {} .. {} (half of it: {:.2g}%)", five_digits(*kernel.ci_low_us),
                            microseconds(*kernel.ci_high_us), 100 * half / *kernel.median_us);
}

std::string samples_text(const Trial& kernel) {
  if (!kernel.sample_count) return "";
  const std::int64_t launches = kernel.launches_per_sample.value_or(1);
  std::string text =
      fmt::format("{}, each of {} launch{}", *kernel.sample_count, launches, launches == 1 ? "" : "es");
  if (kernel.discarded_samples) {
    text += fmt::format(", {} discarded", *kernel.discarded_samples);
    if (*kernel.discarded_samples > 0) text += " for a lowered SM clock";
  }
  if (kernel.timed_in == "final") return text + ", in the finals";
  return text;
}

/// "GPU 0 165.21 us, GPU 1 164.80 us"; empty of one GPU.
std::string gpu_times_text(const Trial& kernel) {
  const auto times = nlohmann::json::parse(kernel.gpu_times_us, nullptr, false);
  std::vector<std::string> texts;
  for (std::size_t gpu = 0; times.is_array() && gpu < times.size(); ++gpu) {
    if (times[gpu].is_number())
      texts.push_back(fmt::format("GPU {} {}", gpu, microseconds(times[gpu].get<double>())));
  }
  return join(texts, ", ");
}

std::string spread_text(const Trial& kernel) {
  std::string text;
  if (kernel.stddev_us && kernel.mean_us && *kernel.mean_us > 0) {
    text = fmt::format("standard deviation {} ({:.2g}%)", microseconds(*kernel.stddev_us),
                       100 * *kernel.stddev_us / *kernel.mean_us);
  }
  if (kernel.samples_us.empty()) return text;
  const Quartiles middle = quartiles(kernel.samples_us);
  return text + fmt::format("{}quartiles {} .. {}", text.empty() ? "" : ", ", five_digits(middle.lower),
                            microseconds(middle.upper));
}

std::string clock_text(const Trial& kernel) {
  std::string text;
  if (kernel.median_cycles) text = fmt::format("{:.0f} cycles of an SM", *kernel.median_cycles);
  if (kernel.sm_clock_mhz)
    text += fmt::format("{}{:.0f} MHz", text.empty() ? "" : " at ", *kernel.sm_clock_mhz);
  return text;
}

/// Nothing of a text member that is absent.
std::string member(const Trial& trial, const char* name) {
  const Json derived = parsed_cell(trial.derived);
  if (!derived.is_object() || !derived.contains(name) || !derived[name].is_string()) return "";
  return derived[name].get<std::string>();
}

/// "compute: 88.1% of the 59.0 TFLOP/s that multiply-adds in FP32 reach on this GPU". Rows of before schema 9
/// state no pipe; they were compared with FP32's ceiling alone.
std::string ceiling_text(const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  if (kernel.bound.empty() || !kernel.percent_of_ceiling) return "";
  const std::string share = three_digits(*kernel.percent_of_ceiling);
  if (!report.calibration) return fmt::format("{}: {}% of that ceiling", kernel.bound, share);
  const std::string pipe = kernel.pipe.empty() ? "fp32" : kernel.pipe;
  return kernel.bound == "compute"
             ? fmt::format("compute: {}% of the {} TFLOP/s that {} reach on this GPU", share,
                           three_digits(ceiling_of(pipe, *report.calibration)), pipe_text(pipe))
             : fmt::format("memory: {}% of the {} GB/s that copying reaches on this GPU", share,
                           three_digits(report.calibration->copy_gbs));
}

std::string baseline_text(const Trial& baseline, double median_us) {
  std::string text = fmt::format("{:.1f}% of it: {}", 100 * *baseline.median_us / median_us,
                                 microseconds(*baseline.median_us));
  for (const std::string& part :
       {member(baseline, "library"), baseline.kernel_expression, member(baseline, "algorithm")}) {
    if (!part.empty()) text += ", " + printable(part);
  }
  return text;
}

/// How fast the kernel is of that baseline, both back to back, and what the baseline takes.
std::string sustained_baseline_text(const Trial& baseline, double kernel_us) {
  std::string text = fmt::format("{:.1f}% of it: {} per launch", 100 * *baseline.sustained_us / kernel_us,
                                 microseconds(*baseline.sustained_us));
  if (baseline.sustained_power_w) text += fmt::format(", {:.0f} W", *baseline.sustained_power_w);
  return text;
}

/// Every figure that no section says in its own words, by its name.
void add_other_figures(ReportSection& section, const Trial& kernel) {
  static constexpr std::array<std::string_view, 10> kSaidElsewhere{"isolated_us",
                                                                   "with_copies_us",
                                                                   "power_w",
                                                                   "energy_mj",
                                                                   "sustained_us",
                                                                   "sustained_clock_mhz",
                                                                   "sustained_power_w",
                                                                   "sustained_energy_mj",
                                                                   "sustained_tflops_per_w",
                                                                   "probability_near_best"};
  for (const Column& column : trial_columns()) {
    if (!column.is_figure || std::ranges::find(kSaidElsewhere, column.name) != kSaidElsewhere.end()) continue;
    const Cell cell = column.read(kernel);
    if (!std::holds_alternative<std::monostate>(cell))
      section.add(column.name, human_text(cell, column.type));
  }
}

}  // namespace

ReportSection time_section(const Trial& kernel) {
  ReportSection section("time of one launch");
  if (!kernel.median_us || kernel.source == Source::predicted) return section;
  section.add("median", median_text(kernel));
  if (kernel.min_us && kernel.mean_us) {
    section.add("minimum", microseconds(*kernel.min_us));
    section.add("mean", microseconds(*kernel.mean_us));
  }
  section.add("each GPU", gpu_times_text(kernel));
  section.add("spread", spread_text(kernel));
  section.add("samples", samples_text(kernel));
  if (kernel.isolated_us) {
    section.add("launched alone",
                fmt::format("{}, {:+.1f}% against the batch", microseconds(*kernel.isolated_us),
                            percent_above(*kernel.isolated_us, *kernel.median_us)));
  }
  if (kernel.first_median_us) {
    section.add("before finals", fmt::format("{}, {:+.2f}%", microseconds(*kernel.first_median_us),
                                             percent_above(*kernel.first_median_us, *kernel.median_us)));
  }
  if (kernel.with_copies_us)
    section.add("with copies", microseconds(*kernel.with_copies_us) + ", from and to pinned host memory");
  section.add("clock", clock_text(kernel));
  if (kernel.power_w) section.add("power", fmt::format("{:.0f} W right after the samples", *kernel.power_w));
  if (kernel.energy_mj)
    section.add("energy", fmt::format("{} mJ per launch", three_digits(*kernel.energy_mj)));
  add_other_figures(section, kernel);
  if (kernel.power_w || !kernel.throttle_reasons.empty())
    section.add("throttled by", kernel.throttle_reasons.empty() ? "nothing" : kernel.throttle_reasons);
  const char* label = "histogram, us";
  for (const std::string& line : histogram_lines(histogram(kernel.samples_us, kMostBins), kBarWidth))
    section.add(std::exchange(label, ""), line);
  return section;
}

ReportSection prediction_section(const Trial& kernel) {
  ReportSection section("predicted");
  if (kernel.source != Source::predicted) return section;
  if (const auto time = kernel.predicted_us) section.add("time", three_digits(*time) + " us");
  if (kernel.tflops) section.add("arithmetic", three_digits(*kernel.tflops) + " TFLOP/s");
  if (kernel.gbs) section.add("memory", three_digits(*kernel.gbs) + " GB/s of compulsory traffic");
  if (kernel.percent_of_peak)
    section.add("share", three_digits(*kernel.percent_of_peak) + "% of the model's FP32 peak");
  return section;
}

ReportSection throughput_section(const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  ReportSection section("throughput");
  if (!kernel.median_us || kernel.source == Source::predicted) return section;
  if (kernel.tflops) section.add("arithmetic", three_digits(*kernel.tflops) + " TFLOP/s");
  if (kernel.gbs) section.add("memory", three_digits(*kernel.gbs) + " GB/s of compulsory traffic");
  if (report.bytes > 0)
    section.add("intensity", three_digits(report.flops / report.bytes) + " operations per byte");
  section.add("bound by", ceiling_text(report));
  for (const Trial& baseline : report.baselines) {
    if (baseline.median_us) section.add(baseline.template_name, baseline_text(baseline, *kernel.median_us));
  }
  return section;
}

ReportSection sustained_section(const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  ReportSection section("back to back for seconds");
  if (!kernel.sustained_us) return section;
  constexpr double kFlopPerMicrosecondInTeraflops = 1e-6;
  std::string time = microseconds(*kernel.sustained_us) + " per launch";
  if (kernel.median_us)
    time +=
        fmt::format(", {:+.1f}% against the median", percent_above(*kernel.sustained_us, *kernel.median_us));
  section.add("time", time);
  if (report.flops > 0) {
    section.add(
        "arithmetic",
        three_digits(report.flops / *kernel.sustained_us * kFlopPerMicrosecondInTeraflops) + " TFLOP/s");
  }
  if (kernel.sustained_clock_mhz)
    section.add("clock", fmt::format("{:.0f} MHz", *kernel.sustained_clock_mhz));
  if (kernel.sustained_power_w) section.add("power", fmt::format("{:.0f} W", *kernel.sustained_power_w));
  if (kernel.sustained_energy_mj)
    section.add("energy", fmt::format("{} mJ per launch", three_digits(*kernel.sustained_energy_mj)));
  if (kernel.sustained_tflops_per_w)
    section.add("efficiency", three_digits(1000 * *kernel.sustained_tflops_per_w) + " GFLOP/s per watt");
  for (const Trial& baseline : report.baselines) {
    if (baseline.sustained_us)
      section.add(baseline.template_name, sustained_baseline_text(baseline, *kernel.sustained_us));
  }
  return section;
}

ReportSection accuracy_section(const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  ReportSection section("accuracy against FP64");
  if (is_unverified(kernel)) section.add("result", "unverified: it was compared with nothing");
  if (!kernel.relative_error) return section;
  section.add("relative error", fmt::format("{:.2e}, norm-wise", *kernel.relative_error));
  if (kernel.error_bound) {
    section.add("bound", fmt::format("{:.2e}{}", *kernel.error_bound,
                                     report.error_bound.empty() ? "" : " = " + report.error_bound));
  }
  if (kernel.largest_error) {
    section.add(
        "largest error",
        fmt::format("{:.2e} of a single element{}", *kernel.largest_error,
                    kernel.largest_error_at.empty() ? "" : ", " + printable(kernel.largest_error_at)));
  }
  for (const Trial& baseline : report.baselines) {
    if (baseline.relative_error)
      section.add(baseline.template_name, fmt::format("{:.2e}, norm-wise", *baseline.relative_error));
  }
  return section;
}

ReportSection method_section(const ConfigurationReport& report) {
  ReportSection section("method");
  if (report.calibration) {
    const CalibrationRecord& floor = *report.calibration;
    section.add("event floor", fmt::format("{} between two back-to-back events; subtracted",
                                           microseconds(floor.event_floor_us)));
    section.add("empty kernel", fmt::format("{}, and {} in a batch", microseconds(floor.empty_kernel_us),
                                            microseconds(floor.empty_kernel_batch_us)));
  }
  const Trial& kernel = report.kernel;
  if (kernel.noise_floor_percent) {
    std::string text =
        fmt::format("{:.2g}%: two copies of this kernel, measured alternately, differ by at most this",
                    *kernel.noise_floor_percent);
    if (report.twin && report.twin->median_us && kernel.median_us) {
      text += fmt::format(" (here {:+.2f}%)", percent_above(*report.twin->median_us, *kernel.median_us));
    }
    section.add("noise floor", text);
  }
  return section;
}

}  // namespace tiletune
