#pragma once

#include "base/error.h"
#include "foreign/import.h"
#include "foreign/json.h"
#include "store/trial.h"

namespace tiletune {

/// A row as the object of its columns, which `export` writes. Members that are not columns are left alone.
/// Throws UserError, at `where`, for a value that its column cannot have, and for a row that tiletune cannot
/// have written or that is of something else than the person says. A row that does not list its sweeps, as
/// none once did, is of the one that made it and the one that it was last seen in.
void read_own_columns(const JsonValue& object, const Where& where, const ImportFacts& facts, Trial& trial);

/// A list of numbers. Throws UserError, at `where`, for what is none.
std::vector<double> numbers_of(const JsonValue& list, const Where& where);

/// A run of the sweep command as `export` writes it.
SweepRecord read_sweep(const JsonValue& object);

/// What was measured of a GPU, as `export` writes it. Throws UserError when this is none.
CalibrationRecord read_calibration(const JsonValue& object, const Where& where);

}  // namespace tiletune
