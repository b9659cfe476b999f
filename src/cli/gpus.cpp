#include "cli/gpus.h"

#include <cstdlib>
#include <numeric>

#include "base/file.h"
#include "cli/common.h"

namespace tiletune {

std::vector<int> parse_gpu_indices(const std::string& text) {
  std::vector<int> indices;
  for (const std::string& word : split(text, ',')) {
    const int index = parsed_number<int>(word).value_or(-1);
    if (index < 0 || std::find(indices.begin(), indices.end(), index) != indices.end())
      throw UserError(fmt::format("'{}' is not a list of GPUs", text), Where{"--gpus", ""},
                      "Write 'all', or the numbers of different GPUs separated by commas, such as 0,1.");
    indices.push_back(index);
  }
  return indices;
}

std::string model_or_default(const std::string& model) { return model.empty() ? "H100" : model; }

namespace {

/// Files of inputs and expected outputs, which a GPU's worker reads.
std::set<std::string> files_of(const std::vector<Task>& tasks) {
  std::set<std::string> files;
  for (const Task& task : tasks) {
    for (const auto& buffer : task.instantiator.workload().buffers) {
      for (const auto* file : {&buffer.file, &buffer.expected})
        if (*file) files.insert((*file)->path);
    }
    if (task.scratch) files.insert(task.scratch->path().string());
  }
  return files;
}

/// `gpus` are the numbers of one worker's GPUs: "0", "0,1".
GpuClientOptions client_options(const GpuChoice& choice, const std::string& gpus) {
  GpuClientOptions options;
  options.program = executable_path();
  options.arguments = {"gpu-worker", gpus};
  if (choice.confined) options.arguments.emplace_back("--confined");
  if (!choice.outputs.empty())
    options.arguments.insert(options.arguments.end(),
                             {"--write", std::filesystem::absolute(choice.outputs).string()});
  for (const std::string& file : choice.files)
    options.arguments.insert(options.arguments.end(), {"--read", file});
  options.open_timeout_s = choice.open_timeout_s;
  if (!choice.worker.empty()) {
    options.program = choice.worker.front();
    options.arguments.assign(choice.worker.begin() + 1, choice.worker.end());
    std::replace(options.arguments.begin(), options.arguments.end(), std::string("{gpu}"), gpus);
    const std::vector<std::string> files(choice.files.begin(), choice.files.end());
    std::replace(options.arguments.begin(), options.arguments.end(), std::string("{files}"),
                 join(files, ":"));
  }
  return options;
}

std::string list_of(const std::vector<int>& indices) { return fmt::format("{}", fmt::join(indices, ",")); }

std::unique_ptr<GpuClient> started_client(const GpuChoice& choice, const std::vector<int>& gpus) {
  auto client = std::make_unique<GpuClient>(client_options(choice, list_of(gpus)));
  client->start();
  return client;
}

struct OpenedGpu {
  std::unique_ptr<GpuClient> client;
  Target target;
};

class Opener {
 public:
  /// `together`: how many GPUs compute each problem, and share a worker.
  Opener(const GpuChoice& choice, Stop stop, int together = 1)
      : choice_(choice), stop_(std::move(stop)), together_(together), models_(shipped_gpu_models()) {}

  std::vector<OpenedGpu> gpus;
  std::vector<std::string> notes;
  std::string no_gpu;  ///< why this machine has none

  void open() {
    std::vector<int> indices(together_);
    // The first worker reports how many GPUs there are. The workers of as many as /dev shows start with it,
    // because the driver takes up to a second for each.
    std::error_code unreadable;
    if (is_all_ && together_ == 1 && choice_.worker.empty() && std::getenv("CUDA_VISIBLE_DEVICES") == nullptr)
      while (std::filesystem::exists(fmt::format("/dev/nvidia{}", indices.size()), unreadable))
        indices.push_back(0);
    std::iota(indices.begin(), indices.end(), 0);
    if (!is_all_ && (choice_.asked || together_ == 1)) indices = parse_gpu_indices(choice_.indices);
    if (std::ssize(indices) < together_) throw too_few(fmt::format("--gpus names {}", indices.size()));
    open(indices);
    if (!is_all_ || gpus.empty()) return;
    std::vector<int> others(std::max(devices_ - static_cast<int>(indices.size()), 0));
    std::iota(others.begin(), others.end(), static_cast<int>(indices.size()));
    open(others);
  }

