#pragma once

#include <sys/stat.h>

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
/// It stands in for fopen(), __xstat() and __lxstat(), which is what NVRTC finds every #include with, and so
/// knows which files a result depends on. It does not keep the compiler from other files: confine() does.
class IncludedFiles {
 public:
  /// The working folder is the kernel's own meanwhile, if it has one, since names are relative to it.
  IncludedFiles(const KernelSource& source, const std::optional<std::filesystem::path>& toolkit);
  ~IncludedFiles();
  IncludedFiles(const IncludedFiles&) = delete;
  IncludedFiles& operator=(const IncludedFiles&) = delete;

  /// As fopen(name, "r").
  std::FILE* open(const char* name);
  /// As stat(name, status): names that lead nowhere have no size and no time either.
  int look_at(const char* name, struct stat* status);

  /// From here on own files, by their names in dependencies(), have these texts.
  void replace(std::map<std::string, std::string> texts) { replaced_ = std::move(texts); }

  const Dependencies& dependencies() const { return dependencies_; }
  /// Names that lead out of the roots.
  const std::set<std::string>& refused() const { return refused_; }

 private:
  bool is_of_toolkit(const std::filesystem::path& name) const;
  /// Not open where the name leads nowhere, which is noted; errno is ENOENT then.
  Descriptor find_own(const std::filesystem::path& name);
  /// What is in an own file; notes its hash.
  std::optional<std::string> read_own(const Descriptor& file, const std::filesystem::path& name);

  const KernelSource& source_;
  std::optional<std::filesystem::path> toolkit_;
  Descriptor left_folder_;  ///< the working folder before
  Dependencies dependencies_;
  std::map<std::string, std::string> replaced_;
  std::set<std::string> refused_;
};

}  // namespace tiletune
