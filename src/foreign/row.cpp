#include "foreign/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "base/text.h"
#include "foreign/units.h"
#include "spec/problem.h"

namespace tiletune {

namespace {

/// `option` with an example behind it.
std::string known(std::string_view in_file, const ImportFacts& facts, std::string ImportFacts::*fact,
                  const char* what, std::string_view option, const Where& where) {
  const std::string_view text = trim(in_file);
  if (!text.empty()) {
    check_same(text, facts, fact, option.substr(0, option.find(' ')), where);
    return std::string(text);
  }
  if (!(facts.*fact).empty()) return facts.*fact;
  throw UserError(fmt::format("does not say {}", what), where, fmt::format("Add it: {}.", option));
}

void check_time(double microseconds, const Where& where) {
  if (std::isfinite(microseconds) && microseconds > 0) return;
  throw UserError(fmt::format("{:g} us is not a valid kernel time", microseconds), where,
                  "Correct or remove the row.");
}

/// A mean lies among its samples, but a tool may leave some out, or add what it takes to launch: one that is
/// far from them is of another unit.
void check_mean(double mean_us, const Timing& timing, const Where& where) {
  constexpr double kFar = 100;
  const auto [low, high] = std::minmax_element(timing.times_us.begin(), timing.times_us.end());
  if (mean_us >= *low / kFar && mean_us <= *high * kFar) return;
  throw UserError(fmt::format("the time {:g} us is far from its samples, {:g} to {:g} us: a unit is wrong",
                              mean_us, *low, *high),
                  where, "Correct or remove the row.");
}

/// A problem's name may be anything, its sizes may not.
void check_problem(const std::string& problem, const Where& where) {
  const auto is_positive = [](const std::string& size) {
    return size.front() != '-' && size.find_first_not_of('0') != std::string::npos;
  };
  const auto sizes = written_sizes(problem);
  if (!sizes || std::all_of(sizes->begin(), sizes->end(), is_positive)) return;
  throw UserError(fmt::format("the problem '{}' has a size that is not positive", problem), where,
                  "Correct it.");
}

/// Whether a number that it is, or that lies in it, may not be what was written: a larger integer is read as
/// the nearest double.
bool holds_lost_number(const JsonValue& value) {
  if (value.IsArray()) return std::any_of(value.Begin(), value.End(), holds_lost_number);
  if (value.IsObject()) {
    return std::any_of(value.MemberBegin(), value.MemberEnd(),
                       [](const auto& member) { return holds_lost_number(member.value); });
  }
  constexpr double kBeyondIntegers = 9223372036854775808.0;
  return value.IsNumber() && !value.IsInt64() && !(std::abs(value.GetDouble()) < kBeyondIntegers);
}

}  // namespace

void check_same(std::string_view in_file, const ImportFacts& facts, std::string ImportFacts::*fact,
                std::string_view option, const Where& where) {
  const std::string& given = facts.*fact;
  if (facts.replayed || given.empty() || given == in_file) return;
  throw UserError(fmt::format("the file says '{}', but {} '{}'", in_file, option, given), where,
                  fmt::format("Leave out {}, or correct the file.", option));
}

Trial shared_row(const std::string& tool, const std::string& file, std::string_view gpu,
                 std::string_view problem, std::string_view kernel, const ImportFacts& facts) {
  Trial trial;
  trial.source = Source::imported;
  const Where where{file, ""};
  const bool is_renamed = !facts.replayed && !facts.gpu.empty();
  trial.gpu = known(is_renamed ? facts.gpu : gpu, facts, &ImportFacts::gpu, "on which GPU it was recorded",
                    "--gpu \"NVIDIA A100-PCIE-40GB\"", where);
  trial.problem =
      known(problem, facts, &ImportFacts::problem, "which problem it is for", "--problem 4096x4096", where);
  check_problem(trial.problem, trim(problem).empty() ? Where{"--problem", ""} : Where{file, "/problem_size"});
  trial.template_name = known(kernel, facts, &ImportFacts::kernel, "which kernel it is for",
                              facts.replayed ? "--template NAME" : "--kernel NAME", where);
  trial.operation = trial.template_name;
  nlohmann::ordered_json origin{{"tool", tool}, {"file", std::filesystem::path(file).filename().string()}};
  if (is_renamed && !trim(gpu).empty() && trim(gpu) != trial.gpu) origin["gpu"] = trim(gpu);
  trial.measure_policy = origin.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return trial;
}

std::string problem_text(const JsonValue* problem_size) {
  if (problem_size == nullptr) return "";
  if (problem_size->IsInt64()) return std::to_string(problem_size->GetInt64());
  if (problem_size->IsString()) return std::string(text(*problem_size));
  std::string sizes;
  if (!problem_size->IsArray()) return sizes;
  for (const JsonValue& size : problem_size->GetArray()) {
    if (!size.IsInt64()) return "";
    sizes += (sizes.empty() ? "" : "x") + std::to_string(size.GetInt64());
  }
  return sizes;
}

bool is_sizes(const std::string& problem) { return written_sizes(problem).has_value(); }

void add_parameter(std::string_view name, const JsonValue& value, const Where& where,
                   std::string& parameters) {
  if (holds_lost_number(value)) {
    throw UserError(
        fmt::format("the parameter '{}' holds a number beyond 2^63, NaN or Infinity, where two values "
                    "would become one",
                    name),
        where, "Write it as a string.");
  }
  if (parameters.size() > 1) parameters += ',';
  parameters += to_json_text(
      JsonValue(rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size()))));
  parameters += ':';
  parameters += to_json_text(value);
}

