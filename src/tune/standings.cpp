#include "tune/standings.h"

#include <algorithm>
#include <tuple>

namespace tiletune {

namespace {

/// Their binaries are held in memory, and travel to the worker in one message.
constexpr std::size_t kMostContenders = 100;
constexpr const char* kFinal = "final";

bool before(const StandingsEntry& a, const StandingsEntry& b) {
  return std::tie(a.first_us, a.key) < std::tie(b.first_us, b.key);
}

}  // namespace

void Standings::add(Task& task, std::uint64_t index, const Trial& row, std::shared_ptr<const Binary> binary) {
  if (row.source != Source::measured || !row.median_us) return;
  const bool finals_to_come = policy_.configurations > 0;
  if (finals_to_come && row.outcome == Outcome::screened_out)
    screened_[leader_key(task)].push_back({&task, index, *row.median_us, row.sweep_id});
  const bool ranks = row.outcome == Outcome::ok;
  const bool was_in_finals = row.timed_in == kFinal;
  if (!ranks && !was_in_finals) return;
  const double first_us = row.first_median_us.value_or(*row.median_us);
  const double upper_us = row.ci_high_us.value_or(*row.median_us);
  const Leader time{row.key, *row.median_us, upper_us,
                    std::min(upper_us, row.first_median_us.value_or(upper_us))};
  if (ranks) lead(task, time);
  StandingsEntry entry{
      &task, index, row.key, first_us, time, ranks, was_in_finals ? row.sweep_id : 0, std::move(binary)};
  std::vector<StandingsEntry>& entries = entries_[task.workload];
  if (entries.size() > kMostContenders && before(entries.back(), entry)) return;
  std::erase_if(entries, [&](const StandingsEntry& other) { return other.key == entry.key; });
  entries.insert(std::upper_bound(entries.begin(), entries.end(), entry, before), std::move(entry));
  // One more than may take part shows that there are more. Those that may not take part now may when
  // a leader is disqualified.
  entries.resize(std::min(kMostContenders + 1, entries.size()));
}

void Standings::lead(const Task& task, const Leader& candidate) {
  const auto [place, is_new] = leaders_.try_emplace(leader_key(task), candidate);
  if (!is_new && candidate.median_us < place->second.median_us) place->second = candidate;
}

std::vector<Screened> Standings::disqualify(const Task& task, const std::string& key, double screening) {
  std::vector<StandingsEntry>& entries = entries_[task.workload];
  for (StandingsEntry& entry : entries) entry.ranks = entry.ranks && entry.key != key;
  const auto led = leaders_.find(leader_key(task));
  if (led == leaders_.end() || led->second.key != key) return {};
  leaders_.erase(led);
  for (const StandingsEntry& entry : entries) {
    if (entry.ranks && leader_key(*entry.task) == leader_key(task)) lead(task, entry.time);
  }
  const Leader* const now = leader(task);
  std::vector<Screened>& screened = screened_[leader_key(task)];
  const auto again = std::stable_partition(screened.begin(), screened.end(), [&](const Screened& row) {
    return now != nullptr && row.median_us > screening * now->lowest_upper_us;
  });
  std::vector<Screened> released(again, screened.end());
  screened.erase(again, screened.end());
  return released;
}

void Standings::forget(std::size_t workload) {
  entries_.erase(workload);
  std::erase_if(screened_, [&](const auto& entry) { return entry.first.first == workload; });
}

const Leader* Standings::leader(const Task& task) const {
  const auto found = leaders_.find(leader_key(task));
  return found == leaders_.end() ? nullptr : &found->second;
}

/// How many of the fastest the policy lets take part, those that do not rank included.
std::size_t Standings::entitled(const std::vector<StandingsEntry>& entries) const {
  const auto fastest =
      std::find_if(entries.begin(), entries.end(), [](const auto& entry) { return entry.ranks; });
  if (fastest == entries.end()) return entries.size();
  const double limit_us = fastest->first_us * (1 + policy_.within_percent / 100);
  const auto beyond = std::find_if(entries.begin(), entries.end(),
                                   [&](const StandingsEntry& entry) { return entry.first_us > limit_us; });
  return std::max(static_cast<std::size_t>(beyond - entries.begin()),
                  static_cast<std::size_t>(policy_.configurations));
}

Selection Standings::selection(std::size_t workload) const {
  Selection selection;
  const auto entries = entries_.find(workload);
  if (entries == entries_.end()) return selection;
  const std::size_t entitled_to = std::min(entitled(entries->second), entries->second.size());
  selection.cut = entitled_to > kMostContenders;
  for (std::size_t i = 0; i < std::min(entitled_to, kMostContenders); ++i) {
    if (entries->second[i].ranks) selection.entries.push_back(entries->second[i]);
  }
  return selection;
}

const Finalist* WorkloadFinals::leader() const {
  const auto found = std::find_if(finalists.begin(), finalists.end(),
                                  [](const Finalist& finalist) { return !finalist.fault; });
  return found == finalists.end() ? nullptr : &*found;
}

Finalist* WorkloadFinals::finalist(std::uint64_t ticket) {
  return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
}

const Finalist* WorkloadFinals::finalist(std::uint64_t ticket) const {
  return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
}

}  // namespace tiletune
