#include "cli/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/common.h"

namespace tiletune {

std::vector<int> parse_gpu_indices(const std::string& text) {
  std::vector<int> indices;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int index = 0;
    const auto [next, error] = std::from_chars(at, end, index);
    const bool is_new = std::find(indices.begin(), indices.end(), index) == indices.end();
    if (error != std::errc() || index < 0 || !is_new || (next != end && *next != ',')) {
      throw UserError(fmt::format("'{}' is not a list of GPUs", text), Where{"--gpus", ""},
                      "Write 'all', or the numbers of different GPUs separated by commas, such as 0,1.");
    }
    indices.push_back(index);
    if (next == end) return indices;
    at = next + 1;
  }
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

struct OpenedGpu {
  std::unique_ptr<GpuClient> client;
  Target target;
};

bool same_kind(const Target& a, const Target& b) {
  return a.name == b.name && a.architecture == b.architecture && a.driver_version == b.driver_version;
}

std::string list_of(const std::vector<int>& indices) { return fmt::format("{}", fmt::join(indices, ",")); }

/// /dev/nvidia0, /dev/nvidia1, ...
int gpu_device_files() {
  int count = 0;
  std::error_code unreadable;
  while (std::filesystem::exists(fmt::format("/dev/nvidia{}", count), unreadable)) ++count;
  return count;
}

class Opener {
 public:
  /// `together`: how many GPUs compute each problem.
  Opener(const GpuChoice& choice, Stop stop, int together = 1)
      : choice_(choice),
        stop_(std::move(stop)),
        together_(static_cast<std::size_t>(together)),
        models_(shipped_gpu_models()) {}

  std::vector<OpenedGpu> gpus;
  std::vector<std::string> notes;
  std::string no_gpu;  ///< why this machine has none

  void open() {
    if (together_ > 1) return open_groups();
    if (choice_.indices != kAllGpus) return open(parse_gpu_indices(choice_.indices));
    open_all();
  }

 private:
  /// GPU 0 reports how many there are. The workers of as many as /dev shows start with it, because the driver
  /// takes up to a second for each.
  void open_all() {
    const bool all_are_visible = choice_.worker.empty() && std::getenv("CUDA_VISIBLE_DEVICES") == nullptr;
    std::vector<int> first(static_cast<std::size_t>(all_are_visible ? std::max(gpu_device_files(), 1) : 1));
    std::iota(first.begin(), first.end(), 0);
    std::vector<std::unique_ptr<GpuClient>> clients = start_gpu_clients(choice_, first);
    for (const int index : first) {
      if (index == 0 || index < devices_) open(index, std::move(clients[static_cast<std::size_t>(index)]));
    }
    std::vector<int> others;
    for (int index = static_cast<int>(first.size()); index < devices_; ++index) others.push_back(index);
    open(others);
  }

  void open(const std::vector<int>& indices) {
    std::vector<std::unique_ptr<GpuClient>> clients = start_gpu_clients(choice_, indices);
    for (std::size_t i = 0; i < clients.size(); ++i) open(indices[i], std::move(clients[i]));
  }

  void open(int index, std::unique_ptr<GpuClient> client) {
    try {
      const auto opened = client->open(stop_);
      if (!opened) {
        if (choice_.asked) throw GpuError(fmt::format("GPU {}: {}", index, client->why()));
        no_gpu = client->why();
        return;
      }
      devices_ = opened->devices;
      gpus.push_back({std::move(client), target_from_device(*opened, models_)});
    } catch (const GpuError& error) {
      // Without the first one the number of GPUs is not known.
      if (choice_.indices != kAllGpus || index == 0) throw;
      notes.push_back(fmt::format("GPU {} is left out: {}. {}", index, error.what(), kGpuRemedy));
    }
  }

  /// Workers with several GPUs each.
  void open_groups() {
    const bool all = choice_.indices == kAllGpus;
    std::vector<int> indices(together_);
    std::iota(indices.begin(), indices.end(), 0);
    if (choice_.asked && !all) indices = parse_gpu_indices(choice_.indices);
    if (indices.size() < together_) throw too_few(fmt::format("--gpus names {}", indices.size()));
    open_groups_of(indices);
    if (!all || gpus.empty()) return;
    indices.resize(static_cast<std::size_t>(devices_));
    std::iota(indices.begin(), indices.end(), 0);
    open_groups_of({indices.begin() + static_cast<std::ptrdiff_t>(together_), indices.end()});
  }