 private:
  using Group = std::vector<int>;

  void open(const std::vector<int>& indices) {
    std::vector<std::pair<Group, std::unique_ptr<GpuClient>>> groups;
    auto first = indices.begin();
    for (; indices.end() - first >= together_; first += together_) {
      Group group(first, first + together_);
      auto client = started_client(choice_, group);
      groups.emplace_back(std::move(group), std::move(client));
    }
    for (; first != indices.end(); ++first)
      notes.push_back(fmt::format("GPU {} is left out: {} GPUs compute each problem", *first, together_));
    for (auto& [group, client] : groups)
      if (!is_all_ || group.front() == 0 || group.back() < devices_) open(group, std::move(client));
  }

  void open(const Group& group, std::unique_ptr<GpuClient> client) {
    try {
      const auto opened = client->open(stop_);
      if (!opened) {
        if (choice_.asked)
          throw GpuError(
              fmt::format("GPU{} {}: {}", together_ > 1 ? "s" : "", list_of(group), client->why()));
        no_gpu = client->why();
        return;
      }
      devices_ = opened->devices;
      if (together_ > 1 && *std::max_element(group.begin(), group.end()) >= devices_)
        throw too_few(fmt::format("the driver shows {}", devices_));
      gpus.push_back({std::move(client), target_from_device(*opened, models_)});
    } catch (const GpuError& error) {
      // Without the first one the number of GPUs is not known.
      if (!is_all_ || together_ > 1 || group.front() == 0) throw;
      notes.push_back(fmt::format("GPU {} is left out: {}. {}", group.front(), error.what(), kGpuRemedy));
    }
  }

  UserError too_few(const std::string& found) const {
    return {fmt::format("{} GPUs compute each problem together, and {}", together_, found),
            Where{"--gpus", ""}, "Choose problems for fewer GPUs, or predict with --gpu NAME."};
  }

