#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "compile/source.h"

namespace tiletune {

/// While it lives, files that the compiler opens in this thread are those of one kernel: names are looked up
/// in the kernel's roots and below the CUDA toolkit's headers, all others lead nowhere. One at a time in a
/// thread.
///
/// It stands in for fopen(), which is what NVRTC opens every #include with, and so knows which files a result
/// depends on. It does not keep the compiler from other files: confine() does.
class IncludedFiles {
 public:
  /// The working folder is the kernel's own meanwhile, if it has one, since names are relative to it.
  IncludedFiles(const KernelSource& source, const std::optional<std::filesystem::path>& toolkit);
  ~IncludedFiles();
  IncludedFiles(const IncludedFiles&) = delete;
  IncludedFiles& operator=(const IncludedFiles&) = delete;

  /// As fopen(name, "r").
  std::FILE* open(const char* name);

  const Dependencies& dependencies() const { return dependencies_; }
  /// Names that lead out of the roots.
  const std::set<std::string>& refused() const { return refused_; }

 private:
  bool is_of_toolkit(const std::filesystem::path& name) const;
  bool is_searched_behind(const std::filesystem::path& name) const;
  std::FILE* open_own(const char* name);
  std::FILE* snapshot(const Descriptor& file, const std::string& name);

  const KernelSource& source_;
  std::optional<std::filesystem::path> toolkit_;
  Descriptor left_folder_;  ///< the working folder before
  Dependencies dependencies_;
  std::set<std::string> refused_;
};

}  // namespace tiletune
