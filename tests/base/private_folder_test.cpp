#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/folder.h"
#include "carries.h"

namespace tiletune {
namespace private_folder_test {

namespace fs = std::filesystem;

constexpr uid_t kSomebodyElse = 12345;

class PrivateFolder : public testing::Test {
 protected:
  fs::path place(const std::string& name) const { return scratch_.path() / name; }

  std::string refusal(const fs::path& path) const {
    try {
      make_private_folder(path);
      return "none";
    } catch (const UserError& error) {
      EXPECT_EQ(error.where().file, path.string());
      return error.message();
    }
  }

  static mode_t permissions(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777U;
  }

  ScratchFolder scratch_;
};

TEST_F(PrivateFolder, IsMadeClosedWhateverTheUmask) {
  const mode_t before = ::umask(0);
  make_private_folder(place("deep/cache"));
  ::umask(before);
  EXPECT_EQ(permissions(place("deep/cache")), 0700U);
}

TEST_F(PrivateFolder, KeepsOneThatOthersCanOnlyRead) {
  make_private_folder(place("cache"));
  std::ofstream(place("cache/file")) << "content";
  ASSERT_EQ(::chmod(place("cache").c_str(), 0755), 0);
  make_private_folder(place("cache"));
  EXPECT_TRUE(fs::exists(place("cache/file")));
  EXPECT_EQ(permissions(place("cache")), 0755U);
}

TEST_F(PrivateFolder, ReplacesOneThatOthersCanWrite) {
  for (const mode_t open : {0775U, 0707U, 01777U}) {
    make_private_folder(place("cache"));
    std::ofstream(place("cache/planted")) << "content";
    ASSERT_EQ(::chmod(place("cache").c_str(), open), 0);
    make_private_folder(place("cache"));
    EXPECT_FALSE(fs::exists(place("cache/planted")));
    EXPECT_EQ(permissions(place("cache")), 0700U);
  }
}

TEST_F(PrivateFolder, FollowsTheUsersOwnLink) {
  make_private_folder(place("folder"));
  std::ofstream(place("folder/file")) << "content";
  fs::create_directory_symlink(place("folder"), place("link"));
  EXPECT_EQ(refusal(place("link")), "none");
  EXPECT_TRUE(fs::is_symlink(place("link")));
  EXPECT_TRUE(fs::exists(place("link/file")));
  EXPECT_TRUE(carries(folder_distrust(place("link"), Links::refuse), {"symbolic link"}));
}

TEST_F(PrivateFolder, RefusesALinkToWhatCannotBeBelieved) {
  fs::create_directory_symlink(place("folder"), place("link"));
  EXPECT_TRUE(carries(refusal(place("link")), {"symbolic link", "No such file or directory"}));
  make_private_folder(place("folder"));
  std::ofstream(place("folder/file")) << "content";
  ASSERT_EQ(::chmod(place("folder").c_str(), 0770), 0);
  EXPECT_TRUE(carries(refusal(place("link")), {"others", "symbolic link"}));
  EXPECT_TRUE(fs::exists(place("folder/file"))) << "it may have another purpose";
  fs::create_symlink(place("folder/file"), place("to_file"));
  EXPECT_TRUE(carries(refusal(place("to_file")), {"not a folder"}));
}

TEST_F(PrivateFolder, RefusesTheLinkOfAnotherUserAndALinkToTheFolderOfOne) {
  make_private_folder(place("folder"));
  fs::create_directory_symlink(place("folder"), place("link"));
  if (::lchown(place("link").c_str(), kSomebodyElse, kSomebodyElse) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(carries(refusal(place("link")), {"symbolic link", "12345", "(0)"}));
  ASSERT_EQ(::lchown(place("link").c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(place("folder").c_str(), kSomebodyElse, kSomebodyElse), 0);
  EXPECT_TRUE(carries(refusal(place("link")), {"folder", "12345", "(0)"}));
}

TEST_F(PrivateFolder, RefusesFiles) {
  std::ofstream(place("file")) << "content";
  EXPECT_TRUE(carries(refusal(place("file")), {"not a folder"}));
  EXPECT_TRUE(carries(refusal(place("file/cache")), {"Not a directory"}));
}

TEST_F(PrivateFolder, RefusesTheFolderOfAnotherUser) {
  make_private_folder(place("cache"));
  if (::chown(place("cache").c_str(), kSomebodyElse, kSomebodyElse) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(carries(refusal(place("cache")), {"folder", "12345", "(0)"}));
}

TEST_F(PrivateFolder, AFileIsPrivateWhenNobodyElseOwnsItOrCanWriteToIt) {
  const auto is_private = [&] {
    return is_private_file(Descriptor(::open(place("file").c_str(), O_RDONLY | O_CLOEXEC)));
  };
  EXPECT_FALSE(is_private());
  std::ofstream(place("file")) << "content";
  for (const auto& [mode, expected] :
       {std::pair(0600U, true), {0644U, true}, {0664U, false}, {0602U, false}}) {
    ASSERT_EQ(::chmod(place("file").c_str(), mode), 0);
    EXPECT_EQ(is_private(), expected) << mode;
  }
  EXPECT_FALSE(is_private_file(Descriptor(::open(scratch_.path().c_str(), O_RDONLY | O_CLOEXEC))));
  ASSERT_EQ(::chmod(place("file").c_str(), 0600), 0);
  if (::chown(place("file").c_str(), kSomebodyElse, kSomebodyElse) != 0) GTEST_SKIP() << "needs root";
  EXPECT_FALSE(is_private());
}

}  // namespace private_folder_test
}  // namespace tiletune
