#include "tune/provenance.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "temporary_folder.h"

namespace tiletune {
namespace provenance_test {

namespace fs = std::filesystem;

const std::string kCommit(40, 'a');

class GitCommit : public testing::Test {
 protected:
  GitCommit() { fs::create_directories(folder_ / "deep" / "er"); }

  TemporaryFolder folder_;
};

TEST_F(GitCommit, FollowsABranchFromAFolderBelow) {
  write_file_atomically(folder_ / ".git/HEAD", "ref: refs/heads/main\n");
  write_file_atomically(folder_ / ".git/refs/heads/main", kCommit + "\n");
  EXPECT_EQ(git_commit(folder_ / "deep" / "er"), kCommit);
}

TEST_F(GitCommit, ReadsPackedRefsAndDetachedHeads) {
  write_file_atomically(folder_ / ".git/HEAD", "ref: refs/heads/main\n");
  write_file_atomically(folder_ / ".git/packed-refs", "# pack-refs\n" + kCommit + " refs/heads/main\n");
  EXPECT_EQ(git_commit(folder_.path()), kCommit);
  write_file_atomically(folder_ / ".git/HEAD", kCommit + "\n");
  EXPECT_EQ(git_commit(folder_.path()), kCommit);
}

TEST_F(GitCommit, FindsTheSharedRefsOfAWorktree) {
  write_file_atomically(folder_ / "repo/.git/refs/heads/side", kCommit + "\n");
  write_file_atomically(folder_ / "repo/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
  write_file_atomically(folder_ / "repo/.git/worktrees/w/commondir", "../..\n");
  write_file_atomically(folder_ / "tree/.git", "gitdir: ../repo/.git/worktrees/w\n");
  for (const std::string& link :
       std::vector<std::string>{"../../../../tree/.git\n", (folder_ / "tree/.git").string() + "\n"}) {
    write_file_atomically(folder_ / "repo/.git/worktrees/w/gitdir", link);
    EXPECT_EQ(git_commit(folder_ / "tree"), kCommit) << link;
  }
}

TEST_F(GitCommit, AWorktreeThatTheRepositoryDoesNotListHasNone) {
  write_file_atomically(folder_ / "repo/.git/worktrees/w/HEAD", kCommit + "\n");
  write_file_atomically(folder_ / "tree/.git", "gitdir: ../repo/.git/worktrees/w\n");
  EXPECT_EQ(git_commit(folder_ / "tree"), "");
  write_file_atomically(folder_ / "repo/.git/worktrees/w/gitdir", "/another/tree/.git\n");
  EXPECT_EQ(git_commit(folder_ / "tree"), "");
  write_file_atomically(folder_ / "tree/.git", "gitdir: ../repo/.git\n");
  EXPECT_EQ(git_commit(folder_ / "tree"), "");
}

TEST_F(GitCommit, BelievesOnlyNamesOfObjects) {
  write_file_atomically(folder_ / ".git/refs/heads/main", "not a commit\n");
  for (const std::string& head :
       {std::string("ref: refs/heads/main"), std::string("secret"), kCommit + kCommit, kCommit.substr(1),
        "A" + kCommit.substr(1), std::string(5000, 'a')}) {
    write_file_atomically(folder_ / ".git/HEAD", head + "\n");
    EXPECT_EQ(git_commit(folder_.path()), "") << head;
  }
  const std::string sha256(64, 'b');
  write_file_atomically(folder_ / ".git/HEAD", sha256 + "\n");
  EXPECT_EQ(git_commit(folder_.path()), sha256);
}

TEST_F(GitCommit, FollowsRefsOfGitsOwnFormOnly) {
  write_file_atomically(folder_ / "outside", kCommit + "\n");
  write_file_atomically(folder_ / ".git/heads", kCommit + "\n");
  write_file_atomically(folder_ / ".git/refs/.hidden", kCommit + "\n");
  write_file_atomically(folder_ / ".git/refs/a.lock", kCommit + "\n");
  write_file_atomically(folder_ / ".git/refs/a b", kCommit + "\n");
  for (const std::string& ref :
       std::vector<std::string>{"../outside", "refs/../../outside", (folder_ / "outside").c_str(), "heads",
                                "refs/../heads", "refs//heads", "refs/.hidden", "refs/a.lock", "refs/a b"}) {
    write_file_atomically(folder_ / ".git/HEAD", "ref: " + ref + "\n");
    EXPECT_EQ(git_commit(folder_.path()), "") << ref;
  }
}

TEST_F(GitCommit, StaysInsideTheRepository) {
  write_file_atomically(folder_ / "outside", kCommit + "\n");
  fs::create_directories(folder_ / ".git/refs");
  fs::create_symlink("../outside", folder_ / ".git/HEAD");
  EXPECT_EQ(git_commit(folder_.path()), "");
  fs::remove(folder_ / ".git/HEAD");
  fs::create_symlink("../../outside", folder_ / ".git/refs/main");
  write_file_atomically(folder_ / ".git/HEAD", "ref: refs/main\n");
  EXPECT_EQ(git_commit(folder_.path()), "");
  fs::create_directory(folder_ / "checkout");
  fs::create_symlink(folder_ / ".git", folder_ / "checkout/.git");
  write_file_atomically(folder_ / ".git/HEAD", kCommit + "\n");
  EXPECT_EQ(git_commit(folder_ / "checkout"), "");
}

TEST_F(GitCommit, NeitherWaitsForPipesNorReadsDevices) {
  fs::create_directory(folder_ / ".git");
  ASSERT_EQ(::mkfifo((folder_ / ".git/HEAD").c_str(), 0600), 0);
  EXPECT_EQ(git_commit(folder_.path()), "");
  fs::remove(folder_ / ".git/HEAD");
  fs::create_symlink("/dev/zero", folder_ / ".git/HEAD");
  EXPECT_EQ(git_commit(folder_.path()), "");
  ASSERT_EQ(::mkfifo((folder_ / "deep/.git").c_str(), 0600), 0);
  EXPECT_EQ(git_commit(folder_ / "deep"), "");
}

TEST_F(GitCommit, IsEmptyWithoutARepository) { EXPECT_EQ(git_commit(folder_ / "deep"), ""); }

TEST(Provenance, TimeIsUtcInIsoFormat) {
  const std::string now = utc_now();
  ASSERT_EQ(now.size(), 20U) << now;
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

}  // namespace provenance_test
}  // namespace tiletune
