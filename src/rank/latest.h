#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "store/database.h"
#include "store/trial.h"

// Which of several rows of one configuration counts: point 3 of the rule in rank/ranking.h.

namespace tiletune {

/// The first `Size` bytes of a text, which order as the text does.
template <std::size_t Size>
struct ShortText {
  std::array<unsigned char, Size> bytes{};

  ShortText() = default;
  explicit ShortText(std::string_view text) {
    for (std::size_t i = 0; i < std::min(Size, text.size()); ++i)
      bytes[i] = static_cast<unsigned char>(text[i]);
  }
  auto operator<=>(const ShortText&) const = default;
};

/// Sweeps in the order in which they began. Their numbers need not grow with it: sweeps that came from
/// another database got theirs when they came.
class SweepOrder {
 public:
  /// Numbers are in order.
  SweepOrder() = default;
  explicit SweepOrder(const Database& database);

  /// Grows with the time; 0 for 0, which is no sweep.
  std::int64_t operator()(std::int64_t sweep) const;

 private:
  std::unordered_map<std::int64_t, std::int64_t> places_;  ///< empty: numbers are in order
};

/// What is asked of a row to tell which is the latest.
struct DatedRow {
  std::int64_t id = 0;        ///< trial.id of the database
  std::int64_t seen_in = 0;   ///< its latest sweep, by a number that grows with the time
  ShortText<20> recorded_at;  ///< "2026-11-21T10:00:00Z"

  DatedRow() = default;
  DatedRow(std::int64_t row, const Trial& trial, const SweepOrder& order)
      : id(row), seen_in(order(trial.seen_in_sweep)), recorded_at(trial.recorded_at) {}
};

inline bool is_newer(const DatedRow& a, const DatedRow& b) {
  const auto when = [](const DatedRow& row) { return std::tie(row.seen_in, row.recorded_at, row.id); };
  return when(b) < when(a);
}

/// Of rows of equal `configuration_of` (a tuple) the latest stays. They end up in the order of these.
template <typename Row, typename ConfigurationOf>
void keep_latest(std::vector<Row>& rows, const ConfigurationOf& configuration_of) {
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const auto order = configuration_of(a) <=> configuration_of(b);
    return std::is_neq(order) ? std::is_lt(order) : is_newer(a, b);
  });
  const auto same = [&](const Row& a, const Row& b) { return configuration_of(a) == configuration_of(b); };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

}  // namespace tiletune
