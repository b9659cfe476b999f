#include "author/check.h"

#include <fmt/format.h>

#include "author/signature.h"
#include "base/file.h"
#include "base/text.h"
#include "tune/python_run.h"

namespace tiletune {

namespace {

/// Configurations of a space whose launches are evaluated.
constexpr std::uint64_t kMostEvaluated = 1000;

/// The remedy where others of the template can be launched.
constexpr const char* kRefusedRows = "They become refused rows; a constraint would leave them out.";

/// Plans each template on each problem by itself, so that a mistake in one pair hides none in another. Calls
/// `take` with the tasks of each pair, which refer to the last of `pairs`, or `refuse` with the pair and the
/// UserError, NothingToDo or PlanningStopped that it is refused with, until `stop` says so.
template <typename Take, typename Refuse>
void plan_pairs(const TuneSpec& spec, std::deque<TuneSpec>& pairs, const Stop& stop, const Take& take,
                const Refuse& refuse) {
  TuneSpec rest = spec;
  rest.templates.clear();
  rest.problems.clear();
  rest.config_json.clear();
  ArrayHashes arrays;
  for (const TemplateSpec& kernel : spec.templates) {
    for (const Problem& problem : spec.problems) {
      if (stop()) return;
      if (!kernel.runs(problem)) continue;
      TuneSpec& pair = pairs.emplace_back(rest);
      pair.templates = {kernel};
      pair.problems = {problem};
      try {
        take(plan_tasks(pair, stop, {}, &arrays));
      } catch (const UserError& error) {
        pairs.pop_back();
        refuse(kernel, problem, error);
      }
    }
  }
}

/// The indices of evenly spread configurations, at most `most`.
std::vector<std::uint64_t> spread(const Task& task, std::uint64_t most) {
  std::vector<std::uint64_t> indices;
  const std::uint64_t count = std::min(task.space.size(), most);
  for (std::uint64_t i = 0; i < count; ++i)
    indices.push_back(static_cast<std::uint64_t>(static_cast<double>(i) / static_cast<double>(count) *
                                                 static_cast<double>(task.space.size())));
  return indices;
}

class Checker {
 public:
  Checker(const TuneSpec& spec, const Target& target, const CompilePoolOptions& compile,
          const CheckOptions& options)
      : spec_(spec), target_(target), compile_(compile), options_(options) {}

  CheckReport run() {
    std::set<std::string> manifests;
    for (const TemplateSpec& kernel : spec_.templates)
      if (manifests.insert(kernel.where.file).second) note_open_ends(kernel);
    plan();
    tell_of_small_consensus();
    for (const Task& task : tasks_) {
      add_all(buffer_faults(task));
      add_all(index_notes(task));
      note_faults(task);
      evaluate(task);
    }
    if (options_.samples > 0) {
      compile();
      run_python();
    }
    return std::move(report_);
  }

 private:
  /// What was found of several problems of a template stands once.
  void add(CheckFinding finding) {
    for (CheckFinding& known : report_.findings) {
      if (known.is_error != finding.is_error || known.template_name != finding.template_name ||
          std::string_view(known.what.what()) != finding.what.what())
        continue;
      known.more_problems += known.problem == finding.problem ? 0 : 1;
      return;
    }
    report_.findings.push_back(std::move(finding));
  }

  void add_all(std::vector<CheckFinding> findings) {
    for (CheckFinding& finding : findings) add(std::move(finding));
  }

  void add(bool is_error, const Task& task, const UserError& what) {
    add({is_error, task.spec->label(), task.problem.label(), what});
  }

  /// What a person still has to do in a manifest.
  void note_open_ends(const TemplateSpec& kernel) {
    const auto note = [&](const UserError& what) { add({false, kernel.name, "", what}); };
    constexpr std::size_t kMostNamed = 4;
    std::vector<std::string> lines;
    for (const Decision& decision : decisions_of(kernel)) lines.push_back(std::to_string(decision.line));
    const std::size_t open = lines.size();
    if (open > kMostNamed) lines.resize(kMostNamed), lines.emplace_back("...");
    if (open > 0)
      note(UserError(fmt::format("{} a `// decide:` comment: {}",
                                 open == 1 ? "1 line still has" : fmt::format("{} lines still have", open),
                                 join(lines, ", ")),
                     Where{kernel.where.file, ""}, "Check each value, then delete its comment."));
    if (!kernel.nvcc_options.empty())
      note(UserError(fmt::format("nvcc options that are left out: {}", join(kernel.nvcc_options, ", ")),
                     kernel.where,
                     "Nothing needs to be changed: only device code is compiled, for the GPU that runs it."));
    if (const auto fault = reference_fault(kernel)) add({true, kernel.name, "", *fault});
    if (kernel.operation.is_unverified)
      note(UserError(R"(results will not be verified: "reference" is "none")", kernel.where.at("operation"),
                     "Describe what computes the outputs (docs/write_a_template.md)."));
  }

