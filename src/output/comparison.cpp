#include "output/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "output/comparison_data.h"
#include "output/comparison_lines.h"
#include "output/display.h"
#include "output/rankings.h"
#include "output/varying_parameters.h"

namespace tiletune {

namespace {

std::string figure(const std::optional<double>& value) { return value ? three_digits(*value) : "-"; }

/// "0.97", marked for what it is worth.
std::string efficiency_text(const Standing& standing) {
  switch (standing.known) {
    case Known::unmeasured:
      return "?";
    case Known::failed:
      return "x";
    case Known::screened:
      return fmt::format("{:.3f}~", standing.efficiency);
    case Known::timed:
      return fmt::format("{:.3f}{}", standing.efficiency, standing.is_with_best ? "=" : " ");
  }
  return "";
}

std::string label(const ChosenConfiguration& compromise) {
  return "compromise: largest " + compromise.largest;
}

TextTable configuration_table(const std::vector<ChosenConfiguration>& chosen, const Comparison& comparison,
                              const ComparedProblem& problem, const VaryingParameters& parameters) {
  TextTable table;
  for (const char* header : {"best of", "source", "template", "parameters"})
    table.add_column(header, Align::left);
  for (const char* header : {"time_us", "ci_us", "tflops", "tied_with", "ran", "failed"})
    table.add_column(header, Align::right);
  for (const ChosenConfiguration& one : chosen) {
    if (!one.side) {
      table.add_row({label(one), "-", printable(one.trial.template_name), parameters.of(one.trial), "-", "-",
                     "-", "-", "-", "-"});
      continue;
    }
    const SideOfProblem& side = problem.sides[*one.side];
    const Standing& own = one.portability->on[*one.side];
    const bool has_interval = one.trial.ci_low_us && one.trial.ci_high_us;
    table.add_row({printable(comparison.sides[*one.side].name), std::string(name(side.source)),
                   printable(one.trial.template_name), parameters.of(one.trial), three_digits(own.time_us),
                   has_interval ? fmt::format("{}..{}", three_digits(*one.trial.ci_low_us),
                                              three_digits(*one.trial.ci_high_us))
                                : "-",
                   human_cell(one.trial, "tflops"), std::to_string(side.tied), std::to_string(side.ran),
                   std::to_string(side.failed)});
  }
  return table;
}

TextTable efficiency_table(const std::vector<ChosenConfiguration>& chosen, const Comparison& comparison,
                           const ComparedProblem& problem) {
  TextTable table;
  table.add_column("efficiency of the best of", Align::left);
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    if (!problem.sides[side].has_rows) continue;
    table.add_column(
        fmt::format("on {} ({})", printable(comparison.sides[side].name), name(problem.sides[side].source)),
        Align::right);
  }
  for (const char* header : {"harmonic_mean", "minimum", "pennycook"}) table.add_column(header, Align::right);
  for (const ChosenConfiguration& one : chosen) {
    std::vector<std::string> cells{one.side ? printable(comparison.sides[*one.side].name) : label(one)};
    for (std::size_t side = 0; side < problem.sides.size(); ++side) {
      if (problem.sides[side].has_rows) cells.push_back(efficiency_text(one.portability->on[side]));
    }
    for (const auto& value :
         {one.portability->harmonic_mean, one.portability->minimum, one.portability->pennycook})
      cells.push_back(figure(value));
    table.add_row(std::move(cells));
    if (!one.side) table.emphasise_last_row();
  }
  return table;
}

std::string marks_of(const std::vector<ChosenConfiguration>& chosen) {
  const auto any = [&](const std::function<bool(const Standing&)>& is) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const ChosenConfiguration& one) {
      return std::any_of(one.portability->on.begin(), one.portability->on.end(), is);
    });
  };
  std::string marks = "efficiency: the time of the side's best by the configuration's, at most 1";
  if (any([](const Standing& s) { return s.is_with_best; }))
    marks += "; =: cannot be told from the side's best";
  if (any([](const Standing& s) { return s.known == Known::screened; })) marks += "; ~: of few samples";
  if (any([](const Standing& s) { return s.known == Known::failed; })) marks += "; x: does not run there";
  return marks;
}

void write_problem(std::ostream& out, const Comparison& comparison, const ComparedProblem& problem,
                   const Databases& databases, bool markdown, bool colour) {
  const std::vector<ChosenConfiguration> chosen = chosen_configurations(problem, databases);
  VaryingParameters parameters;
  for (const ChosenConfiguration& one : chosen) parameters.add(one.trial);
  write_section(out, title_of(problem), "", configuration_table(chosen, comparison, problem, parameters),
                markdown, colour);
  write_lines(out, parameters.legend(), markdown);
  out << (markdown ? "\n" : "");
  efficiency_table(chosen, comparison, problem).write(out, markdown, colour);
  write_lines(out, {marks_of(chosen)}, markdown);
  write_lines(out, lines_under(comparison, problem), markdown);
}

void write_comparison_tables(std::ostream& out, const Comparison& comparison, const Databases& databases,
                             bool markdown, const ComparisonView& view) {
  const std::vector<std::string> above = lines_above(comparison);
  write_lines(out, above, markdown);
  bool first = above.empty();
  for (const ComparedProblem& problem : comparison.problems) {
    if (problem.sides_with_kernels() < 2) continue;
    if (!std::exchange(first, false)) out << '\n';
    write_problem(out, comparison, problem, databases, markdown, view.colour);
  }
  const std::vector<std::string> closing = closing_lines(comparison, view.fail_above);
  if (!closing.empty() && !first) out << '\n';
  write_lines(out, closing, markdown);
}

}  // namespace

std::string title_of(const ComparedProblem& problem) {
  const std::string on = problem.gpu.empty() ? "" : " on " + problem.gpu;
  const std::string under = problem.conditions.empty() ? "" : fmt::format(" ({})", problem.conditions);
  return printable(problem.problem + on + under);
}

std::string_view name(Known known) {
  switch (known) {
    case Known::unmeasured:
      return "unmeasured";
    case Known::failed:
      return "failed";
    case Known::screened:
      return "screened";
    case Known::timed:
      return "timed";
  }
  return "";
}

std::vector<ChosenConfiguration> chosen_configurations(const ComparedProblem& problem,
                                                       const Databases& databases) {
  std::vector<ChosenConfiguration> chosen;
  for (std::size_t side = 0; side < problem.best_of.size(); ++side) {
    const Portability& best = problem.best_of[side];
    if (!best.on.empty()) chosen.push_back({"", side, &best, databases.row(best.on[side].id)});
  }
  const auto add = [&](const char* largest, const std::optional<Portability>& portability) {
    if (!portability) return;
    const auto known = std::find_if(portability->on.begin(), portability->on.end(),
                                    [](const Standing& standing) { return standing.time_us > 0; });
    chosen.push_back({largest, {}, &*portability, databases.row(known->id)});
  };
  add("pennycook", problem.compromise);
  const bool same =
      problem.compromise && problem.safest && problem.compromise->minimum == problem.safest->minimum;
  if (!same) add("minimum", problem.safest);
  return chosen;
}

void write_comparison(std::ostream& out, const Comparison& comparison, const Databases& databases,
                      Format format, const ComparisonView& view) {
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_comparison_tables(out, comparison, databases, format == Format::markdown, view);
    case Format::json:
      return write_comparison_json(out, comparison, databases, view);
    case Format::csv:
      return write_comparison_csv(out, comparison, databases);
  }
}

}  // namespace tiletune
