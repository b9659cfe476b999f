#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

namespace tiletune {

/// Finds the rows whose kernel was edited since, from what rows record of their source: `source_hash` and
/// `included_files`. The source of a template is that of the rows of its newest sweep (in order of time). A
/// row is of an earlier source if its hash differs, or if it includes a file that rows of that sweep include
/// with other content. A row that does not record its source is of none. Returns the sources of such rows as
/// JSON, {"texts": [[template, source_hash], ...], "files": [[template, source_hash, included_files], ...]};
/// empty text where there are none.
std::string earlier_sources(SQLite::Database& database);

}  // namespace tiletune
