#include "tune/knowledge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "rank/parameters.h"
#include "store/database.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// How far rows of another GPU, or of other types or options, are beside their problem.
constexpr double kOtherGpu = 0.2, kOtherVariant = 0.3;

constexpr std::array<const char*, 11> kColumns{"kind",          "outcome",    "source",    "template",
                                               "operation",     "problem",    "options",   "scalars",
                                               "element_types", "parameters", "dimensions"};

/// The sizes that a row states; none of one that another tool measured.
Problem problem_of(const Trial& row) {
  Problem problem;
  const auto sizes = nlohmann::ordered_json::parse(row.dimensions, nullptr, false);
  if (!sizes.is_object()) return problem;
  for (const auto& [name, size] : sizes.items())
    if (size.is_number_integer()) problem.dimensions.emplace_back(name, size.get<std::int64_t>());
  return problem;
}

/// Finds where values stand among those of a template's parameters.
class Positions {
 public:
  explicit Positions(const TemplateSpec& kernel) : kernel_(&kernel) {
    for (const Parameter& parameter : kernel.parameters) values_.emplace_back(parameter.values);
  }

  /// None where a value is not among them, or one of several values is not listed.
  std::optional<std::vector<std::uint32_t>> of(const std::string& parameters) const {
    std::vector<std::uint32_t> positions(kernel_->parameters.size());
    std::size_t open = 0;
    for (const Parameter& parameter : kernel_->parameters) open += parameter.values.size() > 1 ? 1 : 0;
    bool is_known = true;
    for_each_member(parameters, [&](std::string_view name, std::string_view written) {
      const auto found = std::find_if(kernel_->parameters.begin(), kernel_->parameters.end(),
                                      [&](const Parameter& parameter) { return parameter.name == name; });
      if (found == kernel_->parameters.end()) return;
      const auto number = static_cast<std::size_t>(found - kernel_->parameters.begin());
      const Value* const value = values_[number].find(written);
      if (value == nullptr) {
        is_known = false;
        return;
      }
      positions[number] = static_cast<std::uint32_t>(value - found->values.data());
      if (found->values.size() > 1 && open > 0) --open;
    });
    if (!is_known || open > 0) return std::nullopt;
    return positions;
  }

 private:
  const TemplateSpec* kernel_;
  std::vector<WrittenAs> values_;
};

}  // namespace

double problem_distance(const Problem& a, const Problem& b) {
  constexpr double kFarthest = 6;  // powers of two
  double farthest = 0;
  for (const auto& [name, size] : a.dimensions) {
    const auto same = std::find_if(b.dimensions.begin(), b.dimensions.end(),
                                   [&](const auto& other) { return other.first == name; });
    if (same == b.dimensions.end() || size <= 0 || same->second <= 0) return 1;
    const double ratio = static_cast<double>(size) / static_cast<double>(same->second);
    farthest = std::max(farthest, std::abs(std::log2(ratio)) / kFarthest);
  }
  return std::min(1.0, a.dimensions.empty() ? 1.0 : farthest);
}

Knowledge::Knowledge(const std::filesystem::path& file, const std::vector<Task>& tasks)
    : file_(file.string()) {
  std::map<std::string, std::vector<std::uint32_t>> by_name;  // variants of one template
  std::vector<Positions> positions;
  for (const Task& task : tasks) {
    if (std::find(kernels_.begin(), kernels_.end(), task.spec) != kernels_.end()) continue;
    by_name[task.spec->name].push_back(static_cast<std::uint32_t>(kernels_.size()));
    kernels_.push_back(task.spec);
    positions.emplace_back(*task.spec);
  }
  const Database database(file, Database::Mode::read_only);
  TrialFilter filter;
  filter.kinds = {"kernel"};
  filter.outcomes = {Outcome::ok, Outcome::screened_out};
  filter.sources = {Source::measured, Source::imported};
  for (const auto& [name, numbers] : by_name) filter.templates.push_back(name);
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, std::size_t> groups;
  std::vector<const char*> columns(kColumns.begin(), kColumns.end());
  columns.insert(columns.end(), {"median_us", "gpu"});
  database.for_each(filter, columns, [&](std::int64_t /*id*/, const Trial& row) {
    const auto known = by_name.find(row.template_name);
    if (known == by_name.end() || !row.median_us || !(*row.median_us > 0)) return;
    const std::tuple key{row.gpu, row.problem, row.options, row.element_types, row.scalars};
    const auto [group, is_new] = groups.try_emplace(key, groups_.size());
    if (is_new) groups_.push_back({row.gpu, problem_of(row), *row.median_us});
    groups_[group->second].best_us = std::min(groups_[group->second].best_us, *row.median_us);
    for (const std::uint32_t kernel : known->second) {
      const TemplateSpec& spec = *kernels_[kernel];
      if (!row.operation.empty() && row.operation != spec.operation.name) continue;
      if (auto places = positions[kernel].of(row.parameters))
        rows_.push_back(
            {group->second, kernel, std::move(*places), *row.median_us, is_of_variant(row, spec.operation)});
    }
  });
  if (!rows_.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, numbers] : by_name) names.push_back(name);
  throw UserError(
      fmt::format("holds no configuration of {} that ran and has the parameters of today", join(names, ", ")),
      Where{file_, ""}, "Name a database of the same templates, or leave out --learn-from.");
}

std::vector<Lesson> Knowledge::lessons(const Task* first, std::size_t tasks, const std::string& gpu) const {
  std::vector<Lesson> lessons;
  for (const Row& row : rows_) {
    const auto* const same = std::find_if(
        first, first + tasks, [&](const Task& task) { return task.spec == kernels_[row.kernel]; });
    if (same == first + tasks) continue;
    const Group& group = groups_[row.group];
    double distance = group.problem.dimensions.empty() ? 0 : problem_distance(first->problem, group.problem);
    if (group.gpu != gpu) distance += kOtherGpu;
    if (!row.is_of_variant) distance += kOtherVariant;
    lessons.push_back({static_cast<std::size_t>(same - first), row.positions, row.time_us / group.best_us,
                       std::min(1.0, distance)});
  }
  return lessons;
}

std::string Knowledge::summary() const {
  std::set<std::string> problems, gpus;
  for (const Group& group : groups_) {
    gpus.insert(group.gpu);
    problems.insert(group.problem.label());
  }
  return fmt::format("{} of {} on {} ({})", counted(rows_.size(), "configuration"),
                     counted(problems.size(), "problem"), counted(gpus.size(), "GPU"), file_);
}

}  // namespace tiletune
