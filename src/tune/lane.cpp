#include "tune/lane.h"

#include <algorithm>

#include "search/strategies.h"

namespace tiletune {

Lane::Lane(Fleet& fleet, const TuneSpec& spec)
    : standings(spec.measure.finals, spec.view == View::ladder), fleet_(&fleet) {
  for (const auto& evaluator : fleet.evaluators) posts.emplace_back().evaluator = evaluator.get();
  const std::size_t groups = fleet.stages.empty() ? 0 : fleet.stages.back().group + 1;
  finals.resize(groups);
  searches_.resize(groups);
  std::vector<std::vector<SearchedSpace>> spaces(groups);
  for (Stage& stage : fleet.stages) {
    Search& search = searches_[stage.group];
    if (search.first == nullptr) search.first = &stage;
    ++search.stages;
    spaces[stage.group].push_back({&stage.space, stage.planned});
  }
  const StrategyEntry& strategy = find_strategy(spec.strategy);
  for (std::size_t group = 0; group < groups; ++group)
    searches_[group].strategy = strategy.make(spaces[group], spec.strategy.seed);
}

Stage* Lane::current_stage() {
  for (; next_stage_ < fleet_->stages.size(); ++next_stage_) {
    Stage& stage = fleet_->stages[next_stage_];
    if (stage.proposed < stage.planned || !deferred_[&stage].empty()) return &stage;
  }
  return nullptr;
}

/// Whether the strategy may have more to choose.
bool Lane::has_undecided(const Search& search) const {
  return std::any_of(search.first, search.first + search.stages,
                     [](const Stage& stage) { return stage.proposed < stage.planned; });
}

void Lane::ask(Search& search, std::size_t room) {
  for (const Choice& choice : search.strategy->ask(room)) search.asked.push_back(choice);
  if (!search.asked.empty()) return;
  search.waits = !search.untold.empty();
  if (search.waits) return;
  for (Stage* stage = search.first; stage != search.first + search.stages; ++stage)
    stage->planned = stage->proposed;
}

bool Lane::is_waiting() {
  const Stage* stage = current_stage();
  return stage != nullptr && searches_[stage->group].waits;
}

void Lane::tell(const Stage& stage, std::uint64_t index, std::optional<double> median_us) {
  Search& search = searches_[stage.group];
  const Choice choice{static_cast<std::size_t>(&stage - search.first), index};
  search.untold.erase(choice);
  search.waits = false;
  search.strategy->tell(choice, median_us);
}

bool Post::drop_old_calibration() {
  if (measures_ceilings) return false;
  measures_ceilings = true;
  calibration.reset();
  group.reset();
  return true;
}

std::optional<Proposal> Lane::propose(std::size_t room) {
  while (Stage* stage = current_stage()) {
    Search& search = searches_[stage->group];
    if (has_undecided(search)) {
      if (search.asked.empty()) ask(search, room);
      if (search.waits) return std::nullopt;
      if (search.asked.empty()) continue;
      const Choice choice = search.asked.front();
      search.asked.pop_front();
      search.untold.insert(choice);
      Stage& chosen = search.first[choice.space];
      ++chosen.proposed;
      return Proposal{&chosen, choice.index, false};
    }
    std::vector<std::uint64_t>& deferred = deferred_[stage];
    const Proposal proposal{stage, deferred.back(), true};
    deferred.pop_back();
    return proposal;
  }
  return std::nullopt;
}

void Lane::defer(const Stage* stage, std::uint64_t index) {
  deferred_[stage].push_back(index);
  next_stage_ = std::min(next_stage_, static_cast<std::size_t>(stage - fleet_->stages.data()));
}

bool Lane::others_can(const Post& post, std::size_t group) const {
  return std::any_of(posts.begin(), posts.end(), [&](const Post& other) {
    return &other != &post && !other.retired && !other.failed_groups.contains(group);
  });
}

std::deque<Candidate>::iterator Lane::next_ready(const Post& post) {
  const Stage* stage = current_stage();
  std::size_t lowest = stage != nullptr ? stage->group : SIZE_MAX;
  for (const auto& entry : compiling) lowest = std::min(lowest, entry.second.stage->group);
  for (const Candidate& candidate : ready) lowest = std::min(lowest, candidate.stage->group);
  const bool others = others_can(post, lowest);
  return std::find_if(ready.begin(), ready.end(), [&](const Candidate& candidate) {
    return candidate.stage->group == lowest && !(others && candidate.lost_on == post.evaluator);
  });
}

bool Lane::is_open(std::size_t group, bool stopping) {
  const auto is_measuring = [&](const Post& post) { return post.measuring == group; };
  if (std::any_of(posts.begin(), posts.end(), is_measuring)) return true;
  if (stopping) return false;
  const Stage* stage = current_stage();
  const auto is_of_group = [&](const Candidate& candidate) { return candidate.stage->group == group; };
  return (stage != nullptr && stage->group <= group) ||
         std::any_of(ready.begin(), ready.end(), is_of_group) ||
         std::any_of(compiling.begin(), compiling.end(),
                     [&](const auto& entry) { return is_of_group(entry.second); });
}

Stage& Lane::stage_of(std::size_t group) {
  return *std::find_if(fleet_->stages.begin(), fleet_->stages.end(),
                       [&](const Stage& stage) { return stage.group == group; });
}

std::optional<std::string> Lane::why_unmeasurable(std::size_t group) const {
  if (const auto failed = failed_groups.find(group); failed != failed_groups.end()) return failed->second;
  std::optional<std::string> why;
  for (const Post& post : posts) {
    if (post.retired) continue;
    const auto failed = post.failed_groups.find(group);
    if (failed == post.failed_groups.end()) return std::nullopt;
    why = failed->second;
  }
  return why;
}

bool Lane::alive() const {
  return std::any_of(posts.begin(), posts.end(), [](const Post& post) { return !post.retired; });
}

bool Lane::is_measuring() const {
  return std::any_of(posts.begin(), posts.end(), [](const Post& post) { return post.measuring.has_value(); });
}

bool Lane::idle() const {
  return std::all_of(posts.begin(), posts.end(),
                     [](const Post& post) { return post.retired || post.evaluator->idle(); });
}

}  // namespace tiletune
