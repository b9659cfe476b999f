#include "tune/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "spec/names.h"

namespace tiletune {

namespace {

/// A size, a count or a factor; zero switches off what it belongs to.
template <typename Number>
std::string unless_zero(Number number) {
  return number == Number{} ? "" : fmt::format("{}", number);
}

template <typename Pairs>
std::string settings_text(const Pairs& pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) text += fmt::format("{}={};", name, value);
  return text;
}

template <typename T, std::size_t N>
std::string spelling(const std::array<Named<T>, N>& names, T value) {
  return std::string(
      std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.value == value; })->name);
}

std::string buffers_text(const Workload& workload) {
  std::string text;
  for (const auto& buffer : workload.buffers) {
    text += fmt::format("{}:{}:{}:{}", buffer.name, name(buffer.type), buffer.elements,
                        spelling(kBufferRoles, buffer.role));
    if (buffer.rows) text += fmt::format(":{}:{}", buffer.rows->columns, buffer.rows->pitch);
    text += ";";
  }
  return text;
}

/// In order: addresses by name, and "a:f32=2.5". What tensor maps look like is part of the launch.
std::string arguments_text(const std::vector<ArgumentValue>& arguments) {
  std::string text;
  for (const ArgumentValue& argument : arguments) {
    text += argument.name;
    if (argument.kind == Argument::Kind::scalar)
      text += fmt::format(":{}={}", name(argument.type), to_text(argument.value));
    text += ";";
  }
  return text;
}

std::string reference_launch_text(const ReferenceInstance& reference) {
  const Dim3& grid = reference.grid;
  const Dim3& block = reference.block;
  return fmt::format("{},{},{};{},{},{};{}", grid.x, grid.y, grid.z, block.x, block.y, block.z,
                     arguments_text(reference.arguments));
}

/// Figures of a GPU model that a prediction depends on.
std::string model_text(const GpuModel& model) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", model.multiprocessors,
                     model.fp32_lanes_per_multiprocessor, model.max_threads_per_multiprocessor,
                     model.max_blocks_per_multiprocessor, model.reserved_shared_bytes_per_block,
                     model.shared_bytes_per_block_optin, model.shared_bytes_per_multiprocessor,
                     model.registers_per_multiprocessor, model.boost_clock_mhz, model.memory_bandwidth_gbs,
                     model.l2_bytes);
}

/// Rows that a config's limits let pass are rows of those limits.
std::string limits_text(const AdmissionLimits& limits) {
  std::string text;
  if (limits.max_spill_bytes) text += fmt::format("max_spill_bytes={};", *limits.max_spill_bytes);
  if (limits.min_occupancy) text += fmt::format("min_occupancy={};", *limits.min_occupancy);
  if (limits.max_registers) text += fmt::format("max_registers={};", *limits.max_registers);
  return text;
}

}  // namespace

IdentityFields& IdentityFields::add(std::string_view name, std::string value) {
  if (!value.empty()) fields_.emplace_back(name, std::move(value));
  return *this;
}

std::string IdentityFields::text() const {
  std::string text = kind_ + "\n";
  for (const auto& [name, value] : fields_) text += fmt::format("{}={}\n", name, value);
  return text;
}

std::string IdentityFields::hex() const {
  Hasher hasher;
  hasher.add(kind_);
  for (const auto& [name, value] : fields_) hasher.add(name).add(value);
  return hasher.hex();
}

IdentityFields workload_identity(const Task& task) {
  const Operation& operation = task.spec->operation;
  const Workload& workload = task.instantiator.workload();
  IdentityFields identity("workload 1");
  identity.add("dimensions", settings_text(task.problem.dimensions))
      .add("leading", settings_text(task.problem.leading))
      .add("options", settings_text(operation.options))
      .add("scalars", settings_text(operation.scalars))
      .add("buffers", buffers_text(workload))
      .add("accumulator", std::string(name(operation.accumulator)))
      .add("accumulation", unless_zero(workload.accumulation));
  if (operation.reference_library)
    identity.add("reference_library", spelling(kLibraries, *operation.reference_library));
  if (const auto& reference = task.instantiator.reference())
    identity.add("reference_launch", reference_launch_text(*reference));
  return identity;
}

IdentityFields policy_identity(const MeasurePolicy& policy, View view) {
  IdentityFields identity("policy 1");
  identity.add("warmup", unless_zero(policy.warmup))
      .add("samples", unless_zero(policy.samples))
      .add("precision_percent", unless_zero(policy.precision_percent))
      .add("screening", unless_zero(policy.screening))
      .add("batch_below_us", unless_zero(policy.batch_below_us))
      .add("cache", std::string(name(policy.cache)))
      .add("seed", fmt::format("{}", policy.seed))
      .add("verify", policy.verify ? "" : "off")
      .add("launch_timeout_s", unless_zero(policy.launch_timeout_s));
  // A ladder screens each template against its own best.
  if (view == View::ladder && policy.screening > 0) identity.add("screened_by", "template");
  return identity;
}

IdentityFields measurement_identity(const TuneSpec& spec, const Task& task, const Target& target,
                                    const Instance& instance, const Trial& row,
                                    const std::string& reference) {
  const bool predicted = target.source == Source::predicted;
  IdentityFields identity("measurement 1");
  if (row.kernel_hash.empty()) {
    identity.add("source", row.source_key).add("includes", row.included_files);
  } else {
    identity.add("kernel", row.kernel_hash).add("reference", reference);
  }
  identity.add("launch", row.launch)
      .add("arguments", arguments_text(instance.arguments))
      .add("workload", workload_identity(task).hex())
      .add("tolerance", fmt::format("{}", task.spec->tolerance_factor))
      .add("limits", limits_text(spec.limits))
      .add("kind", std::string(name(target.source)))
      .add("gpu", target.name)
      .add("driver", target.driver_version)
      .add("compiler", row.nvrtc_version)
      .add("policy", predicted ? row.measure_policy : policy_identity(spec.measure, spec.view).hex())
      .add("model", predicted ? model_text(target.model) : "");
  return identity;
}

IdentityFields row_identity(const Trial& row, const IdentityFields& measurement) {
  IdentityFields identity("row 1");
  identity.add("template", row.template_name)
      .add("parameters", row.parameters)
      .add("compile_options", row.compile_options)
      .add("measurement", measurement.hex());
  return identity;
}

IdentityFields baseline_identity(const Trial& row, const std::string& library, const IdentityFields& policy) {
  IdentityFields identity("baseline 1");
  identity.add("name", row.template_name)
      .add("library", library)
      .add("problem", row.problem)
      .add("options", row.options)
      .add("scalars", row.scalars)
      .add("element_types", row.element_types)
      .add("kind", std::string(name(row.source)))
      .add("gpu", row.gpu)
      .add("driver", row.driver_version)
      .add("policy", policy.hex());
  return identity;
}

}  // namespace tiletune
