#pragma once

namespace tiletune {

/// The exit code of an interrupted command: 128 + SIGINT, as shells say it.
inline constexpr int kInterrupted = 130;

/// From now on the first SIGINT, SIGTERM or SIGHUP (unless nohup has it ignored) is only noted; a second one
/// ends the process at once (workers die with it). A reader of the progress that leaves, as in
/// `2>&1 | head -1`, ends nothing.
void catch_interrupts();
/// Whether one has been noted.
bool interrupted();

}  // namespace tiletune
