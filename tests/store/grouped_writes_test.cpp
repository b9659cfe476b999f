#include <gtest/gtest.h>

#include "sample_trial.h"
#include "store/row_batch.h"
#include "temporary_folder.h"

namespace tiletune {
namespace grouped_writes_test {

TEST(GroupedWrites, OthersSeeWhatWasCommittedAndTheRestIsLost) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Database::Mode::read_write);
  const Database reader(folder / "a.db", Database::Mode::read_only);
  {
    GroupedWrites writes(database);
    database.record(timed_trial("first", 10, 0));
    EXPECT_TRUE(database.find("first")) << "whoever writes sees it";
    EXPECT_FALSE(reader.find("first"));
    writes.commit();
    EXPECT_TRUE(reader.find("first"));
    database.record(timed_trial("second", 10, 0));
  }
  EXPECT_FALSE(database.find("second"));
  database.record(timed_trial("third", 10, 0));
  EXPECT_TRUE(reader.find("third")) << "each by itself again";
}

TEST(GroupedWrites, AScratchDatabaseTakesBackWhatWasNotCommitted) {
  const TemporaryFolder folder;
  Database database(folder / "scratch.db", Database::Mode::scratch);
  database.record(timed_trial("before", 10, 0));
  {
    GroupedWrites writes(database);
    for (int i = 0; i < 1000; ++i) database.record(timed_trial(std::to_string(i), 10, 0));
  }
  EXPECT_EQ(database.trials({}).size(), 1U);
}

}  // namespace grouped_writes_test
}  // namespace tiletune
