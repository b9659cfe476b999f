#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/stop.h"
#include "store/columns.h"
#include "store/trial.h"

namespace tiletune {

class DatabaseCopy;
struct MergeSummary;

/// A problem with what rows state of its options and types.
struct StatedProblem {
  std::string problem;
  std::string options = {};
  std::string element_types = {};
  bool operator==(const StatedProblem&) const = default;
};

/// Whether the kernel of a row was edited since: earlier_sources() in store/filter.h.
enum class SourceAge { any, newest, earlier };
/// Returns the source_hash that rows of a template would have now; empty where that is not known.
using SourceNow = std::function<std::string(const std::string& template_name)>;

/// Which rows. Empty members do not filter; several values of one member are alternatives.
struct TrialFilter {
  std::vector<std::string> gpus = {};       ///< whole names, or some of a name's words: matching_gpus()
  std::vector<std::string> templates = {};  ///< whole names; does not exclude baselines
  std::vector<std::string> problems = {};
  std::vector<StatedProblem> stated_problems = {};  ///< alternatives to `problems`
  std::vector<Outcome> outcomes = {};
  std::vector<Source> sources = {};
  std::vector<std::string> kinds = {};
  std::optional<std::int64_t> sweep_id = {};
  bool baselines = true;  ///< include rows of kind "baseline"
  SourceAge source_age = SourceAge::any;
};

/// Another program has been writing the database for longer than is waited for.
class DatabaseLocked : public UserError {
 public:
  using UserError::UserError;
};

/// The results database: one SQLite file in WAL mode, readable with plain SQL (tables `trial`, `sweep`,
/// `sweep_trial`, `calibration`; views `ranking`, `best`). Every write is committed when the call returns and
/// survives the end of this process, kill -9 included. For one thread; other processes may read and write the
/// same file meanwhile. Every member function throws UserError when the file turns out to be damaged or full,
/// and DatabaseLocked when it is locked for longer than the constructor's `busy_timeout` (but see
/// wait_for_others()).
class Database {
 public:
  enum class Mode {
    read_only,
    read_write,
    scratch  ///< as read_write, for a new file that is gone with this process: nothing is kept safe
  };

  /// Opens, and in read_write mode creates, the file and its folder. A database of an earlier schema is
  /// upgraded in one transaction; in read_only mode that is done to a copy, and so is rolling back what a
  /// killed writer left. Throws UserError: not found, not an SQLite file, not tiletune's tables
  /// (store/integrity.h), written by a newer tiletune (schema number in the message), not writable, locked.
  Database(const std::filesystem::path& file, Mode mode,
           std::chrono::milliseconds busy_timeout = std::chrono::seconds(10));
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  /// From now on what other programs write is waited for however long it takes, instead of for
  /// `busy_timeout`: for rows that cannot be had again for nothing. `tell` hears of a wait once it has taken
  /// a second; from then on `give_up` is asked, with how long it has taken, and once it is true this and
  /// every later call that would have to wait throws DatabaseLocked. Both are called within the write and
  /// may not use this object.
  void wait_for_others(std::function<void()> tell,
                       std::function<bool(std::chrono::steady_clock::duration waited)> give_up);

  /// Removes the file when it holds nothing and no other program has it open: for one that was made for rows
  /// that did not come. Nothing else may be called any more.
  void remove_if_empty();

  /// Inserts and returns the new id. Throws UserError when it is a shard, and the file has another shard's
  /// sweep.
  std::int64_t begin_sweep(const SweepRecord& sweep);
  /// Throws std::out_of_range when there is no such sweep.
  void end_sweep(std::int64_t id, const std::string& finished_at);
  /// Sets the operation_hash of a template's rows that have none, except imported ones; without a template,
  /// that of baselines.
  void adopt(const std::string& operation, const std::string& kernel_template,
             const std::string& operation_hash);
  /// Notes that a row is the best choice of a sweep (Trial::chosen_at).
  void choose(std::int64_t row, const std::string& when);
  std::vector<SweepRecord> sweeps() const;

