#include "tune/finals.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "tune/final_rows.h"
#include "tune/plausibility.h"
#include "tune/row.h"

namespace tiletune {

namespace {

using State = GroupFinals::State;
using Json = nlohmann::ordered_json;

constexpr int kMostRepetitions = 4;
/// Of the cubins in one request, which is one message; those of the fastest go first.
constexpr std::size_t kMostRequestBytes = 2 * kMostCubinBytes;

std::size_t group_of(const Lane& lane, const GroupFinals& finals) {
  return static_cast<std::size_t>(&finals - lane.finals.data());
}

/// The finals that a GPU runs.
GroupFinals* finals_on(Lane& lane, const Post& post) {
  const auto found = std::find_if(lane.finals.begin(), lane.finals.end(),
                                  [&](const GroupFinals& finals) { return finals.post == &post; });
  return found == lane.finals.end() ? nullptr : &*found;
}

FinalsRequest request_of(const GroupFinals& finals) {
  FinalsRequest request;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < finals.finalists.size(); ++i) {
    const Finalist& finalist = finals.finalists[i];
    if (finalist.fault) continue;
    bytes += finalist.contender.binary->cubin.size();
    if (bytes > kMostRequestBytes) break;
    request.participants.push_back(
        measure_request(*finalist.contender.stage, finalist.instance, *finalist.contender.binary));
    request.participants.back().ticket = i + 1;
  }
  return request;
}

void free_post(Post& post, GroupFinals& finals) {
  post.for_finals = false;
  finals.post = nullptr;
}

/// A GPU that lost its worker with them leaves them to others.
bool can_run(const GroupFinals& finals, const Post& post, std::size_t group) {
  return !post.retired && !post.failed_groups.contains(group) && finals.lost_on != &post;
}

}  // namespace

Finals::Finals(SweepContext& sweep, Recorder& recorder) : sweep_(sweep), recorder_(recorder) {
  const bool wanted = sweep.spec.measure.finals.configurations > 0;
  for (Lane& lane : sweep_.lanes) {
    if (wanted && lane.posts.front().evaluator->measures()) continue;
    for (GroupFinals& finals : lane.finals) finals.state = State::over;
  }
}

void Finals::open_due(Lane& lane) {
  for (std::size_t group = 0; group < lane.finals.size(); ++group) {
    const bool pending = lane.finals[group].state == State::pending;
    if (pending && !lane.is_open(group, sweep_.stopping)) open(lane, group);
  }
}

void Finals::open(Lane& lane, std::size_t group) {
  GroupFinals& finals = lane.finals[group];
  Selection selection = lane.standings.selection(group);
  if (selection.contenders.empty() || is_done_before(lane, selection, group)) return close(lane, finals);
  if (sweep_.summary.interrupted) return leave_out(lane, finals, "interrupted");
  if (selection.cut) {
    sweep_.observer.on_note(fmt::format("the finals of {} take the fastest {} only: more are near the best",
                                        lane.stage_of(group).problem.label(), selection.contenders.size()));
  }
  gather(lane, finals, std::move(selection.contenders));
}

/// Finals that an earlier sweep held with the same participants, in the same way, and of whose group this one
/// has measured nothing. That they ran the best back to back, which is not asked for now, does no harm.
bool Finals::is_done_before(const Lane& lane, const Selection& selection, std::size_t group) const {
  const std::vector<Contender>& contenders = selection.contenders;
  const std::int64_t sweep_id = contenders.front().finals_of;
  const bool same = std::all_of(contenders.begin(), contenders.end(),
                                [&](const Contender& contender) { return contender.finals_of == sweep_id; });
  if (sweep_id == 0 || !same || lane.measured_groups.contains(group)) return false;
  const auto twin = sweep_.database.find(twin_key(contenders.front().key));
  if (!twin || !held_as_wanted(twin->measure_policy)) return false;
  sweep_.database.mark_seen(twin->key, sweep_.summary.sweep_id);
  return true;
}

