#include "compile/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/compiler.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// `path` relative to `folder`; none when it lies elsewhere. Both are normal.
std::optional<fs::path> beneath(const fs::path& path, const fs::path& folder) {
  if (folder != "." && !is_within(path, folder)) return std::nullopt;
  fs::path relative = path.lexically_relative(folder);
  if (relative.empty() || relative == "." || *relative.begin() == "..") return std::nullopt;
  return relative;
}

/// The place of a name in the roots, the innermost first.
struct Place {
  const KernelSource::Root* root;
  fs::path name;
};

std::vector<Place> places_of(const KernelSource& source, const fs::path& name) {
  const fs::path normal = name.lexically_normal();
  std::vector<Place> places;
  if (normal.empty()) return places;
  for (const KernelSource::Root& root : source.roots) {
    const fs::path& folder = normal.is_absolute() ? root.folder->path() : fs::path(root.name);
    if (auto relative = beneath(normal, folder)) places.push_back({&root, std::move(*relative)});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.name.native().size() < b.name.native().size();
  });
  return places;
}

class SourceBuilder {
 public:
  SourceBuilder(const fs::path& source, const fs::path& folder, bool may_leave)
      : home_(source.parent_path()) {
    result.name = source.filename().string();
    result.may_leave = may_leave;
    add_root(home_);
    const auto name = beneath(source, folder);
    if (!name && !may_leave)
      throw UserError(fmt::format("lies outside the template's folder {}", folder.string()),
                      Where{source.string(), ""},
                      "Put the file into the template's folder, or pass --allow-outside-paths.");
    result.text =
        name ? Folder(folder, Links::refuse).read(*name, kLargestSource) : read_file(source, kLargestSource);
    if (result.text.find('\0') == std::string::npos) return;
    throw UserError("contains a zero byte, so it is not source text", Where{source.string(), ""},
                    "Is this the file you meant?");
  }

  std::string name_of(const fs::path& folder) const { return folder.lexically_relative(home_).string(); }

  void add_root(const fs::path& folder) {
    std::error_code ignored;
    const std::string name = name_of(folder);
    const auto is_it = [&](const KernelSource::Root& root) { return root.name == name; };
    // A link in the place of a folder of ours leads elsewhere, wherever that is now.
    const bool is_folder = fs::is_directory(folder, ignored) && fs::canonical(folder, ignored) == folder;
    if (!is_folder || std::any_of(result.roots.begin(), result.roots.end(), is_it)) return;
    result.roots.push_back({name, std::make_shared<const Folder>(folder, Links::refuse)});
  }

  KernelSource result;

 private:
  fs::path home_;
};

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLargestList = std::size_t{64} << 20;
constexpr const char* kHash = "<hash of the list>";

std::optional<Dependencies> parsed(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Dependencies files;
  for (const auto& [name, hash] : json.items()) {
    if (!hash.is_string()) return std::nullopt;
    files.emplace(name, hash.get<std::string>());
  }
  return files;
}

}  // namespace

std::string KernelSource::hash() const {
  Hasher hasher;
  hasher.add(name).add(text).add(join(search_before, "\n")).add(join(own_headers, "\n"));
  return hasher.hex();
}

std::string KernelSource::folders_text() const {
  std::vector<std::string> paths;
  for (const Root& root : roots) paths.push_back(root.folder->path().string());
  return join(paths, ", ");
}

