#include "output/comparison.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"
#include "base/text.h"
#include "output/cell_text.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// "4096x4096x4096 on NVIDIA H200 (gemm, f32, alpha=1 beta=0, cold)"
std::string title_of(const ComparedProblem& problem) {
  std::string title = problem.problem + (problem.gpu.empty() ? "" : " on " + problem.gpu);
  return printable(problem.conditions.empty() ? title : fmt::format("{} ({})", title, problem.conditions));
}

std::vector<std::string> names_of(const std::set<Source>& sources) {
  std::vector<std::string> names;
  for (const Source source : sources) names.emplace_back(name(source));
  return names;
}

std::string side_name(const Comparison& comparison, std::size_t side) {
  return printable(comparison.sides.at(side).name);
}

std::string pair_line(const Comparison& comparison, const PairOfSides& pair) {
  const std::string sides =
      fmt::format("{} and {}", side_name(comparison, pair.first), side_name(comparison, pair.second));
  if (pair.common == 0) return fmt::format("{}: no configuration ran on both", sides);
  const std::string spearman = pair.spearman ? fmt::format("Spearman {:.3f} over", *pair.spearman)
                                             : std::string("no rank correlation in");
  std::string text = fmt::format("{}: {} {} common configuration{}", sides, spearman, pair.common,
                                 pair.common == 1 ? "" : "s");
  // One percent of a few configurations says nothing.
  constexpr std::size_t kFewestInTop = 5;
  if (pair.top < kFewestInTop) return text;
  return text + fmt::format("; of the fastest 1% on each ({}) {} the same", pair.top,
                            pair.top_shared == 1 ? "1 is" : fmt::format("{:.4g} are", pair.top_shared));
}

/// "+2.1% (+1.4 to +2.8) slower", without an interval where the noise is not known.
std::string text_of(const Difference& difference) {
  std::string text = fmt::format("{:+.1f}%", difference.percent);
  if (std::isfinite(difference.noise_percent))
    text += fmt::format(" ({:+.1f} to {:+.1f})", difference.low_percent, difference.high_percent);
  return text.append(1, ' ').append(name(difference.verdict));
}

std::string slowdown_line(const Comparison& comparison, const Slowdown& slower, double above) {
  const ComparedProblem& problem = comparison.problems[slower.problem];
  const SideOfProblem& later = problem.sides[slower.side];
  const std::string first_name = side_name(comparison, problem.first_side);
  const std::string later_name = side_name(comparison, slower.side);
  if (!later.has_kernels)
    return fmt::format("slower: {}: runs on {}, no longer on {}, where {} failed", title_of(problem),
                       first_name, later_name, counted(later.failed + later.undecided, "configuration"));
  return fmt::format("{}slower: {}: the fastest takes {} us on {}, {} us on {}: {}, {}",
                     slower.is_certain ? "" : "may be ", title_of(problem),
                     three_digits(problem.sides[problem.first_side].fastest.time_us), first_name,
                     three_digits(later.fastest.time_us), later_name, text_of(*later.difference),
                     slower.is_certain ? fmt::format("above {}% and the noise", above)
                                       : fmt::format("may be within {}% or the noise", above));
}

std::string first_few(const std::vector<std::string>& problems) {
  constexpr std::size_t kMostShown = 5;
  if (problems.size() <= kMostShown) return join(problems, ", ");
  return fmt::format("{}, and {} more", join(std::span(problems).first(kMostShown), ", "),
                     problems.size() - kMostShown);
}