bool Finals::held_as_wanted(const std::string& policy) const {
  auto held = Json::parse(policy, nullptr, false);
  const auto wanted = Json::parse(finals_policy_text(sweep_.spec));
  if (sweep_.spec.measure.finals.sustained_s <= 0 && held.is_object() && held.contains("finals"))
    held["finals"]["sustained_s"] = wanted["finals"]["sustained_s"];
  return held == wanted;
}

/// Reused rows come without their binaries; the kernel cache has them.
void Finals::gather(Lane& lane, GroupFinals& finals, std::vector<Contender> contenders) {
  for (Contender& contender : contenders) {
    Finalist finalist;
    finalist.contender = std::move(contender);
    const Stage& stage = *finalist.contender.stage;
    instantiate(stage, finalist.contender.index, lane.target().model, finalist.instance);
    if (!finalist.contender.binary) {
      finals.compiling[++sweep_.tickets] = finals.finalists.size();
      sweep_.pool.submit(sweep_.tickets, make_compile_request(sweep_.spec.compile, *stage.source,
                                                              finalist.instance, lane.target().architecture));
    }
    finals.finalists.push_back(std::move(finalist));
  }
  finals.state = finals.compiling.empty() ? State::ready : State::compiling;
}

bool Finals::take_compiled(std::uint64_t ticket, const Compiled& compiled) {
  for (Lane& lane : sweep_.lanes) {
    for (GroupFinals& finals : lane.finals) {
      const auto node = finals.compiling.extract(ticket);
      if (node.empty()) continue;
      finals.finalists[node.mapped()].contender.binary = compiled.binary;
      if (!compiled.binary)
        sweep_.observer.on_note("a kernel is left out of the finals, it does not compile: " +
                                compiled.reason);
      if (!finals.compiling.empty()) return true;
      std::erase_if(finals.finalists, [](const Finalist& finalist) { return !finalist.contender.binary; });
      finals.state = State::ready;
      if (finals.finalists.empty()) leave_out(lane, finals, "no kernel compiles any more");
      return true;
    }
  }
  return false;
}

Finals::Call Finals::call(Lane& lane, const Post& post) {
  open_due(lane);
  for (GroupFinals& finals : lane.finals) {
    if (finals.state != State::compiling && finals.state != State::ready) continue;
    const std::size_t group = group_of(lane, finals);
    if (const auto why = lane.why_unmeasurable(group)) {
      leave_out(lane, finals, *why);
      continue;
    }
    const auto can = [&](const Post& other) { return can_run(finals, other, group); };
    if (std::none_of(lane.posts.begin(), lane.posts.end(), can)) finals.lost_on = nullptr;
    const bool holds = post.group == group;
    const bool another_holds = std::any_of(lane.posts.begin(), lane.posts.end(), [&](const Post& other) {
      return &other != &post && other.group == group && can(other);
    });
    if (!can(post) || (!holds && another_holds)) continue;
    if (finals.state == State::ready) return {Call::What::race, group};
    if (holds) return {Call::What::wait, group};
  }
  return {};
}

void Finals::start(Lane& lane, Post& post, std::size_t group) {
  GroupFinals& finals = lane.finals[group];
  finals.state = State::racing;
  finals.post = &post;
  finals.begun = post.busy_since = Clock::now();
  finals.turns = 0;
  post.for_finals = true;
  FinalsRequest request = request_of(finals);
  const auto wanted =
      static_cast<std::size_t>(std::count_if(finals.finalists.begin(), finals.finalists.end(),
                                             [](const Finalist& finalist) { return !finalist.fault; }));
  if (request.participants.size() < wanted) {
    sweep_.observer.on_note(
        fmt::format("the finals of {} take the fastest {} of {} configurations only: their cubins exceed {} "
                    "together",
                    lane.stage_of(group).problem.label(), request.participants.size(), wanted,
                    human_bytes(kMostRequestBytes)));
  }
  post.evaluator->race(std::move(request));
}

