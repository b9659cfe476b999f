#include "tune/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "compile/cache.h"
#include "inspect/occupancy.h"
#include "space/option_text.h"
#include "tune/identity.h"

namespace tiletune {

namespace {

/// Whether all that somebody owns lies in a folder: then kernels find no headers in it.
bool holds_home(const std::filesystem::path& folder) {
  const char* home = std::getenv("HOME");
  std::error_code error;
  const auto path = std::filesystem::canonical(home != nullptr && *home == '/' ? home : "/", error);
  return !error && is_within(path, folder);
}

/// `source` and what it may include.
std::shared_ptr<const KernelSource> read_source(const TuneSpec& spec, const std::filesystem::path& folder,
                                                const std::filesystem::path& source) {
  return std::make_shared<const KernelSource>(read_kernel_source(
      source, folder, holds_home(spec.folder) ? folder : spec.folder, spec.allow_outside_paths));
}

/// What a task's buffers and arithmetic are, without policy, baselines and reference kernel.
PrepareRequest workload_request(const Task& task) {
  PrepareRequest request;
  request.reference_library = task.spec->operation.reference_library;
  request.workload = task.instantiator.workload();
  request.dimensions = task.problem.dimensions;
  request.dimensions.insert(request.dimensions.end(), task.problem.leading.begin(),
                            task.problem.leading.end());
  request.scalars = task.spec->operation.scalars;
  request.accumulator = task.spec->operation.accumulator;
  return request;
}

/// The launch of a task's reference kernel.
Instance reference_instance(const Task& task) {
  const ReferenceInstance& reference = *task.instantiator.reference();
  Instance instance;
  instance.kernel_expression = task.spec->operation.reference->kernel;
  instance.compile_options = fixed_options(*task.spec);
  instance.grid = reference.grid;
  instance.block = reference.block;
  return instance;
}

/// Equal for tasks that can share buffers, reference and baselines. Equal references in different folders
/// may include different files.
std::string workload_text(const Task& task) {
  std::string text = workload_identity(task).text();
  if (const auto& baselines = task.spec->operation.baselines)
    text += fmt::format("baselines={}\n", static_cast<int>(*baselines));
  if (const auto& reference = task.reference_source)
    text += fmt::format("{} {} {}", task.spec->operation.reference->kernel, reference->hash(),
                        reference->folders_text());
  return text;
}

[[noreturn]] void refuse_stopped(const TuneSpec& spec, const std::string& what) {
  throw PlanningStopped(
      "stopped while " + what, Where{spec.file.string(), ""},
      "Give the sweep more time, add constraints, or list fewer values, templates and problems.");
}

Space make_space(const TuneSpec& spec, const TemplateSpec& kernel, const Problem& problem, const Stop& stop) {
  try {
    if (stop()) throw Stopped();
    return {kernel, problem, stop};
  } catch (const Stopped&) {
    refuse_stopped(spec, fmt::format("the space of {} at {} was being built", kernel.name, problem.label()));
  }
}

Task make_task(const TuneSpec& spec, const TemplateSpec& kernel, const Problem& problem, const Stop& stop) {
  Task task{&kernel, problem, make_space(spec, kernel, problem, stop), Instantiator(kernel, problem)};
  task.planned = task.space.size();
  if (spec.budget.evaluations > 0) task.planned = std::min(task.planned, spec.budget.evaluations);
  return task;
}

}  // namespace

std::string Task::label() const { return spec->name + " " + problem.label(); }

std::string instantiate(const Task& task, std::uint64_t index, const GpuModel& gpu, Instance& instance) {
  const Configuration configuration = task.space.at(index);
  try {
    instance = task.instantiator.instantiate(configuration, gpu.multiprocessors);
    return buffers_fault(gpu, task.instantiator.workload());
  } catch (const UserError& error) {
    instance = Instance{};
    instance.parameters = configuration.named(*task.spec);
    return error.what();
  }
}

LaunchShape launch_shape(const Instance& instance) {
  const auto u = [](std::int64_t value) { return static_cast<unsigned>(value); };
  return {u(instance.grid.x),
          u(instance.grid.y),
          u(instance.grid.z),
          u(instance.block.x),
          u(instance.block.y),
          u(instance.block.z),
          u(instance.dynamic_shared_bytes)};
}

MeasureRequest measure_request(const Task& task, const Instance& instance, const Binary& binary) {
  MeasureRequest request;
  request.cubin = binary.cubin;
  request.symbol = binary.kernel_symbol;
  request.shape = launch_shape(instance);
  request.workspace = instance.workspace;
  request.arguments = instance.arguments;
  request.tolerance_factor = task.spec->tolerance_factor;
  return request;
}

namespace {

/// The source of a kernel; a T1 tuning problem may come without them.
std::shared_ptr<const KernelSource> kernel_source(const TuneSpec& spec, const TemplateSpec& kernel) {
  std::error_code ignored;
  if (!std::filesystem::exists(kernel.source, ignored)) {
    throw UserError(kernel.source.empty()
                        ? "names no kernel file, so nothing can be compiled"
                        : fmt::format("the kernel's file {} does not exist, so nothing can be compiled",
                                      kernel.source.string()),
                    kernel.where, "Put it beside this file.");
  }
  return read_source(spec, kernel.folder, kernel.source);
}

struct Sources {
  std::shared_ptr<const KernelSource> kernel;
  std::shared_ptr<const KernelSource> reference;
};
using SourcesOfTemplates = std::map<const TemplateSpec*, Sources>;

void check_options(const TuneSpec& spec, const TemplateSpec& kernel, const Stop& stop) {
  try {
    for (std::size_t i = 0; i < kernel.compile_options.size(); ++i) {
      for (const std::string& text : possible_texts(kernel, i, stop)) {
        if (stop()) throw Stopped();
        check_compile_option(text, kernel.where.at("compile_options").at(i));
      }
    }
  } catch (const Stopped&) {
    refuse_stopped(spec, fmt::format("the options of {} were being checked", kernel.name));
  }
}

SourcesOfTemplates read_all_sources(const TuneSpec& spec, const Stop& stop) {
  check_compile_options(spec.compile.options, Where{spec.file.string(), "/compile/options"});
  SourcesOfTemplates sources;
  for (const TemplateSpec& kernel : spec.templates) {
    check_options(spec, kernel, stop);
    Sources& of = sources[&kernel];
    of.kernel = kernel_source(spec, kernel);
    if (const auto& reference = kernel.operation.reference)
      of.reference = read_source(spec, reference->folder, reference->source);
  }
  return sources;
}

using MakeStage = std::function<Task(const TemplateSpec&, const Problem&)>;

/// Stages of one problem, grouped by what they can share, workloads in order of first appearance.
std::vector<std::vector<Task>> tasks_of(const Problem& problem, const TuneSpec& spec,
                                        const SourcesOfTemplates& sources, const MakeStage& make) {
  std::vector<std::vector<Task>> by_workload;
  std::map<std::string, std::size_t> workload_of;
  for (const TemplateSpec& kernel : spec.templates) {
    Task task = make(kernel, problem);
    if (const auto found = sources.find(&kernel); found != sources.end()) {
      task.source = found->second.kernel;
      task.reference_source = found->second.reference;
    }
    const auto [place, is_new] = workload_of.emplace(workload_text(task), by_workload.size());
    if (is_new) by_workload.emplace_back();
    by_workload[place->second].push_back(std::move(task));
  }
  return by_workload;
}

void check_limit(std::uint64_t count, std::uint64_t most, const char* what, const TuneSpec& spec) {
  if (count <= most) return;
  throw UserError(fmt::format("more than {} {}", most, what), Where{spec.file.string(), ""},
                  "Sweep it in parts: choose with --template and --problem, or narrow the parameters.");
}

std::vector<Task> plan_tasks(const TuneSpec& spec, const SourcesOfTemplates& sources, const Stop& stop,
                             const PlanLimits& limits) {
  check_limit(spec.problems.size() * spec.templates.size(), limits.tasks, "pairs of template and problem",
              spec);
  std::vector<Task> tasks;
  std::size_t workloads = 0;
  std::uint64_t planned = 0;
  std::uint64_t rows = 0;
  const auto make = [&](const TemplateSpec& kernel, const Problem& problem) {
    Task task = make_task(spec, kernel, problem, stop);
    check_limit(rows += task.space.rows(), limits.rows, "valid combinations in all spaces together", spec);
    return task;
  };
  for (const Problem& problem : spec.problems) {
    for (auto& workload : tasks_of(problem, spec, sources, make)) {
      for (Task& task : workload) {
        task.workload = workloads;
        planned += task.planned;
        tasks.push_back(std::move(task));
      }
      ++workloads;
    }
  }
  if (planned == 0) {
    throw NothingToDo(
        "no configuration satisfies the constraints", Where{spec.file.string(), ""},
        fmt::format("Run 'tiletune space {}' to see what each constraint removes.", spec.file.string()));
  }
  return tasks;
}

}  // namespace

std::vector<Task> plan_tasks(const TuneSpec& spec, const Stop& stop, const PlanLimits& limits) {
  return plan_tasks(spec, read_all_sources(spec, stop), stop, limits);
}

std::vector<Task> plan_tasks_without_sources(const TuneSpec& spec, const Stop& stop) {
  return plan_tasks(spec, {}, stop, {});
}

CompilePoolOptions with_folders(CompilePoolOptions options, const TuneSpec& spec,
                                const std::vector<Task>& tasks) {
  std::map<std::filesystem::path, std::shared_ptr<const Folder>> by_path;
  for (const auto& folder : options.folders) by_path.try_emplace(folder->path(), folder);
  for (const Task& task : tasks) {
    for (const auto* source : {task.source.get(), task.reference_source.get()}) {
      if (source == nullptr) continue;
      for (const KernelSource::Root& root : source->roots)
        by_path.try_emplace(root.folder->path(), root.folder);
    }
  }
  options.folders.clear();
  for (const auto& [path, folder] : by_path) options.folders.push_back(folder);
  options.may_leave = spec.allow_outside_paths;
  return options;
}

CompileRequest reference_request(const TuneSpec& spec, const Task& task, const std::string& architecture) {
  return make_compile_request(spec.compile, *task.reference_source, reference_instance(task), architecture);
}

PrepareRequest prepare_request(const TuneSpec& spec, const Task& task, const Binary* reference) {
  PrepareRequest request = workload_request(task);
  request.policy = spec.measure;
  request.baseline = spec.baseline;
  request.baselines = task.spec->operation.baselines;
  if (reference != nullptr) {
    request.reference = PrepareRequest::ReferenceLaunch{reference->cubin, reference->kernel_symbol,
                                                        launch_shape(reference_instance(task)),
                                                        task.instantiator.reference()->arguments};
  }
  return request;
}

}  // namespace tiletune
