#include "rank/candidates.h"

namespace tiletune {

namespace {

/// Without the state of the cache.
int distrust(Source source) {
  switch (source) {
    case Source::measured:
      return 0;
    case Source::replayed:
      return 1;
    case Source::imported:
      return 2;
    case Source::predicted:
      return 3;
  }
  return 3;
}

std::map<std::string, std::set<Source>> recorded_gpus(const std::vector<Side>& sides) {
  std::map<std::string, std::set<Source>> gpus;
  for (const Side& side : sides) {
    for (const auto& [gpu, sources] : side.gpus) gpus[gpu].insert(sources.begin(), sources.end());
  }
  return gpus;
}

}  // namespace

CandidateList::CandidateList(CompareBy by, const std::vector<Side>& sides, const GpuAlias& alias)
    : by_(by), sides_(sides.size()), names_(recorded_gpus(sides), alias) {}

void CandidateList::add(std::size_t side, const ComparableRows& rows) {
  if (by_ == CompareBy::gpu) return add(side, rows, "");
  for (const std::string& gpu : names_.meant_by(rows.what->gpu)) add(side, rows, gpu);
}

void CandidateList::add(std::size_t side, const ComparableRows& rows, const std::string& gpu) {
  const std::string conditions = without_cache(*rows.what).conditions;
  const auto [place, is_new] = places_.try_emplace({rows.what->problem, conditions, gpu}, all.size());
  if (is_new) {
    all.push_back({rows.what->problem, conditions, gpu, {}});
    all.back().of_sides.resize(sides_);
  }
  all[place->second].of_sides[side].push_back(&rows);
}

std::set<std::string> caches_of(const Candidates& candidates) {
  std::set<std::string> caches;
  for (const auto& side : candidates.of_sides) {
    for (const ComparableRows* rows : side) {
      if (!rows->what->cache.empty()) caches.insert(rows->what->cache);
    }
  }
  if (caches.empty()) caches.insert("");
  return caches;
}

const ComparableRows* most_trusted(const std::vector<const ComparableRows*>& sets, const std::string& cache,
                                   std::set<Source>& left_out) {
  const auto rank = [&](const ComparableRows& rows) {
    return std::tuple(distrust(rows.what->source), rows.kernels.empty(), rows.what->cache != cache);
  };
  const ComparableRows* best = nullptr;
  for (const ComparableRows* rows : sets) {
    if (!rows->what->cache.empty() && rows->what->cache != cache) continue;
    if (best == nullptr || rank(*rows) < rank(*best)) {
      if (best != nullptr && best->what->source != rows->what->source) left_out.insert(best->what->source);
      best = rows;
    } else if (rows->what->source != best->what->source) {
      left_out.insert(rows->what->source);
    }
  }
  return best;
}

}  // namespace tiletune
