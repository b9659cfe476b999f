#pragma once

#include <csignal>
#include <cstdint>
#include <string>

namespace tiletune {

/// Why a compilation ended at the limit of its worker, and the remedy.
std::string out_of_memory_reason(std::uint64_t limit_bytes);

/// The compiler's back end aborts the process when it gets no memory. While this lives, such an abort sends
/// `frame` over the worker's channel and ends the process; every other abort takes its course.
class LastWords {
 public:
  explicit LastWords(std::string frame);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  struct sigaction abort_before_ {};
  struct sigaction fault_before_ {};
};

}  // namespace tiletune
