#include "tune/standings.h"

#include <algorithm>
#include <tuple>

namespace tiletune {

namespace {

/// Their binaries are held in memory, and travel to the worker in one message.
constexpr std::size_t kMostContenders = 100;

bool before(const Contender& a, const Contender& b) {
  return std::tie(a.first_us, a.key) < std::tie(b.first_us, b.key);
}

}  // namespace

void Standings::add(Task& task, std::uint64_t index, const Trial& row, std::shared_ptr<const Binary> binary) {
  if (row.source != Source::measured || !row.median_us) return;
  Contender contender{{&task, index, *row.median_us, row.sweep_id}};
  const bool finals_to_come = policy_.configurations > 0;
  if (finals_to_come && row.outcome == Outcome::screened_out)
    screened_[leader_key(task)].push_back(contender);
  contender.ranks = row.outcome == Outcome::ok;
  const bool was_in_finals = row.timed_in == "final";
  if (!contender.ranks && !was_in_finals) return;
  contender.final_of = was_in_finals ? row.sweep_id : 0;
  contender.key = row.key;
  contender.first_us = row.first_median_us.value_or(*row.median_us);
  contender.upper_us = row.ci_high_us.value_or(*row.median_us);
  contender.lowest_upper_us = std::min(contender.upper_us, row.first_median_us.value_or(contender.upper_us));
  if (contender.ranks) lead(contender);
  contender.binary = std::move(binary);
  std::vector<Contender>& contenders = contenders_[task.workload];
  if (contenders.size() > kMostContenders && before(contenders.back(), contender)) return;
  std::erase_if(contenders, [&](const Contender& other) { return other.key == contender.key; });
  contenders.insert(std::upper_bound(contenders.begin(), contenders.end(), contender, before),
                    std::move(contender));
  // One more than may take part shows that there are more. Those that may not take part now may when
  // a leader is disqualified.
  contenders.resize(std::min(kMostContenders + 1, contenders.size()));
}

void Standings::lead(Contender candidate) {
  candidate.binary.reset();
  const auto [place, is_new] = leaders_.try_emplace(leader_key(*candidate.task), candidate);
  if (!is_new && candidate.median_us < place->second.median_us) place->second = std::move(candidate);
}

std::vector<Screened> Standings::disqualify(const Task& task, const std::string& key, double screening) {
  std::vector<Contender>& contenders = contenders_[task.workload];
  for (Contender& contender : contenders) contender.ranks = contender.ranks && contender.key != key;
  const auto led = leaders_.find(leader_key(task));
  if (led == leaders_.end() || led->second.key != key) return {};
  leaders_.erase(led);
  for (const Contender& contender : contenders)
    if (contender.ranks && leader_key(*contender.task) == leader_key(task)) lead(contender);
  const Contender* const now = leader(task);
  std::vector<Screened>& screened = screened_[leader_key(task)];
  const auto again = std::stable_partition(screened.begin(), screened.end(), [&](const Screened& row) {
    return now != nullptr && row.median_us > screening * now->lowest_upper_us;
  });
  std::vector<Screened> released(again, screened.end());
  screened.erase(again, screened.end());
  return released;
}

void Standings::forget(std::size_t workload) {
  contenders_.erase(workload);
  std::erase_if(screened_, [&](const auto& entry) { return entry.first.first == workload; });
}

const Contender* Standings::leader(const Task& task) const {
  const auto found = leaders_.find(leader_key(task));
  return found == leaders_.end() ? nullptr : &found->second;
}

/// How many of the fastest the policy lets take part, those that do not rank included.
std::size_t Standings::entitled(const std::vector<Contender>& contenders) const {
  const auto fastest =
      std::find_if(contenders.begin(), contenders.end(), [](const Contender& one) { return one.ranks; });
  if (fastest == contenders.end()) return contenders.size();
  const double limit_us = fastest->first_us * (1 + policy_.within_percent / 100);
  const auto beyond = std::find_if(contenders.begin(), contenders.end(),
                                   [&](const Contender& one) { return one.first_us > limit_us; });
  return std::max(static_cast<std::size_t>(beyond - contenders.begin()),
                  static_cast<std::size_t>(policy_.configurations));
}

Selection Standings::selection(std::size_t workload) const {
  Selection selection;
  const auto known = contenders_.find(workload);
  if (known == contenders_.end()) return selection;
  const std::vector<Contender>& contenders = known->second;
  const std::size_t entitled_to = std::min(entitled(contenders), contenders.size());
  selection.cut = entitled_to > kMostContenders;
  for (std::size_t i = 0; i < std::min(entitled_to, kMostContenders); ++i)
    if (contenders[i].ranks) selection.contenders.push_back(contenders[i]);
  return selection;
}

const Contender* WorkloadFinals::leader() const {
  const auto found = std::find_if(finalists.begin(), finalists.end(),
                                  [](const Contender& finalist) { return !finalist.fault; });
  return found == finalists.end() ? nullptr : &*found;
}

std::size_t WorkloadFinals::sound() const {
  return static_cast<std::size_t>(std::count_if(finalists.begin(), finalists.end(),
                                                [](const Contender& finalist) { return !finalist.fault; }));
}

}  // namespace tiletune