  const GpuChoice& choice_;
  Stop stop_;
  int together_ = 1;
  bool is_all_ = choice_.indices == kAllGpus;
  std::vector<GpuModel> models_;
  int devices_ = 0;
};

GpuSet predicting_gpu_set(const std::string& model, std::vector<Task> tasks) {
  GpuSet gpu_set;
  gpu_set.tasks = std::move(tasks);
  gpu_set.evaluators.push_back(
      make_predicting_evaluator(targets_for({model}, shipped_static_model()).front()));
  return gpu_set;
}

/// How many GPUs compute each problem. Throws UserError for problems that cannot be measured together.
int gpus_together(const TuneSpec& spec, const std::vector<Task>& tasks) {
  const auto gpus_of = [](const Task& task) { return task.instantiator.workload().gpus; };
  const int gpus = gpus_of(tasks.front());
  const auto other =
      std::find_if(tasks.begin(), tasks.end(), [&](const Task& task) { return gpus_of(task) != gpus; });
  if (other != tasks.end())
    throw UserError(
        fmt::format("{} is computed by {}, and {} by {}", tasks.front().problem.label(), counted(gpus, "GPU"),
                    other->problem.label(), counted(gpus_of(*other), "GPU")),
        Where{spec.file.string(), "/problems"}, "Sweep them one after another: choose with --problem.");
  const CachePolicy cache = spec.measure.cache;
  if (gpus > 1 && cache != CachePolicy::cold && cache != CachePolicy::dirty)
    throw UserError(fmt::format("the cache is {}, and {} GPUs compute each problem", name(cache), gpus),
                    Where{spec.file.string(), "/measure/cache"}, "Measure with a cold or dirty cache.");
  return gpus;
}

std::vector<GpuSet> measuring_gpu_sets(const TuneSpec& spec, std::vector<OpenedGpu> gpus,
                                       std::vector<Task> tasks, const Stop& stop) {
  // Nothing is timed that cannot be verified.
  for (const TemplateSpec& kernel : spec.templates)
    if (const auto fault = reference_fault(kernel)) throw UserError(*fault);
  std::vector<GpuSet> gpu_sets(1);
  gpu_sets.front().tasks = std::move(tasks);
  for (OpenedGpu& gpu : gpus) {
    auto gpu_set = std::find_if(gpu_sets.begin(), gpu_sets.end(), [&](const GpuSet& other) {
      const auto kind = [](const Target& target) {
        return std::tie(target.name, target.architecture, target.driver_version);
      };
      return other.evaluators.empty() || kind(other.target()) == kind(gpu.target);
    });
    if (gpu_set == gpu_sets.end()) {
      gpu_sets.emplace_back();
      gpu_set = std::prev(gpu_sets.end());
      gpu_set->tasks = plan_tasks(spec, stop);
      // Workers read one folder of what Python writes, the one that was there when they were started.
      const std::vector<Task>& first = gpu_sets.front().tasks;
      const auto with_scratch =
          std::find_if(first.begin(), first.end(), [](const Task& task) { return task.scratch != nullptr; });
      for (Task& task : gpu_set->tasks) {
        if (task.scratch) task.scratch = with_scratch->scratch;
        task.gpu_set = gpu_sets.size() - 1;
      }
    }
    gpu_set->evaluators.push_back(
        make_measuring_evaluator(spec, std::move(gpu.client), std::move(gpu.target)));
  }
  return gpu_sets;
}

}  // namespace

std::vector<Target> targets_for(const std::vector<std::string>& names, const StaticModel& static_model) {
  const std::vector<GpuModel> models = shipped_gpu_models();
  if (names.empty()) {
    std::vector<std::string> known;
    for (const GpuModel& model : models) known.push_back(model.name);
    throw UserError("no GPU was named", Where{"--gpu", ""},
                    "Name at least one: " + join(known, ", ") + ". For example: --gpu A100-80GB --gpu H100");
  }
  std::vector<Target> targets;
  for (const std::string& name : names)
    targets.push_back(target_from_model(find_gpu_model(models, name), static_model));
  return targets;
}

std::vector<std::unique_ptr<GpuClient>> start_gpu_clients(const GpuChoice& choice,
                                                          const std::vector<int>& indices) {
  std::vector<std::unique_ptr<GpuClient>> clients;
  for (const int index : indices) clients.push_back(started_client(choice, {index}));
  return clients;
}

std::string gpu_name(const GpuChoice& choice) {
  Opener opener(choice, never_stop);
  if (choice.model.empty()) opener.open();
  return opener.gpus.empty() ? find_gpu_model(shipped_gpu_models(), model_or_default(choice.model)).name
                             : opener.gpus.front().target.name;
}

ChosenGpus choose_gpus(const GpuChoice& choice, const TuneSpec& spec, std::vector<Task> tasks,
                       const Stop& stop) {
  ChosenGpus chosen;
  if (!choice.model.empty()) {
    chosen.why_predicted = "--gpu names a model";
    chosen.gpu_sets.push_back(predicting_gpu_set(choice.model, std::move(tasks)));
    return chosen;
  }
  GpuChoice with_files = choice;
  with_files.files = files_of(tasks);
  Opener opener(with_files, stop, gpus_together(spec, tasks));
  try {
    opener.open();
  } catch (const Stopped&) {
    throw PlanningStopped("stopped while the GPUs were being opened", Where{"--gpus", ""},
                          "Run the same command again.");
  }
  chosen.notes = std::move(opener.notes);
  if (opener.gpus.empty()) {
    if (!choice.outputs.empty()) throw GpuError("there are no outputs without a GPU: " + opener.no_gpu);
    chosen.why_predicted = opener.no_gpu;
    chosen.gpu_sets.push_back(predicting_gpu_set(model_or_default(spec.gpu), std::move(tasks)));
  } else {
    chosen.gpu_sets = measuring_gpu_sets(spec, std::move(opener.gpus), std::move(tasks), stop);
  }
  return chosen;
}

}  // namespace tiletune
