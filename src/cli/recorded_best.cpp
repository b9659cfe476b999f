#include "cli/recorded_best.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/text.h"
#include "rank/ranking.h"

namespace tiletune {

std::optional<Trial> recorded_best(const Database& database, const std::string& template_name,
                                   const std::string& gpu, const std::string& problem) {
  TrialFilter filter;
  filter.templates = {template_name};
  filter.gpus = {gpu};
  filter.baselines = false;
  RankingRows rows = ranking_rows(database, filter);
  auto groups = rank_rows(rows);
  // Part of a name suffices for the filter.
  std::erase_if(groups, [&](const RankingGroup& group) { return group.gpu != gpu; });
  const auto preference = [&](const RankingGroup& group) {
    return std::tuple(group.problem == problem, group.source == Source::measured);
  };
  std::optional<std::int64_t> best;
  std::tuple<bool, bool> best_preference;
  for (const RankingGroup& group : groups) {
    if (best && preference(group) < best_preference) continue;
    best = group.rows.front().id;
    best_preference = preference(group);
  }
  if (!best) return std::nullopt;
  return database.row(*best);
}

std::string bench_command_line(const Trial& row, const std::string& kernel_template,
                               const std::string& problem) {
  const auto parameters = nlohmann::ordered_json::parse(row.parameters, nullptr, false);
  std::string text = "tiletune bench " + shell_quoted(kernel_template);
  if (parameters.is_object()) {
    for (const auto& [name, value] : parameters.items()) {
      const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
      text += fmt::format(" --set {}", shell_quoted(fmt::format("{}={}", name, written)));
    }
  }
  return text + " --problem " + shell_quoted(problem);
}

}  // namespace tiletune
