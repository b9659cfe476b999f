#include "deploy/recorded_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/paths.h"
#include "spec/reader.h"
#include "tune/identity.h"
#include "tune/row.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

double blocks_of(const KernelLaunch& launch) {
  const Dim3& grid = launch.grid;
  return static_cast<double>(grid.x) * static_cast<double>(grid.y) * static_cast<double>(grid.z);
}

/// Whether both launch the same of a template's launches.
bool launch_alike(const Instance& a, const Instance& b) {
  return std::ranges::equal(a.launches, b.launches, {}, &KernelLaunch::listed, &KernelLaunch::listed);
}

}  // namespace

std::optional<Value> recorded_value(const std::vector<Value>& known, const nlohmann::ordered_json& json) {
  if (const Value* const written = WrittenAs(known).find(json.dump())) return *written;
  Value value;
  return from_json(json, value) ? std::optional(value) : std::nullopt;
}

std::string RecordedKernel::name() const {
  const std::string values = to_text(configuration.named(*spec));
  return row.template_name + (values.empty() ? "" : " " + values);
}

RecordedKernels::RecordedKernels(const Database& database, std::vector<fs::path> template_folders)
    : database_(database),
      folders_(std::move(template_folders)),
      sweeps_(database.sweeps()),
      models_(load_gpu_models(home_folder() / "configs" / "gpus")) {
  for (fs::path& folder : folders_) {
    std::error_code ignored;
    const bool is_template = fs::exists(folder / kManifestName, ignored);  // its own folder was named
    if (is_template) folder = fs::absolute(folder / "").lexically_normal().parent_path().parent_path();
  }
}

RecordedKernel RecordedKernels::of_row(std::int64_t id) {
  Trial row = database_.row(id);
  const auto [known, is_new] =
      templates_.try_emplace({row.template_name, row.element_types, row.options}, nullptr);
  if (!known->second) known->second = load(row);
  const TemplateSpec& spec = *known->second;
  return {row, known->second, problem_of(row, spec), configuration_of(row, spec)};
}

std::shared_ptr<const TemplateSpec> RecordedKernels::load(const Trial& row) const {
  if (!is_identifier(row.template_name))  // it is part of paths
    throw UserError(fmt::format("'{}' is not a template's name", row.template_name),
                    Where{"the database", ""}, "Export other rows (--template).");
  std::vector<fs::path> folders = folders_;
  const auto sweep = std::ranges::find(sweeps_, row.sweep_id, &SweepRecord::id);
  if (sweep != sweeps_.end() && !sweep->config_file.empty()) {
    const fs::path folder = fs::absolute(sweep->config_file).lexically_normal().parent_path();
    folders.push_back(folder);
    folders.push_back(folder.parent_path());  // of a template that bench measured
  }
  folders.push_back(home_folder() / "kernel_templates");
  LoadOptions options;
  options.template_folders = folders;
  options.allow_loose = true;  // it was measured
  const fs::path manifest =
      find_template(row.template_name, folders, false, Where{"--template-folder", ""}).path() / kManifestName;
  const TemplateSpec first = load_template(manifest, options);
  for (const Choices& types : first.operation.offered_types) {
    for (const Choices& chosen : first.operation.offered_options) {
      const Variant variant{types, chosen};
      TemplateSpec spec = load_template(manifest, options, &variant);
      if (is_of_variant(row, spec.operation)) return std::make_shared<const TemplateSpec>(std::move(spec));
    }
  }
  throw UserError(fmt::format("it does not offer the measured types {}{}{}", row.element_types,
                              row.options.empty() ? "" : " with ", row.options),
                  Where{manifest.string(), ""}, "Restore what the manifest was, or sweep again.");
}

Problem RecordedKernels::problem_of(const Trial& row, const TemplateSpec& spec) {
  const Json sizes = object_of(row.dimensions);
  Problem problem;
  const auto size = [&](const std::string& name) {
    return sizes.contains(name) && sizes[name].is_number_integer() ? sizes[name].get<std::int64_t>() : 0;
  };
  for (const std::string& name : spec.operation.dimensions) problem.dimensions.emplace_back(name, size(name));
  for (const LeadingDimension& leading : spec.operation.leading_dimensions)
    if (size(leading.name) > 0) problem.leading.emplace_back(leading.name, size(leading.name));
  for (const auto& [name, value] : problem.dimensions)
    if (value < 1)
      throw UserError(fmt::format("a row of {} has no valid size {}", row.problem, name), spec.where,
                      "The operation has changed since: sweep again.");
  return problem;
}

