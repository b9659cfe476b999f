#include "rank/databases.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace tiletune {

namespace {

/// SQLite numbers rows from 1; no table holds so many.
constexpr int kBitsOfRow = 48;

void check_id(std::int64_t id, const Database& database) {
  if (id >= 0 && id >> kBitsOfRow == 0) return;
  throw UserError(fmt::format("a row has the id {}, which tiletune never assigns", id),
                  Where{database.file().string(), ""},
                  "Write the rows to another database: tiletune merge FILE.db -o NEW.db");
}

struct BegunSweep {
  std::string started_at;
  std::size_t database;
  std::int64_t id;
};

std::vector<BegunSweep> in_order_of_time(const std::vector<const Database*>& databases) {
  std::vector<BegunSweep> begun;
  for (std::size_t i = 0; i < databases.size(); ++i) {
    for (const SweepRecord& sweep : databases[i]->sweeps()) begun.push_back({sweep.started_at, i, sweep.id});
  }
  std::sort(begun.begin(), begun.end(), [](const BegunSweep& a, const BegunSweep& b) {
    return std::tie(a.started_at, a.database, a.id) < std::tie(b.started_at, b.database, b.id);
  });
  return begun;
}

}  // namespace

Databases::Databases(std::vector<const Database*> databases)
    : databases_(std::move(databases)), sweep_numbers_(databases_.size()) {
  std::int64_t number = 0;
  for (const BegunSweep& sweep : in_order_of_time(databases_))
    sweep_numbers_[sweep.database].emplace(sweep.id, ++number);
}

void Databases::for_each(const TrialFilter& filter, std::span<const char* const> columns,
                         const std::function<void(std::int64_t, Trial&)>& visit) const {
  Trial own;
  for (std::size_t i = 0; i < databases_.size(); ++i) {
    const auto& numbers = sweep_numbers_[i];
    const auto number_of = [&](std::int64_t sweep) {
      const auto found = numbers.find(sweep);
      return found == numbers.end() ? sweep : found->second;
    };
    databases_[i]->for_each(filter, columns, [&](std::int64_t id, const Trial& trial) {
      check_id(id, *databases_[i]);
      own = trial;
      // One database keeps the numbers that people know its sweeps by.
      if (databases_.size() > 1) own.sweep_id = number_of(own.sweep_id);
      own.seen_in_sweep = number_of(own.seen_in_sweep);
      visit(static_cast<std::int64_t>(i) << kBitsOfRow | id, own);
    });
  }
}

Trial Databases::row(std::int64_t id) const {
  return databases_.at(index_of(id))->row(id & ((std::int64_t{1} << kBitsOfRow) - 1));
}

std::size_t Databases::index_of(std::int64_t id) { return static_cast<std::size_t>(id >> kBitsOfRow); }

}  // namespace tiletune
