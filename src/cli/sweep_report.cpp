#include "cli/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/common.h"
#include "cli/verdict.h"
#include "output/display.h"
#include "output/export.h"
#include "output/table.h"
#include "output/views.h"
#include "rank/ranking.h"

namespace tiletune {

namespace {

/// "2 x NVIDIA H200, sm_90a, 132 multiprocessors"
std::string gpu_set_text(const GpuSet& gpu_set) {
  const Target& target = gpu_set.target();
  const std::size_t gpus = gpu_set.evaluators.size();
  return fmt::format("{}{}, {}, {} multiprocessors", gpus > 1 ? fmt::format("{} x ", gpus) : "",
                     printable(target.name), target.architecture, target.model.multiprocessors);
}

/// Workers were lost, and no kernel came to its end.
bool all_lost(const std::map<Outcome, std::uint64_t>& outcomes) {
  const bool lost = outcomes.contains(Outcome::crashed) || outcomes.contains(Outcome::timeout);
  const auto ended = {Outcome::ok,          Outcome::wrong_result,  Outcome::unstable,
                      Outcome::implausible, Outcome::out_of_bounds, Outcome::screened_out};
  return lost && std::none_of(ended.begin(), ended.end(), [&](Outcome o) { return outcomes.contains(o); });
}

std::string counts_line(const SweepSummary& summary) {
  std::vector<std::pair<Outcome, std::int64_t>> counts;
  for (const auto& [outcome, count] : summary.outcomes)
    counts.emplace_back(outcome, static_cast<std::int64_t>(count));
  std::string text = fmt::format("{} of {} configurations in {}", summary.finished, summary.planned,
                                 human_seconds(summary.wall_s));
  if (!counts.empty()) text += ": " + outcome_summary(counts);
  if (summary.reused > 0) text += fmt::format("; {} reused", summary.reused);
  if (summary.shared > 0) text += fmt::format("; {} share another's measurement", summary.shared);
  text += fmt::format(" (compiling {} of CPU time, evaluating {}", human_seconds(summary.compile_cpu_s),
                      human_seconds(summary.evaluate_s));
  if (summary.finals > 0) text += fmt::format(", finals {}", human_seconds(summary.finals_s));
  if (summary.gpu_s > 0) text += fmt::format("; GPU time {}", human_seconds(summary.gpu_s));
  if (summary.discarded_samples > 0)
    text += fmt::format("; {} discarded for throttling", counted(summary.discarded_samples, "sample"));
  return text + ")\n";
}

/// What is not in the ranking: why, and how to list all of it.
std::string unranked_lines(const Database& rows, const std::string& database, const SweepSummary& summary,
                           const std::vector<FailureKind>& failures) {
  const auto list = [&](Outcome outcome) {
    return fmt::format(" tiletune rank --db {} --sweep {} --outcome {}", database, summary.sweep_id,
                       name(outcome));
  };
  std::string text;
  if (summary.outcomes.contains(Outcome::screened_out))
    text += "dropped as clearly slower than the leader:" + list(Outcome::screened_out) + "\n";
  if (failures.empty()) return text;
  std::set<Outcome> outcomes;
  for (const FailureKind& kind : failures) outcomes.insert(kind.outcome);
  text += "what did not run, and why:";
  for (const Outcome outcome : outcomes) text += (outcome == *outcomes.begin() ? "" : ";") + list(outcome);
  return text + "\n" + failure_lines(failures, rows);
}

/// "; most of them: compile_failed: kernel.cu(3): error: ..."
std::string most_frequent(const std::vector<FailureKind>& failures) {
  if (failures.empty()) return "";
  const FailureKind& most = failures.front();
  return printable(fmt::format("; {}{}: {}", failures.size() > 1 ? "most of them: " : "", name(most.outcome),
                               most.reason));
}

const char* reason_of(const std::optional<SearchEnd>& end) {
  if (!end) return "the sweep ended before";
  switch (*end) {
    case SearchEnd::all_tried:
      return "all tried";
    case SearchEnd::strategy:
      return "the strategy has nothing more to try";
    case SearchEnd::gain:
      return "the strategy expects no larger gain than --until";
    case SearchEnd::evaluations:
      return "its share of the evaluations";
    case SearchEnd::time:
      return "its share of the time";
  }
  return "";
}

/// Whether all configurations of a group's problem were tried.
bool is_whole(const SweepSummary& summary, const RankingGroup& group) {
  if (summary.interrupted || summary.failure) return false;
  return std::all_of(summary.searched.begin(), summary.searched.end(), [&](const SearchedWorkload& one) {
    return one.is_whole() || one.problem != group.problem || one.gpu != group.gpu;
  });
}

std::string outcome_lines(const Database& rows, const SweepSummary& summary,
                          const std::vector<FailureKind>& failures) {
  const std::string database = printable(shell_quoted(rows.file().string()));
  std::string text = counts_line(summary) + unranked_lines(rows, database, summary, failures);
  if (summary.warned > 0) {
    text += fmt::format(
        "{} with warnings (spills, low occupancy): tiletune rank --db {} --sweep {} --columns "
        "template,parameters,median_us,warnings\n",
        summary.warned, database, summary.sweep_id);
  }
  if (all_lost(summary.outcomes)) {
    text +=
        "Every kernel that ran was lost. If the GPU failed, and not the kernels, measure again with "
        "--remeasure.\n";
  }
  if (summary.failure) {
    text +=
        "Stopped by an error, shown last. What was recorded before it is kept; run the same command again to "
        "continue.\n";
  }
  if (summary.interrupted) text += "Interrupted: run the same command again to continue.\n";
  for (const std::string& gpu : summary.retired) text += printable(gpu) + "\n";
  if (summary.out_of_budget) text += "The time budget is spent: run the same command again to continue.\n";
  text += untried_lines(summary);
  if (summary.finals_left_out > 0) {
    text += fmt::format("Finals of {} problem{} did not finish: run the same command again to run them.\n",
                        summary.finals_left_out, summary.finals_left_out == 1 ? "" : "s");
  }
  return text;
}

std::vector<std::string> template_names(const TuneSpec& spec) {
  std::vector<std::string> names;
  names.reserve(spec.templates.size());
  for (const TemplateSpec& kernel : spec.templates) names.push_back(kernel.name);
  return names;
}

/// In the order of the config's problems: reused rows may stand elsewhere in the database.
template <typename Group>
void sort_by_problem(std::vector<Group>& groups, const TuneSpec& spec) {
  const auto place = [&](const Group& group) {
    return std::find_if(spec.problems.begin(), spec.problems.end(),
                        [&](const Problem& problem) { return problem.label() == group.problem; });
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Group& a, const Group& b) { return place(a) < place(b); });
}

}  // namespace

