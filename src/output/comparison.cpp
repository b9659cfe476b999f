#include "output/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "output/display.h"
#include "output/group_table.h"
#include "output/view.h"

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

/// How much of a table's text gives way to its width.
enum class SideNames { everywhere, in_rows, nowhere };

/// "[2] NVIDIA H200", or "[2]" of a table without room for names.
std::string side_label(const Comparison& comparison, std::size_t side, bool with_name) {
  const std::string number = fmt::format("[{}]", side + 1);
  return with_name ? number + " " + printable(comparison.sides[side].name) : number;
}

std::string row_label(const ChosenConfiguration& one, const Comparison& comparison, SideNames names) {
  return one.side ? side_label(comparison, *one.side, names != SideNames::nowhere) : "largest " + one.largest;
}

std::string compromise_label(const std::string& largest) {
  return largest == "pennycook" ? "best compromise (largest Pennycook score)"
                                : fmt::format("best compromise (largest {})", largest);
}

/// " (unverified)" of a configuration whose results were compared with nothing on its side; of a compromise,
/// on any.
std::string unverified_mark(const ChosenConfiguration& one) {
  const auto is_unverified = [](const Standing& standing) { return standing.verified == false; };
  const std::vector<Standing>& on = one.portability->on;
  const bool is_marked = one.side ? is_unverified(on[*one.side]) : std::ranges::any_of(on, is_unverified);
  return is_marked ? " (unverified)" : "";
}

/// "[1] NVIDIA H200: sgemm_warptile BM=128": what the numbers stand for in the tables.
std::vector<std::string> legend_of(const std::vector<ChosenConfiguration>& chosen,
                                   const Comparison& comparison, const ComparedProblem& problem,
                                   const VaryingParameters& parameters) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& whose, const ChosenConfiguration& one) {
    const std::string own = parameters.of(one.trial);
    std::string text = fmt::format("{}: {}", whose, printable(one.trial.template_name));
    if (own != "-") text += " " + own;
    lines.push_back(text + unverified_mark(one));
  };
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    if (!problem.sides[side].has_rows) continue;
    const std::string whose = side_label(comparison, side, true);
    const auto best = std::find_if(chosen.begin(), chosen.end(),
                                   [&](const ChosenConfiguration& one) { return one.side == side; });
    if (best == chosen.end())
      lines.push_back(whose + ": nothing ran");
    else
      add(whose, *best);
  }
  for (const ChosenConfiguration& one : chosen) {
    if (!one.side) add(compromise_label(one.largest), one);
  }
  return lines;
}

std::string interval_of(const Trial& trial) {
  if (!trial.ci_low_us || !trial.ci_high_us) return "-";
  return fmt::format("{}..{}", three_digits(*trial.ci_low_us), three_digits(*trial.ci_high_us));
}

TextTable time_table(const std::vector<ChosenConfiguration>& chosen, const Comparison& comparison,
                     const ComparedProblem& problem, SideNames names) {
  Throughput throughput;
  for (const ChosenConfiguration& one : chosen) throughput.add(one.trial);
  const std::string rate = throughput.column();
  TextTable table;
  for (const char* header : {"best of", "source"}) table.add_column(header, Align::left);
  for (const char* header : {"time_us", "ci_us", rate.c_str(), "tied_with", "ran", "failed"})
    table.add_column(header, Align::right);
  for (const ChosenConfiguration& one : chosen) {
    if (!one.side) continue;
    const SideOfProblem& side = problem.sides[*one.side];
    table.add_row({row_label(one, comparison, names), std::string(name(side.source)),
                   three_digits(one.portability->on[*one.side].time_us), interval_of(one.trial),
                   human_cell(one.trial, rate), std::to_string(side.tied), std::to_string(side.ran),
                   std::to_string(side.failed)});
  }
  return table;
}

