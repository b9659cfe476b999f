#include "output/configuration_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/view.h"
#include "tune/ceilings.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Bins of a histogram.
constexpr std::size_t kMostBins = 12;

/// Writes headings and labelled lines below them. A heading without lines is left out.
class Sections {
 public:
  explicit Sections(std::ostream& out) : out_(out) {}

  void begin(std::string title) { title_ = std::move(title); }

  /// An empty text is left out.
  void add(std::string_view label, const std::string& text) {
    if (text.empty()) return;
    if (!title_.empty()) out_ << '\n' << std::exchange(title_, "") << '\n';
    out_ << fmt::format("  {:<16}{}\n", label, text);
  }

  /// `format` gives the text of a number that is known.
  void add(std::string_view label, const std::optional<double>& number, const char* format) {
    if (number) add(label, fmt::format(fmt::runtime(format), *number));
  }

  /// With three digits, and what follows them.
  void add_digits(std::string_view label, const std::optional<double>& number, const char* unit) {
    if (number) add(label, three_digits(*number) + unit);
  }

 private:
  std::ostream& out_;
  std::string title_;
};

std::string bytes_text(std::optional<std::int64_t> bytes) {
  return human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes.value_or(0), 0)));
}

std::string extent(const Json& sizes) {
  std::vector<std::string> texts;
  for (const Json& size : sizes) texts.push_back(size.dump());
  while (texts.size() > 1 && texts.back() == "1") texts.pop_back();
  return join(texts, " x ");
}

/// Null unless it is one with a grid and a block.
Json launch_of(const Trial& trial) {
  Json launch = parsed_cell(trial.launch);
  return launch.is_object() && launch.contains("grid") && launch.contains("block") ? launch : Json();
}

/// Thread blocks of a launch over what the GPU holds at once: 3.88 waves leave 12% of the last one empty.
std::optional<double> waves(const ConfigurationReport& report) {
  const Json launch = launch_of(report.kernel);
  const auto resident = report.kernel.blocks_per_multiprocessor;
  if (launch.is_null() || !resident || *resident < 1 || report.multiprocessors < 1) return std::nullopt;
  double blocks = 1;
  for (const Json& size : launch["grid"]) {
    if (!size.is_number()) return std::nullopt;
    blocks *= size.get<double>();
  }
  return blocks / static_cast<double>(*resident * report.multiprocessors);
}

/// "partials 64.0 MiB, tickets 4.0 KiB (zero)"
std::string workspace_text(const Json& launch) {
  std::vector<std::string> arrays;
  for (const Json& array : launch.value("workspace", Json::array())) {
    if (!array.is_object() || !array.contains("name") || !array.contains("bytes")) continue;
    const Json& name = array["name"];
    const Json& bytes = array["bytes"];
    if (!name.is_string() || !bytes.is_number_unsigned()) continue;
    arrays.push_back(fmt::format("{} {}{}", name.get<std::string>(), human_bytes(bytes.get<std::uint64_t>()),
                                 array.value("zeroed", Json()) == true ? " (zero)" : ""));
  }
  return join(arrays, ", ");
}

void write_what(Sections& out, const Trial& kernel) {
  constexpr std::size_t kMostPrinted = 400;
  out.begin(printable(fmt::format("{} at {} on {}: {}", kernel.template_name, kernel.problem, kernel.gpu,
                                  name(kernel.outcome))));
  out.add("reason", printable(kernel.reason));
  out.add("warnings", printable(kernel.warnings));
  out.add("printed", shortened(printable(kernel.printed), kMostPrinted));
  out.add("parameters", printable(parameters_text(kernel)));
  out.add("kernel", printable(kernel.kernel_expression));
  if (const Json launch = launch_of(kernel); !launch.is_null()) {
    out.add("launch",
            fmt::format("grid {}, thread block {}", extent(launch["grid"]), extent(launch["block"])));
    out.add("workspace", printable(workspace_text(launch)));
  }
  std::vector<std::string> options;
  if (const Json list = parsed_cell(kernel.compile_options); list.is_array()) {
    for (const Json& option : list)
      options.push_back(shell_quoted(option.is_string() ? option.get<std::string>() : option.dump()));
  }
  out.add("options", printable(join(options, " ")));
  std::vector<std::string> operation{kernel.operation, kernel.options, relevant_types(kernel.element_types),
                                     kernel.scalars};
  std::erase(operation, "");
  out.add("operation", printable(join(operation, ", ")));
  if (!kernel.cache.empty()) out.add("L2 cache", kernel.cache + " before a launch");
}

