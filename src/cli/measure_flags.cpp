#include "cli/measure_flags.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "spec/names.h"
#include "spec/policies.h"

namespace tiletune {

namespace {

constexpr std::string_view kOff = "off";

/// Zero for "off".
std::optional<double> number_from(std::string_view text, const NumberRange& range) {
  if (text == kOff) return 0;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && rest == end && std::isfinite(number);
  if (!is_number || number < range.min || number > range.max) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const std::string& text, const char* flag, const char* kind,
                         const std::string& remedy) {
  throw UserError(fmt::format("'{}' is not a {}", text, kind), Where{flag, ""}, remedy);
}

template <typename T, std::size_t N>
T choice(const std::array<Named<T>, N>& table, const std::string& text, const char* flag, const char* kind) {
  std::vector<std::string> known;
  known.reserve(N);
  for (const auto& entry : table) {
    if (entry.name == text) return entry.value;
    known.emplace_back(entry.name);
  }
  refuse(text, flag, kind, std::string(trim(suggestion(text, known))));
}

void apply_baseline(const std::string& text, TuneSpec& spec) {
  spec.baseline = choice(kBaselines, text, "--baseline", "baseline");
  const Operation& operation = spec.templates.front().operation;
  if (operation.baselines || spec.baseline == Baseline::none) return;
  throw UserError(fmt::format("cuBLAS is not a baseline of the operation {}", operation.name),
                  Where{"--baseline", ""}, "Leave the flag out, or write --baseline none.");
}

double precision_from(const std::string& text) {
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  const auto percent = number == kOff ? std::nullopt : number_from(number, kPercentage);
  if (percent) return *percent;
  refuse(text, "--precision", "percentage",
         fmt::format("Write a number from {} to {}, such as 0.5; 0 takes all samples.", kPercentage.min,
                     kPercentage.max));
}

double screening_from(const std::string& text) {
  const auto factor = number_from(text, kScreening);
  if (factor && (*factor == 0 || *factor >= 1)) return *factor;
  refuse(text, "--screening", "factor",
         fmt::format("Write a factor from 1 to {}, such as 1.5, or off.", kScreening.max));
}

int finals_from(const std::string& text) {
  const auto count = number_from(text, {.min = 0, .max = static_cast<double>(kMostFinalists)});
  if (count && std::trunc(*count) == *count) return static_cast<int>(*count);
  refuse(text, "--finals", "number of finalists",
         fmt::format("Write how many of the best to re-measure, from 1 to {}, or off.", kMostFinalists));
}

void apply_sustained(const std::string& text, FinalsPolicy& finals) {
  const auto seconds = seconds_from_text(text);
  if (!seconds || *seconds > kSustained.max) {
    refuse(text, "--sustained", "time",
           fmt::format("Write a time such as 2s or 1min, at most {:.0f}s.", kSustained.max));
  }
  finals.sustained_s = *seconds;
  if (finals.configurations > 0) return;
  throw UserError("nothing runs back to back without finals", Where{"--sustained", ""},
                  "Leave the flag out, or run finals: --finals 10.");
}

}  // namespace

void MeasureFlags::add_to(CLI::App& command) {
  command.add_option("--baseline", baseline,
                     "Compare with none, cublas, or lt: also the fastest of cuBLASLt's heuristics");
  command.add_option("--precision", precision,
                     "Stop sampling once the median's 95% interval is within this percentage of it");
  command.add_option(
      "--cache", cache,
      "L2 before a launch: cold (flushed), dirty (flushed, but full of lines to write back), rotate "
      "(another copy of the buffers) or warm");
  command.add_option("--sustained", sustained,
                     "After the finals, run their best back to back for this long each (2s, 1min)");
}

void MeasureFlags::add_finals_to(CLI::App& command) {
  command.add_option(
      "--screening", screening,
      "Drop configurations that are clearly slower than the leader by this factor (1.5), or off");
  command.add_option("--finals", finals,
                     "Re-measure the N best, interleaved with the baselines (default 10), or off");
}

void MeasureFlags::apply(TuneSpec& spec) const {
  if (!baseline.empty()) apply_baseline(baseline, spec);
  if (!cache.empty()) spec.measure.cache = choice(kCachePolicies, cache, "--cache", "state of the cache");
  if (!precision.empty()) spec.measure.precision_percent = precision_from(precision);
  if (!screening.empty()) spec.measure.screening = screening_from(screening);
  if (!finals.empty()) spec.measure.finals.configurations = finals_from(finals);
  if (!sustained.empty()) apply_sustained(sustained, spec.measure.finals);
}

namespace {

bool is_given(const CLI::App& command, const char* flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

}  // namespace

void check_flags_beside_model(const CLI::App& command) {
  const bool replays = is_given(command, "--replay");
  if (!replays && !is_given(command, "--gpu")) return;
  for (const char* flag : {"--baseline", "--precision", "--cache", "--sustained", "--screening", "--finals",
                           "--samples", "--rounds"}) {
    // A recording may hold rows of several.
    const bool chooses_rows = replays && flag == std::string_view("--cache");
    if (chooses_rows || !is_given(command, flag)) continue;
    if (replays) {
      throw UserError("has no effect with --replay: times are as they were recorded", Where{flag, ""},
                      "Leave the flag out.");
    }
    throw UserError("has no effect with --gpu: times are predicted", Where{flag, ""},
                    "Leave the flag out, or leave out --gpu to measure on a GPU of this machine.");
  }
}

}  // namespace tiletune
