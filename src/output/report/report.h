#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "rank/sides.h"
#include "store/database.h"

namespace tiletune {

struct ReportOptions {
  std::size_t limit = 10000;  ///< configurations shown per GPU and problem, fastest first; 0: all
  std::string command;        ///< the command line that makes the page
  std::string created_at;     ///< UTC
  /// What the model of a GPU is called, for the comparison of several.
  GpuAlias alias = [](const std::string& gpu) { return gpu; };
};

/// What the page holds.
struct ReportSize {
  std::size_t groups = 0;          ///< sets of comparable rows
  std::size_t configurations = 0;  ///< that have a time
  std::size_t shown = 0;           ///< configurations in the page
};

/// The rows of the filter as one HTML page that needs nothing else: text, style, scripts and data are in it,
/// and it fetches nothing. Everything that comes from the database is inert text in it. Without a row that
/// matches, only the size is returned.
ReportSize write_report(std::ostream& out, const Database& database, const TrialFilter& filter,
                        const ReportOptions& options);

/// The data of the page. Tables are written by column: {"all": value} for a column of one value,
/// {"names": [...], "values": [index or -1...]} for one of text, else {"values": [...]}; numbers have five
/// digits.
nlohmann::ordered_json report_data(const Database& database, const TrialFilter& filter,
                                   const ReportOptions& options);

/// With five significant digits; anything that is not a real number as it is.
nlohmann::ordered_json rounded(const nlohmann::ordered_json& value);

/// A column of a table, in the shape that report_data() names: `values` hold null, booleans, numbers and
/// texts. Null when all are null.
nlohmann::ordered_json packed_column(const std::vector<nlohmann::ordered_json>& values);

/// Whether this build's pages have charts (Debian's libjs-vega was there), or tables in their place.
bool report_has_charts();

}  // namespace tiletune
