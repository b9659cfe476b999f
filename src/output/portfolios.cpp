#include "output/portfolios.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/json_text.h"
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

/// What a portfolio chooses for a problem.
struct Choice {
  std::optional<std::size_t> kernel;  ///< place in the portfolio
  double regret = INFINITY;           ///< not a number where it was not measured
};

Choice choice_for(const RecordedPortfolio& recorded, std::size_t problem) {
  const Portfolio& portfolio = recorded.portfolio;
  const auto kernel =
      portfolio.tree.choice(recorded.group.table.problems[problem].sizes, portfolio.regrets, problem);
  return kernel ? Choice{kernel, portfolio.regrets[*kernel][problem]} : Choice{};
}

std::vector<double> chosen_regrets(const RecordedPortfolio& recorded) {
  std::vector<double> regrets;
  for (std::size_t i = 0; i < recorded.group.table.problems.size(); ++i)
    regrets.push_back(choice_for(recorded, i).regret);
  return regrets;
}

std::vector<Trial> kernels_of(const RecordedPortfolio& recorded, const Database& database) {
  std::vector<Trial> kernels;
  for (const std::size_t kernel : recorded.portfolio.kernels)
    kernels.push_back(database.row(recorded.group.table.kernels[kernel].row));
  return kernels;
}

std::string feature_text(const DecisionTree::Feature& feature, const std::vector<std::string>& dimensions) {
  const std::string& first = dimensions[feature.first];
  return feature.second ? first + " * " + dimensions[*feature.second] : first;
}

void add_tree_lines(const RecordedPortfolio& recorded, std::size_t place, std::size_t indent,
                    std::vector<std::string>& lines) {
  const DecisionTree::Node& node = recorded.portfolio.tree.nodes()[place];
  const std::string spaces(indent, ' ');
  if (node.below == 0) {
    std::vector<std::string> numbers;
    for (const std::size_t kernel : node.order) numbers.push_back(std::to_string(kernel + 1));
    lines.push_back(spaces + "kernel " + join(numbers, ", else "));
    return;
  }
  const std::string feature = printable(feature_text(node.feature, recorded.group.table.dimensions));
  lines.push_back(fmt::format("{}{} <= {:.0f}:", spaces, feature, node.limit));
  add_tree_lines(recorded, node.below, indent + 2, lines);
  lines.push_back(fmt::format("{}{} > {:.0f}:", spaces, feature, node.limit));
  add_tree_lines(recorded, node.above, indent + 2, lines);
}

TextTable curve_table(const RecordedPortfolio& recorded) {
  TextTable table;
  for (const char* name : {"kernels", "median_regret_percent", "p90_regret_percent", "max_regret_percent",
                           "mean_regret_percent", "problems_without"})
    table.add_column(name, Align::right);
  for (const auto& set : recorded.portfolio.sets) {
    const std::vector<double> regrets = best_regrets(recorded.group.table, set);
    const RegretSummary summary = summarise_regrets(regrets);
    const auto without =
        std::count_if(regrets.begin(), regrets.end(), [](double r) { return std::isinf(r); });
    table.add_row({std::to_string(set.size()), regret_text(summary.median),
                   regret_text(summary.percentile_90), regret_text(summary.maximum),
                   regret_text(summary.mean), without == 0 ? "-" : std::to_string(without)});
  }
  table.hide_empty_columns();
  return table;
}

TextTable kernels_table(const RecordedPortfolio& recorded, const std::vector<Trial>& kernels) {
  std::vector<std::optional<std::size_t>> choices;
  for (std::size_t i = 0; i < recorded.group.table.problems.size(); ++i)
    choices.push_back(choice_for(recorded, i).kernel);
  return chosen_kernels_table(kernels, choices);
}

