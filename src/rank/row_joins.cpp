#include "rank/row_joins.h"

#include <algorithm>

#include "base/hash.h"
#include "rank/fixed_values.h"

namespace tiletune {

namespace {

/// Those of some lists that have all of a list and more, the longest first.
std::vector<std::uint32_t> longer_lists(const ListedParameters& parameters, std::uint32_t list,
                                        const std::map<std::uint32_t, ListedRows::Rows>& lists) {
  const std::vector<std::uint32_t>& fewer = parameters.lists[list];
  std::vector<std::uint32_t> longer;
  for (const auto& entry : lists) {
    const std::vector<std::uint32_t>& more = parameters.lists[entry.first];
    if (more.size() > fewer.size() && std::includes(more.begin(), more.end(), fewer.begin(), fewer.end()))
      longer.push_back(entry.first);
  }
  std::stable_sort(longer.begin(), longer.end(), [&](std::uint32_t a, std::uint32_t b) {
    return parameters.lists[a].size() > parameters.lists[b].size();
  });
  return longer;
}

}  // namespace

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

struct RowJoins::Task {
  std::uint32_t template_number = 0;
  /// By side that has rows of the template, their lists.
  std::map<std::size_t, const std::map<std::uint32_t, ListedRows::Rows>*> sides;
  /// The same with completed rows under the list that they then have.
  std::map<std::size_t, std::set<std::uint32_t>> lists;
  Join join;
  JoinedTemplate shown;

  /// Lists that every side has.
  std::set<std::uint32_t> lists_of_all() const {
    std::set<std::uint32_t> shared = lists.begin()->second;
    for (const auto& entry : lists) {
      std::erase_if(shared, [&](std::uint32_t list) { return !entry.second.contains(list); });
    }
    return shared;
  }
};

RowJoins::RowJoins(const ParameterTable& table, const ListedRows& listed, std::vector<std::size_t> sides)
    : table_(table), sides_(std::move(sides)) {
  for (std::uint32_t i = 0; i < table_.templates().size(); ++i) join(i, listed);
}

void RowJoins::join(std::uint32_t template_number, const ListedRows& listed) {
  Task task;
  task.template_number = template_number;
  task.shown.name = table_.templates()[template_number].name;
  std::set<std::uint32_t> all;
  for (const std::size_t side : sides_) {
    const auto& lists = listed.of(side, template_number);
    if (lists.empty()) continue;
    task.sides.emplace(side, &lists);
    task.shown.sides.push_back(side);
    for (const auto& entry : lists) {
      task.lists[side].insert(entry.first);
      all.insert(entry.first);
    }
  }
  if (task.sides.size() < 2 || all.size() < 2) return;
  complete(task);
  if (task.lists_of_all().empty()) {
    join_by_common(task);
  } else {
    note_lists_of_all(task);
  }
  const bool is_plain = task.join.completions.empty() && !task.join.common;
  if (!is_plain) joins_.emplace(template_number, std::move(task.join));
  if (!is_plain || task.shown.apart > 0) joined_.push_back(std::move(task.shown));
}

void RowJoins::complete(Task& task) const {
  const std::set<std::uint32_t> shared = task.lists_of_all();
  std::map<std::uint32_t, ListedRows::Rows> all;
  for (const auto& [side, lists] : task.sides) {
    for (const auto& [list, rows] : *lists) all[list].insert(all[list].end(), rows.begin(), rows.end());
  }
  for (const auto& [side, lists] : task.sides) {
    for (const auto& [list, rows] : *lists) {
      if (!shared.contains(list)) complete(task, side, rows, all);
    }
  }
}

void RowJoins::complete(Task& task, std::size_t side, const ListedRows::Rows& rows,
                        const std::map<std::uint32_t, ListedRows::Rows>& all) const {
  const ListedParameters& parameters = table_.templates()[task.template_number];
  const std::uint32_t list = rows.front()->list;
  const std::vector<std::uint32_t>& fewer = parameters.lists[list];
  for (const std::uint32_t longer : longer_lists(parameters, list, all)) {
    const auto values = fixed_values(table_, rows, all.at(longer));
    if (!values) continue;
    Values& completion = task.join.completions[{side, list}];
    CompletedRows completed{side, {}, configurations_of(table_, rows)};
    for (const std::uint32_t place : lacking(fewer, parameters.lists[longer])) {
      const std::uint64_t value = (*values)[completion.size()];
      completed.values.emplace(parameters.parameters[place], table_.text(value));
      completion.emplace_back(place, value);
    }
    task.shown.completed.push_back(std::move(completed));
    task.lists[side].erase(list);
    task.lists[side].insert(longer);
    return;
  }
}

void RowJoins::note_lists_of_all(Task& task) const {
  const ListedParameters& parameters = table_.templates()[task.template_number];
  const std::set<std::uint32_t> shared = task.lists_of_all();
  for (const std::uint32_t list : shared) {
    for (const std::uint32_t place : parameters.lists[list])
      task.shown.by.insert(parameters.parameters[place]);
  }
  for (const auto& [side, lists] : task.sides) {
    for (const auto& [list, rows] : *lists) {
      if (!shared.contains(list) && !task.join.completions.contains({side, list}))
        task.shown.apart += rows.size();
    }
  }
}

/// Not where nothing is in common: all rows would be one configuration.
void RowJoins::join_by_common(Task& task) const {
  const ListedParameters& parameters = table_.templates()[task.template_number];
  std::map<std::uint32_t, std::size_t> uses;
  std::size_t count = 0;
  for (const auto& [side, lists] : task.sides) {
    for (const auto& entry : *lists) {
      ++count;
      for (const std::uint32_t place : parameters.lists[entry.first]) ++uses[place];
    }
  }
  task.join.completions.clear();
  task.shown.completed.clear();
  std::set<std::uint32_t> common;
  for (const auto& [place, times] : uses) {
    if (times == count) common.insert(place);
    (times == count ? task.shown.by : task.shown.ignored).insert(parameters.parameters[place]);
  }
  if (!common.empty()) task.join.common = std::move(common);
}

Identity RowJoins::of(std::size_t side, const RankingRow& row) const {
  const ParameterTable::Row* listed = table_.find(row.id);
  if (listed == nullptr) return row.identity;
  const std::vector<std::uint32_t>& list = table_.templates()[listed->template_number].lists[listed->list];
  const auto values = table_.values(*listed);
  Values own;
  own.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) own.emplace_back(list[i], values[i]);
  const auto join = joins_.find(listed->template_number);
  if (join != joins_.end() && join->second.common) {
    std::erase_if(own, [&](const auto& value) { return !join->second.common->contains(value.first); });
  } else if (join != joins_.end()) {
    const auto completion = join->second.completions.find({side, listed->list});
    if (completion != join->second.completions.end())
      own.insert(own.end(), completion->second.begin(), completion->second.end());
  }
  std::sort(own.begin(), own.end());
  std::vector<std::uint64_t> words{listed->template_number};
  words.reserve(1 + 2 * own.size());
  for (const auto& [place, value] : own) {
    words.push_back(place);
    words.push_back(value);
  }
  return checksum128({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words.front())});
}

}  // namespace tiletune
