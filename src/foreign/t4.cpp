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
std::optional<Branch> time_of(const Branch& row) {
  const auto measurements = row.find("measurements");
  if (!measurements || !measurements->is(Tree::Kind::list)) return std::nullopt;
  for (const Branch measurement : *measurements) {
    if (measurement.text_of("name") == "time") return measurement;
  }
  return std::nullopt;
}

/// Whether the row's `correctness` says so, whatever its `invalidity` says.
bool is_wrong(const Branch& row) {
  const auto correctness = row.find("correctness");
  if (!correctness) return false;
  if (correctness->is(Tree::Kind::boolean)) return !correctness->truth();
  return correctness->is_number() && correctness->number() == 0;
}

class T4Format : public ForeignFormat {
 public:
  T4Format(const Header& header, const ImportFacts& facts, const std::string& file)
      : facts_(facts), metadata_place_{file, "/metadata"} {
    const auto metadata = header.find("metadata");
    if (metadata) timeunit_ = metadata->text_of("timeunit");
    const auto own = metadata ? metadata->find("tiletune") : std::nullopt;
    if (own) {
      read_own(*own);
    } else {
      shared_ = shared_row("T4", file, "", "", "", facts);
    }
  }

  std::string name() const override { return own_ ? "tiletune T4 export" : "T4 results"; }

  void read(const Branch& row, const Where& where, Trial& trial) override {
    const auto configuration = row.find("configuration");
    if (!configuration || !configuration->is(Tree::Kind::object)) {
      throw UserError("the row has no configuration", where.at("configuration"),
                      "Is this a file of T4 results?");
    }
    if (own_) {
      trial.parameters = to_json_text(*configuration);
      return read_own_row(row, where, trial);
    }
    read_configuration(*configuration, where.at("configuration"), trial);
    trial.recorded_at = utc_time(row.text_of("timestamp"));
    read_result(row, where, trial);
  }

  bool own() const override { return own_; }
  std::vector<SweepRecord> sweeps() const override { return sweeps_; }
  std::vector<CalibrationRecord> calibrations() const override { return calibrations_; }
  std::vector<Trial> other_rows() override { return std::move(other_rows_); }

 private:
  void read_own(const Branch& own) {
    own_ = true;
    const auto each = [&](const char* name, const auto& visit) {
      const auto list = own.find(name);
      if (!list || !list->is(Tree::Kind::list)) return;
      for (const Branch element : *list) visit(element);
    };
    each("sweeps", [&](const Branch& sweep) { sweeps_.push_back(read_sweep(sweep)); });
    each("calibrations", [&](const Branch& calibration) {
      const Where where = metadata_place_.at("tiletune").at("calibrations");
      calibrations_.push_back(read_calibration(calibration, where));
    });
    const Where other_rows = metadata_place_.at("tiletune").at("other_rows");
    each("other_rows", [&](const Branch& row) {
      const Where where = other_rows.at(other_rows_.size());
      if (!row.is(Tree::Kind::object))
        throw UserError("a row must be an object", where, "Correct or remove it.");
      read_own_columns(row, where, facts_, other_rows_.emplace_back());
    });
  }

  void read_own_row(const Branch& row, const Where& where, Trial& trial) const {
    const auto columns = row.find("tiletune");
    if (!columns) {
      throw UserError("the row lacks tiletune's own columns", where.at("tiletune"),
                      "Export it again, or remove 'tiletune' from 'metadata' too.");
    }
    const auto times = row.find("times");
    const auto samples = times ? times->find("runtimes") : std::nullopt;
    if (samples) trial.samples_us = numbers_of(*samples, where.at("times").at("runtimes"));
    read_own_columns(*columns, where.at("tiletune"), facts_, trial);
  }

  static void read_configuration(const Branch& configuration, const Where& where, Trial& trial) {
    trial.parameters = "{";
    std::vector<std::string_view> names;
    for (const Branch value : configuration) {
      names.push_back(value.key());
      if (std::count(names.begin(), names.end(), value.key()) > 1) throw named_twice(value.key(), where);
      add_parameter(value.key(), value, where, trial.parameters);
    }
    trial.parameters += '}';
  }

  void read_result(const Branch& row, const Where& where, Trial& trial) const {
    const std::string_view invalidity = row.text_of("invalidity");
    if (!set_outcome(kT4Words, invalidity, trial)) {
      throw UserError(fmt::format("'{}' is not a known invalidity", invalidity), where.at("invalidity"),
                      known_words(kT4Words));
    }
    if (trial.outcome == Outcome::ok && is_wrong(row)) {
      trial.outcome = Outcome::wrong_result;
      trial.reason = "its results are wrong (correctness 0)";
    }
    const auto time = time_of(row);
    std::optional<Branch> value;
    if (time) value = time->find("value");
    // The tool's own word says more than T4's.
    if (trial.outcome != Outcome::ok && value && value->is(Tree::Kind::text))
      trial.reason = trial.reason.substr(0, trial.reason.rfind('(') + 1) + std::string(value->text()) + ")";
    const auto times = row.find("times");
    if (times) read_compile_time(*times, where, trial);
    if (trial.outcome != Outcome::ok) return;
    std::optional<double> mean_us;
    if (value && value->is_number()) mean_us = value->number() * unit(time->text_of("unit"), where);
    set_times(mean_us, times ? times->find("runtimes") : std::nullopt, unit("", where), where, trial);
  }

  void read_compile_time(const Branch& times, const Where& where, Trial& trial) const {
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

std::unique_ptr<ForeignFormat> make_t4_format(const Header& header, const ImportFacts& facts,
                                              const std::string& file) {
  return std::make_unique<T4Format>(header, facts, file);
}

}  // namespace tiletune
