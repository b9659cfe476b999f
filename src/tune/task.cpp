#include "tune/task.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "inspect/elf.h"
#include "space/instance.h"
#include "spec/problem.h"
#include "tune/identity.h"
#include "tune/python_run.h"

namespace tiletune {

Target target_from_device(const GpuOpened& opened, const std::vector<GpuModel>& models) {
  const DeviceFacts& device = opened.device;
  Target target;
  GpuModel& model = target.model;
  if (const GpuModel* known = model_called(models, device.name)) {
    model = *known;
  } else {
    const int major = device.compute_major;
    const bool is_a100 = major == 8 && device.compute_minor == 0;
    // CUDA C++ Programming Guide, arithmetic instructions.
    model.fp32_lanes_per_multiprocessor = major < 8 || is_a100 ? 64 : 128;
    // They follow whitepapers of V100, T4, A100, GA102, H100 and B200. Some GPUs of consumers have half of
    // it.
    model.tensor_flops_per_clock = is_a100 ? 2048 : major == 9 ? 4096 : major == 10 ? 8192 : 1024;
  }
  model.name = device.name;
  static_cast<DeviceProperties&>(model) = device;
  target.name = device.name;
  target.uuid = device.uuid;
  target.architecture = architecture_for(device.compute_major, device.compute_minor);
  target.driver_version = opened.driver_version;
  target.cuda_version = device.cuda_version;
  target.source = Source::measured;
  return target;
}

Target target_from_row(const Trial& row, const std::vector<GpuModel>& models) {
  Target target;
  if (const GpuModel* known = model_called(models, row.gpu)) target.model = *known;
  target.name = row.gpu;
  target.uuid = row.gpu_uuid;
  target.architecture = row.architecture;
  target.driver_version = row.driver_version;
  target.cuda_version = row.cuda_version;
  target.source = Source::replayed;
  return target;
}

Target target_from_model(const GpuModel& model, const StaticModel& static_model) {
  Target target;
  target.model = model;
  target.name = model.name;
  target.architecture = architecture_for(model.compute_major, model.compute_minor);
  target.source = Source::predicted;
  target.static_model = static_model;
  return target;
}

namespace {

/// `source` and what it may include.
std::shared_ptr<const KernelSource> read_source(const TuneSpec& spec, const TemplateSpec& kernel,
                                                const std::filesystem::path& folder,
                                                const std::filesystem::path& source) {
  const char* home = std::getenv("HOME");
  std::error_code error;
  const auto path = std::filesystem::canonical(home != nullptr && *home == '/' ? home : "/", error);
  // Where all that somebody owns lies in the config's folder, kernels find no headers in that.
  const bool holds_home = !error && is_within(path, spec.folder);
  return std::make_shared<const KernelSource>(read_kernel_source(
      source, folder, kernel.include_folders, holds_home ? folder : spec.folder, spec.allow_outside_paths));
}

/// Equal for tasks that can share buffers, reference and baselines. Equal kernels in different folders may
/// include different files.
std::string workload_text(const Task& task) {
  std::string text = workload_identity(task).text() + checks_text(task);
  if (const auto& library = task.spec->operation.baseline_library)
    text += fmt::format("baselines={}\n", static_cast<int>(*library));
  for (const Task& reference : task.reference)
    text += fmt::format("reference={} {}\n", reference.source->hash(), reference.source->folders_text());
  for (const Task& baseline : task.baselines) {
    text += fmt::format("baseline={} {}", baseline.spec->name,
                        to_text(baseline.space.at(0).named(*baseline.spec)));
    if (baseline.source)
      text += fmt::format(" {} {}", baseline.source->hash(), baseline.source->folders_text());
    text += "\n";
  }
  for (const TaskKernel& kernel : task.kernels)
    text += fmt::format("{} {} {}\n", kernel.launch->kernel_expression, kernel.source->hash(),
                        kernel.source->folders_text());
  return text + task.reference_hash;
}

[[noreturn]] void refuse_stopped(const TuneSpec& spec, const std::string& what) {
  throw PlanningStopped(
      "stopped while " + what, Where{spec.file.string(), ""},
      "Give the sweep more time, add constraints, or list fewer values, templates and problems.");
}

Space make_space(const TuneSpec& spec, const TemplateSpec& kernel, const Problem& problem, const Stop& stop,
                 const Shard& shard) {
  try {
    if (stop()) throw Stopped();
    return {kernel, problem, stop, shard};
  } catch (const Stopped&) {
    refuse_stopped(spec,
                   fmt::format("the space of {} at {} was being built", kernel.label(), problem.label()));
  }
}

void add_checks(Task& task) {
  const TemplateSpec& spec = *task.spec;
  for (const OperationCheck& check : spec.operation.checks) {
    for (const std::vector<ExprText>& sizes : check.problems) {
      constexpr double kMostOfADimension = 0x1p53;
      Problem problem = task.problem;
      problem.leading.clear();
      bool is_one = true;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double size = constant_value(spec, task.problem, sizes[i]);
        if (std::floor(size) != size)
          throw UserError(fmt::format("a size of the check {} is {}", check.name, size), sizes[i].where,
                          "Use // for a division that rounds down.");
        is_one = is_one && size >= 1 && size <= kMostOfADimension;
        if (is_one) problem.dimensions[i].second = static_cast<std::int64_t>(size);
      }
      if (!is_one) continue;
      TaskCheck& one = task.checks.emplace_back(TaskCheck{&check, problem, Instantiator(spec, problem)});
      one.workload = one.instantiator.workload();
      if (!check.scale.text.empty()) one.scale = constant_value(spec, problem, check.scale);
      if (!(one.scale >= 0))
        throw UserError(fmt::format("the scale of the check {} is {}", check.name, one.scale), check.where,
                        "Give a number of 0 or more.");
      for (const auto& [name, values] : check.values) {
        const auto place = std::ranges::find(one.workload.buffers, name, &Workload::SizedBuffer::name);
        const auto number = static_cast<std::size_t>(place - one.workload.buffers.begin());
        place->input =
            constant_values(spec, problem, spec.operation.buffers[number], values, place->elements);
      }
    }
  }
}

Task make_task(const TuneSpec& spec, const TemplateSpec& kernel, const Problem& problem, const Stop& stop) {
  const auto make = [&](const TemplateSpec& of, const Shard& shard) {
    return Task{&of, problem, make_space(spec, of, problem, stop, shard), Instantiator(of, problem)};
  };
  Task task = make(kernel, spec.shard);
  for (const TemplateSpec& reference : kernel.reference) {
    Task one = make(reference, {});
    if (one.space.size() == 0)
      throw UserError(fmt::format("the reference, a configuration of {}, is not valid at {}", reference.name,
                                  problem.label()),
                      reference.where, "Choose other parameters for it, or another problem.");
    task.reference.push_back(std::move(one));
  }
  if (spec.baseline == Baseline::none) return task;
  for (const TemplateSpec& baseline : kernel.baselines) {
    Task one = make(baseline, {});
    // Without a valid configuration it does not apply to the problem.
    if (one.space.size() > 0) task.baselines.push_back(std::move(one));
  }
  return task;
}

}  // namespace

