#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>

namespace tiletune {

/// Ends statements (SQLITE_INTERRUPT) that take more steps than reading the whole file could: pages that
/// refer to each other give a small file rows without end, which only checking all of it would find.
class StepLimit {
 public:
  /// Watches the statements of a connection, as its progress handler. This object must outlive it.
  void watch(sqlite3* connection);
  /// After another progress handler has taken its place: watches again what it watched, if anything.
  void resume();
  /// A statement begins.
  void begin() { steps_ = 0; }

 private:
  bool is_exceeded();

  sqlite3* connection_ = nullptr;
  std::filesystem::path file_;
  std::uint64_t steps_ = 0;
};

}  // namespace tiletune
