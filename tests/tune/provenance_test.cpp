#include "tune/provenance.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/file.h"

namespace tiletune {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'a');

class GitCommit : public testing::Test {
 protected:
  GitCommit() {
    std::string name = (fs::temp_directory_path() / "tiletune_git_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directories(folder_ / "deep" / "er");
  }
  ~GitCommit() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(GitCommit, FollowsABranchFromAFolderBelow) {
  write_file_atomically(folder_ / ".git/HEAD", "ref: refs/heads/main\n");
  write_file_atomically(folder_ / ".git/refs/heads/main", kCommit + "\n");
  EXPECT_EQ(git_commit(folder_ / "deep" / "er"), kCommit);
}

TEST_F(GitCommit, ReadsPackedRefsAndDetachedHeads) {
  write_file_atomically(folder_ / ".git/HEAD", "ref: refs/heads/main\n");
  write_file_atomically(folder_ / ".git/packed-refs", "# pack-refs\n" + kCommit + " refs/heads/main\n");
  EXPECT_EQ(git_commit(folder_), kCommit);
  write_file_atomically(folder_ / ".git/HEAD", kCommit + "\n");
  EXPECT_EQ(git_commit(folder_), kCommit);
}

TEST_F(GitCommit, FindsTheSharedRefsOfAWorktree) {
  write_file_atomically(folder_ / "repo/.git/refs/heads/side", kCommit + "\n");
  write_file_atomically(folder_ / "repo/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
  write_file_atomically(folder_ / "repo/.git/worktrees/w/commondir", "../..\n");
  write_file_atomically(folder_ / "tree/.git", "gitdir: ../repo/.git/worktrees/w\n");
  EXPECT_EQ(git_commit(folder_ / "tree"), kCommit);
}

TEST_F(GitCommit, IsEmptyWithoutARepository) { EXPECT_EQ(git_commit(folder_ / "deep"), ""); }

TEST(Provenance, TimeIsUtcInIsoFormat) {
  const std::string now = utc_now();
  ASSERT_EQ(now.size(), 20U) << now;
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

}  // namespace
}  // namespace tiletune
