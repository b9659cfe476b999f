#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

#include "base/file.h"

namespace tiletune {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void note_interrupt(int signal) {
  interrupts = interrupts + 1;
  constexpr int kSignalExit = 128;
  if (interrupts > 1) {
    remove_unfinished_file();
    ::_exit(kSignalExit + signal);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  // No SA_RESTART: a sleeping poll() must return.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return interrupts > 0; }

}  // namespace tiletune
