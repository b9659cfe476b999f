#include "tune/knowledge.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "search/gaussian_process.h"
#include "store/database.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// How far rows of another GPU, or of other types or options, are beside their problem.
constexpr double kOtherGpu = 0.2, kOtherVariant = 0.3;

constexpr std::array kColumns{"kind",       "outcome",    "source",   "template", "operation",
                              "problem",    "options",    "scalars",  "gpu",      "element_types",
                              "parameters", "dimensions", "median_us"};

/// The sizes that a row states; none of one that another tool measured.
Problem problem_of(const Trial& row) {
  Problem problem;
  const auto sizes = nlohmann::ordered_json::parse(row.dimensions, nullptr, false);
  if (!sizes.is_object()) return problem;
  for (const auto& [name, size] : sizes.items())
    if (size.is_number_integer()) problem.dimensions.emplace_back(name, size.get<std::int64_t>());
  return problem;
}

/// Says what a database has, of which nothing can be learned: rows that ran, of templates of these names, and
/// of these, of their operations.
[[noreturn]] void refuse_lessons(const Database& database,
                                 const std::map<std::string, std::vector<std::uint32_t>>& by_name,
                                 std::size_t of_templates, std::size_t of_operations) {
  std::vector<std::string> names;
  for (const auto& [name, numbers] : by_name) names.push_back(name);
  const std::string kernels = join(names, ", ");
  const std::vector<std::string> recorded = database.distinct("template");
  std::string why = "it has no rows";
  if (!recorded.empty() && of_templates == 0)
    why =
        fmt::format("it holds no configuration of {} that ran, but rows of {}", kernels, first_of(recorded));
  else if (!recorded.empty() && of_operations == 0)
    why = fmt::format("its rows of {} are of another operation", kernels);
  else if (!recorded.empty())
    why = fmt::format("its {} of {} have other parameters or values than today",
                      counted(of_operations, "row"), kernels);
  throw UserError("nothing can be learned: " + why, Where{database.file().string(), ""},
                  "Name a database of the same templates, or leave out --learn-from.");
}

}  // namespace

RowPositions::RowPositions(const TemplateSpec& kernel) : kernel_(&kernel) {
  for (const Parameter& parameter : kernel.parameters) values_.emplace_back(parameter.values);
}

std::optional<std::vector<std::uint32_t>> RowPositions::positions_of(const std::string& parameters) const {
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

/// What is kept from one file to the next.
struct Knowledge::Reading {
  std::map<std::string, std::vector<std::uint32_t>> by_name;  ///< variants of one template
  std::vector<RowPositions> positions;
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, std::uint32_t> groups;
  std::size_t of_templates = 0;   ///< rows
  std::size_t of_operations = 0;  ///< rows
};

Knowledge::Knowledge(const std::filesystem::path& place, const std::vector<Task>& tasks,
                     const std::filesystem::path& own)
    : place_(place.string()) {
  Reading reading;
  for (const Task& task : tasks) {
    if (std::find(kernels_.begin(), kernels_.end(), task.spec) != kernels_.end()) continue;
    reading.by_name[task.spec->name].push_back(static_cast<std::uint32_t>(kernels_.size()));
    kernels_.push_back(task.spec);
    reading.positions.emplace_back(*task.spec);
  }
  std::error_code error;
  if (!std::filesystem::is_directory(place, error)) {
    read(place, reading);
    if (rows_.empty())
      refuse_lessons(Database(place, Database::Mode::read_only), reading.by_name, reading.of_templates,
                     reading.of_operations);
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(place, error)) {
    if (entry.path().extension() != ".db" || std::filesystem::equivalent(entry.path(), own, error)) continue;
    try {
      read(entry.path(), reading);
    } catch (const std::exception&) {
      // Its sweep may be writing it. The next shard that begins may read it.
    }
  }
}

void Knowledge::read(const std::filesystem::path& file, Reading& reading) {
  const Database database(file, Database::Mode::read_only);
  TrialFilter filter;
  filter.kinds = {"kernel"};
  filter.outcomes = {Outcome::ok, Outcome::screened_out};
  filter.sources = {Source::measured, Source::imported};
  filter.source_age = SourceAge::newest;
  for (const auto& [name, numbers] : reading.by_name) filter.templates.push_back(name);
  database.for_each(filter, kColumns, [&](std::int64_t /*id*/, const Trial& row) {
    const auto known = reading.by_name.find(row.template_name);
    if (known == reading.by_name.end() || !row.median_us || !(*row.median_us > 0)) return;
    ++reading.of_templates;
    const std::tuple key{row.gpu, row.problem, row.options, row.element_types, row.scalars};
    const auto [group, is_new] = reading.groups.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.push_back({row.gpu, problem_of(row), *row.median_us});
    groups_[group->second].best_us = std::min(groups_[group->second].best_us, *row.median_us);
    for (const std::uint32_t kernel : known->second) {
      const TemplateSpec& spec = *kernels_[kernel];
      if (!row.operation.empty() && row.operation != spec.operation.name) continue;
      ++reading.of_operations;
      const auto places = reading.positions[kernel].positions_of(row.parameters);
      if (!places) continue;
      rows_.push_back(
          {*row.median_us, positions_.size(), group->second, kernel, is_of_variant(row, spec.operation)});
      positions_.insert(positions_.end(), places->begin(), places->end());
    }
  });
}

std::vector<Knowledge::Known> Knowledge::known_for(std::span<const Task> tasks,
                                                   const std::string& gpu) const {
  std::vector<std::optional<std::uint32_t>> spaces(kernels_.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto kernel = std::find(kernels_.begin(), kernels_.end(), tasks[i].spec);
    if (kernel != kernels_.end())
      spaces[static_cast<std::size_t>(kernel - kernels_.begin())] = static_cast<std::uint32_t>(i);
  }
  std::vector<double> distances;
  for (const Group& group : groups_) distances.push_back(distance(group, tasks.front().problem, gpu));
  std::vector<Known> known;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (!spaces[row.kernel]) continue;
    const double far = distances[row.group] + (row.is_of_variant ? 0 : kOtherVariant);
    known.push_back({i, *spaces[row.kernel], static_cast<float>(std::min(1.0, far))});
  }
  return known;
}

