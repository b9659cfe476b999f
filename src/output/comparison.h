#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "output/export.h"
#include "rank/compare.h"
#include "rank/databases.h"

namespace tiletune {

struct ComparisonView {
  /// Percent beyond which a later side's fastest counts as slower; none: they are not looked for.
  std::optional<double> fail_above;
  bool colour = false;
};

/// Writes a comparison in one of the formats. The table format: per problem the best configuration of each
/// side with the parameters that differ and the best compromise; how efficient each is on every side; what
/// pairs of sides have in common; what is unmeasured; what is slower than asked for. JSON is one object
/// {"tiletune": version, "by", "mixes_sources", "sides", "unmeasured", "slower", "unchecked", "problems"} by
/// schemas/comparison.schema.json; CSV has a record per problem, configuration and side. Rows are read from
/// the databases that were compared.
void write_comparison(std::ostream& out, const Comparison& comparison, const Databases& databases,
                      Format format, const ComparisonView& view);

/// "4096x4096x4096 on NVIDIA H200 (gemm, f32, alpha=1 beta=0, cold)"
std::string title_of(const ComparedProblem& problem);
/// "timed", "screened", "failed" or "unmeasured".
std::string_view name(Known known);

}  // namespace tiletune