Configuration RecordedKernels::configuration_of(const Trial& row, const TemplateSpec& spec) {
  const Json values = object_of(row.parameters);
  Configuration configuration;
  for (const Parameter& parameter : spec.parameters) {
    const auto found = values.find(parameter.name);
    std::optional<Value> value =
        found == values.end() ? std::nullopt : recorded_value(parameter.values, *found);
    if (!value)
      throw UserError(
          fmt::format("a row of {} has no valid value for parameter {}", row.problem, parameter.name),
          spec.where, "The template has changed since: sweep again.");
    configuration.values.push_back(std::move(*value));
  }
  return configuration;
}

const Instantiator* RecordedKernels::instantiator(const RecordedKernel& kernel, const Problem& problem) {
  const auto [known, is_new] = instantiators_.try_emplace({kernel.spec.get(), problem.label()}, nullptr);
  try {
    if (is_new) known->second = std::make_shared<const Instantiator>(*kernel.spec, problem);
  } catch (const UserError&) {
  }
  return known->second.get();
}

std::optional<Instance> RecordedKernels::instance(const RecordedKernel& kernel, const Problem& problem,
                                                  int multiprocessors) {
  const Instantiator* const there = instantiator(kernel, problem);
  try {
    if (there != nullptr) return there->instantiate(kernel.configuration, multiprocessors);
  } catch (const UserError&) {
  }
  return std::nullopt;
}

std::vector<bool> RecordedKernels::can_run(const RecordedKernel& kernel, std::span<const Problem> problems) {
  const std::optional<Instance> own = instance(kernel, kernel.problem, kAnyMultiprocessors);
  std::vector<bool> all;
  for (const Problem& problem : problems) {
    const Instantiator* const there = own ? instantiator(kernel, problem) : nullptr;
    const bool is_allowed = there != nullptr && there->allows(kernel.configuration, kAnyMultiprocessors);
    const std::optional<Instance> other =
        is_allowed ? instance(kernel, problem, kAnyMultiprocessors) : std::nullopt;
    const auto fits = [&](const KernelLaunch& launch) {
      const Dim3& grid = launch.grid;
      const auto compiled = std::ranges::find(own->launches, launch.listed, &KernelLaunch::listed);
      return grid.x <= kLargestGrid.x && grid.y <= kLargestGrid.y && grid.z <= kLargestGrid.z &&
             compiled != own->launches.end() && compiled->kernel_expression == launch.kernel_expression;
    };
    all.push_back(other && other->defines == own->defines && std::ranges::all_of(other->launches, fits));
  }
  return all;
}

int RecordedKernels::multiprocessors_of(const Trial& row) const {
  const GpuModel* const model = model_called(models_, row.gpu);
  return model != nullptr ? model->multiprocessors : 0;
}

std::optional<Instance> RecordedKernels::instance_of(const RecordedKernel& kernel) const {
  TemplateSpec spec = *kernel.spec;
  for (const std::string& word : split(kernel.row.scalars, ' ')) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto value = parsed_number<double>(word.substr(std::min(equals + 1, word.size())));
    if (value) set_scalar(spec, word.substr(0, equals), *value);
  }
  try {
    const int known = multiprocessors_of(kernel.row);
    return Instantiator(spec, kernel.problem)
        .instantiate(kernel.configuration, known > 0 ? known : kAnyMultiprocessors);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

void RecordedKernels::check_launches(const RecordedKernel& kernel) {
  const std::optional<Instance> own = instance_of(kernel);
  if (!own || multiprocessors_of(kernel.row) == 0) return;
  const Json now = object_of(launch_text(*own, Arguments::always));
  const Json before = object_of(kernel.row.launch);
  for (const auto& [name, recorded] : before.items())
    if (now.value(name, Json()) != recorded)
      throw UserError(fmt::format("its {} is not what was measured at {}", name, kernel.problem.label()),
                      kernel.spec->where, "Sweep again, or restore the manifest.");
}

std::vector<std::int64_t> RecordedKernels::blocks_at_once(const RecordedKernel& kernel) {
  const int multiprocessors = multiprocessors_of(kernel.row);
  const std::optional<Instance> own = instance(kernel, kernel.problem, multiprocessors);
  constexpr std::int64_t kMostOfAMultiprocessor = 1024;
  const std::int64_t on_each = kernel.row.blocks_per_multiprocessor.value_or(0);
  if (!own || multiprocessors == 0 || on_each < 1 || on_each > kMostOfAMultiprocessor) return {};
  const std::int64_t held = on_each * multiprocessors;
  std::vector<std::int64_t> all(own->launches.size(), held);
  // There are more tiles than any GPU has multiprocessors; the product of the sizes fits into 64 bits.
  Problem large = kernel.problem;
  large.leading.clear();
  const std::size_t bits = std::min<std::size_t>(24, 60 / std::max<std::size_t>(large.dimensions.size(), 1));
  for (auto& [name, size] : large.dimensions) size = std::int64_t{1} << bits;
  const std::optional<Instance> most = instance(kernel, large, multiprocessors);
  const std::optional<Instance> tiles = instance(kernel, large, kUnlimitedMultiprocessors);
  if (!most || !tiles || !launch_alike(*most, *own) || !launch_alike(*tiles, *own)) return all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double blocks = blocks_of(most->launches[i]);
    if (blocks < blocks_of(tiles->launches[i]) && blocks < static_cast<double>(held))
      all[i] = static_cast<std::int64_t>(blocks);
  }
  return all;
}

