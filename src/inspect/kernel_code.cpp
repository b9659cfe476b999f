#include "inspect/kernel_code.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "inspect/elf.h"

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

void add(InstructionMix& mix, const SassInstruction& instruction) {
  using enum SassKind;
  using Mix = InstructionMix;
  static constexpr std::pair<SassKind, Mix::Accesses Mix::*> kAccesses[] = {
      {shared_load, &Mix::shared_loads},
      {shared_store, &Mix::shared_stores},
      {global_load, &Mix::global_loads},
      {global_store, &Mix::global_stores},
      {async_copy, &Mix::async_copies}};
  static constexpr std::pair<SassKind, double Mix::*> kCounters[] = {
      {add_or_multiply, &Mix::other_math}, {half_math, &Mix::other_math},
      {double_math, &Mix::other_math},     {tensor, &Mix::tensor},
      {tensor_async, &Mix::tensor},        {conversion, &Mix::conversions},
      {shared_atomic, &Mix::reductions},   {global_reduction, &Mix::reductions},
      {bulk_load, &Mix::bulk_copies},      {bulk_store, &Mix::bulk_copies},
      {mbarrier, &Mix::mbarriers},         {local_load, &Mix::spill_loads},
      {local_store, &Mix::spill_stores},   {barrier, &Mix::barriers},
      {cluster_barrier, &Mix::barriers},   {branch, &Mix::branches},
      {SassKind::exit, &Mix::branches}};
  if (instruction.kind == nothing) return;
  ++mix.instructions;
  mix.stall_clocks += std::max(1, instruction.stall());
  if (instruction.kind == SassKind::fma || instruction.kind == fma_pair) {
    ++mix.fma_slots;
    mix.fma += instruction.kind == fma_pair ? 2 : 1;
    return;
  }
  for (const auto& [kind, member] : kAccesses) {
    if (kind != instruction.kind) continue;
    Mix::Accesses& accesses = mix.*member;
    const int bytes = instruction.bytes;
    ++(bytes == 4    ? accesses.by_4
       : bytes == 8  ? accesses.by_8
       : bytes == 16 ? accesses.by_16
                     : accesses.narrower);
    return;
  }
  const auto* const counted =
      std::ranges::find(kCounters, instruction.kind, [](const auto& counter) { return counter.first; });
  ++(counted == std::end(kCounters) ? mix.other : mix.*counted->second);
}

/// Sections of names, whose order and offsets change with a name's length, and those that no GPU reads.
bool is_run(std::string_view section) {
  constexpr std::array kNotRun{".shstrtab", ".strtab",     ".symtab",    ".note",          ".debug",
                               ".nv_debug", ".rela.debug", ".rel.debug", ".rela.nv_debug", ".rel.nv_debug"};
  return std::none_of(kNotRun.begin(), kNotRun.end(),
                      [&](const char* prefix) { return section.starts_with(prefix); });
}

/// What each of the kernels' names stands for: the first for nothing, the others for their number.
using Numbers = std::vector<std::pair<std::string_view, std::string>>;

/// What is called after a kernel, called after its number.
std::string numbered(const Numbers& numbers, std::string_view name) {
  std::string text(name);
  for (const auto& [symbol, number] : numbers) {
    if (symbol.empty()) continue;
    for (std::size_t at = text.find(symbol); at != std::string::npos;
         at = text.find(symbol, at + number.size()))
      text.replace(at, symbol.size(), number);
  }
  return text;
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

KernelCode read_kernel_code(const Binary& binary, std::size_t kernel) {
  const CubinElf elf(binary.cubin);
  const std::string& symbol = binary.kernel_symbols.at(kernel);
  const ElfSection* section = elf.section(".text." + symbol);
  if (section == nullptr) throw_bad_cubin("it has no kernel " + symbol);
  KernelCode code;
  code.instructions = decode_sass(section->bytes, elf.architecture());
  code.loop = find_hot_loop(code.instructions);
  return code;
}

Arithmetic arithmetic_of(const Binary& binary) {
  using enum SassKind;
  constexpr int kLastKnownArchitecture = 121;
  try {
    const CubinElf elf(binary.cubin);
    if (elf.architecture() > kLastKnownArchitecture) return Arithmetic::unknown;
    bool has_fp32 = false;
    bool has_half = false;
    for (const std::string& symbol : binary.kernel_symbols) {
      for (const ElfSection* section : elf.code_of(symbol)) {
        for (const SassInstruction& instruction : decode_sass(section->bytes, elf.architecture())) {
          if (instruction.is_one_of({tensor, tensor_async})) return Arithmetic::tensor;
          has_fp32 = has_fp32 || instruction.is_one_of({SassKind::fma, fma_pair, add_or_multiply});
          has_half = has_half || instruction.kind == half_math;
        }
      }
    }
    return has_fp32 && !has_half ? Arithmetic::fp32 : Arithmetic::unknown;
  } catch (const UserError&) {
    return Arithmetic::unknown;
  }
}

InstructionMix mix_of_loop(const KernelCode& code) {
  InstructionMix mix;
  for (const std::size_t index : code.loop.trace) add(mix, code.instructions[index]);
  mix.code_bytes =
      static_cast<double>(kInstructionBytes) * static_cast<double>(code.loop.end - code.loop.begin);
  return mix;
}

InstructionMix mix_of_kernel(const KernelCode& code) {
  InstructionMix mix;
  for (const SassInstruction& instruction : code.instructions) add(mix, instruction);
  mix.code_bytes = static_cast<double>(kInstructionBytes) * static_cast<double>(code.instructions.size());
  return mix;
}

std::string kernel_hash(const Binary& binary) {
  const CubinElf elf(binary.cubin);
  Numbers numbers;
  for (const std::string& symbol : binary.kernel_symbols)
    numbers.emplace_back(symbol, numbers.empty() ? "" : fmt::format("#{}", numbers.size()));
  // Longer names come first: one may begin like another.
  std::stable_sort(numbers.begin(), numbers.end(),
                   [](const auto& one, const auto& other) { return one.first.size() > other.first.size(); });
  Hasher hasher;
  hasher.add("kernel 1").add(elf.architecture());
  for (const ElfSection& section : elf.sections()) {
    if (!is_run(section.name)) continue;
    hasher.add(numbered(numbers, section.name)).add(section.bytes);
    for (const std::uint64_t figure : {section.size, section.flags, std::uint64_t{section.info}})
      hasher.add(static_cast<std::int64_t>(figure));
  }
  for (const ElfSymbol& one : elf.symbols()) {
    if (!is_run(one.name)) continue;
    hasher.add(numbered(numbers, one.name)).add(one.attributes);
  }
  return hasher.hex();
}

}  // namespace tiletune
