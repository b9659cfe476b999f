#include "base/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "base/scratch_folder.h"

namespace tiletune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLimit = 100;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    fs::create_directory(scratch_.path() / "inside");
    write("outside.txt", "outside");
    write("inside/own.txt", "own");
    fs::create_symlink("own.txt", place("alias.txt"));
    fs::create_symlink("../outside.txt", place("leads_out.txt"));
    fs::create_symlink(scratch_.path() / "outside.txt", place("absolute.txt"));
    EXPECT_EQ(::mkfifo(place("pipe").c_str(), 0600), 0);
  }

  fs::path place(const std::string& name) const { return scratch_.path() / "inside" / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(scratch_.path() / name) << text;
  }
  std::string refusal(const Folder& folder, const std::string& name) const {
    try {
      return "read: " + folder.read(name, kLimit);
    } catch (const UserError& error) {
      EXPECT_EQ(error.where().file, (folder.path() / name).string());
      return error.message();
    }
  }

  ScratchFolder scratch_;
};

TEST_F(FolderTest, ReadsFilesAndLinksBeneath) {
  const Folder folder(scratch_.path() / "inside");
  EXPECT_EQ(folder.read("own.txt", kLimit), "own");
  EXPECT_EQ(folder.read("alias.txt", kLimit), "own");
  EXPECT_EQ(Folder(scratch_.path()).read("inside/leads_out.txt", kLimit), "outside");
}

TEST_F(FolderTest, RefusesWhatLeadsOut) {
  const Folder folder(scratch_.path() / "inside");
  const std::string out = "leads out of " + folder.path().string();
  EXPECT_EQ(refusal(folder, "leads_out.txt"), out);
  EXPECT_EQ(refusal(folder, "absolute.txt"), out);
  EXPECT_EQ(refusal(folder, "../outside.txt"), out);
}

TEST_F(FolderTest, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const Folder folder(scratch_.path() / "inside");
  EXPECT_EQ(refusal(folder, "pipe"), "this is not a regular file");
  EXPECT_EQ(refusal(folder, "."), "this is not a regular file");
  EXPECT_EQ(refusal(folder, "missing.txt"), "there is no such file");
}

TEST_F(FolderTest, RefusesWhatIsTooLarge) {
  write("inside/large.txt", std::string(kLimit + 1, 'x'));
  EXPECT_EQ(refusal(Folder(scratch_.path() / "inside"), "large.txt"), "is larger than 100 bytes");
}

TEST_F(FolderTest, StaysTheSameWhenItsPathIsReplaced) {
  const Folder folder(scratch_.path() / "inside");
  fs::rename(scratch_.path() / "inside", scratch_.path() / "moved");
  fs::create_directory(scratch_.path() / "inside");
  write("inside/own.txt", "another's");
  EXPECT_EQ(folder.read("own.txt", kLimit), "own");
}

TEST_F(FolderTest, OpensFoldersBeneath) {
  const Folder outer(scratch_.path());
  const std::optional<Folder> inside = outer.folder("inside");
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->path(), scratch_.path() / "inside");
  EXPECT_EQ(inside->read("own.txt", kLimit), "own");
  EXPECT_FALSE(outer.folder("missing"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(outer.folder("outside.txt"));
  EXPECT_EQ(errno, ENOTDIR);
  fs::create_symlink("..", place("out"));
  EXPECT_FALSE(inside->folder("out"));
  EXPECT_EQ(errno, EXDEV);
}

TEST_F(FolderTest, SaysWhyItCannotBeOpened) {
  EXPECT_THROW(Folder(scratch_.path() / "missing"), UserError);
  EXPECT_THROW(Folder(place("own.txt")), UserError);
}

}  // namespace
}  // namespace tiletune
