#include "compile/out_of_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/worker_process.h"

namespace tiletune {

namespace {

std::string words_of_this_process;

/// Nothing between a refused allocation and the abort it causes sets errno.
void speak_and_end(int signal) {
  if (errno == ENOMEM) {
    const ssize_t written =
        ::write(kWorkerChannelFd, words_of_this_process.data(), words_of_this_process.size());
    ::_exit(written < 0 ? 1 : 0);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

std::string out_of_memory_reason(std::uint64_t limit_bytes) {
  return fmt::format("the compiler needed more than {} of memory; raise --max-compile-memory",
                     human_bytes(limit_bytes));
}

LastWords::LastWords(std::string frame) {
  words_of_this_process = std::move(frame);
  struct sigaction action {};
  action.sa_handler = speak_and_end;
  ::sigaction(SIGABRT, &action, &abort_before_);
  ::sigaction(SIGSEGV, &action, &fault_before_);
  errno = 0;
}

LastWords::~LastWords() {
  ::sigaction(SIGABRT, &abort_before_, nullptr);
  ::sigaction(SIGSEGV, &fault_before_, nullptr);
}

}  // namespace tiletune
