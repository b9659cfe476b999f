#pragma once

#include <filesystem>
#include <string>

#include "base/descriptor.h"

namespace tiletune {

/// Makes a folder that nobody else can enter, and those above it that are missing, or checks one that is
/// there: what lies in it may be believed.
/// One of the user's own that others can write to is removed first, with all that lies in it, which may be
/// anybody's. Throws UserError for the folder of another user, a symbolic link or a file, and when it cannot
/// be made; on a full disk it is left out.
void make_private_folder(const std::filesystem::path& path);

/// Why make_private_folder() would refuse it; empty when it would not. Changes nothing.
std::string folder_distrust(const std::filesystem::path& path);

/// Whether an open file is a regular one, the user's own, and closed to the writing of others.
bool is_private_file(const Descriptor& file);

}  // namespace tiletune