std::string TaskKernel::label() const {
  if (is_reference()) return "the reference kernel";
  return fmt::format("the kernel of {} that computes the input '{}'", spec->source.filename().string(),
                     spec->input);
}

std::string Task::label() const { return spec->label() + " " + problem.label(); }

std::optional<std::string> Task::operation_hash() const {
  if (!reference.empty() && reference_hash.empty()) return std::nullopt;
  std::string text = reference_hash;
  for (const TaskKernel& kernel : kernels) {
    if (kernel.hash.empty()) return std::nullopt;
    text += kernel.is_reference() ? kernel.hash : fmt::format(";{}={}", kernel.spec->input, kernel.hash);
  }
  return text;
}

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

std::string launch_fault(const Task& task, std::uint64_t index, const GpuModel& gpu, Instance& instance) {
  std::string fault = instantiate(task, index, gpu, instance);
  return fault.empty() ? admit_launch(gpu, instance).reason : fault;
}

std::string unusable_reason(const Instance& instance, const UserError& error) {
  if (instance.compiled_file.empty()) return error.what();
  return fmt::format("{}: {}", instance.compiled_file, error.message());
}

std::vector<CheckLaunches> check_launches(const Task& task, const Instance& instance, const Binary& binary,
                                          const GpuModel& gpu) {
  Configuration configuration;
  for (const auto& [name, value] : instance.parameters) configuration.values.push_back(value);
  std::vector<CheckLaunches> all;
  const OperationCheck* done = nullptr;
  for (std::size_t i = 0; i < task.checks.size(); ++i) {
    const TaskCheck& check = task.checks[i];
    if (check.spec == done || !check.instantiator.allows(configuration, gpu.multiprocessors)) continue;
    try {
      Instance there = check.instantiator.instantiate(configuration, gpu.multiprocessors);
      const bool is_same = there.compile_options == instance.compile_options &&
                           there.defines == instance.defines && kernels_text(there) == kernels_text(instance);
      if (!is_same || !admit_launch(gpu, there).reason.empty()) continue;
      for (std::size_t k = 0; k < there.launches.size(); ++k)
        there.launches[k].symbol = binary.kernel_symbols.at(k);
      all.push_back({i, std::move(there.launches), std::move(there.constants), std::move(there.workspace)});
      done = check.spec;
    } catch (const UserError&) {
      // What cannot be evaluated there is not launched there.
    }
  }
  return all;
}

