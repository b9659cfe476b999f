#pragma once

namespace tiletune {

/// What was built: the first digits of its commit, and "-dirty" where tracked files were changed; "unknown"
/// outside a git checkout. For people: databases and exports name the version alone.
extern const char* const kCommit;

}  // namespace tiletune
