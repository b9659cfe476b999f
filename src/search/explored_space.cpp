#include "search/explored_space.h"

#include <algorithm>
#include <bit>
#include <numeric>

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

namespace {

std::uint64_t count_changes(const ExploredSpace& explored) {
  return std::accumulate(
      explored.varied().begin(), explored.varied().end(), std::uint64_t{0},
      [&](std::uint64_t sum, std::size_t parameter) { return sum + explored.values_of(parameter) - 1; });
}

}  // namespace

ExploredSpace::ExploredSpace(const SearchedSpace& searched, std::uint64_t seed)
    : searched_(searched), size_(searched.space->size()), random_(seed), rest_(size_, seed) {
  for (const std::size_t count : searched.space->value_counts()) {
    if (count > 1) varied_.push_back(counts_.size());
    counts_.push_back(static_cast<std::uint32_t>(count));
  }
}

std::optional<double> ExploredSpace::cost(std::uint64_t index) const {
  const auto found = costs_.find(index);
  return found == costs_.end() ? std::nullopt : found->second;
}

bool ExploredSpace::tell(std::uint64_t index, double cost, bool& is_first) {
  const auto found = costs_.find(index);
  if (found == costs_.end()) return false;
  is_first = !found->second;
  if (is_first) ++results_;
  found->second = cost;
  best_cost_ = std::min(best_cost_, cost);
  return true;
}

std::uint64_t ExploredSpace::untried() {
  while (is_asked(rest_(rest_next_))) ++rest_next_;
  return rest_(rest_next_);
}

std::optional<std::uint64_t> ExploredSpace::neighbour(std::uint64_t index) {
  return Neighbours(*this, index).next();
}

std::uint64_t ExploredSpace::changed(std::uint64_t index, std::size_t parameters) {
  if (varied_.empty()) return index;
  std::vector<std::uint32_t> positions = space().positions(index);
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::size_t parameter = varied_[random_.below(varied_.size())];
    const auto drawn = static_cast<std::uint32_t>(random_.below(counts_[parameter] - 1));
    positions[parameter] = drawn < positions[parameter] ? drawn : drawn + 1;
  }
  return space().nearest(std::vector<double>(positions.begin(), positions.end()));
}

Neighbours::Neighbours(ExploredSpace& explored, std::uint64_t index)
    : explored_(&explored),
      positions_(explored.space().positions(index)),
      changes_(count_changes(explored)),
      order_(changes_, explored.random().number()) {}

std::optional<std::uint64_t> Neighbours::next() {
  while (next_ < changes_) {
    std::uint64_t change = order_(next_++);
    auto parameter = explored_->varied().begin();
    for (; change >= explored_->values_of(*parameter) - 1; ++parameter)
      change -= explored_->values_of(*parameter) - 1;
    const std::uint32_t own = positions_[*parameter];
    positions_[*parameter] = static_cast<std::uint32_t>(change < own ? change : change + 1);
    const std::uint64_t found = explored_->space().index_at(positions_);
    positions_[*parameter] = own;
    if (found != explored_->size()) return found;
  }
  return std::nullopt;
}

}  // namespace tiletune::search
