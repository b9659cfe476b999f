#include "tune/row.h"

#include <fmt/format.h>

#include <concepts>
#include <nlohmann/json.hpp>

#include "base/fields_json.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/system.h"
#include "base/text.h"
#include "store/columns.h"
#include "tune/ceilings.h"
#include "tune/identity.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kSampling = "sampling";

/// "f32" when all are alike, else "A:f16 B:f16 C:f32 accumulator:f32".
std::string types_text(const Operation& operation) {
  const std::vector<Buffer>& buffers = operation.buffers;
  const ElementType accumulator = operation.accumulator;
  if (std::all_of(buffers.begin(), buffers.end(), [&](const auto& b) { return b.type == accumulator; }))
    return std::string(name(accumulator));
  std::string text;
  for (const auto& buffer : buffers) text += fmt::format("{}:{} ", buffer.name, name(buffer.type));
  return text + fmt::format("accumulator:{}", name(accumulator));
}

/// "name=value name=value"
template <typename Pairs>
std::string pairs_text(const Pairs& pairs) {
  std::string text;
  for (const auto& [name, value] : pairs)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

/// With three digits behind the point: "[0.871,0.129]", "[165.2,164.8]"
std::string list_text(const std::vector<double>& numbers) {
  Json list = Json::array();
  for (const double number : numbers) list.push_back(std::round(1e3 * number) / 1e3);
  return list.dump();
}

Cell cell_of(const std::string& text) { return text; }
Cell cell_of(std::floating_point auto number) { return static_cast<double>(number); }
Cell cell_of(std::integral auto number) { return static_cast<std::int64_t>(number); }
Cell cell_of(Spelled auto value) { return std::string(name(value)); }
template <typename T>
requires requires(T figure) { cell_of(figure); }
Cell cell_of(const std::optional<T>& figure) { return figure ? cell_of(*figure) : Cell(); }

/// Puts every field into the column of its name, where there is one.
template <HasFields Fields>
void add_fields(Trial& trial, const Fields& fields) {
  for_each_field<Fields>([&](const auto& field) {
    const auto& value = fields.*field.member;
    if constexpr (requires { cell_of(value); }) {
      if (const Column* column = find_column(field.name)) column->write(trial, cell_of(value));
    }
  });
}

/// Warns of samples that were discarded.
void add_throttling(Trial& trial) {
  const auto discarded = trial.discarded_samples.value_or(0);
  if (discarded == 0) return;
  const std::string& reasons = trial.throttle_reasons;
  add_warning(trial,
              fmt::format("{} sample{} discarded: the GPU was throttled{}", discarded,
                          discarded == 1 ? "" : "s", reasons.empty() ? "" : fmt::format(" ({})", reasons)));
}

/// What rows of kernels and baselines have in common.
Trial common_trial(const TuneSpec& spec, const Task& task, const Target& target) {
  Trial trial;
  const Operation& operation = task.spec->operation;
  trial.operation = operation.name;
  trial.options = pairs_text(operation.own_options);
  Json dimensions = Json::object();
  for (const auto& [dimension, size] : task.problem.dimensions) dimensions[dimension] = size;
  for (const auto& [leading, elements] : task.problem.leading) dimensions[leading] = elements;
  trial.dimensions = dimensions.dump();
  trial.problem = task.problem.label();
  trial.scalars = pairs_text(operation.scalars) + pairs_text(operation.stated);  // either has none
  trial.element_types = types_text(operation);
  trial.source = target.source;
  trial.gpu = target.name;
  trial.gpu_uuid = target.uuid;
  trial.architecture = target.architecture;
  trial.driver_version = target.driver_version;
  trial.cuda_version = target.cuda_version;
  trial.nvrtc_version = nvrtc_version();
  Json policy;
  if (target.source == Source::predicted) {
    // Another calibration is another row.
    policy["static_model"] = target.static_model.provenance();
    policy["fit"] = Hasher().add(target.static_model.identity()).hex();
  } else {
    trial.cache = name(spec.measure.cache);
    policy = to_json(spec.measure);
    policy.erase("finals");  // they measure rows again
    // A ladder screens each template against its own best.
    if (spec.view == View::ladder && spec.measure.screening > 0) policy["screened_by"] = "template";
  }
  trial.measure_policy = policy.dump();
  trial.host = host_name();
  trial.recorded_at = utc_now();
  return trial;
}

}  // namespace

std::string operation_hash(const Task& task, double tolerance_factor) {
  Hasher hasher;
  hasher.add(task.spec->operation.definition);
  for (const TaskKernel& kernel : task.kernels) hasher.add(kernel.source->text);
  for (const Task& reference : task.reference)
    if (reference.source) hasher.add(reference.source->text);
  if (task.spec->operation.python) hasher.add(task.reference_hash);
  return hasher.hex() +
         (tolerance_factor == 1 ? "" : fmt::format(" tolerance_factor={:g}", tolerance_factor));
}

bool is_of_variant(const Trial& row, const Operation& operation) {
  if (row.element_types.empty()) return true;
  return row.element_types == types_text(operation) && row.options == pairs_text(operation.own_options);
}

