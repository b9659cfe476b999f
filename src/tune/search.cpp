#include "tune/search.h"

#include "search/gaussian_process.h"

namespace tiletune {

Search::Search(std::span<Task> tasks, bool learns) : tasks_(tasks), learns_(learns) {
  for (const Task& task : tasks_) valid_ += task.space.size();
}

void Search::begin(std::unique_ptr<Strategy> strategy, std::optional<std::uint64_t> most) {
  strategy_ = std::move(strategy);
  most_ = most;
  has_begun_ = true;
}

SearchedWorkload Search::summary(const std::string& gpu) const {
  const bool is_whole = proposed_ == valid_;
  return {problem().label(), gpu, proposed_, valid_, is_whole ? SearchEnd::all_tried : end_};
}

Proposal Search::proposal_of(const Choice& choice) {
  pending_.insert(choice);
  ++proposed_;
  return {&tasks_[choice.space], choice.index, false};
}

std::optional<Proposal> Search::propose(std::size_t most) {
  if (is_undecided() && !has_spent_evaluations()) {
    if (asked_.empty()) {
      const auto wanted = most_ ? std::min<std::size_t>(most, *most_ - proposed_) : most;
      for (const Choice& choice : strategy_->ask(wanted)) asked_.push_back(choice);
    }
    if (!asked_.empty()) {
      const Choice choice = asked_.front();
      asked_.pop_front();
      return proposal_of(choice);
    }
    waits_ = !pending_.empty();
    if (!waits_) close(SearchEnd::strategy);
  }
  if (deferred_.empty()) return std::nullopt;
  const auto late = deferred_.begin();
  const Proposal proposal{&tasks_[late->first], late->second.back(), true};
  late->second.pop_back();
  if (late->second.empty()) deferred_.erase(late);
  return proposal;
}

void Search::tell(const Task& task, std::uint64_t index, std::optional<double> median_us) {
  const Choice choice{place_of(task), index};
  pending_.erase(choice);
  waits_ = false;
  if (learns_ && median_us && *median_us > 0) times_.emplace_back(choice, *median_us);
  if (strategy_) strategy_->tell(choice, median_us);
}

void Search::drop_deferred() {
  for (const auto& [place, indices] : deferred_) take_back(indices.size());
  deferred_.clear();
}

std::vector<Proposal> Search::propose_compiled(const std::function<std::vector<Choice>()>& compiled) {
  constexpr std::size_t kAtOnce = 4, kResultsBetween = 8;
  if (strategy_ == nullptr || !is_undecided() || times_.size() < asks_compiled_at_) return {};
  if (!compiled_) compiled_ = compiled();
  if (compiled_->empty()) return {};
  std::vector<Proposal> proposals;
  for (const Choice& choice : strategy_->ask_among(*compiled_, kAtOnce)) {
    std::erase(*compiled_, choice);
    proposals.push_back(proposal_of(choice));
  }
  if (proposals.empty()) asks_compiled_at_ = times_.size() + kResultsBetween;
  return proposals;
}

void Search::forget_compiled(const Task& task) {
  const std::size_t place = place_of(task);
  if (compiled_) std::erase_if(*compiled_, [&](const Choice& choice) { return choice.space == place; });
}

std::optional<SearchEnd> Search::end(double now_s, double until_percent) const {
  if (has_spent_evaluations()) return SearchEnd::evaluations;
  if (ends_at_s && now_s >= *ends_at_s) return SearchEnd::time;
  if (until_percent <= 0) return std::nullopt;
  const std::optional<double> gain = strategy_->remaining_gain_percent();
  return gain && *gain <= until_percent ? std::optional(SearchEnd::gain) : std::nullopt;
}

void Search::close(std::optional<SearchEnd> end) {
  constexpr std::size_t kMostTimes = 150;
  if (!end_) end_ = end;
  is_over_ = true;
  asked_.clear();
  strategy_.reset();
  if (times_.size() <= kMostTimes) return;
  std::nth_element(times_.begin(), times_.begin() + kMostTimes / 2, times_.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  times_.resize(kMostTimes);
}

Searches::Searches(std::span<Task> tasks, const TuneSpec& spec, std::string gpu, MakeStrategy* make,
                   bool learns, const Knowledge* known)
    : budget_(spec.budget),
      seed_(spec.strategy.seed),
      gpu_(std::move(gpu)),
      make_(make),
      learns_(learns),
      knowledge_(known) {
  for (std::size_t begin = 0, end = 0; begin < tasks.size(); begin = end) {
    while (end < tasks.size() && tasks[end].workload == tasks[begin].workload) ++end;
    searches_.emplace_back(tasks.subspan(begin, end - begin), learns);
  }
}

Search* Searches::current() {
  while (next_ < searches_.size() && searches_[next_].is_through()) ++next_;
  return next_ < searches_.size() ? &searches_[next_] : nullptr;
}

Search* Searches::begun() {
  Search* const search = current();
  if (search == nullptr || search->has_begun()) return search;
  std::optional<std::uint64_t> most;
  if (budget_.evaluations > 0) most = share_of_evaluations(next_);
  std::vector<SearchedSpace> spaces;
  for (const Task& task : search->tasks())
    spaces.push_back({&task.space, std::min(task.space.size(), most.value_or(task.space.size()))});
  std::unique_ptr<Strategy> strategy = make_(spaces, seed_);
  if (learns_) strategy->learn(lessons_for(*search, strategy->most_lessons()));
  search->begin(std::move(strategy), most);
  return search;
}

std::uint64_t Searches::expected() const {
  std::uint64_t planned = 0;
  for (const Search& search : searches_) planned += search.planned();
  return budget_.evaluations > 0 ? std::min(planned, budget_.evaluations) : planned;
}

std::vector<SearchedWorkload> Searches::summary() const {
  std::vector<SearchedWorkload> summary;
  for (const Search& search : searches_) summary.push_back(search.summary(gpu_));
  return summary;
}

/// How many shares of the budget a workload gets. The first of a search that learns has nobody to learn from,
/// and the others learn from it.
std::uint64_t Searches::shares_of(std::size_t workload) const {
  const bool is_first = workload == 0 && size() > 1;
  return is_first && learns_ && (knowledge_ == nullptr || knowledge_->is_empty()) ? 2 : 1;
}

/// Its shares of what is left for this workload and those after it, where those that are smaller leave
/// theirs to the others. As long as there are enough, each of those gets one evaluation.
std::uint64_t Searches::share_of_evaluations(std::size_t workload) const {
  std::uint64_t left = budget_.evaluations;
  for (std::size_t i = 0; i < workload; ++i) left -= std::min(left, searches_[i].proposed());
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = workload; i < size(); ++i) sizes.push_back(searches_[i].valid());
  std::sort(sizes.begin(), sizes.end());
  const std::uint64_t own = shares_of(workload);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::uint64_t others = sizes.size() - i - 1;
    const std::uint64_t parts = others + own;
    const std::uint64_t even = left / parts + (left % parts != 0 ? 1 : 0);
    const std::uint64_t shares = left / parts * own + (left % parts * own + parts - 1) / parts;
    if (sizes[i] >= even) return std::min(shares, std::max(left, others + 1) - others);
    left -= sizes[i];
  }
  return sizes.back();
}

