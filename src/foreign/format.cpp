#include "foreign/format.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "base/text.h"
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
  if (value.IsObject())
    return std::any_of(value.MemberBegin(), value.MemberEnd(),
                       [](const auto& member) { return holds_lost_number(member.value); });
  constexpr double kBeyondIntegers = 9223372036854775808.0;
  return value.IsNumber() && !value.IsInt64() && !(std::abs(value.GetDouble()) < kBeyondIntegers);
}

struct Unit {
  std::string_view name;
  double microseconds;
};
constexpr std::array kUnits{Unit{"ms", 1e3},  Unit{"millisecond", 1e3}, Unit{"milisecond", 1e3},
                            Unit{"us", 1},    Unit{"microsecond", 1},   Unit{"\xC2\xB5s", 1},
                            Unit{"ns", 1e-3}, Unit{"nanosecond", 1e-3}, Unit{"s", 1e6},
                            Unit{"sec", 1e6}, Unit{"second", 1e6}};

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
  trial.problem = known(problem, facts, &ImportFacts::problem, "which problem it is for",
                        facts.replayed ? "tiletune import FILE --db X.db --problem 64x64, then --replay X.db"
                                       : "--problem 4096x4096",
                        where);
  check_problem(trial.problem, trim(problem).empty() ? Where{"--problem", ""} : Where{file, "/problem_size"});
  trial.template_name = known(kernel, facts, &ImportFacts::kernel, "which kernel it is for",
                              facts.replayed ? "--template NAME" : "--kernel NAME", where);
  trial.operation = trial.template_name;
  nlohmann::ordered_json origin{{"tool", tool}, {"file", std::filesystem::path(file).filename().string()}};
  if (is_renamed && !trim(gpu).empty() && trim(gpu) != trial.gpu) origin["gpu"] = trim(gpu);
  trial.measure_policy = origin.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return trial;
}

JsonValue value_of(std::string_view text) {
  if (text == "True" || text == "False") return JsonValue(text == "True");
  if (const auto whole = parsed_number<std::int64_t>(text)) return JsonValue(*whole);
  if (const auto number = parsed_number<double>(text); number && std::isfinite(*number))
    return JsonValue(*number);
  return as_value(text);
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

void set_parameters(std::span<const std::pair<std::string_view, const JsonValue*>> parameters,
                    const Where& where, Trial& trial) {
  std::string& text = trial.parameters;
  text = "{";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, value] = parameters[i];
    const auto is_same = [name = name](const auto& other) { return other.first == name; };
    if (std::ranges::any_of(parameters.first(i), is_same)) throw named_twice(name, where);
    if (holds_lost_number(*value))
      throw UserError(
          fmt::format("the parameter '{}' holds a number beyond 2^63, NaN or Infinity, where two values "
                      "would become one",
                      name),
          where, "Write it as a string.");
    if (i > 0) text += ',';
    text += to_json_text(as_value(name));
    text += ':';
    text += to_json_text(*value);
  }
  text += '}';
}

void set_kernel(std::string_view in_file, const ImportFacts& facts, const Where& where, Trial& trial) {
  trial.template_name = trial.operation = in_file.empty() ? facts.kernel : in_file;
  if (trial.template_name.empty())
    throw UserError("the row does not name its kernel", where, "Name it: --kernel NAME.");
  check_same(trial.template_name, facts, &ImportFacts::kernel, "--kernel", where);
}

UserError named_twice(std::string_view name, const Where& where) {
  return {fmt::format("the parameter '{}' is there twice", name), where, "Correct it, or remove the row."};
}

double time_unit(std::string_view in_file, const ImportFacts& facts, const Where& where) {
  const std::string_view said = trim(in_file);
  const std::string_view given = facts.time_unit;
  if (said.empty() && given.empty())
    throw UserError("does not say the unit of its times", where,
                    facts.replayed ? "Import it with --time-unit ms, us, ns or s, and replay the database."
                                   : "Add it: --time-unit ms, us, ns or s.");
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

void set_outcome(std::span<const ForeignOutcome> words, std::string_view word, const char* what,
                 const Where& where, const char* key, Trial& trial) {
  const auto known = std::ranges::find(words, word, &ForeignOutcome::word);
  if (known == words.end())
    throw UserError(fmt::format("'{}' {}", word, what), where.at(key),
                    fmt::format("Known: {}.", join(names_of(words, &ForeignOutcome::word), ", ")));
  trial.outcome = known->outcome;
  trial.reason = trial.outcome == Outcome::ok ? "" : fmt::format("{} ({})", known->reason, word);
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

std::optional<double> microseconds_of(std::string_view unit) {
  std::string name(unit);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.size() > 3 && name.back() == 's') name.pop_back();
  const auto* const known = std::ranges::find(kUnits, name, &Unit::name);
  return known == kUnits.end() ? std::nullopt : std::optional(known->microseconds);
}

std::string utc_time(std::string_view text) {
  const std::string written(text);
  std::tm local{};
  const char* rest = ::strptime(written.c_str(), "%Y-%m-%d", &local);
  // strptime() takes years of fewer digits, too.
  if (rest == nullptr || written.find('-') != 4 || (*rest != 'T' && *rest != ' ')) return "";
  rest = ::strptime(rest + 1, "%H:%M:%S", &local);
  if (rest == nullptr) return "";
  local.tm_sec = std::min(local.tm_sec, 59);  // a leap second, which timegm() would carry over
  if (*rest == '.' || *rest == ',') rest += 1 + std::strspn(rest + 1, "0123456789");
  std::tm zone{};
  if (const std::string offset(trim(rest)); !offset.empty() && offset != "UTC" && offset != "z") {
    const char* const end = ::strptime(offset.c_str(), "%z", &zone);
    if (end == nullptr || *end != '\0') return "";
  }
  std::tm normal = local;
  const std::time_t seconds = ::timegm(&normal) - zone.tm_gmtoff;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  const int year = utc.tm_year + 1900;
  if (normal.tm_mday != local.tm_mday || year < 0 || year > 9999) return "";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", year, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

}  // namespace tiletune
