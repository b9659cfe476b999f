// T4 results: {"metadata": {"timeunit"}, "results": [{"timestamp", "configuration", "times": {"runtimes"},
// "invalidity", "measurements": [{"name", "value", "unit"}], "objectives"}]}. Tiletune's own
// say more in members "tiletune": GPU, problem and kernel of the file, and the outcome of each row.

#include <array>

#include "foreign/format.h"

namespace tiletune {

namespace {

constexpr std::array kT4Words{
    ForeignOutcome{"correct", Outcome::ok, ""},
    ForeignOutcome{"compile", Outcome::compile_failed, "does not compile"},
    ForeignOutcome{"runtime", Outcome::launch_failed, "cannot be launched, or fails as it runs"},
    ForeignOutcome{"correctness", Outcome::wrong_result, "its results are wrong"},
    ForeignOutcome{"constraints", Outcome::refused, "refused before it was compiled or launched"},
    ForeignOutcome{"timeout", Outcome::timeout, "took too long"}};

/// The measurement called "time".
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
    if (configuration == nullptr || !configuration->IsObject())
      throw UserError("the row has no configuration", where.at("configuration"),
                      "Is this a file of T4 results?");
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const auto& member : configuration->GetObject())
      parameters.emplace_back(text(member.name), &member.value);
    set_parameters(parameters, where.at("configuration"), trial);
    trial.recorded_at = utc_time(text_of(row, "timestamp"));
    set_outcome(kT4Words, text_of(row, "invalidity"), "is not a known invalidity", where, "invalidity",
                trial);
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
    auto compilation = times == nullptr ? std::nullopt : figure_of(*times, "compilation_time");
    if (times != nullptr && !compilation) compilation = figure_of(*times, "compilation");
    if (compilation) {
      const double microseconds = unit("", where);
      trial.compile_ms =
          microseconds == kMillisecond ? *compilation : *compilation * microseconds / kMillisecond;
    }
    if (trial.outcome != Outcome::ok && trial.outcome != Outcome::screened_out) return;
    std::optional<double> mean_us;
    if (value != nullptr && value->IsNumber())
      mean_us = value->GetDouble() * unit(text_of(*time, "unit"), where);
    const JsonValue* samples = times == nullptr ? nullptr : find(*times, "runtimes");
    set_times(mean_us, samples, unit("", where), where, trial);
  }

 private:
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
