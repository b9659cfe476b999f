#pragma once

#include <vector>

#include "base/error.h"
#include "base/stop.h"
#include "compile/pool.h"
#include "store/database.h"
#include "tune/target.h"
#include "tune/task.h"

namespace tiletune {

/// What check_spec() would call an error and what concerns every configuration of a template: arguments of
/// other types than the kernel takes, outputs that it cannot write, buffers that overlap. Of each template
/// the types of one kernel are compiled, without its code where it is a C++ template, unless the cache has
/// them or the database knows the source. Where they are wrong, those of further configurations decide.
std::vector<UserError> sweep_faults(const TuneSpec& spec, const std::vector<Task>& tasks,
                                    const Target& target, const CompilePoolOptions& compile,
                                    const Database& database, const Stop& stop);

}  // namespace tiletune