/// What this sweep found on earlier problems with the same templates.
std::vector<Lesson> Searches::earlier_lessons(const Search& search) const {
  std::vector<Lesson> lessons;
  constexpr std::size_t kMostProblems = 16;  // the most similar ones
  std::vector<std::pair<double, const Search*>> known;
  for (const Search& earlier : searches_)
    if (&earlier != &search && !earlier.times().empty())
      known.emplace_back(problem_distance(earlier.problem(), search.problem()), &earlier);
  const std::size_t count = std::min(kMostProblems, known.size());
  std::partial_sort(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(count), known.end());
  known.resize(count);
  for (const auto& [far, earlier] : known) {
    const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
    const double best = std::min_element(earlier->times().begin(), earlier->times().end(), faster)->second;
    for (const auto& [choice, time_us] : earlier->times()) {
      const Task& task = earlier->tasks()[choice.space];
      const std::span<Task> tasks = search.tasks();
      const auto same =
          std::find_if(tasks.begin(), tasks.end(), [&](const Task& own) { return own.spec == task.spec; });
      if (same == tasks.end()) continue;
      lessons.push_back({static_cast<std::size_t>(same - tasks.begin()), task.space.positions(choice.index),
                         time_us / best, far});
    }
  }
  return lessons;
}

/// Takes of what a database says and of what this sweep found as much as a strategy learns from.
std::vector<Lesson> Searches::lessons_for(const Search& search, std::size_t most) const {
  if (most == 0) return {};
  std::vector<Knowledge::Known> known;
  if (knowledge_ != nullptr) known = knowledge_->known_for(search.tasks(), gpu_);
  const std::vector<Lesson> earlier = earlier_lessons(search);
  std::vector<double> weights;
  for (const Knowledge::Known& one : known)
    weights.push_back(search::lesson_weight(knowledge_->relative_time(one), one.distance));
  for (const Lesson& lesson : earlier)
    weights.push_back(search::lesson_weight(lesson.relative_time, lesson.distance));
  search::RandomSource random(seed_);
  std::vector<Lesson> lessons;
  for (const std::size_t place : search::kept_lessons(weights, most, random))
    lessons.push_back(place < known.size() ? knowledge_->lesson(known[place])
                                           : earlier[place - known.size()]);
  return lessons;
}

