#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "spec/reader.h"

namespace tiletune {

/// The folder of a file, absolute, with symbolic links resolved.
std::filesystem::path folder_of(const std::filesystem::path& file);

/// The file that `node` names relative to `folder` (which is canonical), absolute and with symbolic links
/// resolved. Throws UserError when there is no such file, or when it lies outside `folder` and that is not
/// allowed.
std::filesystem::path resolve_file(const JsonNode& node, const std::filesystem::path& folder,
                                   bool allow_outside);
/// Resolves a name in which every "{NAME}" was replaced by the value of a dimension.
std::filesystem::path resolve_file(const FileName& file, const std::string& text);

/// Resolves the name of a folder as resolve_file() does that of a file.
std::filesystem::path resolve_folder(const JsonNode& node, const std::filesystem::path& folder,
                                     bool allow_outside);

/// Names of the files of a folder that end in `extension` (any when empty), sorted; none when it cannot be
/// read.
std::vector<std::string> file_names(const std::filesystem::path& folder, const std::string& extension = {});

inline constexpr const char* kManifestName = "template.json";

inline constexpr const char* kOperationName = "operation.json";

/// The template's folder: the first <folder>/<name> with a manifest. Throws UserError with the nearest
/// template's name, or when symbolic links lead out of <folder> and that is not allowed.
Folder find_template(const std::string& name, const std::vector<std::filesystem::path>& folders,
                     bool allow_outside, const Where& where);

/// The operation's folder: the first <folder>/operations/<name> with an operation.json. Throws UserError like
/// find_template().
Folder find_operation(const std::string& name, const std::vector<std::filesystem::path>& folders,
                      bool allow_outside, const Where& where);

/// Names of the operations in a folder of templates, sorted.
std::vector<std::string> operation_names(const std::filesystem::path& folder);

}  // namespace tiletune
