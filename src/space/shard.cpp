#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "space/component.h"

namespace tiletune::space {

namespace {

/// So many rows for each shard make one row more or less a small difference.
constexpr std::uint64_t kRowsPerShard = 64;
constexpr std::uint64_t kMostJoinedRows = std::uint64_t{1} << 22;

/// All combinations of the rows of two components.
Component joined(const Component& a, const Component& b, const std::vector<Parameter>& parameters) {
  std::vector<std::size_t> columns;
  std::merge(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
             std::back_inserter(columns));
  const auto places = [&](const Component& part) {
    std::vector<std::size_t> found;
    for (const std::size_t parameter : part.parameters)
      found.push_back(static_cast<std::size_t>(std::lower_bound(columns.begin(), columns.end(), parameter) -
                                               columns.begin()));
    return found;
  };
  const std::vector<std::size_t> places_of_a = places(a);
  const std::vector<std::size_t> places_of_b = places(b);
  PackedRows rows(value_counts(parameters, columns));
  std::vector<std::uint32_t> row(columns.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    for (std::size_t column = 0; column < places_of_a.size(); ++column)
      row[places_of_a[column]] = a.rows.value(i, column);
    for (std::size_t j = 0; j < b.rows.size(); ++j) {
      for (std::size_t column = 0; column < places_of_b.size(); ++column)
        row[places_of_b[column]] = b.rows.value(j, column);
      rows.push_back(row);
    }
  }
  rows.sort();
  return {std::move(columns), std::move(rows), {}};
}

/// The rows are ordered by a hash of the positions of their values, so that equal rows of another problem's
/// space are ordered alike.
std::vector<std::pair<std::uint64_t, std::size_t>> in_shuffled_order(const PackedRows& rows,
                                                                     std::size_t columns) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  order.reserve(rows.size());
  std::vector<std::uint32_t> row(columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows.unpack(i, row);
    const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(row[0]));
    order.emplace_back(checksum64(bytes), i);
  }
  std::sort(order.begin(), order.end());
  return order;
}

/// The rows of a stretch of that order: where another problem's space lacks some rows, few of the others are
/// in another shard there.
PackedRows rows_of(const Component& component, const std::vector<Parameter>& parameters, std::uint64_t number,
                   std::uint64_t count) {
  const std::size_t columns = component.parameters.size();
  std::vector<std::size_t> own;
  const auto order = in_shuffled_order(component.rows, columns);
  const std::size_t end = order.size() * (number + 1) / count;
  for (std::size_t i = order.size() * number / count; i < end; ++i) own.push_back(order[i].second);
  std::sort(own.begin(), own.end());
  PackedRows rows(value_counts(parameters, component.parameters));
  std::vector<std::uint32_t> row(columns);
  for (const std::size_t i : own) {
    component.rows.unpack(i, row);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::vector<Component> shard_of(std::vector<Component> components, const std::vector<Parameter>& parameters,
                                const Shard& shard, std::uint64_t turn) {
  if (shard.count == 1 || components.empty()) return components;
  std::stable_sort(components.begin(), components.end(),
                   [](const Component& a, const Component& b) { return a.rows.size() > b.rows.size(); });
  Component& largest = components.front();
  while (components.size() > 1 && largest.rows.size() < kRowsPerShard * shard.count &&
         largest.rows.size() * components[1].rows.size() <= kMostJoinedRows) {
    largest = joined(largest, components[1], parameters);
    components.erase(components.begin() + 1);
  }
  const std::uint64_t number = (shard.number - 1 + turn % shard.count) % shard.count;
  largest.rows = rows_of(largest, parameters, number, shard.count);
  std::sort(components.begin(), components.end(), [](const Component& a, const Component& b) {
    return a.parameters.front() < b.parameters.front();
  });
  return components;
}

}  // namespace tiletune::space
