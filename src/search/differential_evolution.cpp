#include <algorithm>
#include <utility>

#include "search/strategies.h"
#include "search/walker.h"

namespace tiletune {

namespace search {
namespace {

/// Differential evolution, best/1/bin (Storn and Price, 1997), on the positions of values. A trial is the
/// valid configuration near the mutant.
class DifferentialEvolution : public Walker {
 public:
  explicit DifferentialEvolution(ExploredSpace& explored) : explored_(explored) {}

  std::optional<Proposal> next() override {
    if (!is_complete_ && members_.size() + open_ < kPopulation) {
      ++open_;
      return Proposal{explored_.any(), kNewMember};
    }
    if (!is_complete_ || open_ == kPopulation) return std::nullopt;
    do turn_ = (turn_ + 1) % kPopulation;
    while (members_[turn_].has_trial);
    members_[turn_].has_trial = true;
    ++open_;
    return Proposal{trial(turn_), turn_};
  }

  void tell(const Proposal& proposal, double cost) override {
    --open_;
    const Tried tried{proposal.index, cost};
    if (proposal.purpose == kNewMember) {
      if (cost != kDidNotRun) members_.push_back({tried});
      is_complete_ = members_.size() == kPopulation;
      return;
    }
    Member& member = members_[proposal.purpose];
    member.has_trial = false;
    if (cost <= member.tried.cost) member.tried = tried;
  }

 private:
  static constexpr std::size_t kPopulation = 20;
  /// The scale of differences is drawn between these for each trial.
  static constexpr double kLeastScale = 0.5;
  static constexpr double kMostScale = 1;
  /// Share of values that a trial takes from the mutant.
  static constexpr double kCrossover = 0.7;

  static constexpr std::size_t kNewMember = kPopulation;

  struct Member {
    Tried tried;
    bool has_trial = false;
  };

  std::vector<std::uint32_t> positions(std::size_t member) const {
    return explored_.space().positions(members_[member].tried.index);
  }

  std::size_t another(std::size_t first, std::size_t second) {
    while (true) {
      const std::size_t drawn = explored_.random().below(kPopulation);
      if (drawn != first && drawn != second) return drawn;
    }
  }

  std::uint64_t trial(std::size_t target) {
    const auto best =
        std::min_element(members_.begin(), members_.end(),
                         [](const Member& a, const Member& b) { return a.tried.cost < b.tried.cost; });
    const std::size_t first = another(target, target);
    const std::vector<std::uint32_t> base = explored_.space().positions(best->tried.index);
    const std::vector<std::uint32_t> plus = positions(first);
    const std::vector<std::uint32_t> minus = positions(another(target, first));
    const std::vector<std::uint32_t> own = positions(target);
    RandomSource& random = explored_.random();
    const double scale = kLeastScale + (kMostScale - kLeastScale) * random.unit();
    const std::size_t certain = random.below(own.size());
    std::vector<double> point(own.begin(), own.end());
    for (std::size_t i = 0; i < point.size(); ++i)
      if (i == certain || random.chance(kCrossover))
        point[i] = base[i] + scale * (static_cast<double>(plus[i]) - minus[i]);
    return explored_.space().nearest(point);
  }

  ExploredSpace& explored_;
  std::vector<Member> members_;
  bool is_complete_ = false;
  std::size_t turn_ = 0;
  std::size_t open_ = 0;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_differential_evolution(const std::vector<SearchedSpace>& spaces,
                                                      std::uint64_t seed) {
  return search::make_walkers(spaces, seed, search::make_walker<search::DifferentialEvolution>);
}

}  // namespace tiletune