MeasureRequest measure_request(const Task& task, const Instance& instance, const Binary& binary) {
  MeasureRequest request;
  request.cubin = binary.cubin;
  request.launches = instance.launches;
  for (std::size_t i = 0; i < request.launches.size(); ++i)
    request.launches[i].symbol = binary.kernel_symbols.at(i);
  request.steps = instance.steps;
  request.constants = instance.constants;
  try {
    for (const ElfVariable& variable : CubinElf(binary.cubin).variables(kDeviceMemory))
      if (variable.bytes > 0) request.variables.emplace_back(variable.name);
  } catch (const UserError&) {
    // What is wrong with the file, the driver says.
  }
  request.workspace = instance.workspace;
  request.tolerance_factor = task.spec->tolerance_factor;
  return request;
}

namespace {

/// The source of a kernel; a T1 tuning problem may come without them.
std::shared_ptr<const KernelSource> kernel_source(const TuneSpec& spec, const TemplateSpec& kernel) {
  std::error_code ignored;
  if (kernel.language == "OpenCL") {
    throw UserError("the kernel is written in OpenCL, so nothing can be compiled", kernel.where,
                    "tiletune compiles CUDA C++. Without the kernel, 'tiletune space' counts the "
                    "configurations, and 'tiletune sweep --replay' searches among recorded ones.");
  }
  if (is_compiled(kernel.source)) {
    if (is_ptx(kernel.source)) nvjitlink_version();
    // Each configuration reads its own file in the folder.
    KernelSource source;
    source.name = kernel.source.string();
    source.roots = {{".", std::make_shared<const Folder>(kernel.folder, Links::refuse)}};
    source.may_leave = spec.allow_outside_paths;
    return std::make_shared<const KernelSource>(std::move(source));
  }
  if (!std::filesystem::exists(kernel.source, ignored)) {
    throw UserError(kernel.source.empty()
                        ? "names no kernel file, so nothing can be compiled"
                        : fmt::format("the kernel's file {} does not exist, so nothing can be compiled",
                                      kernel.source.string()),
                    kernel.where, "Put it beside this file.");
  }
  return read_source(spec, kernel, kernel.folder, kernel.source);
}

struct Sources {
  std::shared_ptr<const KernelSource> kernel;
  std::map<std::filesystem::path, std::shared_ptr<const KernelSource>> operation;  ///< its kernels' sources
};
using SourcesOfTemplates = std::map<const TemplateSpec*, Sources>;

void check_options(const TuneSpec& spec, const TemplateSpec& kernel, const Stop& stop) {
  try {
    for (std::size_t i = 0; i < kernel.compile_options.size(); ++i) {
      if (kernel.compile_options[i].empty()) continue;
      for (const std::string& text : possible_texts(kernel, i, stop)) {
        if (stop()) throw Stopped();
        const Where where = kernel.where.at("compile_options").at(i);
        check_compile_option(text, where);
        if (is_compiled(kernel.source) && !is_assembler_option(text))
          throw UserError(fmt::format("'{}' is not an option of PTX", text), where,
                          "Use --maxrregcount or --ptxas-options, or remove it.");
      }
    }
  } catch (const Stopped&) {
    refuse_stopped(spec, fmt::format("the options of {} were being checked", kernel.name));
  }
}

SourcesOfTemplates read_all_sources(const TuneSpec& spec, const Stop& stop) {
  check_compile_options(spec.compile.options, Where{spec.file.string(), "/compile/options"});
  SourcesOfTemplates sources;
  const auto read = [&](const TemplateSpec& kernel) -> Sources& {
    check_options(spec, kernel, stop);
    Sources& of = sources[&kernel];
    of.kernel = kernel_source(spec, kernel);
    return of;
  };
  for (const TemplateSpec& kernel : spec.templates) {
    Sources& of = read(kernel);
    const auto read_operation = [&](const OperationKernel& own) {
      of.operation[own.source] = read_source(spec, kernel, own.folder, own.source);
    };
    if (kernel.operation.reference) read_operation(*kernel.operation.reference);
    for (const OperationKernel& input : kernel.operation.input_kernels) read_operation(input);
    for (const TemplateSpec& other : kernel.reference) read(other);
    if (spec.baseline == Baseline::none) continue;
    for (const TemplateSpec& baseline : kernel.baselines) read(baseline);
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
    if (!kernel.runs(problem)) continue;
    Task task = make(kernel, problem);
    if (const auto found = sources.find(&kernel); found != sources.end()) {
      const Sources& own = found->second;
      task.source = own.kernel;
      const auto add = [&](const OperationKernel& one, const KernelLaunch& launch) {
        task.kernels.push_back({&one, &launch, own.operation.at(one.source)});
      };
      const Operation& operation = kernel.operation;
      if (operation.reference) add(*operation.reference, *task.instantiator.reference());
      for (std::size_t i = 0; i < operation.input_kernels.size(); ++i)
        add(operation.input_kernels[i], task.instantiator.input_launches()[i]);
      for (Task& reference : task.reference) reference.source = sources.at(reference.spec).kernel;
      for (Task& baseline : task.baselines) baseline.source = sources.at(baseline.spec).kernel;
    }
    const auto [place, is_new] = workload_of.emplace(workload_text(task), by_workload.size());
    if (is_new) by_workload.emplace_back();
    if (!is_new) task.baselines.clear();
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
                             const PlanLimits& limits, ArrayHashes& arrays) {
  std::size_t pairs = 0;
  for (const TemplateSpec& kernel : spec.templates)
    pairs += kernel.problems.empty() ? spec.problems.size() : kernel.problems.size();
  check_limit(pairs, limits.tasks, "pairs of template and problem", spec);
  std::vector<Task> tasks;
  std::size_t workloads = 0;
  std::uint64_t planned = 0;
  std::uint64_t rows = 0;
  std::shared_ptr<ScratchFolder> scratch;
  std::map<const TemplateSpec*, std::string> python_hashes;
  const auto make = [&](const TemplateSpec& kernel, const Problem& problem) {
    Task task = make_task(spec, kernel, problem, stop);
    check_limit(rows += task.space.rows(), limits.rows, "valid combinations in all spaces together", spec);
    if (sources.empty()) return task;
    if (spec.measure.verify) add_checks(task);
    task.arrays = arrays.hash_of(task.instantiator.workload());
    const Operation& operation = kernel.operation;
    if (operation.consensus > 0) task.reference_hash = fmt::format("consensus {}", operation.consensus);
    if (operation.python) {
      if (!scratch) scratch = std::make_shared<ScratchFolder>();
      task.scratch = scratch;
      const auto [hash, is_new] = python_hashes.try_emplace(&kernel);
      if (is_new) hash->second = hash_of_python(*operation.python);
      task.reference_hash = hash->second;
    }
    return task;
  };
  for (const Problem& problem : spec.problems) {
    for (auto& workload : tasks_of(problem, spec, sources, make)) {
      for (Task& task : workload) {
        task.workload = workloads;
        planned += task.space.size();
        tasks.push_back(std::move(task));
      }
      ++workloads;
    }
  }
  if (planned == 0 && !spec.shard.is_all()) {
    throw NothingToDo(fmt::format("shard {} has no configuration: there are fewer than {}",
                                  spec.shard.label(), spec.shard.count),
                      Where{spec.file.string(), ""}, "Divide the space into fewer shards.");
  }
  if (planned == 0) {
    throw NothingToDo(
        "no configuration satisfies the constraints at " + problems_text(spec.problems),
        Where{spec.file.string(), ""},
        fmt::format("Run 'tiletune space {}' to see what each constraint removes.", spec.file.string()));
  }
  return tasks;
}

}  // namespace

std::vector<Task> plan_tasks(const TuneSpec& spec, const Stop& stop, const PlanLimits& limits,
                             ArrayHashes* arrays) {
  ArrayHashes own;
  return plan_tasks(spec, read_all_sources(spec, stop), stop, limits, arrays != nullptr ? *arrays : own);
}

std::vector<Task> plan_tasks_without_sources(const TuneSpec& spec, const Stop& stop) {
  ArrayHashes none;
  return plan_tasks(spec, {}, stop, {}, none);
}

CompilePoolOptions with_folders(CompilePoolOptions options, const TuneSpec& spec,
                                const std::vector<Task>& tasks) {
  std::map<std::filesystem::path, std::shared_ptr<const Folder>> by_path;
  for (const auto& folder : options.folders) by_path.try_emplace(folder->path(), folder);
  for (const Task& task : tasks) {
    std::vector<const KernelSource*> sources{task.source.get()};
    for (const TaskKernel& kernel : task.kernels) sources.push_back(kernel.source.get());
    for (const Task& reference : task.reference) sources.push_back(reference.source.get());
    for (const Task& baseline : task.baselines) sources.push_back(baseline.source.get());
    for (const KernelSource* source : sources) {
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

CompileRequest kernel_request(const TuneSpec& spec, const Task& task, const TaskKernel& kernel,
                              const std::string& architecture) {
  Instance instance;
  instance.compile_options = fixed_options(*task.spec);
  instance.launches = {*kernel.launch};
  return make_compile_request(spec.compile, *kernel.source, instance, architecture);
}

std::optional<UserError> consensus_fault(const Task& task, std::uint64_t configurations) {
  const int agreeing = task.spec->operation.consensus;
  if (configurations >= static_cast<std::uint64_t>(agreeing)) return std::nullopt;
  return UserError(
      fmt::format("the reference is what {} configurations agree on, and {} has {} at {}", agreeing,
                  task.spec->operation.name, counted(configurations, "configuration"), task.problem.label()),
      task.spec->where.at("operation"),
      "Let fewer agree, widen the parameters, or describe another reference.");
}

std::optional<UserError> reference_fault(const TemplateSpec& kernel) {
  const Operation& operation = kernel.operation;
  const bool has_reference = operation.reference || operation.reference_library || operation.python ||
                             !operation.expected.empty() || operation.consensus > 0 ||
                             !kernel.reference.empty();
  if (has_reference || operation.is_unverified) return std::nullopt;
  return UserError(
      fmt::format("{} cannot be measured: the T1 tuning problem leaves out the type, size, access "
                  "or contents of an array",
                  kernel.name),
      kernel.where, "Write a template manifest for the kernel, or predict its times with --gpu NAME.");
}

std::optional<std::string> kernel_fault(const TaskKernel& kernel, const Compiled& compiled) {
  if (compiled.outcome != Outcome::ok)
    return fmt::format("{} does not compile: {}", kernel.label(), compiled.reason);
  const auto fault = argument_fault(kernel.launch->arguments, read_resources(*compiled.binary));
  if (!fault) return std::nullopt;
  return fmt::format("{} cannot be launched: {}", kernel.label(), *fault);
}

namespace {

bool uses_nccl(const TemplateSpec& kernel) {
  return std::any_of(kernel.steps.begin(), kernel.steps.end(),
                     [](const StepSpec& step) { return step.kind == StepKind::collective; });
}

void add_once(const std::optional<LibraryOperation>& operation, std::vector<LibraryOperation>& operations) {
  if (operation && std::find(operations.begin(), operations.end(), *operation) == operations.end())
    operations.push_back(*operation);
}

/// As the problem of its task, but for sizes and values. What libraries do in the sweep is known by then.
PrepareRequest check_request(const TaskCheck& check, const PrepareRequest& timed) {
  PrepareRequest request = timed;
  request.checks.clear();
  request.baseline = Baseline::lt;  // libraries that compute references are there in any case
  request.name = fmt::format("{} ({})", check.spec->name, check.problem.label());
  request.workload = check.workload;
  request.scale = check.scale;
  request.dimensions = check.problem.dimensions;
  const auto launch_there = [](PrepareRequest::OperationLaunch& one, const KernelLaunch& launch) {
    const std::string symbol = one.launch.symbol;
    one.launch = launch;
    one.launch.symbol = symbol;
  };
  if (request.reference) launch_there(*request.reference, *check.instantiator.reference());
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    launch_there(request.inputs[i], check.instantiator.input_launches()[i]);
  return request;
}

}  // namespace

PrepareRequest prepare_request(const TuneSpec& spec, const Task& task, const WorkloadKernels& kernels) {
  const Operation& operation = task.spec->operation;
  PrepareRequest request;
  request.reference_library = operation.reference_library;
  request.workload = task.instantiator.workload();
  request.dimensions = task.problem.dimensions;
  request.dimensions.insert(request.dimensions.end(), task.problem.leading.begin(),
                            task.problem.leading.end());
  request.scalars = operation.scalars;
  request.options = operation.options;
  request.accumulator = operation.accumulator;
  request.accumulation_bits = operation.accumulation_bits;
  request.policy = spec.measure;
  request.policy.seed = spec.input_seed();
  if (operation.is_unverified) request.policy.verify = false;
  // Launches on several GPUs are timed one by one.
  if (request.workload.gpus > 1) request.policy.batch_below_us = 0;
  request.baseline = spec.baseline;
  request.baselines = operation.baseline_library;
  for (const TemplateSpec& one : spec.templates) {
    add_once(one.operation.reference_library, request.sweep_references);
    if (spec.baseline != Baseline::none) add_once(one.operation.baseline_library, request.sweep_baselines);
    request.needs_nccl = request.needs_nccl || uses_nccl(one) ||
                         std::any_of(one.baselines.begin(), one.baselines.end(), uses_nccl) ||
                         std::any_of(one.reference.begin(), one.reference.end(), uses_nccl);
  }
  for (std::size_t i = 0; i < kernels.operation.size(); ++i) {
    const TaskKernel& kernel = task.kernels[i];
    const Binary& binary = *kernels.operation[i];
    PrepareRequest::OperationLaunch launch{kernel.spec->input, binary.cubin, *kernel.launch};
    launch.launch.symbol = binary.kernel_symbols.front();
    if (kernel.is_reference())
      request.reference = std::move(launch);
    else
      request.inputs.push_back(std::move(launch));
  }
  for (const TaskCheck& check : task.checks)
    if (request.policy.verify) request.checks.push_back(check_request(check, request));
  request.candidates = kernels.candidates;
  request.agreeing = kernels.agreeing;
  if (!operation.python) return request;
  for (const auto& [name, file] : python_outputs(task))
    for (auto& buffer : request.workload.buffers)
      if (buffer.name == name) buffer.expected = file;
  return request;
}

}  // namespace tiletune
