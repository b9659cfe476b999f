#include "rank/fixed_values.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>

#include "base/hash.h"

namespace tiletune {

namespace {

using Rows = std::vector<const ParameterTable::Row*>;
using Values = std::vector<std::uint64_t>;

std::uint64_t hash_of(std::span<const std::uint64_t> values) {
  return checksum64({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

/// Ascending, each once.
std::vector<std::uint64_t> configurations(const ParameterTable& table, const Rows& rows) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(rows.size());
  for (const ParameterTable::Row* row : rows) hashes.push_back(hash_of(table.values(*row)));
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

/// A row of the longer list: the values of what the shorter one has, and of the others.
struct Match {
  std::uint64_t others;
  std::uint64_t shared;
  const ParameterTable::Row* row;

  bool operator<(const Match& right) const {
    return std::tie(others, shared) < std::tie(right.others, right.shared);
  }
  bool operator==(const Match& right) const {
    return std::tie(others, shared) == std::tie(right.others, right.shared);
  }
};

/// The values at some of the places of a list.
void select(const std::vector<std::uint32_t>& list, std::span<const std::uint64_t> values,
            const std::vector<std::uint32_t>& wanted, Values& selected) {
  selected.clear();
  std::size_t next = 0;
  for (std::size_t i = 0; i < list.size() && next < wanted.size(); ++i) {
    if (list[i] != wanted[next]) continue;
    selected.push_back(values[i]);
    ++next;
  }
}

}  // namespace

std::vector<std::uint32_t> lacking(const std::vector<std::uint32_t>& fewer,
                                   const std::vector<std::uint32_t>& more) {
  std::vector<std::uint32_t> places;
  std::set_difference(more.begin(), more.end(), fewer.begin(), fewer.end(), std::back_inserter(places));
  return places;
}

std::size_t configurations_of(const ParameterTable& table, const Rows& rows) {
  return configurations(table, rows).size();
}

std::optional<Values> fixed_values(const ParameterTable& table, const Rows& few, const Rows& many) {
  const auto& lists = table.templates()[few.front()->template_number].lists;
  const std::vector<std::uint32_t>& fewer = lists[few.front()->list];
  const std::vector<std::uint32_t>& more = lists[many.front()->list];
  const std::vector<std::uint32_t> missing = lacking(fewer, more);
  const std::vector<std::uint64_t> wanted = configurations(table, few);
  std::vector<Match> matches;
  Values selected;
  for (const ParameterTable::Row* row : many) {
    select(more, table.values(*row), fewer, selected);
    const std::uint64_t shared = hash_of(selected);
    if (!std::binary_search(wanted.begin(), wanted.end(), shared)) continue;
    select(more, table.values(*row), missing, selected);
    matches.push_back({hash_of(selected), shared, row});
  }
  std::sort(matches.begin(), matches.end());
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
  std::optional<Values> only;
  for (auto first = matches.begin(); first != matches.end();) {
    const auto last =
        std::find_if(first, matches.end(), [&](const Match& match) { return match.others != first->others; });
    if (static_cast<std::size_t>(last - first) == wanted.size()) {
      if (only) return std::nullopt;
      select(more, table.values(*first->row), missing, selected);
      only = selected;
    }
    first = last;
  }
  return only;
}

}  // namespace tiletune
