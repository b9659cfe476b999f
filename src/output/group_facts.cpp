#include "output/group_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "tune/ceilings.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The first kernel, or the first of finals.
template <typename Condition>
std::optional<Trial> first_kernel(const RankingGroup& group, const Database& database, Condition condition) {
  const auto found = std::find_if(group.rows.begin(), group.rows.end(),
                                  [&](const RankedRow& row) { return row.rank != 0 && condition(row); });
  return found == group.rows.end() ? std::nullopt : std::optional(database.row(found->id));
}

void add_finalist(GroupFacts& facts, const Trial& trial) {
  const bool is_baseline = trial.kind == "baseline";
  if (is_baseline) facts.final_baselines.push_back(trial.template_name);
  if (!is_baseline) ++facts.finalists;
  facts.final_rounds = std::max(facts.final_rounds, trial.sample_count.value_or(0));
}

void add_discards(GroupFacts& facts, const Trial& trial) {
  facts.discarded_samples += static_cast<std::uint64_t>(trial.discarded_samples.value_or(0));
  for (const std::string& reason : split(trial.throttle_reasons, ',')) {
    const std::string name = reason.substr(std::min(reason.find_first_not_of(' '), reason.size()));
    if (!name.empty()) facts.throttle_reasons.insert(name);
  }
}

std::string percent(double value) { return three_digits(value) + "%"; }

std::string finals_line(const GroupFacts& facts) {
  std::string line =
      fmt::format("final: {} configuration{}", facts.finalists, facts.finalists == 1 ? "" : "s");
  if (!facts.final_baselines.empty()) line += " and " + join(facts.final_baselines, ", ");
  line += fmt::format(", interleaved in {} rounds", facts.final_rounds);
  if (facts.noise_floor_percent) {
    line += fmt::format("; two copies of one kernel differ by at most {} here (noise floor)",
                        percent(*facts.noise_floor_percent));
  }
  return line;
}

std::string discards_line(const GroupFacts& facts) {
  std::string line = fmt::format("{} sample{} discarded: SM clock below 90% of the run's",
                                 facts.discarded_samples, facts.discarded_samples == 1 ? "" : "s");
  if (!facts.throttle_reasons.empty())
    line += fmt::format(", throttled by {}", fmt::join(facts.throttle_reasons, ", "));
  return line;
}

std::string floor_line(const CalibrationRecord& floor) {
  std::string line = fmt::format("the method's floor: an empty kernel is reported to take {} us",
                                 three_digits(floor.empty_kernel_us));
  if (floor.empty_kernel_batch_us > 0)
    line += fmt::format("; {} us in a batch", three_digits(floor.empty_kernel_batch_us));
  return line;
}

std::string ceilings_line(const CalibrationRecord& measured, const std::string& pipe) {
  constexpr double kPerThousand = 1e-3;
  std::string arithmetic =
      fmt::format("{} TFLOP/s of FP32 multiply-adds", three_digits(measured.ffma_tflops));
  if (pipe != "fp32" && ceiling_of(pipe, measured) > 0)
    arithmetic += fmt::format(", {} of {}", three_digits(ceiling_of(pipe, measured)), pipe_text(pipe));
  return fmt::format("measured ceilings: {}, {} TB/s of copy in device memory, {} TB/s from shared memory",
                     arithmetic, three_digits(kPerThousand * measured.copy_gbs),
                     three_digits(kPerThousand * measured.shared_gbs));
}

}  // namespace

GroupFacts facts_of(const RankingGroup& group, const Database& database) {
  GroupFacts facts;
  const auto best = first_kernel(group, database, [](const RankedRow&) { return true; });
  const auto best_of_finals =
      first_kernel(group, database, [](const RankedRow& row) { return row.in_finals; });
  if (best) {
    facts.probability_near_best = best->probability_near_best;
    facts.pipe = best->pipe;
    if (group.source == Source::measured)
      facts.floor = database.calibration(best->gpu_uuid, best->driver_version);
  }
  if (best_of_finals) facts.noise_floor_percent = best_of_finals->noise_floor_percent;
  for (const RankedRow& row : group.rows) {
    const bool finalist = row.in_finals && best_of_finals.has_value();
    if (!finalist && !row.has_discards) continue;
    const Trial trial = database.row(row.id);
    if (finalist) add_finalist(facts, trial);
    if (row.has_discards) add_discards(facts, trial);
  }
  return facts;
}

std::vector<std::string> lines_of(const GroupFacts& facts) {
  std::vector<std::string> lines;
  if (facts.finalists > 0) lines.push_back(finals_line(facts));
  if (facts.probability_near_best && facts.finalists > 1) {
    lines.push_back(fmt::format("the best choice is within 1% of the true best with probability {}",
                                three_digits(*facts.probability_near_best)));
  }
  if (facts.discarded_samples > 0) lines.push_back(discards_line(facts));
  if (facts.floor && facts.floor->ffma_tflops > 0) lines.push_back(ceilings_line(*facts.floor, facts.pipe));
  if (facts.floor && facts.floor->empty_kernel_us > 0) lines.push_back(floor_line(*facts.floor));
  for (std::string& line : lines) line = printable(line);
  return lines;
}

void add_facts(Json& group, const GroupFacts& facts) {
  group["finalists"] = facts.finalists;
  group["final_baselines"] = facts.final_baselines;
  group["final_rounds"] = facts.finalists > 0 ? Json(facts.final_rounds) : Json();
  group["noise_floor_percent"] = or_null(facts.noise_floor_percent);
  group["probability_near_best"] = or_null(facts.probability_near_best);
  group["discarded_samples"] = facts.discarded_samples;
  group["throttle_reasons"] = facts.throttle_reasons;
  group["floor"] = nullptr;
  if (!facts.floor) return;
  group["floor"] = {{"event_floor_us", facts.floor->event_floor_us},
                    {"empty_kernel_us", facts.floor->empty_kernel_us},
                    {"empty_kernel_batch_us", facts.floor->empty_kernel_batch_us}};
}

}  // namespace tiletune
