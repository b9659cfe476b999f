#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "output/export.h"
#include "output/header.h"
#include "rank/ranking.h"

namespace tiletune {

namespace {

struct ExportOptions {
  FilterOptions rows;
  bool best = false;
  bool samples = false;
  std::string format = "json";
  std::optional<std::string> name_space;
  std::filesystem::path output;
};

constexpr const char* kT4 = "t4";
constexpr const char* kHeader = "header";

std::string best(const ExportOptions& options, const Database& database, const TrialFilter& filter) {
  RankingRows rows = ranking_rows(database, filter);
  const auto groups = rank_rows(rows);
  if (groups.empty()) {
    throw NothingToDo("no row that ran matches", Where{options.rows.database.string(), ""},
                      "Loosen the filters, or run 'tiletune sweep' first.");
  }
  if (options.format == kHeader)
    return best_as_header(groups, database, options.name_space.value_or(kHeaderNamespace));
  return json_text(best_as_json(groups, database), 2) + "\n";
}

void check_format(const ExportOptions& options) {
  const Where where{"--format", ""};
  if (options.format != "json" && options.format != kT4 && options.format != kHeader) {
    throw UserError(fmt::format("there is no export format '{}'", options.format), where,
                    "Use one of json, t4, header.");
  }
  if (options.best && options.format == kT4)
    throw UserError("has no effect with --best", where, "Leave one of the two out.");
  if (options.samples && (options.best || options.format == kHeader)) {
    throw UserError(fmt::format("{} lists no samples", options.best ? "--best" : "a header"),
                    Where{"--samples", ""}, "Leave one of the two out.");
  }
  if (!options.name_space) return;
  if (options.format != kHeader)
    throw UserError("has no effect without --format header", Where{"--namespace", ""},
                    "Add --format header, or leave it out.");
  check_header_namespace(*options.name_space);
}

int run(const ExportOptions& options) {
  check_format(options);
  check_output(options.output, options.rows.database);
  const Database database(options.rows.database, Database::Mode::read_only);
  const TrialFilter filter = options.rows.filter(database);
  database.at_one_state([&] {
    TrialFilter asked = filter;
    asked.baselines = filter.templates.empty();  // which stand by any template
    require_rows(database, asked);
    if (options.best || options.format == kHeader)
      return write_output(options.output, best(options, database, filter));
    stream_output(options.output, [&](std::ostream& out) {
      if (options.format == kT4) return write_t4(out, database, filter);
      write_export(out, database, filter, options.samples);
    });
  });
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      app.add_subcommand("export", "Write recorded results as JSON, or the best as a C++ header");
  options->rows.add_to(*command);
  command->add_flag("--best", options->best, "Only the best configuration per GPU and problem, ready to use");
  command->add_flag("--samples", options->samples, "Include every raw sample");
  command
      ->add_option("--format", options->format,
                   "json; t4: results as autotuners exchange them, with every sample; or header: the best "
                   "configurations and their lookup in C++17")
      ->capture_default_str();
  command
      ->add_option("--namespace", options->name_space,
                   "C++ namespace of the header, such as tuned::sizes; needed when one file includes two")
      ->default_str(kHeaderNamespace);
  command->add_option("-o,--output", options->output, "Write here instead of to standard output");
  command->footer(
      "Examples:\n  tiletune export --best -o best.json\n"
      "  tiletune export --format header -o tuned.h\n"
      "  tiletune export --format header --db l40.db --namespace tuned::l40 -o tuned_l40.h\n"
      "  tiletune export --gpu H200 --source measured -o h200.json\n"
      "  tiletune export --format t4 --gpu H200 --problem 4096x4096x4096 --template sgemm_warptile -o "
      "results.T4.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
