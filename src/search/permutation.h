#pragma once

#include <cstdint>

namespace tiletune::search {

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