KernelSource read_kernel_source(const fs::path& source, const fs::path& folder,
                                const std::vector<fs::path>& include_folders, const fs::path& config_folder,
                                bool may_leave) {
  SourceBuilder builder(source, folder, may_leave);
  builder.add_root(folder);
  builder.add_root(folder.parent_path() / "common");
  for (const fs::path& include_folder : include_folders) builder.add_root(include_folder);
  builder.add_root(config_folder);
  KernelSource& result = builder.result;
  std::vector<fs::path> places{source.parent_path(), folder, folder.parent_path()};
  places.insert(places.end(), include_folders.begin(), include_folders.end());
  std::vector<std::string>& before = result.search_before;
  const auto is_searched = [&](const std::string& name) {
    return std::find(before.begin(), before.end(), name) != before.end();
  };
  for (const fs::path& place : places) {
    const std::string name = builder.name_of(place);
    if (!is_searched(name)) before.push_back(name);
  }
  const std::string behind = builder.name_of(config_folder);
  if (!is_searched(behind)) result.search_behind = {behind};
  for (const NamedHeader& header : standard_headers()) {
    const auto has_it = [&](const KernelSource::Root& root) { return root.folder->has(header.name); };
    if (header.name != std::string_view(kCubHeader) && std::ranges::any_of(result.roots, has_it))
      result.own_headers.emplace_back(header.name);
  }
  return std::move(result);
}

Descriptor open_included(const KernelSource& source, const fs::path& name) {
  errno = EXDEV;
  for (const Place& place : places_of(source, name))
    if (Descriptor file = place.root->folder->open(place.name); file.is_open()) return file;
  if (!source.may_leave || source.roots.empty()) return Descriptor();
  return Descriptor(::openat(source.roots.front().folder->descriptor(), name.c_str(),
                             O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

std::optional<std::string> first_missing(const KernelSource& source, const fs::path& name) {
  const std::vector<Place> places = places_of(source, name);
  if (places.empty()) return std::nullopt;
  // Relative to the outermost folder that may hold it, all others lie in it.
  const Place& place = places.back();
  fs::path prefix;
  for (const fs::path& part : place.name) {
    prefix /= part;
    if (!place.root->folder->has(prefix)) return (fs::path(place.root->name) / prefix).lexically_normal();
  }
  return std::nullopt;
}

std::optional<std::string> source_content(const Descriptor& file) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  try {
    return read_open_file(file, "", kLargestSource);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::string hash_of_content(const std::string& content) { return Hasher().add(content).hex(); }

std::string state_of(const KernelSource& source, const std::string& name) {
  if (name == kSearchedBehind) return join(source.search_behind, " ");
  if (const Descriptor file = open_included(source, name); file.is_open()) {
    const auto content = source_content(file);
    return content ? hash_of_content(*content) : kUnreadable;
  }
  const std::vector<Place> places = places_of(source, name);
  const bool is_there = std::any_of(places.begin(), places.end(),
                                    [](const Place& place) { return place.root->folder->has(place.name); });
  return is_there ? kUnreadable : "";
}

bool DependencyCheck::holds(const KernelSource& source, const Dependencies& dependencies) {
  const std::string folder = source.roots.empty() ? "" : source.roots.front().folder->path().string();
  return std::all_of(dependencies.begin(), dependencies.end(), [&](const auto& dependency) {
    const auto& [name, hash] = dependency;
    const auto [known, is_new] = states_.try_emplace({folder, name});
    if (is_new) known->second = state_of(source, name);
    return known->second == hash;
  });
}

std::string IncludedLists::text_of(const Dependencies& files) {
  if (files.empty()) return "";
  std::string text = nlohmann::json(files).dump();
  if (text.size() <= kLongestText) return text;
  const std::string hash = hash_of_content(text);
  if (hash != last_.first) {
    last_ = {hash, files};
    try {
      write_private_file_atomically(folder_ / hash, text);
    } catch (const UserError&) {  // it will be compiled again
    }
  }
  return nlohmann::json{{kHash, hash}}.dump();
}

std::optional<Dependencies> IncludedLists::read(const std::string& text) {
  if (text.empty()) return Dependencies();
  auto files = parsed(text);
  if (!files || !files->contains(kHash)) return files;
  const std::string& hash = files->at(kHash);
  // It becomes the name of a file.
  if (hash.empty() || hash.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  if (hash == last_.first) return last_.second;
  const std::filesystem::path path = folder_ / hash;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() || !is_private_file(file)) return std::nullopt;
  try {
    const std::string list = read_open_file(file, path, kLargestList);
    auto listed = hash_of_content(list) == hash ? parsed(list) : std::nullopt;
    if (listed) last_ = {hash, *listed};
    return listed;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace tiletune
