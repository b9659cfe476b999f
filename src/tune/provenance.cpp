#include "tune/provenance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/hash.h"
#include "base/text.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestRecord = 4096;  ///< HEAD, a ref, what leads to a worktree
constexpr std::size_t kLargestPackedRefs = std::size_t{64} << 20;
constexpr std::string_view kSymbolic = "ref: ";

/// The file's text without surrounding space; empty when it cannot be read as a file of git's.
std::string text_of(const Folder& folder, const fs::path& name, std::size_t limit_bytes = kLongestRecord) {
  try {
    return std::string(trim(folder.read(name, limit_bytes)));
  } catch (const UserError&) {
    return "";
  }
}

/// The text when it is the name of an object (SHA-1 or SHA-256), else nothing.
std::string object_name(std::string_view text) {
  constexpr std::size_t kSha1Digits = 40;
  constexpr std::size_t kSha256Digits = 64;
  const bool is_name = (text.size() == kSha1Digits || text.size() == kSha256Digits) &&
                       text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_name ? std::string(text) : "";
}

/// One component of a ref's name, by the rules of `git check-ref-format`.
bool is_ref_component(const std::string& text) {
  const auto is_allowed = [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7f' &&
           std::string_view("~^:?*[\\").find(c) == std::string_view::npos;
  };
  return !text.empty() && text.front() != '.' && text.back() != '.' && !text.ends_with(".lock") &&
         text.find("..") == std::string::npos && text.find("@{") == std::string::npos &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

std::string packed_ref(const Folder& git, const std::string& ref) {
  const std::string wanted = " " + ref;
  const std::string text = text_of(git, "packed-refs", kLargestPackedRefs);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.ends_with(wanted)) continue;
    line.remove_suffix(wanted.size());
    return object_name(line);
  }
  return "";
}

std::string commit_of_head(const Folder& git, const fs::path& head_name) {
  const std::string head = text_of(git, head_name);
  if (!head.starts_with(kSymbolic)) return object_name(head);
  const std::string ref = head.substr(kSymbolic.size());
  const std::vector<std::string> components = split(ref, '/');
  if (components.size() < 2 || components.front() != "refs" ||
      !std::all_of(components.begin(), components.end(), is_ref_component))
    return "";
  const std::string commit = object_name(text_of(git, ref));
  return commit.empty() ? packed_ref(git, ref) : commit;
}

/// The .git of a worktree is a file, "gitdir: REPOSITORY/.git/worktrees/NAME". It is somebody's claim, which
/// counts only where that folder in turn names this very worktree: then whoever owns the repository agrees.
std::string commit_of_worktree(const Folder& place) {
  constexpr std::string_view kPrefix = "gitdir: ";
  const std::string claim = text_of(place, ".git");
  if (!claim.starts_with(kPrefix)) return "";
  std::error_code error;
  const fs::path git_folder = fs::canonical(place.path() / claim.substr(kPrefix.size()), error);
  const fs::path worktrees = git_folder.parent_path();
  if (error || worktrees.filename() != "worktrees") return "";
  const Folder git(worktrees.parent_path());
  const fs::path own = worktrees.filename() / git_folder.filename();
  const fs::path link = fs::weakly_canonical(git_folder / text_of(git, own / "gitdir"), error);
  if (error || link != fs::canonical(place.path(), error) / ".git") return "";
  return commit_of_head(git, own / "HEAD");
}

constexpr std::size_t kMostModules = 1000;
constexpr std::uint64_t kMostModuleBytes = std::uint64_t{64} << 20;
/// Entries of folders that are looked at.
constexpr std::size_t kMostModuleEntries = 100000;

[[noreturn]] void refuse_modules(const fs::path& folder, const std::string& what, const Where& where) {
  throw UserError(
      fmt::format("there are more than {} in {}, which are part of the reference", what, folder.string()),
      where, "Put the function's file into a folder of its own, with the modules that it imports.");
}

/// Whether a file of Python imports nothing from it.
bool is_left_out(const fs::path& folder) {
  std::error_code error;
  const std::string name = folder.filename().string();
  return name.starts_with('.') || name == "__pycache__" || fs::exists(folder / "pyvenv.cfg", error);
}

/// Relative to the folder, in order.
std::vector<fs::path> modules_in(const fs::path& folder, const Where& where) {
  std::vector<fs::path> modules;
  std::size_t entries = 0;
  std::error_code error;
  // Links to folders are not followed.
  using Walk = fs::recursive_directory_iterator;
  for (Walk entry(folder, fs::directory_options::skip_permission_denied, error); !error && entry != Walk();
       entry.increment(error)) {
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

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string git_commit(const fs::path& folder) {
  std::error_code error;
  for (fs::path place = fs::absolute(folder, error); !error; place = place.parent_path()) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(place / ".git", ignored))) {
      try {
        const Folder checkout(place);
        const std::optional<Folder> git = checkout.folder(".git");
        return git ? commit_of_head(*git, "HEAD") : commit_of_worktree(checkout);
      } catch (const UserError&) {
        return "";
      }
    }
    if (place == place.parent_path()) break;
  }
  return "";
}

std::string ArrayHashes::hash_of(const Workload& workload) {
  Hasher hasher;
  bool has_files = false;
  for (const auto& buffer : workload.buffers) {
    for (const auto* file : {&buffer.file, &buffer.expected}) {
      if (!*file) continue;
      has_files = true;
      const auto count = static_cast<std::uint64_t>(buffer.values());
      // What lies behind the numbers is not read.
      const std::uint64_t bytes = (*file)->offset + count * size_bytes((*file)->type);
      std::string& hash = by_file_[{(*file)->path, (*file)->version, bytes}];
      if (hash.empty()) hash = hash_of_file(open_array(**file), (*file)->path, bytes);
      hasher.add(buffer.name).add(hash);
    }
  }
  return has_files ? hasher.hex() : "";
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
    bytes += fs::file_size(folder.path() / module, error);
    if (error || bytes > kMostModuleBytes)
      refuse_modules(folder.path(), human_bytes(kMostModuleBytes) + " of files *.py", reference.where);
    hasher.add(module.string()).add(read_open_file(file, folder.path() / module, kMostModuleBytes));
  }
  return hasher.hex();
}

}  // namespace tiletune
