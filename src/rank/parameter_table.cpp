#include "rank/parameter_table.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "rank/parameters.h"

namespace tiletune {

namespace {

/// Of "M\nN\n".
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();
  return lines;
}

std::uint32_t place_of(const std::vector<std::string>& sorted, const std::string& name) {
  return static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), name) - sorted.begin());
}

}  // namespace

ParameterTable::ParameterTable(const std::vector<Side>& sides, const ReadParameters& read) {
  std::map<std::string, std::map<std::string, std::size_t>> by_template;
  for (const Side& side : sides) {
    for (const auto& [kernel, lists] : side.parameter_lists) {
      for (const auto& [list, use] : lists) by_template[kernel][list] += use.rows;
    }
  }
  std::vector<std::string> names;
  for (const auto& [kernel, lists] : by_template) {
    if (lists.size() < 2) continue;
    names.push_back(kernel);
    note_template(kernel, lists);
  }
  if (names.empty()) return;
  read(names, [&](std::int64_t id, const Trial& trial) { add(id, trial); });
}

void ParameterTable::note_template(const std::string& kernel,
                                   const std::map<std::string, std::size_t>& lists) {
  ListedParameters listed{kernel, {}, {}};
  std::set<std::string> parameters;
  std::size_t rows = 0;
  std::size_t values = 0;
  for (const auto& [list, count] : lists) {
    const std::vector<std::string> names = lines_of(list);
    parameters.insert(names.begin(), names.end());
    rows += count;
    values += count * names.size();
  }
  listed.parameters.assign(parameters.begin(), parameters.end());
  std::unordered_map<std::string, Order>& orders = orders_.emplace_back();
  for (const auto& entry : lists) {
    Order order;
    std::set<std::uint32_t> sorted;
    for (const std::string& name : lines_of(entry.first)) {
      order.places.push_back(place_of(listed.parameters, name));
      sorted.insert(order.places.back());
    }
    const std::vector<std::uint32_t> list(sorted.begin(), sorted.end());
    for (std::uint32_t& place : order.places)
      place = static_cast<std::uint32_t>(std::lower_bound(list.begin(), list.end(), place) - list.begin());
    const auto known = std::find(listed.lists.begin(), listed.lists.end(), list);
    order.list = static_cast<std::uint32_t>(known - listed.lists.begin());
    if (known == listed.lists.end()) listed.lists.push_back(list);
    orders.emplace(entry.first, std::move(order));
  }
  numbers_.emplace(kernel, static_cast<std::uint32_t>(templates_.size()));
  templates_.push_back(std::move(listed));
  rows_.reserve(rows_.capacity() + rows);
  values_.reserve(values_.capacity() + values);
}

void ParameterTable::add(std::int64_t id, const Trial& trial) {
  const auto number = numbers_.find(trial.template_name);
  if (number == numbers_.end()) return;
  scratch_.clear();
  append_member_names(trial.parameters, scratch_);
  const auto found = orders_[number->second].find(scratch_);
  if (found == orders_[number->second].end()) return;  // of a side that is not compared
  const Order& order = found->second;
  const std::size_t first = values_.size();
  rows_.push_back({id, number->second, order.list, first});
  values_.resize(first + templates_[number->second].lists[order.list].size());
  std::size_t i = 0;
  std::string canonical;
  for_each_member(trial.parameters, [&](std::string_view /*name*/, std::string_view value) {
    values_[first + order.places[i++]] = checksum64(canonical_value(value, canonical));
  });
}

const ParameterTable::Row* ParameterTable::find(std::int64_t id) const {
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), id,
                                      [](const Row& row, std::int64_t wanted) { return row.id < wanted; });
  return found != rows_.end() && found->id == id ? &*found : nullptr;
}

std::span<const std::uint64_t> ParameterTable::values(const Row& row) const {
  return std::span(values_).subspan(row.first_value, templates_[row.template_number].lists[row.list].size());
}

}  // namespace tiletune
