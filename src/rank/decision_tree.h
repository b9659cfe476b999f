#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tiletune {

/// By kernel and problem: infinite where the kernel cannot run, not a number where it was not measured.
using RegretMatrix = std::vector<std::vector<double>>;

/// A small tree over the sizes of a problem that says in which order to try kernels: the first one whose
/// constraints hold is the choice.
class DecisionTree {
 public:
  /// What a node compares with its limit: a size, or the product of two.
  struct Feature {
    std::size_t first = 0;
    std::optional<std::size_t> second = {};

    double of(const std::vector<std::int64_t>& sizes) const;
  };
  struct Node {
    Feature feature = {};
    double limit = 0;                     ///< a whole number
    std::size_t below = 0;                ///< node for values up to the limit; 0: this is a leaf
    std::size_t above = 0;                ///< node for the others
    std::vector<std::size_t> order = {};  ///< of a leaf: all kernels, the best one first
  };

  DecisionTree() = default;
  /// As nodes() lists them: a node stands before those below it.
  explicit DecisionTree(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}
  /// Splits greedily, at most `depth` times on the way to a leaf, while the sum over the `training` problems
  /// of the regret of what the leaves choose falls by at least kLeastGain. Limits are geometric means of
  /// neighbouring values, rounded down. `sizes` are those of all problems of the matrix.
  DecisionTree(const RegretMatrix& regrets, const std::vector<std::vector<std::int64_t>>& sizes,
               const std::vector<std::size_t>& training, int depth);

  /// Half a percent of the time of one problem: less is noise.
  static constexpr double kLeastGain = 0.005;

  /// The root is the first; empty for a tree without kernels.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Kernels in the order in which to try them.
  const std::vector<std::size_t>& order(const std::vector<std::int64_t>& sizes) const;
  /// The first kernel that can run on a problem; none where none can.
  std::optional<std::size_t> choice(const std::vector<std::int64_t>& sizes, const RegretMatrix& regrets,
                                    std::size_t problem) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace tiletune