void Finals::take_turn(Lane& lane, const Post& post) {
  if (GroupFinals* finals = finals_on(lane, post)) ++finals->turns;
}

void Finals::finish(Lane& lane, Post& post, const FinalsMeasured& measured) {
  GroupFinals& finals = *finals_on(lane, post);
  free_post(post, finals);
  sweep_.summary.finals_s += seconds_since(finals.begun);
  constexpr double kMillisecondsPerSecond = 1e3;
  sweep_.summary.gpu_s += measured.wall_ms / kMillisecondsPerSecond;
  const Finalist* const leader = finals.leader();
  for (const FinalTime& time : measured.times) {
    Finalist* finalist = finals.finalist(time.ticket);
    // Without enough memory it has no time here; that is not a fault.
    const bool went_well = time.outcome == Outcome::ok || time.outcome == Outcome::refused;
    if (finalist != nullptr && !went_well)
      finalist->fault = Finalist::Fault{time.outcome, time.reason, &post};
  }
  if (!find_implausible(lane, post, finals, measured))
    return repeat(lane, finals, "a time contradicts the ceilings of an earlier sweep");
  if (confirm_faults(lane, finals)) return;
  // The twin is a copy of the leader: one that is faulty says nothing of the noise.
  if (leader->fault) return repeat(lane, finals, leader->fault->reason);
  record(lane, post, finals, measured);
  ++sweep_.summary.finals;
  close(lane, finals);
}

void Finals::lose(Lane& lane, Post& post, const FinalsLoss& loss) {
  GroupFinals& finals = *finals_on(lane, post);
  free_post(post, finals);
  sweep_.summary.finals_s += seconds_since(finals.begun);
  finals.lost_on = &post;
  Finalist* finalist = loss.blameless ? nullptr : finals.finalist(loss.ticket);
  const bool another_decides = lane.others_can(post, group_of(lane, finals));
  if (finalist != nullptr && (std::exchange(finalist->suspect, true) || !another_decides))
    finalist->fault = Finalist::Fault{loss.outcome, loss.reason, &post};
  repeat(lane, finals, loss.reason);
}

/// False where the ceilings have to be measured again first.
bool Finals::find_implausible(const Lane& lane, Post& post, GroupFinals& finals,
                              const FinalsMeasured& measured) const {
  for (const FinalTime& time : measured.times) {
    Finalist* finalist = finals.finalist(time.ticket);
    if (finalist == nullptr || finalist->fault || !time.timing) continue;
    const Contender& contender = finalist->contender;
    const ClaimedTime claim{time.timing->median_us, time.timing->batch, sweep_.spec.measure.cache};
    const auto why =
        implausibility(claim, *contender.stage, *contender.binary, lane.target().model, post.calibration);
    if (!why) continue;
    if (post.drop_old_calibration()) return false;
    finalist->fault = Finalist::Fault{Outcome::implausible, *why, &post};
  }
  return true;
}

/// Takes the rank from the rows in which a fault was found, for good: not before finals have come to their
/// end or are given up, as a GPU that is retired until then may have been the cause. What was screened out
/// against a leader among them is tried again, and the finals are held after that; false where there is
/// nothing to try.
bool Finals::confirm_faults(Lane& lane, GroupFinals& finals) {
  std::vector<Screened> again;
  for (Finalist& finalist : finals.finalists) {
    if (!finalist.fault || finalist.fault->post == nullptr || finalist.fault->post->retired) continue;
    const Contender& contender = finalist.contender;
    recorder_.disqualify(contender.key, finalist.fault->outcome, finalist.fault->reason);
    finalist.fault->post = nullptr;
    for (const Screened& screened :
         lane.standings.disqualify(*contender.stage, contender.key, sweep_.spec.measure.screening))
      again.push_back(screened);
  }
  if (again.empty() || sweep_.stopping) return false;
  sweep_.observer.on_note(fmt::format("{} of {} tried again: a leader was found to be faulty",
                                      counted(again.size(), "configuration"),
                                      lane.stage_of(group_of(lane, finals)).problem.label()));
  for (const Screened& screened : again) recorder_.try_again(lane, screened);
  finals = GroupFinals{};
  return true;
}

