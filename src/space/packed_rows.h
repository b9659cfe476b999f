#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tiletune::space {

/// Rows of small numbers, packed into bit fields: 14 parameters of at most 8 values take 8 bytes a row.
class PackedRows {
 public:
  /// Column i holds numbers below `counts[i]`.
  explicit PackedRows(std::span<const std::size_t> counts);

  void push_back(std::span<const std::uint32_t> row);
  /// Brings the rows into lexicographic order and gives back unused memory.
  void sort();

  std::size_t size() const { return words_.size() / stride_; }
  std::size_t bytes_per_row() const { return stride_ * sizeof(std::uint64_t); }
  void unpack(std::size_t row, std::span<std::uint32_t> out) const;
  /// Where a row is; none when it is not among the rows. They must be sorted.
  std::optional<std::size_t> find(std::span<const std::uint32_t> row) const;

  std::uint32_t value(std::size_t row, std::size_t column) const {
    const Field& field = fields_[column];
    return static_cast<std::uint32_t>((words_[row * stride_ + field.word] >> field.shift) & field.mask);
  }
  /// The first of the rows `begin` to `end` that holds at least `value` in a column; `end` when none does.
  /// The rows must be sorted, and equal in the columns before it.
  std::size_t first_at_least(std::size_t begin, std::size_t end, std::size_t column,
                             std::uint32_t value) const;

 private:
  struct Field {
    std::size_t word;
    unsigned shift;
    std::uint64_t mask;
  };

  void pack(std::span<const std::uint32_t> row, std::span<std::uint64_t> words) const;
  std::span<const std::uint64_t> words_of(std::size_t row) const {
    return std::span(words_).subspan(row * stride_, stride_);
  }

  std::vector<Field> fields_;
  std::size_t stride_ = 1;  ///< words a row
  std::vector<std::uint64_t> words_;
};

/// What a column should hold, if that were valid.
struct WantedPosition {
  double position = 0;    ///< between 0 and count - 1, and brought there if it is not
  std::size_t count = 1;  ///< of the column's parameter's values
};

/// A row near a point, of at least one that there are, which must be sorted. The distance is the sum over the
/// columns of |value - position| / (count - 1).
///
/// Best-first search in the tree of the rows' prefixes, as far as a fixed number of prefixes: the nearest row
/// where that is enough, else the nearest that was come across.
std::size_t nearest_row(const PackedRows& rows, std::span<const WantedPosition> wanted);

}  // namespace tiletune::space
