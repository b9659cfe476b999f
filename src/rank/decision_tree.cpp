#include "rank/decision_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "rank/portfolio.h"

namespace tiletune {

namespace {

using Problems = std::vector<std::size_t>;
using Sizes = std::vector<std::vector<std::int64_t>>;

/// More make a tree that nobody can read.
constexpr std::size_t kMostDimensions = 8;

class Grower {
 public:
  Grower(const RegretMatrix& regrets, const Sizes& sizes, const Problems& training,
         std::vector<DecisionTree::Node>& nodes)
      : regrets_(regrets), sizes_(sizes), nodes_(nodes) {
    for (std::size_t kernel = 0; kernel < regrets.size(); ++kernel) {
      const Place place = place_of(kernel, training);
      const auto runs = static_cast<double>(std::ssize(training) - place.cannot_run);
      mean_excess_.push_back(runs > 0 ? place.excess / runs : kUncoveredRegret);
    }
    const std::size_t count = sizes.empty() ? 0 : std::min(sizes.front().size(), kMostDimensions);
    for (std::size_t i = 0; i < count; ++i) features_.push_back({i, {}});
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) features_.push_back({i, j});
    }
  }

  /// Returns the node's place.
  std::size_t grow(const Problems& problems, int depth) {
    const std::size_t place = nodes_.size();
    nodes_.emplace_back();
    Leaf leaf = leaf_of(problems);
    const std::optional<Split> split = depth > 0 ? best_split(problems) : std::nullopt;
    if (!split || leaf.cost - split->cost < DecisionTree::kLeastGain) {
      nodes_[place].order = with_strangers_first(std::move(leaf.order), problems);
      return place;
    }
    Problems below;
    Problems above;
    for (const std::size_t problem : problems)
      (split->feature.of(sizes_[problem]) <= split->limit ? below : above).push_back(problem);
    nodes_[place].feature = split->feature;
    nodes_[place].limit = split->limit;
    const std::size_t first = grow(below, depth - 1);
    const std::size_t second = grow(above, depth - 1);
    nodes_[place].below = first;
    nodes_[place].above = second;
    return place;
  }

 private:
  struct Leaf {
    std::vector<std::size_t> order;
    double cost = 0;
  };
  struct Split {
    DecisionTree::Feature feature;
    double limit = 0;
    double cost = 0;
  };

  /// None where it cannot run.
  std::optional<double> cost_at(std::size_t kernel, std::size_t problem) const {
    const double regret = regrets_[kernel][problem];
    return std::isinf(regret) ? std::nullopt : std::optional(std::isnan(regret) ? kUncoveredRegret : regret);
  }

  /// What the best of the kernels costs on a problem.
  double least_cost(std::size_t problem) const {
    double least = kUncoveredRegret;
    for (std::size_t kernel = 0; kernel < regrets_.size(); ++kernel)
      least = std::min(least, cost_at(kernel, problem).value_or(least));
    return least;
  }

  /// How a kernel does on the problems that those before it cannot run.
  struct Place {
    double excess = 0;  ///< over the best kernels of the problems that it runs
    std::ptrdiff_t cannot_run = 0;
    std::size_t kernel = 0;
    auto operator<=>(const Place&) const = default;
  };

  Place place_of(std::size_t kernel, const Problems& problems) const {
    Place place{0, 0, kernel};
    for (const std::size_t problem : problems) {
      if (const auto cost = cost_at(kernel, problem))
        place.excess += *cost - least_cost(problem);
      else
        ++place.cannot_run;
    }
    return place;
  }

