#pragma once

#include <string_view>

namespace tiletune {

/// The page with its style and scripts, up to its data and after it.
extern const std::string_view kPageBeforeData;
extern const std::string_view kPageAfterData;
extern const bool kPageHasCharts;

}  // namespace tiletune
