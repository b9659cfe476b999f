#pragma once

#include <optional>

#include "base/device_properties.h"
#include "store/database.h"
#include "tune/target.h"

namespace tiletune {

/// What the database knows of a GPU with its driver; none that was taken in another state of the cache.
std::optional<Calibration> known_calibration(const Database& database, const Target& target);
void keep_calibration(Database& database, const Target& target, const Calibration& calibration);

}  // namespace tiletune
