#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "output/report/report.h"
#include "tune/provenance.h"

namespace tiletune {

namespace {

struct ReportFlags {
  FilterOptions rows;
  std::int64_t limit = 10000;
  std::filesystem::path output = "report.html";
  std::string command_line;
};

/// On stderr: the page itself may go to standard output.
void print_result(const ReportFlags& flags, const ReportSize& size) {
  std::error_code unknown;
  const auto bytes = flags.output == "-" ? 0 : std::filesystem::file_size(flags.output, unknown);
  const std::string weight = bytes > 0 && !unknown ? fmt::format(" ({})", human_bytes(bytes)) : "";
  fmt::print(stderr, "{}{}: {} configuration{} in {} comparable set{}{}\n",
             flags.output == "-" ? "report" : flags.output.string(), weight, size.shown,
             size.shown == 1 ? "" : "s", size.groups, size.groups == 1 ? "" : "s",
             size.shown == size.configurations
                 ? ""
                 : fmt::format(", {} slower ones left out (--limit)", size.configurations - size.shown));
  if (!report_has_charts()) {
    fmt::print(stderr,
               "the page has tables instead of charts: tiletune was built without Vega (apt-get install "
               "libjs-vega, then rebuild)\n");
  }
}

[[noreturn]] void throw_no_row(const ReportFlags& flags) {
  const std::string file = flags.rows.database.string();
  throw NothingToDo("no row matches", Where{file, ""},
                    fmt::format("Loosen the filters, name another file with --db, or fill this one: tiletune "
                                "sweep CONFIG --db {0}, or tiletune import FILE --db {0}.",
                                shell_quoted(file)));
}

int run(const ReportFlags& flags) {
  check_output(flags.output, flags.rows.database);
  const Database database(flags.rows.database, Database::Mode::read_only);
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

void add_report_command(CLI::App& app, Action& action, const std::string& command_line) {
  auto flags = std::make_shared<ReportFlags>();
  flags->command_line = command_line;
  CLI::App* command =
      app.add_subcommand("report", "Write recorded results as one HTML page with tables and charts");
  flags->rows.add_to(*command);
  command->add_option("--limit", flags->limit, "Configurations per GPU and problem, fastest first; 0: all")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("-o,--output", flags->output, "The page; -: standard output")->capture_default_str();
  command->footer(
      "The page needs a browser and no network.\nExamples:\n  tiletune report\n"
      "  tiletune report --db results/tiletune.db --problem 4096x4096x4096 -o report.html");
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace tiletune
