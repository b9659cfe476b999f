#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/database.h"

namespace tiletune {

/// What the person says of a file, where it does not say it itself.
struct ImportFacts {
  std::string gpu;  ///< replaces what the file says, which is often another machine's name, or "x86_64"
  std::string problem;
  std::string kernel;
  std::string time_unit;
  bool skip_bad = false;        ///< rows that cannot be read are left out
  bool recorded_again = false;  ///< other times than the database has are a later recording of the same GPU
  bool replayed = false;        ///< they are those of a config that is replayed, which has fewer options
};

/// How many different names of each kind are kept: a set of this size may be incomplete.
inline constexpr std::size_t kMostDistinct = 1000;

/// What was found in a file.
struct ImportSummary {
  std::filesystem::path file;
  std::string format;  ///< "Kernel Tuner cache"
  std::set<std::string> gpus;
  std::set<std::string> kernels;
  std::set<std::string> problems;
  std::vector<std::string> parameters;  ///< of any row of a kernel, as they first come
  std::string first_recorded_at;        ///< empty where no row says when
  std::string last_recorded_at;
  std::uint64_t rows = 0;
  std::uint64_t new_rows = 0;    ///< that the database had not
  std::uint64_t known_rows = 0;  ///< that it had
  std::uint64_t repeats = 0;     ///< of the rows: of a configuration that the file had already
  bool is_fastest_kept = false;  ///< of the rows of such a configuration; otherwise the last
  std::uint64_t profiled = 0;    ///< launches under a profiler, which are left out
  std::uint64_t bad_rows = 0;    ///< left out, because they cannot be read
  std::string first_bad;         ///< place and fault of the first of them
  bool unfinished = false;       ///< its closing braces were missing
  bool lost_row = false;         ///< and the rest of its last row, which was left out
  std::map<Outcome, std::int64_t> outcomes;
  std::map<std::pair<Outcome, std::string>, std::int64_t> reasons;  ///< of rows that are not ok
};

/// Whether a problem is known by its sizes, as in "4096x4096" or "1000x77 lda=80", and not by a name.
bool is_sizes(const std::string& problem);

/// Puts the rows of another tool's file into the database, all in one transaction: a file that cannot be
/// read to its end leaves nothing behind. A row's key follows from what it says, so that a row that is there
/// already stays as it is, whichever file it comes from. `progress` gets the number of rows from time to
/// time. Throws UserError with the place in the file, also for a configuration that has another time in the
/// database or in the file, unless it was recorded again: a second GPU under the name of the first would
/// replace its rows. Of a tool that repeats configurations the fastest row of the file counts.
ImportSummary import_file(Database& database, const std::filesystem::path& file, const ImportFacts& facts,
                          const std::function<void(std::uint64_t rows)>& progress);

}  // namespace tiletune
