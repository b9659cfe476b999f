#include "cli/common.h"
#include "output/export.h"
#include "output/report/report.h"
#include "rank/portfolio.h"
#include "tune/provenance.h"

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

/// " (12.3 KiB)" of a file with something in it.
std::string weight_of(const std::filesystem::path& file) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file, unknown);
  return unknown ? "" : fmt::format(" ({})", human_bytes(bytes));
}

int run(ExportOptions& options) {
  const ExportFormat& format = checked_format(options);
  check_output(options.output, options.rows.database);
  const Database database = open_rows(options.rows.database);
  ExportRequest request{options.rows.filter(database), options.samples, options.name_space.value_or("")};
  request.note = [](const std::string& text) { fmt::print(stderr, "note: {}\n", printable(text)); };
  if (options.portfolio) {
    request.portfolio.emplace().most_kernels = *options.portfolio;
    request.portfolio->folds = 0;  // nothing exported depends on it
  }
  show_rows(database, request.filter, [&] {
    TrialFilter asked = request.filter;
    asked.baselines = asked.templates.empty();  // which stand by any template
    require_rows(database, asked);
    stream_output(options.output, [&](std::ostream& out) { format.write(out, database, request); });
  });
  if (!options.output.empty() && options.output != "-")
    fmt::print(stderr, "wrote {}{}\n", printable(options.output.string()), weight_of(options.output));
  return 0;
}

struct ReportFlags {
  FilterOptions rows;
  std::int64_t limit = 10000;
  std::filesystem::path output = "report.html";
  std::string command_line;
};

/// On stderr: the page itself may go to standard output.
void print_result(const ReportFlags& flags, const ReportSize& size) {
  const bool is_file = flags.output != "-";
  fmt::print(stderr, "{}{}: {} in {}{}\n", is_file ? flags.output.string() : "report",
             is_file ? weight_of(flags.output) : "", counted(size.shown, "configuration"),
             counted(size.groups, "comparable set"),
             size.shown == size.configurations
                 ? ""
                 : fmt::format(", {} slower ones left out (--limit)", size.configurations - size.shown));
  if (!report_has_charts())
    fmt::print(stderr,
               "the page has tables instead of charts: tiletune was built without Vega (apt-get install "
               "libjs-vega, then rebuild)\n");
}

[[noreturn]] void throw_no_row(const ReportFlags& flags) {
  const std::string file = flags.rows.database.string();
  throw NothingToDo("no row matches", Where{file, ""},
                    fmt::format("Loosen the filters, name another file with --db, or fill this one: tiletune "
                                "sweep CONFIG --db {0}, or tiletune import FILE --db {0}.",
                                shell_quoted(file)));
}

int run(ReportFlags& flags) {
  check_output(flags.output, flags.rows.database);
  const Database database = open_rows(flags.rows.database);
  const TrialFilter filter = flags.rows.filter(database);
  const std::vector<GpuModel> models = shipped_gpu_models();
  const ReportOptions options{static_cast<std::size_t>(flags.limit), flags.command_line, utc_now(),
                              [&](const std::string& gpu) { return alias_of(models, gpu); }};
  ReportSize size;
  show_rows(database, filter, [&] {
    if (database.outcome_counts(filter).empty()) throw_no_row(flags);
    stream_output(flags.output, [&](std::ostream& out) {
      size = write_report(out, database, filter, options);
      if (size.groups == 0) throw_no_row(flags);  // baselines alone
    });
  });
  print_result(flags, size);
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<ExportOptions>(
      app, action, "export", "Write recorded results as JSON, or the best as a C++ header", run);
  options.rows.add_to(command);
  command.add_flag("--best", options.best, "Only the best configuration per GPU and problem, ready to use");
  command.add_flag("--samples", options.samples, "Include every raw sample");
  command.add_option("--format", options.format, export_formats_help())->capture_default_str();
  command
      .add_option("--namespace", options.name_space,
                  "C++ namespace of the header, such as tuned::sizes; needed when one file includes two")
      ->default_str(kHeaderNamespace);
  add_option(command, "--portfolio", options.portfolio,
             "With --best or --format header: at most N kernels for all problems, and the predicted times by "
             "which to choose one, as 'tiletune portfolio -k N' prints them",
             {.type = "N", .check = CLI::Range(std::size_t{1}, kLargestPortfolio)});
  command.add_option("-o,--output", options.output, "Write here instead of to standard output");
  command.footer(
      "Examples:\n  tiletune export --best -o best.json\n"
      "  tiletune export --format header -o tuned.h\n"
      "  tiletune export --format header --db l40.db --namespace tuned::l40 -o tuned_l40.h\n"
      "  tiletune export --format header --portfolio 8 --source measured -o tuned.h\n"
      "  tiletune export --gpu H200 --source measured -o h200.json\n"
      "  tiletune export --format t4 --gpu H200 --problem 4096x4096x4096 --template sgemm_warptile -o "
      "results.T4.json");
}

void add_report_command(CLI::App& app, Action& action, const std::string& command_line) {
  auto [command, flags] = add_command<ReportFlags>(
      app, action, "report", "Write recorded results as one HTML page with tables and charts", run);
  flags.command_line = command_line;
  flags.rows.add_to(command);
  add_option(command, "--limit", flags.limit, "Configurations per GPU and problem, fastest first; 0: all",
             {.check = whole_number(), .shows_default = true});
  command.add_option("-o,--output", flags.output, "The page; -: standard output")->capture_default_str();
  command.footer(
      "The page needs a browser and no network.\nExamples:\n  tiletune report\n"
      "  tiletune report --db results/tiletune.db --problem 4096x4096x4096 -o report.html");
}

}  // namespace tiletune
