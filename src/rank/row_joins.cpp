#include "rank/row_joins.h"

#include "base/hash.h"

namespace tiletune {

ListedRows::ListedRows(const ParameterTable& table, const std::vector<const ComparableRows*>& sides)
    : by_side_(sides.size()) {
  if (table.templates().empty()) return;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    if (sides[side] == nullptr) continue;
    for (const auto& rows : {sides[side]->kernels, sides[side]->failed}) {
      for (const RankingRow& row : rows) {
        const ParameterTable::Row* listed = table.find(row.id);
        if (listed != nullptr) by_side_[side][listed->template_number][listed->list].push_back(listed);
      }
    }
  }
}

const std::map<std::uint32_t, ListedRows::Rows>& ListedRows::of(std::size_t side,
                                                                std::uint32_t template_number) const {
  static const std::map<std::uint32_t, Rows> nothing;
  const auto found = by_side_[side].find(template_number);
  return found == by_side_[side].end() ? nothing : found->second;
}

RowJoins::RowJoins(const ParameterTable& table, const ListedRows& listed, std::vector<std::size_t> sides)
    : table_(table), sides_(std::move(sides)) {
  for (std::uint32_t i = 0; i < table_.templates().size(); ++i) join(i, listed);
}

void RowJoins::join(std::uint32_t template_number, const ListedRows& listed) {
  Lists lists;
  std::map<std::uint32_t, std::size_t> sides_with;
  for (const std::size_t side : sides_) {
    const auto& of_side = listed.of(side, template_number);
    if (of_side.empty()) continue;
    lists.emplace(side, &of_side);
    for (const auto& entry : of_side) ++sides_with[entry.first];
  }
  if (lists.size() < 2 || sides_with.size() < 2) return;
  std::set<std::uint32_t> shared;
  for (const auto& [list, sides] : sides_with) {
    if (sides == lists.size()) shared.insert(list);
  }
  JoinedTemplate joined = shared.empty()
                              ? by_common_parameters(template_number, lists)
                              : by_shared_lists(table_.templates()[template_number], lists, shared);
  joined.name = table_.templates()[template_number].name;
  for (const auto& entry : lists) joined.sides.push_back(entry.first);
  if (shared.empty() || joined.apart > 0) joined_.push_back(std::move(joined));
}

JoinedTemplate RowJoins::by_shared_lists(const ListedParameters& parameters, const Lists& lists,
                                         const std::set<std::uint32_t>& shared) const {
  JoinedTemplate joined;
  for (const std::uint32_t list : shared) {
    for (const std::uint32_t place : parameters.lists[list]) joined.by.insert(parameters.parameters[place]);
  }
  for (const auto& entry : lists) {
    for (const auto& [list, rows] : *entry.second) joined.apart += shared.contains(list) ? 0 : rows.size();
  }
  return joined;
}

/// Not where nothing is in common: all rows would be one configuration.
JoinedTemplate RowJoins::by_common_parameters(std::uint32_t template_number, const Lists& lists) {
  const ListedParameters& parameters = table_.templates()[template_number];
  /// By parameter, and by side, how many lists have it.
  std::map<std::uint32_t, std::map<std::size_t, std::size_t>> uses;
  for (const auto& [side, of_side] : lists) {
    for (const auto& entry : *of_side) {
      for (const std::uint32_t place : parameters.lists[entry.first]) ++uses[place][side];
    }
  }
  JoinedTemplate joined;
  std::set<std::uint32_t> common;
  for (auto& [place, by_side] : uses) {
    bool is_common = true;
    for (const auto& [side, of_side] : lists) {
      if (by_side[side] == of_side->size()) continue;
      is_common = false;
      joined.left_out[side].insert(parameters.parameters[place]);
    }
    if (!is_common) continue;
    common.insert(place);
    joined.by.insert(parameters.parameters[place]);
  }
  if (!common.empty()) common_.emplace(template_number, std::move(common));
  return joined;
}

Identity RowJoins::of(const RankingRow& row) const {
  const ParameterTable::Row* listed = table_.find(row.id);
  if (listed == nullptr) return row.identity;
  const std::vector<std::uint32_t>& list = table_.templates()[listed->template_number].lists[listed->list];
  const auto values = table_.values(*listed);
  const auto common = common_.find(listed->template_number);
  std::vector<std::uint64_t> words{listed->template_number};
  words.reserve(1 + 2 * list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (common != common_.end() && !common->second.contains(list[i])) continue;
    words.push_back(list[i]);
    words.push_back(values[i]);
  }
  return checksum128({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words.front())});
}

}  // namespace tiletune
