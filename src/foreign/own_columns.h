#pragma once

#include "base/error.h"
#include "foreign/tree.h"
#include "store/trial.h"

namespace tiletune {

/// A row as the object of its columns, which `export` writes. Members that are no columns are left alone.
/// Throws UserError, at `where`, for a value that its column cannot have, and for a row that tiletune cannot
/// have written.
void read_own_columns(const Branch& object, const Where& where, Trial& trial);

/// A list of numbers. Throws UserError, at `where`, for what is none.
std::vector<double> numbers_of(const Branch& list, const Where& where);

/// A run of the sweep command as `export` writes it.
SweepRecord read_sweep(const Branch& object);

}  // namespace tiletune