  void open_groups_of(const std::vector<int>& indices) {
    std::vector<std::pair<std::vector<int>, std::unique_ptr<GpuClient>>> groups;
    for (std::size_t first = 0; first + together_ <= indices.size(); first += together_) {
      const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(first);
      std::vector<int> group(begin, begin + static_cast<std::ptrdiff_t>(together_));
      auto client = std::make_unique<GpuClient>(client_options(choice_, list_of(group)));
      client->start();
      groups.emplace_back(std::move(group), std::move(client));
    }
    for (std::size_t left = indices.size() % together_; left > 0; --left)
      notes.push_back(fmt::format("GPU {} is left out: {} GPUs compute each problem",
                                  indices[indices.size() - left], together_));
    for (auto& [group, client] : groups) open_group(group, std::move(client));
  }

  void open_group(const std::vector<int>& group, std::unique_ptr<GpuClient> client) {
    const auto opened = client->open(stop_);
    if (!opened) {
      if (choice_.asked) throw GpuError(fmt::format("GPUs {}: {}", list_of(group), client->why()));
      no_gpu = client->why();
      return;
    }
    devices_ = opened->devices;
    if (*std::max_element(group.begin(), group.end()) >= devices_)
      throw too_few(fmt::format("the driver shows {}", devices_));
    gpus.push_back({std::move(client), target_from_device(*opened, models_)});
  }

  UserError too_few(const std::string& found) const {
    return {fmt::format("{} GPUs compute each problem together, and {}", together_, found),
            Where{"--gpus", ""}, "Choose problems for fewer GPUs, or predict with --gpu NAME."};
  }

  const GpuChoice& choice_;
  Stop stop_;
  std::size_t together_ = 1;
  std::vector<GpuModel> models_;
  int devices_ = 0;
};

GpuSet predicting_gpu_set(const std::string& model, std::vector<Task> tasks) {
  GpuSet gpu_set;
  gpu_set.tasks = std::move(tasks);
  gpu_set.evaluators.push_back(make_predicting_evaluator(
      target_from_model(find_gpu_model(shipped_gpu_models(), model), shipped_static_model())));
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

/// Nothing is timed that cannot be verified.
void check_references(const TuneSpec& spec) {
  for (const TemplateSpec& kernel : spec.templates)
    if (const auto fault = reference_fault(kernel)) throw UserError(*fault);
}

/// Workers read one folder of what Python writes, the one that was there when they were started.
void share_scratch(const std::vector<Task>& first, std::size_t gpu_set, std::vector<Task>& tasks) {
  const auto with_scratch =
      std::find_if(first.begin(), first.end(), [](const Task& task) { return task.scratch != nullptr; });
  for (Task& task : tasks) {
    if (task.scratch) task.scratch = with_scratch->scratch;
    task.gpu_set = gpu_set;
  }
}

std::vector<GpuSet> measuring_gpu_sets(const TuneSpec& spec, std::vector<OpenedGpu> gpus,
                                       std::vector<Task> tasks, const Stop& stop) {
  check_references(spec);
  std::vector<GpuSet> gpu_sets(1);
  gpu_sets.front().tasks = std::move(tasks);
  for (OpenedGpu& gpu : gpus) {
    auto gpu_set = std::find_if(gpu_sets.begin(), gpu_sets.end(), [&](const GpuSet& other) {
      return other.evaluators.empty() || same_kind(other.target(), gpu.target);
    });
    if (gpu_set == gpu_sets.end()) {
      gpu_sets.emplace_back();
      gpu_set = std::prev(gpu_sets.end());
      gpu_set->tasks = plan_tasks(spec, stop);
      share_scratch(gpu_sets.front().tasks, gpu_sets.size() - 1, gpu_set->tasks);
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
    known.reserve(models.size());
    for (const GpuModel& model : models) known.push_back(model.name);
    throw UserError("no GPU was named", Where{"--gpu", ""},
                    "Name at least one: " + join(known, ", ") + ". For example: --gpu A100-80GB --gpu H100");
  }
  std::vector<Target> targets;
  targets.reserve(names.size());
  for (const std::string& name : names)
    targets.push_back(target_from_model(find_gpu_model(models, name), static_model));
  return targets;
}

std::vector<std::unique_ptr<GpuClient>> start_gpu_clients(const GpuChoice& choice,
                                                          const std::vector<int>& indices) {
  std::vector<std::unique_ptr<GpuClient>> clients;
  for (const int index : indices) {
    clients.push_back(std::make_unique<GpuClient>(client_options(choice, std::to_string(index))));
    clients.back()->start();
  }
  return clients;
}

std::string gpu_name(const GpuChoice& choice, const std::string& default_model) {
  const auto name_of_model = [](const std::string& model) {
    return find_gpu_model(shipped_gpu_models(), model).name;
  };
  if (!choice.model.empty()) return name_of_model(choice.model);
  Opener opener(choice, never_stop);
  opener.open();
  return opener.gpus.empty() ? name_of_model(model_or_default(default_model))
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