std::optional<Proposal> Searches::propose(std::size_t most) {
  while (Search* search = begun()) {
    if (const auto proposal = search->propose(most)) return proposal;
    if (!search->is_through()) break;
  }
  return std::nullopt;
}

std::vector<Proposal> Searches::propose_compiled() {
  Search* const search = current();
  if (search == nullptr) return {};
  return search->propose_compiled([&] {
    std::set<Choice> compiled;
    for (const Lesson& lesson : earlier_lessons(*search))
      if (const auto choice = search::choice_of(lesson, search->tasks()[lesson.space].space))
        compiled.insert(*choice);
    return std::vector(compiled.begin(), compiled.end());
  });
}

void Searches::defer(const Task& task, std::uint64_t index) {
  searches_[task.workload].defer(task, index);
  next_ = std::min(next_, task.workload);
}

bool Searches::propose_ahead() {
  const Search* search = current();
  return search != nullptr && has_time_to_begin(*search);
}

/// Each problem takes its share and, as long as earlier ones did on average, what comes after it: finals, and
/// the buffers of the next. At least half of it is for the search.
void Searches::begin_time(Search& search, double now_s) {
  const std::size_t workload = search.workload();
  // Where the one before had no share, what it took is not what came after a share.
  if (const auto ended_s = workload > 0 ? searches_[workload - 1].ends_at_s : std::nullopt) {
    after_shares_s_ += std::max(0.0, now_s - *ended_s);
    ++shares_;
  }
  const double after_s = shares_ == 0 ? 0 : after_shares_s_ / shares_;
  const auto own = static_cast<double>(shares_of(workload));
  const double left = static_cast<double>(size() - workload) - 1 + own;
  const double share_s = std::max(0.0, budget_.seconds - now_s) * own / left;
  search.ends_at_s = now_s + std::max(share_s / 2, share_s - after_s);
}

double Searches::longest_finals_us() const {
  if (!(budget_.seconds > 0) || size() == 1) return std::numeric_limits<double>::infinity();
  constexpr double kPart = 0.25, kMicroseconds = 1e6;
  return kPart * budget_.seconds / static_cast<double>(size()) * kMicroseconds;
}

}  // namespace tiletune