  void plan() {
    std::vector<CheckFinding> empty;  // spaces without a configuration
    const auto take = [&](std::vector<Task> tasks) {
      for (Task& task : tasks) {
        task.workload = tasks_.size();
        report_.valid += task.space.size();
        tasks_.push_back(std::move(task));
      }
    };
    const auto refuse = [&](const TemplateSpec& kernel, const Problem& problem, const UserError& error) {
      if (dynamic_cast<const NothingToDo*>(&error) == nullptr)
        return add({true, kernel.label(), problem.label(), error});
      const UserError none("no configuration satisfies the constraints", error.where(), error.remedy());
      empty.push_back({true, kernel.label(), problem.label(), none});
    };
    plan_pairs(spec_, pairs_, options_.interrupted, take, refuse);
    // Only noted where other templates can do the problem: some are for few rows, others for odd sizes.
    for (CheckFinding& finding : empty) {
      finding.is_error = std::ranges::none_of(
          tasks_, [&](const Task& task) { return task.problem.label() == finding.problem; });
      add(std::move(finding));
    }
  }

  /// Templates of one operation share a reference.
  void tell_of_small_consensus() {
    for (const Task& task : tasks_) {
      std::uint64_t configurations = 0;
      if (!consensus_fault(task, task.space.size())) continue;
      for (const Task& other : tasks_) {
        const bool shares = other.problem.label() == task.problem.label() &&
                            other.spec->operation.name == task.spec->operation.name;
        if (shares) configurations += other.space.size();
      }
      if (const auto fault = consensus_fault(task, configurations)) add(true, task, *fault);
    }
  }

  void note_faults(const Task& task) {
    for (std::size_t i = 0; i < task.spec->constraints.size(); ++i)
      if (const ConstraintReport& report = task.space.constraints()[i]; report.without_value > 0)
        add(false, task,
            UserError(report.fault_text(), task.spec->constraints[i].require.where,
                      "To exclude them with a reason, list another constraint before it."));
  }

  void evaluate(const Task& task) {
    std::size_t refused = 0;
    std::string first;
    const std::vector<std::uint64_t> indices = spread(task, kMostEvaluated);
    for (const std::uint64_t index : indices) {
      Instance instance;
      const std::string fault = launch_fault(task, index, target_.model, instance);
      if (!fault.empty() && refused++ == 0) first = fault;
    }
    if (refused == 0) return;
    const bool all = refused == indices.size();
    if (all) impossible_.insert(&task);
    add(all, task,
        UserError(fmt::format("{} of {} configurations cannot be launched on {}, the first: {}", refused,
                              indices.size(), target_.name, first),
                  task.spec->where,
                  all ? "Choose another problem or GPU, or widen the parameters." : kRefusedRows));
  }

  void compile() {
    CompilePool pool(with_folders(compile_, spec_, tasks_));
    std::size_t total = 0;
    const auto submit = [&](const CheckedBuild& build, bool with_types) {
      total += with_types ? 2 : 1;
      if (with_types)
        pool.submit(types_request(build.request, true),
                    [this, build](const Compiled& compiled) { add_all(type_faults(build, compiled)); });
      pool.submit(build.request, [this, build](const Compiled& compiled) { take(build, compiled); });
    };
    // True when one can be launched.
    const auto sample = [&](const Task& task, std::size_t most) {
      const auto builds = sample_builds(spec_, task, target_, most, kMostEvaluated);
      for (const CheckedBuild& build : builds)
        submit(build,
               (&build == &builds.front() || &build == &builds.back()) && !is_compiled(task.spec->source));
      return !builds.empty();
    };
    std::set<std::string> sampled, requested;
    for (const Task& task : tasks_) {
      for (const TaskKernel& kernel : task.kernels) {
        const CheckedBuild build{
            &task, {}, kernel_request(spec_, task, kernel, target_.architecture), &kernel};
        if (requested.insert(build.request.key()).second) submit(build, true);
      }
      // What a kernel is compiled into seldom depends on the problem.
      if (sampled.contains(task.spec->label())) continue;
      if (sample(task, options_.samples)) sampled.insert(task.spec->label());
      for (const Task& reference : task.reference) sample(reference, 1);
      for (const Task& baseline : task.baselines) sample(baseline, 1);
    }
    while (pool.pending() > 0 && !options_.interrupted()) {
      const std::size_t finished = pool.deliver();
      options_.progress("compiling", total - pool.pending(), total);
      if (finished == 0) wait_for_work(pool);
    }
    for (const auto& [label, admission] : admissions_) {
      if (admission.refused.empty()) continue;
      const bool all = admission.refused.size() == admission.compiled;
      const UserError& first = admission.refused.front();
      add(all, *admission.task,
          UserError(first.message(), first.where(), all ? first.remedy() : kRefusedRows));
    }
  }