std::string untried_lines(const SweepSummary& summary) {
  constexpr std::size_t kMostLines = 50;
  std::string text;
  std::size_t lines = 0, left_out = 0;
  for (const SearchedWorkload& one : summary.searched) {
    if (one.is_whole()) continue;
    if (++lines > kMostLines && ++left_out > 0) continue;
    text += fmt::format("tried at {} on {}: {} of {} valid configurations ({})\n", printable(one.problem),
                        printable(one.gpu), one.tried, one.valid, reason_of(one.end));
  }
  if (left_out > 0) text += fmt::format("{} more problems were not tried whole\n", left_out);
  return text;
}

std::string headline(const ChosenGpus& gpus) {
  std::string text = fmt::format("tiletune {}: ", kVersion);
  for (const GpuSet& gpu_set : gpus.gpu_sets) {
    if (&gpu_set != &gpus.gpu_sets.front()) text += "; ";
    text += gpu_set_text(gpu_set);
  }
  const Target& target = gpus.gpu_sets.front().target();
  if (gpus.why_predicted.empty()) {
    return text + fmt::format("; driver {}, CUDA {}, NVRTC {}\n", target.driver_version, target.cuda_version,
                              nvrtc_version());
  }
  return text + fmt::format(
                    "; NVRTC {}\nNo GPU is used: {}. Everything below is predicted for {} by a static model "
                    "({}): nothing is timed.\n",
                    nvrtc_version(), printable(gpus.why_predicted), target.name,
                    printable(target.static_model.provenance()));
}

