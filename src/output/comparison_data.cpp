#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "output/cell_text.h"
#include "output/comparison.h"
#include "output/json_stream.h"
#include "output/view.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json names_of(const std::set<Source>& sources) {
  Json names = Json::array();
  for (const Source source : sources) names.push_back(name(source));
  return names;
}

Json sides_json(const Comparison& comparison) {
  Json sides = Json::array();
  for (const ComparedSide& side : comparison.sides) {
    sides.push_back({{"name", side.name},
                     {"gpus", side.gpus},
                     {"driver_versions", side.drivers},
                     {"sources", names_of(side.sources)},
                     {"problems", side.problems}});
  }
  return sides;
}

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
                    {"verified", standing.verified ? Json(*standing.verified) : Json()}});
  }
  return list;
}

Json configuration_json(const Comparison& comparison, const ChosenConfiguration& chosen) {
  Json object{{"best_of", chosen.side ? Json(comparison.sides[*chosen.side].name) : Json()},
              {"compromise", chosen.largest.empty() ? Json() : Json(chosen.largest)},
              {"template", chosen.trial.template_name},
              {"parameters", json_of(chosen.trial.parameters, CellType::json)},
              {"harmonic_mean", number(chosen.portability->harmonic_mean)},
              {"minimum", number(chosen.portability->minimum)},
              {"pennycook", number(chosen.portability->pennycook)}};
  object["on"] = standings_json(comparison, chosen.portability->on);
  return object;
}

Json sides_of_problem(const Comparison& comparison, const ComparedProblem& problem) {
  Json sides = Json::array();
  for (std::size_t i = 0; i < problem.sides.size(); ++i) {
    const SideOfProblem& side = problem.sides[i];
    if (!side.has_rows) continue;
    sides.push_back({{"side", comparison.sides[i].name},
                     {"gpu", side.gpu},
                     {"source", name(side.source)},
                     {"ran", side.ran},
                     {"screened", side.screened},
                     {"failed", side.failed},
                     {"undecided", side.undecided},
                     {"tied_with_best", side.tied},
                     {"sources_left_out", names_of(side.left_out)}});
  }
  return sides;
}

Json pairs_json(const Comparison& comparison, const ComparedProblem& problem) {
  Json pairs = Json::array();
  for (const PairOfSides& pair : problem.pairs) {
    pairs.push_back({{"sides", {comparison.sides[pair.first].name, comparison.sides[pair.second].name}},
                     {"common", pair.common},
                     {"spearman", number(pair.spearman)},
                     {"top_percent", pair.top},
                     {"top_percent_shared", pair.top_shared}});
  }
  return pairs;
}

Json problem_json(const Comparison& comparison, const ComparedProblem& problem, const Databases& databases) {
  Json object{{"problem", problem.problem}, {"conditions", problem.conditions}, {"cache", problem.cache}};
  object["gpu"] = problem.gpu.empty() ? Json() : Json(problem.gpu);
  object["sides"] = sides_of_problem(comparison, problem);
  object["configurations"] = Json::array();
  for (const ChosenConfiguration& chosen : chosen_configurations(problem, databases))
    object["configurations"].push_back(configuration_json(comparison, chosen));
  object["pairs"] = pairs_json(comparison, problem);
  object["common"] = problem.common;
  return object;
}

Json unmeasured_json(const Comparison& comparison, const Databases& databases) {
  Json list = Json::array();
  for (const UnmeasuredTransfer& transfer : unmeasured_transfers(comparison)) {
    const ComparedProblem& problem = comparison.problems[transfer.problem];
    const Trial row = databases.row(transfer.id);
    list.push_back({{"problem", problem.problem},
                    {"conditions", problem.conditions},
                    {"best_of", comparison.sides[transfer.from].name},
                    {"on", comparison.sides[transfer.to].name},
                    {"template", row.template_name},
                    {"parameters", json_of(row.parameters, CellType::json)}});
  }
  return list;
}