Trial make_task_trial(const TuneSpec& spec, const Task& task, const Target& target) {
  Trial trial = common_trial(spec, task, target);
  trial.operation_hash = operation_hash(task, task.spec->tolerance_factor);
  trial.template_name = task.spec->name;
  return trial;
}

Trial make_trial(const TuneSpec& spec, const Task& task, const Target& target, const Instance& instance,
                 const CompileRequest& request) {
  Trial trial = make_task_trial(spec, task, target);
  trial.parameters = to_json(instance.parameters).dump();
  trial.derived = to_json(instance.derived).dump();
  trial.kernel_expression = kernels_text(instance);
  trial.compile_options = Json(request.options).dump();
  trial.launch = launch_text(instance, Arguments::always);
  if (!instance.launches.empty()) trial.dynamic_shared_bytes = instance.launches.front().dynamic_shared_bytes;
  trial.source_key = request.key();
  trial.source_hash = Hasher().add(task.source->text).hex();
  return trial;
}

void make_baseline(Trial& trial, const Task& workload) {
  trial.kind = "baseline";
  trial.operation_hash = operation_hash(workload);
}

Trial make_baseline_trial(const TuneSpec& spec, const Task& task, const Target& target,
                          const Measured& baseline) {
  Trial trial = common_trial(spec, task, target);
  make_baseline(trial, task);
  trial.template_name = baseline.name;
  const auto& [library, kernels, algorithm] = *baseline.library;
  trial.kernel_expression = kernels;
  trial.derived = Json{{"library", library}, {"algorithm", algorithm}}.dump();
  trial.key =
      baseline_identity(trial, library, inputs_text(task), policy_identity(spec.measure, spec.view)).hex();
  trial.outcome = Outcome::ok;
  trial.relative_error = baseline.accuracy ? baseline.accuracy->relative_error : 0;  // 0: was not compared
  trial.pipe = library_pipe(task.spec->operation);
  trial.timed_in = kSampling;
  add_timing(trial, *baseline.timing, task.instantiator.workload(), target);
  add_figures(trial, baseline.figures);
  add_throttling(trial);
  if (!baseline.warning.empty()) add_warning(trial, baseline.warning);
  return trial;
}

std::string finals_policy_text(const TuneSpec& spec) {
  Json json = to_json(spec.measure);
  json["baseline"] = name(spec.baseline);
  return json.dump();
}

std::string twin_key(const std::string& original_key) { return Hasher().add(original_key).add("twin").hex(); }

Trial make_twin_trial(const Trial& original) {
  Trial twin = original;
  twin.key = twin_key(original.key);
  twin.kind = "twin";
  twin.outcome = Outcome::ok;
  twin.first_median_us.reset();
  for (const Column& column : trial_columns())
    if (column.is_figure) column.write(twin, Cell());
  return twin;
}

Trial make_sharing_trial(const Trial& mine, const Trial& measured) {
  Trial trial = measured;
  for (std::string Trial::*own :
       {&Trial::key, &Trial::operation, &Trial::operation_hash, &Trial::template_name, &Trial::parameters,
        &Trial::derived, &Trial::kernel_expression, &Trial::compile_options, &Trial::source_key,
        &Trial::source_hash, &Trial::included_files})
    trial.*own = mine.*own;
  trial.shares = measured.key;
  trial.compile_ms = mine.compile_ms;
  trial.measure_ms.reset();
  trial.recorded_at = utc_now();
  // Times of finals belong to the sweep that held them: sweep_id stays.
  trial.seen_in_sweep = mine.seen_in_sweep;
  return trial;
}

void add_warning(Trial& trial, const std::string& warning) {
  if (trial.warnings.find(warning) != std::string::npos) return;
  if (!trial.warnings.empty()) trial.warnings += "; ";
  trial.warnings += warning;
}

void add_admission(Trial& trial, const std::vector<Resources>& all, const Admission& admission,
                   const Instance& instance) {
  const bool has_occupancies = !admission.occupancies.empty();
  const std::size_t shown = has_occupancies ? narrowest(admission.occupancies) : 0;
  const Resources& resources = all.at(shown);
  trial.registers = resources.registers;
  trial.spill_bytes = resources.spill_bytes();
  trial.stack_bytes = resources.stack_bytes;
  trial.static_shared_bytes = resources.static_shared_bytes;
  trial.dynamic_shared_bytes = instance.launches.at(shown).dynamic_shared_bytes;
  for (const std::string& warning : admission.warnings) add_warning(trial, warning);
  if (has_occupancies) {
    const Occupancy& occupancy = admission.occupancies[shown];
    trial.occupancy = occupancy.fraction;
    trial.occupancy_limiter = occupancy.limiter;
    trial.blocks_per_multiprocessor = occupancy.blocks_per_multiprocessor;
  }
  if (!admission.admitted) {
    trial.outcome = Outcome::refused;
    trial.reason = admission.reason;
  }
}