std::string waves_text(double count, const ConfigurationReport& report) {
  const double unused = std::ceil(count) - count;
  const auto resident =
      static_cast<double>(*report.kernel.blocks_per_multiprocessor * report.multiprocessors);
  if (count < 1)
    return fmt::format("less than one: blocks {:.0f}, of {:.0f} that fit at once on {} multiprocessors",
                       count * resident, resident, report.multiprocessors);
  std::string text = fmt::format("{:.2f} of {} multiprocessors", count, report.multiprocessors);
  if (unused > 0) text += fmt::format("; {:.0f}% of the last one is empty", 100 * unused);
  return text;
}

void write_binary(Sections& out, const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  out.begin("binary");
  if (kernel.compile_ms)
    out.add("compiled in",
            fmt::format("{} of CPU time for {}, NVRTC {}", human_seconds(*kernel.compile_ms / 1000),
                        kernel.architecture, kernel.nvrtc_version));
  if (kernel.registers)
    out.add("registers",
            fmt::format("{} per thread, {}, stack {}", *kernel.registers,
                        kernel.spill_bytes.value_or(0) == 0 ? "no spills"
                                                            : "spills " + bytes_text(kernel.spill_bytes),
                        bytes_text(kernel.stack_bytes)));
  if (kernel.static_shared_bytes)
    out.add("shared memory", fmt::format("{} static, {} dynamic", bytes_text(kernel.static_shared_bytes),
                                         bytes_text(kernel.dynamic_shared_bytes)));
  if (kernel.occupancy) {
    std::string text = fmt::format("{:.3g}% of the warps that fit", 100 * *kernel.occupancy);
    if (const auto blocks = kernel.blocks_per_multiprocessor)
      text += fmt::format(": {} thread block{} per multiprocessor", *blocks, *blocks == 1 ? "" : "s");
    if (!kernel.occupancy_limiter.empty()) text += ", limited by " + kernel.occupancy_limiter;
    if (const auto driver = kernel.driver_blocks_per_multiprocessor)
      text += fmt::format(" (the driver says {})", *driver);
    out.add("occupancy", text);
  }
  if (const auto count = waves(report)) out.add("waves", waves_text(*count, report));
}

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
  const std::int64_t launches = kernel.launches_per_sample.value_or(1);
  std::string text =
      fmt::format("{}, each of {} launch{}", *kernel.sample_count, launches, launches == 1 ? "" : "es");
  if (kernel.discarded_samples) {
    text += fmt::format(", {} discarded", *kernel.discarded_samples);
    if (*kernel.discarded_samples > 0) text += " for a lowered SM clock";
  }
  return kernel.timed_in == "final" ? text + ", in the finals" : text;
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
  std::vector<std::string> texts;
  if (kernel.stddev_us && kernel.mean_us && *kernel.mean_us > 0)
    texts.push_back(fmt::format("standard deviation {} ({:.2g}%)", microseconds(*kernel.stddev_us),
                                100 * *kernel.stddev_us / *kernel.mean_us));
  if (!kernel.samples_us.empty()) {
    const Quartiles middle = quartiles(kernel.samples_us);
    texts.push_back(fmt::format("quartiles {} .. {}", five_digits(middle.lower), microseconds(middle.upper)));
  }
  return join(texts, ", ");
}

/// "165.21 us, +0.4% against the batch"
std::string compared_text(double time, const Trial& kernel, const char* format) {
  return microseconds(time) + fmt::format(fmt::runtime(format), percent_above(time, *kernel.median_us));
}

