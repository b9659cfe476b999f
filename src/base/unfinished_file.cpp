#include "base/unfinished_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <utility>

namespace tiletune {

namespace {

std::atomic<const char*> unfinished = nullptr;
static_assert(std::atomic<const char*>::is_always_lock_free, "signal handlers read it");

constexpr std::array kEnding{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// None of the ending signals interrupts it: several may come at once.
void remove_and_end(int signal) {
  remove_unfinished_file();
  ::signal(signal, SIG_DFL);
  // Pending until the handler returns.
  ::raise(signal);
}

void replace_handlers(void (*before)(int), void (*after)(int)) {
  for (const int signal : kEnding) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != before) continue;
    action.sa_handler = after;
    action.sa_flags = 0;
    ::sigemptyset(&action.sa_mask);
    for (const int other : kEnding) ::sigaddset(&action.sa_mask, other);
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string name) : name_(std::move(name)) {
  unfinished = name_.c_str();
  replace_handlers(SIG_DFL, remove_and_end);
}

UnfinishedFile::~UnfinishedFile() {
  replace_handlers(remove_and_end, SIG_DFL);
  unfinished = nullptr;
}

void remove_unfinished_file() {
  if (const char* const name = unfinished) ::unlink(name);
}

}  // namespace tiletune
