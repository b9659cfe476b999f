#pragma once

namespace tiletune {

/// The parts of the header that `export --format header` writes that are alike in all of them, within its
/// namespace: what stands before the table, and the lookup behind it. kHeaderSizes ends where the
/// number of sizes belongs.
extern const char* const kHeaderSizes;
extern const char* const kHeaderTypes;
extern const char* const kHeaderLookup;
/// Of portfolios, before their decision trees and behind the lookup.
extern const char* const kHeaderTree;
extern const char* const kHeaderChoice;

}  // namespace tiletune
