#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/outcome.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/portfolio.h"
#include "output/size_check.h"
#include "output/views.h"
#include "rank/portfolio.h"
#include "spec/reader.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRemedy = "Write it with 'tiletune export --best --portfolio N -o best.json'.";
/// Bounds the terms of a kernel's time in a file that somebody else made.
constexpr std::size_t kMostTerms = 1000;

JsonNode member(const JsonNode& node, const std::string& key, const std::string& expected) {
  const Json& json = node.json;
  if (!json.is_object()) refuse_kind(node, "an object", kRemedy);
  const auto found = json.find(key);
  if (found == json.end())
    throw UserError(fmt::format("'{}' is missing, expected {}", key, expected), node.where, kRemedy);
  return {*found, node.where.at(key)};
}

/// Empty for null.
std::string text_of(const JsonNode& node, const std::string& key) {
  const JsonNode value = member(node, key, "a string");
  const Json& json = value.json;
  if (json.is_null()) return {};
  if (!json.is_string()) refuse_kind(value, "a string", kRemedy);
  return json.get<std::string>();
}

std::string json_text_of(const JsonNode& node, const std::string& key) {
  const Json& json = member(node, key, "a value").json;
  return json.is_null() ? std::string() : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Trial kernel_of(const JsonNode& entry) {
  Trial kernel;
  for (const char* name : {"template", "parameters", "kernel_expression", "compile_options",
                           "size_conditions", "waves", "element_types", "options", "scalars"}) {
    const Column& column = column_by_name(name);
    column.write(kernel, column.type == CellType::json ? json_text_of(entry, name) : text_of(entry, name));
  }
  return kernel;
}

TimeModel model_of(const JsonNode& list, const std::vector<std::string>& dimensions) {
  constexpr std::int64_t kMostLaunches = 64;
  std::vector<TimeModel::Term> terms;
  if (list.json.get().is_null()) return {};
  for (const JsonNode& node : read_list(list, "terms", Empty::refused, kMostTerms)) {
    TimeModel::Term& term = terms.emplace_back();
    term.us = read_number(member(node, "us", "a time"), {.min = 0});
    if (node.json.get().contains("launch"))
      term.launch =
          static_cast<std::size_t>(read_integer(member(node, "launch", "its place"), 0, kMostLaunches));
    if (!node.json.get().contains("sizes")) continue;
    for (const JsonNode& size :
         read_list(member(node, "sizes", "names of dimensions"), "names of dimensions"))
      term.sizes.push_back(read_choice(size, dimensions));
  }
  return TimeModel(std::move(terms));
}

ExportedPortfolio portfolio_of(const JsonNode& node, const std::vector<JsonNode>& best) {
  ExportedPortfolio portfolio;
  portfolio.gpu = text_of(node, "gpu");
  portfolio.source = read_enum<Source>(member(node, "source", "where the times come from"));
  portfolio.conditions = text_of(node, "conditions");
  portfolio.dimensions = read_strings(member(node, "dimensions", "names of dimensions"), "names");
  std::vector<std::size_t> entries;
  const JsonNode list = member(node, "kernels", "places in 'best'");
  for (const JsonNode& place : read_list(list, "kernels", Empty::refused, kLargestPortfolio)) {
    const auto last = static_cast<std::int64_t>(best.size()) - 1;
    entries.push_back(static_cast<std::size_t>(read_integer(place, 0, last)));
    portfolio.kernels.push_back(kernel_of(best[entries.back()]));
  }
  const JsonNode times = member(node, "times", "the terms of each kernel's time");
  for (const JsonNode& terms : read_list(times, "lists of terms", Empty::refused, kLargestPortfolio))
    portfolio.models.push_back(model_of(terms, portfolio.dimensions));
  if (portfolio.models.size() != entries.size())
    throw UserError(fmt::format("found {} for {}", counted(portfolio.models.size(), "list"),
                                counted(entries.size(), "kernel")),
                    times.where, kRemedy);
  for (const JsonNode& tuned : read_list(member(node, "fastest", "the fastest kernel of each problem"),
                                         "problems", Empty::allowed, kMostEntries)) {
    const JsonNode place = member(tuned, "kernel", "a place in 'best'");
    const auto entry =
        std::find(entries.begin(), entries.end(), static_cast<std::size_t>(read_integer(place)));
    if (entry == entries.end())
      throw UserError(fmt::format("{} is not among the kernels of the portfolio", read_integer(place)),
                      place.where, kRemedy);
    const JsonNode list_of_sizes = member(tuned, "sizes", "a size per dimension");
    std::vector<std::int64_t> sizes;
    for (const JsonNode& size : read_list(list_of_sizes, "sizes")) sizes.push_back(read_integer(size, 1));
    if (sizes.size() != portfolio.dimensions.size())
      throw UserError(
          fmt::format("found {}, expected {}", counted(sizes.size(), "size"), portfolio.dimensions.size()),
          list_of_sizes.where, kRemedy);
    portfolio.tuned.emplace(sizes, entry - entries.begin());
  }
  return portfolio;
}

/// What is compiled, whatever the GPU: every recorded list names its architecture.
std::string compiled_as(const Trial& kernel) {
  std::string text = kernel.kernel_expression;
  const Json options = Json::parse(kernel.compile_options, nullptr, false);
  if (!options.is_array()) return text + '\n' + kernel.compile_options;
  for (const Json& option : options) {
    const std::string written = option.is_string() ? option.get<std::string>() : option.dump();
    if (!written.starts_with("--gpu-architecture=")) text += '\n' + written;
  }
  return text;
}

/// The regret of a kernel on each problem: infinite where it failed, not a number without a row.
struct KernelResults {
  std::vector<double> regrets;
  std::vector<std::int64_t> failures;  ///< ids; 0: none
};

KernelResults results_of(const Trial& kernel, const PortfolioTable& table, const Database& database) {
  KernelResults results{std::vector<double>(table.problems.size(), std::numeric_limits<double>::quiet_NaN()),
                        std::vector<std::int64_t>(table.problems.size(), 0)};
  const Identity identity = identity_of(kernel.template_name, kernel.parameters);
  const std::string compiled = compiled_as(kernel);
  for (const PortfolioKernel& other : table.kernels) {
    if (other.identity != identity || compiled_as(database.row(other.row)) != compiled) continue;
    for (const PortfolioCell& cell : other.cells)
      results.regrets[cell.problem] = std::fmin(results.regrets[cell.problem], cell.regret);
    for (const PortfolioFailure& failure : other.failures) results.failures[failure.problem] = failure.row;
  }
  return results;
}

AppliedPortfolio applied(const ExportedPortfolio& portfolio, const PortfolioGroup& group,
                         const Database& database) {
  AppliedPortfolio all{group.what, portfolio, {}};
  std::vector<KernelResults> results;
  for (const Trial& kernel : portfolio.kernels) results.push_back(results_of(kernel, group.table, database));
  for (const PortfolioProblem& problem : group.table.problems)
    all.problems.push_back({problem.label, problem.best_us});
  for (const PortfolioKernel& kernel : group.table.kernels)
    for (const PortfolioCell& cell : kernel.cells) ++all.problems[cell.problem].configurations;
  for (std::size_t i = 0; i < all.problems.size(); ++i) {
    AppliedProblem& judged = all.problems[i];
    for (const KernelResults& of : results)
      judged.least_regret = std::fmin(judged.least_regret, of.regrets[i]);
    judged.kernel = portfolio.choice(group.table.problems[i].sizes);
    if (!judged.kernel) continue;
    judged.regret = results[*judged.kernel].regrets[i];
    const std::int64_t failure = results[*judged.kernel].failures[i];
    if (std::isnan(judged.regret) && failure != 0) judged.outcome = name(database.row(failure).outcome);
  }
  return all;
}

/// Prefers one of the same GPU and source.
const ExportedPortfolio* portfolio_for(const std::vector<ExportedPortfolio>& portfolios,
                                       const PortfolioGroup& group) {
  const ExportedPortfolio* best = nullptr;
  const auto likeness = [&](const ExportedPortfolio& one) {
    return std::pair(one.gpu == group.what.gpu, one.source == group.what.source);
  };
  for (const ExportedPortfolio& one : portfolios) {
    if (one.conditions != group.what.conditions || one.dimensions != group.table.dimensions) continue;
    if (best == nullptr || likeness(one) > likeness(*best)) best = &one;
  }
  return best;
}

}  // namespace

