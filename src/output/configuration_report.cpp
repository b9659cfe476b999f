#include "output/configuration_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/distribution.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/report_sections.h"
#include "output/view.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

std::string bytes_text(std::int64_t bytes) {
  return human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

std::string extent(const Json& sizes) {
  std::vector<std::string> texts;
  for (const Json& size : sizes) texts.push_back(size.dump());
  while (texts.size() > 1 && texts.back() == "1") texts.pop_back();
  return join(texts, " x ");
}

std::optional<Json> launch_of(const Trial& trial) {
  Json launch = parsed_cell(trial.launch);
  if (!launch.is_object() || !launch.contains("grid") || !launch.contains("block")) return std::nullopt;
  return launch;
}

std::optional<double> blocks_of(const Trial& trial) {
  const auto launch = launch_of(trial);
  if (!launch) return std::nullopt;
  double blocks = 1;
  for (const Json& size : (*launch)["grid"]) {
    if (!size.is_number()) return std::nullopt;
    blocks *= size.get<double>();
  }
  return blocks;
}

std::string options_text(const Trial& trial) {
  const Json options = parsed_cell(trial.compile_options);
  std::vector<std::string> words;
  if (options.is_array()) {
    for (const Json& option : options)
      words.push_back(shell_quoted(option.is_string() ? option.get<std::string>() : option.dump()));
  }
  return join(words, " ");
}

std::string registers_text(const Trial& kernel) {
  if (!kernel.registers) return "";
  const std::int64_t spills = kernel.spill_bytes.value_or(0);
  return fmt::format("{} per thread, {}, stack {}", *kernel.registers,
                     spills == 0 ? "no spills" : "spills " + bytes_text(spills),
                     bytes_text(kernel.stack_bytes.value_or(0)));
}

std::string occupancy_text(const Trial& kernel) {
  if (!kernel.occupancy) return "";
  std::string text = fmt::format("{:.3g}% of the warps that fit", 100 * *kernel.occupancy);
  if (kernel.blocks_per_multiprocessor) {
    text += fmt::format(": {} thread block{} per multiprocessor", *kernel.blocks_per_multiprocessor,
                        *kernel.blocks_per_multiprocessor == 1 ? "" : "s");
  }
  if (!kernel.occupancy_limiter.empty()) text += ", limited by " + kernel.occupancy_limiter;
  const auto driver = kernel.driver_blocks_per_multiprocessor;
  if (driver) text += fmt::format(" (the driver says {})", *driver);
  return text;
}

std::string waves_text(const ConfigurationReport& report) {
  const auto count = waves(report);
  if (!count) return "";
  const double unused = std::ceil(*count) - *count;
  const auto resident =
      static_cast<double>(*report.kernel.blocks_per_multiprocessor * report.multiprocessors);
  if (*count < 1)
    return fmt::format("less than one: blocks {:.0f}, of {:.0f} that fit at once on {} multiprocessors",
                       *count * resident, resident, report.multiprocessors);
  std::string text = fmt::format("{:.2f} of {} multiprocessors", *count, report.multiprocessors);
  if (unused > 0) text += fmt::format("; {:.0f}% of the last one is empty", 100 * unused);
  return text;
}

}  // namespace

void ReportSection::add(const std::string& label, const std::string& text) {
  if (!text.empty()) lines_.emplace_back(label, text);
}

void ReportSection::write(std::ostream& out) const {
  if (lines_.empty()) return;
  out << '\n' << title_ << '\n';
  for (const auto& [label, text] : lines_) out << fmt::format("  {:<16}{}\n", label, text);
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

std::optional<double> waves(const ConfigurationReport& report) {
  const auto blocks = blocks_of(report.kernel);
  const auto resident = report.kernel.blocks_per_multiprocessor;
  if (!blocks || !resident || *resident < 1 || report.multiprocessors < 1) return std::nullopt;
  return *blocks / static_cast<double>(*resident * report.multiprocessors);
}

ReportSection what_section(const Trial& kernel) {
  constexpr std::size_t kMostPrinted = 400;
  ReportSection section(printable(fmt::format("{} at {} on {}: {}", kernel.template_name, kernel.problem,
                                              kernel.gpu, name(kernel.outcome))));
  section.add("reason", printable(kernel.reason));
  section.add("warnings", printable(kernel.warnings));
  section.add("printed", shortened(printable(kernel.printed), kMostPrinted));
  section.add("parameters", printable(parameters_text(kernel)));
  section.add("kernel", printable(kernel.kernel_expression));
  if (const auto launch = launch_of(kernel)) {
    section.add("launch", fmt::format("grid {}, thread block {}", extent((*launch)["grid"]),
                                      extent((*launch)["block"])));
    section.add("workspace", printable(workspace_text(*launch)));
  }
  section.add("options", printable(options_text(kernel)));
  std::vector<std::string> operation{kernel.operation, kernel.options, relevant_types(kernel.element_types),
                                     kernel.scalars};
  std::erase(operation, "");
  section.add("operation", printable(join(operation, ", ")));
  if (!kernel.cache.empty()) section.add("L2 cache", kernel.cache + " before a launch");
  return section;
}

ReportSection binary_section(const ConfigurationReport& report) {
  const Trial& kernel = report.kernel;
  ReportSection section("binary");
  if (kernel.compile_ms) {
    section.add("compiled in",
                fmt::format("{} of CPU time for {}, NVRTC {}", human_seconds(*kernel.compile_ms / 1000),
                            kernel.architecture, kernel.nvrtc_version));
  }
  section.add("registers", registers_text(kernel));
  if (kernel.static_shared_bytes) {
    section.add("shared memory", fmt::format("{} static, {} dynamic", bytes_text(*kernel.static_shared_bytes),
                                             bytes_text(kernel.dynamic_shared_bytes.value_or(0))));
  }
  section.add("occupancy", occupancy_text(kernel));
  section.add("waves", waves_text(report));
  return section;
}

namespace {

Json distribution_json(const std::vector<double>& samples) {
  if (samples.empty()) return nullptr;
  const Quartiles middle = quartiles(samples);
  Json bins = Json::array();
  for (const HistogramBin& bin : histogram(samples, kMostBins))
    bins.push_back({{"low_us", bin.low}, {"high_us", bin.high}, {"count", bin.count}});
  return {{"lower_quartile_us", middle.lower}, {"upper_quartile_us", middle.upper}, {"histogram", bins}};
}

/// What was measured, without what it was measured of.
Json calibration_json(const CalibrationRecord& record) {
  Json json = to_json(record);
  for (const char* name : {"gpu", "gpu_uuid", "driver_version"}) json.erase(name);
  return json;
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
  Json baselines = Json::array();
  for (const Trial& baseline : report.baselines) {
    Json row = to_json(baseline, true);
    const bool compares = baseline.median_us && kernel.median_us;
    row["kernel_percent_of_it"] =
        compares ? Json(100 * *baseline.median_us / *kernel.median_us) : Json(nullptr);
    baselines.push_back(std::move(row));
  }
  return {{"configuration", to_json(kernel, true)},
          {"verified", or_null(verified_of(kernel))},
          {"waves", or_null(waves(report))},
          {"flops", report.flops},
          {"bytes", report.bytes},
          {"error_bound", report.error_bound},
          {"distribution", distribution_json(kernel.samples_us)},
          {"baselines", baselines},
          {"twin", report.twin ? to_json(*report.twin, true) : Json(nullptr)},
          {"calibration", report.calibration ? calibration_json(*report.calibration) : Json(nullptr)}};
}

}  // namespace tiletune
