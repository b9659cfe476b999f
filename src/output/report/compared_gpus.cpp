#include "output/report/compared_gpus.h"

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "output/comparison.h"
#include "rank/compare.h"
#include "rank/databases.h"

namespace tiletune {

nlohmann::ordered_json compared_gpus(const Database& database, const TrialFilter& filter,
                                     const GpuAlias& alias) {
  if (database.gpus().size() < 2) return nullptr;
  const Databases databases({&database});
  TrialFilter kernels = filter;
  kernels.baselines = false;
  SideRows rows(CompareBy::gpu, {database.file().string()}, alias);
  databases.for_each(kernels, compare_columns(),
                     [&](std::int64_t id, Trial& trial) { rows.add(0, id, trial); });
  std::vector<Side> sides = rows.take({});
  if (sides.size() < 2) return nullptr;
  const ReadParameters read = [&](const std::vector<std::string>& templates, const auto& visit) {
    TrialFilter of_templates = kernels;
    of_templates.templates = templates;
    static constexpr std::array kColumns{"template", "parameters"};
    databases.for_each(of_templates, kColumns, visit);
  };
  const Comparison comparison = compare_sides(CompareBy::gpu, sides, alias, read);
  std::stringstream text;
  write_comparison(text, comparison, databases, Format::json, {});
  auto document = nlohmann::ordered_json::parse(text);
  for (std::size_t i = 0; i < comparison.problems.size(); ++i)
    document["problems"][i]["cache"] = comparison.problems[i].cache;
  return document;
}

}  // namespace tiletune
