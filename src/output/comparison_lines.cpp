#include "output/comparison_lines.h"

#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "output/comparison.h"
#include "output/display.h"

namespace tiletune {

namespace {

std::string sources_text(const std::set<Source>& sources) {
  std::vector<std::string> names;
  for (const Source source : sources) names.emplace_back(name(source));
  return join(names, " and ");
}

std::string side_name(const Comparison& comparison, std::size_t side) {
  return printable(comparison.sides.at(side).name);
}

std::string pair_line(const Comparison& comparison, const PairOfSides& pair) {
  const std::string sides =
      fmt::format("{} and {}", side_name(comparison, pair.first), side_name(comparison, pair.second));
  if (pair.common == 0) return fmt::format("{}: no configuration ran on both", sides);
  const std::string spearman = pair.spearman ? fmt::format("Spearman {:.3f} over", *pair.spearman)
                                             : std::string("no rank correlation in");
  return fmt::format("{}: {} {} common configuration{}; of the fastest 1% on each ({}) {} the same", sides,
                     spearman, pair.common, pair.common == 1 ? "" : "s", pair.top,
                     pair.top_shared == 1 ? "1 is" : fmt::format("{} are", pair.top_shared));
}

std::string joined_line(const JoinedTemplate& joined) {
  const std::vector<std::string> common(joined.common.begin(), joined.common.end());
  const std::vector<std::string> ignored(joined.ignored.begin(), joined.ignored.end());
  return printable(fmt::format(
      "rows of {} are joined by what all sides record, {}, and the fastest of each counts; not all record {}",
      joined.name, join(common, ", "), join(ignored, ", ")));
}

void add_notes_on_sides(const Comparison& comparison, const ComparedProblem& problem,
                        std::vector<std::string>& lines) {
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    const SideOfProblem& facts = problem.sides[side];
    if (facts.screened > 0) {
      lines.push_back(
          fmt::format("{}: {} of {} configurations were given up as slow (~); their times are of "
                      "few samples",
                      side_name(comparison, side), facts.screened, facts.ran));
    }
    if (!facts.left_out.empty()) {
      lines.push_back(
          fmt::format("{}: {} times are left out, because there are {} ones (--source picks others)",
                      side_name(comparison, side), sources_text(facts.left_out), name(facts.source)));
    }
  }
}

/// "the best of A100 40GB on H100 SXM, NVIDIA H200", by what is lacking.
void add_unmeasured(const Comparison& comparison, const ComparedProblem& problem,
                    std::vector<std::string>& lines) {
  for (std::size_t from = 0; from < problem.best_of.size(); ++from) {
    std::vector<std::string> lacking;
    const std::vector<Standing>& on = problem.best_of[from].on;
    for (std::size_t to = 0; to < on.size(); ++to) {
      if (on[to].known == Known::unmeasured) lacking.push_back(side_name(comparison, to));
    }
    if (lacking.empty()) continue;
    lines.push_back(fmt::format("unmeasured (?): the best of {} on {}; --fill FILE writes the config for it",
                                side_name(comparison, from), join(lacking, ", ")));
  }
}

std::string interval(const Standing& standing) {
  return fmt::format("{}..{}", three_digits(standing.low_us), three_digits(standing.high_us));
}

std::string slowdown_line(const Comparison& comparison, const Slowdown& slower, double above) {
  const ComparedProblem& problem = comparison.problems[slower.problem];
  const Standing& first = problem.best_of[slower.first].on[slower.first];
  const Standing& later = problem.best_of[slower.later].on[slower.later];
  const std::string verdict = slower.is_certain ? fmt::format("beyond {}% and the noise", above)
                                                : "but within the noise: not counted";
  return fmt::format("slower: {}: {} takes {} us on {}, {} us on {}: {:+.2f}%, {} (intervals {} and {})",
                     title_of(problem), "the best", three_digits(first.time_us),
                     side_name(comparison, slower.first), three_digits(later.time_us),
                     side_name(comparison, slower.later), slower.percent, verdict, interval(first),
                     interval(later));
}

/// By side, the problems that it alone has.
std::map<std::size_t, std::vector<std::string>> problems_of_one_side(const Comparison& comparison) {
  std::map<std::size_t, std::vector<std::string>> alone;
  for (const ComparedProblem& problem : comparison.problems) {
    if (problem.sides_with_kernels() != 1) continue;
    for (std::size_t side = 0; side < problem.sides.size(); ++side) {
      if (problem.sides[side].has_kernels) alone[side].push_back(title_of(problem));
    }
  }
  return alone;
}

}  // namespace

std::vector<std::string> lines_above(const Comparison& comparison) {
  if (!comparison.mixes_sources()) return {};
  std::vector<std::string> sides;
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    const std::set<Source>& sources = comparison.sides[i].sources;
    if (!sources.empty())
      sides.push_back(fmt::format("{} {}", side_name(comparison, i), sources_text(sources)));
  }
  return {fmt::format("warning: times of different sources stand side by side: {}", join(sides, "; "))};
}

std::vector<std::string> lines_under(const Comparison& comparison, const ComparedProblem& problem) {
  std::vector<std::string> lines;
  for (const PairOfSides& pair : problem.pairs) lines.push_back(pair_line(comparison, pair));
  for (const JoinedTemplate& joined : problem.joined) lines.push_back(joined_line(joined));
  add_notes_on_sides(comparison, problem, lines);
  add_unmeasured(comparison, problem, lines);
  if (!problem.compromise) lines.emplace_back("no compromise: no configuration ran on every side");
  return lines;
}

std::vector<std::string> closing_lines(const Comparison& comparison, std::optional<double> fail_above) {
  std::vector<std::string> lines;
  for (const auto& [side, problems] : problems_of_one_side(comparison)) {
    constexpr std::size_t kMostShown = 5;
    const std::vector<std::string> shown(
        problems.begin(),
        problems.begin() + static_cast<std::ptrdiff_t>(std::min(kMostShown, problems.size())));
    const std::string more =
        problems.size() > kMostShown ? fmt::format(", and {} more", problems.size() - kMostShown) : "";
    lines.push_back(fmt::format("only {} has {}{}", side_name(comparison, side), join(shown, ", "), more));
  }
  if (!fail_above) return lines;
  const std::vector<Slowdown> slower = slowdowns(comparison, *fail_above);
  for (const Slowdown& each : slower) lines.push_back(slowdown_line(comparison, each, *fail_above));
  if (slower.empty())
    lines.push_back(fmt::format(
        "no problem's best is more than {}% slower than on the first side that has it", *fail_above));
  return lines;
}

}  // namespace tiletune
