#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/csv.h"
#include "output/display.h"
#include "output/export.h"
#include "output/group_table.h"
#include "output/rankings.h"
#include "output/varying_parameters.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The best kernel of a problem, and those that cannot be distinguished from it.
struct Winner {
  Trial trial;
  std::vector<RankedRow> tied;
};

/// Problems that were worked on under the same conditions, on the same GPU.
struct Winners {
  const RankingGroup* first;
  std::vector<Winner> of_problems;
};

std::vector<Winners> winners_of(const std::vector<RankingGroup>& groups, const Database& database) {
  std::vector<Winners> all;
  for (const RankingGroup& group : groups) {
    std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    auto place = std::find_if(all.begin(), all.end(), [&](const Winners& winners) {
      const RankingGroup& other = *winners.first;
      return other.gpu == group.gpu && other.source == group.source && other.conditions == group.conditions;
    });
    if (place == all.end()) place = all.insert(place, {&group, {}});
    Winner winner{database.row(leaders.front().id), {}};
    leaders.erase(leaders.begin());
    winner.tied = std::move(leaders);
    place->of_problems.push_back(std::move(winner));
  }
  return all;
}

/// Over the problems that have a baseline; how many these are is added up in `problems`.
std::optional<double> mean_percent_of_baseline(const Winners& winners, std::size_t& problems) {
  double sum = 0;
  for (const Winner& winner : winners.of_problems) {
    const auto& percent = winner.trial.percent_of_baseline;
    if (!percent || *percent <= 0) continue;
    sum += std::log(*percent);
    ++problems;
  }
  if (problems == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(problems));
}

std::size_t unverified_rows(const Winners& winners) {
  return static_cast<std::size_t>(
      std::count_if(winners.of_problems.begin(), winners.of_problems.end(),
                    [](const Winner& winner) { return is_unverified(winner.trial); }));
}

TextTable winners_table(const Winners& winners, const VaryingParameters& parameters) {
  Throughput throughput;
  for (const Winner& winner : winners.of_problems) throughput.add(winner.trial);
  const std::vector<std::string> columns{throughput.column(), "baseline", "baseline_us",
                                         "percent_of_baseline"};
  const bool any_unverified = unverified_rows(winners) > 0;
  TextTable table;
  for (const char* name : {"problem", "template", "parameters"}) table.add_column(name, Align::left);
  table.add_column(time_column(winners.first->source), Align::right);
  if (any_unverified) table.add_column("result", Align::left);
  for (const std::string& name : columns)
    table.add_column(name, name == "baseline" ? Align::left : Align::right, drop_order(name));
  for (const char* name : {"tied_with", "noise_floor_percent"})
    table.add_column(name, Align::right, drop_order(name));
  for (const Winner& winner : winners.of_problems) {
    const Trial& trial = winner.trial;
    std::vector<std::string> cells{printable(trial.problem), printable(trial.template_name),
                                   parameters.of(trial), three_digits(*ranking_time_us(trial))};
    if (any_unverified) cells.push_back(verified_text(trial));
    for (const std::string& name : columns) cells.push_back(human_cell(trial, name));
    cells.push_back(std::to_string(winner.tied.size()));
    cells.push_back(human_cell(trial, "noise_floor_percent"));
    table.add_row(std::move(cells));
  }
  table.hide_empty_columns();
  return table;
}

std::vector<std::string> lines_under(const Winners& winners, const VaryingParameters& parameters) {
  std::vector<std::string> lines = parameters.legend();
  for (std::string& line : unverified_lines(unverified_rows(winners))) lines.push_back(std::move(line));
  const bool tied = std::any_of(winners.of_problems.begin(), winners.of_problems.end(),
                                [](const Winner& winner) { return !winner.tied.empty(); });
  if (tied)
    lines.emplace_back(
        "tied_with: how many others cannot be distinguished from it; tiletune rank lists them");
  std::size_t with_baseline = 0;
  const auto mean = mean_percent_of_baseline(winners, with_baseline);
  if (!mean) return lines;
  std::string line = fmt::format("geometric mean over {} problem{}: {:.1f}% of the faster baseline",
                                 with_baseline, with_baseline == 1 ? "" : "s", *mean);
  const std::size_t without = winners.of_problems.size() - with_baseline;
  if (without > 0) line += fmt::format("; {} more had none to compare with", without);
  lines.push_back(std::move(line));
  return lines;
}

