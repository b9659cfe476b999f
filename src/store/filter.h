#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

#include "store/columns.h"
#include "store/database.h"

namespace tiletune {

/// A WHERE clause and the values of its parameters, in order. Values never become SQL text.
struct Condition {
  std::string sql;  ///< " WHERE ...", or empty
  std::vector<Cell> values;
};

/// `gpus` replaces filter.gpus: the full names, in this database, of the GPUs that it asks for. `earlier` is
/// what earlier_sources() returns for it, where the filter asks for the age of sources. No row passes whose
/// id is in the JSON list `skipped`, unless that is empty.
Condition condition_of(const TrialFilter& filter, const std::vector<std::string>& gpus,
                       const std::string& earlier, const std::string& skipped);

/// Returns the names that equal an element of `wanted`, or have it among their words (has_words() in
/// base/text.h).
std::vector<std::string> matching_gpus(const std::vector<std::string>& names,
                                       const std::vector<std::string>& wanted);

/// Finds the rows whose kernel was edited since, from what rows record of their source: `source_hash` and
/// `included_files`. The source of a template is that which `source_now` names by its hash, if rows are of
/// it, otherwise that of the rows of its newest sweep (in order of time). A row is of an earlier source if
/// its hash differs, or if it includes a file that rows of that sweep include with other content. A row that
/// does not record its source is of none. Returns the sources of such rows as JSON, {"edited": [templates
/// that have a source now and no row of it], "texts": [[template, source_hash], ...], "files": [[template,
/// source_hash, included_files], ...]}; empty text where there are none.
std::string earlier_sources(SQLite::Database& database, const SourceNow& source_now);

}  // namespace tiletune
