#include "rank/latest.h"

namespace tiletune {

SweepOrder::SweepOrder(const Database& database) {
  std::vector<SweepRecord> sweeps = database.sweeps();
  const auto earlier = [](const SweepRecord& a, const SweepRecord& b) {
    return std::tie(a.started_at, a.id) < std::tie(b.started_at, b.id);
  };
  if (std::is_sorted(sweeps.begin(), sweeps.end(), earlier)) return;
  std::sort(sweeps.begin(), sweeps.end(), earlier);
  std::int64_t place = 0;
  for (const SweepRecord& sweep : sweeps) places_.emplace(sweep.id, ++place);
}

std::int64_t SweepOrder::operator()(std::int64_t sweep) const {
  if (places_.empty()) return sweep;
  const auto found = places_.find(sweep);
  return found == places_.end() ? 0 : found->second;
}

}  // namespace tiletune
