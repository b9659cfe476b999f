#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/include_scan.h"
#include "compile/nvrtc_program.h"
#include "compile/request.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxFiles = 256;
constexpr std::size_t kMaxTotalBytes = std::size_t{16} << 20;

/// Stands for a header of the CUDA toolkit, which NVRTC finds by itself.
constexpr const char* kToolkit = "the CUDA toolkit's";

/// An include with the file it stands in.
struct Inclusion {
  Include include;
  fs::path from;

  Where where() const { return {from.string(), fmt::format("line {}", include.line)}; }
};

bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

/// Whether a name can lead out of the folder it is looked up in.
bool may_leave(const fs::path& name) {
  return name.is_absolute() || std::find(name.begin(), name.end(), "..") != name.end();
}

/// The folder of a file that was named without one is the working folder.
std::vector<fs::path> with_names(std::vector<fs::path> folders) {
  for (fs::path& folder : folders) {
    if (folder.empty()) folder = ".";
  }
  return folders;
}

/// Follows includes from one source file, within its folder and the include folders.
class SourceReader {
 public:
  SourceReader(const fs::path& source, const std::vector<fs::path>& include_folders, bool allow_outside)
      : include_folders_(with_names(include_folders)),
        cuda_folder_(cuda_include_folder()),
        allow_outside_(allow_outside) {
    bundle_.main = {source.filename().string(), read(source, Where{source.string(), ""})};
    const fs::path main = fs::canonical(source);
    allow(main.parent_path());
    for (const fs::path& folder : include_folders_) allow(folder);
    follow(main, bundle_.main.text);
  }

  SourceBundle take() { return std::move(bundle_); }

 private:
  void allow(const fs::path& folder) {
    std::error_code error;
    fs::path canonical = fs::canonical(folder, error);
    if (!error) allowed_folders_.push_back(std::move(canonical));
  }

  std::string read(const fs::path& file, const Where& includer) {
    std::string text = read_file(file, kMaxTotalBytes);
    total_bytes_ += text.size();
    if (total_bytes_ > kMaxTotalBytes || ++file_count_ > kMaxFiles) {
      throw UserError(fmt::format("a kernel's sources are limited to {} files and {} in total", kMaxFiles,
                                  human_bytes(kMaxTotalBytes)),
                      includer, "Include less: headers of the CUDA toolkit are found by #include <...>.");
    }
    if (text.find('\0') != std::string::npos) {
      throw UserError("contains a zero byte, so it is no source text", Where{file.string(), ""},
                      "Is this the file you meant?");
    }
    return text;
  }

  void follow(const fs::path& file, const std::string& text) {
    for (Include& include : scan_includes(text, file.string())) add({std::move(include), file});
  }

  void add(const Inclusion& inclusion) {
    const std::optional<fs::path> found = find(inclusion);
    if (!found && inclusion.include.only_asked) return;
    const fs::path file = found.value_or(kToolkit);
    const std::string& name = inclusion.include.name;
    const auto [known, is_new] = file_of_name_.try_emplace(name, file);
    if (!is_new) return require_same_file(inclusion, known->second, file);
    if (!found) return;
    const auto [first, is_first] = name_of_file_.try_emplace(file, name);
    if (!is_first) {
      // NVRTC identifies a header by its name, so `#pragma once` works only when all names lead to one text.
      bundle_.headers.push_back({name, fmt::format("#include \"{}\"\n", first->second)});
      return;
    }
    std::string text = read(file, inclusion.where());
    bundle_.headers.push_back({name, text});
    follow(file, text);
  }

  static void require_same_file(const Inclusion& inclusion, const fs::path& known, const fs::path& found) {
    if (known == found) return;
    throw UserError(fmt::format("{} means {} here and {} elsewhere", inclusion.include.text(), found.string(),
                                known.string()),
                    inclusion.where(),
                    "The compiler knows a header by the name in its #include: rename one of the two.");
  }

  /// The canonical path of an included file; none when it is left to NVRTC, which then finds it in the CUDA
  /// toolkit or nowhere.
  std::optional<fs::path> find(const Inclusion& inclusion) const {
    const fs::path name = inclusion.include.name;
    const bool only_asked = inclusion.include.only_asked;
    const bool quoted = inclusion.include.form == Include::Form::quoted;
    std::vector<fs::path> folders = include_folders_;
    if (quoted || name.is_absolute()) folders.insert(folders.begin(), inclusion.from.parent_path());
    for (const fs::path& folder : folders) {
      const fs::path candidate = folder / name;
      if (is_file(candidate)) return require_allowed(inclusion, fs::canonical(candidate));
    }
    if (may_leave(name) && (name.is_absolute() || only_asked)) refuse_outside(inclusion, "another folder");
    if (!may_leave(name)) {
      if (cuda_folder_ && is_file(*cuda_folder_ / name)) return std::nullopt;
      // An angled name may be disabled by a conditional, as host headers are; a quoted one is the kernel's
      // own.
      if (only_asked || !quoted) return std::nullopt;
    }
    std::vector<std::string> looked_in;
    for (const fs::path& folder : folders) looked_in.push_back(folder.string());
    throw UserError(
        fmt::format("{} is not found", inclusion.include.text()), inclusion.where(),
        fmt::format("Looked for in: {}. Add the file or correct the name.", join(looked_in, ", ")));
  }

  static bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
  }

  fs::path require_allowed(const Inclusion& inclusion, fs::path file) const {
    const auto holds_it = [&](const fs::path& folder) { return lies_in(file, folder); };
    if (std::any_of(allowed_folders_.begin(), allowed_folders_.end(), holds_it)) return file;
    if (!allow_outside_) refuse_outside(inclusion, file.string());
    return file;
  }

  [[noreturn]] static void refuse_outside(const Inclusion& inclusion, const std::string& place) {
    throw UserError(
        fmt::format("{} leads to {}, outside the kernel's folders", inclusion.include.text(), place),
        inclusion.where(),
        "Copy the header beside the kernel or into kernel_templates/common, or pass --allow-outside-paths.");
  }

  std::vector<fs::path> include_folders_;
  std::optional<fs::path> cuda_folder_;
  bool allow_outside_;
  std::vector<fs::path> allowed_folders_;  ///< canonical
  std::map<std::string, fs::path> file_of_name_;
  std::map<fs::path, std::string> name_of_file_;
  std::size_t file_count_ = 0;
  std::size_t total_bytes_ = 0;
  SourceBundle bundle_;
};

}  // namespace

std::string SourceBundle::hash() const {
  Hasher hasher;
  hasher.add(main.name).add(main.text);
  for (const File& header : headers) hasher.add(header.name).add(header.text);
  return hasher.hex();
}

SourceBundle read_sources(const fs::path& source, const std::vector<fs::path>& include_folders,
                          bool allow_outside) {
  return SourceReader(source, include_folders, allow_outside).take();
}

}  // namespace tiletune
