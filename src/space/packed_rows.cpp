#include "space/packed_rows.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <numeric>

namespace tiletune::space {
namespace {

constexpr unsigned kWordBits = 64;

bool is_less(std::span<const std::uint64_t> left, std::span<const std::uint64_t> right) {
  return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
}

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
  const auto words = words_of(row);
  for (std::size_t column = 0; column < fields_.size(); ++column) {
    const Field& field = fields_[column];
    out[column] = static_cast<std::uint32_t>((words[field.word] >> field.shift) & field.mask);
  }
}

std::optional<std::size_t> PackedRows::find(std::span<const std::uint32_t> row) const {
  std::vector<std::uint64_t> wanted(stride_);
  pack(row, wanted);
  std::size_t first = 0;
  std::size_t count = size();
  while (count > 0) {
    const std::size_t half = count / 2;
    const bool before = is_less(words_of(first + half), wanted);
    first = before ? first + half + 1 : first;
    count = before ? count - half - 1 : half;
  }
  if (first == size() || !std::ranges::equal(words_of(first), wanted)) return std::nullopt;
  return first;
}

std::size_t PackedRows::first_at_least(std::size_t begin, std::size_t end, std::size_t column,
                                       std::uint32_t value) const {
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (this->value(middle, column) < value) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

void PackedRows::sort() {
  if (stride_ == 1) {
    if (!std::is_sorted(words_.begin(), words_.end())) std::sort(words_.begin(), words_.end());
  } else {
    sort_wide();
  }
  words_.shrink_to_fit();
}

void PackedRows::sort_wide() {
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

}  // namespace tiletune::space
