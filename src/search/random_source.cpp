#include "search/random_source.h"

#include <algorithm>
#include <bit>

namespace tiletune::search {
namespace {

/// Few bits a half leave little to mix in one round.
constexpr std::uint64_t kRounds = 12;

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed)
    : size_(size), seed_(mix(seed + 0x9e3779b97f4a7c15ULL)) {
  const auto bits = static_cast<unsigned>(std::bit_width(size > 0 ? size - 1 : 0));
  half_bits_ = std::max(1U, (bits + 1) / 2);
}

std::uint64_t Permutation::permute_bits(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t key = mix(seed_ + round);
    const std::uint64_t mixed = left ^ (mix(key ^ right) & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  std::uint64_t value = permute_bits(index);
  while (value >= size_) value = permute_bits(value);
  return value;
}

}  // namespace tiletune::search
