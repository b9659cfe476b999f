// T4 results: {"metadata": {"timeunit"}, "results": [{"timestamp", "configuration", "times": {"runtimes"},
// "invalidity", "measurements": [{"name", "value", "unit"}], "objectives"}]}. Rows that tiletune wrote have
// all their columns in a member of its own.

#include <fmt/format.h>

#include <algorithm>

#include "foreign/format.h"
#include "foreign/own_columns.h"
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
  T4Format(const JsonValue& header, const ImportFacts& facts, const std::string& file)
      : facts_(facts), metadata_place_{file, "/metadata"} {
    const JsonValue* metadata = find(header, "metadata");
    const JsonValue* own = metadata == nullptr ? nullptr : find(*metadata, "tiletune");
    if (metadata != nullptr) timeunit_ = text_of(*metadata, "timeunit");
    if (own != nullptr) {
      read_own(*own);
    } else {
      shared_ = shared_row("T4", file, "", "", "", facts);
    }
  }

  std::string name() const override { return own_ ? "tiletune T4 export" : "T4 results"; }

  void read(const JsonValue& row, const Where& where, Trial& trial) override {
    const JsonValue* configuration = find(row, "configuration");
    if (configuration == nullptr || !configuration->IsObject()) {
      throw UserError("the row has no configuration", where.at("configuration"),
                      "Is this a file of T4 results?");
    }
    if (own_) {
      trial.parameters = to_json_text(*configuration);
      return read_own_row(row, where, trial);
    }
    read_configuration(*configuration, where.at("configuration"), trial);
    trial.recorded_at = utc_time(text_of(row, "timestamp"));
    read_result(row, where, trial);
  }

  bool own() const override { return own_; }
  std::vector<SweepRecord> sweeps() const override { return sweeps_; }
  std::vector<CalibrationRecord> calibrations() const override { return calibrations_; }
  std::vector<Trial> other_rows() override { return std::move(other_rows_); }

 private:
  void read_own(const JsonValue& own) {
    own_ = true;
    const auto each = [&](const char* name, const auto& visit) {
      const JsonValue* list = find(own, name);
      if (list == nullptr || !list->IsArray()) return;
      for (const JsonValue& element : list->GetArray()) visit(element);
    };
    each("sweeps", [&](const JsonValue& sweep) { sweeps_.push_back(read_sweep(sweep)); });
    each("calibrations", [&](const JsonValue& calibration) {
      const Where where = metadata_place_.at("tiletune").at("calibrations");
      calibrations_.push_back(read_calibration(calibration, where));
    });
    const Where other_rows = metadata_place_.at("tiletune").at("other_rows");
    each("other_rows", [&](const JsonValue& row) {
      const Where where = other_rows.at(other_rows_.size());
      if (!row.IsObject()) throw UserError("a row must be an object", where, "Correct or remove it.");
      read_own_columns(row, where, facts_, other_rows_.emplace_back());
    });
  }

  void read_own_row(const JsonValue& row, const Where& where, Trial& trial) const {
    const JsonValue* columns = find(row, "tiletune");
    if (columns == nullptr) {
      throw UserError("the row lacks tiletune's own columns", where.at("tiletune"),
                      "Export it again, or remove 'tiletune' from 'metadata' too.");
    }
    const JsonValue* times = find(row, "times");
    const JsonValue* samples = times == nullptr ? nullptr : find(*times, "runtimes");
    if (samples != nullptr) trial.samples_us = numbers_of(*samples, where.at("times").at("runtimes"));
    read_own_columns(*columns, where.at("tiletune"), facts_, trial);
  }

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
    if (trial.outcome != Outcome::ok) return;
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
  Where metadata_place_;
  std::string timeunit_;
  bool own_ = false;
  std::vector<SweepRecord> sweeps_;
  std::vector<CalibrationRecord> calibrations_;
  std::vector<Trial> other_rows_;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_t4_format(const JsonValue& header, const ImportFacts& facts,
                                              const std::string& file) {
  return std::make_unique<T4Format>(header, facts, file);
}

}  // namespace tiletune