/// What is said above all tables: that sources are mixed, and that there are several GPUs where these are no
/// sides.
Lines lines_above(const Comparison& comparison) {
  Lines lines;
  std::vector<std::string> sources;
  for (const ComparedSide& side : comparison.sides)
    if (!side.sources.empty())
      sources.push_back(fmt::format("{} {}", printable(side.name), join(names_of(side.sources), " and ")));
  if (comparison.mixes_sources())
    lines.push_back(
        fmt::format("warning: times of different sources are shown side by side: {}", join(sources, "; ")));
  const std::string_view statistic = name(comparison.statistic);
  if (comparison.statistic != Statistic::median)
    lines.push_back(fmt::format("time_us is the {} of each row's samples (--statistic)", statistic));
  if (comparison.other_statistic > 0)
    lines.push_back(fmt::format("note: {} without a {}, compared by {} instead",
                                counted(comparison.other_statistic, "row"), statistic,
                                comparison.statistic == Statistic::median ? "a mean"
                                : comparison.statistic == Statistic::mean ? "a median"
                                                                          : "a median or mean"));
  // Where sides are no GPUs, times of several stand in one comparison, each problem on its own.
  std::set<std::string> gpus;
  for (const ComparedProblem& problem : comparison.problems) gpus.insert(problem.gpu);
  if (comparison.by == CompareBy::gpu || gpus.size() < 2) return lines;
  std::vector<std::string> sides;
  for (const ComparedSide& side : comparison.sides)
    sides.push_back(fmt::format("{} of {}", side.name, fmt::join(side.gpus, ", ")));
  lines.push_back(printable(
      fmt::format("note: there are several GPUs, and each is compared on its own (--gpu picks one): {}",
                  join(sides, "; "))));
  return lines;
}

bool has_unverified(const Portability& shown) {
  return std::ranges::any_of(shown.on, [](const Standing& on) { return on.verified == false; });
}

/// Under a problem's tables: pairs of sides, joined templates, what is rough, left out or unmeasured.
Lines lines_under(const Comparison& comparison, const ComparedProblem& problem) {
  Lines lines;
  for (const PairOfSides& pair : problem.pairs) lines.push_back(pair_line(comparison, pair));
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    const SideOfProblem& facts = problem.sides[side];
    if (facts.screened > 0)
      lines.push_back(fmt::format(
          "{}: {} of {} configurations were dropped as slow (~); their times come from few samples",
          side_name(comparison, side), facts.screened, facts.ran));
  }
  for (std::string& line : notes_on(comparison, problem)) lines.push_back(std::move(line));
  // "the best of A100 40GB on H100 SXM, NVIDIA H200", by what is lacking.
  for (std::size_t from = 0; from < problem.best_of.size(); ++from) {
    std::vector<std::string> lacking;
    const std::vector<Standing>& on = problem.best_of[from].on;
    for (std::size_t to = 0; to < on.size(); ++to)
      if (on[to].known == Known::unmeasured) lacking.push_back(side_name(comparison, to));
    if (lacking.empty()) continue;
    // Kernels of other tools seldom have a template here.
    const bool is_foreign = problem.sides[from].source == Source::imported;
    lines.push_back(fmt::format(
        "unmeasured (?): the best of {} on {}; --fill FILE writes the config that measures it{}",
        side_name(comparison, from), join(lacking, ", "), is_foreign ? " if its template exists here" : ""));
  }
  if (!problem.compromise) lines.emplace_back("no compromise: no configuration ran on every side");
  return lines;
}

/// At the end: problems of one side alone, and what is slower than asked for.
Lines closing_lines(const Comparison& comparison, std::optional<double> fail_above) {
  Lines lines;
  std::map<std::size_t, std::vector<std::string>> alone;  // problems of one side, by that side
  for (const ComparedProblem& problem : comparison.problems) {
    if (problem.sides_with_kernels() != 1) continue;
    std::string title = title_of(problem);
    for (std::size_t side = 0; side < problem.sides.size(); ++side) {
      const SideOfProblem& facts = problem.sides[side];
      if (facts.has_rows && !facts.has_kernels)
        title += fmt::format(", of which nothing ran on {}", side_name(comparison, side));
    }
    alone[problem.first_side].push_back(std::move(title));
  }
  for (const auto& [side, problems] : alone)
    lines.push_back(fmt::format("only {} has {}", side_name(comparison, side), first_few(problems)));
  if (!fail_above) return lines;
  const std::vector<Slowdown> slower = slowdowns(comparison, *fail_above);
  for (const Slowdown& each : slower) lines.push_back(slowdown_line(comparison, each, *fail_above));
  if (slower.empty())
    lines.push_back(fmt::format(
        "no problem's fastest is more than {}% slower than on the first side where it ran", *fail_above));
  std::map<std::size_t, std::vector<std::string>> lacking;
  for (const Unchecked& each : unchecked(comparison))
    lacking[each.side].push_back(title_of(comparison.problems[each.problem]));
  for (const auto& [side, problems] : lacking)
    lines.push_back(
        fmt::format("not checked: {} has no row of {}", side_name(comparison, side), first_few(problems)));
  return lines;
}

