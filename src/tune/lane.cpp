#include "tune/lane.h"

#include <algorithm>

namespace tiletune {

Lane::Lane(Fleet& fleet, const TuneSpec& spec)
    : standings(spec.measure.finals, spec.view == View::ladder), fleet_(&fleet) {
  for (const auto& evaluator : fleet.evaluators) posts.emplace_back().evaluator = evaluator.get();
  if (spec.strategy.kind == StrategyKind::random) random_.emplace(spec.strategy.seed);
  finals.resize(fleet.stages.empty() ? 0 : fleet.stages.back().group + 1);
}

Stage* Lane::current_stage() {
  for (; next_stage_ < fleet_->stages.size(); ++next_stage_) {
    Stage& stage = fleet_->stages[next_stage_];
    if (stage.proposed < stage.planned || !deferred_[&stage].empty()) return &stage;
  }
  return nullptr;
}

/// The stage of a group of which the least has been proposed; null when nothing of it is left.
Stage* Lane::next_in_turn(std::size_t group) {
  Stage* least = nullptr;
  for (Stage& stage : fleet_->stages) {
    if (stage.group != group || stage.proposed >= stage.planned) continue;
    const auto share = [](const Stage& of) {
      return static_cast<double>(of.proposed) / static_cast<double>(of.planned);
    };
    if (least == nullptr || share(stage) < share(*least)) least = &stage;
  }
  return least;
}

/// A stage of a group, each with the share of what is left that is its own; null when nothing is left.
Stage* Lane::any_in_proportion(std::size_t group) {
  std::uint64_t left = 0;
  for (const Stage& stage : fleet_->stages)
    if (stage.group == group) left += stage.planned - stage.proposed;
  if (left == 0) return nullptr;
  std::uint64_t drawn = (*random_)() % left;
  for (Stage& stage : fleet_->stages) {
    if (stage.group != group) continue;
    if (drawn < stage.planned - stage.proposed) return &stage;
    drawn -= stage.planned - stage.proposed;
  }
  return nullptr;
}

bool Post::drop_old_calibration() {
  if (measures_ceilings) return false;
  measures_ceilings = true;
  calibration.reset();
  group.reset();
  return true;
}

std::optional<Proposal> Lane::propose() {
  while (Stage* stage = current_stage()) {
    if (Stage* next = random_ ? any_in_proportion(stage->group) : next_in_turn(stage->group)) {
      if (const auto index = next->strategy->propose()) {
        ++next->proposed;
        return Proposal{next, *index, false};
      }
      next->planned = next->proposed;
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