std::optional<std::size_t> ExportedPortfolio::choice(const std::vector<std::int64_t>& sizes) const {
  const auto allowed = [&](std::size_t kernel) {
    return satisfy(sizes, kernels[kernel].size_conditions, dimensions);
  };
  const auto recorded = tuned.find(sizes);
  if (recorded != tuned.end() && allowed(recorded->second) != false) return recorded->second;
  FastestKernel fastest;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (allowed(i) == true)
      fastest.consider(i, models[i].time_us(sizes, waves_at(sizes, kernels[i].waves, dimensions)));
  }
  return fastest.kernel();
}

std::string AppliedProblem::result() const {
  if (!kernel) return "no_kernel";
  if (!std::isnan(regret)) return "measured";
  return outcome.empty() ? "not_measured" : outcome;
}

std::vector<ExportedPortfolio> read_exported_portfolios(const std::filesystem::path& file) {
  const std::string name = file.string();
  const Json document = parse_json(read_file(file, kLargestJson), name);
  const JsonNode root{document, Where{name, ""}};
  if (!document.is_object() || !document.contains("tiletune_best"))
    throw UserError("not a file that 'tiletune export --best' writes", root.where, kRemedy);
  if (!document.contains("portfolios"))
    throw UserError("holds the best of each problem, and no portfolio", root.where, kRemedy);
  const std::vector<JsonNode> best =
      read_list(member(root, "best", "a list of kernels"), "kernels", Empty::refused, kMostEntries);
  std::vector<ExportedPortfolio> portfolios;
  for (const JsonNode& node : read_list(member(root, "portfolios", "a list of portfolios"), "portfolios",
                                        Empty::refused, kMostEntries))
    portfolios.push_back(portfolio_of(node, best));
  return portfolios;
}

