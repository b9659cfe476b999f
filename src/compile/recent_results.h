#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "compile/binary.h"

namespace tiletune {

/// What was compiled lately, by key, within a number of bytes: configurations that differ in their launch
/// alone share a binary, and what failed once would fail again. The oldest results are forgotten first.
class RecentResults {
 public:
  explicit RecentResults(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<Compiled> find(const std::string& key) const;
  /// In the place of an earlier result of the key.
  void add(const std::string& key, const Compiled& compiled);

 private:
  void forget_oldest();

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::map<std::string, Compiled> results_;
  std::deque<std::string> keys_;  ///< oldest first
};

}  // namespace tiletune
