#include "base/scratch_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <optional>

#include "base/error.h"

namespace tiletune {
namespace {

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
  EXPECT_EQ(
      message([&] { const ScratchFolder in_none(missing); }),
      missing.string() +
          ": no folder for temporary files can be made here: No such file or directory\n  Check that the "
          "folder is writable and the disk has room.");
  const char* before = ::getenv("TMPDIR");
  const std::optional<std::string> kept =
      before == nullptr ? std::nullopt : std::optional<std::string>(before);
  ::setenv("TMPDIR", missing.c_str(), 1);
  const std::string of_none = message([] { const ScratchFolder in_none; });
  kept ? ::setenv("TMPDIR", kept->c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_EQ(of_none.rfind("TMPDIR: the folder for temporary files cannot be used: ", 0), 0U) << of_none;
}

}  // namespace
}  // namespace tiletune
