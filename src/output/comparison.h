#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "output/table.h"
#include "output/view.h"
#include "rank/compare.h"
#include "rank/databases.h"

namespace tiletune {

struct ComparisonView {
  /// Percent beyond which a later side's fastest counts as slower; none: they are not looked for.
  std::optional<double> fail_above;
  bool colour = false;
  std::size_t width = kAnyWidth;  ///< of lines of the table format
};

/// Writes a comparison in one of the formats. The table format: per problem the best configuration of each
/// side and the best compromise, with the parameters that differ; how fast each of the best is; how efficient
/// each is on every side; what pairs of sides have in common; what is unmeasured; what is slower than asked
/// for. JSON is one object {"tiletune": version, "by", "mixes_sources", "sides", "taken_as_equal",
/// "unmeasured", "slower", "unchecked", "problems"} by schemas/comparison.schema.json; CSV has a record per
/// problem, configuration and side. Rows are read from the databases that were compared.
void write_comparison(std::ostream& out, const Comparison& comparison, const Databases& databases,
                      Format format, const ComparisonView& view);

/// The JSON as one object, without what is slower.
nlohmann::ordered_json comparison_json(const Comparison& comparison, const Databases& databases);

/// "4096x4096x4096 on NVIDIA H200 (gemm, f32, alpha=1 beta=0, cold)"
std::string title_of(const ComparedProblem& problem);
/// "timed", "screened", "failed" or "unmeasured".
std::string_view name(Known known);

}  // namespace tiletune
