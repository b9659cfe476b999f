#pragma once

#include <string>

#include "spec/reader.h"
#include "spec/scope.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Reads "operation" and the keys that belong to it (types, and for custom operations dimensions, scalars,
/// buffers, flops, bytes, reference), fills in what gemm implies, and declares dimensions and scalars in
/// `scope`. Needs spec.folder. Throws UserError.
void read_operation(ObjectReader& reader, TemplateSpec& spec, Scope& scope, bool allow_outside_paths);

/// Adds what an operation demands of configurations beyond the manifest: a kernel that does not learn of all
/// leading dimensions is for dense matrices. Needs the arguments.
void add_implied_constraints(TemplateSpec& spec);

/// What to do about a key that belongs to the other operation.
std::string operation_remedy(Operation operation);

/// Replaces the value of a scalar of the template, and with it what follows: with beta == 0, C of gemm is
/// only written. False when the template has no such scalar.
bool set_scalar(TemplateSpec& spec, const std::string& name, double value);

}  // namespace tiletune