Json slower_json(const Comparison& comparison, const std::optional<double>& above) {
  if (!above) return nullptr;
  Json list = Json::array();
  for (const Slowdown& slower : slowdowns(comparison, *above)) {
    const ComparedProblem& problem = comparison.problems[slower.problem];
    list.push_back({{"problem", problem.problem},
                    {"conditions", problem.conditions},
                    {"first", comparison.sides[slower.first].name},
                    {"later", comparison.sides[slower.later].name},
                    {"percent", number(slower.percent)},
                    {"beyond_noise", slower.is_certain}});
  }
  return list;
}

Json unchecked_json(const Comparison& comparison, const std::optional<double>& above) {
  if (!above) return nullptr;
  Json list = Json::array();
  for (const Unchecked& lacking : unchecked(comparison)) {
    const ComparedProblem& problem = comparison.problems[lacking.problem];
    list.push_back({{"problem", problem.problem},
                    {"conditions", problem.conditions},
                    {"on", comparison.sides[lacking.side].name}});
  }
  return list;
}

/// All but the problems.
Json envelope_json(const Comparison& comparison, const Databases& databases,
                   const std::optional<double>& fail_above) {
  return {{"tiletune", kVersion},
          {"by", name(comparison.by)},
          {"mixes_sources", comparison.mixes_sources()},
          {"sides", sides_json(comparison)},
          {"unmeasured", unmeasured_json(comparison, databases)},
          {"slower", slower_json(comparison, fail_above)},
          {"unchecked", unchecked_json(comparison, fail_above)},
          {"problems", Json::array()}};
}

}  // namespace

Json comparison_json(const Comparison& comparison, const Databases& databases) {
  Json document = envelope_json(comparison, databases, {});
  for (const ComparedProblem& problem : comparison.problems)
    document["problems"].push_back(problem_json(comparison, problem, databases));
  return document;
}

void write_comparison_json(std::ostream& out, const Comparison& comparison, const Databases& databases,
                           const ComparisonView& view) {
  JsonArrayStream problems(out, envelope_json(comparison, databases, view.fail_above), 2);
  for (const ComparedProblem& problem : comparison.problems)
    problems.add(problem_json(comparison, problem, databases));
  problems.end();
  out << '\n';
}

void write_comparison_csv(std::ostream& out, const Comparison& comparison, const Databases& databases) {
  write_csv_record(
      out, {"problem", "conditions", "gpu", "configuration", "template", "parameters", "side", "source",
            "known", "time_us", "efficiency", "harmonic_mean", "minimum", "pennycook", "verified"});
  const auto text = [](const std::optional<double>& value) {
    return value ? exact_text(*value) : std::string();
  };
  for (const ComparedProblem& problem : comparison.problems) {
    for (const ChosenConfiguration& chosen : chosen_configurations(problem, databases)) {
      const Portability& portability = *chosen.portability;
      const std::string what = chosen.side ? "best of " + comparison.sides[*chosen.side].name
                                           : "compromise: largest " + chosen.largest;
      for (std::size_t side = 0; side < portability.on.size(); ++side) {
        const Standing& on = portability.on[side];
        const bool is_known = on.known != Known::unmeasured;
        const bool has = problem.sides[side].has_rows;
        write_csv_record(
            out, {problem.problem, problem.conditions, problem.gpu, what, chosen.trial.template_name,
                  chosen.trial.parameters, comparison.sides[side].name,
                  has ? std::string(name(problem.sides[side].source)) : "", std::string(name(on.known)),
                  on.time_us > 0 ? exact_text(on.time_us) : "", is_known ? exact_text(on.efficiency) : "",
                  text(portability.harmonic_mean), text(portability.minimum), text(portability.pennycook),
                  on.verified ? (*on.verified ? "true" : "false") : ""});
      }
    }
  }
}

}  // namespace tiletune