std::vector<AppliedPortfolio> apply_portfolios(const std::vector<ExportedPortfolio>& portfolios,
                                               const std::filesystem::path& file, const Database& database,
                                               const TrialFilter& filter, std::vector<Comparable>& without) {
  const std::vector<PortfolioGroup> groups = portfolio_groups(database, filter, FailedKernels::kept);
  if (groups.empty())
    throw NothingToDo("no row that ran matches", Where{database.file().string(), ""},
                      "Loosen the filters, or run 'tiletune sweep' first.");
  std::vector<AppliedPortfolio> all;
  std::set<std::string> found;
  for (const PortfolioGroup& group : groups) {
    found.insert(group.what.conditions);
    if (const ExportedPortfolio* portfolio = portfolio_for(portfolios, group))
      all.push_back(applied(*portfolio, group, database));
    else
      without.push_back(group.what);
  }
  if (!all.empty()) return all;
  std::set<std::string> known;
  for (const ExportedPortfolio& portfolio : portfolios) known.insert(portfolio.conditions);
  const auto listed = [](const std::set<std::string>& texts) {
    std::vector<std::string> quoted;
    for (const std::string& text : texts) quoted.push_back("'" + text + "'");
    return first_of(quoted);
  };
  throw UserError(
      fmt::format("has portfolios for {}; {} has {}", listed(known), database.file().filename().string(),
                  listed(found)),
      Where{file.string(), ""},
      "Operation, options, types, scalars and cache must be the same: export a portfolio of them.");
}

