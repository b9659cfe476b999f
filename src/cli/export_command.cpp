#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "output/export.h"
#include "rank/portfolio.h"

namespace tiletune {

namespace {

struct ExportOptions {
  FilterOptions rows;
  bool best = false;
  bool samples = false;
  std::string format = "json";
  std::optional<std::string> name_space;
  std::optional<std::size_t> portfolio;  ///< most kernels
  std::filesystem::path output;
};

const ExportFormat& checked_format(const ExportOptions& options) {
  const ExportFormat& format = find_export_format(options.format, options.best);
  if (options.samples && !format.takes_samples) {
    const std::string what = options.best ? "--best" : fmt::format("--format {}", format.name);
    throw UserError(what + " lists no samples", Where{"--samples", ""}, "Leave one of the two out.");
  }
  if (options.portfolio && !format.is_best)
    throw UserError("has no effect on a list of all rows", Where{"--portfolio", ""},
                    "Add --best or --format header.");
  if (!options.name_space) return format;
  if (!format.takes_name_space)
    throw UserError("has no effect without --format header", Where{"--namespace", ""},
                    "Add --format header, or leave it out.");
  check_header_namespace(*options.name_space);
  return format;
}

/// On stderr, as `report` does; nothing for standard output.
void tell_what_was_written(const std::filesystem::path& file) {
  if (file.empty() || file == "-") return;
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file, unknown);
  fmt::print(stderr, "wrote {}{}\n", printable(file.string()),
             unknown ? "" : fmt::format(" ({})", human_bytes(bytes)));
}

std::optional<PortfolioOptions> portfolio_of(const ExportOptions& options) {
  if (!options.portfolio) return std::nullopt;
  PortfolioOptions portfolio;
  portfolio.most_kernels = *options.portfolio;
  portfolio.folds = 0;  // nothing exported depends on it
  return portfolio;
}

int run(const ExportOptions& options) {
  const ExportFormat& format = checked_format(options);
  check_output(options.output, options.rows.database);
  const Database database(options.rows.database, Database::Mode::read_only);
  const ExportRequest request{
      options.rows.filter(database), options.samples, options.name_space.value_or(""), portfolio_of(options),
      [](const std::string& text) { fmt::print(stderr, "note: {}\n", printable(text)); }};
  show_rows(database, request.filter, [&] {
    TrialFilter asked = request.filter;
    asked.baselines = asked.templates.empty();  // which stand by any template
    require_rows(database, asked);
    stream_output(options.output, [&](std::ostream& out) { format.write(out, database, request); });
  });
  tell_what_was_written(options.output);
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
  command->add_option("--format", options->format, export_formats_help())->capture_default_str();
  command
      ->add_option("--namespace", options->name_space,
                   "C++ namespace of the header, such as tuned::sizes; needed when one file includes two")
      ->default_str(kHeaderNamespace);
  command
      ->add_option(
          "--portfolio", options->portfolio,
          "With --best or --format header: at most N kernels for all problems, and the predicted times by "
          "which to choose one, as 'tiletune portfolio -k N' prints them")
      ->check(CLI::Range(std::size_t{1}, kLargestPortfolio))
      ->type_name("N");
  command->add_option("-o,--output", options->output, "Write here instead of to standard output");
  command->footer(
      "Examples:\n  tiletune export --best -o best.json\n"
      "  tiletune export --format header -o tuned.h\n"
      "  tiletune export --format header --db l40.db --namespace tuned::l40 -o tuned_l40.h\n"
      "  tiletune export --format header --portfolio 8 --source measured -o tuned.h\n"
      "  tiletune export --gpu H200 --source measured -o h200.json\n"
      "  tiletune export --format t4 --gpu H200 --problem 4096x4096x4096 --template sgemm_warptile -o "
      "results.T4.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
