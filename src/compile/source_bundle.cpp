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

/// One #include "..." with the file it stands in.
struct Inclusion {
  std::string name;
  fs::path from;
  std::size_t line;

  Where where() const { return {from.string(), fmt::format("line {}", line)}; }
};

bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

/// Follows quoted includes from one source file, within its folder and the include folders.
class SourceReader {
 public:
  SourceReader(const fs::path& source, const std::vector<fs::path>& include_folders)
      : include_folders_(include_folders), cuda_folder_(cuda_include_folder()) {
    bundle_.main = {source.filename().string(), read(source, Where{source.string(), ""})};
    const fs::path main = fs::canonical(source);
    allow(main.parent_path());
    for (const fs::path& folder : include_folders) allow(folder);
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
    for (const QuotedInclude& include : quoted_includes(text)) add({include.name, file, include.line});
  }

  void add(const Inclusion& inclusion) {
    const std::optional<fs::path> file = find(inclusion);
    if (!file) return;
    const auto [known, is_new] = file_of_name_.try_emplace(inclusion.name, *file);
    if (!is_new) {
      require_same_file(inclusion, known->second, *file);
      return;
    }
    const auto [first, is_first] = name_of_file_.try_emplace(*file, inclusion.name);
    if (!is_first) {
      // NVRTC identifies a header by its name, so `#pragma once` works only when all names lead to one text.
      bundle_.headers.push_back({inclusion.name, fmt::format("#include \"{}\"\n", first->second)});
      return;
    }
    std::string text = read(*file, inclusion.where());
    bundle_.headers.push_back({inclusion.name, text});
    follow(*file, text);
  }

  static void require_same_file(const Inclusion& inclusion, const fs::path& known, const fs::path& found) {
    if (known == found) return;
    throw UserError(fmt::format("#include \"{}\" means {} here and {} elsewhere", inclusion.name,
                                found.string(), known.string()),
                    inclusion.where(),
                    "The compiler knows a header by the name in its #include: rename one of the two.");
  }

  /// The canonical path of an included file; none when it is the CUDA toolkit's, which NVRTC finds by itself.
  std::optional<fs::path> find(const Inclusion& inclusion) const {
    std::vector<std::string> looked_in;
    std::vector<fs::path> folders{inclusion.from.parent_path()};
    folders.insert(folders.end(), include_folders_.begin(), include_folders_.end());
    for (const fs::path& folder : folders) {
      const fs::path candidate = folder / inclusion.name;
      if (is_file(candidate)) return require_allowed(inclusion, fs::canonical(candidate));
      looked_in.push_back(folder.string());
    }
    if (cuda_folder_ && is_file(*cuda_folder_ / inclusion.name)) return std::nullopt;
    throw UserError(
        fmt::format("#include \"{}\" is not found", inclusion.name), inclusion.where(),
        fmt::format("Looked for in: {}. Add the file or correct the name.", join(looked_in, ", ")));
  }

  static bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
  }

  fs::path require_allowed(const Inclusion& inclusion, fs::path file) const {
    const auto holds_it = [&](const fs::path& folder) { return lies_in(file, folder); };
    if (std::any_of(allowed_folders_.begin(), allowed_folders_.end(), holds_it)) return file;
    throw UserError(fmt::format("#include \"{}\" leads to {}, outside the kernel's folders", inclusion.name,
                                file.string()),
                    inclusion.where(), "Copy the header beside the kernel or into kernel_templates/common.");
  }

  std::vector<fs::path> include_folders_;
  std::optional<fs::path> cuda_folder_;
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

SourceBundle read_sources(const fs::path& source, const std::vector<fs::path>& include_folders) {
  return SourceReader(source, include_folders).take();
}

}  // namespace tiletune
