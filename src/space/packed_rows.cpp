#include "space/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <queue>
#include <ranges>

namespace tiletune::space {
namespace {

constexpr unsigned kWordBits = 64;

bool is_less(std::span<const std::uint64_t> left, std::span<const std::uint64_t> right) {
  return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
}

/// The first of [begin, end) that is not before what is sought.
template <typename IsBefore>
std::size_t first_not(std::size_t begin, std::size_t end, const IsBefore& is_before) {
  return *std::ranges::partition_point(std::views::iota(begin, end), is_before);
}

/// Prefixes that are continued, and by how many values each: a search takes less than 1 ms.
constexpr int kMostContinued = 100;
constexpr int kMostValues = 16;

/// Rows that are equal in their first `depth` columns.
struct RowPrefix {
  double distance = 0;  ///< distance in the first `depth` columns
  double estimate = 0;  ///< estimated distance of a whole row
  std::size_t depth = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

class NearestRow {
 public:
  NearestRow(const PackedRows& rows, std::span<const WantedPosition> wanted) : rows_(rows), wanted_(wanted) {}

  std::size_t run() {
    RowPrefix best = greedy();
    // Not a bound, but a typical distance: with 0 the search would stay among short prefixes.
    const double column_estimate = best.distance / 2 / static_cast<double>(wanted_.size());
    const auto is_farther = [](const RowPrefix& a, const RowPrefix& b) { return a.estimate > b.estimate; };
    std::priority_queue<RowPrefix, std::vector<RowPrefix>, decltype(is_farther)> open(is_farther);
    open.push({.end = rows_.size()});
    for (int continued = 0; continued < kMostContinued && !open.empty(); ++continued) {
      const RowPrefix prefix = open.top();
      open.pop();
      if (prefix.distance >= best.distance) continue;
      continue_with(prefix, kMostValues, [&](RowPrefix longer) {
        if (longer.distance >= best.distance) return;
        if (longer.depth == wanted_.size()) {
          best = longer;
          return;
        }
        longer.estimate =
            longer.distance + column_estimate * static_cast<double>(wanted_.size() - longer.depth);
        open.push(longer);
      });
    }
    return best.begin;
  }

 private:
  /// The row that is found by taking the nearest value column by column.
  RowPrefix greedy() const {
    RowPrefix prefix{.end = rows_.size()};
    while (prefix.depth < wanted_.size())
      continue_with(prefix, 1, [&](RowPrefix longer) { prefix = longer; });
    return prefix;
  }

  /// Calls `take` for the prefixes that are one column longer, the nearest values first.
  template <typename Take>
  void continue_with(const RowPrefix prefix, int most, const Take& take) const {
    const std::size_t column = prefix.depth;
    const auto last = static_cast<double>(wanted_[column].count - 1);
    const double position = std::clamp(wanted_[column].position, 0.0, last);
    // Values from `above` on are above the position, those before it are not.
    std::size_t above = rows_.first_at_least(prefix.begin, prefix.end, column,
                                             static_cast<std::uint32_t>(std::ceil(position)));
    std::size_t below = above;
    for (int taken = 0; taken < most && (below > prefix.begin || above < prefix.end); ++taken) {
      const double down = below > prefix.begin ? position - rows_.value(below - 1, column) : INFINITY;
      const double up = above < prefix.end ? rows_.value(above, column) - position : INFINITY;
      RowPrefix longer{.distance = prefix.distance + std::min(down, up) / std::max(1.0, last),
                       .depth = prefix.depth + 1};
      if (up <= down) {
        longer.begin = above;
        above = longer.end = rows_.first_at_least(above, prefix.end, column, rows_.value(above, column) + 1);
      } else {
        longer.end = below;
        below = longer.begin =
            rows_.first_at_least(prefix.begin, below, column, rows_.value(below - 1, column));
      }
      take(longer);
    }
  }

  const PackedRows& rows_;
  std::span<const WantedPosition> wanted_;
};

}  // namespace

/// Earlier columns lie in higher bits of earlier words, so that words compare as rows do.
PackedRows::PackedRows(std::span<const std::size_t> counts) {
  unsigned used = 0;
  std::size_t word = 0;
  for (const std::size_t count : counts) {
    const auto bits = static_cast<unsigned>(std::bit_width(count - 1));
    if (used + bits > kWordBits) {
      ++word;
      used = 0;
    }
    used += bits;
    fields_.push_back({word, (kWordBits - used) % kWordBits, (std::uint64_t{1} << bits) - 1});
  }
  stride_ = word + 1;
}

void PackedRows::pack(std::span<const std::uint32_t> row, std::span<std::uint64_t> words) const {
  std::fill(words.begin(), words.end(), 0);
  for (std::size_t column = 0; column < fields_.size(); ++column) {
    const Field& field = fields_[column];
    words[field.word] |= std::uint64_t{row[column]} << field.shift;
  }
}

void PackedRows::push_back(std::span<const std::uint32_t> row) {
  words_.resize(words_.size() + stride_);
  pack(row, std::span(words_).last(stride_));
}

void PackedRows::unpack(std::size_t row, std::span<std::uint32_t> out) const {
  for (std::size_t column = 0; column < fields_.size(); ++column) out[column] = value(row, column);
}

std::optional<std::size_t> PackedRows::find(std::span<const std::uint32_t> row) const {
  std::vector<std::uint64_t> wanted(stride_);
  pack(row, wanted);
  const std::size_t first =
      first_not(0, size(), [&](std::size_t at) { return is_less(words_of(at), wanted); });
  if (first == size() || !std::ranges::equal(words_of(first), wanted)) return std::nullopt;
  return first;
}

std::size_t PackedRows::first_at_least(std::size_t begin, std::size_t end, std::size_t column,
                                       std::uint32_t value) const {
  return first_not(begin, end, [&](std::size_t row) { return this->value(row, column) < value; });
}

void PackedRows::sort() {
  if (stride_ == 1) {
    if (!std::is_sorted(words_.begin(), words_.end())) std::sort(words_.begin(), words_.end());
    return words_.shrink_to_fit();
  }
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](auto left, auto right) { return is_less(words_of(left), words_of(right)); });
  std::vector<std::uint64_t> sorted;
  sorted.reserve(words_.size());
  for (const std::uint32_t row : order) {
    const auto words = words_of(row);
    sorted.insert(sorted.end(), words.begin(), words.end());
  }
  words_ = std::move(sorted);
}

std::size_t nearest_row(const PackedRows& rows, std::span<const WantedPosition> wanted) {
  return NearestRow(rows, wanted).run();
}

}  // namespace tiletune::space