  /// Inserts the row or replaces the one of this key, which keeps its place in the order of insertion. A
  /// sweep_id other than 0 must be one that begin_sweep() returned.
  void record(const Trial& trial);
  /// Records many rows in one transaction.
  void record_all(const std::vector<Trial>& trials);
  /// Notes that a sweep has used the row of this key as it is.
  void mark_seen(const std::string& key, std::int64_t sweep_id);
  /// Notes that a sweep has used the baseline that a row of a kernel was compared with: same problem,
  /// conditions, GPU and policy.
  void mark_baseline_seen(const Trial& kernel, std::int64_t sweep_id);
  /// The row of a key.
  std::optional<Trial> find(const std::string& key) const;

  /// Rows of kernels that were compiled from a source of this key, whatever its included files were: one for
  /// each of their states and results.
  std::vector<Trial> find_source(const std::string& source_key) const;
  /// The row with this measurement that shares no other's.
  std::optional<Trial> find_measurement(const std::string& measurement) const;
  /// The rows that share the measurement of a row.
  std::vector<Trial> sharers_of(const Trial& row) const;

  /// Inserts what was measured of a GPU itself, or replaces what is there for this GPU and driver.
  void record_calibration(const CalibrationRecord& calibration);
  std::vector<CalibrationRecord> calibrations() const;
  std::optional<CalibrationRecord> calibration(const std::string& gpu_uuid,
                                               const std::string& driver_version) const;

  /// Rows in order of insertion.
  std::vector<Trial> trials(const TrialFilter& filter) const;
  /// Visits the rows one at a time; stops when `visit` returns false. `visit` sees one state of the database
  /// and must not write to it.
  void for_each(const TrialFilter& filter, const std::function<bool(const Trial&)>& visit) const;
  /// Visits the rows with their ids and only some columns read: other members of the rows have no meaning.
  void for_each(const TrialFilter& filter, std::span<const char* const> columns,
                const std::function<void(std::int64_t id, const Trial&)>& visit) const;
  /// The whole rows with the sweeps that made or reused each.
  void for_each_with_sweeps(const TrialFilter& filter, const std::function<void(const Trial&)>& visit) const;
  /// The ids of rows with a cell that cannot be read: the functions that read them throw UserError, which
  /// names the row, its sweep and the file. Throws Stopped once `stop` says so.
  std::vector<std::int64_t> bad_rows(const Stop& stop = never_stop) const;
  /// From now on, the functions that take a filter leave out the rows that bad_rows() finds. Returns how many
  /// these are.
  std::size_t skip_bad_rows();
  /// The row of an id that for_each() gave.
  Trial row(std::int64_t id) const;
  /// One cell of it.
  Cell cell(std::int64_t id, const Column& column) const;
  /// All that `read` reads is of one state of the database, whatever others write meanwhile.
  void at_one_state(const std::function<void()>& read) const;
  /// From now on, rows count of the source that a template has now, if there are any.
  void use_present_sources(SourceNow source_now);
  /// The templates that have a source now, and rows of other ones alone.
  std::vector<std::string> edited_templates() const;
  /// How many rows a filter leaves out because they are not of the newest source.
  std::uint64_t rows_hidden_by(TrialFilter filter) const;
  /// Row counts per outcome, in the order of the enumeration; outcomes without rows are left out.
  std::vector<std::pair<Outcome, std::int64_t>> outcome_counts(const TrialFilter& filter) const;

  /// The distinct values of a text column over all rows: "problem", "gpu", or "template", whose values
  /// include all libraries.
  std::vector<std::string> distinct(const char* column) const;
  /// Every problem with its options and types; reads all rows.
  std::vector<StatedProblem> stated_problems() const;

  const std::filesystem::path& file() const;

 private:
  friend class RowBatch;
  friend class GroupedWrites;
  friend class MergedDatabase;
  friend MergeSummary merge(const DatabaseCopy& from, Database& into, const Stop& stop);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The schema this build reads and writes (PRAGMA user_version).
inline constexpr int kSchemaVersion = 17;

}  // namespace tiletune
