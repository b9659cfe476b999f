#include "cli/scratch_folder.h"

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace tiletune {

ScratchFolder::ScratchFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "tiletune-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    throw UserError("no folder for temporary files can be made", Where{path, ""},
                    "Set TMPDIR to a folder that can be written.");
  }
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tiletune