  void take(const CheckedBuild& build, const Compiled& compiled) {
    const Task& task = *build.task;
    const std::string label = task.spec->label();
    const bool is_reference = build.kernel != nullptr && build.kernel->is_reference();
    ++(is_reference ? report_.references_run : report_.compiled);
    std::optional<UserError> fault;
    if (build.kernel != nullptr) fault = operation_fault(task, *build.kernel, compiled);
    if (build.kernel == nullptr && compiled.outcome == Outcome::compile_failed)
      fault = kernel_name_fault(task, compiled);
    if (build.kernel == nullptr && compiled.outcome != Outcome::ok && !fault)
      fault = UserError(
          fmt::format("the kernel does not compile{}: {}",
                      build.instance.parameters.empty() ? "" : " with " + to_text(build.instance.parameters),
                      compiled.reason),
          Where{task.spec->source.string(), ""},
          compiled.outcome == Outcome::compile_timeout
              ? "Try again while the machine has less to do, or leave out the parameters that take longest."
              : "Correct the source, or the parameters that it does not allow.");
    // Configurations that fail alike are reported once.
    if (fault && reported_.emplace(label, build.kernel != nullptr, fault->remedy()).second)
      add(true, task, *fault);
    if (build.kernel != nullptr || compiled.outcome != Outcome::ok) return;
    Admissions& admission = admissions_[label];
    ++admission.compiled;
    if (auto refusal = refusal_of(build, compiled)) {
      if (admission.refused.empty()) admission.task = &task;
      admission.refused.push_back(std::move(*refusal));
    }
    if (noted_.insert(task.spec->name).second) add_all(source_notes(task, compiled.dependencies));
  }

  /// Why what was compiled cannot be launched; none: it can.
  std::optional<UserError> refusal_of(const CheckedBuild& build, const Compiled& compiled) const {
    try {
      const std::vector<Resources> resources = read_all_resources(*compiled.binary);
      const Admission admission = admit_binary(target_.model, build.instance, resources, AdmissionLimits{});
      if (admission.admitted) return std::nullopt;
      if (auto fault = constant_fault(*build.task, resources)) return fault;
      return UserError(fmt::format("the kernel cannot be launched with {}: {}",
                                   to_text(build.instance.parameters), admission.reason),
                       build.task->spec->where,
                       "Correct the manifest's launch and arguments, or add a constraint.");
    } catch (const UserError& error) {
      return error;
    }
  }

  static std::optional<UserError> operation_fault(const Task& task, const TaskKernel& kernel,
                                                  const Compiled& compiled) {
    const auto fault = kernel_fault(kernel, compiled);
    if (!fault) return std::nullopt;
    if (compiled.outcome != Outcome::ok)
      return UserError(*fault, Where{kernel.spec->source.string(), ""}, "Correct the source.");
    std::string remedy = R"(List in "arguments" what the kernel takes.)";
    const auto parameters = read_resources(*compiled.binary).parameter_bytes;
    const auto& arguments = kernel.launch->arguments;
    for (std::size_t i = 0; parameters && parameters->size() == arguments.size() && i < arguments.size();
         ++i) {
      const ElementType type = arguments[i].type;
      const bool differs = static_cast<int>(size_bytes(type)) != (*parameters)[i];
      if (arguments[i].kind != Argument::Kind::scalar || !is_floating(type) || !differs) continue;
      remedy = fmt::format("Scalars keep their types: declare it as {} in {}.",
                           type == ElementType::f32 ? "float" : name(type), kernel.label());
      break;
    }
    return UserError(*fault, task.spec->where.at("operation"), remedy);
  }

  void run_python() {
    std::vector<const Task*> with_python;
    for (const Task& task : tasks_)
      if (task.spec->operation.python && !impossible_.contains(&task)) with_python.push_back(&task);
    for (std::size_t i = 0; i < with_python.size() && !options_.interrupted(); ++i) {
      options_.progress("running Python", i, with_python.size());
      run_python(*with_python[i]);
    }
  }

  void run_python(const Task& task) {
    const PythonReference& python = *task.spec->operation.python;
    try {
      PythonRun run(task, spec_.measure.seed);
      std::optional<PythonAnswer> done;
      while (!(done = run.poll()) && !options_.interrupted()) run.wait();
      remove_python_outputs(task);
      ++report_.references_run;
      if (!done || done->reason.empty()) return;
      add(true, task,
          UserError(fmt::format("{}() failed: {}", python.function, done->reason),
                    Where{python.source.string(), ""}, done->remedy));
    } catch (const UserError& error) {
      add(true, task, error);
    }
  }