/// A configuration that a comparison shows, with a row that says what it is.
struct ChosenConfiguration {
  std::string largest;              ///< of a compromise: "pennycook" or "minimum"
  std::optional<std::size_t> side;  ///< whose best it is
  const Portability* portability = nullptr;
  Trial trial;
};

/// The best of each side; then the compromises, of which the second is left out where it is as good as the
/// first.
std::vector<ChosenConfiguration> chosen_configurations(const Comparison& comparison,
                                                       const ComparedProblem& problem,
                                                       const Databases& databases) {
  std::vector<ChosenConfiguration> chosen;
  const auto row_of = [&](std::int64_t id) {
    Trial row = databases.row(id);
    take_statistic(comparison.statistic, row);
    return row;
  };
  for (std::size_t side = 0; side < problem.best_of.size(); ++side) {
    const Portability& best = problem.best_of[side];
    if (!best.on.empty()) chosen.push_back({"", side, &best, row_of(best.on[side].id)});
  }
  if (!problem.compromise) return chosen;
  const auto add = [&](const char* largest, const Portability& portability) {
    const auto known =
        std::ranges::find_if(portability.on, [](const Standing& standing) { return standing.time_us > 0; });
    chosen.push_back({largest, {}, &portability, row_of(known->id)});
  };
  add("pennycook", *problem.compromise);
  if (problem.compromise->minimum != problem.safest->minimum) add("minimum", *problem.safest);
  return chosen;
}

/// How much of a table's text gives way to its width.
enum class SideNames { everywhere, in_rows, nowhere };

/// What people get of a problem.
struct ProblemPage {
  const Comparison& comparison;
  const ComparedProblem& problem;
  std::vector<ChosenConfiguration> chosen;

  /// "[2] NVIDIA H200", or "[2]" of a table without room for names.
  std::string side_label(std::size_t side, bool with_name) const {
    return fmt::format("[{}]{}", side + 1, with_name ? " " + side_name(comparison, side) : "");
  }

  std::string row_label(const ChosenConfiguration& one, SideNames names) const {
    return one.side ? side_label(*one.side, names != SideNames::nowhere) : "largest " + one.largest;
  }

  std::vector<std::size_t> sides_with_rows() const {
    std::vector<std::size_t> sides;
    for (std::size_t side = 0; side < problem.sides.size(); ++side)
      if (problem.sides[side].has_rows) sides.push_back(side);
    return sides;
  }

  bool any(bool (*is)(const Standing&)) const {
    return std::ranges::any_of(
        chosen, [&](const ChosenConfiguration& one) { return std::ranges::any_of(one.portability->on, is); });
  }

  /// "[1] NVIDIA H200: sgemm_warptile BM=128": what the numbers stand for in the tables. A configuration
  /// whose results were compared with nothing on its side is marked; a compromise, on any.
  Lines legend(const VaryingParameters& parameters) const {
    Lines lines;
    const auto add = [&](const std::string& whose, const ChosenConfiguration& one) {
      const bool is_marked =
          one.side ? one.portability->on[*one.side].verified == false : has_unverified(*one.portability);
      const std::string own = parameters.of(one.trial);
      lines.push_back(fmt::format("{}: {}{}{}", whose, printable(one.trial.template_name),
                                  own == "-" ? "" : " " + own, is_marked ? " (unverified)" : ""));
    };
    for (const std::size_t side : sides_with_rows()) {
      const std::string whose = side_label(side, true);
      const auto best = std::ranges::find(chosen, side, &ChosenConfiguration::side);
      if (best == chosen.end())
        lines.push_back(whose + ": nothing ran");
      else
        add(whose, *best);
    }
    for (const ChosenConfiguration& one : chosen) {
      const std::string score = one.largest == "pennycook" ? "Pennycook score" : one.largest;
      if (!one.side) add(fmt::format("best compromise (largest {})", score), one);
    }
    return lines;
  }