namespace {

/// Sums up the chosen kernels, or the best of the kernels. Problems that were not judged count as unmeasured.
RegretSummary summary_of(const AppliedPortfolio& applied, double AppliedProblem::*regret) {
  std::vector<double> regrets;
  for (const AppliedProblem& problem : applied.problems) regrets.push_back(problem.*regret);
  RegretSummary summary = summarise_regrets(regrets);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (summary.problems == 0) summary = {0, summary.unmeasured, kNone, kNone, kNone, kNone};
  return summary;
}

std::string quantiles_text(const RegretSummary& summary) {
  if (summary.problems == 0) return "none";
  return fmt::format("median {}%, 90th percentile {}%, maximum {}%", percent_text(100 * summary.median),
                     percent_text(100 * summary.percentile_90), percent_text(100 * summary.maximum));
}

std::vector<ViewColumn> applied_columns() {
  return with_chosen_kernel({{"problem"}, {"best_us", CellType::real}, {"configurations", CellType::integer}},
                            {{"regret_percent", CellType::real, ColumnOf::all, percent_text},
                             {"least_regret_percent", CellType::real, ColumnOf::all, percent_text},
                             {"result"}});
}

ViewRows problem_rows(const AppliedPortfolio& applied) {
  return [&applied](const auto& visit) {
    for (const AppliedProblem& problem : applied.problems) {
      const auto& place = problem.kernel;
      const Trial kernel = place ? applied.portfolio.kernels[*place] : Trial();
      visit({problem.label, problem.best_us, count_cell(problem.configurations),
             place ? count_cell(*place + 1) : Cell(), count_cell(place), kernel.template_name,
             kernel.parameters, 100 * problem.regret, 100 * problem.least_regret, problem.result()});
    }
  };
}

/// "2 problems are not judged: the chosen kernel was not measured at 64x64x64, 128x64x64". `result`: that of
/// these problems; empty: the outcome of what failed.
void add_not_judged(const AppliedPortfolio& applied, std::string_view result, const char* text,
                    std::vector<std::string>& lines) {
  std::vector<std::string> labels;
  for (const AppliedProblem& problem : applied.problems) {
    const std::string is = problem.outcome.empty() ? problem.result() : "";
    if (is == result) labels.push_back(printable(problem.label));
  }
  if (labels.empty()) return;
  lines.push_back(fmt::format("{} {} not judged: {} at {}", counted(labels.size(), "problem"),
                              labels.size() == 1 ? "is" : "are", text, first_of(labels)));
}

Lines lines_of(const AppliedPortfolio& applied) {
  const RegretSummary chosen = summary_of(applied, &AppliedProblem::regret);
  const RegretSummary least = summary_of(applied, &AppliedProblem::least_regret);
  Lines lines{
      fmt::format("the chosen kernel, on {} of {}: regret {}", chosen.problems,
                  counted(applied.problems.size(), "problem"), quantiles_text(chosen)),
      fmt::format("the best of the kernels, on {}: regret {}", least.problems, quantiles_text(least))};
  const auto [few, many] = std::ranges::minmax(applied.problems, {}, &AppliedProblem::configurations);
  const std::string most =
      few.configurations == many.configurations ? "" : fmt::format(" to {}", many.configurations);
  lines.push_back(fmt::format("the regret refers to the fastest of the configurations measured there: {}{}",
                              few.configurations, most));
  add_not_judged(applied, "not_measured", "the chosen kernel was not measured", lines);
  add_not_judged(applied, "", "the chosen kernel failed", lines);
  add_not_judged(applied, "no_kernel", "no kernel's constraints hold", lines);
  const ExportedPortfolio& portfolio = applied.portfolio;
  if (portfolio.gpu != applied.what.gpu)
    lines.push_back(fmt::format("the kernels were chosen on {}", printable(portfolio.gpu)));
  if (portfolio.source != applied.what.source)
    lines.push_back(fmt::format("the kernels were chosen by {} times", name(portfolio.source)));
  return lines;
}

ViewPage page_of(const AppliedPortfolio& applied, const std::vector<Comparable>& without) {
  std::vector<std::optional<std::size_t>> choices;
  for (const AppliedProblem& problem : applied.problems) choices.push_back(problem.kernel);
  Lines lines = lines_of(applied);
  for (const Comparable& what : without)
    lines.push_back(fmt::format("no portfolio for {}, {} ({})", printable(what.gpu), name(what.source),
                                printable(what.conditions)));
  return {table_of(applied_columns(), problem_rows(applied)),
          chosen_kernels_table(applied.portfolio.kernels, choices), std::move(lines)};
}

Json json_of(const AppliedPortfolio& applied) {
  Json json = ViewSection("", applied.what).facts;
  json["chosen_on"] = {{"gpu", applied.portfolio.gpu}, {"source", name(applied.portfolio.source)}};
  json["dimensions"] = applied.portfolio.dimensions;
  json["kernels"] = Json::array();
  for (const Trial& kernel : applied.portfolio.kernels)
    json["kernels"].push_back({{"template", kernel.template_name},
                               {"parameters", parsed_or_null(kernel.parameters)},
                               {"kernel_expression", kernel.kernel_expression}});
  json["with_the_chosen_kernel"] = to_json(summary_of(applied, &AppliedProblem::regret), "not_judged");
  json["with_the_best_kernel"] = to_json(summary_of(applied, &AppliedProblem::least_regret), "not_judged");
  json["problems"] = Json::array();
  problem_rows(applied)(
      [&](const ViewRow& row) { json["problems"].push_back(json_of(applied_columns(), row)); });
  return json;
}

}  // namespace

ViewDocument applied_view(const std::vector<AppliedPortfolio>& applied,
                          const std::vector<Comparable>& without) {
  ViewDocument view{"applied", "problems", applied_columns(), {"gpu", "source", "conditions"}};
  view.json = [&] {
    Json document{{"tiletune", kVersion}, {"applied", Json::array()}, {"without_portfolio", Json::array()}};
    for (const AppliedPortfolio& one : applied) document["applied"].push_back(json_of(one));
    for (const Comparable& what : without)
      document["without_portfolio"].push_back(ViewSection("", what).facts);
    return document;
  };
  add_sections(view, std::span(applied), [&](const AppliedPortfolio& one) {
    const std::string title = fmt::format("{} on {}", counted(one.portfolio.kernels.size(), "kernel"),
                                          counted(one.problems.size(), "problem"));
    ViewSection section(title, one.what);
    const bool is_last = &one == &applied.back();
    section.page = [&, is_last](std::size_t) {
      return page_of(one, is_last ? without : std::vector<Comparable>());
    };
    section.rows = problem_rows(one);
    return section;
  });
  return view;
}

}  // namespace tiletune
