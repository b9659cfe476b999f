#include <utility>

#include "search/strategies.h"
#include "search/walker.h"

namespace tiletune {

namespace search {
namespace {

/// Iterated local search (Lourenço, Martin and Stützle, 2003) with first improvement. It descends only from
/// configurations that run.
class LocalSearch : public Walker {
 public:
  explicit LocalSearch(ExploredSpace& explored) : explored_(explored) {}

  std::optional<Proposal> next() override {
    if (starts_) return std::nullopt;
    if (descent_) {
      if (const auto neighbour = descent_->next()) return Proposal{*neighbour};
      if (descent_->waits()) return std::nullopt;
      if (descent_->current().cost < best_.cost) best_ = descent_->current();
      descent_.reset();
    }
    starts_ = true;
    const bool from_optimum = best_.cost != kDidNotRun && explored_.random().chance(kFromOptimum);
    return Proposal{from_optimum ? explored_.changed(best_.index, kChanged) : explored_.any()};
  }

  void tell(const Proposal& proposal, double cost) override {
    if (!starts_) return descent_->tell({proposal.index, cost});
    starts_ = false;
    if (cost != kDidNotRun) descent_.emplace(explored_, Tried{proposal.index, cost});
  }

 private:
  /// How many parameters of the best local optimum a new start differs in.
  static constexpr std::size_t kChanged = 3;
  /// How often a new start is a changed optimum; else it is any configuration.
  static constexpr double kFromOptimum = 0.5;

  ExploredSpace& explored_;
  std::optional<Descent> descent_;
  bool starts_ = false;  ///< the cost of a start is open
  Tried best_;           ///< local optimum
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_local_search(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return search::make_walkers(spaces, seed, search::make_walker<search::LocalSearch>);
}

}  // namespace tiletune
