#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/strategy.h"

namespace tiletune::search {

/// Random numbers that a seed determines.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t number() { return engine_(); }
  /// 0 .. bound-1
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  /// At least 0, below 1.
  double unit() { return std::ldexp(static_cast<double>(engine_() >> 11U), -53); }
  bool chance(double probability) { return unit() < probability; }
  /// Keeps `most` values: the first `first`, and others drawn at random. There must be at least `most`.
  template <typename T>
  void keep_some(std::vector<T>& values, std::size_t first, std::size_t most) {
    for (std::size_t i = first; i < most; ++i) std::swap(values[i], values[i + below(values.size() - i)]);
    values.resize(most);
  }

 private:
  std::mt19937_64 engine_;
};

/// A seeded permutation of 0 .. size-1 in constant memory: a Feistel network over the next even number of
/// bits, walked along its cycle until it is back in range (at most four steps on average).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed);
  /// Where `index` < size goes.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t permute_bits(std::uint64_t value) const;

  std::uint64_t size_;
  std::uint64_t seed_;
  unsigned half_bits_;
};

/// The cost of a configuration that did not run. Else it is the median time in us.
inline constexpr double kDidNotRun = std::numeric_limits<double>::infinity();

/// A configuration and what became of it.
struct Tried {
  std::uint64_t index = 0;
  double cost = kDidNotRun;
};

/// One space of a search with the results so far, and how methods move in it. Memory grows with what was
/// tried, not with the space.
class ExploredSpace {
 public:
  ExploredSpace(const SearchedSpace& searched, std::uint64_t seed);

  const Space& space() const { return *searched_.space; }
  std::uint64_t size() const { return size_; }
  std::uint64_t planned() const { return searched_.planned; }
  std::uint64_t asked() const { return costs_.size(); }
  /// How many may still be asked for.
  std::uint64_t left() const { return planned() - asked(); }
  std::uint64_t results() const { return results_; }
  double best_cost() const { return best_cost_; }
  RandomSource& random() { return random_; }

  bool is_asked(std::uint64_t index) const { return costs_.contains(index); }
  /// None: it was not asked for, or is under way.
  std::optional<double> cost(std::uint64_t index) const;
  void ask(std::uint64_t index) { costs_.emplace(index, std::nullopt); }
  /// False, and nothing is changed, when it was not asked for. `is_first` says whether it has no result yet.
  bool tell(std::uint64_t index, double cost, bool& is_first);

  /// Any valid configuration, each as likely as the others.
  std::uint64_t any() { return random_.below(size_); }
  /// A configuration that was not asked for, in an order that the seed determines; there must be one.
  std::uint64_t untried();
  /// The parameters that have more than one value.
  const std::vector<std::size_t>& varied() const { return varied_; }
  std::uint32_t values_of(std::size_t parameter) const { return counts_[parameter]; }
  /// A valid configuration that differs in one parameter; none when there is none.
  std::optional<std::uint64_t> neighbour(std::uint64_t index);
  /// A valid configuration near the one that differs in `parameters` random parameters.
  std::uint64_t changed(std::uint64_t index, std::size_t parameters);

 private:
  SearchedSpace searched_;
  std::uint64_t size_;
  RandomSource random_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::size_t> varied_;
  std::unordered_map<std::uint64_t, std::optional<double>> costs_;  ///< none: under way
  std::uint64_t results_ = 0;
  double best_cost_ = kDidNotRun;
  Permutation rest_;
  std::uint64_t rest_next_ = 0;
};

/// The valid configurations that differ from one in one parameter, in random order, found one by one.
class Neighbours {
 public:
  Neighbours(ExploredSpace& explored, std::uint64_t index);
  /// None when there are no more.
  std::optional<std::uint64_t> next();

 private:
  const ExploredSpace* explored_;
  std::vector<std::uint32_t> positions_;
  std::uint64_t changes_;  ///< a change is another value of a parameter
  Permutation order_;
  std::uint64_t next_ = 0;
};

}  // namespace tiletune::search
