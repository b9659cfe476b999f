#pragma once

namespace tiletune {

/// From now on the first SIGINT or SIGTERM is only noted; a second one ends the process at once (workers die
/// with it).
void catch_interrupts();
/// Whether one has been noted.
bool interrupted();

}  // namespace tiletune
