#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/connection.h"
#include "store/database.h"
#include "store/integrity.h"

namespace tiletune {

/// A statement in use. Resetting it ends its read transaction; one left open would keep the WAL file growing.
class InUse {
 public:
  explicit InUse(SQLite::Statement& statement) : statement_(statement) {}
  ~InUse() { statement_.tryReset(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  SQLite::Statement* operator->() const { return &statement_; }
  SQLite::Statement& operator*() const { return statement_; }

 private:
  SQLite::Statement& statement_;
};

/// What the member functions of Database, which are defined in several files, have in common.
struct Database::Impl {
  Impl(const std::filesystem::path& path, Connection opened);

  /// The statement of this text, prepared once.
  InUse prepared(const std::string& sql);
  /// The rows that a SELECT of all columns gives, with these values bound.
  std::vector<Trial> rows(const std::string& sql, const std::vector<std::string>& values);
  /// The row, and that it belongs to its sweep; within a transaction.
  void upsert(const Trial& trial);
  /// Executes a statement with these values, in order, and returns how many rows it changed.
  int change(const char* sql, const std::vector<Cell>& values);
  /// Records that a sweep has used the rows that match a WHERE clause, to which `values` are bound.
  void mark_seen(const std::string& condition, const std::vector<Cell>& values, std::int64_t sweep_id);
  /// The values of a column, each once.
  std::vector<std::string> distinct(const char* column);
  /// earlier_sources() of the database as it is.
  std::string sources_before();
  /// Prepares "SELECT what FROM trial WHERE ... rest" with the filter's values bound.
  SQLite::Statement select(const std::string& what, const TrialFilter& filter, const char* rest,
                           const char* hint = "");
  /// Selects in order of insertion. An index would bring the rows in another order, and SQLite, which keeps
  /// no statistics of the table, would rather sort millions of them on disk than do without one.
  SQLite::Statement select_in_order(const std::string& what, const TrialFilter& filter);

  /// How a connection waits for others, however long it takes.
  struct Patience {
    std::function<void()> tell;
    std::function<bool(std::chrono::steady_clock::duration)> give_up;
    std::chrono::steady_clock::time_point since = {};  ///< this wait
    bool reported = false;                             ///< by tell(), in this wait
    bool gone = false;                                 ///< for good

    /// Asked again and again as long as a wait lasts; `is_new` at its beginning.
    bool lasts(bool is_new);
  };

  /// As long as it lives, the database is read at one state.
  struct OneState {
    explicit OneState(Impl& impl) : impl_(impl) { impl_.is_at_one_state = true; }
    ~OneState() {
      impl_.is_at_one_state = false;
      impl_.earlier.reset();
    }
    OneState(const OneState&) = delete;
    OneState& operator=(const OneState&) = delete;

   private:
    Impl& impl_;
  };

  std::filesystem::path file;
  StepLimit limit;                        ///< the connection's progress handler refers to it
  Patience patience;                      ///< the connection's busy handler refers to it
  std::unique_ptr<ScratchFolder> folder;  ///< of Connection
  SQLite::Database connection;
  FileWatch watch;
  std::unordered_map<std::string, SQLite::Statement> statements;
  std::string skipped;                 ///< ids of skip_bad_rows() as a JSON list; empty: none
  SourceNow source_now;                ///< of use_present_sources(), if it was called
  bool is_at_one_state = false;        ///< a OneState lives
  std::optional<std::string> earlier;  ///< earlier_sources() of that state, once it was asked for
};

}  // namespace tiletune
