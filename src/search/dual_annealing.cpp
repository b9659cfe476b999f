#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategies.h"
#include "search/walker.h"

namespace tiletune {

namespace search {
namespace {

/// Generalized simulated annealing (Tsallis and Stariolo, 1996) with local search (Xiang, Gubian, Suomela and
/// Hoeng, 2013). At each temperature a chain of visits changes all parameters, then one after the other. The
/// lengths of the changes have the tail of Student's t distribution: some are long at every temperature. If
/// the chain found better than all before, a descent follows from there.
///
/// Costs count relative to that of the current configuration, positions relative to the parameter's range.
class DualAnnealing : public Walker {
 public:
  explicit DualAnnealing(ExploredSpace& explored)
      : explored_(explored), chain_(2 * explored.varied().size()) {}

  std::optional<Proposal> next() override {
    if (current_.cost == kDidNotRun) {
      if (open_ > 0) return std::nullopt;
      ++open_;
      return Proposal{explored_.any()};
    }
    if (descent_) {
      if (const auto neighbour = descent_->next()) return Proposal{*neighbour};
      if (descent_->waits()) return std::nullopt;
      current_ = best_ = descent_->current();
      descent_.reset();
      cool();
    }
    if (visits_ == chain_) {
      if (open_ > 0) return std::nullopt;
      if (improved_) {
        descent_.emplace(explored_, best_);
        return next();
      }
      cool();
    }
    if (open_ == kMostOpen) return std::nullopt;
    ++open_;
    return Proposal{visit(visits_++)};
  }

  void tell(const Proposal& proposal, double cost) override {
    if (descent_) return descent_->tell({proposal.index, cost});
    --open_;
    if (!is_accepted(cost)) return;
    current_ = {proposal.index, cost};
    if (cost >= best_.cost) return;
    best_ = current_;
    improved_ = true;
  }

 private:
  /// The parameters of visits and of acceptance of Xiang et al. (2013), which SciPy has as defaults.
  static constexpr double kVisit = 2.62;
  static constexpr double kAccept = -5;
  static constexpr std::size_t kMostOpen = 4;

  void cool() {
    ++cooled_;
    visits_ = 0;
    improved_ = false;
  }

  /// 1 at first.
  double temperature() const {
    return (std::pow(2, kVisit - 1) - 1) / (std::pow(2.0 + cooled_, kVisit - 1) - 1);
  }

  /// The visiting distribution of Tsallis and Stariolo in one dimension is Student's t distribution with
  /// (3 - q) / (q - 1) degrees of freedom, and a width that is the temperature to the power of 1 / (3 - q).
  /// Beyond the range a visit comes in again on the other side.
  void move(double& position, std::size_t parameter) {
    const double range = explored_.values_of(parameter);
    const double width = range * std::pow(temperature(), 1 / (3 - kVisit));
    const double moved =
        std::fmod(position + 0.5 + width * explored_.random().student_t((3 - kVisit) / (kVisit - 1)), range);
    if (std::isfinite(moved)) position = (moved < 0 ? moved + range : moved) - 0.5;
  }

  std::uint64_t visit(std::size_t step) {
    const std::vector<std::uint32_t> positions = explored_.space().positions(current_.index);
    std::vector<double> point(positions.begin(), positions.end());
    const std::vector<std::size_t>& varied = explored_.varied();
    if (step >= varied.size()) {
      const std::size_t parameter = varied[step - varied.size()];
      move(point[parameter], parameter);
    } else {
      for (const std::size_t parameter : varied) move(point[parameter], parameter);
    }
    return explored_.space().nearest(point);
  }

  bool is_accepted(double cost) {
    if (cost == kDidNotRun) return false;
    if (cost <= current_.cost) return true;
    const double slowdown = cost / current_.cost - 1;
    const double base = 1 - (1 - kAccept) * slowdown / (temperature() / (1.0 + cooled_));
    return base > 0 && explored_.random().chance(std::pow(base, 1 / (1 - kAccept)));
  }

  ExploredSpace& explored_;
  std::size_t chain_;       ///< visits at each temperature
  std::size_t visits_ = 0;  ///< begun at this one
  int cooled_ = 0;
  std::size_t open_ = 0;  ///< visits, or the start
  Tried current_;
  Tried best_;
  bool improved_ = false;  ///< the best is of this chain
  std::optional<Descent> descent_;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> make_dual_annealing(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return search::make_walkers(spaces, seed, search::make_walker<search::DualAnnealing>);
}

}  // namespace tiletune
