#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compile/source.h"

namespace tiletune {

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
  std::optional<Dependencies> load(const std::string& hash) const;

  std::filesystem::path folder_;
  /// The list of that hash was used last: rows of a sweep mostly share one.
  std::pair<std::string, Dependencies> last_;
};

}  // namespace tiletune