void write_tables(std::ostream& out, const std::vector<Winners>& all, bool markdown, const TextStyle& style) {
  if (all.empty()) out << "No row that ran can be ranked.\n";
  std::vector<VaryingParameters> parameters;
  std::vector<TextTable> tables;
  std::vector<std::string> left_out;
  for (const Winners& winners : all) {
    parameters.emplace_back(VaryingParameters::AllAlike::in_rows);
    for (const Winner& winner : winners.of_problems) parameters.back().add(winner.trial);
    tables.push_back(winners_table(winners, parameters.back()));
    for (std::string& header : tables.back().left_out(style.width)) left_out.push_back(std::move(header));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out << '\n';
    const RankingGroup& group = *all[i].first;
    tables[i].leave_out(left_out);
    write_section(out, heading("best of each problem", group.gpu, group.source, group.conditions),
                  source_banner(group.source, group.gpu), tables[i], markdown, style);
    write_lines(out, lines_under(all[i], parameters[i]), markdown, style.width);
  }
}

Json json_of_verified(const Trial& trial) {
  const auto verified = verified_of(trial);
  return verified ? Json(*verified) : Json();
}

Json tied_json(const std::vector<RankedRow>& tied, const Database& database) {
  Json list = Json::array();
  for (const RankedRow& row : tied) {
    const Json all = to_json(database.row(row.id));
    Json one = Json::object();
    for (const char* name :
         {"template", "parameters", "median_us", "ci_low_us", "ci_high_us", "predicted_us"})
      one[name] = all.at(name);
    list.push_back(std::move(one));
  }
  return list;
}

void write_json(std::ostream& out, const std::vector<Winners>& all, const Database& database) {
  Json document{{"tiletune", kVersion}, {"winners", Json::array()}};
  for (const Winners& winners : all) {
    const RankingGroup& group = *winners.first;
    std::size_t with_baseline = 0;
    const auto mean = mean_percent_of_baseline(winners, with_baseline);
    Json entry{{"gpu", group.gpu}, {"source", name(group.source)}, {"conditions", group.conditions}};
    entry["geometric_mean_percent_of_baseline"] = mean ? Json(*mean) : Json();
    entry["problems_with_baseline"] = with_baseline;
    entry["best"] = Json::array();
    for (const Winner& winner : winners.of_problems) {
      Json best = to_json(winner.trial);
      best["verified"] = json_of_verified(winner.trial);
      best["tied_with"] = tied_json(winner.tied, database);
      entry["best"].push_back(std::move(best));
    }
    document["winners"].push_back(std::move(entry));
  }
  out << json_text(document, 2) << '\n';
}

void write_csv(std::ostream& out, const std::vector<Winners>& all) {
  const auto leading = comparable_columns();
  std::vector<std::string> names(leading.begin(), leading.end());
  names.insert(names.end(),
               {"template", "parameters", "median_us", "ci_low_us", "ci_high_us", "predicted_us", "tflops",
                "gbs", "baseline", "baseline_us", "percent_of_baseline", "noise_floor_percent"});
  std::vector<std::string> record = names;
  record.insert(record.end(), {"tied_with", "verified"});
  write_csv_record(out, record);
  const Field verified_field = field_by_name("verified");
  for (const Winners& winners : all) {
    for (const Winner& winner : winners.of_problems) {
      record.clear();
      for (const std::string& name : names)
        record.push_back(exact_text(column_by_name(name).read(winner.trial)));
      record.push_back(std::to_string(winner.tied.size()));
      record.push_back(exact_text(verified_field.read({winner.trial, 0, false})));
      write_csv_record(out, record);
    }
  }
}

}  // namespace

void write_winners(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                   Format format, const TextStyle& style) {
  const std::vector<Winners> all = winners_of(groups, database);
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_tables(out, all, format == Format::markdown, style);
    case Format::json:
      return write_json(out, all, database);
    case Format::csv:
      return write_csv(out, all);
  }
}

}  // namespace tiletune
