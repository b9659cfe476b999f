#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/export.h"
#include "rank/rows.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// What a T4 file leaves open, in words and as the option that chooses one.
struct Unsaid {
  const char* column;
  const char* plural;
  const char* option;
  std::set<std::string> values = {};
};

/// What is known before the rows are written.
struct T4Rows {
  std::array<Unsaid, 4> unsaid{Unsaid{"gpu", "GPUs", "--gpu"}, Unsaid{"problem", "problems", "--problem"},
                               Unsaid{"template", "templates", "--template"},
                               Unsaid{"source", "sources", "--source"}};
  std::set<std::string> superseded;  ///< keys of rows whose configuration has a later one

  /// Not baselines, twins, what a recording lacked, and what is out of date.
  bool is_result(const Trial& trial) const {
    return trial.kind == "kernel" && trial.outcome != Outcome::not_recorded &&
           !superseded.contains(trial.key);
  }
};

struct ResultRow : DatedRow {
  Identity configuration{};
};

/// Keys of all rows but the latest of each configuration.
std::set<std::string> superseded_of(std::vector<ResultRow> rows, const Database& database) {
  std::set<std::int64_t> outdated;
  for (const ResultRow& row : rows) outdated.insert(row.id);
  keep_latest(rows, [](const ResultRow& row) { return std::tie(row.configuration); });
  for (const ResultRow& row : rows) outdated.erase(row.id);
  std::set<std::string> keys;
  for (const std::int64_t id : outdated) keys.insert(database.row(id).key);
  return keys;
}

T4Rows rows_of_one_space(const Database& database, const TrialFilter& filter) {
  T4Rows rows;
  std::vector<ResultRow> results;
  const SweepOrder order(database);
  static constexpr std::array kColumns{
      "kind",    "outcome", "gpu",   "problem",       "template",      "source",     "operation",
      "options", "scalars", "cache", "element_types", "seen_in_sweep", "parameters", "recorded_at"};
  database.for_each(filter, kColumns, [&](std::int64_t id, const Trial& trial) {
    if (trial.kind != "kernel") return;
    results.push_back({DatedRow(id, trial, order), identity_of(conditions_of(trial), trial.parameters)});
    const std::array<std::string_view, 4> values{trial.gpu, trial.problem, trial.template_name,
                                                 name(trial.source)};
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!rows.unsaid[i].values.contains(std::string(values[i]))) rows.unsaid[i].values.emplace(values[i]);
  });
  rows.superseded = superseded_of(std::move(results), database);
  return rows;
}

void check_exportable(const T4Rows& rows, const Database& database) {
  const Where where{database.file().string(), ""};
  for (const Unsaid& unsaid : rows.unsaid) {
    if (unsaid.values.empty()) throw NothingToDo("no row of a kernel matches", where, "Loosen the filters.");
    if (unsaid.values.size() == 1) continue;
    const std::vector<std::string> values(unsaid.values.begin(), unsaid.values.end());
    throw UserError(
        fmt::format("rows of {} {} match, and T4 cannot distinguish them", values.size(), unsaid.plural),
        where, fmt::format("Choose one with {}.{}", unsaid.option, suggestion("", values)));
  }
  if (rows.unsaid.back().values.contains(std::string(name(Source::predicted)))) {
    throw UserError("T4 cannot mark predictions: they would appear as results", where,
                    "Choose others with --source measured, or export them as --format json.");
  }
}

const char* invalidity(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
    case Outcome::screened_out:
      return "correct";
    case Outcome::refused:
      return "constraints";
    case Outcome::compile_failed:
    case Outcome::compile_timeout:
    case Outcome::compile_crashed:
      return "compile";
    case Outcome::wrong_result:
    case Outcome::out_of_bounds:
    case Outcome::implausible:
      return "correctness";
    case Outcome::timeout:
      return "timeout";
    case Outcome::dispatched:
    case Outcome::launch_failed:
    case Outcome::unstable:
    case Outcome::crashed:
      return "runtime";
    case Outcome::not_recorded:  // no result: T4 has no word for it
      break;
  }
  return "";
}

Json t4_row(const Trial& trial) {
  auto columns = exported_row(trial, true);
  auto configuration = columns["parameters"];
  if (configuration.is_object()) {
    columns.erase("parameters");
  } else {
    configuration = Json::object();
  }
  columns.erase("samples_us");
  constexpr double kMicroseconds = 1e3;  // in a millisecond
  Json times = Json::object();
  if (trial.compile_ms) times["compilation_time"] = *trial.compile_ms * kMicroseconds;
  if (!trial.samples_us.empty()) times["runtimes"] = trial.samples_us;
  const std::optional<double> ranking_time = ranking_time_us(trial);
  // Other tools report a mean, which another import must find again.
  const bool is_mean = trial.source == Source::imported && trial.mean_us;
  const std::optional<double> time = is_mean ? trial.mean_us : ranking_time ? ranking_time : trial.median_us;
  Json measurement{
      {"name", "time"}, {"value", time ? Json(*time) : Json(name(trial.outcome))}, {"unit", "us"}};
  if (time) measurement["statistic"] = is_mean ? "mean" : "median";
  const std::string validity = invalidity(trial.outcome);
  return {{"timestamp", trial.recorded_at},
          {"configuration", std::move(configuration)},
          {"times", std::move(times)},
          {"invalidity", validity},
          {"correctness", validity == "correct" ? 1 : 0},
          {"measurements", Json::array({measurement})},
          {"objectives", {"time"}},
          {"tiletune", std::move(columns)}};
}

Json envelope(const T4Rows& rows) {
  Json own{{"version", kVersion}};
  for (const Unsaid& unsaid : rows.unsaid) own[unsaid.column] = *unsaid.values.begin();
  return {{"schema_version", "1.0.0"},
          {"metadata", {{"timeunit", "microseconds"}, {"tiletune", std::move(own)}}},
          {"results", Json::array()}};
}

}  // namespace

void write_t4(std::ostream& out, const Database& database, const ExportRequest& request) {
  const TrialFilter& filter = request.filter;
  const T4Rows rows = rows_of_one_space(database, filter);
  check_exportable(rows, database);
  JsonArrayStream results(out, envelope(rows), 1);
  TrialFilter kernels = filter;
  kernels.kinds = {"kernel"};
  database.for_each_with_sweeps(kernels, [&](const Trial& trial) {
    if (rows.is_result(trial)) results.add(t4_row(trial));
  });
  results.end();
  out << '\n';
}

}  // namespace tiletune