  TextTable time_table(SideNames names) const {
    Throughput throughput;
    for (const ChosenConfiguration& one : chosen) throughput.add(one.trial);
    const std::string rate = throughput.column();
    const std::vector<ViewColumn> columns{{"best of"},
                                          {"source"},
                                          {"time_us", CellType::real},
                                          {"ci_us", CellType::real},
                                          {rate, CellType::real},
                                          {"tied_with", CellType::integer},
                                          {"ran", CellType::integer},
                                          {"failed", CellType::integer},
                                          {"difference"}};
    return table_of(columns, [&](const auto& visit) {
      for (const ChosenConfiguration& one : chosen) {
        if (!one.side) continue;
        const SideOfProblem& side = problem.sides[*one.side];
        visit({row_label(one, names), std::string(name(side.source)), one.portability->on[*one.side].time_us,
               field_by_name("ci_us").read({one.trial}), field_by_name(rate).read({one.trial}),
               count_cell(side.tied), count_cell(side.ran), count_cell(side.failed),
               side.difference ? text_of(*side.difference) : ""});
      }
    });
  }

  TextTable efficiency_table(SideNames names) const {
    TextTable table;
    table.add_column("efficiency of", Align::left);
    for (const std::size_t side : sides_with_rows())
      table.add_column("on " + side_label(side, names == SideNames::everywhere), Align::right);
    table.add_columns({"harmonic_mean", "minimum", "pennycook"}, Align::right);
    for (const ChosenConfiguration& one : chosen) {
      std::vector<std::string> cells{row_label(one, names)};
      for (const std::size_t side : sides_with_rows()) {  // "0.97", marked for what it is worth
        const Standing& on = one.portability->on[side];
        const char* mark = on.known == Known::screened ? "~" : on.is_with_best ? "=" : " ";
        cells.push_back(on.known == Known::unmeasured ? "?"
                        : on.known == Known::failed   ? "x"
                                                      : fmt::format("{:.3f}{}", on.efficiency, mark));
      }
      for (const auto& value :
           {one.portability->harmonic_mean, one.portability->minimum, one.portability->pennycook})
        cells.push_back(value ? three_digits(*value) : "-");
      table.add_row(std::move(cells));
      if (!one.side) table.emphasise_last_row();
    }
    return table;
  }

  /// With as many names as there is room for.
  TextTable fitting(TextTable (ProblemPage::*table)(SideNames) const, std::size_t width) const {
    for (const SideNames names : {SideNames::everywhere, SideNames::in_rows}) {
      TextTable wide = (this->*table)(names);
      if (wide.width() <= width) return wide;
    }
    return (this->*table)(SideNames::nowhere);
  }

  ViewPage page(std::size_t width) const {
    VaryingParameters parameters;
    for (const ChosenConfiguration& one : chosen) parameters.add(one.trial);
    std::string marks = "efficiency: the side's best time / the configuration's, at most 1";
    if (any([](const Standing& s) { return s.is_with_best; }))
      marks += "; =: cannot be distinguished from the side's best";
    if (any([](const Standing& s) { return s.known == Known::screened; })) marks += "; ~: few samples";
    if (any([](const Standing& s) { return s.known == Known::failed; })) marks += "; x: does not run there";
    if (any([](const Standing& s) { return s.verified == false; }))
      marks += "; unverified: results that were compared with nothing";
    const auto lacks_noise = [](const SideOfProblem& s) { return s.has_kernels && !s.noise_floor_percent; };
    const bool is_assumed = std::ranges::any_of(problem.sides, lacks_noise);
    return {
        legend(parameters),
        parameters.legend(),
        fitting(&ProblemPage::time_table, width),
        fitting(&ProblemPage::efficiency_table, width),
        Lines{marks,
              "pennycook: harmonic mean over all sides, 0 if it fails on one; Spearman: rank correlation, "
              "1 if the order is the same",
              fmt::format(
                  "difference: the fastest against the first side's, 95% interval; same: within {}%; "
                  "faster, slower: beyond the noise{}",
                  kSamePercent,
                  is_assumed ? fmt::format(" ({}% assumed without finals)", kAssumedNoisePercent) : "")},
        lines_under(comparison, problem)};
  }
};

