#include "author/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "author/manifest.h"
#include "author/signature.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/pool.h"
#include "inspect/occupancy.h"
#include "inspect/resources.h"
#include "tune/python_run.h"

namespace tiletune {

namespace {

/// Configurations of a space whose launches are evaluated.
constexpr std::uint64_t kMostEvaluated = 1000;

/// The remedy where others of the template can be launched.
constexpr const char* kRefusedRows = "They become refused rows; a constraint would leave them out.";

/// Plans each template on each problem by itself, so that a mistake in one pair hides none in another. Keeps
/// what the tasks refer to.
class PairPlanner {
 public:
  explicit PairPlanner(const TuneSpec& spec) : spec_(spec), rest_(spec) {
    rest_.templates.clear();
    rest_.problems.clear();
    rest_.config_json.clear();
  }

  /// Calls `take` with the tasks of each pair, which says whether it keeps them, or `refuse` with the pair
  /// and the UserError, NothingToDo or PlanningStopped that it is refused with, until `stop` says so.
  template <typename Take, typename Refuse>
  void plan(const Stop& stop, const Take& take, const Refuse& refuse) {
    for (const TemplateSpec& kernel : spec_.templates) {
      for (const Problem& problem : spec_.problems) {
        if (stop()) return;
        if (!kernel.runs(problem)) continue;
        TuneSpec& pair = pairs_.emplace_back(rest_);
        pair.templates = {kernel};
        pair.problems = {problem};
        try {
          if (!take(plan_tasks(pair, arrays_, stop))) pairs_.pop_back();
        } catch (const UserError& error) {
          pairs_.pop_back();
          refuse(kernel, problem, error);
        }
      }
    }
  }

 private:
  const TuneSpec& spec_;
  TuneSpec rest_;  ///< but for what a pair has of its own
  std::deque<TuneSpec> pairs_;
  ArrayHashes arrays_;
};

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
    tell_of_empty_spaces();
    tell_of_small_consensus();
    for (Task& task : tasks_) {
      add_all(buffer_faults(task));
      add_all(index_notes(task));
      evaluate(task);
    }
    if (options_.samples > 0) {
      compile();
      run_python();
    }
    return std::move(report_);
  }

 private:
  /// What is compiled, and why.
  struct Job {
    enum class Kind { configuration, operation_kernel, signature };

    const Task* task;
    Instance instance;
    Kind kind = Kind::configuration;
    const TaskKernel* kernel = nullptr;  ///< of the operation
  };

