#include "cli/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "output/display.h"
#include "output/fields.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// The rows of a group that its verdict is about.
struct VerdictRows {
  std::vector<Trial> leaders;  ///< of rank 1, the best choice first; at most as many as are named
  std::size_t others = 0;      ///< that share rank 1
  std::vector<Trial> baselines;
};

constexpr std::size_t kMostNamed = 4;

VerdictRows verdict_rows_of(const RankingGroup& group, const Database& database) {
  VerdictRows verdict_rows;
  std::size_t leaders = 0;
  for (const RankedRow& row : group.rows) {
    if (row.rank == 0) verdict_rows.baselines.push_back(database.row(row.id));
    if (row.rank == 1 && ++leaders <= kMostNamed) verdict_rows.leaders.push_back(database.row(row.id));
  }
  verdict_rows.others = leaders == 0 ? 0 : leaders - 1;
  return verdict_rows;
}

/// "102.0% of cublas, 100.3% of cublaslt"
std::string shares(const Trial& best, const std::vector<Trial>& baselines) {
  std::vector<std::string> texts;
  for (const Trial& baseline : baselines) {
    if (!baseline.median_us) continue;
    texts.push_back(
        fmt::format("{:.1f}% of {}", 100 * *baseline.median_us / *best.median_us, baseline.template_name));
  }
  return join(texts, ", ");
}

/// "2 others cannot be distinguished from it: sgemm_warptile PAD_A=4; sgemm_warptile PAD_A=8"
std::string ties(const VerdictRows& verdict_rows, bool predicted) {
  if (verdict_rows.others == 0) return predicted ? "" : "; no other configuration ties with it";
  VaryingParameters parameters;
  for (const Trial& leader : verdict_rows.leaders) parameters.add(leader);
  std::vector<std::string> names;
  for (std::size_t i = 1; i < verdict_rows.leaders.size(); ++i) {
    const Trial& leader = verdict_rows.leaders[i];
    const std::string differing = parameters.of(leader);
    names.push_back(leader.template_name + (differing.empty() ? "" : " " + printable(differing)));
  }
  if (verdict_rows.others > names.size())
    names.push_back(fmt::format("{} more", verdict_rows.others - names.size()));
  return fmt::format("; {} other{} cannot be distinguished from it: {}", verdict_rows.others,
                     verdict_rows.others == 1 ? "" : "s", join(names, "; "));
}

/// What verification() needs to know of each row.
constexpr std::array<const char*, 5> kColumns{"kind", "outcome", "source", "relative_error", "error_bound"};

struct Errors {
  std::int64_t ran = 0;  ///< and were not wrong
  std::int64_t verified = 0;
  std::int64_t wrong = 0;
  std::optional<std::int64_t> nearest;  ///< id of the row whose error is the largest share of its bound
  double share = 0;

  void add(std::int64_t id, const Trial& row) {
    if (row.kind != "kernel" || row.source != Source::measured) return;
    wrong += row.outcome == Outcome::wrong_result ? 1 : 0;
    if (row.outcome != Outcome::ok && row.outcome != Outcome::screened_out) return;
    ++ran;
    if (!row.relative_error) return;
    ++verified;
    // Integers are exact: nothing lies nearer to its bound than any number.
    const double bound = row.error_bound.value_or(1);
    const double row_share = bound > 0 ? *row.relative_error / bound : 0;
    if (nearest && row_share <= share) return;
    nearest = id;
    share = row_share;
  }
};

const TemplateSpec* template_of(const TuneSpec& spec, const Trial& row) {
  const auto is_its = [&](const TemplateSpec& kernel) {
    return kernel.name == row.template_name && is_of_variant(row, kernel.operation);
  };
  const auto found = std::find_if(spec.templates.begin(), spec.templates.end(), is_its);
  return found == spec.templates.end() ? nullptr : &*found;
}

std::string bound_source(const TuneSpec& spec, const Trial& row) {
  const TemplateSpec* const kernel = template_of(spec, row);
  return kernel == nullptr ? "" : fmt::format(" ({})", error_bound_text(*kernel));
}

/// How far elements may differ where they were compared one by one.
std::string tolerance_text(const TuneSpec& spec, const Trial& row) {
  const TemplateSpec* const kernel = template_of(spec, row);
  if (kernel == nullptr || !kernel->operation.tolerance) return "";
  const auto& [absolute, relative] = *kernel->operation.tolerance;
  return fmt::format(", every element within {} + {} x |reference|", absolute, relative);
}

