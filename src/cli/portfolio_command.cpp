#include "cli/common.h"
#include "cli/fill_config.h"
#include "deploy/recorded_kernels.h"
#include "output/views.h"
#include "rank/portfolio.h"

namespace tiletune {

namespace {

struct PortfolioCommand {
  FilterOptions rows;
  PortfolioOptions portfolio;
  std::vector<std::string> held_out;
  std::string format = "table";
  std::vector<std::filesystem::path> template_folders;
  std::filesystem::path fill;
  std::filesystem::path output;
};

int run(PortfolioCommand& options) {
  const Format format = format_from_name(options.format);
  check_output(options.output, options.rows.database);
  check_output(options.fill, options.rows.database);
  const Database database = options.rows.open();
  TrialFilter filter = options.rows.filter({&database});
  filter.baselines = false;
  TrialFilter held_out;
  filter_problems(options.held_out, {&database}, held_out);
  options.portfolio.held_out.insert(held_out.problems.begin(), held_out.problems.end());
  for (const StatedProblem& one : held_out.stated_problems) options.portfolio.held_out.insert(one.problem);
  int code = 0;
  show_rows(database, filter, [&] {
    require_rows(database, filter);
    RecordedKernels recorded(database, options.template_folders);
    const auto note = [said = std::set<std::string>()](const std::string& text) mutable {
      if (said.insert(text).second) fmt::print(stderr, "note: {}\n", printable(text));
    };
    const auto portfolios =
        recorded_portfolios(database, filter, options.portfolio,
                            [&](const PortfolioTable& table) { return recorded.facts_of(table, note); });
    catch_interrupts();
    stream_output(options.output, [&](std::ostream& out) {
      write_view(out, portfolios_view(portfolios, database), format, style_for(options.output));
    });
    if (!options.fill.empty()) code = write_fill_configs(portfolios, database, options.fill, interrupted);
  });
  return code;
}

}  // namespace

void add_portfolio_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<PortfolioCommand>(
      app, action, "portfolio",
      "Choose a few kernels for many problems, and predict their times on other sizes", run);
  options.rows.add_to(command);
  command.add_option("DB", options.rows.database, "Results database, as with --db")->excludes("--db");
  add_option(command, "-k,--kernels", options.portfolio.most_kernels,
             "At most N kernels; the table has the regret of 1, 2, ... N",
             {.type = "N", .check = CLI::Range(std::size_t{1}, kLargestPortfolio), .shows_default = true});
  add_option(command, "--template-folder", options.template_folders,
             "Folder with the rows' templates, if they are not beside their configs (repeatable)",
             {.type = "FOLDER", .one_each = true});
  command.add_option(
      "--fill", options.fill,
      "Write the config that measures the chosen kernels on the problems where they have no row");
  command.add_option("--held-out", options.held_out,
                     "Choose kernels as if this problem had not been tuned, and print their regret on it "
                     "(repeatable)");
  command.add_option("--format", options.format, "table, json, csv or markdown")->capture_default_str();
  command.add_option("-o,--output", options.output, "Write here instead of to standard output");
  command.footer(
      "The regret of a kernel on a problem is its time / the best time there - 1. Kernels are chosen for the "
      "smallest mean regret over the problems.\n\n"
      "Examples:\n  tiletune portfolio results/h200.db\n  tiletune portfolio -k 4 --format json\n"
      "  tiletune portfolio -k 8 --fill gaps.json && tiletune sweep gaps.json\n"
      "  tiletune export --format header --portfolio 8 -o tuned.h\n"
      "  tiletune portfolio -k 8 --held-out 512x512x512 4096x4096x4096");
}

}  // namespace tiletune
