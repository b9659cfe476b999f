#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "store/columns.h"

namespace tiletune {

/// PRAGMA application_id: "TLTN" in ASCII. It tells a tiletune database from any other SQLite file.
inline constexpr std::int64_t kApplicationId = 0x544C544E;

/// One text column of the sweep table; sweep.id is its integer key.
struct SweepColumn {
  const char* name;
  std::string SweepRecord::*member;
};
std::span<const SweepColumn> sweep_columns();

/// Tables, indices and views of an empty database, and its identity (application_id, user_version).
std::string schema_sql();
/// The part of it that databases of earlier builds lack: the table sweep_trial, filled, and what keeps it up
/// to date.
std::string membership_sql();
/// INSERT INTO trial ... ON CONFLICT(key): parameters are the columns in their order. A result that is there
/// is not given up for the mark that it is being measured again.
std::string upsert_sql();
std::string insert_sweep_sql();
/// "key, kind, ..." in the order of trial_columns().
std::string column_list();

}  // namespace tiletune
