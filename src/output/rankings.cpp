#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/views.h"
#include "store/columns.h"
#include "tune/ceilings.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

std::string finals_line(const GroupFacts& facts) {
  std::string line = "final: " + counted(static_cast<std::uint64_t>(facts.finalists), "configuration");
  if (!facts.final_baselines.empty()) line += " and " + join(facts.final_baselines, ", ");
  line += fmt::format(", interleaved in {} rounds", facts.final_rounds);
  if (facts.noise_floor_percent)
    line += fmt::format("; two copies of one kernel differ by at most {}% here (noise floor)",
                        three_digits(*facts.noise_floor_percent));
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
  const auto is_kernel = [](const RankedRow& row) { return row.rank != 0; };
  if (const auto best = std::ranges::find_if(group.rows, is_kernel); best != group.rows.end()) {
    const Trial trial = database.row(best->id);
    facts.probability_near_best = trial.probability_near_best;
    facts.pipe = trial.pipe;
    if (group.source == Source::measured)
      facts.floor = database.calibration(trial.gpu_uuid, trial.driver_version);
  }
  const auto best_of_finals =
      std::ranges::find_if(group.rows, [&](const RankedRow& row) { return is_kernel(row) && row.in_finals; });
  const bool has_finals = best_of_finals != group.rows.end();
  if (has_finals) facts.noise_floor_percent = database.row(best_of_finals->id).noise_floor_percent;
  for (const RankedRow& row : group.rows) {
    const bool is_finalist = row.in_finals && has_finals;
    if (!is_finalist && !row.has_discards) continue;
    const Trial trial = database.row(row.id);
    if (is_finalist) {
      if (trial.kind == "baseline")
        facts.final_baselines.push_back(trial.template_name);
      else
        ++facts.finalists;
      facts.final_rounds = std::max(facts.final_rounds, trial.sample_count.value_or(0));
    }
    if (!row.has_discards) continue;
    facts.discarded_samples += static_cast<std::uint64_t>(trial.discarded_samples.value_or(0));
    for (const std::string& reason : split(trial.throttle_reasons, ',')) {
      const std::string name = reason.substr(std::min(reason.find_first_not_of(' '), reason.size()));
      if (!name.empty()) facts.throttle_reasons.insert(name);
    }
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
  if (facts.discarded_samples > 0) {
    lines.push_back(counted(facts.discarded_samples, "sample") +
                    " discarded: SM clock below 90% of the run's");
    if (!facts.throttle_reasons.empty())
      lines.back() += fmt::format(", throttled by {}", fmt::join(facts.throttle_reasons, ", "));
  }
  if (facts.floor && facts.floor->ffma_tflops > 0) lines.push_back(ceilings_line(*facts.floor, facts.pipe));
  if (facts.floor && facts.floor->empty_kernel_us > 0) {
    lines.push_back(fmt::format("the method's floor: an empty kernel is reported to take {} us",
                                three_digits(facts.floor->empty_kernel_us)));
    if (facts.floor->empty_kernel_batch_us > 0)
      lines.back() += fmt::format("; {} us in a batch", three_digits(facts.floor->empty_kernel_batch_us));
  }
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

namespace {

constexpr std::string_view kChooseColumns =
    "'tiletune rank --columns' chooses, pipe into 'less -S' to see all";

/// Which rows and columns are asked for.
struct RankingChoice {
  std::vector<Field> fields;       ///< none: the standard columns
  std::optional<Field> sorted_by;  ///< none: the ranking's own order, in which baselines have their place
  bool descending;
  std::size_t limit;  ///< of kernels; 0: all
};

/// All cells of a column that are not null hold one type, so Cell's own order compares their values. Rows are
/// read in the order in which they lie in the database: it matters where there are millions.
std::vector<RankedRow> sorted_rows(const Database& database, const std::vector<RankedRow>& rows,
                                   const RankingChoice& choice) {
  std::vector<std::size_t> places(rows.size());
  std::iota(places.begin(), places.end(), 0U);
  std::vector<std::size_t> by_id = places;
  std::ranges::sort(by_id, {}, [&](std::size_t i) { return rows[i].id; });
  const Field& field = *choice.sorted_by;
  std::vector<Cell> cells(rows.size());
  for (const std::size_t i : by_id) {
    cells[i] = !field.reads_trial           ? field.read({{}, rows[i].rank, rows[i].tied})
               : field.sorted_by == nullptr ? field.read(read_row(database, rows[i]))
                                            : database.cell(rows[i].id, *field.sorted_by);
  }
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    const bool a_is_null = std::holds_alternative<std::monostate>(cells[a]);
    const bool b_is_null = std::holds_alternative<std::monostate>(cells[b]);
    if (a_is_null || b_is_null) return !a_is_null && b_is_null;
    return choice.descending ? cells[b] < cells[a] : cells[a] < cells[b];
  });
  std::vector<RankedRow> sorted;
  sorted.reserve(rows.size());
  for (const std::size_t place : places) sorted.push_back(rows[place]);
  return sorted;
}

/// All baselines are shown: without them a ranking says little. Nulls sort last.
std::vector<RankedRow> shown_rows(const Database& database, const RankingGroup& group,
                                  const RankingChoice& choice) {
  std::vector<RankedRow> rows = choice.sorted_by ? sorted_rows(database, group.rows, choice) : group.rows;
  std::size_t kernels = 0;
  if (choice.limit != 0)
    std::erase_if(rows, [&](const RankedRow& row) { return row.rank != 0 && ++kernels > choice.limit; });
  return rows;
}

/// What the rows shown have, which decides the standard columns.
struct Shown {
  VaryingParameters parameters;
  Throughput throughput;
  bool tied = false;
  bool ceiling = false;
  std::size_t unverified = 0;

  void add(const RankedTrial& row) {
    parameters.add(row.trial);
    throughput.add(row.trial);
    tied = tied || row.tied;
    ceiling = ceiling || row.trial.percent_of_ceiling.has_value();
    unverified += is_unverified(row.trial) ? 1 : 0;
  }
};

std::vector<Field> standard_fields(const Shown& shown, Source source) {
  const auto rank_text = [any_tied = shown.tied](const RankedTrial& row) -> Cell {
    if (row.rank == 0) return any_tied ? "- " : "-";
    return fmt::format("{}{}", row.rank, row.tied ? "=" : (any_tied ? " " : ""));
  };
  std::vector<Field> fields{{{"rank", CellType::integer}, "", rank_text},
                            field_by_name("template"),
                            shown.parameters.field(),
                            field_by_name("registers"),
                            field_by_name("occupancy"),
                            field_by_name("limiter"),
                            time_field(source),
                            result_field(shown.unverified > 0)};
  if (source != Source::predicted) {
    fields.push_back(field_by_name("ci_us"));
    fields.back().type = CellType::real;  // it is aligned as times are
  }
  std::vector<std::string> names{shown.throughput.column(), "percent_of_baseline"};
  if (shown.throughput.is_of_memory())
    names.emplace_back("percent_of_copy");
  else if (shown.ceiling)
    names.insert(names.end(), {"percent_of_ceiling", "bound"});
  else
    names.emplace_back("percent_of_peak");
  names.insert(names.end(), {"sustained_tflops", "sustained_power_w", "with_copies_us"});
  for (const std::string& name : names) fields.push_back(field_by_name(name));
  return fields;
}

ViewPage page_of(const RankingGroup& group, const Database& database, const RankingChoice& choice) {
  const std::vector<RankedRow> places = shown_rows(database, group, choice);
  const TrialRows rows = [&](const auto& visit) {
    for (const RankedRow& place : places) visit(read_row(database, place));
  };
  Shown shown;
  rows([&](const RankedTrial& row) { shown.add(row); });
  const bool is_standard = choice.fields.empty();
  TextTable table = trial_table(is_standard ? standard_fields(shown, group.source) : choice.fields, rows,
                                [](const RankedTrial& row) { return row.rank <= 1; });
  Lines lines = unverified_lines(shown.unverified);
  if (is_standard) {
    table.hide_empty_columns();
    for (std::string& line : shown.parameters.legend()) lines.push_back(std::move(line));
    if (!choice.sorted_by && std::ranges::any_of(places, &RankedRow::tied))
      lines.emplace_back("tied: within a rank the order is by fewer registers, then higher occupancy");
    for (std::string& line : lines_of(facts_of(group, database))) lines.push_back(std::move(line));
  }
  const std::size_t hidden = group.rows.size() - places.size();
  if (hidden != 0) lines.push_back(fmt::format("{} not shown", counted(hidden, "more row")));
  return {std::move(table), std::move(lines)};
}

/// In CSV, what tells groups apart leads every record, chosen or not. None chosen: rank, tied, verified and
/// every column but the raw samples.
std::vector<Field> fields_for_programs(const std::vector<std::string>& chosen,
                                       std::vector<ViewColumn>& columns) {
  std::vector<Field> fields = comparable_fields({});
  columns = columns_of(fields, ColumnOf::csv);
  for (const Field& field : chosen.empty() ? known_fields() : fields_by_name(chosen)) {
    const bool is_left_out = field.writers == ColumnOf::people || field.type == CellType::blob;
    if (chosen.empty() && is_left_out) continue;
    const bool is_there = std::ranges::find(fields, field.name, &Field::name) != fields.end();
    columns.push_back(columns_of({field}, is_there ? ColumnOf::json : ColumnOf::programs).front());
    fields.push_back(field);
  }
  return fields;
}

}  // namespace