  /// What was found of several problems of a template stands once.
  void add(CheckFinding finding) {
    for (CheckFinding& known : report_.findings) {
      if (known.is_error != finding.is_error || known.template_name != finding.template_name ||
          known.problem == finding.problem || std::string_view(known.what.what()) != finding.what.what())
        continue;
      ++known.more_problems;
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
    const std::vector<Decision> decisions = decisions_of(kernel);
    constexpr std::size_t kMostNamed = 4;
    std::vector<std::string> lines;
    for (const Decision& decision : decisions) lines.push_back(std::to_string(decision.line));
    if (lines.size() > kMostNamed) lines.resize(kMostNamed), lines.emplace_back("...");
    if (!decisions.empty())
      note(UserError(fmt::format("{} a `// decide:` comment: {}",
                                 decisions.size() == 1 ? "1 line still has"
                                                       : fmt::format("{} lines still have", decisions.size()),
                                 join(lines, ", ")),
                     Where{kernel.where.file, ""}, "Check each value, then delete its comment."));
    if (const auto fault = reference_fault(kernel)) add({true, kernel.name, "", *fault});
    if (kernel.operation.is_unverified)
      note(UserError(R"(results will not be verified: "reference" is "none")", kernel.where.at("operation"),
                     "Describe what computes the outputs (docs/write_a_template.md)."));
  }

  void plan() {
    const auto take = [&](std::vector<Task> tasks) {
      for (Task& task : tasks) {
        task.workload = tasks_.size();
        report_.valid += task.space.size();
        tasks_.push_back(std::move(task));
      }
      return true;
    };
    planner_.plan(options_.interrupted, take,
                  [&](const TemplateSpec& kernel, const Problem& problem, const UserError& error) {
                    if (dynamic_cast<const NothingToDo*>(&error) == nullptr)
                      return add({true, kernel.label(), problem.label(), error});
                    const UserError empty("no configuration satisfies the constraints", error.where(),
                                          error.remedy());
                    empty_.push_back({true, kernel.label(), problem.label(), empty});
                  });
  }

  /// Only noted where other templates can do the problem: some are for few rows, others for odd sizes.
  void tell_of_empty_spaces() {
    for (CheckFinding& finding : empty_) {
      const auto does_problem = [&](const Task& task) { return task.problem.label() == finding.problem; };
      finding.is_error = std::none_of(tasks_.begin(), tasks_.end(), does_problem);
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

  /// Evenly spread ones of its configurations, up to so many.
  static std::vector<std::uint64_t> spread(const Task& task, std::uint64_t most) {
    std::vector<std::uint64_t> indices;
    const std::uint64_t count = std::min(task.space.size(), most);
    for (std::uint64_t i = 0; i < count; ++i)
      indices.push_back(static_cast<std::uint64_t>(static_cast<double>(i) / static_cast<double>(count) *
                                                   static_cast<double>(task.space.size())));
    return indices;
  }

  /// Why a configuration cannot be launched; empty when it can.
  std::string fault_of(const Task& task, std::uint64_t index, Instance& instance) const {
    std::string fault = instantiate(task, index, target_.model, instance);
    return fault.empty() ? admit_launch(target_.model, instance).reason : fault;
  }

  void evaluate(const Task& task) {
    std::map<std::string, std::size_t> faults;
    std::string first;
    const std::vector<std::uint64_t> indices = spread(task, kMostEvaluated);
    for (const std::uint64_t index : indices) {
      Instance instance;
      const std::string fault = fault_of(task, index, instance);
      if (!fault.empty() && faults.empty()) first = fault;
      if (!fault.empty()) ++faults[fault];
    }
    std::size_t refused = 0;
    for (const auto& [fault, count] : faults) refused += count;
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
    std::set<std::string> sampled;
    std::set<std::string> requested;
    std::set<std::tuple<std::string, bool, std::string>> reported;
    std::set<std::string> noted;
    struct Admissions {
      std::size_t compiled = 0;
      std::vector<UserError> refused;
      const Task* task = nullptr;  ///< of the first that is refused
    };
    std::map<std::string, Admissions> admissions;  // by template
    const auto take = [&](const Job& job, const Compiled& compiled) {
      if (job.kind == Job::Kind::signature) {
        if (!compiled.binary) return;
        const std::vector<std::string>& symbols = compiled.binary->kernel_symbols;
        add_all(job.kernel != nullptr ? type_faults(*job.task, *job.kernel, symbols.front())
                                      : type_faults(*job.task, job.instance, symbols));
        return;
      }
      const auto fault = fault_of(job, compiled);
      const std::string label = job.task->spec->label();
      if (job.kind == Job::Kind::configuration && compiled.outcome == Outcome::ok) {
        Admissions& admission = admissions[label];
        ++admission.compiled;
        if (auto refusal = refusal_of(job, compiled)) {
          if (admission.refused.empty()) admission.task = job.task;
          admission.refused.push_back(std::move(*refusal));
        }
      }
      // Configurations that fail alike are reported once.
      if (fault && reported.emplace(label, job.kernel != nullptr, fault->remedy()).second)
        add(true, *job.task, *fault);
      const bool is_reference = job.kernel != nullptr && job.kernel->is_reference();
      ++(is_reference ? report_.references_run : report_.compiled);
      if (job.kind == Job::Kind::configuration && compiled.outcome == Outcome::ok &&
          noted.insert(job.task->spec->name).second)
        add_all(source_notes(*job.task, compiled.dependencies));
    };
    std::size_t total = 0;
    const auto submit = [&](Job job, CompileRequest request) {
      ++total;
      pool.submit(std::move(request),
                  [&take, job = std::move(job)](const Compiled& compiled) { take(job, compiled); });
    };
    // True when one can be launched.
    const auto sample = [&](const Task& task, std::size_t most) {
      std::vector<std::uint64_t> indices = spread(task, most);
      const std::vector<std::uint64_t> others = spread(task, kMostEvaluated);
      indices.insert(indices.end(), others.begin(), others.end());
      std::size_t taken = 0;
      std::set<std::uint64_t> tried;
      for (const std::uint64_t index : indices) {
        Instance instance;
        if (taken == most) break;
        if (!tried.insert(index).second || !fault_of(task, index, instance).empty()) continue;
        CompileRequest request =
            make_compile_request(spec_.compile, *task.source, instance, target_.architecture);
        if (taken++ == 0 && !is_compiled(task.spec->source))
          submit({&task, instance, Job::Kind::signature}, types_request(request));
        submit({&task, std::move(instance)}, std::move(request));
      }
      return taken > 0;
    };
    for (const Task& task : tasks_) {
      for (const TaskKernel& kernel : task.kernels) {
        CompileRequest request = kernel_request(spec_, task, kernel, target_.architecture);
        if (!requested.insert(request.key()).second) continue;
        submit({&task, {}, Job::Kind::signature, &kernel}, types_request(request));
        submit({&task, {}, Job::Kind::operation_kernel, &kernel}, std::move(request));
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
    for (const auto& [label, admission] : admissions) {
      if (admission.refused.empty()) continue;
      const bool all = admission.refused.size() == admission.compiled;
      const UserError& first = admission.refused.front();
      add(all, *admission.task,
          UserError(first.message(), first.where(), all ? first.remedy() : kRefusedRows));
    }
  }

  std::optional<UserError> fault_of(const Job& job, const Compiled& compiled) const {
    const Task& task = *job.task;
    if (job.kernel != nullptr) return fault_of(task, *job.kernel, compiled);
    const std::string example = parameters_of(job.instance);
    if (compiled.outcome == Outcome::compile_failed)
      if (auto fault = kernel_name_fault(task, compiled.dependencies)) return fault;
    if (compiled.outcome != Outcome::ok)
      return UserError(fmt::format("the kernel does not compile with {}: {}", example, compiled.reason),
                       Where{task.spec->source.string(), ""},
                       "Correct the source, or the parameters that it does not allow.");
    return std::nullopt;
  }

  /// Why what was compiled cannot be launched; none: it can.
  std::optional<UserError> refusal_of(const Job& job, const Compiled& compiled) const {
    try {
      const Admission admission =
          admit_binary(target_.model, job.instance, read_all_resources(*compiled.binary), AdmissionLimits{});
      if (admission.admitted) return std::nullopt;
      if (auto fault = constant_fault(*job.task, read_all_resources(*compiled.binary))) return fault;
      return UserError(fmt::format("the kernel cannot be launched with {}: {}", parameters_of(job.instance),
                                   admission.reason),
                       job.task->spec->where,
                       "Correct the manifest's launch and arguments, or add a constraint.");
    } catch (const UserError& error) {
      return error;
    }
  }

  static std::optional<UserError> fault_of(const Task& task, const TaskKernel& kernel,
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

  static std::string parameters_of(const Instance& instance) {
    std::vector<std::string> words;
    for (const auto& [name, value] : instance.parameters)
      words.push_back(fmt::format("{}={}", name, to_text(value)));
    return join(words, " ");
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

  const TuneSpec& spec_;
  const Target& target_;
  const CompilePoolOptions& compile_;
  const CheckOptions& options_;
  CheckReport report_;
  PairPlanner planner_{spec_};  ///< the tasks refer to it
  std::vector<Task> tasks_;
  std::vector<CheckFinding> empty_;   ///< spaces without a configuration
  std::set<const Task*> impossible_;  ///< on this GPU: none of their configurations can be launched
};

}  // namespace

bool CheckReport::has_errors() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const CheckFinding& finding) { return finding.is_error; });
}

CheckReport check_spec(const TuneSpec& spec, const Target& target, const CompilePoolOptions& compile,
                       const CheckOptions& options) {
  return Checker(spec, target, compile, options).run();
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
  const auto refuse = [&](const TemplateSpec& /*kernel*/, const Problem& /*problem*/,
                          const UserError& error) {
    if (dynamic_cast<const PlanningStopped*>(&error) != nullptr) return;
    if (dynamic_cast<const NothingToDo*>(&error) != nullptr) return;
    // A mistake of the template is one of each problem.
    const auto is_same = [&](const UserError& other) {
      return std::string_view(other.what()) == error.what();
    };
    if (std::none_of(faults.begin(), faults.end(), is_same)) faults.push_back(error);
  };
  PairPlanner(spec).plan(
      stop, [](const std::vector<Task>& /*tasks*/) { return false; }, refuse);
  return faults;
}

}  // namespace tiletune
