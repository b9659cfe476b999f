#include "cli/measure_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <type_traits>

#include "base/error.h"
#include "base/text.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

constexpr std::string_view kOff = "off";
constexpr std::string_view kBaseline = "--baseline";
constexpr std::string_view kSustained = "--sustained";
constexpr std::string_view kHostCopies = "--host-copies";

[[noreturn]] void refuse(const std::string& text, const Flag& flag, const std::string& remedy) {
  throw UserError(fmt::format("'{}' is not a {}", text, flag.kind), Where{std::string(flag.name), ""},
                  remedy);
}

template <Spelled Enum>
Enum choice(const std::string& text, const Flag& flag) {
  if (const auto value = from_name<Enum>(text)) return *value;
  refuse(text, flag, std::string(trim(suggestion(text, spellings<Enum>()))));
}

/// "2s"
double seconds_from(const std::string& text, const Flag& flag, const Bounds<double>& bounds) {
  const auto seconds = seconds_from_text(text);
  if (seconds && bounds.contain(*seconds)) return *seconds;
  refuse(text, flag, fmt::format("Write a time such as 2s or 1min, at most {:.0f}s.", bounds.max));
}

/// "1.5", "0.5%" of a percentage, or "off". `usual` is an example.
template <typename Number>
Number number_from(const std::string& text, const Flag& flag, const Bounds<Number>& bounds,
                   bool is_percentage, Number usual) {
  if (flag.or_off && text == kOff) return 0;
  std::string_view digits = text;
  if (is_percentage && digits.ends_with('%')) digits.remove_suffix(1);
  Number number{};
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error == std::errc() && rest == end && bounds.contain(number)) return number;
  refuse(text, flag,
         fmt::format("Write a {} from {} to {}, such as {}{}.", flag.kind, bounds.min, bounds.max, usual,
                     flag.or_off ? ", or off" : ""));
}

bool switch_from(const std::string& text, const Flag& flag) {
  if (text == "on" || text == kOff) return text != kOff;
  refuse(text, flag, "Write on or off.");
}

/// The unit is in the option's name.
template <typename Policy, typename T>
T value_from(const std::string& text, const OptionOf<Policy, T>& option) {
  const T usual = Policy().*option.member;
  if constexpr (Spelled<T>) {
    return choice<T>(text, option.flag);
  } else if constexpr (std::is_same_v<T, bool>) {
    return switch_from(text, option.flag);
  } else {
    if constexpr (std::is_same_v<T, double>) {
      if (option.name.ends_with("_s")) return seconds_from(text, option.flag, option.bounds);
    }
    return number_from(text, option.flag, option.bounds, option.name.ends_with("_percent"), usual);
  }
}

/// What help says of the value.
template <typename Option, typename T>
std::string type_of(const Option& option, const T& /*value*/) {
  if constexpr (Spelled<T>) {
    return join(spellings<T>(), "|");
  } else if constexpr (std::is_same_v<T, bool>) {
    return "on|off";
  } else if constexpr (std::is_same_v<T, double>) {
    return option.name.ends_with("_s") ? "TIME" : "NUMBER";
  } else {
    return fmt::format("INT in [{} - {}]", option.bounds.min, option.bounds.max);
  }
}

void apply_baseline(const std::string& text, TuneSpec& spec) {
  spec.baseline = choice<Baseline>(text, {.name = kBaseline, .kind = "baseline"});
  const Operation& operation = spec.templates.front().operation;
  if (operation.baseline_library || spec.baseline == Baseline::none) return;
  throw UserError(fmt::format("cuBLAS is not a baseline of the operation {}", operation.name),
                  Where{std::string(kBaseline), ""}, "Leave the flag out, or write --baseline none.");
}

}  // namespace

void MeasureFlags::add_to(CLI::App& command, Flag::Of of) {
  command.add_option(std::string(kBaseline), texts_[std::string(kBaseline)],
                     "Compare with none, cublas, or lt: also the fastest of cuBLASLt's heuristics");
  const MeasurePolicy usual;
  for_each_option(usual, [&](const auto& option, const auto& value) {
    const Flag& flag = option.flag;
    if (flag.name.empty() || (flag.of != Flag::Of::all && flag.of != of)) return;
    const std::string name(flag.name);
    CLI::Option* const added =
        command.add_option(name, texts_[name], flag.help)->type_name(type_of(option, value));
    // A config may say otherwise; bench reads none.
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>) {
      if (flag.of == Flag::Of::bench) added->default_str(fmt::format("{}", value));
    }
  });
}

void MeasureFlags::apply(TuneSpec& spec) const {
  const auto given = [&](std::string_view flag) -> const std::string* {
    const auto found = texts_.find(flag);
    return found == texts_.end() || found->second.empty() ? nullptr : &found->second;
  };
  if (const std::string* text = given(kBaseline)) apply_baseline(*text, spec);
  for_each_option(spec.measure, [&](const auto& option, auto& value) {
    if (const std::string* text = given(option.flag.name)) value = value_from(*text, option);
  });
  const FinalsPolicy& finals = spec.measure.finals;
  if (finals.configurations > 0) return;
  const auto refuse_without_finals = [](std::string_view flag, const std::string& what) {
    throw UserError(what, Where{std::string(flag), ""}, "Leave the flag out, or run finals: --finals 10.");
  };
  if (given(kSustained) != nullptr)
    refuse_without_finals(kSustained, "nothing runs back to back without finals");
  if (given(kHostCopies) != nullptr && finals.host_copies)
    refuse_without_finals(kHostCopies, "nothing is timed with copies without finals");
}

namespace {

bool is_given(const CLI::App& command, std::string_view flag) {
  const CLI::Option* option = flag.empty() ? nullptr : command.get_option_no_throw(std::string(flag));
  return option != nullptr && option->count() > 0;
}

}  // namespace

void check_flags_beside_model(const CLI::App& command) {
  const bool replays = is_given(command, "--replay");
  if (!replays && !is_given(command, "--gpu")) return;
  const auto check = [&](std::string_view flag) {
    // A recording may hold rows of several.
    const bool chooses_rows = replays && flag == "--cache";
    if (chooses_rows || !is_given(command, flag)) return;
    const Where where{std::string(flag), ""};
    if (replays) {
      throw UserError("has no effect with --replay: times are as they were recorded", where,
                      "Leave the flag out.");
    }
    throw UserError("has no effect with --gpu: times are predicted", where,
                    "Leave the flag out, or leave out --gpu to measure on a GPU of this machine.");
  };
  check(kBaseline);
  const MeasurePolicy policy;
  for_each_option(policy, [&](const auto& option, const auto& /*value*/) { check(option.flag.name); });
}

}  // namespace tiletune
