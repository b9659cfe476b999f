#include <algorithm>

#include "cli/common.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/report/survey.h"
#include "output/views.h"
#include "rank/ranking.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

struct RankOptions {
  const CLI::App* command = nullptr;
  FilterOptions rows;
  std::string format = "table";
  std::int64_t limit = 20;
  std::string sort_by;
  std::vector<std::string> columns;
  std::string regime;
  std::vector<std::string> outcomes;
  bool ladder = false;
  bool best = false;
  bool history = false;
  bool importance = false;
  std::filesystem::path output;
};

bool is_limit_given(const RankOptions& options) { return options.command->count("--limit") > 0; }

bool lists_failures(const RankOptions& options) {
  return !options.outcomes.empty() && options.outcomes != std::vector<std::string>{"ok"};
}

void write_list(std::ostream& out, const RankOptions& options, const Database& database,
                const TrialFilter& filter, Format format) {
  const auto show = [&](const ViewDocument& view) {
    write_view(out, view, format, style_for(options.output));
  };
  const auto refuse_none = [&](bool is_empty) {
    if (is_empty)
      throw NothingToDo("no row that ran matches", Where{options.rows.database.string(), ""},
                        recorded_text(database));
  };
  const auto limit = static_cast<std::size_t>(options.limit);
  // With their reasons, and with their times where they were timed.
  if (lists_failures(options))
    return show(trials_view(database, filter,
                            {"outcome", "template", "problem", "parameters", "gpu", "median_us", "reason"},
                            limit));
  if (options.importance) return show(importance_view(survey(database, filter).importance));
  if (options.history) {
    const std::vector<History> all = histories(database, filter);
    refuse_none(all.empty());
    return show(histories_view(all, database));
  }
  const std::string time = options.regime.empty() ? "median_us" : options.regime + "_us";
  RankingRows rows =
      options.regime.empty() ? ranking_rows(database, filter) : ranking_rows_by(time, database, filter);
  if (options.ladder) {
    std::vector<LadderStep> steps = ladder_steps(database);
    for (const std::string& other : rows.kernel_templates()) {
      const bool is_known = std::any_of(steps.begin(), steps.end(),
                                        [&](const LadderStep& step) { return step.template_name == other; });
      if (!is_known) steps.push_back({other, "", {}});
    }
    return show(ladders_view(build_ladders(rows, steps), database));
  }
  auto groups = rank_rows(rows);
  if (groups.empty() && !options.regime.empty())
    throw NothingToDo(fmt::format("no row that matches was timed {}", options.regime),
                      Where{options.rows.database.string(), ""},
                      fmt::format("Sweep with --regime {}, or leave the option out.", options.regime));
  refuse_none(groups.empty());
  rows = RankingRows();
  std::vector<std::string> columns = options.columns;
  if (!options.regime.empty() && columns.empty())
    columns = {"rank", "template", "parameters", "registers", "occupancy", time, "median_us"};
  if (!options.best) return show(rankings_view(groups, database, {limit, options.sort_by, columns}));
  newest_first(groups, database);
  show(winners_view(groups, database));
}

/// Refuses what a list of another kind would ignore.
void check_combination(const RankOptions& options) {
  const auto refuse = [](const char* option, const char* beside) {
    throw UserError(fmt::format("has no effect with {}", beside), Where{option, ""},
                    "Leave one of the two out.");
  };
  const char* summary = nullptr;  // what is listed instead of a ranking
  for (const auto& [option, is_given] :
       {std::pair("--ladder", options.ladder), std::pair("--best", options.best),
        std::pair("--history", options.history), std::pair("--importance", options.importance)}) {
    if (is_given && summary != nullptr) refuse(option, summary);
    if (is_given) summary = option;
  }
  const char* list = summary != nullptr ? summary : "--outcome";
  if (summary != nullptr && !options.outcomes.empty()) refuse("--outcome", list);
  if (summary == nullptr && !lists_failures(options)) return;
  if (!options.columns.empty()) refuse("--columns", list);
  if (!options.sort_by.empty()) refuse("--sort-by", list);
  if (!options.regime.empty()) refuse("--regime", list);
  if (summary != nullptr && is_limit_given(options)) refuse("--limit", list);
}

