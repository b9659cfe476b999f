#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/comparison.h"
#include "output/export.h"
#include "output/group_facts.h"
#include "output/report/group_data.h"
#include "output/report/report.h"
#include "output/report/survey.h"
#include "output/views.h"
#include "rank/compare.h"
#include "rank/ranking.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

Json sweeps_json(const std::vector<SweepRecord>& sweeps, const TrialFilter& filter) {
  Json list = Json::array();
  for (const SweepRecord& sweep : sweeps) {
    if (filter.sweep_id && sweep.id != *filter.sweep_id) continue;
    Json object = to_json(sweep);
    object.erase("config");
    list.push_back(std::move(object));
  }
  return list;
}

/// Groups of which nothing ran have no ranking, but outcomes all the same.
std::vector<RankingGroup> with_groups_that_never_ran(std::vector<RankingGroup> groups, const Survey& survey) {
  for (const auto& [what, outcomes] : survey.outcomes) {
    const auto has_rows = [&](const RankingGroup& group) { return without_cache(group) == what; };
    if (std::none_of(groups.begin(), groups.end(), has_rows)) groups.push_back({what, {}});
  }
  return groups;
}

/// The comparison of the GPUs that rows of the filter are of, as `compare --format json` writes it, with
/// "notes" of each problem besides: lines of text; null where there are not two.
Json compared_gpus(const Database& database, const TrialFilter& filter, const GpuAlias& alias) {
  const std::size_t gpus = database.gpus().size();
  if (gpus < 2 || gpus > kMostSides) return nullptr;
  const Databases databases({&database});
  const Comparison comparison = compare_databases(databases, {CompareBy::gpu, filter, {}, {}}, alias);
  if (comparison.sides.size() < 2) return nullptr;
  Json document = comparison_json(comparison, databases);
  for (std::size_t i = 0; i < comparison.problems.size(); ++i)
    document["problems"][i]["notes"] = notes_on(comparison, comparison.problems[i]);
  return document;
}

}  // namespace

Json report_data(const Database& database, const TrialFilter& filter, const ReportOptions& options) {
  Survey all = survey(database, filter);
  const std::vector<SweepRecord> sweeps = database.sweeps();
  const std::vector<LadderStep> steps = ladder_steps(database);
  const std::vector<Ladder> ladders =
      steps.empty() ? std::vector<Ladder>() : build_ladders(all.ranking, steps);
  const std::vector<RankingGroup> groups = with_groups_that_never_ran(rank_rows(all.ranking), all);
  all.ranking = RankingRows();
  Json document{{"tiletune", kVersion},
                {"created_at", options.created_at},
                {"database", database.file().filename().string()},
                {"command", options.command},
                {"earlier_source_rows", database.rows_hidden_by(filter)},
                {"sweeps", sweeps_json(sweeps, filter)},
                {"columns", report_columns()},
                {"comparison", compared_gpus(database, filter, options.alias)},
                {"groups", Json::array()}};
  for (const RankingGroup& group : groups) {
    Json data = group_data(group, database, all, options.limit);
    data["ladder"] = nullptr;
    for (const Ladder& ladder : ladders) {
      if (static_cast<const Comparable&>(ladder) == group) data["ladder"] = ladder_data(ladder, database);
    }
    document["groups"].push_back(std::move(data));
  }
  return document;
}

}  // namespace tiletune
