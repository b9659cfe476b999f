#include "inspect/hot_loop.h"

#include <algorithm>
#include <cmath>
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
  for (const auto& [begin, end] : end_by_begin) loops.push_back({begin, end});
  return loops;
}

std::vector<int> depths_of(const std::vector<Range>& loops, std::size_t size) {
  std::vector<int> change(size + 1, 0);
  for (const Range& loop : loops) {
    ++change[loop.begin];
    --change[loop.end + 1];
  }
  std::vector<int> depths(size, 0);
  int depth = 0;
  for (std::size_t i = 0; i < size; ++i) depths[i] = depth += change[i];
  return depths;
}

double weight_of(int depth_in_nest) { return std::pow(kAssumedTurns, std::min(depth_in_nest, 6)); }

bool is_math(SassKind kind) {
  return kind == SassKind::fma || kind == SassKind::fma_pair || kind == SassKind::add_or_multiply;
}

double math_of(const std::vector<SassInstruction>& code, const std::vector<int>& depths, const Range& loop) {
  double math = 0;
  for (std::size_t i = loop.begin; i <= loop.end; ++i) {
    if (is_math(code[i].kind)) math += weight_of(depths[i]);
  }
  return math;
}

}  // namespace

HotLoop find_hot_loop(const std::vector<SassInstruction>& code) {
  const std::vector<Range> loops = find_loops(code);
  const std::vector<int> depths = depths_of(loops, code.size());
  HotLoop hot;
  Range best = {0, code.empty() ? 0 : code.size() - 1};
  double most_math = 0;
  for (const Range& loop : loops) {
    const bool outermost = std::none_of(loops.begin(), loops.end(), [&](const Range& other) {
      return other.holds(loop) && (other.begin != loop.begin || other.end != loop.end);
    });
    const double math = outermost ? math_of(code, depths, loop) : 0;
    if (math > most_math) {
      most_math = math;
      best = loop;
      hot.is_loop = true;
    }
  }
  const int depth_around = hot.is_loop ? 1 : 0;
  for (std::size_t i = best.begin; i < code.size() && i <= best.end; ++i) {
    if (code[i].kind != SassKind::nothing) {
      hot.instructions.push_back({i, weight_of(std::max(0, depths[i] - depth_around))});
    }
  }
  return hot;
}

}  // namespace tiletune
