// T4 results: {"metadata": {"timeunit"}, "results": [{"timestamp", "configuration", "times": {"runtimes"},
// "invalidity", "measurements": [{"name", "value", "unit"}], "objectives"}]}. Tiletune's own
// say more in members "tiletune": GPU, problem and kernel of the file, and the outcome of each row.

#include <fmt/format.h>

#include <algorithm>

#include "foreign/format.h"
#include "foreign/row.h"
#include "foreign/units.h"

namespace tiletune {

namespace {

constexpr std::array kT4Words{
    ForeignOutcome{"correct", Outcome::ok, ""},
    ForeignOutcome{"compile", Outcome::compile_failed, "does not compile"},
    ForeignOutcome{"runtime", Outcome::launch_failed, "cannot be launched, or fails as it runs"},
    ForeignOutcome{"correctness", Outcome::wrong_result, "its results are wrong"},
    ForeignOutcome{"constraints", Outcome::refused, "refused before it was compiled or launched"},
    ForeignOutcome{"timeout", Outcome::timeout, "took too long"}};

/// The measurement of the first objective; where that is not a time, the one called "time".
const JsonValue* time_of(const JsonValue& row) {
  const JsonValue* measurements = find(row, "measurements");
  if (measurements == nullptr || !measurements->IsArray()) return nullptr;
  for (const JsonValue& measurement : measurements->GetArray()) {
    if (text_of(measurement, "name") == "time") return &measurement;
  }
  return nullptr;
}

/// Whether the row's `correctness` says so, whatever its `invalidity` says.
bool is_wrong(const JsonValue& row) {
  const JsonValue* correctness = find(row, "correctness");
  if (correctness == nullptr) return false;
  return correctness->IsFalse() || (correctness->IsNumber() && correctness->GetDouble() == 0);
}

class T4Format : public ForeignFormat {
 public:
  T4Format(const JsonValue& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    const JsonValue* metadata = find(header, "metadata");
    if (metadata != nullptr) timeunit_ = text_of(*metadata, "timeunit");
    const JsonValue* own = metadata == nullptr ? nullptr : find(*metadata, "tiletune");
    const auto said = [&](const char* name) { return own == nullptr ? "" : text_of(*own, name); };
    shared_ = shared_row("T4", file, said("gpu"), said("problem"), said("template"), facts);
  }

  std::string name() const override { return "T4 results"; }

  void read(const JsonValue& row, const Where& where, Trial& trial) override {
    const JsonValue* configuration = find(row, "configuration");
    if (configuration == nullptr || !configuration->IsObject()) {
      throw UserError("the row has no configuration", where.at("configuration"),
                      "Is this a file of T4 results?");
    }
    read_configuration(*configuration, where.at("configuration"), trial);
    trial.recorded_at = utc_time(text_of(row, "timestamp"));
    read_result(row, where, trial);
  }

 private:
  static void read_configuration(const JsonValue& configuration, const Where& where, Trial& trial) {
    trial.parameters = "{";
    std::vector<std::string_view> names;
    for (const auto& member : configuration.GetObject()) {
      const std::string_view name = names.emplace_back(text(member.name));
      if (std::count(names.begin(), names.end(), name) > 1) throw named_twice(name, where);
      add_parameter(name, member.value, where, trial.parameters);
    }
    trial.parameters += '}';
  }

  void read_result(const JsonValue& row, const Where& where, Trial& trial) const {
    const std::string_view invalidity = text_of(row, "invalidity");
    if (!set_outcome(kT4Words, invalidity, trial)) {
      throw UserError(fmt::format("'{}' is not a known invalidity", invalidity), where.at("invalidity"),
                      known_words(kT4Words));
    }
    // T4 has no word for what ran, and was given up as slow.
    const JsonValue* own = find(row, "tiletune");
    if (own != nullptr && text_of(*own, "outcome") == tiletune::name(Outcome::screened_out))
      trial.outcome = Outcome::screened_out;
    if (trial.outcome == Outcome::ok && is_wrong(row)) {
      trial.outcome = Outcome::wrong_result;
      trial.reason = "its results are wrong (correctness 0)";
    }
    const JsonValue* time = time_of(row);
    const JsonValue* value = time == nullptr ? nullptr : find(*time, "value");
    // The tool's own word says more than T4's.
    if (trial.outcome != Outcome::ok && value != nullptr && value->IsString())
      trial.reason = trial.reason.substr(0, trial.reason.rfind('(') + 1) + std::string(text(*value)) + ")";
    const JsonValue* times = find(row, "times");
    if (times != nullptr) read_compile_time(*times, where, trial);
    if (trial.outcome != Outcome::ok && trial.outcome != Outcome::screened_out) return;
    std::optional<double> mean_us;
    if (value != nullptr && value->IsNumber())
      mean_us = value->GetDouble() * unit(text_of(*time, "unit"), where);
    const JsonValue* samples = times == nullptr ? nullptr : find(*times, "runtimes");
    set_times(mean_us, samples, unit("", where), where, trial);
  }

  void read_compile_time(const JsonValue& times, const Where& where, Trial& trial) const {
    auto compilation = figure_of(times, "compilation_time");
    if (!compilation) compilation = figure_of(times, "compilation");
    if (compilation) {
      const double microseconds = unit("", where);
      trial.compile_ms =
          microseconds == kMillisecond ? *compilation : *compilation * microseconds / kMillisecond;
    }
  }

  /// A measurement has a unit of its own, or that of the file, of which --time-unit speaks.
  double unit(std::string_view own, const Where& where) const {
    if (!own.empty()) return time_unit(own, {}, where);
    return time_unit(timeunit_, facts_, {where.file, "/metadata/timeunit"});
  }

  ImportFacts facts_;
  std::string timeunit_;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_t4_format(const JsonValue& header, const ImportFacts& facts,
                                              const std::string& file) {
  return std::make_unique<T4Format>(header, facts, file);
}

}  // namespace tiletune