void add_timing(Trial& trial, const Timing& timing, const Workload& workload, const Target& target) {
  trial.median_us = timing.median_us;
  trial.ci_low_us = timing.ci_low_us;
  trial.ci_high_us = timing.ci_high_us;
  trial.min_us = timing.min_us;
  trial.mean_us = timing.mean_us;
  trial.stddev_us = timing.stddev_us;
  trial.sample_count = static_cast<std::int64_t>(timing.times_us.size());
  trial.samples_us = timing.times_us;
  trial.clocks_mhz = timing.clocks_mhz;
  trial.launches_per_sample = timing.batch;
  trial.discarded_samples = timing.discarded;
  add_fields(trial, timing);
  trial.sm_clock_mhz = timing.sm_clock_mhz;
  trial.median_cycles = timing.median_cycles;
  trial.gpu_times_us = timing.gpu_medians_us.empty() ? "" : list_text(timing.gpu_medians_us);
  add_throughput(trial, workload, target);
}

void add_throughput(Trial& trial, const Workload& workload, const Target& target) {
  constexpr double kBytesPerMicrosecondInGigabytes = 1e-3;
  if (workload.bytes > 0) trial.gbs = workload.bytes / *trial.median_us * kBytesPerMicrosecondInGigabytes;
  if (workload.flops == 0) return;
  constexpr double kFlopPerMicrosecondInTeraflops = 1e-6;
  trial.tflops = workload.flops / *trial.median_us * kFlopPerMicrosecondInTeraflops;
  const double peak = workload.gpus * target.model.fp32_peak_tflops();
  const bool is_fp32 = trial.pipe.empty() || trial.pipe == "fp32";
  if (is_fp32 && peak > 0) trial.percent_of_peak = 100 * *trial.tflops / peak;
}

std::optional<double> energy_mj(const std::optional<double>& power_w,
                                const std::optional<double>& launch_us) {
  constexpr double kMicrojoulesInMillijoules = 1e-3;
  if (!power_w || !launch_us || *power_w <= 0 || *launch_us <= 0) return std::nullopt;
  return *power_w * *launch_us * kMicrojoulesInMillijoules;
}

void add_accuracy(Trial& trial, const Accuracy& accuracy) { add_fields(trial, accuracy); }

void add_figures(Trial& trial, const Figures& figures) {
  for (const auto& [name, figure] : figures) {
    const Column* column = find_column(name);
    if (column != nullptr && column->is_figure) column->write(trial, cell_of(figure));
  }
}

void add_measured(Trial& trial, const Measured& measured, const Workload& workload, const Target& target) {
  add_fields(trial, measured);
  add_figures(trial, measured.figures);
  if (measured.timing) {
    trial.timed_in = measured.outcome == Outcome::screened_out ? "screening" : kSampling;
    add_timing(trial, *measured.timing, workload, target);
  }
  if (!measured.launch_shares.empty()) trial.launch_shares = list_text(measured.launch_shares);
  if (measured.accuracy) add_accuracy(trial, *measured.accuracy);
  trial.printed = printed_text(measured.printed);
  add_condition(trial, measured.condition);
  if (measured.driver_blocks_per_multiprocessor && trial.blocks_per_multiprocessor &&
      *measured.driver_blocks_per_multiprocessor != *trial.blocks_per_multiprocessor) {
    add_warning(trial,
                fmt::format("computed {} blocks per multiprocessor, the driver says {}",
                            *trial.blocks_per_multiprocessor, *measured.driver_blocks_per_multiprocessor));
  }
  if (measured.attributes && trial.registers && measured.attributes->registers != *trial.registers) {
    add_warning(trial, fmt::format("read {} registers from the cubin, the driver says {}", *trial.registers,
                                   measured.attributes->registers));
  }
}

void add_screening(Trial& trial, double leader_us) {
  if (trial.outcome != Outcome::screened_out || !trial.min_us) return;
  const auto samples = trial.sample_count.value_or(0);
  trial.reason = fmt::format("at least {} times the leader's {} us after {} sample{}",
                             three_digits(*trial.min_us / leader_us), three_digits(leader_us), samples,
                             samples == 1 ? "" : "s");
}

void add_condition(Trial& trial, const GpuCondition& condition) {
  add_fields(trial, condition);
  trial.energy_mj = energy_mj(trial.power_w, trial.median_us);
  add_throttling(trial);
  if (!condition.neighbours.empty())
    add_warning(trial, "another program used the GPU: " + condition.neighbours);
  if (condition.waits_for_host)
    add_warning(trial,
                "samples hold the host's launch latency: launches wait for their end, as under a profiler");
}

std::string left_out_as_baseline(const Trial& row) {
  return fmt::format("{} is left out as a baseline of {}: {}: {}", row.template_name, row.problem,
                     name(row.outcome), row.reason);
}

void add_baseline(Trial& trial, const std::vector<Trial>& baselines) {
  const auto fastest =
      std::min_element(baselines.begin(), baselines.end(),
                       [](const Trial& a, const Trial& b) { return a.median_us < b.median_us; });
  if (fastest == baselines.end()) return;
  trial.baseline = fastest->template_name;
  trial.baseline_us = fastest->median_us;
  trial.baseline_error = fastest->relative_error;
  if (trial.median_us) trial.percent_of_baseline = 100 * *trial.baseline_us / *trial.median_us;
}

}  // namespace tiletune
