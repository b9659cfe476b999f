#include <fmt/format.h>

#include <algorithm>

#include "space/template_programs.h"

namespace tiletune::space {

namespace {

/// One step of a configuration has at most so many, by all GPUs.
constexpr std::int64_t kMostCopies = 4096;

std::int64_t elements_or_zero(const std::optional<Program>& program, const Bindings& bindings) {
  return program ? evaluate_elements(*program, bindings) : 0;
}

/// How often a copy is repeated.
std::int64_t evaluate_count(const Program& program, const Bindings& bindings) {
  const std::int64_t count = evaluate_integer(program, bindings);
  if (count < 0 || count > kMostCopies)
    program.raise_result(integer_scalar(count), fmt::format("a number from 0 to {}", kMostCopies),
                         "repeat fewer, larger copies, or leave the step out with \"when\"", bindings);
  return count;
}

/// Whether a step stays within the arrays of a GPU.
class Reach {
 public:
  Reach(const Workload& workload, const std::vector<SizedWorkspace>& workspace)
      : workload_(workload), workspace_(workspace) {}

  /// Throws UserError where a step, whose elements `where` states, reaches too far.
  void check(const GpuStep& step, const Where& where) const {
    for (const PeerCopy& copy : step.copies) {
      check_end(step.from, copy.from + copy.elements, where);
      check_end(step.to, copy.to + copy.elements, where);
      if (!step.signal.empty()) check_end(step.signal, copy.word + 1, where);
    }
    if (step.kind != StepKind::collective) return;
    const bool gathers = step.collective == Collective::all_gather;
    check_end(gathers ? step.to : step.from, workload_.gpus * step.elements, where);
    check_end(gathers ? step.from : step.to, step.elements, where);
  }

 private:
  void check_end(const std::string& name, std::int64_t end, const Where& where) const {
    const std::int64_t there = elements(name);
    if (end <= there) return;
    throw UserError(
        fmt::format("the step reaches to element {} of '{}', which has {} on each GPU", end, name, there),
        where, "Correct the step's expressions, or the size.");
  }

  std::int64_t elements(const std::string& name) const {
    for (const SizedWorkspace& array : workspace_)
      if (array.name == name) return array.elements;
    return workload_.elements_on_each(workload_.buffer(name));
  }

  const Workload& workload_;
  const std::vector<SizedWorkspace>& workspace_;
};

std::size_t declare(SymbolTable& symbols, const std::string& name, const Where& where) {
  return static_cast<std::size_t>(symbols.declare(name, where));
}

}  // namespace

StepPrograms::CopyPrograms::CopyPrograms(const StepSpec& step, SymbolTable symbols) {
  rank = declare(symbols, kRank, step.peer.where);
  for (const auto& [name, count] : step.repeat) {
    Program last(count, symbols);
    repeat.emplace_back(declare(symbols, name, count.where), std::move(last));
  }
  peer_number.emplace(step.peer, symbols);
  peer = declare(symbols, kPeer, step.peer.where);
  from = parse_optional(step.from_offset, symbols);
  to = parse_optional(step.to_offset, symbols);
  elements.emplace(step.elements, symbols);
  word = parse_optional(step.index, symbols);
}

StepPrograms::StepPrograms(const std::vector<StepSpec>& steps, const SymbolTable& symbols) {
  for (const StepSpec& step : steps) {
    Programs& programs = steps_.emplace_back(Programs{step, parse_optional(step.when, symbols), {}, {}});
    if (step.kind == StepKind::collective) programs.elements.emplace(step.elements, symbols);
    if (step.kind == StepKind::copy) programs.copy.emplace(step, symbols);
  }
}

std::vector<GpuStep> StepPrograms::evaluate(const Bindings& bindings, const Workload& workload,
                                            const std::vector<SizedWorkspace>& workspace,
                                            const std::vector<std::size_t>& listed) const {
  const Reach reach(workload, workspace);
  std::vector<GpuStep> steps;
  for (const Programs& programs : steps_) {
    const StepSpec& spec = programs.spec;
    if (programs.when && !is_true(tiletune::space::evaluate(*programs.when, bindings))) continue;
    GpuStep step{spec.kind, 0, spec.from, spec.to, {}, spec.beside, spec.signal, spec.collective};
    if (spec.kind == StepKind::kernel) {
      const auto place = std::find(listed.begin(), listed.end(), spec.launch);
      if (place == listed.end()) continue;
      step.launch = place - listed.begin();
    }
    step.elements = elements_or_zero(programs.elements, bindings);
    if (programs.copy) add_copies(*programs.copy, bindings, workload.gpus, step);
    if (step.kind != StepKind::kernel) reach.check(step, spec.elements.where);
    steps.push_back(std::move(step));
  }
  return steps;
}

void StepPrograms::add_copies(const CopyPrograms& programs, const Bindings& outer, int gpus, GpuStep& step) {
  std::vector<Scalar> slots(outer.slots.begin(), outer.slots.end());
  slots.resize(programs.peer + 1, unset_scalar());
  const Bindings bindings{slots, outer.definitions};
  const auto add = [&](std::int64_t gpu) {
    const std::int64_t peer = evaluate_integer(*programs.peer_number, bindings);
    if (peer < 0 || peer >= gpus)
      programs.peer_number->raise_result(integer_scalar(peer), fmt::format("a GPU from 0 to {}", gpus - 1),
                                         "use % for numbers that begin again at 0", bindings);
    slots[programs.peer] = integer_scalar(peer);
    const std::int64_t elements = evaluate_elements(*programs.elements, bindings);
    step.copies.push_back({gpu, peer, elements_or_zero(programs.from, bindings),
                           elements_or_zero(programs.to, bindings), elements,
                           programs.word ? evaluate_elements(*programs.word, bindings) : peer});
    slots[programs.peer] = unset_scalar();
  };
  // Also of outer repetitions, which may hold no copy.
  std::int64_t repetitions = 0;
  const auto repeat = [&](const auto& self, std::size_t depth, std::int64_t gpu) -> void {
    if (depth == programs.repeat.size()) return add(gpu);
    const auto& [slot, last] = programs.repeat[depth];
    const std::int64_t count = evaluate_count(last, bindings);
    for (std::int64_t i = 1; i <= count; ++i) {
      if (++repetitions > kMostCopies)
        throw UserError(fmt::format("the step is repeated more than {} times by all GPUs", kMostCopies),
                        last.text().where, "Repeat fewer, larger copies.");
      slots[slot] = integer_scalar(i);
      self(self, depth + 1, gpu);
    }
    slots[slot] = unset_scalar();
  };
  for (std::int64_t gpu = 0; gpu < gpus; ++gpu) {
    slots[programs.rank] = integer_scalar(gpu);
    repeat(repeat, 0, gpu);
  }
}

}  // namespace tiletune::space
