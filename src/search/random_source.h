#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

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
  /// Keeps `most` of the values, of which there are no fewer: the `first`, and others that are drawn.
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

}  // namespace tiletune::search