Json standings_json(const Comparison& comparison, const std::vector<Standing>& on) {
  Json list = Json::array();
  for (std::size_t side = 0; side < on.size(); ++side) {
    const Standing& standing = on[side];
    const bool ran = standing.time_us > 0;
    const bool is_known = standing.known != Known::unmeasured;
    list.push_back({{"side", comparison.sides[side].name},
                    {"known", name(standing.known)},
                    {"time_us", ran ? Json(standing.time_us) : Json()},
                    {"low_us", ran ? Json(standing.low_us) : Json()},
                    {"high_us", ran ? Json(standing.high_us) : Json()},
                    {"efficiency", is_known ? Json(standing.efficiency) : Json()},
                    {"is_with_best", standing.is_with_best},
                    {"verified", or_null(standing.verified)}});
  }
  return list;
}

void add_problem(Json& object, const Comparison& comparison, const ComparedProblem& problem,
                 const Databases& databases) {
  object = {{"problem", problem.problem}, {"conditions", problem.conditions}, {"cache", problem.cache}};
  object["gpu"] = problem.gpu.empty() ? Json() : Json(problem.gpu);
  object["sides"] = Json::array();
  for (std::size_t i = 0; i < problem.sides.size(); ++i) {
    const SideOfProblem& side = problem.sides[i];
    if (!side.has_rows) continue;
    object["sides"].push_back({{"side", comparison.sides[i].name},
                               {"gpu", side.gpu},
                               {"source", name(side.source)},
                               {"ran", side.ran},
                               {"screened", side.screened},
                               {"failed", side.failed},
                               {"undecided", side.undecided},
                               {"tied_with_best", side.tied},
                               {"sources_left_out", names_of(side.left_out)},
                               {"noise_floor_percent", or_null(side.noise_floor_percent)},
                               {"difference", Json()}});
    if (const auto& difference = side.difference)
      object["sides"].back()["difference"] = {{"percent", difference->percent},
                                              {"low_percent", difference->low_percent},
                                              {"high_percent", difference->high_percent},
                                              {"noise_percent", difference->noise_percent},
                                              {"verdict", name(difference->verdict)}};
  }
  object["configurations"] = Json::array();
  for (const ChosenConfiguration& chosen : chosen_configurations(comparison, problem, databases))
    object["configurations"].push_back(
        {{"best_of", chosen.side ? Json(comparison.sides[*chosen.side].name) : Json()},
         {"compromise", chosen.largest.empty() ? Json() : Json(chosen.largest)},
         {"template", chosen.trial.template_name},
         {"parameters", json_of(chosen.trial.parameters, CellType::json)},
         {"harmonic_mean", or_null(chosen.portability->harmonic_mean)},
         {"minimum", or_null(chosen.portability->minimum)},
         {"pennycook", or_null(chosen.portability->pennycook)},
         {"on", standings_json(comparison, chosen.portability->on)}});
  object["pairs"] = Json::array();
  for (const PairOfSides& pair : problem.pairs)
    object["pairs"].push_back(
        {{"sides", {comparison.sides[pair.first].name, comparison.sides[pair.second].name}},
         {"common", pair.common},
         {"spearman", or_null(pair.spearman)},
         {"top_percent", pair.top},
         {"top_percent_shared", pair.top_shared}});
  object["common"] = problem.common;
}

/// All but the problems.
void add_head(Json& document, const Comparison& comparison, const Databases& databases,
              const std::optional<double>& fail_above) {
  const auto of_problem = [&](std::size_t place) -> Json {
    const ComparedProblem& problem = comparison.problems[place];
    return {{"problem", problem.problem}, {"conditions", problem.conditions}};
  };
  document.update({{"by", name(comparison.by)},
                   {"statistic", name(comparison.statistic)},
                   {"other_statistic", comparison.other_statistic},
                   {"mixes_sources", comparison.mixes_sources()}});
  for (const char* list : {"sides", "unmeasured"}) document[list] = Json::array();
  for (const char* list : {"slower", "unchecked"}) document[list] = fail_above ? Json::array() : Json();
  for (const ComparedSide& side : comparison.sides)
    document["sides"].push_back({{"name", side.name},
                                 {"gpus", side.gpus},
                                 {"driver_versions", side.drivers},
                                 {"sources", names_of(side.sources)},
                                 {"problems", side.problems}});
  for (const UnmeasuredTransfer& transfer : unmeasured_transfers(comparison)) {
    Json& lacking = document["unmeasured"].emplace_back(of_problem(transfer.problem));
    lacking["best_of"] = comparison.sides[transfer.from].name;
    lacking["on"] = comparison.sides[transfer.to].name;
    const Trial row = databases.row(transfer.id);
    lacking["template"] = row.template_name;
    lacking["parameters"] = json_of(row.parameters, CellType::json);
  }
  if (!fail_above) return;
  for (const Slowdown& slowdown : slowdowns(comparison, *fail_above)) {
    Json& slower = document["slower"].emplace_back(of_problem(slowdown.problem));
    const ComparedProblem& problem = comparison.problems[slowdown.problem];
    slower["first"] = comparison.sides[problem.first_side].name;
    slower["later"] = comparison.sides[slowdown.side].name;
    slower["percent"] = problem.sides[slowdown.side].difference->percent;
    slower["beyond_noise"] = slowdown.is_certain;
  }
  for (const Unchecked& lacking : unchecked(comparison))
    document["unchecked"].emplace_back(of_problem(lacking.problem))["on"] =
        comparison.sides[lacking.side].name;
}

