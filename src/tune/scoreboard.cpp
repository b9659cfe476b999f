#include "tune/scoreboard.h"

#include <fmt/format.h>

#include "base/text.h"
#include "store/trial.h"

namespace tiletune {

namespace {

std::string best_text(const Trial& row) {
  std::string text = fmt::format("{} us", three_digits(row.median_us.value_or(0)));
  if (row.gbs && (row.bound == "memory" || !row.tflops))
    text = fmt::format("{:.0f} GB/s", *row.gbs);
  else if (row.tflops)
    text = fmt::format("{:.1f} TFLOP/s", *row.tflops);
  if (row.percent_of_baseline) text += fmt::format(", {:.1f}% of {}", *row.percent_of_baseline, row.baseline);
  if (is_unverified(row)) text += ", unverified";
  return text + " (" + row.template_name + ")";
}

}  // namespace

void Scoreboard::add(const Task& task, const Trial& row) {
  task_ = task.label();
  place_ = row.gpu + " " + row.problem;
  if (row.outcome != Outcome::ok || !row.median_us) return;
  const auto [best, is_first] = best_.try_emplace(place_, Best{*row.median_us, best_text(row)});
  if (!is_first && *row.median_us < best->second.median_us) best->second = {*row.median_us, best_text(row)};
}

ProgressState Scoreboard::state(const Task& first_task) const {
  ProgressState state;
  state.task = task_.empty() ? first_task.label() : task_;
  if (const auto best = best_.find(place_); best != best_.end()) state.best = best->second.text;
  return state;
}

}  // namespace tiletune