  /// The kernel that costs least goes first, then that which costs least where the first cannot run, and so
  /// on; at the end those that no problem is left for, by what they would cost on all.
  Leaf leaf_of(const Problems& problems) const {
    Leaf leaf;
    Problems rest = problems;
    std::vector<std::size_t> others(regrets_.size());
    std::iota(others.begin(), others.end(), std::size_t{0});
    while (!rest.empty()) {
      std::optional<Place> best;
      for (const std::size_t kernel : others) {
        const Place place = place_of(kernel, rest);
        if (place.cannot_run < std::ssize(rest) && (!best || place < *best)) best = place;
      }
      if (!best) break;
      std::erase_if(rest, [&](std::size_t problem) {
        const auto cost = cost_at(best->kernel, problem);
        leaf.cost += cost.value_or(0);
        return cost.has_value();
      });
      std::erase(others, best->kernel);
      leaf.order.push_back(best->kernel);
    }
    leaf.cost += kUncoveredRegret * static_cast<double>(rest.size());
    std::vector<Place> places;
    for (const std::size_t kernel : others) places.push_back(place_of(kernel, problems));
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::tie(a.cannot_run, a.excess, a.kernel) < std::tie(b.cannot_run, b.excess, b.kernel);
    });
    for (const Place& place : places) leaf.order.push_back(place.kernel);
    return leaf;
  }

  /// Kernels that run none of a leaf's problems say nothing there. Those that do better wherever they run
  /// than the leaf's first does go first: such as one for a single M, of which the leaf had no problem.
  std::vector<std::size_t> with_strangers_first(std::vector<std::size_t> order,
                                                const Problems& problems) const {
    if (order.empty()) return order;
    const double first = mean_excess_[order.front()];
    const auto is_better_stranger = [&](std::size_t kernel) {
      return mean_excess_[kernel] < first && place_of(kernel, problems).cannot_run == std::ssize(problems);
    };
    const auto strangers_end = std::stable_partition(order.begin(), order.end(), is_better_stranger);
    std::stable_sort(order.begin(), strangers_end,
                     [&](std::size_t a, std::size_t b) { return mean_excess_[a] < mean_excess_[b]; });
    return order;
  }

  std::optional<Split> best_split(const Problems& problems) const {
    std::optional<Split> best;
    for (const DecisionTree::Feature& feature : features_) {
      Problems sorted = problems;
      std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
        return feature.of(sizes_[a]) < feature.of(sizes_[b]);
      });
      consider(feature, sorted, best);
    }
    return best;
  }

  void consider(const DecisionTree::Feature& feature, const Problems& sorted,
                std::optional<Split>& best) const {
    for (auto middle = sorted.begin() + 1; middle != sorted.end(); ++middle) {
      const double low = feature.of(sizes_[*(middle - 1)]);
      const double high = feature.of(sizes_[*middle]);
      if (low == high) continue;
      const double cost = leaf_of({sorted.begin(), middle}).cost + leaf_of({middle, sorted.end()}).cost;
      constexpr double kEqual = 1e-9;
      if (best && cost >= best->cost - kEqual) continue;
      best = Split{feature, std::clamp(std::floor(std::sqrt(low) * std::sqrt(high)), low, high - 1), cost};
    }
  }

  const RegretMatrix& regrets_;
  const Sizes& sizes_;
  std::vector<double> mean_excess_;  ///< by kernel, over the best ones, on the problems that it runs
  std::vector<DecisionTree::Node>& nodes_;
  std::vector<DecisionTree::Feature> features_;
};

}  // namespace

double DecisionTree::Feature::of(const std::vector<std::int64_t>& sizes) const {
  const auto value = static_cast<double>(sizes[first]);
  return second ? value * static_cast<double>(sizes[*second]) : value;
}

DecisionTree::DecisionTree(const RegretMatrix& regrets, const Sizes& sizes, const Problems& training,
                           int depth) {
  if (!regrets.empty()) Grower(regrets, sizes, training, nodes_).grow(training, depth);
}

const std::vector<std::size_t>& DecisionTree::order(const std::vector<std::int64_t>& sizes) const {
  std::size_t place = 0;
  while (nodes_[place].below != 0) {
    const Node& node = nodes_[place];
    place = node.feature.of(sizes) <= node.limit ? node.below : node.above;
  }
  return nodes_[place].order;
}

std::optional<std::size_t> DecisionTree::choice(const std::vector<std::int64_t>& sizes,
                                                const RegretMatrix& regrets, std::size_t problem) const {
  if (nodes_.empty()) return std::nullopt;
  for (const std::size_t kernel : order(sizes)) {
    if (!std::isinf(regrets[kernel][problem])) return kernel;
  }
  return std::nullopt;
}

}  // namespace tiletune
