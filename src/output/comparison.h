#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
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

/// A configuration that a comparison shows, with a row that says what it is.
struct ChosenConfiguration {
  std::string largest;              ///< of a compromise: "pennycook" or "minimum"
  std::optional<std::size_t> side;  ///< whose best it is
  const Portability* portability = nullptr;
  Trial trial;
};

/// The best of each side; then the compromises, of which the second is left out where it is as good as the
/// first.
std::vector<ChosenConfiguration> chosen_configurations(const ComparedProblem& problem,
                                                       const Databases& databases);

void write_comparison_json(std::ostream& out, const Comparison& comparison, const Databases& databases,
                           const ComparisonView& view);
void write_comparison_csv(std::ostream& out, const Comparison& comparison, const Databases& databases);

/// What is said above all tables: that sources are mixed, that there are several GPUs where these are no
/// sides, and which values are written in several ways.
std::vector<std::string> lines_above(const Comparison& comparison);
/// Under a problem's tables: pairs of sides, joined templates, what is rough, left out or unmeasured.
std::vector<std::string> lines_under(const Comparison& comparison, const ComparedProblem& problem);
/// What is to be known of how a problem's rows were joined and picked, and of which values count as equal:
/// parts of the others, for a page.
std::vector<std::string> notes_on(const Comparison& comparison, const ComparedProblem& problem);
/// At the end: problems of one side alone, and what is slower than asked for.
std::vector<std::string> closing_lines(const Comparison& comparison, std::optional<double> fail_above);

}  // namespace tiletune
