#include <algorithm>
#include <map>
#include <optional>

#include "inspect/kernel_code.h"

namespace tiletune {
namespace {

struct Range {
  std::size_t begin = 0, end = 0;  ///< the end is included

  bool holds(const Range& other) const {
    return begin <= other.begin && other.end <= end && (begin != other.begin || end != other.end);
  }
};

/// By their begin: branches to the same target belong to one loop.
using Loops = std::map<std::size_t, Range>;

template <typename Predicate>
bool any_in(const std::vector<SassInstruction>& code, const Range& range, const Predicate& predicate) {
  return std::any_of(code.begin() + static_cast<std::ptrdiff_t>(range.begin),
                     code.begin() + static_cast<std::ptrdiff_t>(range.end) + 1, predicate);
}

bool exits(const SassInstruction& instruction) {
  return instruction.kind == SassKind::exit && !instruction.conditional;
}

bool has_math(const SassInstruction& instruction) { return instruction.flops > 0; }

bool loads_tiles(const SassInstruction& instruction) {
  return instruction.is_one_of({SassKind::global_load, SassKind::async_copy, SassKind::bulk_load});
}

bool writes_results(const SassInstruction& instruction) {
  return instruction.is_one_of({SassKind::global_store, SassKind::global_reduction, SassKind::bulk_store});
}

/// A branch to itself ends a kernel and is not a loop.
Loops find_loops(const std::vector<SassInstruction>& code) {
  Loops loops;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!code[i].target || *code[i].target >= static_cast<std::int64_t>(i)) continue;
    const Range loop = {static_cast<std::size_t>(*code[i].target), i};
    if (!any_in(code, loop, exits)) loops[loop.begin] = loop;
  }
  return loops;
}

int turns_of(const std::vector<SassInstruction>& code, const Range& loop) {
  return any_in(code, loop, has_math) ? kAssumedTurns : 1;
}

/// Writes one turn of a range out, bounded also for damaged code with thousands of overlapping loops.
void append_turn(const std::vector<SassInstruction>& code, const Loops& loops, const Range& range, int depth,
                 std::vector<std::size_t>& trace) {
  constexpr std::size_t kLongest = 50000;
  constexpr int kDeepest = 16;
  for (std::size_t i = range.begin; i <= range.end; ++i) {
    const auto inner = loops.find(i);
    if (inner == loops.end() || !range.holds(inner->second) || depth == kDeepest) {
      if (code[i].kind != SassKind::nothing) trace.push_back(i);
      continue;
    }
    const int turns = turns_of(code, inner->second);
    for (int turn = 0; turn < turns && (turn == 0 || trace.size() < kLongest); ++turn)
      append_turn(code, loops, inner->second, depth + 1, trace);
    i = inner->second.end;
  }
}

std::vector<std::size_t> trace_of(const std::vector<SassInstruction>& code, const Loops& loops,
                                  const Range& range) {
  std::vector<std::size_t> trace;
  append_turn(code, loops, range, 0, trace);
  return trace;
}

struct LoopCandidate {
  Range range;
  double flops = 0;    ///< of all its turns
  bool loads = false;  ///< tiles, from global memory
  std::size_t instructions = 0;
};

/// The last tiles of a pipeline have a loop of their own, with as much arithmetic but nothing to load, and so
/// have edges, with more around the arithmetic.
bool is_busier(const LoopCandidate& one, const LoopCandidate& other) {
  constexpr double kAsMuch = 0.9;
  if (one.flops < kAsMuch * other.flops || other.flops < kAsMuch * one.flops) return one.flops > other.flops;
  if (one.loads != other.loads) return one.loads;
  return one.instructions < other.instructions;
}

/// The busiest of the loops that `admits` lets pass and that lie in no other such loop.
template <typename Predicate>
std::optional<LoopCandidate> busiest(const std::vector<SassInstruction>& code, const Loops& loops,
                                     const Predicate& admits) {
  std::optional<LoopCandidate> best;
  for (const auto& [begin, loop] : loops) {
    const bool inside_another = std::any_of(loops.begin(), loops.end(), [&, inner = loop](const auto& entry) {
      return entry.second.holds(inner) && admits(entry.second);
    });
    if (inside_another || !admits(loop)) continue;
    const std::vector<std::size_t> trace = trace_of(code, loops, loop);
    double flops = 0;
    for (const std::size_t index : trace) flops += code[index].flops;
    const LoopCandidate candidate = {loop, turns_of(code, loop) * flops, any_in(code, loop, loads_tiles),
                                     trace.size()};
    if (candidate.flops > 0 && (!best || is_busier(candidate, *best))) best = candidate;
  }
  return best;
}

/// Goes from the loop over tiles, which writes them, to the one over k, if that has a good part of the work.
Range inside_tiles(const std::vector<SassInstruction>& code, const Loops& loops, const LoopCandidate& outer) {
  if (!any_in(code, outer.range, writes_results)) return outer.range;
  const auto inner = busiest(code, loops, [&](const Range& loop) {
    return outer.range.holds(loop) && !any_in(code, loop, writes_results);
  });
  constexpr double kGoodPart = 0.125;
  const double once = outer.flops / turns_of(code, outer.range);
  return inner && inner->flops >= kGoodPart * once ? inner->range : outer.range;
}

/// The hot loop loads nothing from global memory, and a loop that does no arithmetic does.
bool is_fed_by_other_warps(const std::vector<SassInstruction>& code, const Loops& loops, const Range& hot) {
  if (any_in(code, hot, loads_tiles)) return false;
  return std::any_of(loops.begin(), loops.end(), [&](const auto& entry) {
    const Range& loop = entry.second;
    return !loop.holds(hot) && !any_in(code, loop, has_math) && any_in(code, loop, loads_tiles) &&
           any_in(code, loop, [](const SassInstruction& instruction) {
             return instruction.is_one_of({SassKind::mbarrier, SassKind::barrier});
           });
  });
}

}  // namespace

HotLoop find_hot_loop(const std::vector<SassInstruction>& code) {
  HotLoop hot;
  if (code.empty()) return hot;
  const Loops loops = find_loops(code);
  Range range = {0, code.size() - 1};
  if (const auto outermost = busiest(code, loops, [](const Range&) { return true; })) {
    range = inside_tiles(code, loops, *outermost);
    hot.is_loop = true;
    hot.fed_by_other_warps = is_fed_by_other_warps(code, loops, range);
  }
  hot.trace = trace_of(code, loops, range);
  std::map<std::size_t, double> counts;
  for (const std::size_t index : hot.trace) ++counts[index];
  for (const auto& [index, count] : counts) hot.instructions.push_back({index, count});
  hot.begin = range.begin;
  hot.end = range.end + 1;
  return hot;
}

}  // namespace tiletune
