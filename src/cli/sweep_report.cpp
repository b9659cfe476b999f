#include "cli/sweep_report.h"

#include "base/system.h"
#include "base/version.h"
#include "output/export.h"
#include "output/views.h"
#include "tune/row.h"

namespace tiletune {

ConsoleObserver::ConsoleObserver(bool quiet) : progress_(quiet, ::isatty(STDERR_FILENO) != 0) {}

void ConsoleObserver::wait_for_others(Database& database, double budget_s) {
  const auto begun = std::chrono::steady_clock::now();
  const auto tell = [&] {
    on_note(fmt::format("another program is writing {}: waiting until it has ended; interrupt to stop",
                        database.file().string()));
  };
  database.wait_for_others(tell, [begun, budget_s](std::chrono::steady_clock::duration waited) {
    constexpr std::chrono::seconds kPatience{10};
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
    return interrupted() || (budget_s > 0 && elapsed.count() >= budget_s && waited >= kPatience);
  });
}

void ConsoleObserver::tell_of_journal(const std::filesystem::path& database) {
  const std::string kind = network_file_system(database);
  if (kind.empty()) return;
  on_note(fmt::format(
      "{} is on a network file system ({}), where SQLite's write-ahead log is unsafe: it is written through "
      "a rollback journal, which is slower. A database on a local disk avoids that",
      database.string(), kind));
}

namespace {

std::string counts_line(const SweepSummary& summary) {
  std::string text = fmt::format("{} of {} configurations in {}", summary.finished, summary.planned,
                                 human_seconds(summary.wall_s));
  if (!summary.outcomes.empty())
    text += ": " + outcome_summary({summary.outcomes.begin(), summary.outcomes.end()});
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
  if (summary.warned > 0)
    text += fmt::format(
        "{} with warnings (spills, low occupancy): tiletune rank --db {} --sweep {} --columns "
        "template,parameters,median_us,warnings\n",
        summary.warned, database, summary.sweep_id);
  const auto has = [&](Outcome outcome) { return summary.outcomes.contains(outcome); };
  if ((has(Outcome::crashed) || has(Outcome::timeout)) &&
      std::ranges::none_of(std::array{Outcome::ok, Outcome::wrong_result, Outcome::unstable,
                                      Outcome::implausible, Outcome::out_of_bounds, Outcome::screened_out},
                           has))
    text +=
        "Every kernel that ran was lost. If the GPU failed, and not the kernels, measure again with "
        "--remeasure.\n";
  if (summary.failure)
    text +=
        "Stopped by an error, shown last. What was recorded before it is kept; run the same command again to "
        "continue.\n";
  if (summary.interrupted) text += "Interrupted: run the same command again to continue.\n";
  for (const std::string& gpu : summary.retired) text += printable(gpu) + "\n";
  if (summary.out_of_budget) text += "The time budget is spent: run the same command again to continue.\n";
  text += untried_lines(summary);
  if (summary.finals_left_out > 0)
    text += fmt::format("Finals of {} did not finish: run the same command again to run them.\n",
                        counted(summary.finals_left_out, "problem"));
  return text;
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
  constexpr std::pair<std::optional<SearchEnd>, const char*> kReasons[]{
      {std::nullopt, "the sweep ended before"},
      {SearchEnd::all_tried, "all tried"},
      {SearchEnd::strategy, "the strategy has nothing more to try"},
      {SearchEnd::gain, "the strategy expects no larger gain than --until"},
      {SearchEnd::evaluations, "its share of the evaluations"},
      {SearchEnd::time, "its share of the time"}};
  std::string text;
  std::size_t lines = 0, left_out = 0;
  for (const SearchedWorkload& one : summary.searched) {
    if (one.is_whole()) continue;
    if (++lines > kMostLines && ++left_out > 0) continue;
    const auto* const reason = std::find_if(std::begin(kReasons), std::end(kReasons),
                                            [&](const auto& entry) { return entry.first == one.end; });
    text += fmt::format("tried at {} on {}: {} of {} valid configurations ({})\n", printable(one.problem),
                        printable(one.gpu), one.tried, one.valid, reason->second);
  }
  if (left_out > 0) text += fmt::format("{} more problems were not tried whole\n", left_out);
  return text;
}

std::string headline(const ChosenGpus& gpus) {
  std::string text = fmt::format("tiletune {}: ", kVersion);
  for (const GpuSet& gpu_set : gpus.gpu_sets) {
    if (&gpu_set != &gpus.gpu_sets.front()) text += "; ";
    const Target& target = gpu_set.target();
    if (const std::size_t count = gpu_set.evaluators.size(); count > 1) text += fmt::format("{} x ", count);
    text += fmt::format("{}, {}, {} multiprocessors", printable(target.name), target.architecture,
                        target.model.multiprocessors);
  }
  const Target& target = gpus.gpu_sets.front().target();
  if (gpus.why_predicted.empty())
    return text + fmt::format("; driver {}, CUDA {}, NVRTC {}\n", target.driver_version, target.cuda_version,
                              nvrtc_version());
  return text + fmt::format(
                    "; NVRTC {}\nNo GPU is used: {}. Everything below is predicted for {} by a static model "
                    "({}): nothing is timed.\n",
                    nvrtc_version(), printable(gpus.why_predicted), target.name,
                    printable(target.static_model.provenance()));
}

std::string space_line(const std::vector<Task>& tasks, const TuneSpec& spec) {
  double raw = 0;
  double valid = 0;
  std::vector<std::string> empty;
  for (const Task& task : tasks) {
    raw += task.space.raw_size();
    valid += static_cast<double>(task.space.size());
    if (task.space.size() == 0) empty.push_back(printable(task.label()));
  }
  const auto evaluations = static_cast<double>(spec.budget.evaluations);
  const double planned = evaluations > 0 ? std::min(evaluations, valid) : valid;
  const char* const combinations =
      spec.templates.front().listed ? "listed configurations" : "raw combinations";
  std::set<std::string> names;
  for (const TemplateSpec& kernel : spec.templates) names.insert(kernel.name);
  std::string templates = counted(names.size(), "template");
  if (names.size() < spec.templates.size()) templates += " in " + counted(spec.templates.size(), "variant");
  const bool all_run_all = tasks.size() == spec.templates.size() * spec.problems.size();
  std::string text = fmt::format(
      "{}: {} {} {}{}: {:.0f} {}, {:.0f} valid{}, {}{:.0f} to try\n", printable(spec.name), templates,
      all_run_all ? "x" : "and", counted(spec.problems.size(), "problem"),
      all_run_all ? "" : " in " + counted(tasks.size(), "pair"), raw, combinations, valid,
      spec.shard.is_all() ? "" : " in shard " + spec.shard.label(),
      planned < valid || spec.budget.seconds > 0 || spec.budget.until_percent > 0 ? "at most " : "", planned);
  constexpr std::size_t kNamed = 4;
  if (empty.empty()) return text;
  const std::size_t more = empty.size() > kNamed ? empty.size() - kNamed : 0;
  empty.resize(empty.size() - more);
  return text + fmt::format("no valid configuration: {}{}; see tiletune space {}\n", join(empty, ", "),
                            more > 0 ? fmt::format(" and {} more", more) : "",
                            printable(shell_quoted(spec.file.string())));
}

namespace {

/// "2 others cannot be distinguished from it: sgemm_warptile PAD_A=4; sgemm_warptile PAD_A=8", of which those
/// behind the first of `leaders` are named.
std::string ties(const std::vector<Trial>& leaders, std::size_t others, bool predicted) {
  if (others == 0) return predicted ? "" : "; no other configuration ties with it";
  VaryingParameters parameters;
  for (const Trial& leader : leaders) parameters.add(leader);
  std::vector<std::string> names;
  for (const Trial& leader : std::span(leaders).subspan(1)) {
    const std::string differing = parameters.of(leader);
    names.push_back(leader.template_name + (differing.empty() ? "" : " " + printable(differing)));
  }
  if (others > names.size()) names.push_back(fmt::format("{} more", others - names.size()));
  return fmt::format("; {} cannot be distinguished from it: {}", counted(others, "other"), join(names, "; "));
}

/// What verification() needs to know of each row.
constexpr std::array<const char*, 5> kColumns{"kind", "outcome", "source", "relative_error", "error_bound"};

struct Errors {
  std::int64_t ran = 0;  ///< and were not wrong
  std::int64_t verified = 0;
  std::int64_t wrong = 0;
  std::optional<std::int64_t> nearest;  ///< id of the row whose error is the largest share of its bound
  double share = 0;