ViewDocument rankings_view(const std::vector<RankingGroup>& groups, const Database& database,
                           const RankingRequest& request) {
  ViewDocument view{"groups", "rows"};
  RankingChoice choice{fields_by_name(request.columns), {}, request.sort_by.starts_with('-'), request.limit};
  if (!request.sort_by.empty())
    choice.sorted_by = field_by_name(request.sort_by.substr(choice.descending ? 1 : 0));
  // A narrow terminal loses the last columns first, and never the first, which says which row it is.
  for (std::size_t i = 0; i < choice.fields.size(); ++i)
    choice.fields[i].drop_order = i == 0 ? 0 : static_cast<int>(choice.fields.size() - i);
  const std::vector<Field> fields = fields_for_programs(request.columns, view.columns);
  if (request.failures)
    view.add_head = [&database, failures = *request.failures](Json& document) {
      document["failures"] = to_json(failures, database);
    };
  if (groups.empty()) view.footer = "No row that ran can be ranked.\n";
  if (choice.fields.empty()) view.remedy = kChooseColumns;
  add_sections(view, std::span(groups), [&database, choice, fields](const RankingGroup& group) {
    ViewSection section(group);
    section.add_facts = [&](Json& facts) {
      facts["total_rows"] = group.rows.size();
      add_facts(facts, facts_of(group, database));
    };
    section.page = [&](std::size_t) { return page_of(group, database, choice); };
    section.rows = cells_of(fields, [&](const auto& visit) {
      for (const RankedRow& row : shown_rows(database, group, choice)) visit(read_row(database, row));
    });
    return section;
  });
  return view;
}

