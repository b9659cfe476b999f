#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/fill_config.h"
#include "output/table.h"
#include "output/views.h"
#include "rank/portfolio.h"

namespace tiletune {

namespace {

struct PortfolioCommand {
  FilterOptions rows;
  PortfolioOptions portfolio;
  std::string format = "table";
  std::filesystem::path fill;
  std::filesystem::path apply;
  std::filesystem::path output;
};

/// Returns the exit code.
int say(const FillConfigs& configs) {
  for (const std::string& line : configs.lines) fmt::print(stderr, "{}\n", printable(line));
  return configs.written == 0 ? 1 : 0;
}

/// Returns the exit code.
int choose(const PortfolioCommand& options, const Database& database, const TrialFilter& filter,
           Format format, const TextStyle& style) {
  const auto portfolios = recorded_portfolios(database, filter, options.portfolio);
  catch_interrupts();
  stream_output(options.output, [&](std::ostream& out) {
    write_view(out, portfolios_view(portfolios, database), format, style);
  });
  if (options.fill.empty()) return 0;
  return say(write_fill_configs(portfolios, database, options.fill, interrupted));
}

/// Returns the exit code.
int apply(const PortfolioCommand& options, const Database& database, const TrialFilter& filter, Format format,
          const TextStyle& style) {
  std::vector<Comparable> without;
  const auto applied =
      apply_portfolios(read_exported_portfolios(options.apply), options.apply, database, filter, without);
  catch_interrupts();
  stream_output(options.output,
                [&](std::ostream& out) { write_view(out, applied_view(applied, without), format, style); });
  if (options.fill.empty()) return 0;
  return say(write_fill_configs(applied, options.fill, interrupted));
}

int run(const PortfolioCommand& options) {
  const Format format = format_from_name(options.format);
  check_output(options.output, options.rows.database);
  check_output(options.fill, options.rows.database);
  const Database database(options.rows.database, Database::Mode::read_only);
  TrialFilter filter = options.rows.filter(database);
  filter.baselines = false;
  int code = 0;
  show_rows(database, filter, [&] {
    require_rows(database, filter);
    const TextStyle style = options.output.empty() ? stdout_style() : TextStyle();
    code = options.apply.empty() ? choose(options, database, filter, format, style)
                                 : apply(options, database, filter, format, style);
  });
  return code;
}

}  // namespace

void add_portfolio_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<PortfolioCommand>();
  CLI::App* command = app.add_subcommand(
      "portfolio", "Choose a few kernels for many problems, and predict their times on other sizes");
  options->rows.add_to(*command);
  command->add_option("DB", options->rows.database, "Results database, as with --db")->excludes("--db");
  CLI::Option* kernels = command
                             ->add_option("-k,--kernels", options->portfolio.most_kernels,
                                          "At most N kernels; the table has the regret of 1, 2, ... N")
                             ->check(CLI::Range(std::size_t{1}, kLargestPortfolio))
                             ->type_name("N")
                             ->capture_default_str();
  CLI::Option* folds =
      command
          ->add_option(
              "--folds", options->portfolio.folds,
              "Folds of the cross-validation over problems; as many as problems: leave one out; 0: none")
          ->check(whole_number())
          ->capture_default_str();
  CLI::Option* seed = command
                          ->add_option("--seed", options->portfolio.seed,
                                       "Seed of the order in which problems are dealt to folds")
                          ->check(whole_number())
                          ->capture_default_str();
  command->add_option(
      "--fill", options->fill,
      "Write the config that measures the chosen kernels on the problems where they have no row");
  CLI::Option* apply_option = command
                                  ->add_option("--apply", options->apply,
                                               "Instead print the regret of the portfolio in this file, "
                                               "of 'export --best --portfolio', on the problems of DB")
                                  ->type_name("FILE");
  for (CLI::Option* option : {kernels, folds, seed}) apply_option->excludes(option);
  command->add_option("--format", options->format, "table, json, csv or markdown")->capture_default_str();
  command->add_option("-o,--output", options->output, "Write here instead of to standard output");
  command->footer(
      "The regret of a kernel on a problem is its time / the best time there - 1. Kernels are chosen for the "
      "smallest mean regret over the problems.\n\n"
      "Examples:\n  tiletune portfolio results/h200.db\n  tiletune portfolio -k 4 --format json\n"
      "  tiletune portfolio -k 8 --fill gaps.json && tiletune sweep gaps.json\n"
      "  tiletune export --format header --portfolio 8 -o tuned.h\n"
      "  tiletune export --db tuned.db --best --portfolio 10 -o best.json && tiletune portfolio other.db "
      "--apply best.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