  void add(std::int64_t id, const Trial& row) {
    if (row.kind != "kernel" || row.source != Source::measured) return;
    wrong += row.outcome == Outcome::wrong_result ? 1 : 0;
    if (row.outcome != Outcome::ok && row.outcome != Outcome::screened_out) return;
    ++ran;
    if (!row.relative_error) return;
    ++verified;
    // Integers are exact: nothing lies nearer to its bound than any number.
    const double bound = row.error_bound.value_or(1);
    const double row_share = bound > 0 ? *row.relative_error / bound : 0;
    if (nearest && row_share <= share) return;
    nearest = id;
    share = row_share;
  }
};

const TemplateSpec* template_of(const TuneSpec& spec, const Trial& row) {
  const auto is_its = [&](const TemplateSpec& kernel) {
    return kernel.name == row.template_name && is_of_variant(row, kernel.operation);
  };
  const auto found = std::find_if(spec.templates.begin(), spec.templates.end(), is_its);
  return found == spec.templates.end() ? nullptr : &*found;
}

std::string verified_text(const Errors& errors) {
  if (errors.wrong == 0 && errors.verified == errors.ran) return "all verified";
  std::string text = fmt::format("{} verified", errors.verified);
  if (errors.wrong > 0) text += fmt::format(", {} wrong", errors.wrong);
  if (errors.verified < errors.ran) text += fmt::format(", {} not verified", errors.ran - errors.verified);
  return text;
}

/// The sentence that matters of a group of a sweep's rows: which configuration won, how it compares with each
/// baseline, and what cannot be distinguished from it; how sure that is stands under the table. Empty when
/// none ranks first. A sweep that is not `whole` has chosen so far only.
std::string verdict(const TuneSpec& spec, const RankingGroup& group, const Database& database, bool whole) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<Trial> leaders;  // the best choice first
  std::vector<Trial> baselines;
  std::size_t first = 0;  // of rank 1
  for (const RankedRow& row : group.rows) {
    if (row.rank == 0) baselines.push_back(database.row(row.id));
    if (row.rank == 1 && ++first <= kMostNamed) leaders.push_back(database.row(row.id));
  }
  if (leaders.empty()) return "";
  const Trial& best = leaders.front();
  const TemplateSpec* const kernel = template_of(spec, best);
  const std::string of_shard = spec.shard.is_all() ? "" : " of shard " + spec.shard.label();
  const std::string extent = of_shard + (whole ? "" : " so far");
  std::string text = fmt::format(
      "{} on {}: {} {} is the best choice{}{} at {} us", printable(group.problem), printable(group.gpu),
      kernel == nullptr ? best.template_name : printable(kernel->label()), printable(parameters_text(best)),
      extent, is_unverified(best) ? " (unverified)" : "", three_digits(*best.median_us));
  if (best.bound == "memory" && best.gbs)
    text += ", " + three_digits(*best.gbs) + " GB/s";
  else if (best.tflops)
    text += ", " + three_digits(*best.tflops) + " TFLOP/s";
  for (const Trial& baseline : baselines) {
    if (baseline.median_us)
      text +=
          fmt::format(", {:.1f}% of {}", 100 * *baseline.median_us / *best.median_us, baseline.template_name);
  }
  const bool predicted = group.source == Source::predicted;
  if (predicted) text += " (predicted)";
  return text + ties(leaders, first - 1, predicted) + "\n";
}

/// Where the best choices are not the fastest in another way of launching kernels, by more than the noise: a
/// line for each, by the problem's conditions.
std::map<Comparable, std::string> regime_notes(const std::vector<RankingGroup>& groups,
                                               const Database& database, const TrialFilter& filter,
                                               const MeasurePolicy& policy) {
  std::map<Comparable, std::string> notes;
  for (const Regime regime : policy.finals.regimes) {
    const std::string figure = fmt::format("{}_us", name(regime));
    const Column& column = column_by_name(figure);
    RankingRows rows = ranking_rows_by(figure, database, filter);
    const std::vector<RankingGroup> by_regime = rank_rows(rows);
    for (const RankingGroup& group : groups) {
      const Comparable& what = group;
      const auto other = std::ranges::find_if(by_regime, [&](const Comparable& one) { return one == what; });
      const auto best = std::ranges::find(group.rows, 1, &RankedRow::rank);
      if (other == by_regime.end() || best == group.rows.end()) continue;
      const auto first = std::ranges::find(other->rows, 1, &RankedRow::rank);
      const auto own = std::ranges::find(other->rows, best->id, &RankedRow::id);
      if (own == other->rows.end() || own->rank <= 1) continue;
      const Trial leader = database.row(first->id);
      const double percent =
          100 *
          (std::get<double>(column.read(database.row(best->id))) / std::get<double>(column.read(leader)) - 1);
      notes[what] += fmt::format("{}: the best choice is {:.1f}% slower than {} {}\n", name(regime), percent,
                                 printable(leader.template_name), printable(parameters_text(leader)));
    }
  }
  return notes;
}

/// How accurate a sweep's results are: the largest relative error against its bound, where the bound comes
/// from, and the baseline's own error. Empty when nothing was measured.
std::string verification(const TuneSpec& spec, const Database& database, const TrialFilter& filter) {
  Errors errors;
  database.for_each(filter, kColumns, [&](std::int64_t id, const Trial& row) { errors.add(id, row); });
  if (errors.ran == 0) return "";
  if (!errors.nearest) return "not verified: results were not compared with a reference\n";
  const Trial row = database.row(*errors.nearest);
  if (row.error_bound && *row.error_bound == 0) return verified_text(errors) + ": every integer is exact\n";
  std::string text =
      fmt::format("{}: largest relative error {:.1e}", verified_text(errors), *row.relative_error);
  const TemplateSpec* const kernel = template_of(spec, row);
  if (row.error_bound) {
    text += fmt::format(", bound {:.1e}", *row.error_bound);
    if (kernel != nullptr) text += fmt::format(" ({})", error_bound_text(*kernel));
  } else if (kernel != nullptr && kernel->operation.tolerance) {
    const auto& [absolute, relative] = *kernel->operation.tolerance;
    text += fmt::format(", every element within {} + {} x |reference|", absolute, relative);
  }
  if (row.baseline_error) text += fmt::format(", {}'s own {:.1e}", row.baseline, *row.baseline_error);
  if (spec.problems.size() > 1) text += fmt::format("; at {}, where it is nearest to its bound", row.problem);
  return text + "\n";
}

}  // namespace

std::string error_bound_text(const TemplateSpec& spec) {
  std::vector<std::string> outputs;
  for (const Buffer& buffer : spec.operation.buffers) {
    const std::string type(name(buffer.type));
    if (buffer.role != BufferRole::in && std::find(outputs.begin(), outputs.end(), type) == outputs.end())
      outputs.push_back(type);
  }
  const std::string accumulator(name(spec.operation.accumulator));
  const std::string& length = spec.operation.accumulation.text;
  const bool alike = outputs == std::vector{accumulator} && !spec.operation.accumulation_bits;
  const auto bits = spec.operation.accumulation_bits;
  const std::string of_sums = bits ? fmt::format("2^-{}", *bits) : fmt::format("u({})", accumulator);
  std::string text =
      alike
          ? fmt::format("2 u + 2 sqrt({}) u, u: the unit roundoff of {}", length, accumulator)
          : fmt::format("2 u({}) + 2 sqrt({}) {}, u: unit roundoff", join(outputs, " or "), length, of_sums);
  if (spec.operation.consensus > 0 || !spec.reference.empty()) text = fmt::format("2 x ({})", text);
  if (spec.tolerance_factor != 1) text = fmt::format("{:g} x ({})", spec.tolerance_factor, text);
  return text;
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
    auto notes = regime_notes(groups, database, filter, spec.measure);
    for (const RankingGroup& group : groups)
      out << verdict(spec, group, database, is_whole(summary, group)) << notes[group];
    out << verification(spec, database, filter);
    if (!groups.empty() && !summary.failure)
      out << fmt::format("export the best: tiletune export --best --db {} --sweep {} -o best.json\n",
                         printable(shell_quoted(database.file().string())), summary.sweep_id);
  });
  if (summary.failure) std::rethrow_exception(summary.failure);
  if (summary.interrupted) return kInterrupted;
  if (!groups.empty()) return 0;
  if (summary.out_of_budget && summary.finished == 0)
    throw NothingToDo("the budget was spent before the first configuration was finished",
                      Where{spec.file.string(), ""}, "Raise --budget, or narrow the space.");
  std::string list = fmt::format("See why: tiletune rank --db {} --sweep {}",
                                 shell_quoted(database.file().string()), summary.sweep_id);
  for (const auto& [outcome, count] : database.outcome_counts(filter))
    if (outcome != Outcome::ok) list += fmt::format(" --outcome {}", name(outcome));
  std::string why;
  if (!failures.empty())
    why = printable(fmt::format("; {}{}: {}", failures.size() > 1 ? "most of them: " : "",
                                name(failures.front().outcome), failures.front().reason));
  throw NothingToDo("no configuration ran" + why, Where{spec.file.string(), ""}, list);
}

}  // namespace tiletune
