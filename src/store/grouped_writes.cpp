#include "store/grouped_writes.h"

#include <optional>

#include "store/connection.h"
#include "store/database_impl.h"

namespace tiletune {

struct GroupedWrites::State {
  std::filesystem::path file;
  SQLite::Database& connection;
  std::optional<SQLite::Transaction> transaction;
};

GroupedWrites::GroupedWrites(Database& database)
    : state_(new State{database.file(), database.impl_->connection, std::nullopt}) {
  database.impl_->watch.check();
  translating_errors(state_->file, [&] {
    state_->transaction.emplace(state_->connection, SQLite::TransactionBehavior::IMMEDIATE);
  });
}

GroupedWrites::~GroupedWrites() = default;

void GroupedWrites::commit() {
  translating_errors(state_->file, [&] {
    state_->transaction->commit();
    state_->transaction.emplace(state_->connection, SQLite::TransactionBehavior::IMMEDIATE);
  });
}

}  // namespace tiletune
