#include "tune/provenance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// The file's text without surrounding space; empty when it cannot be read.
std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return std::string(trim(text.str()));
}

/// A worktree's .git is a file that names the real folder; shared refs lie in its common folder.
fs::path git_folder(const fs::path& dot_git) {
  if (fs::is_directory(dot_git)) return dot_git;
  const std::string text = text_of(dot_git);
  constexpr std::string_view kPrefix = "gitdir: ";
  if (!text.starts_with(kPrefix)) return {};
  return dot_git.parent_path() / text.substr(kPrefix.size());
}

std::string packed_ref(const fs::path& folder, const std::string& ref) {
  std::ifstream in(folder / "packed-refs");
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with(" " + ref)) return line.substr(0, line.find(' '));
  }
  return "";
}

std::string resolve(const fs::path& folder, const std::string& ref) {
  const std::string common = text_of(folder / "commondir");
  for (const fs::path& place : {folder, folder / common}) {
    if (std::string commit = text_of(place / ref); !commit.empty()) return commit;
    if (std::string commit = packed_ref(place, ref); !commit.empty()) return commit;
  }
  return "";
}

}  // namespace

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

std::string git_commit(const fs::path& folder) {
  std::error_code error;
  for (fs::path place = fs::absolute(folder, error); !error; place = place.parent_path()) {
    if (fs::exists(place / ".git", error)) {
      const fs::path git = git_folder(place / ".git");
      const std::string head = text_of(git / "HEAD");
      constexpr std::string_view kPrefix = "ref: ";
      return head.starts_with(kPrefix) ? resolve(git, head.substr(kPrefix.size())) : head;
    }
    if (place == place.parent_path()) break;
  }
  return "";
}

}  // namespace tiletune