void write_time(Sections& out, const Trial& kernel) {
  constexpr std::size_t kBarWidth = 40;
  out.begin("time of one launch");
  out.add("median", median_text(kernel));
  if (kernel.min_us && kernel.mean_us) {
    out.add("minimum", microseconds(*kernel.min_us));
    out.add("mean", microseconds(*kernel.mean_us));
  }
  out.add("each GPU", gpu_times_text(kernel));
  out.add("spread", spread_text(kernel));
  if (kernel.sample_count) out.add("samples", samples_text(kernel));
  if (kernel.isolated_us)
    out.add("launched alone", compared_text(*kernel.isolated_us, kernel, ", {:+.1f}% against the batch"));
  if (kernel.first_median_us)
    out.add("before finals", compared_text(*kernel.first_median_us, kernel, ", {:+.2f}%"));
  if (kernel.with_copies_us)
    out.add("with copies", microseconds(*kernel.with_copies_us) + ", from and to pinned host memory");
  std::string clock;
  if (kernel.median_cycles) clock = fmt::format("{:.0f} cycles of an SM", *kernel.median_cycles);
  if (kernel.sm_clock_mhz)
    clock += fmt::format("{}{:.0f} MHz", clock.empty() ? "" : " at ", *kernel.sm_clock_mhz);
  out.add("clock", clock);
  out.add("power", kernel.power_w, "{:.0f} W right after the samples");
  out.add_digits("energy", kernel.energy_mj, " mJ per launch");
  if (kernel.power_w || !kernel.throttle_reasons.empty())
    out.add("throttled by", kernel.throttle_reasons.empty() ? "nothing" : kernel.throttle_reasons);
  const char* label = "histogram, us";
  for (const std::string& line : histogram_lines(histogram(kernel.samples_us, kMostBins), kBarWidth))
    out.add(std::exchange(label, ""), line);
}

/// Every figure that no section says in its own words, by its name.
void write_other_figures(Sections& out, const Trial& kernel) {
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
    if (!std::holds_alternative<std::monostate>(cell)) out.add(column.name, human_text(cell, column.type));
  }
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

void write_throughput(Sections& out, const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  const bool is_predicted = kernel.source == Source::predicted;
  if (is_predicted) {
    out.begin("predicted");
    out.add_digits("time", kernel.predicted_us, " us");
  } else {
    if (!kernel.median_us) return;
    write_time(out, kernel);
    write_other_figures(out, kernel);
    out.begin("throughput");
  }
  out.add_digits("arithmetic", kernel.tflops, " TFLOP/s");
  out.add_digits("memory", kernel.gbs, " GB/s of compulsory traffic");
  if (is_predicted) return out.add_digits("share", kernel.percent_of_peak, "% of the model's FP32 peak");
  if (report.bytes > 0) out.add_digits("intensity", report.flops / report.bytes, " operations per byte");
  out.add("bound by", ceiling_text(report));
  for (const Trial& baseline : report.baselines)
    if (baseline.median_us) out.add(baseline.template_name, baseline_text(baseline, *kernel.median_us));
}

void write_sustained(Sections& out, const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  out.begin("back to back for seconds");
  if (!kernel.sustained_us) return;
  constexpr double kFlopPerMicrosecondInTeraflops = 1e-6;
  out.add("time", kernel.median_us ? compared_text(*kernel.sustained_us, kernel,
                                                   " per launch, {:+.1f}% against the median")
                                   : microseconds(*kernel.sustained_us) + " per launch");
  if (report.flops > 0)
    out.add_digits("arithmetic", report.flops / *kernel.sustained_us * kFlopPerMicrosecondInTeraflops,
                   " TFLOP/s");
  out.add("clock", kernel.sustained_clock_mhz, "{:.0f} MHz");
  out.add("power", kernel.sustained_power_w, "{:.0f} W");
  out.add_digits("energy", kernel.sustained_energy_mj, " mJ per launch");
  if (kernel.sustained_tflops_per_w)
    out.add_digits("efficiency", 1000 * *kernel.sustained_tflops_per_w, " GFLOP/s per watt");
  // How fast the kernel is of each baseline, both back to back, and what the baseline takes.
  for (const Trial& baseline : report.baselines) {
    if (!baseline.sustained_us) continue;
    std::string text =
        fmt::format("{:.1f}% of it: {} per launch", 100 * *baseline.sustained_us / *kernel.sustained_us,
                    microseconds(*baseline.sustained_us));
    if (baseline.sustained_power_w) text += fmt::format(", {:.0f} W", *baseline.sustained_power_w);
    out.add(baseline.template_name, text);
  }
}