  /// What became of a template's configurations.
  struct Admissions {
    std::size_t compiled = 0;
    std::vector<UserError> refused;
    const Task* task = nullptr;  ///< of the first that is refused
  };

  const TuneSpec& spec_;
  const Target& target_;
  const CompilePoolOptions& compile_;
  const CheckOptions& options_;
  CheckReport report_;
  std::deque<TuneSpec> pairs_;  ///< the tasks refer to them
  std::vector<Task> tasks_;
  std::set<const Task*> impossible_;  ///< on this GPU: none of their configurations can be launched
  std::set<std::tuple<std::string, bool, std::string>> reported_;
  std::set<std::string> noted_;                   ///< templates
  std::map<std::string, Admissions> admissions_;  ///< by template
};

}  // namespace

std::vector<CheckedBuild> sample_builds(const TuneSpec& spec, const Task& task, const Target& target,
                                        std::size_t most, std::uint64_t tried) {
  std::vector<CheckedBuild> builds;
  std::vector<std::uint64_t> indices = spread(task, most);
  const std::vector<std::uint64_t> others = spread(task, tried);
  indices.insert(indices.end(), others.begin(), others.end());
  std::set<std::uint64_t> seen;
  for (const std::uint64_t index : indices) {
    if (builds.size() == most) break;
    CheckedBuild build{&task, {}, {}, nullptr};
    if (!seen.insert(index).second || !launch_fault(task, index, target.model, build.instance).empty())
      continue;
    build.request = make_compile_request(spec.compile, *task.source, build.instance, target.architecture);
    builds.push_back(std::move(build));
  }
  return builds;
}

CheckReport check_spec(const TuneSpec& spec, const Target& target, const CompilePoolOptions& compile,
                       const CheckOptions& options) {
  return Checker(spec, target, compile, options).run();
}

std::vector<bool> read_only_arguments(const TuneSpec& spec, const std::vector<Task>& tasks,
                                      const Target& target, const CompilePoolOptions& compile) {
  constexpr std::size_t kMostCompiled = 16;
  const Task& task = tasks.front();
  CompilePool pool(with_folders(compile, spec, tasks));
  const std::vector<CheckedBuild> builds = sample_builds(spec, task, target, kMostCompiled, kMostEvaluated);
  const bool are_all = builds.size() == task.space.size();
  std::optional<std::vector<bool>> read_only;
  bool is_known = true;
  for (const CheckedBuild& build : builds)
    pool.submit(types_request(build.request, true), [&](const Compiled& compiled) {
      // What does not compile writes nothing.
      if (compiled.outcome != Outcome::ok)
        return void(is_known &= compiled.outcome == Outcome::compile_failed);
      const std::vector<std::string>& symbols = compiled.binary->kernel_symbols;
      const std::vector<ParameterType> types = parameter_types(symbols.front());
      const std::vector<PointerUse> uses =
          pointer_uses(compiled.binary->cubin, symbols[build.request.kernel_expressions.size()]);
      if (!read_only) read_only.emplace(types.size(), true);
      is_known &= types.size() == read_only->size() && uses.size() == types.size();
      for (std::size_t i = 0; is_known && i < types.size(); ++i) {
        const bool is_proven = !uses[i].written && (types[i].constant || (!uses[i].escaped && are_all));
        if (types[i].pointer && !is_proven) (*read_only)[i] = false;
      }
    });
  while (pool.pending() > 0)
    if (pool.deliver() == 0) wait_for_work(pool);
  return is_known && read_only ? *read_only : std::vector<bool>();
}

std::vector<Decision> decisions_of(const TemplateSpec& kernel) {
  try {
    return decisions_in(read_file(kernel.where.file, kLargestJson));
  } catch (const UserError&) {
    return {};
  }
}

std::vector<UserError> planning_faults(const TuneSpec& spec, const Stop& stop) {
  std::vector<UserError> faults;
  std::set<std::string> reported;  // a mistake of the template is one of each problem
  std::deque<TuneSpec> pairs;
  plan_pairs(
      spec, pairs, stop, [&](const std::vector<Task>& /*tasks*/) { pairs.clear(); },
      [&](const TemplateSpec& /*kernel*/, const Problem& /*problem*/, const UserError& error) {
        const bool is_fault = dynamic_cast<const PlanningStopped*>(&error) == nullptr &&
                              dynamic_cast<const NothingToDo*>(&error) == nullptr;
        if (is_fault && reported.insert(error.what()).second) faults.push_back(error);
      });
  return faults;
}

}  // namespace tiletune
