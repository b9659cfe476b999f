#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/folder.h"
#include "base/hash.h"
#include "base/text.h"
#include "tune/task.h"

namespace tiletune {

namespace {

constexpr std::size_t kMostModules = 1000;
constexpr std::uint64_t kMostModuleBytes = std::uint64_t{64} << 20;
/// Entries of folders that are looked at.
constexpr std::size_t kMostModuleEntries = 100000;

[[noreturn]] void refuse_modules(const std::filesystem::path& folder, const std::string& what,
                                 const Where& where) {
  throw UserError(
      fmt::format("there are more than {} in {}, which are part of the reference", what, folder.string()),
      where, "Put the function's file into a folder of its own, with the modules that it imports.");
}

/// Whether a file of Python imports nothing from it.
bool is_left_out(const std::filesystem::path& folder) {
  std::error_code error;
  const std::string name = folder.filename().string();
  return name.starts_with('.') || name == "__pycache__" ||
         std::filesystem::exists(folder / "pyvenv.cfg", error);
}

/// Relative to the folder, in order.
std::vector<std::filesystem::path> modules_in(const std::filesystem::path& folder, const Where& where) {
  std::vector<std::filesystem::path> modules;
  std::size_t entries = 0;
  std::error_code error;
  // Links to folders are not followed.
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk entry(folder, std::filesystem::directory_options::skip_permission_denied, error);
       !error && entry != Walk(); entry.increment(error)) {
    if (++entries > kMostModuleEntries) refuse_modules(folder, counted(kMostModuleEntries, "file"), where);
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (is_left_out(entry->path())) entry.disable_recursion_pending();
      continue;
    }
    if (entry->path().extension() == ".py") modules.push_back(entry->path().lexically_relative(folder));
    if (modules.size() > kMostModules) refuse_modules(folder, counted(kMostModules, "file") + " *.py", where);
  }
  std::sort(modules.begin(), modules.end());
  return modules;
}

}  // namespace

std::string ArrayHashes::hash_of(const Workload& workload) {
  Hasher hasher;
  bool has_files = false;
  for (const auto& buffer : workload.buffers) {
    for (const auto* file : {&buffer.file, &buffer.expected}) {
      if (!*file) continue;
      has_files = true;
      const auto count = static_cast<std::uint64_t>(buffer.values());
      hasher.add(buffer.name).add(of_file(**file, (*file)->offset + count * size_bytes((*file)->type)));
    }
  }
  return has_files ? hasher.hex() : "";
}

/// What lies behind the numbers is not read.
const std::string& ArrayHashes::of_file(const ArrayFile& file, std::uint64_t bytes) {
  const auto [entry, is_new] = by_file_.try_emplace({file.path, file.version, bytes});
  if (is_new) entry->second = hash_of_file(open_array(file), file.path, bytes);
  return entry->second;
}

std::string hash_of_python(const PythonReference& reference) {
  Hasher hasher;
  hasher.add(reference.function).add(hash_of_file(reference.source));
  const Folder folder(reference.source.parent_path(), Links::refuse);
  std::uint64_t bytes = 0;
  for (const auto& module : modules_in(folder.path(), reference.where)) {
    // What leads out of the folder, or is no file, cannot be imported either.
    const Descriptor file = folder.open(module);
    if (!file.is_open()) continue;
    std::error_code error;
    bytes += std::filesystem::file_size(folder.path() / module, error);
    if (error || bytes > kMostModuleBytes)
      refuse_modules(folder.path(), human_bytes(kMostModuleBytes) + " of files *.py", reference.where);
    hasher.add(module.string()).add(read_open_file(file, folder.path() / module, kMostModuleBytes));
  }
  return hasher.hex();
}

}  // namespace tiletune
