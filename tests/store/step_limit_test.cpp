#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "store/integrity.h"

namespace tiletune {
namespace step_limit_test {

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 100000000) SELECT max(i) FROM n";

TEST(StepLimit, HoldsAgainAfterAnotherProgressHandler) {
  StepLimit limit;
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  limit.watch(database.getHandle());
  ::sqlite3_progress_handler(database.getHandle(), 0, nullptr, nullptr);
  limit.resume();
  limit.begin();
  EXPECT_EQ(database.tryExec(kEndless), SQLITE_INTERRUPT);
}

TEST(StepLimit, ResumingWatchesNothingThatWasNotWatched) {
  StepLimit limit;
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  limit.resume();
  EXPECT_EQ(database.tryExec("SELECT 1"), SQLITE_OK);
}

}  // namespace step_limit_test
}  // namespace tiletune
