#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/folder.h"
#include "carries.h"

namespace tiletune {
namespace scratch_folder_test {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithAllThatLiesInIt) {
  std::optional<ScratchFolder> folder(std::in_place);
  const fs::path path = folder->path();
  fs::create_directory(path / "deeper");
  std::ofstream(path / "deeper" / "file") << "content";
  ScratchFolder another(path);
  EXPECT_EQ(another.path().parent_path(), path);
  folder.reset();
  EXPECT_FALSE(fs::exists(path));
}

/// What a process that is killed leaves in `parent`.
fs::path killed_in(const fs::path& parent) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const ScratchFolder folder(parent);
    std::ofstream(folder.path() / "file") << "content";
    const std::string name = folder.path().string();
    const bool written = ::write(pipe[1], name.data(), name.size()) > 0;
    ::_exit(written ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::array<char, 4096> name{};
  EXPECT_GT(::read(pipe[0], name.data(), name.size() - 1), 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  return name.data();
}

TEST(ScratchFolder, WhatAKilledProcessLeavesIsRemovedByTheNext) {
  const ScratchFolder parent;
  const ScratchFolder in_use(parent.path());
  const fs::path left = killed_in(parent.path());
  EXPECT_TRUE(fs::exists(left / "file"));
  const ScratchFolder next(parent.path());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(in_use.path()));
}

TEST(ScratchFolder, WhatMerelyLooksLikeOneStays) {
  const ScratchFolder parent;
  const fs::path result = parent.path() / "tiletune_result";
  fs::create_directory(result);
  std::ofstream(result / "mine") << "content";
  const fs::path left = killed_in(parent.path());
  const fs::path kept = parent.path() / "kept";
  fs::rename(left, kept);
  const fs::path link = parent.path() / "tiletune_symbol";
  fs::create_symlink(kept, link);
  const fs::path others = killed_in(parent.path());
  std::ofstream(others / ".tiletune_scratch") << "another machine";
  const ScratchFolder next(parent.path());
  EXPECT_TRUE(fs::exists(result / "mine"));
  EXPECT_TRUE(fs::exists(kept / "file"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::exists(others / "file"));
}

TEST(ScratchFolder, OneThatOthersCanWriteOrOwnStays) {
  const ScratchFolder parent;
  const fs::path open = killed_in(parent.path());
  fs::permissions(open, fs::perms::others_write, fs::perm_options::add);
  { const ScratchFolder next(parent.path()); }
  EXPECT_TRUE(fs::exists(open / "file"));
  fs::permissions(open, fs::perms::others_write, fs::perm_options::remove);
  constexpr uid_t kSomebodyElse = 12345;
  if (::chown(open.c_str(), kSomebodyElse, kSomebodyElse) != 0) GTEST_SKIP() << "needs root";
  { const ScratchFolder next(parent.path()); }
  EXPECT_TRUE(fs::exists(open / "file")) << "its mark is ours, the folder is not";
}

TEST(ScratchFolder, LinksInOneThatIsRemovedAreNotFollowed) {
  const ScratchFolder parent;
  const fs::path left = killed_in(parent.path());
  fs::create_directory(parent.path() / "own");
  std::ofstream(parent.path() / "own" / "file") << "content";
  fs::create_directory_symlink(parent.path() / "own", left / "link");
  const ScratchFolder next(parent.path());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(parent.path() / "own" / "file"));
}

TEST(ScratchFolder, WhereNoneCanBeMadeTheMessageNamesThePlace) {
  const ScratchFolder folder;
  const fs::path missing = folder.path() / "missing";
  const auto message = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_TRUE(carries(message([&] { const ScratchFolder in_none(missing); }),
                      {missing.string(), "No such file or directory"}));
  const char* before = ::getenv("TMPDIR");
  const std::optional<std::string> kept =
      before == nullptr ? std::nullopt : std::optional<std::string>(before);
  ::setenv("TMPDIR", missing.c_str(), 1);
  const std::string of_none = message([] { const ScratchFolder in_none; });
  kept ? ::setenv("TMPDIR", kept->c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_TRUE(carries(of_none, {"TMPDIR:"}));
}

}  // namespace scratch_folder_test
}  // namespace tiletune
