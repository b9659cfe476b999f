#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/folder.h"
#include "base/stop.h"
#include "store/database.h"

namespace tiletune {

/// What a database brought to another.
struct MergeSummary {
  std::int64_t rows = 0;  ///< it has
  std::int64_t new_rows = 0;
  std::int64_t replaced = 0;      ///< rows of keys that were there, with a later or more final result
  std::int64_t sweeps = 0;        ///< new ones
  std::int64_t calibrations = 0;  ///< new ones, and later ones of the same GPU and driver
  std::size_t skipped = 0;        ///< rows that cannot be read, and were left out of the copy
};

/// A copy of a database, of this build's schema whatever the schema of the file. Only the copy is upgraded:
/// the file stays as it is. It is sound (store/integrity.h), and is removed with this object.
class DatabaseCopy {
 public:
  /// The copy lies in `folder`. Throws UserError as Database does, and Stopped once `stop` says so. Rows that
  /// cannot be read (Database::bad_rows()) are an error, or left out if `skip_bad`.
  DatabaseCopy(const std::filesystem::path& file, const std::filesystem::path& folder,
               const Stop& stop = never_stop, bool skip_bad = false);

  const std::filesystem::path& original() const { return original_; }
  const std::filesystem::path& copy() const { return copy_; }
  std::size_t skipped() const { return skipped_; }

 private:
  std::filesystem::path original_;
  ScratchFolder folder_;
  std::filesystem::path copy_;
  std::size_t skipped_ = 0;
};

/// Brings all rows, sweeps and calibrations of `from` into `into`, in one transaction, which also counts the
/// rows and checks that `into` is sound. Of two rows of one key one counts (weight_sql() in store/merge.cpp),
/// and belongs to the sweeps of both. Sweeps get new numbers; one that is there already is recognised by its
/// start, its command, its host and its config. Throws Stopped once `stop` says so.
MergeSummary merge(const DatabaseCopy& from, Database& into, const Stop& stop = never_stop);

/// All rows of a database.
std::int64_t row_count(const Database& database);

/// A database that is made of others beside its place, and is put there when it is whole.
class MergedDatabase {
 public:
  /// Nothing lies in the place, nor beside it what a database that was there has left, which SQLite would
  /// take for the new one's.
  static bool is_free(const std::filesystem::path& place);

  /// The place must be free. Throws UserError when the folder cannot be written.
  explicit MergedDatabase(const std::filesystem::path& file);

  /// As merge(). Errors are about the place, or about the copy's original.
  MergeSummary add(const DatabaseCopy& from, const Stop& stop = never_stop);
  std::int64_t rows();
  /// Nothing can be added any more. Throws UserError when another file has taken the place meanwhile.
  void put_in_place();

 private:
  /// Nobody knows the file beside the place by name.
  template <typename Action>
  auto about_place(Action&& action);

  std::filesystem::path place_;
  ScratchFolder folder_;
  std::filesystem::path file_;
  std::optional<Database> database_;
};

}  // namespace tiletune