void write_accuracy(Sections& out, const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  out.begin("accuracy against FP64");
  if (is_unverified(kernel)) out.add("result", "unverified: it was compared with nothing");
  if (!kernel.relative_error) return;
  out.add("relative error", kernel.relative_error, "{:.2e}, norm-wise");
  if (kernel.error_bound)
    out.add("bound", fmt::format("{:.2e}{}", *kernel.error_bound,
                                 report.error_bound.empty() ? "" : " = " + report.error_bound));
  if (kernel.largest_error)
    out.add("largest error",
            fmt::format("{:.2e} of a single element{}", *kernel.largest_error,
                        kernel.largest_error_at.empty() ? "" : ", " + printable(kernel.largest_error_at)));
  for (const Trial& baseline : report.baselines)
    out.add(baseline.template_name, baseline.relative_error, "{:.2e}, norm-wise");
}

void write_method(Sections& out, const ConfigurationReport& report) {
  out.begin("method");
  if (report.calibration) {
    const CalibrationRecord& floor = *report.calibration;
    out.add("event floor", fmt::format("{} between two back-to-back events; subtracted",
                                       microseconds(floor.event_floor_us)));
    out.add("empty kernel", fmt::format("{}, and {} in a batch", microseconds(floor.empty_kernel_us),
                                        microseconds(floor.empty_kernel_batch_us)));
  }
  const Trial& kernel = report.kernel;
  if (!kernel.noise_floor_percent) return;
  std::string text =
      fmt::format("{:.2g}%: two copies of this kernel, measured alternately, differ by at most this",
                  *kernel.noise_floor_percent);
  if (report.twin && report.twin->median_us && kernel.median_us)
    text += fmt::format(" (here {:+.2f}%)", percent_above(*report.twin->median_us, *kernel.median_us));
  out.add("noise floor", text);
}

}  // namespace

void write_report(std::ostream& out, const ConfigurationReport& report) {
  const std::string banner = source_banner(report.kernel.source, report.kernel.gpu);
  if (!banner.empty()) out << '\n' << printable(banner) << '\n';
  Sections sections(out);
  write_what(sections, report.kernel);
  write_binary(sections, report);
  write_throughput(sections, report);
  write_sustained(sections, report);
  write_accuracy(sections, report);
  write_method(sections, report);
}

Json report_json(const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  Json baselines = Json::array();
  for (const Trial& baseline : report.baselines) {
    Json& row = baselines.emplace_back(to_json(baseline, true));
    const bool compares = baseline.median_us && kernel.median_us;
    row["kernel_percent_of_it"] = compares ? Json(100 * *baseline.median_us / *kernel.median_us) : Json();
  }
  Json distribution;
  if (!kernel.samples_us.empty()) {
    const Quartiles middle = quartiles(kernel.samples_us);
    Json bins = Json::array();
    for (const HistogramBin& bin : histogram(kernel.samples_us, kMostBins))
      bins.push_back({{"low_us", bin.low}, {"high_us", bin.high}, {"count", bin.count}});
    distribution = {
        {"lower_quartile_us", middle.lower}, {"upper_quartile_us", middle.upper}, {"histogram", bins}};
  }
  Json calibration;  // what was measured, without what it was measured of
  if (report.calibration) {
    calibration = to_json(*report.calibration);
    for (const char* name : {"gpu", "gpu_uuid", "driver_version"}) calibration.erase(name);
  }
  return {{"configuration", to_json(kernel, true)},
          {"verified", or_null(verified_of(kernel))},
          {"waves", or_null(waves(report))},
          {"flops", report.flops},
          {"bytes", report.bytes},
          {"error_bound", report.error_bound},
          {"distribution", distribution},
          {"baselines", baselines},
          {"twin", report.twin ? to_json(*report.twin, true) : Json()},
          {"calibration", calibration}};
}

}  // namespace tiletune
