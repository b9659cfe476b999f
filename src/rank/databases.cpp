#include "rank/databases.h"

#include <fmt/format.h>

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

}  // namespace

void Databases::for_each(const TrialFilter& filter, std::span<const char* const> columns,
                         const std::function<void(std::int64_t, Trial&)>& visit) const {
  Trial own;
  for (std::size_t i = 0; i < databases_.size(); ++i) {
    databases_[i]->for_each(filter, columns, [&](std::int64_t id, const Trial& trial) {
      check_id(id, *databases_[i]);
      own = trial;
      // One database keeps the numbers that people know its sweeps by.
      if (databases_.size() > 1) own.sweep_id = order_(own.sweep_id, i);
      own.seen_in_sweep = order_(own.seen_in_sweep, i);
      visit(static_cast<std::int64_t>(i) << kBitsOfRow | id, own);
    });
  }
}

Trial Databases::row(std::int64_t id) const {
  return databases_.at(index_of(id))->row(id & ((std::int64_t{1} << kBitsOfRow) - 1));
}

std::size_t Databases::index_of(std::int64_t id) { return static_cast<std::size_t>(id >> kBitsOfRow); }

}  // namespace tiletune
