#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/system.h"
#include "sample_trial.h"
#include "store/database.h"
#include "temporary_folder.h"

namespace tiletune::network_file_system_test {

namespace fs = std::filesystem;
using Mode = Database::Mode;

bool run(const std::string& command) {
  return WEXITSTATUS(std::system((command + " 2>/dev/null").c_str())) == 0;
}

/// A folder on a file system whose files are not the kernel's own, as those of other machines are not.
class NetworkFileSystem : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(there_);
    fs::create_directory(mounted_);
    is_mounted_ = run("bindfs " + there_.string() + " " + mounted_.string());
    if (!is_mounted_) GTEST_SKIP() << "bindfs is not there, or may not mount";
  }
  void TearDown() override {
    if (is_mounted_) run("fusermount -u " + mounted_.string() + " || umount " + mounted_.string());
  }

  std::string journal_mode(const fs::path& file) {
    SQLite::Database database(file, SQLite::OPEN_READONLY);
    return database.execAndGet("PRAGMA journal_mode").getString();
  }

  TemporaryFolder folder_;
  fs::path there_ = folder_ / "there";
  fs::path mounted_ = folder_ / "mounted";
  fs::path file_ = mounted_ / "a.db";
  bool is_mounted_ = false;
};

TEST(NetworkFileSystemName, IsThatOfTheType) {
  EXPECT_EQ(network_file_system(0x6969UL), "nfs");
  EXPECT_EQ(network_file_system(0xFF534D42UL), "cifs");
  EXPECT_EQ(network_file_system(0x0BD00BD0UL), "lustre");
  EXPECT_EQ(network_file_system(0xEF53UL), "") << "ext4";
  EXPECT_EQ(network_file_system(0x01021994UL), "") << "tmpfs";
}

TEST(NetworkFileSystemName, OfAFileThatIsNotThereIsItsFoldersOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(network_file_system(folder / "none/of/these"), network_file_system(folder.path()));
}

TEST_F(NetworkFileSystem, IsRecognised) {
  EXPECT_EQ(network_file_system(file_), "fuse");
  EXPECT_EQ(network_file_system(mounted_ / "not/there.db"), "fuse");
}

TEST_F(NetworkFileSystem, DatabasesAreWrittenWithoutALogThatMachinesWouldShare) {
  {
    Database database(file_, Mode::read_write);
    database.record(timed_trial("a", 1, 0));
    EXPECT_FALSE(fs::exists(file_.string() + "-shm"));
    EXPECT_FALSE(fs::exists(file_.string() + "-wal"));
    Database reader(file_, Mode::read_only);
    EXPECT_EQ(reader.trials({}).size(), 1U) << "while it is being written";
    database.record(timed_trial("b", 2, 0));
    EXPECT_EQ(reader.trials({}).size(), 2U);
  }
  EXPECT_NE(journal_mode(file_), "wal");
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 2U);
}

TEST_F(NetworkFileSystem, ADatabaseThatWasCopiedThereIsReadAsItIsAndWrittenWithoutALog) {
  const fs::path local = folder_ / "local.db";
  Database(local, Mode::read_write).record(timed_trial("a", 1, 0));
  ASSERT_EQ(journal_mode(local), "wal");
  fs::copy_file(local, file_);
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 1U);
  EXPECT_FALSE(fs::exists(file_.string() + "-shm"));
  Database(file_, Mode::read_write).record(timed_trial("b", 2, 0));
  EXPECT_NE(journal_mode(file_), "wal");
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 2U);
}

}  // namespace tiletune::network_file_system_test
