#include "tune/lane.h"

#include <algorithm>

namespace tiletune {

Lane::Lane(Fleet& fleet) : fleet_(&fleet) {
  for (const auto& evaluator : fleet.evaluators)
    posts.push_back({evaluator.get(), {}, {}, Clock::now(), 0, false});
}

Stage* Lane::current_stage() {
  for (; next_stage_ < fleet_->stages.size(); ++next_stage_) {
    Stage& stage = fleet_->stages[next_stage_];
    if (stage.proposed < stage.planned || !deferred_[&stage].empty()) return &stage;
  }
  return nullptr;
}

std::optional<Proposal> Lane::propose() {
  while (Stage* stage = current_stage()) {
    if (stage->proposed < stage->planned) {
      if (const auto index = stage->strategy->propose()) {
        ++stage->proposed;
        return Proposal{stage, *index, false};
      }
      stage->planned = stage->proposed;
      continue;
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

bool Lane::idle() const {
  return std::all_of(posts.begin(), posts.end(),
                     [](const Post& post) { return post.retired || post.evaluator->idle(); });
}

}  // namespace tiletune
