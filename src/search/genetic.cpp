#include <algorithm>
#include <cmath>

#include "search/strategies.h"
#include "search/walker.h"

namespace tiletune {

namespace search {
namespace {

/// A steady-state genetic algorithm (GENITOR; Whitley, 1989): one child at a time, of two parents drawn by
/// rank, takes the place of the worst member if it is better. A child gets each value from either parent, a
/// random other value with probability 1 / parameters, and is then repaired to a valid configuration near it.
class Genetic : public Walker {
 public:
  explicit Genetic(ExploredSpace& explored) : explored_(explored) {}

  std::optional<Proposal> next() override {
    if (open_ == kPopulation) return std::nullopt;
    const bool begins = !is_complete_ && members_.size() + open_ < kPopulation;
    if (!begins && members_.size() < 2) return std::nullopt;
    ++open_;
    return Proposal{begins ? explored_.any() : child()};
  }

  void tell(const Proposal& proposal, double cost) override {
    --open_;
    const auto is_same = [&](const Tried& member) { return member.index == proposal.index; };
    if (cost == kDidNotRun || std::any_of(members_.begin(), members_.end(), is_same)) return;
    const auto place = std::upper_bound(members_.begin(), members_.end(), cost,
                                        [](double left, const Tried& right) { return left < right.cost; });
    members_.insert(place, {proposal.index, cost});
    if (members_.size() > kPopulation) members_.pop_back();
    is_complete_ = is_complete_ || members_.size() == kPopulation;
  }

 private:
  static constexpr std::size_t kPopulation = 20;
  /// Parents are drawn by rank: the first is so many times as likely as the median one.
  static constexpr double kBias = 1.8;
  /// Mutations of a child that has been tried already, until it has not.
  static constexpr int kMostMutations = 5;

  /// Whitley's linear bias.
  std::size_t drawn_by_rank() {
    const double root = std::sqrt(kBias * kBias - 4 * (kBias - 1) * explored_.random().unit());
    const double share = (kBias - root) / 2 / (kBias - 1);
    return std::min(members_.size() - 1,
                    static_cast<std::size_t>(share * static_cast<double>(members_.size())));
  }

  std::uint64_t child() {
    const std::size_t first = drawn_by_rank();
    std::size_t second = drawn_by_rank();
    if (second == first) second = (first + 1) % members_.size();
    std::vector<std::uint32_t> positions = explored_.crossed(members_[first].index, members_[second].index);
    for (const std::size_t parameter : explored_.varied())
      if (explored_.random().below(explored_.varied().size()) == 0)
        positions[parameter] = explored_.other_value(parameter, positions[parameter]);
    std::uint64_t child = explored_.repaired(positions);
    for (int i = 0; i < kMostMutations && explored_.is_asked(child); ++i) child = explored_.changed(child, 1);
    return child;
  }

  ExploredSpace& explored_;
  std::vector<Tried> members_;  ///< the best first
  bool is_complete_ = false;    ///< as many as belong to it were once found
  std::size_t open_ = 0;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_genetic(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return search::make_walkers(spaces, seed, search::make_walker<search::Genetic>);
}

}  // namespace tiletune
