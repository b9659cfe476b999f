#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/folder.h"

namespace tiletune {

/// The largest file that a kernel may be made of.
inline constexpr std::size_t kLargestSource = std::size_t{16} << 20;

/// A kernel's text, and where the files lie that it may include.
struct KernelSource {
  /// A folder under the name that paths of the compiler begin with: "." for the kernel's own, "../common" for
  /// one beside it. All names are relative to the kernel's own folder, so that they stay when everything
  /// moves together.
  struct Root {
    std::string name;
    std::shared_ptr<const Folder> folder;
  };

  std::string name;         ///< of the file
  std::string text;         ///< as it was when it was read
  std::vector<Root> roots;  ///< the kernel's own folder first; none: nothing of its own is included
  /// Where the compiler looks for #include, in this order, by the names of the roots: before the CUDA
  /// toolkit's headers, and behind them.
  std::vector<std::string> search_before, search_behind;
  /// Names of built-in headers (compiler.h) that files of the roots replace.
  std::vector<std::string> own_headers;
  bool may_leave = false;  ///< files outside the roots may be included, too

  /// All but the roots, which are open folders.
  static constexpr auto fields() {
    using S = KernelSource;
    return fields_of<&S::name, &S::text, &S::search_before, &S::search_behind, &S::own_headers,
                     &S::may_leave>();
  }

  /// Covers name, text, and which file each #include would mean; not what is in those files.
  std::string hash() const;
  /// The folders, for people.
  std::string folders_text() const;
};

/// The folders of all kernels that a process compiles: a message names them by number.
using Folders = std::vector<std::shared_ptr<const Folder>>;

/// Reads the file `source`, which lies in `folder` unless `may_leave`. What it may include lies there, in the
/// folder `common` beside that, in `include_folders`, or in `config_folder`. Paths are absolute, with
/// symbolic links resolved; none is followed any more. Throws UserError.
KernelSource read_kernel_source(const std::filesystem::path& source, const std::filesystem::path& folder,
                                const std::vector<std::filesystem::path>& include_folders,
                                const std::filesystem::path& config_folder, bool may_leave);

/// What a compilation found out about files of its kernel's folders: the hash of each that it opened, by the
/// name it was opened with. Empty: nothing lies under that name. Its result holds as long as all of these do.
using Dependencies = std::map<std::string, std::string>;

/// In dependencies, the name of the folders that are searched last, where those were reached: kernels are the
/// same whatever config they are swept by, unless they look for files beside it.
inline constexpr const char* kSearchedBehind = "<searched last>";

/// Opens an included file by the name that the compiler has for it. Not open when there is none, or it must
/// not be read.
Descriptor open_included(const KernelSource& source, const std::filesystem::path& name);
/// The shortest beginning of that name under which nothing lies; none when the whole name leads to something,
/// or out of the roots.
std::optional<std::string> first_missing(const KernelSource& source, const std::filesystem::path& name);
/// Hash of what lies under a name now, as in Dependencies.
std::string state_of(const KernelSource& source, const std::string& name);
/// The content of an open file; none when it is not a regular file, too large, or cannot be read.
std::optional<std::string> source_content(const Descriptor& file);
/// The hash of a content as it stands in Dependencies.
std::string hash_of_content(const std::string& content);
/// Stands there for what has no content, or not the same all the time.
inline constexpr const char* kUnreadable = "unreadable";

/// Compares dependencies with the files as they are. Looks at each file once.
class DependencyCheck {
 public:
  bool holds(const KernelSource& source, const Dependencies& dependencies);

 private:
  std::map<std::pair<std::string, std::string>, std::string> states_;  ///< by the kernel's folder and name
};

/// Lists of included files as rows have them: JSON, or of a long list, such as one of a library's headers,
/// its hash alone. The list itself is in a folder then, once for all rows. Where it is gone, sources count as
/// changed.
class IncludedLists {
 public:
  explicit IncludedLists(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Empty where nothing is included. Failing to write the list is no error.
  std::string text_of(const Dependencies& files);
  /// The list that a row has. None where it is gone, and for what is no list.
  std::optional<Dependencies> read(const std::string& text);

 private:
  std::filesystem::path folder_;
  /// The list of that hash was used last: rows of a sweep mostly share one.
  std::pair<std::string, Dependencies> last_;
};

}  // namespace tiletune
