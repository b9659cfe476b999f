#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

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
  std::string text = fmt::format("{}: {} {} common configuration{}", sides, spearman, pair.common,
                                 pair.common == 1 ? "" : "s");
  // One percent of a few configurations says nothing.
  constexpr std::size_t kFewestInTop = 5;
  if (pair.top < kFewestInTop) return text;
  return text + fmt::format("; of the fastest 1% on each ({}) {} the same", pair.top,
                            pair.top_shared == 1 ? "1 is" : fmt::format("{:.4g} are", pair.top_shared));
}

bool has_unverified(const Portability& shown) {
  return std::ranges::any_of(shown.on, [](const Standing& on) { return on.verified == false; });
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
    // Kernels of other tools seldom have a template here.
    const bool is_foreign = problem.sides[from].source == Source::imported;
    lines.push_back(fmt::format(
        "unmeasured (?): the best of {} on {}; --fill FILE writes the config that measures it{}",
        side_name(comparison, from), join(lacking, ", "), is_foreign ? " if its template exists here" : ""));
  }
}

std::string slowdown_line(const Comparison& comparison, const Slowdown& slower, double above) {
  const ComparedProblem& problem = comparison.problems[slower.problem];
  const SideOfProblem& first = problem.sides[slower.first];
  const SideOfProblem& later = problem.sides[slower.later];
  const std::string first_name = side_name(comparison, slower.first);
  const std::string later_name = side_name(comparison, slower.later);
  if (!slower.percent) {
    const std::size_t count = later.failed + later.undecided;
    return fmt::format(
        "slower: {}: runs on {}, no longer on {}: {}", title_of(problem), first_name, later_name,
        count == 1 ? "its only configuration fails" : fmt::format("all its {} configurations fail", count));
  }
  std::string text = fmt::format("slower: {}: the fastest takes {} us on {}, {} us on {}: {:+.2f}%, ",
                                 title_of(problem), three_digits(first.fastest.time_us), first_name,
                                 three_digits(later.fastest.time_us), later_name, *slower.percent);
  if (!slower.has_intervals)
    return text + fmt::format("beyond {}%; neither has an interval, so the noise is unknown", above);
  text += slower.is_certain ? fmt::format("beyond {}% and the noise", above)
                            : "but within the noise: not counted";
  return text + fmt::format(" (intervals {}..{} and {}..{})", three_digits(first.fastest.low_us),
                            three_digits(first.fastest.high_us), three_digits(later.fastest.low_us),
                            three_digits(later.fastest.high_us));
}

/// By side, the problems that it alone has.
std::map<std::size_t, std::vector<std::string>> problems_of_one_side(const Comparison& comparison) {
  std::map<std::size_t, std::vector<std::string>> alone;
  for (const ComparedProblem& problem : comparison.problems) {
    if (problem.sides_with_kernels() != 1) continue;
    std::string title = title_of(problem);
    for (std::size_t side = 0; side < problem.sides.size(); ++side) {
      const SideOfProblem& facts = problem.sides[side];
      if (facts.has_rows && !facts.has_kernels)
        title += fmt::format(", of which nothing ran on {}", side_name(comparison, side));
    }
    for (std::size_t side = 0; side < problem.sides.size(); ++side) {
      if (problem.sides[side].has_kernels) alone[side].push_back(title);
    }
  }
  return alone;
}

std::string first_few(const std::vector<std::string>& problems) {
  constexpr std::size_t kMostShown = 5;
  if (problems.size() <= kMostShown) return join(problems, ", ");
  return fmt::format("{}, and {} more", join(std::span(problems).first(kMostShown), ", "),
                     problems.size() - kMostShown);
}

void add_regressions(const Comparison& comparison, double above, std::vector<std::string>& lines) {
  const std::vector<Slowdown> slower = slowdowns(comparison, above);
  for (const Slowdown& each : slower) lines.push_back(slowdown_line(comparison, each, above));
  if (slower.empty()) {
    lines.push_back(fmt::format(
        "no problem's fastest is more than {}% slower than on the first side where it ran", above));
  }
  std::map<std::size_t, std::vector<std::string>> lacking;
  for (const Unchecked& each : unchecked(comparison))
    lacking[each.side].push_back(title_of(comparison.problems[each.problem]));
  for (const auto& [side, problems] : lacking) {
    lines.push_back(
        fmt::format("not checked: {} has no row of {}", side_name(comparison, side), first_few(problems)));
  }
}

}  // namespace

Lines lines_above(const Comparison& comparison) {
  Lines lines;
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    const std::set<Source>& its_sources = comparison.sides[i].sources;
    if (!its_sources.empty())
      sources.push_back(fmt::format("{} {}", side_name(comparison, i), sources_text(its_sources)));
  }
  if (comparison.mixes_sources())
    lines.push_back(
        fmt::format("warning: times of different sources are shown side by side: {}", join(sources, "; ")));
  // Where sides are no GPUs, times of several stand in one comparison, each problem on its own.
  std::set<std::string> gpus;
  for (const ComparedProblem& problem : comparison.problems) gpus.insert(problem.gpu);
  if (comparison.by == CompareBy::gpu || gpus.size() < 2) return lines;
  std::vector<std::string> sides;
  for (const ComparedSide& side : comparison.sides)
    sides.push_back(fmt::format("{} of {}", side.name, fmt::join(side.gpus, ", ")));
  lines.push_back(
      printable(fmt::format("note: there are several GPUs, and each is compared on its own (--gpu "
                            "picks one): {}",
                            join(sides, "; "))));
  return lines;
}

Lines lines_under(const Comparison& comparison, const ComparedProblem& problem) {
  Lines lines;
  for (const PairOfSides& pair : problem.pairs) lines.push_back(pair_line(comparison, pair));
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    const SideOfProblem& facts = problem.sides[side];
    if (facts.screened > 0)
      lines.push_back(fmt::format(
          "{}: {} of {} configurations were dropped as slow (~); their times come from few samples",
          side_name(comparison, side), facts.screened, facts.ran));
  }
  for (std::string& line : notes_on(comparison, problem)) lines.push_back(std::move(line));
  add_unmeasured(comparison, problem, lines);
  if (std::ranges::any_of(problem.best_of, has_unverified) ||
      (problem.compromise && has_unverified(*problem.compromise)) ||
      (problem.safest && has_unverified(*problem.safest)))
    lines.emplace_back("unverified: results that were compared with nothing");
  if (!problem.compromise) lines.emplace_back("no compromise: no configuration ran on every side");
  return lines;
}

Lines notes_on(const Comparison& comparison, const ComparedProblem& problem) {
  Lines lines;
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    const SideOfProblem& facts = problem.sides[side];
    if (!facts.left_out.empty())
      lines.push_back(
          fmt::format("{}: {} times are left out, because there are {} ones (--source picks others)",
                      side_name(comparison, side), sources_text(facts.left_out), name(facts.source)));
  }
  return lines;
}

Lines closing_lines(const Comparison& comparison, std::optional<double> fail_above) {
  Lines lines;
  for (const auto& [side, problems] : problems_of_one_side(comparison))
    lines.push_back(fmt::format("only {} has {}", side_name(comparison, side), first_few(problems)));
  if (fail_above) add_regressions(comparison, *fail_above, lines);
  return lines;
}

}  // namespace tiletune