/// Without those in which a fault was found.
void Finals::repeat(Lane& lane, GroupFinals& finals, const std::string& why) {
  finals.state = State::ready;
  const bool any_left = finals.leader() != nullptr;
  if (any_left && ++finals.repetitions <= kMostRepetitions) return;
  if (confirm_faults(lane, finals)) return;
  leave_out(lane, finals,
            any_left ? fmt::format("started {} times; last error: {}", finals.repetitions, why) : why);
}

void Finals::release(Lane& lane, Post& post) {
  post.for_finals = false;
  if (GroupFinals* finals = finals_on(lane, post)) {
    finals->post = nullptr;
    finals->state = State::ready;
  }
  for (GroupFinals& finals : lane.finals) {
    // Participants of finals that another GPU is running are settled.
    if (finals.state == State::racing) continue;
    for (Finalist& finalist : finals.finalists) {
      if (finalist.fault && finalist.fault->post == &post) finalist.fault.reset();
    }
  }
}

void Finals::record(Lane& lane, const Post& post, GroupFinals& finals, const FinalsMeasured& measured) {
  FinalRows rows = collect_final_rows(sweep_.database, finals, measured, post.baselines);
  if (rows.participants.empty()) return;
  const Stage& stage = lane.stage_of(group_of(lane, finals));
  std::vector<Trial> final_rows = rows_with_final_times(std::move(rows), measured.condition, post, stage);
  for (Trial& row : final_rows) {
    if (row.kind == "twin") row.measure_policy = finals_policy_text(sweep_.spec);
  }
  recorder_.record_finals(std::move(final_rows));
}

void Finals::leave_out(Lane& lane, GroupFinals& finals, const std::string& why) {
  ++sweep_.summary.finals_left_out;
  sweep_.observer.on_note(fmt::format("the finals of {} on {} are left out, and the first times stand: {}",
                                      lane.stage_of(group_of(lane, finals)).problem.label(),
                                      lane.target().name, why));
  close(lane, finals);
}

void Finals::close(Lane& lane, GroupFinals& finals) {
  finals = GroupFinals{};
  finals.state = State::over;
  lane.standings.forget(group_of(lane, finals));
}

bool Finals::over(Lane& lane) {
  open_due(lane);
  for (GroupFinals& finals : lane.finals) {
    if (finals.state == State::over || finals.state == State::racing) continue;
    if (finals.state == State::pending && lane.alive()) continue;
    if (finals.state == State::pending)
      close(lane, finals);
    else if (!lane.alive())
      leave_out(lane, finals, "no GPU is left");
    else if (sweep_.summary.interrupted)
      leave_out(lane, finals, "interrupted");
  }
  return std::all_of(lane.finals.begin(), lane.finals.end(),
                     [](const GroupFinals& finals) { return finals.state == State::over; });
}

std::optional<ProgressState> Finals::progress() const {
  for (Lane& lane : sweep_.lanes) {
    for (const GroupFinals& finals : lane.finals) {
      if (finals.state != State::racing) continue;
      const auto racers = std::count_if(finals.finalists.begin(), finals.finalists.end(),
                                        [](const Finalist& finalist) { return !finalist.fault; });
      ProgressState state;
      state.stage = "finals " + lane.stage_of(group_of(lane, finals)).problem.label();
      state.done = finals.turns;
      // The twin takes part too. Those that are given up early make it end before the total.
      const std::size_t others = finals.post->baselines.size() + 1;
      state.total = (static_cast<std::size_t>(racers) + others) *
                    static_cast<std::uint64_t>(sweep_.spec.measure.finals.rounds);
      return state;
    }
  }
  return std::nullopt;
}

}  // namespace tiletune
