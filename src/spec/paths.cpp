#include "spec/paths.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/file.h"
#include "base/text.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// Folders with a file of one name, which describes what they are named after.
struct Kind {
  const char* noun;
  fs::path place;  ///< beneath the folders that are searched
  const char* file;
};

std::vector<std::string> names_in(const Kind& kind, const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / kind.place, error))
      if (fs::exists(entry.path() / kind.file, error)) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Folder find(const Kind& kind, const std::string& name, const std::vector<fs::path>& folders,
            bool allow_outside, const Where& where) {
  const fs::path place = kind.place / name;
  std::vector<std::string> looked_in;
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (!fs::exists(folder / place / kind.file, error)) {
      looked_in.push_back(folder.string());
      continue;
    }
    const fs::path shown = folder / place;
    if (allow_outside) return Folder(shown);
    if (std::optional<Folder> found = Folder(folder).folder(place)) return std::move(*found);
    if (errno == EXDEV)
      throw UserError(fmt::format("{} leads out of {}", shown.string(), folder.string()), where,
                      "Copy the template's folder there, or pass --allow-outside-paths.");
    throw UserError(fmt::format("{} cannot be opened: {}", shown.string(), std::strerror(errno)), where,
                    "Check the path and the permissions of the folder.");
  }
  throw UserError(fmt::format("there is no {} '{}'", kind.noun, name), where,
                  fmt::format("Looked for {} in {}.{}", (place / kind.file).string(), join(looked_in, ", "),
                              suggestion(name, names_in(kind, folders))));
}

/// Whether or not anything lies there. `remedy` is for what lies outside.
fs::path resolve(const FileName& file, const std::string& text, const char* remedy) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(file.folder / text, error);
  if (error) {
    throw UserError(fmt::format("'{}' cannot be resolved: {}", text, error.message()), file.where,
                    "Check its permissions and symbolic links.");
  }
  if (!file.may_leave && !is_within(path, file.folder))
    throw UserError(fmt::format("'{}' leaves the folder {}", text, file.folder.string()), file.where, remedy);
  return path;
}

}  // namespace

fs::path folder_of(const fs::path& file) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(fs::absolute(file).parent_path(), error);
  if (!error) return canonical;
  throw UserError("the folder cannot be resolved: " + error.message(), Where{file.string(), ""},
                  "Check its permissions and symbolic links.");
}

fs::path resolve_folder(const JsonNode& node, const fs::path& folder, bool allow_outside) {
  const std::string text = read_string(node, "a folder's path");
  fs::path path = resolve({text, folder, allow_outside, node.where}, text,
                          "Name it on the command line with --include, or pass --allow-outside-paths.");
  std::error_code error;
  if (fs::is_directory(path, error)) return path;
  throw UserError(fmt::format("there is no folder '{}'", text), node.where,
                  fmt::format("Create {} or correct the name.", path.string()));
}

fs::path resolve_file(const JsonNode& node, const fs::path& folder, bool allow_outside) {
  const std::string text = read_string(node, "a file's path");
  return resolve_file({text, folder, allow_outside, node.where}, text);
}

fs::path resolve_file(const FileName& file, const std::string& text) {
  fs::path path = resolve(file, text, "Put the file into that folder, or pass --allow-outside-paths.");
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  if (fs::exists(path, error))
    throw UserError(fmt::format("'{}' is not a file", text), file.where, "Name the file itself.");
  const auto known = file_names(path.parent_path(), path.extension().string());
  throw UserError(fmt::format("the file '{}' does not exist", text), file.where,
                  fmt::format("Create {} or correct the name.{}", path.string(),
                              suggestion(path.filename().string(), known)));
}

std::vector<std::string> file_names(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!extension.empty() && entry.path().extension() != extension) continue;
    if (entry.is_regular_file(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Folder find_template(const std::string& name, const std::vector<fs::path>& folders, bool allow_outside,
                     const Where& where) {
  return find({"template", "", kManifestName}, name, folders, allow_outside, where);
}

std::vector<std::string> operation_names(const fs::path& folder) {
  return names_in({"operation", "operations", kOperationName}, {folder});
}

Folder find_operation(const std::string& name, const std::vector<fs::path>& folders, bool allow_outside,
                      const Where& where) {
  return find({"operation", "operations", kOperationName}, name, folders, allow_outside, where);
}

}  // namespace tiletune
