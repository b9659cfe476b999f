#pragma once

#include <filesystem>
#include <string>

#include "base/descriptor.h"
#include "base/folder.h"

namespace tiletune {

/// Makes a folder that nobody else can enter, and those above it that are missing, or checks one that is
/// there: what lies in it may be believed.
/// One of the user's own that others can write to is removed first, with all that lies in it, which may be
/// anybody's. The user's own symbolic link may take its place; what it leads to is never removed. Throws
/// UserError for a folder or a link of another user, a link to a folder that others can write to, and a file,
/// and when it cannot be made; on a full disk it is left out.
void make_private_folder(const std::filesystem::path& path);

/// Why make_private_folder() would refuse it, or that it is a link and those are refused; else empty. Changes
/// nothing.
std::string folder_distrust(const std::filesystem::path& path, Links links = Links::follow);

/// Whether what is open is a folder, the user's own, and closed to the writing of others.
bool is_private_folder(const Descriptor& folder);
/// Whether an open file is a regular one, the user's own, and closed to the writing of others.
bool is_private_file(const Descriptor& file);

}  // namespace tiletune
