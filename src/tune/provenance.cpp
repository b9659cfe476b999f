#include "tune/provenance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
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

bool is_ref(const std::string& text) {
  const std::vector<std::string> components = split(text, '/');
  return components.size() > 1 && components.front() == "refs" &&
         std::all_of(components.begin(), components.end(), is_ref_component);
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
  if (!is_ref(ref)) return "";
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

std::string commit_of_checkout(const Folder& place) {
  const std::optional<Folder> git = place.folder(".git");
  return git ? commit_of_head(*git, "HEAD") : commit_of_worktree(place);
}

}  // namespace

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string git_commit(const fs::path& folder) {
  std::error_code error;
  for (fs::path place = fs::absolute(folder, error); !error; place = place.parent_path()) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(place / ".git", ignored))) {
      try {
        return commit_of_checkout(Folder(place));
      } catch (const UserError&) {
        return "";
      }
    }
    if (place == place.parent_path()) break;
  }
  return "";
}

}  // namespace tiletune
