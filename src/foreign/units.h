#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tiletune {

inline constexpr double kMillisecond = 1e3;  ///< in us

/// Microseconds in one of the unit: "ms", "milliseconds", "miliseconds" (as some files spell it), "us", "ns",
/// "s" and their long names, in any case. None for anything else.
std::optional<double> microseconds_of(std::string_view unit);

/// "2023-12-22T09:54:05Z" of "2023-12-22 09:54:05.502007+00:00" and other forms of ISO 8601, brought to UTC;
/// a time without an offset is taken for UTC. Empty for what is none.
std::string utc_time(std::string_view text);

}  // namespace tiletune
