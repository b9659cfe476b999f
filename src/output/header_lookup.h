#pragma once

namespace tiletune {

/// The parts of the header that `export --format header` writes that are alike in all of them, within its
/// namespace: what stands before the table, and the lookup behind it. kHeaderSizes ends where the
/// number of sizes belongs.
extern const char* const kHeaderSizes;
extern const char* const kHeaderTypes;
extern const char* const kHeaderLookup;
/// Of portfolios, behind the lookup: before the kernels' times, where it is within a namespace, and behind
/// them.
extern const char* const kHeaderTimes;
extern const char* const kHeaderChoice;

}  // namespace tiletune