Waves RecordedKernels::waves(const RecordedKernel& kernel, const Problem& problem,
                             const std::vector<std::int64_t>& at_once) {
  const std::optional<Instance> tiles = instance(kernel, problem, kUnlimitedMultiprocessors);
  if (!tiles || tiles->launches.size() != at_once.size()) return {};
  Waves waves;
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    const double blocks = blocks_of(tiles->launches[i]);
    if (blocks >= kUnlimitedMultiprocessors) return {};  // it is the GPU that decides how many there are
    waves.push_back(std::ceil(blocks / static_cast<double>(at_once[i])));
  }
  return waves;
}

namespace {

/// Computes facts of a table's kernels when they are asked for.
class TableFacts {
 public:
  TableFacts(RecordedKernels& recorded, const PortfolioTable& table,
             std::function<void(const std::string&)> note)
      : recorded_(recorded), table_(table), note_(std::move(note)) {}

  bool may_run(std::size_t kernel, std::size_t problem) {
    const RecordedKernel* const one = kernel_at(kernel);
    return one == nullptr || recorded_.can_run(*one, problem_at(*one, problem));
  }

  Waves waves(std::size_t kernel, std::size_t problem) {
    const RecordedKernel* const one = kernel_at(kernel);
    return one == nullptr ? Waves() : recorded_.waves(*one, problem_at(*one, problem), at_once_.at(kernel));
  }

 private:
  /// Null where nothing is known of it.
  const RecordedKernel* kernel_at(std::size_t number) {
    const auto [known, is_new] = kernels_.try_emplace(number);
    if (is_new) {
      try {
        RecordedKernel kernel = recorded_.of_row(table_.kernels[number].row);
        if (kernel.spec->operation.dimensions != table_.dimensions)
          throw UserError("its operation has other dimensions than the rows", kernel.spec->where,
                          "Sweep again.");
        at_once_[number] = recorded_.blocks_at_once(kernel);
        known->second = std::move(kernel);
      } catch (const UserError& error) {
        note_(fmt::format("{}; its kernels count as able to run all sizes. {}", error.message(),
                          error.remedy()));
      }
    }
    return known->second ? &*known->second : nullptr;
  }

  Problem problem_at(const RecordedKernel& kernel, std::size_t problem) const {
    Problem other = kernel.problem;
    other.leading.clear();
    for (std::size_t i = 0; i < other.dimensions.size(); ++i)
      other.dimensions[i].second = table_.problems[problem].sizes[i];
    return other;
  }

  RecordedKernels& recorded_;
  const PortfolioTable& table_;
  std::function<void(const std::string&)> note_;
  std::map<std::size_t, std::optional<RecordedKernel>> kernels_;
  std::map<std::size_t, std::vector<std::int64_t>> at_once_;
};

}  // namespace

KernelFacts RecordedKernels::facts_of(const PortfolioTable& table,
                                      const std::function<void(const std::string&)>& note) {
  const auto facts = std::make_shared<TableFacts>(*this, table, note);
  return {[facts](std::size_t kernel, std::size_t problem) { return facts->may_run(kernel, problem); },
          [facts](std::size_t kernel, std::size_t problem) { return facts->waves(kernel, problem); }};
}

}  // namespace tiletune