double Knowledge::relative_time(const Known& known) const {
  const Row& row = rows_[known.row];
  return row.time_us / groups_[row.group].best_us;
}

Lesson Knowledge::lesson(const Known& known) const {
  const auto begin = positions_.begin() + static_cast<std::ptrdiff_t>(rows_[known.row].values);
  const std::size_t count = kernels_[rows_[known.row].kernel]->parameters.size();
  return {
      known.space, {begin, begin + static_cast<std::ptrdiff_t>(count)}, relative_time(known), known.distance};
}

std::vector<Lesson> Knowledge::lessons_of(const std::vector<Known>& known, std::size_t most) const {
  std::vector<double> weights;
  for (const Known& one : known) weights.push_back(search::lesson_weight(relative_time(one), one.distance));
  search::RandomSource random(1);
  std::vector<Lesson> lessons;
  for (const std::size_t place : search::kept_lessons(weights, most, random))
    lessons.push_back(lesson(known[place]));
  return lessons;
}

double Knowledge::distance(const Group& group, const Problem& problem, const std::string& gpu) {
  const double sizes = group.problem.dimensions.empty() ? 0 : problem_distance(problem, group.problem);
  return sizes + (group.gpu == gpu ? 0 : kOtherGpu);
}

std::optional<double> Knowledge::rank_correlation(const std::vector<Task>& tasks) const {
  std::vector<SearchedSpace> spaces;
  for (const TemplateSpec* kernel : kernels_) {
    const auto task =
        std::find_if(tasks.begin(), tasks.end(), [&](const Task& one) { return one.spec == kernel; });
    spaces.push_back({&task->space, task->space.size()});
  }
  std::vector<std::pair<std::size_t, std::size_t>> groups;  // rows and place
  for (std::size_t i = 0; i < groups_.size(); ++i) groups.emplace_back(0, i);
  for (const Row& row : rows_) ++groups[row.group].first;
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kMostGroups = 8;
  std::vector<double> correlations;
  for (std::size_t i = 0; i < std::min(kMostGroups, groups.size()); ++i) {
    const std::size_t left_out = groups[i].second;
    const Group& asked = groups_[left_out];
    std::vector<Known> known;
    std::vector<Known> own;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      const double far = std::min(1.0, distance(groups_[rows_[row].group], asked.problem, asked.gpu));
      (rows_[row].group == left_out ? own : known)
          .push_back({row, rows_[row].kernel, static_cast<float>(far)});
    }
    constexpr std::size_t kMostAsked = 1000;
    if (const auto one = search::rank_correlation(spaces, lessons_of(known, search::kMostLessons),
                                                  lessons_of(own, kMostAsked)))
      correlations.push_back(*one);
  }
  if (correlations.empty()) return std::nullopt;
  return median(std::move(correlations));
}

std::string Knowledge::summary() const {
  std::set<std::string> problems, gpus;
  for (const Group& group : groups_) {
    gpus.insert(group.gpu);
    problems.insert(group.problem.label());
  }
  return fmt::format("{} of {} on {} ({})", counted(rows_.size(), "configuration"),
                     counted(problems.size(), "problem"), counted(gpus.size(), "GPU"), place_);
}

}  // namespace tiletune