/// The first templates and problems that have no valid configuration; empty when all have one.
std::string empty_spaces(const std::vector<Task>& tasks, const TuneSpec& spec) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> names;
  for (const Task& task : tasks) {
    if (task.space.size() == 0) names.push_back(printable(task.label()));
  }
  if (names.empty()) return "";
  const std::size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  return fmt::format("no valid configuration: {}{}; see tiletune space {}\n", join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "",
                     printable(shell_quoted(spec.file.string())));
}

/// "2 templates", or "1 template in 4 variants".
std::string templates_text(const TuneSpec& spec) {
  const std::vector<std::string> names = template_names(spec);
  const std::size_t templates = std::set(names.begin(), names.end()).size();
  const std::string text = counted(templates, "template");
  return templates == names.size() ? text : fmt::format("{} in {}", text, counted(names.size(), "variant"));
}

std::string space_line(const std::vector<Task>& tasks, const TuneSpec& spec) {
  double raw = 0;
  double valid = 0;
  for (const Task& task : tasks) {
    raw += task.space.raw_size();
    valid += static_cast<double>(task.space.size());
  }
  const auto evaluations = static_cast<double>(spec.budget.evaluations);
  const double planned = evaluations > 0 ? std::min(evaluations, valid) : valid;
  const char* const combinations =
      spec.templates.front().listed ? "listed configurations" : "raw combinations";
  const bool all_run_all = tasks.size() == spec.templates.size() * spec.problems.size();
  return fmt::format(
             "{}: {} {} {}{}: {:.0f} {}, {:.0f} valid{}, {}{:.0f} to try\n", printable(spec.name),
             templates_text(spec), all_run_all ? "x" : "and", counted(spec.problems.size(), "problem"),
             all_run_all ? "" : " in " + counted(tasks.size(), "pair"), raw, combinations, valid,
             spec.shard.is_all() ? "" : " in shard " + spec.shard.label(),
             planned < valid || spec.budget.seconds > 0 || spec.budget.until_percent > 0 ? "at most " : "",
             planned) +
         empty_spaces(tasks, spec);
}

int report_sweep(const TuneSpec& spec, const Database& database, const SweepSummary& summary,
                 const SweepView& view) {
  TrialFilter filter;
  filter.sweep_id = summary.sweep_id;
  RankingRows rows = ranking_rows(database, filter);
  auto groups = rank_rows(rows);
  sort_by_problem(groups, spec);
  const bool table = view.format == Format::table;
  const TextStyle style = stdout_style();
  const std::vector<FailureKind> failures = failure_kinds(database, filter);
  const std::string lines = outcome_lines(database, summary, failures);
  if (!table) fmt::print(stderr, "{}", lines);
  stream_output("", [&](std::ostream& out) {
    if (table) out << lines;
    if (spec.view == View::ladder) {
      auto ladders = build_ladders(rows, ladder_steps(spec.config_json, database));
      sort_by_problem(ladders, spec);
      write_view(out, ladders_view(ladders, database, failures), view.format, style);
    } else {
      write_view(out, rankings_view(groups, database, {view.limit, "", {}, failures}), view.format, style);
    }
    if (!table) return;
    for (const RankingGroup& group : groups) out << verdict(spec, group, database, is_whole(summary, group));
    out << verification(spec, database, filter);
    if (!groups.empty() && !summary.failure) {
      out << fmt::format("export the best: tiletune export --best --db {} --sweep {} -o best.json\n",
                         printable(shell_quoted(database.file().string())), summary.sweep_id);
    }
  });
  if (summary.failure) std::rethrow_exception(summary.failure);
  if (summary.interrupted) return kInterrupted;
  if (!groups.empty()) return 0;
  if (summary.out_of_budget && summary.finished == 0) {
    throw NothingToDo("the budget was spent before the first configuration was finished",
                      Where{spec.file.string(), ""}, "Raise --budget, or narrow the space.");
  }
  std::string list = fmt::format("See why: tiletune rank --db {} --sweep {}",
                                 shell_quoted(database.file().string()), summary.sweep_id);
  for (const auto& [outcome, count] : database.outcome_counts(filter)) {
    if (outcome != Outcome::ok) list += fmt::format(" --outcome {}", name(outcome));
  }
  throw NothingToDo("no configuration ran" + most_frequent(failures), Where{spec.file.string(), ""}, list);
}

}  // namespace tiletune
