#pragma once

#include <initializer_list>

#include "base/confinement.h"

namespace tiletune {

/// Gives this process, which must have one thread, mounts of its own; false where the system refuses that.
bool separate_mounts();

/// The same answer, of a child that tries it.
bool may_separate_mounts();

/// With mounts of its own: leaves of the file system these places alone, each at its path and with the links
/// on the way to it. All other names are gone for this process and what it becomes, also for stat(). Throws
/// std::runtime_error.
void show_only(std::initializer_list<const Places*> all);

}  // namespace tiletune
