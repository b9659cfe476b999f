#include "inspect/hot_loop.h"

#include <algorithm>
#include <map>

namespace tiletune {
namespace {

struct Range {
  std::size_t begin = 0, end = 0;  ///< the end is included

  bool holds(const Range& other) const { return begin <= other.begin && other.end <= end; }
};

bool has_unconditional_exit(const std::vector<SassInstruction>& code, const Range& range) {
  return std::any_of(code.begin() + static_cast<std::ptrdiff_t>(range.begin),
                     code.begin() + static_cast<std::ptrdiff_t>(range.end),
                     [](const SassInstruction& instruction) {
                       return instruction.kind == SassKind::exit && !instruction.conditional;
                     });
}

/// Branches to the same target belong to one loop; a branch to itself ends a kernel and is none.
std::vector<Range> find_loops(const std::vector<SassInstruction>& code) {
  std::map<std::size_t, std::size_t> end_by_begin;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!code[i].target || *code[i].target >= static_cast<std::int64_t>(i)) continue;
    const auto begin = static_cast<std::size_t>(*code[i].target);
    if (!has_unconditional_exit(code, {begin, i})) end_by_begin[begin] = i;
  }
  std::vector<Range> loops;
  loops.reserve(end_by_begin.size());
  for (const auto& [begin, end] : end_by_begin) loops.push_back({begin, end});
  return loops;
}

bool is_math(SassKind kind) {
  return kind == SassKind::fma || kind == SassKind::fma_pair || kind == SassKind::add_or_multiply;
}

double turns_of(const std::vector<SassInstruction>& code, const Range& loop) {
  const bool math = std::any_of(code.begin() + static_cast<std::ptrdiff_t>(loop.begin),
                                code.begin() + static_cast<std::ptrdiff_t>(loop.end),
                                [](const SassInstruction& instruction) { return is_math(instruction.kind); });
  return math ? kAssumedTurns : kAssumedCopyTurns;
}

/// How often each instruction runs: the product of the turns of the loops around it.
std::vector<double> weights_of(const std::vector<SassInstruction>& code, const std::vector<Range>& loops) {
  constexpr double kMost = 1e6;  // keeps thousands of overlapping ranges of damaged code finite
  std::vector<double> weights(code.size(), 1);
  for (const Range& loop : loops) {
    const double turns = turns_of(code, loop);
    for (std::size_t i = loop.begin; i <= loop.end; ++i) weights[i] = std::min(kMost, weights[i] * turns);
  }
  return weights;
}

double math_of(const std::vector<SassInstruction>& code, const std::vector<double>& weights,
               const Range& loop) {
  double math = 0;
  for (std::size_t i = loop.begin; i <= loop.end; ++i) {
    if (is_math(code[i].kind)) math += weights[i];
  }
  return math;
}

}  // namespace

HotLoop find_hot_loop(const std::vector<SassInstruction>& code) {
  const std::vector<Range> loops = find_loops(code);
  const std::vector<double> weights = weights_of(code, loops);
  HotLoop hot;
  Range best = {0, code.empty() ? 0 : code.size() - 1};
  double most_math = 0;
  for (const Range& loop : loops) {
    const bool outermost = std::none_of(loops.begin(), loops.end(), [&](const Range& other) {
      return other.holds(loop) && (other.begin != loop.begin || other.end != loop.end);
    });
    const double math = outermost ? math_of(code, weights, loop) : 0;
    if (math > most_math) {
      most_math = math;
      best = loop;
      hot.is_loop = true;
    }
  }
  const double turns = hot.is_loop ? turns_of(code, best) : 1;
  for (std::size_t i = best.begin; i < code.size() && i <= best.end; ++i) {
    if (code[i].kind != SassKind::nothing) hot.instructions.push_back({i, weights[i] / turns});
  }
  return hot;
}

}  // namespace tiletune
