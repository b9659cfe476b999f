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
  std::string format = "json";
  std::filesystem::path output;
};

std::string best(const ExportOptions& options, const Database& database, const TrialFilter& filter) {
  RankingRows rows = ranking_rows(database, filter);
  const auto groups = rank_rows(rows);
  if (groups.empty()) {
    throw NothingToDo("no row that ran matches", Where{options.rows.database.string(), ""},
                      "Loosen the filters, or run 'tiletune sweep' first.");
  }
  return best_as_json(groups, database).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// True for T4.
bool is_t4(const ExportOptions& options) {
  const Where where{"--format", ""};
  if (options.format == "json") return false;
  if (options.format != "t4") {
    throw UserError(fmt::format("there is no export format '{}'", options.format), where,
                    "Use one of json, t4.");
  }
  if (options.best) throw UserError("has no effect beside --best", where, "Leave one of the two out.");
  return true;
}

int run(const ExportOptions& options) {
  const bool t4 = is_t4(options);
  if (options.best && options.samples) {
    throw UserError("--best lists no samples", Where{"--samples", ""}, "Leave one of the two out.");
  }
  check_output(options.output, options.rows.database);
  const Database database(options.rows.database, Database::Mode::read_only);
  const TrialFilter filter = options.rows.filter(database);
  database.at_one_state([&] {
    if (options.best) return write_output(options.output, best(options, database, filter));
    stream_output(options.output, [&](std::ostream& out) {
      if (t4) return write_t4(out, database, filter);
      write_export(out, database, filter, options.samples);
    });
  });
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
  command
      ->add_option("--format", options->format,
                   "json, or t4: results as autotuners exchange them, with every sample")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Write here instead of to standard output");
  command->footer(
      "Examples:\n  tiletune export --best -o best.json\n"
      "  tiletune export --gpu H200 --source measured -o h200.json\n"
      "  tiletune export --format t4 --gpu H200 --problem 4096x4096x4096 --template sgemm_warptile -o "
      "results.T4.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
