#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "measure/messages.h"
#include "tune/task.h"

namespace tiletune {

/// Where the outputs of configurations are kept: FOLDER/<row's key>/<buffer>.npy. bf16 and fp8 are written as
/// unsigned integers, which have their bits.
class OutputFiles {
 public:
  /// Makes the folder where it is missing. Throws UserError.
  explicit OutputFiles(const std::filesystem::path& folder);
  /// Removes what was prepared and not kept.
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  /// Files for the outputs of a configuration that is to be measured, which its worker fills. Throws
  /// UserError when there is no space.
  std::vector<OutputFile> prepare(const Task& task);
  /// Gives them the name of its row, in place of those of an earlier measurement.
  void keep(const std::vector<OutputFile>& files, const std::string& key) const;
  /// The configuration did not run.
  static void drop(const std::vector<OutputFile>& files);

 private:
  std::filesystem::path unfinished(std::uint64_t number) const;

  std::filesystem::path folder_;
  std::uint64_t prepared_ = 0;
};

}  // namespace tiletune