UserError named_twice(std::string_view name, const Where& where) {
  return {fmt::format("the parameter '{}' is there twice", name), where, "Correct it, or remove the row."};
}

double time_unit(std::string_view in_file, const ImportFacts& facts, const Where& where) {
  const std::string_view said = trim(in_file);
  const std::string_view given = facts.time_unit;
  if (said.empty() && given.empty()) {
    throw UserError("does not say the unit of its times", where,
                    facts.replayed ? "Import it with --time-unit ms, us, ns or s, and replay the database."
                                   : "Add it: --time-unit ms, us, ns or s.");
  }
  const auto in_us = [&](std::string_view unit) {
    if (const auto microseconds = microseconds_of(unit)) return *microseconds;
    throw UserError(fmt::format("'{}' is not a unit of time", unit), where,
                    "Add it: --time-unit ms, us, ns or s.");
  };
  if (said.empty()) return in_us(given);
  const double unit = in_us(said);
  if (!given.empty() && in_us(given) != unit)
    check_same(said, facts, &ImportFacts::time_unit, "--time-unit", where);
  return unit;
}

bool is_figure(double value) {
  constexpr double kBeyondAny = 1e12;
  return value >= 0 && value <= kBeyondAny;
}

std::optional<double> figure_of(const JsonValue& object, std::string_view name) {
  const auto number = number_of(object, name);
  return number && is_figure(*number) ? number : std::nullopt;
}

void set_times(std::optional<double> mean_us, const JsonValue* samples, double unit_us, const Where& where,
               Trial& trial) {
  Samples taken;
  if (samples != nullptr && samples->IsArray()) {
    for (const JsonValue& sample : samples->GetArray()) {
      if (!sample.IsNumber())
        throw UserError("a sample is not a number", where, "Correct or remove the row.");
      taken.times_us.push_back(sample.GetDouble() * unit_us);
      check_time(taken.times_us.back(), where);
    }
  }
  if (mean_us) check_time(*mean_us, where);
  if (taken.times_us.empty()) {
    if (!mean_us) throw UserError("the row has no time", where, "Correct or remove the row.");
    trial.median_us = trial.mean_us = mean_us;
    return;
  }
  Timing timing = summarise(std::move(taken));
  if (mean_us) check_mean(*mean_us, timing, where);
  trial.median_us = timing.median_us;
  trial.ci_low_us = timing.ci_low_us;
  trial.ci_high_us = timing.ci_high_us;
  trial.min_us = timing.min_us;
  trial.mean_us = mean_us.value_or(timing.mean_us);
  trial.stddev_us = timing.stddev_us;
  trial.sample_count = static_cast<std::int64_t>(timing.times_us.size());
  trial.samples_us = std::move(timing.times_us);
}

}  // namespace tiletune
