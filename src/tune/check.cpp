#include "tune/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "compile/wait.h"
#include "inspect/occupancy.h"
#include "inspect/resources.h"
#include "tune/python_run.h"

namespace tiletune {

namespace {

/// Configurations of a space whose launches are evaluated.
constexpr std::uint64_t kMostEvaluated = 1000;

TuneSpec one_pair(const TuneSpec& spec, const TemplateSpec& kernel, const Problem& problem) {
  TuneSpec one = spec;
  one.templates = {kernel};
  one.problems = {problem};
  return one;
}

class Checker {
 public:
  Checker(const TuneSpec& spec, const Target& target, const CompilePoolOptions& compile,
          const CheckOptions& options)
      : spec_(spec), target_(target), compile_(compile), options_(options) {}

  CheckReport run() {
    for (const TemplateSpec& kernel : spec_.templates) {
      for (const Problem& problem : spec_.problems) plan(kernel, problem);
    }
    for (Task& task : tasks_) evaluate(task);
    if (options_.samples > 0) {
      compile();
      run_python();
    }
    return std::move(report_);
  }

 private:
  /// What is compiled, and why.
  struct Job {
    const Task* task;
    Instance instance;
    const TaskKernel* kernel;  ///< of the operation; null: a configuration
  };

  void add(bool is_error, const Task* task, const UserError& what) {
    report_.findings.push_back({is_error, task == nullptr ? "" : task->spec->name,
                                task == nullptr ? "" : task->problem.label(), what});
  }

  /// Each pair by itself, so that a mistake in one hides none in another.
  void plan(const TemplateSpec& kernel, const Problem& problem) {
    if (options_.interrupted()) return;
    try {
      for (Task& task :
           plan_tasks(specs_.emplace_back(one_pair(spec_, kernel, problem)), options_.interrupted)) {
        task.workload = tasks_.size();
        report_.valid += task.space.size();
        tasks_.push_back(std::move(task));
      }
    } catch (const UserError& error) {
      report_.findings.push_back({true, kernel.name, problem.label(), error});
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
    add(all, &task,
        UserError(fmt::format("{} of {} configurations cannot be launched on {}, the first: {}", refused,
                              indices.size(), target_.name, first),
                  task.spec->where,
                  all ? "Choose another problem or GPU, or widen the parameters."
                      : "They become refused rows; a constraint would leave them out."));
  }

  void compile() {
    CompilePool pool(with_folders(compile_, spec_, tasks_));
    std::map<std::uint64_t, Job> jobs;
    std::set<std::string> sampled;
    std::set<std::string> requested;
    std::uint64_t tickets = 0;
    const auto submit = [&](Job job, CompileRequest request) {
      jobs.emplace(++tickets, std::move(job));
      pool.submit(tickets, std::move(request));
    };
    for (const Task& task : tasks_) {
      for (const TaskKernel& kernel : task.kernels) {
        CompileRequest request = kernel_request(spec_, task, kernel, target_.architecture);
        if (requested.insert(request.key()).second) submit({&task, {}, &kernel}, std::move(request));
      }
      // What a kernel is compiled into seldom depends on the problem.
      if (!sampled.insert(task.spec->name).second) continue;
      std::size_t left = options_.samples;
      for (const std::uint64_t index : spread(task, kMostEvaluated)) {
        Instance instance;
        if (!fault_of(task, index, instance).empty()) continue;
        CompileRequest request =
            make_compile_request(spec_.compile, *task.source, instance, target_.architecture);
        submit({&task, std::move(instance), nullptr}, std::move(request));
        if (--left == 0) break;
      }
    }
    const std::size_t total = jobs.size();
    std::set<std::pair<std::string, std::string>> told;
    while (!jobs.empty() && !options_.interrupted()) {
      const auto finished = pool.take_finished();
      for (const auto& [ticket, compiled] : finished) {
        const auto job = jobs.extract(ticket);
        const auto fault = fault_of(job.mapped(), compiled);
        // Configurations that fail alike are told of once.
        if (fault && told.emplace(job.mapped().task->spec->name, fault->remedy()).second)
          add(true, job.mapped().task, *fault);
        const TaskKernel* kernel = job.mapped().kernel;
        ++(kernel != nullptr && kernel->is_reference() ? report_.references_run : report_.compiled);
      }
      options_.progress(total - jobs.size(), total);
      if (finished.empty()) wait_for_work(pool);
    }
  }

  std::optional<UserError> fault_of(const Job& job, const Compiled& compiled) const {
    const Task& task = *job.task;
    if (job.kernel != nullptr) return fault_of(task, *job.kernel, compiled);
    const std::string example = parameters_of(job.instance);
    if (compiled.outcome != Outcome::ok)
      return UserError(fmt::format("the kernel does not compile with {}: {}", example, compiled.reason),
                       Where{task.spec->source.string(), ""},
                       "Correct the source, or the parameters that it does not allow.");
    try {
      const Admission admission =
          admit_binary(target_.model, job.instance, read_all_resources(*compiled.binary), AdmissionLimits{});
      if (admission.admitted) return std::nullopt;
      return UserError(fmt::format("the kernel cannot be launched with {}: {}", example, admission.reason),
                       task.spec->where, "Correct the manifest's launch and arguments, or add a constraint.");
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
    return UserError(*fault, task.spec->where.at("operation"), "Pass the arguments that the kernel takes.");
  }

  static std::string parameters_of(const Instance& instance) {
    std::vector<std::string> words;
    for (const auto& [name, value] : instance.parameters)
      words.push_back(fmt::format("{}={}", name, to_text(value)));
    return join(words, " ");
  }

  void run_python() {
    std::set<std::string> told;
    for (const Task& task : tasks_) {
      const auto& python = task.spec->operation.python;
      if (!python || options_.interrupted()) continue;
      try {
        PythonRun run(task, spec_.measure.seed, compile_.must_be_confined);
        std::optional<std::string> done;
        while (!(done = run.poll()) && !options_.interrupted()) run.wait();
        ++report_.references_run;
        if (!done || done->empty()) continue;
        add(true, &task,
            UserError(fmt::format("{}() failed: {}", python->function, *done),
                      Where{python->source.string(), ""}, "Correct the function."));
      } catch (const UserError& error) {
        // There is no Python: once is enough.
        if (told.insert(error.message()).second) add(true, nullptr, error);
      }
    }
  }

  const TuneSpec& spec_;
  const Target& target_;
  const CompilePoolOptions& compile_;
  const CheckOptions& options_;
  CheckReport report_;
  std::deque<TuneSpec> specs_;  ///< the tasks refer to them
  std::vector<Task> tasks_;
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

std::vector<UserError> planning_faults(const TuneSpec& spec, const Stop& stop) {
  std::vector<UserError> faults;
  for (const TemplateSpec& kernel : spec.templates) {
    for (const Problem& problem : spec.problems) {
      try {
        plan_tasks(one_pair(spec, kernel, problem), stop);
      } catch (const PlanningStopped&) {
        return faults;
      } catch (const NothingToDo&) {
        continue;
      } catch (const UserError& error) {
        // A mistake of the template is one of each problem.
        const auto is_same = [&](const UserError& other) {
          return std::string(other.what()) == error.what();
        };
        if (std::none_of(faults.begin(), faults.end(), is_same)) faults.push_back(error);
      }
    }
  }
  return faults;
}

}  // namespace tiletune
