#pragma once

#include <string>

// By what rules rows and sweeps of two databases become one's, as SQL: for merge() and for the import of what
// `export` wrote.

namespace tiletune {

/// A condition on two rows of sweep tables by their names in the statement: they are of one run of the sweep
/// command.
std::string same_sweep_sql(const std::string& a, const std::string& b);

/// The number of the sweep whose columns, in their order, are the parameters; null when it is not there.
std::string find_sweep_sql();

/// Of two rows of one key a measured time counts more than one that a sweep gave up on, that more than a
/// failure, that more than none yet; then the one that was recorded later, then one with its samples. A
/// condition: the row of these expressions counts more than that of `trial`.
std::string counts_more_sql(const std::string& outcome, const std::string& recorded_at,
                            const std::string& samples_us);

/// UPDATE trial: the row whose columns, in their order, are the parameters takes the place of the one of its
/// key, if it counts more.
std::string replace_lesser_sql();

/// UPDATE trial: seen_in_sweep becomes the one of a row's sweeps that began last.
std::string see_in_latest_sql();

}  // namespace tiletune
