#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "output/export.h"
#include "rank/ranking.h"

namespace tiletune {

namespace {

struct ExportOptions {
  FilterOptions rows;
  bool best = false;
  bool samples = false;
  std::filesystem::path output;
};

std::string all_rows(const Database& database, const TrialFilter& filter, bool with_samples) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  database.for_each(filter, [&](const Trial& trial) {
    rows.push_back(to_json(trial, with_samples));
    return true;
  });
  nlohmann::ordered_json sweeps = nlohmann::ordered_json::array();
  for (const SweepRecord& sweep : database.sweeps()) sweeps.push_back(to_json(sweep));
  return nlohmann::ordered_json{{"tiletune_trials", 1}, {"sweeps", sweeps}, {"trials", rows}}.dump(
             1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

int run(const ExportOptions& options) {
  if (options.best && options.samples) {
    throw UserError("--best lists no samples", Where{"--samples", ""}, "Leave one of the two out.");
  }
  check_output(options.output, options.rows.database);
  const Database database(options.rows.database, Database::Mode::read_only);
  const TrialFilter filter = options.rows.filter(database);
  if (!options.best) {
    write_output(options.output, all_rows(database, filter, options.samples));
    return 0;
  }
  const auto groups = rank_trials(database.trials(filter));
  if (groups.empty()) {
    throw NothingToDo("no row that ran matches", Where{options.rows.database.string(), ""},
                      "Loosen the filters, or run 'tiletune sweep' first.");
  }
  const nlohmann::ordered_json best = best_as_json(groups, database.sweeps());
  write_output(options.output,
               best.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write recorded results as JSON");
  options->rows.add_to(*command);
  command->add_flag("--best", options->best,
                    "Only the best configuration per GPU and problem, ready to be used");
  command->add_flag("--samples", options->samples, "Include every raw sample");
  command->add_option("-o,--output", options->output, "Write here instead of to standard output");
  command->footer(
      "Examples:\n  tiletune export --best -o best.json\n"
      "  tiletune export --gpu H200 --source measured -o h200.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