std::string verified_text(const Errors& errors) {
  if (errors.wrong == 0 && errors.verified == errors.ran) return "all verified";
  std::string text = fmt::format("{} verified", errors.verified);
  if (errors.wrong > 0) text += fmt::format(", {} wrong", errors.wrong);
  if (errors.verified < errors.ran) text += fmt::format(", {} not verified", errors.ran - errors.verified);
  return text;
}

}  // namespace

std::string verdict(const TuneSpec& spec, const RankingGroup& group, const Database& database, bool whole) {
  const VerdictRows verdict_rows = verdict_rows_of(group, database);
  if (verdict_rows.leaders.empty()) return "";
  const Trial& best = verdict_rows.leaders.front();
  const TemplateSpec* const kernel = template_of(spec, best);
  const std::string of_shard = spec.shard.is_all() ? "" : " of shard " + spec.shard.label();
  const std::string extent = of_shard + (whole ? "" : " so far");
  std::string text = fmt::format(
      "{} on {}: {} {} is the best choice{}{} at {} us", printable(group.problem), printable(group.gpu),
      kernel == nullptr ? best.template_name : printable(kernel->label()), printable(parameters_text(best)),
      extent, is_unverified(best) ? " (unverified)" : "", three_digits(*best.median_us));
  if (best.bound == "memory" && best.gbs)
    text += ", " + three_digits(*best.gbs) + " GB/s";
  else if (best.tflops)
    text += ", " + three_digits(*best.tflops) + " TFLOP/s";
  const std::string compared = shares(best, verdict_rows.baselines);
  if (!compared.empty()) text += ", " + compared;
  const bool predicted = group.source == Source::predicted;
  if (predicted) text += " (predicted)";
  return text + ties(verdict_rows, predicted) + "\n";
}

std::string verification(const TuneSpec& spec, const Database& database, const TrialFilter& filter) {
  Errors errors;
  database.for_each(filter, kColumns, [&](std::int64_t id, const Trial& row) { errors.add(id, row); });
  if (errors.ran == 0) return "";
  if (!errors.nearest) return "not verified: results were not compared with a reference\n";
  const Trial row = database.row(*errors.nearest);
  if (row.error_bound && *row.error_bound == 0) return verified_text(errors) + ": every integer is exact\n";
  std::string text =
      fmt::format("{}: largest relative error {:.1e}", verified_text(errors), *row.relative_error);
  if (row.error_bound)
    text += fmt::format(", bound {:.1e}{}", *row.error_bound, bound_source(spec, row));
  else
    text += tolerance_text(spec, row);
  if (row.baseline_error) text += fmt::format(", {}'s own {:.1e}", row.baseline, *row.baseline_error);
  if (spec.problems.size() > 1) text += fmt::format("; at {}, where it is nearest to its bound", row.problem);
  return text + "\n";
}

std::string error_bound_text(const TemplateSpec& spec) {
  std::vector<std::string> outputs;
  for (const Buffer& buffer : spec.operation.buffers) {
    const std::string type(name(buffer.type));
    if (buffer.role != BufferRole::in && std::find(outputs.begin(), outputs.end(), type) == outputs.end())
      outputs.push_back(type);
  }
  const std::string accumulator(name(spec.operation.accumulator));
  const std::string& stated = spec.operation.accumulation.text;
  const std::string length = stated.empty() ? "L" : stated;
  const bool alike = outputs == std::vector{accumulator} && !spec.operation.accumulation_bits;
  const auto bits = spec.operation.accumulation_bits;
  const std::string of_sums = bits ? fmt::format("2^-{}", *bits) : fmt::format("u({})", accumulator);
  std::string text =
      alike
          ? fmt::format("2 u + 2 sqrt({}) u, u: the unit roundoff of {}", length, accumulator)
          : fmt::format("2 u({}) + 2 sqrt({}) {}, u: unit roundoff", join(outputs, " or "), length, of_sums);
  if (spec.operation.consensus > 0 || !spec.reference.empty()) text = fmt::format("2 x ({})", text);
  if (spec.tolerance_factor != 1) text = fmt::format("{:g} x ({})", spec.tolerance_factor, text);
  if (stated.empty()) text += ", L: half the operations per output element";
  return text;
}

}  // namespace tiletune
