#include <map>

#include "rank/ranking.h"

namespace tiletune {

namespace {

using FastestRows = std::map<std::string, const RankingRow*>;

/// By template.
FastestRows fastest_of_each(std::span<const RankingRow> kernels, const std::vector<std::string>& templates) {
  std::vector<const RankingRow*> fastest(templates.size());
  for (const RankingRow& kernel : kernels) {
    if (fastest[kernel.template_number] == nullptr) fastest[kernel.template_number] = &kernel;
  }
  FastestRows by_name;
  for (std::size_t i = 0; i < templates.size(); ++i) {
    if (fastest[i] != nullptr) by_name.emplace(templates[i], fastest[i]);
  }
  return by_name;
}

/// `speedup_over_previous` compares with the rung above, for baselines too.
Ladder ladder_of(const Comparable& what, const std::vector<const RankingRow*>& rows) {
  Ladder ladder{what, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double time = rows[i]->time_us;
    ladder.rungs.push_back({rows[i]->id, rows[0]->time_us / time, rows[i == 0 ? 0 : i - 1]->time_us / time});
  }
  return ladder;
}

}  // namespace

std::vector<Ladder> build_ladders(RankingRows& rows, const std::vector<std::string>& templates) {
  std::vector<Ladder> ladders;
  for (const ComparableRows& comparable : rows.comparable()) {
    FastestRows fastest = fastest_of_each(comparable.kernels, rows.kernel_templates());
    std::vector<const RankingRow*> rungs;
    for (const std::string& name : templates) {  // once each, where a config lists variants of one
      const auto found = fastest.extract(name);
      if (found) rungs.push_back(found.mapped());
    }
    if (rungs.empty()) continue;
    for (const RankingRow& baseline : comparable.baselines) rungs.push_back(&baseline);
    ladders.push_back(ladder_of(*comparable.what, rungs));
  }
  return ladders;
}

}  // namespace tiletune
