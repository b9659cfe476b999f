#include "base/scratch_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

fs::path folder_for_temporary_files() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder;
  throw UserError(fmt::format("the folder for temporary files cannot be used: {}", error.message()),
                  Where{"TMPDIR", ""}, "Set it to a folder that can be written.");
}

}  // namespace

ScratchFolder::ScratchFolder() : ScratchFolder(folder_for_temporary_files()) {}

ScratchFolder::ScratchFolder(const fs::path& parent) {
  std::string pattern = (fs::absolute(parent) / "tiletune_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw UserError(fmt::format("no folder for temporary files can be made here: {}", std::strerror(errno)),
                    Where{parent.string(), ""}, "Check that the folder is writable and the disk has room.");
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tiletune
