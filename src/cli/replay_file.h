#pragma once

#include <filesystem>
#include <string>

#include "base/scratch_folder.h"
#include "foreign/import.h"
#include "store/database.h"

namespace tiletune {

/// What --replay names, as a database: itself, or what import makes of another tool's file.
class ReplayFile {
 public:
  /// `facts` stand for what a file of another tool leaves out. Throws UserError.
  ReplayFile(const std::filesystem::path& file, const ImportFacts& facts, bool quiet);

  const Database& rows() const { return rows_; }
  /// "Kernel Tuner cache"; empty of a database.
  const std::string& format() const { return format_; }
  /// Whoever writes the file has not finished.
  bool unfinished() const { return unfinished_; }

 private:
  ScratchFolder folder_;
  Database rows_;
  std::string format_;
  bool unfinished_ = false;
};

}  // namespace tiletune