/// A record for each configuration and side.
void visit_rows(const Comparison& comparison, const ComparedProblem& problem, const Databases& databases,
                const std::function<void(const ViewRow&)>& visit) {
  for (const ChosenConfiguration& chosen : chosen_configurations(comparison, problem, databases)) {
    const Portability& portability = *chosen.portability;
    const std::string what = chosen.side ? "best of " + comparison.sides[*chosen.side].name
                                         : "compromise: largest " + chosen.largest;
    for (std::size_t side = 0; side < portability.on.size(); ++side) {
      const Standing& on = portability.on[side];
      const SideOfProblem& facts = problem.sides[side];
      const auto& difference = facts.difference;
      visit({problem.problem, problem.conditions, problem.gpu, what, chosen.trial.template_name,
             chosen.trial.parameters, comparison.sides[side].name,
             facts.has_rows ? std::string(name(facts.source)) : "", std::string(name(on.known)),
             on.time_us > 0 ? Cell(on.time_us) : Cell(),
             on.known != Known::unmeasured ? Cell(on.efficiency) : Cell(),
             cell_or_null(portability.harmonic_mean), cell_or_null(portability.minimum),
             cell_or_null(portability.pennycook), on.verified ? fmt::format("{}", *on.verified) : "",
             difference ? Cell(difference->percent) : Cell(),
             difference ? Cell(difference->low_percent) : Cell(),
             difference ? Cell(difference->high_percent) : Cell(),
             difference ? std::string(name(difference->verdict)) : ""});
    }
  }
}

}  // namespace

Lines notes_on(const Comparison& comparison, const ComparedProblem& problem) {
  Lines lines;
  for (std::size_t side = 0; side < problem.sides.size(); ++side) {
    const SideOfProblem& facts = problem.sides[side];
    if (!facts.left_out.empty())
      lines.push_back(fmt::format(
          "{}: {} times are left out, because there are {} ones (--source picks others)",
          side_name(comparison, side), join(names_of(facts.left_out), " and "), name(facts.source)));
  }
  return lines;
}

ViewDocument comparison_view(const Comparison& comparison, const Databases& databases,
                             std::optional<double> fail_above) {
  ViewDocument view{"problems"};
  for (const char* name :
       {"problem", "conditions", "gpu", "configuration", "template", "parameters", "side", "source", "known",
        "time_us", "efficiency", "harmonic_mean", "minimum", "pennycook", "verified", "difference_percent",
        "difference_low_percent", "difference_high_percent", "verdict"})
    view.columns.push_back({name});
  view.is_dense = true;
  view.above = lines_above(comparison);
  view.closing = closing_lines(comparison, fail_above);
  view.add_head = [&comparison, &databases, fail_above](Json& document) {
    add_head(document, comparison, databases, fail_above);
  };
  add_sections(view, std::span(comparison.problems), [&](const ComparedProblem& problem) {
    ViewSection section;
    section.title = title_of(problem);
    section.is_for_people = problem.sides_with_kernels() > 1;
    section.page = [&](std::size_t width) {
      return ProblemPage{comparison, problem, chosen_configurations(comparison, problem, databases)}.page(
          width);
    };
    section.add_facts = [&](Json& facts) { add_problem(facts, comparison, problem, databases); };
    section.rows = [&](const auto& visit) { visit_rows(comparison, problem, databases, visit); };
    return section;
  });
  return view;
}

}  // namespace tiletune