TextTable problems_table(const RecordedPortfolio& recorded) {
  const PortfolioTable& problems = recorded.group.table;
  const std::vector<double>& validated = recorded.portfolio.validation.regrets;
  TextTable table;
  table.add_column("problem", Align::left);
  for (const char* name : {"best_us", "kernel", "regret_percent", "regret_percent_untuned"})
    table.add_column(name, Align::right);
  for (std::size_t i = 0; i < problems.problems.size(); ++i) {
    const Choice choice = choice_for(recorded, i);
    table.add_row({printable(problems.problems[i].label), three_digits(problems.problems[i].best_us),
                   choice.kernel ? std::to_string(*choice.kernel + 1) : "-", regret_text(choice.regret),
                   validated.empty() ? "-" : regret_text(validated[i])});
  }
  table.hide_empty_columns();
  return table;
}

std::string summary_text(const RegretSummary& summary) {
  const auto value = [](double regret) {
    return std::isfinite(regret) ? regret_text(regret) + "%" : "no kernel runs";
  };
  std::string text = fmt::format("regret: median {}, 90th percentile {}, maximum {}", value(summary.median),
                                 value(summary.percentile_90), value(summary.maximum));
  if (summary.unmeasured > 0)
    text += fmt::format("; {} whose choice was not measured", counted(summary.unmeasured, "problem"));
  return text;
}

std::string validation_text(const CrossValidation& validation) {
  if (validation.folds == 0) return "problems that were not tuned: not estimated, it takes two problems";
  const bool one_out = validation.folds == validation.regrets.size();
  return fmt::format("problems that were not tuned ({}): {}",
                     one_out ? "cross-validation, leaving one out"
                             : fmt::format("cross-validation with {} folds", validation.folds),
                     summary_text(summarise_regrets(validation.regrets)));
}

std::vector<std::string> gap_lines(const RecordedPortfolio& recorded) {
  std::vector<std::string> lines;
  std::vector<std::vector<std::string>> by_kernel(recorded.portfolio.kernels.size());
  for (const PortfolioGap& gap : gaps_of(recorded.portfolio))
    by_kernel[gap.kernel].push_back(printable(recorded.group.table.problems[gap.problem].label));
  for (std::size_t i = 0; i < by_kernel.size(); ++i) {
    if (by_kernel[i].empty()) continue;
    lines.push_back(fmt::format("kernel {} was not measured on {}", i + 1, first_of(by_kernel[i])));
  }
  return lines;
}

void write_tables(std::ostream& out, const std::vector<RecordedPortfolio>& portfolios,
                  const Database& database, bool markdown, const TextStyle& style) {
  bool first = true;
  for (const RecordedPortfolio& recorded : portfolios) {
    if (!std::exchange(first, false)) out << '\n';
    const Comparable& what = recorded.group.what;
    const auto title = [&](const std::string& text) {
      return heading(text, what.gpu, what.source, what.conditions);
    };
    const std::size_t problems = recorded.group.table.problems.size();
    write_section(out, title(fmt::format("kernels for {}", counted(problems, "problem"))),
                  source_banner(what.source, what.gpu), curve_table(recorded), markdown, style);
    out << '\n';
    write_table(out, kernels_table(recorded, kernels_of(recorded, database)), markdown, style);
    out << '\n';
    std::vector<std::string> tree{"decision tree:"};
    add_tree_lines(recorded, 0, 2, tree);
    if (markdown) tree.insert(tree.begin(), "```");
    if (markdown) tree.emplace_back("```");
    for (const std::string& line : tree) out << line << '\n';
    out << '\n';
    write_table(out, problems_table(recorded), markdown, style);
    std::vector<std::string> lines{"with the decision tree, " +
                                   summary_text(summarise_regrets(chosen_regrets(recorded)))};
    lines.push_back(validation_text(recorded.portfolio.validation));
    for (std::string& line : gap_lines(recorded)) lines.push_back(std::move(line));
    write_lines(out, lines, markdown, style.width);
  }
}

Json summary_json(const std::vector<double>& regrets) {
  const RegretSummary summary = summarise_regrets(regrets);
  return {{"median_regret_percent", regret_json(summary.median)},
          {"p90_regret_percent", regret_json(summary.percentile_90)},
          {"max_regret_percent", regret_json(summary.maximum)},
          {"mean_regret_percent", regret_json(summary.mean)},
          {"problems", summary.problems},
          {"unmeasured", summary.unmeasured}};
}