int run(RankOptions& options) {
  for (std::string& column : options.columns) column = std::string(trim(column));
  check_combination(options);
  check_output(options.output, options.rows.database);
  if (options.columns == std::vector<std::string>{"list"}) {
    const Format format = format_from_name(options.format, {Format::table, Format::markdown});
    stream_output(options.output, [&](std::ostream& out) {
      write_table(out, table_of_columns(), format == Format::markdown, style_for(options.output));
    });
    return 0;
  }
  const Format format = format_from_name(options.format);
  // Whoever reads rows by a program expects all of them.
  if (!is_limit_given(options) && (format == Format::csv || format == Format::json)) options.limit = 0;
  const Database database = options.rows.open();
  TrialFilter filter = options.rows.filter({&database});
  filter.outcomes = parse_names<Outcome>(
      options.outcomes, "outcome",
      "ok, refused, compile_failed, compile_timeout, compile_crashed, launch_failed, wrong_result, unstable, "
      "implausible, out_of_bounds, timeout, crashed, screened_out");
  show_rows(database, filter, [&] {
    require_rows(database, filter);
    stream_output(options.output,
                  [&](std::ostream& out) { write_list(out, options, database, filter, format); });
  });
  return 0;
}

}  // namespace

void add_rank_command(CLI::App& app, Action& action) {
  auto [command, options] =
      add_command<RankOptions>(app, action, "rank", "Print the ranking of recorded results", run);
  options.command = &command;
  options.rows.add_to(command);
  command.add_option("--format", options.format, "table, json, csv or markdown")->capture_default_str();
  add_option(command, "--limit", options.limit,
             "Rows per GPU and problem; 0: all, the default in json and csv",
             {.check = whole_number(), .shows_default = true});
  command.add_option(
      "--sort-by", options.sort_by,
      "A column, e.g. registers: the smallest first; -tflops: the largest first (default: the rank)");
  command
      .add_option("--columns", options.columns,
                  "Columns to show, e.g. parameters,median_us,registers; \"list\" names them all")
      ->delimiter(',');
  command
      .add_option(
          "--regime", options.regime,
          "Rank by the time in this launch regime (see sweep --regime): cold, warm, graph, eager, sustained")
      ->check(CLI::IsMember(spellings<Regime>()));
  command.add_option("--outcome", options.outcomes,
                     "Instead list rows with this outcome, e.g. refused (repeatable)");
  command.add_flag("--ladder", options.ladder,
                   "Instead print the best of each template, each with its speed-up");
  command.add_flag("--best", options.best,
                   "Instead print the best of each problem, and the geometric mean against the baseline");
  command.add_flag("--history", options.history,
                   "Instead print how the best time of each problem fell, over evaluations and over the "
                   "recorded seconds of compiling and measuring");
  command.add_flag("--importance", options.importance,
                   "Instead print which parameters mattered: the share of the variance of log time between "
                   "the values of each (epsilon squared)");
  command.add_option("-o,--output", options.output, "Write here instead of to standard output");
  command.footer(
      fmt::format("On a terminal, columns that do not fit are left out in this order: {}. COLUMNS sets the "
                  "width. Files and pipes have all columns.\n\n",
                  fmt::join(kDroppedColumns, ", ")) +
      "Examples:\n  tiletune rank\n  tiletune rank --best --sweep 3 --format markdown\n  tiletune rank --gpu "
      "H200 --problem 4096x4096x4096 --format csv\n"
      "  tiletune rank --history --sweep 3\n  tiletune rank --importance --template sgemm_warptile\n"
      "  tiletune rank --outcome wrong_result --outcome crashed\n  tiletune rank --sort-by registers --limit "
      "0\n  tiletune rank --columns list");
}

}  // namespace tiletune
