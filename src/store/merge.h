#pragma once

#include <cstdint>
#include <filesystem>

#include "base/scratch_folder.h"
#include "store/database.h"

namespace tiletune {

/// What a database brought to another.
struct MergeSummary {
  std::int64_t rows = 0;  ///< it has
  std::int64_t new_rows = 0;
  std::int64_t replaced = 0;      ///< rows of keys that were there, with a later or more final result
  std::int64_t sweeps = 0;        ///< new ones
  std::int64_t calibrations = 0;  ///< new ones, and later ones of the same GPU and driver
};

/// A copy of a database, of this build's schema whatever the schema of the file. Only the copy is upgraded:
/// the file stays as it is. It is removed with this object.
class DatabaseCopy {
 public:
  /// `folder` has room for the copy. Throws UserError as Database does.
  DatabaseCopy(const std::filesystem::path& file, const std::filesystem::path& folder);

  const std::filesystem::path& original() const { return original_; }
  const std::filesystem::path& copy() const { return copy_; }

 private:
  std::filesystem::path original_;
  ScratchFolder folder_;
  std::filesystem::path copy_;
};

/// Brings all rows, sweeps and calibrations of `from` into `into`, in one transaction. Of two rows of one key
/// one counts (store/joining.h), and belongs to the sweeps of both. Sweeps get new numbers; one that is there
/// already is recognised by its start, its command, its host and its config.
MergeSummary merge(const DatabaseCopy& from, Database& into);

}  // namespace tiletune