ViewDocument trials_view(const Database& database, const TrialFilter& filter,
                         const std::vector<std::string>& columns, std::size_t limit) {
  static constexpr std::array<std::string_view, 3> kDropped{"gpu", "median_us", "problem"};
  ViewDocument view{"", "trials"};
  view.hides_empty = true;
  std::vector<Field> fields = fields_by_name(columns);
  view.columns = columns_of(fields, ColumnOf::not_json);
  for (ViewColumn& column : view.columns) column.drop_order = drop_order(column.name, kDropped);
  for (const Column& column : trial_columns()) {
    if (column.type == CellType::blob) continue;
    fields.push_back(field_by_name(column.name));
    view.columns.push_back(columns_of({fields.back()}, ColumnOf::json).front());
  }
  std::size_t total = 0;
  for (const auto& [outcome, count] : database.outcome_counts(filter))
    total += static_cast<std::size_t>(count);
  view.add_head = [total](Json& document) { document["total_rows"] = total; };
  if (limit != 0 && limit < total)
    view.footer = fmt::format("{} not shown\n", counted(total - limit, "more row"));
  view.size = 1;
  view.section = [&database, &filter, fields, limit](std::size_t) {
    ViewSection section;
    section.rows = [&database, &filter, &fields, limit](const auto& visit) {
      std::size_t shown = 0;
      database.for_each(filter, [&](const Trial& trial) {
        visit(cells_of({trial}, fields));
        return ++shown != limit;
      });
    };
    return section;
  };
  return view;
}

}  // namespace tiletune
