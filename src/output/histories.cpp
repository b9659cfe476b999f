#include "output/histories.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/csv.h"
#include "output/display.h"
#include "output/rankings.h"
#include "output/table.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

double percent_of_best(const History& history, const HistoryStep& step) {
  constexpr double kPercent = 100;
  return kPercent * history.steps.back().best_us / step.best_us;
}

std::string seconds_text(double seconds) { return fmt::format("{:.1f}", seconds); }

void write_history(std::ostream& out, const History& history, const Database& database, bool markdown,
                   const TextStyle& style) {
  TextTable table;
  for (const char* name : {"evaluation", "cost_s", "best_us", "percent_of_best"})
    table.add_column(name, Align::right);
  table.add_column("template", Align::left);
  table.add_column("parameters", Align::left);
  for (const HistoryStep& step : history.steps) {
    const Trial trial = database.row(step.id);
    table.add_row({std::to_string(step.evaluation), seconds_text(step.cost_s), three_digits(step.best_us),
                   fmt::format("{:.1f}", percent_of_best(history, step)), printable(trial.template_name),
                   parameters_text(trial)});
  }
  write_section(out, heading(history.problem, history.gpu, history.source, history.conditions),
                source_banner(history.source, history.gpu), table, markdown, style);
  std::string line = fmt::format("{}, {} s of compiling and measuring",
                                 counted(history.evaluations, "evaluation"), seconds_text(history.cost_s));
  if (history.without_cost > 0)
    line += fmt::format("; {} without a recorded cost", counted(history.without_cost, "row"));
  write_lines(out, {line}, markdown, style.width);
}

Json json_of(const Comparable& what) {
  return {{"gpu", what.gpu},
          {"problem", what.problem},
          {"source", name(what.source)},
          {"conditions", what.conditions}};
}

Json json_of(const History& history, const Database& database) {
  Json json = json_of(static_cast<const Comparable&>(history));
  json["evaluations"] = history.evaluations;
  json["evaluations_without_cost"] = history.without_cost;
  json["cost_s"] = history.cost_s;
  json["steps"] = Json::array();
  for (const HistoryStep& step : history.steps) {
    const Trial trial = database.row(step.id);
    json["steps"].push_back({{"evaluation", step.evaluation},
                             {"cost_s", step.cost_s},
                             {"best_us", step.best_us},
                             {"percent_of_best", percent_of_best(history, step)},
                             {"template", trial.template_name},
                             {"parameters", parsed_cell(trial.parameters)}});
  }
  return json;
}

void write_history_csv(std::ostream& out, const std::vector<History>& histories, const Database& database) {
  write_csv_record(out, {"gpu", "problem", "source", "conditions", "evaluation", "cost_s", "best_us",
                         "percent_of_best", "template", "parameters"});
  for (const History& history : histories) {
    for (const HistoryStep& step : history.steps) {
      const Trial trial = database.row(step.id);
      write_csv_record(
          out,
          {history.gpu, history.problem, std::string(name(history.source)), history.conditions,
           std::to_string(step.evaluation), fmt::format("{}", step.cost_s), fmt::format("{}", step.best_us),
           fmt::format("{}", percent_of_best(history, step)), trial.template_name, trial.parameters});
    }
  }
}

std::string template_text(const std::string& name) { return name.empty() ? "(all)" : printable(name); }

TextTable importance_table(const std::map<std::string, Importance>& by_template) {
  TextTable table;
  table.add_column("template", Align::left);
  table.add_column("parameter", Align::left);
  table.add_column("share_percent", Align::right);
  table.add_column("values", Align::right);
  table.add_column("best", Align::left);
  table.add_column("worst_to_best", Align::right);
  constexpr double kPercent = 100;
  for (const auto& [name, importance] : by_template) {
    for (const ParameterImportance& share : importance.shares())
      table.add_row({template_text(name), printable(share.name),
                     fmt::format("{:.1f}", kPercent * share.share), std::to_string(share.values),
                     printable(share.best), three_digits(share.worst_to_best)});
  }
  return table;
}

Json json_of(const std::map<std::string, Importance>& by_template) {
  Json list = Json::array();
  for (const auto& [name, importance] : by_template) {
    Json parameters = Json::array();
    for (const ParameterImportance& share : importance.shares())
      parameters.push_back({{"parameter", share.name},
                            {"share", share.share},
                            {"values", share.values},
                            {"best", share.best},
                            {"worst_to_best", share.worst_to_best}});
    if (!parameters.empty())
      list.push_back(
          {{"template", name}, {"rows", importance.rows()}, {"parameters", std::move(parameters)}});
  }
  return list;
}

void write_importance_csv(std::ostream& out, const ImportanceOfProblems& importance) {
  write_csv_record(out, {"gpu", "problem", "source", "conditions", "template", "parameter", "share", "values",
                         "best", "worst_to_best"});
  for (const auto& [what, by_template] : importance) {
    for (const auto& [name, one] : by_template) {
      for (const ParameterImportance& share : one.shares())
        write_csv_record(
            out, {what.gpu, what.problem, std::string(tiletune::name(what.source)), what.conditions, name,
                  share.name, fmt::format("{}", share.share), std::to_string(share.values), share.best,
                  fmt::format("{}", share.worst_to_best)});
    }
  }
}

bool says_something(const std::map<std::string, Importance>& by_template) {
  return std::any_of(by_template.begin(), by_template.end(),
                     [](const auto& one) { return !one.second.shares().empty(); });
}

}  // namespace

void write_histories(std::ostream& out, const std::vector<History>& histories, const Database& database,
                     Format format, const TextStyle& style) {
  if (format == Format::csv) return write_history_csv(out, histories, database);
  if (format == Format::json) {
    Json document{{"tiletune", kVersion}, {"histories", Json::array()}};
    for (const History& history : histories) document["histories"].push_back(json_of(history, database));
    out << json_text(document, 2) << '\n';
    return;
  }
  bool first = true;
  for (const History& history : histories) {
    if (!std::exchange(first, false)) out << '\n';
    write_history(out, history, database, format == Format::markdown, style);
  }
}

void write_importance(std::ostream& out, const ImportanceOfProblems& importance, Format format,
                      const TextStyle& style) {
  const bool any = std::any_of(importance.begin(), importance.end(),
                               [](const auto& one) { return says_something(one.second); });
  if (!any)
    throw NothingToDo("no parameter can be compared",
                      "It takes several configurations with different times.");
  if (format == Format::csv) return write_importance_csv(out, importance);
  if (format == Format::json) {
    Json document{{"tiletune", kVersion}, {"importance", Json::array()}};
    for (const auto& [what, by_template] : importance) {
      Json one = json_of(what);
      one["templates"] = json_of(by_template);
      document["importance"].push_back(std::move(one));
    }
    out << json_text(document, 2) << '\n';
    return;
  }
  bool first = true;
  for (const auto& [what, by_template] : importance) {
    if (!says_something(by_template)) continue;
    if (!std::exchange(first, false)) out << '\n';
    write_section(out, heading(what.problem, what.gpu, what.source, what.conditions),
                  source_banner(what.source, what.gpu), importance_table(by_template),
                  format == Format::markdown, style);
  }
}

}  // namespace tiletune