Json json_of(const RecordedPortfolio& recorded, const Database& database) {
  const PortfolioTable& table = recorded.group.table;
  std::vector<std::size_t> places(recorded.portfolio.kernels.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  Json json = to_json(recorded, places);
  json["kernels"] = Json::array();
  for (const Trial& trial : kernels_of(recorded, database))
    json["kernels"].push_back({{"template", trial.template_name},
                               {"parameters", parsed_cell(trial.parameters)},
                               {"kernel_expression", trial.kernel_expression},
                               {"size_conditions", parsed_cell(trial.size_conditions)},
                               {"unmeasured", Json::array()}});
  for (const PortfolioGap& gap : gaps_of(recorded.portfolio))
    json["kernels"][gap.kernel]["unmeasured"].push_back(table.problems[gap.problem].label);
  json["curve"] = Json::array();
  for (const auto& set : recorded.portfolio.sets) {
    Json point{{"kernels", set.size()}};
    point.update(summary_json(best_regrets(table, set)));
    json["curve"].push_back(std::move(point));
  }
  json["tuned"] = summary_json(chosen_regrets(recorded));
  const CrossValidation& validation = recorded.portfolio.validation;
  json["untuned"] = validation.folds == 0 ? Json() : summary_json(validation.regrets);
  if (validation.folds > 0) json["untuned"]["folds"] = validation.folds;
  json["problems"] = Json::array();
  for (std::size_t i = 0; i < table.problems.size(); ++i) {
    const Choice choice = choice_for(recorded, i);
    json["problems"].push_back(
        {{"problem", table.problems[i].label},
         {"best_us", table.problems[i].best_us},
         {"kernel", choice.kernel ? Json(*choice.kernel) : Json()},
         {"regret_percent", regret_json(choice.regret)},
         {"regret_percent_untuned", validation.folds == 0 ? Json() : regret_json(validation.regrets[i])}});
  }
  return json;
}

void write_json(std::ostream& out, const std::vector<RecordedPortfolio>& portfolios,
                const Database& database) {
  Json document{{"tiletune", kVersion}, {"portfolios", Json::array()}};
  for (const RecordedPortfolio& recorded : portfolios)
    document["portfolios"].push_back(json_of(recorded, database));
  out << json_text(document, 2) << '\n';
}

void write_csv(std::ostream& out, const std::vector<RecordedPortfolio>& portfolios,
               const Database& database) {
  write_csv_record(out, {"gpu", "source", "conditions", "problem", "best_us", "kernel", "template",
                         "parameters", "regret_percent", "regret_percent_untuned"});
  const auto exact = [](double regret) {
    return std::isfinite(regret) ? fmt::format("{}", 100 * regret) : std::string();
  };
  for (const RecordedPortfolio& recorded : portfolios) {
    const Comparable& what = recorded.group.what;
    const std::vector<Trial> kernels = kernels_of(recorded, database);
    const std::vector<double>& validated = recorded.portfolio.validation.regrets;
    for (std::size_t i = 0; i < recorded.group.table.problems.size(); ++i) {
      const PortfolioProblem& problem = recorded.group.table.problems[i];
      const Choice choice = choice_for(recorded, i);
      const Trial* kernel = choice.kernel ? &kernels[*choice.kernel] : nullptr;
      write_csv_record(
          out, {what.gpu, std::string(name(what.source)), what.conditions, problem.label,
                fmt::format("{}", problem.best_us), kernel != nullptr ? std::to_string(*choice.kernel) : "",
                kernel != nullptr ? kernel->template_name : "", kernel != nullptr ? kernel->parameters : "",
                exact(choice.regret), validated.empty() ? "" : exact(validated[i])});
    }
  }
}

}  // namespace

void write_portfolios(std::ostream& out, const std::vector<RecordedPortfolio>& portfolios,
                      const Database& database, Format format, const TextStyle& style) {
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_tables(out, portfolios, database, format == Format::markdown, style);
    case Format::json:
      return write_json(out, portfolios, database);
    case Format::csv:
      return write_csv(out, portfolios, database);
  }
}

}  // namespace tiletune
