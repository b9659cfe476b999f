#include <set>
#include <utility>

#include "rank/ranking.h"

namespace tiletune {

namespace {

/// The first, as kernels are ordered by time; null: there is none.
const RankingRow* fastest_of(const LadderStep& step, std::span<const RankingRow> kernels,
                             const std::vector<std::string>& templates) {
  for (const RankingRow& kernel : kernels) {
    if (templates[kernel.template_number] == step.template_name && (!step.takes || step.takes(kernel.id)))
      return &kernel;
  }
  return nullptr;
}

class Builder {
 public:
  explicit Builder(const Comparable& what) : ladder_{what, {}} {}

  /// `speedup_over_previous` compares with the rung above, for baselines too.
  void add(const RankingRow& row, const std::string& step) {
    if (ladder_.rungs.empty()) first_us_ = previous_us_ = row.time_us;
    ladder_.rungs.push_back({row.id, step, first_us_ / row.time_us, previous_us_ / row.time_us});
    previous_us_ = row.time_us;
  }

  bool empty() const { return ladder_.rungs.empty(); }
  Ladder take() { return std::move(ladder_); }

 private:
  Ladder ladder_;
  double first_us_ = 0, previous_us_ = 0;
};

}  // namespace

std::vector<Ladder> build_ladders(RankingRows& rows, const std::vector<LadderStep>& steps) {
  std::vector<Ladder> ladders;
  for (const ComparableRows& comparable : rows.comparable()) {
    Builder builder(*comparable.what);
    std::set<std::string> whole;  // a config may list variants of one template
    for (const LadderStep& step : steps) {
      if (step.name.empty() && !whole.insert(step.template_name).second) continue;
      const RankingRow* row = fastest_of(step, comparable.kernels, rows.kernel_templates());
      if (row != nullptr) builder.add(*row, step.name);
    }
    if (builder.empty()) continue;
    for (const RankingRow& baseline : comparable.baselines) builder.add(baseline, "");
    ladders.push_back(builder.take());
  }
  return ladders;
}

}  // namespace tiletune