TextTable efficiency_table(const std::vector<ChosenConfiguration>& chosen, const Comparison& comparison,
                           const ComparedProblem& problem, SideNames names) {
  TextTable table;
  table.add_column("efficiency of", Align::left);
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    if (!problem.sides[side].has_rows) continue;
    table.add_column("on " + side_label(comparison, side, names == SideNames::everywhere), Align::right);
  }
  for (const char* header : {"harmonic_mean", "minimum", "pennycook"}) table.add_column(header, Align::right);
  for (const ChosenConfiguration& one : chosen) {
    std::vector<std::string> cells{row_label(one, comparison, names)};
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

/// With as many names as there is room for.
template <typename MakeTable>
TextTable fitting(const MakeTable& table, std::size_t width) {
  for (const SideNames names : {SideNames::everywhere, SideNames::in_rows}) {
    TextTable wide = table(names);
    if (wide.width() <= width) return wide;
  }
  return table(SideNames::nowhere);
}

std::string marks_of(const std::vector<ChosenConfiguration>& chosen) {
  const auto any = [&](const std::function<bool(const Standing&)>& is) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const ChosenConfiguration& one) {
      return std::any_of(one.portability->on.begin(), one.portability->on.end(), is);
    });
  };
  std::string marks = "efficiency: the side's best time / the configuration's, at most 1";
  if (any([](const Standing& s) { return s.is_with_best; }))
    marks += "; =: cannot be distinguished from the side's best";
  if (any([](const Standing& s) { return s.known == Known::screened; })) marks += "; ~: few samples";
  if (any([](const Standing& s) { return s.known == Known::failed; })) marks += "; x: does not run there";
  return marks;
}

constexpr const char* kMetrics =
    "pennycook: harmonic mean over all sides, 0 if it fails on one; Spearman: rank correlation, 1 if the "
    "order "
    "is the same";

/// In what form tables and lines are written.
struct Form {
  bool markdown;
  bool colour;
  std::size_t width;

  void write(std::ostream& out, const std::vector<std::string>& lines) const {
    write_lines(out, lines, markdown, width);
  }
  void write(std::ostream& out, const TextTable& table) const {
    out << (markdown ? "\n" : "");
    write_table(out, table, markdown, {colour, width});
  }
};

void write_problem(std::ostream& out, const Comparison& comparison, const ComparedProblem& problem,
                   const Databases& databases, const Form& form) {
  const std::vector<ChosenConfiguration> chosen = chosen_configurations(problem, databases);
  VaryingParameters parameters;
  for (const ChosenConfiguration& one : chosen) parameters.add(one.trial);
  write_title(out, title_of(problem), form.markdown, form.width);
  form.write(out, legend_of(chosen, comparison, problem, parameters));
  form.write(out, parameters.legend());
  const auto times = [&](SideNames names) { return time_table(chosen, comparison, problem, names); };
  const auto efficiencies = [&](SideNames names) {
    return efficiency_table(chosen, comparison, problem, names);
  };
  form.write(out, fitting(times, form.width));
  form.write(out, fitting(efficiencies, form.width));
  form.write(out, {marks_of(chosen), kMetrics});
  form.write(out, lines_under(comparison, problem));
}

void write_comparison_tables(std::ostream& out, const Comparison& comparison, const Databases& databases,
                             const std::optional<double>& fail_above, const Form& form) {
  const std::vector<std::string> above = lines_above(comparison);
  form.write(out, above);
  bool first = above.empty();
  for (const ComparedProblem& problem : comparison.problems) {
    if (problem.sides_with_kernels() < 2) continue;
    if (!std::exchange(first, false)) out << '\n';
    write_problem(out, comparison, problem, databases, form);
  }
  const std::vector<std::string> closing = closing_lines(comparison, fail_above);
  if (!closing.empty() && !first) out << '\n';
  form.write(out, closing);
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
  const bool markdown = format == Format::markdown;
  const Form form{markdown, view.colour, markdown ? kAnyWidth : view.width};
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_comparison_tables(out, comparison, databases, view.fail_above, form);
    case Format::json:
      return write_comparison_json(out, comparison, databases, view);
    case Format::csv:
      return write_comparison_csv(out, comparison, databases);
  }
}

}  // namespace tiletune
