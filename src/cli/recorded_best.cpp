#include "cli/recorded_best.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/text.h"
#include "rank/ranking.h"
#include "spec/operation.h"
#include "tune/row.h"

namespace tiletune {

std::optional<Trial> recorded_best(const Database& database, const TemplateSpec& kernel,
                                   const std::string& gpu, const std::string& problem) {
  TrialFilter filter;
  filter.templates = {kernel.name};
  filter.gpus = {gpu};
  filter.baselines = false;
  filter.source_age = SourceAge::newest;
  RankingRows rows = ranking_rows(database, filter);
  auto groups = rank_rows(rows);
  // Some words of a name suffice for the filter.
  std::erase_if(groups, [&](const RankingGroup& group) { return group.gpu != gpu; });
  const auto preference = [&](const RankingGroup& group) {
    return std::tuple(group.problem == problem, group.source == Source::measured);
  };
  std::optional<Trial> best;
  std::tuple<bool, bool> best_preference;
  for (const RankingGroup& group : groups) {
    if (best && preference(group) < best_preference) continue;
    Trial row = database.row(group.rows.front().id);
    if (!is_of_variant(row, kernel.operation)) continue;
    best = std::move(row);
    best_preference = preference(group);
  }
  return best;
}

std::string bench_command_line(const Trial& row, const TemplateSpec& kernel,
                               const std::string& kernel_template, const std::string& problem) {
  const auto parameters = nlohmann::ordered_json::parse(row.parameters, nullptr, false);
  std::string text = "tiletune bench " + shell_quoted(kernel_template);
  const auto set = [&](const std::string& name, const std::string& value) {
    text += fmt::format(" --set {}", shell_quoted(fmt::format("{}={}", name, value)));
  };
  if (!kernel.variant.empty()) {
    const Variant variant = variant_of(kernel.operation);
    for (const auto& [name, type] : variant.types) set(name, type);
    for (const auto& [name, option] : variant.options) set(name, option);
  }
  if (parameters.is_object()) {
    for (const auto& [name, value] : parameters.items())
      set(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text + " --problem " + shell_quoted(problem);
}

}  // namespace tiletune
