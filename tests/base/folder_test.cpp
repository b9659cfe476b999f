#include "base/folder.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "carries.h"

namespace tiletune {
namespace folder_test {

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

/// From here on this process's calls of openat2 fail.
void lose_openat2(int error) {
  sock_filter code[]{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{4, code};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(1);
}

/// What `action` returns in a process of its own.
std::string said_apart(const std::function<std::string()>& action) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = action();
    ::_exit(::write(ends[1], said.data(), said.size()) < 0);
  }
  ::close(ends[1]);
  const std::string said = read_open_file(Descriptor(ends[0]), "said", 10000);
  ::waitpid(child, nullptr, 0);
  return said;
}

TEST_F(FolderTest, ASystemWithoutOpenat2IsNamed) {
  const Folder folder(scratch_.path() / "inside");
  for (const int error : {ENOSYS, EPERM}) {
    const auto open = [&]() -> std::string {
      lose_openat2(error);
      try {
        const Folder again(scratch_.path());
        return "opened";
      } catch (const UserError& refused) {
        return refused.message() + ". " + refused.remedy();
      }
    };
    const auto read = [&] {
      lose_openat2(error);
      return refusal(folder, "own.txt");
    };
    EXPECT_TRUE(carries(said_apart(open), {"openat2()", "5.6"}));
    EXPECT_TRUE(carries(said_apart(read), {"openat2()"}));
  }
}

TEST_F(FolderTest, NamesThatChangeWithoutEndAreGivenUp) {
  const Folder folder(scratch_.path() / "inside");
  const auto read = [&] {
    lose_openat2(EAGAIN);
    return refusal(folder, "own.txt");
  };
  EXPECT_TRUE(carries(said_apart(read), {"Resource temporarily unavailable"}));
}

TEST_F(FolderTest, ASystemWithoutProcIsNamed) {
  const Folder folder(scratch_.path() / "inside");
  const auto read = [&]() -> std::string {
    if (::chroot(scratch_.path().c_str()) != 0) return "no rights";
    return refusal(folder, "own.txt");
  };
  const std::string said = said_apart(read);
  if (said == "no rights") GTEST_SKIP() << "needs root";
  EXPECT_TRUE(carries(said, {"/proc"}));
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
  EXPECT_TRUE(carries(refusal(folder, "pipe"), {"regular file"}));
  EXPECT_TRUE(carries(refusal(folder, "."), {"regular file"}));
  EXPECT_TRUE(carries(refusal(folder, "missing.txt"), {"no such"}));
}

TEST_F(FolderTest, RefusesWhatIsTooLarge) {
  write("inside/large.txt", std::string(kLimit + 1, 'x'));
  EXPECT_TRUE(carries(refusal(Folder(scratch_.path() / "inside"), "large.txt"), {"100 bytes"}));
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

}  // namespace folder_test
}  // namespace tiletune
