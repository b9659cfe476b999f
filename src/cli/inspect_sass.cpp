#include "cli/inspect_sass.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "output/display.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// "0/2/4": narrower ones only where there are any, in front.
std::string widths_text(const InstructionMix::Accesses& accesses) {
  const std::string text = fmt::format("{:.0f}/{:.0f}/{:.0f}", accesses.by_4, accesses.by_8, accesses.by_16);
  return accesses.narrower > 0 ? fmt::format("{:.0f}+", accesses.narrower) + text : text;
}

std::string per_fma_text(const InstructionMix& mix, double count) {
  return mix.fma > 0 ? fmt::format("{:.3f}", mix.per_fma(count)) : "-";
}

std::vector<std::string> mix_cells(const InstructionMix& mix) {
  return {fmt::format("{:.1f}", 100 * mix.fma_share()),
          per_fma_text(mix, mix.stall_clocks),
          per_fma_text(mix, mix.shared_loads.count()),
          per_fma_text(mix, mix.global_loads.count()),
          per_fma_text(mix, mix.async_copies.count() + mix.bulk_copies),
          widths_text(mix.shared_loads),
          widths_text(mix.shared_stores),
          widths_text(mix.global_loads),
          widths_text(mix.async_copies),
          fmt::format("{:.0f}", mix.global_stores.count() + mix.reductions),
          fmt::format("{:.0f}", mix.barriers + mix.mbarriers),
          fmt::format("{:.0f}/{:.0f}", mix.spill_loads, mix.spill_stores),
          fmt::format("{:.0f}", mix.other_math + mix.tensor + mix.conversions),
          fmt::format("{:.0f}", mix.other + mix.branches),
          fmt::format("{:.0f}", mix.code_bytes)};
}

const std::vector<std::string> kMixColumns = {"FFMA %",      "stalls/FFMA", "LDS/FFMA",   "LDG/FFMA",
                                              "copies/FFMA", "LDS 4/8/16",  "STS 4/8/16", "LDG 4/8/16",
                                              "copy 4/8/16", "STG",         "barriers",   "LDL/STL",
                                              "other math",  "other",       "loop B"};

std::vector<std::string> result_cells(const InspectedOnGpu& gpu) {
  if (!gpu.code) {
    std::vector<std::string> cells(kMixColumns.size() + 1, "-");
    cells.push_back(std::string(name(gpu.outcome)) + ": " + gpu.reason.substr(0, gpu.reason.find('\n')));
    return cells;
  }
  std::vector<std::string> cells = mix_cells(gpu.code->loop);
  cells.push_back(three_digits(gpu.code->prediction.time_us));
  cells.push_back(gpu.code->prediction.bound_by);
  return cells;
}

Json accesses_json(const InstructionMix::Accesses& accesses) {
  return {{"narrower", accesses.narrower},
          {"4_bytes", accesses.by_4},
          {"8_bytes", accesses.by_8},
          {"16_bytes", accesses.by_16}};
}

Json mix_json(const InstructionMix& mix) {
  return {{"instructions", mix.instructions},
          {"fma", mix.fma},
          {"fma_share", mix.fma_share()},
          {"other_math", mix.other_math},
          {"tensor", mix.tensor},
          {"conversions", mix.conversions},
          {"shared_loads", accesses_json(mix.shared_loads)},
          {"shared_stores", accesses_json(mix.shared_stores)},
          {"global_loads", accesses_json(mix.global_loads)},
          {"global_stores", accesses_json(mix.global_stores)},
          {"async_copies", accesses_json(mix.async_copies)},
          {"bulk_copies", mix.bulk_copies},
          {"reductions", mix.reductions},
          {"spill_loads", mix.spill_loads},
          {"spill_stores", mix.spill_stores},
          {"barriers", mix.barriers},
          {"mbarriers", mix.mbarriers},
          {"branches", mix.branches},
          {"other", mix.other},
          {"stall_clocks", mix.stall_clocks},
          {"code_bytes", mix.code_bytes}};
}

}  // namespace

TextTable sass_table() {
  TextTable table;
  for (const char* column : {"template", "parameters", "problem", "gpu"})
    table.add_column(column, Align::left);
  // The last ones say least of a kernel.
  int order = static_cast<int>(kMixColumns.size());
  for (const std::string& column : kMixColumns) table.add_column(column, Align::right, order--);
  table.add_column("predicted_us", Align::right);
  table.add_column("bound", Align::left);
  return table;
}

void add_sass_rows(TextTable& table, const InspectedConfiguration& row, const std::vector<Target>& targets) {
  for (std::size_t i = 0; i < row.gpus.size(); ++i) {
    std::vector<std::string> cells{row.label(), to_text(row.parameters), row.problem, targets[i].name};
    for (std::string& cell : result_cells(row.gpus[i])) cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
}

std::string sass_legend(const StaticModel& model) {
  return fmt::format(
      "counts and ratios per FFMA: of one warp in one iteration of the hottest loop; 4/8/16: bytes per "
      "thread; "
      "copies: LDGSTS and the copy engine's\npredicted_us: by the static model, {}\n",
      printable(model.provenance()));
}

nlohmann::ordered_json sass_json(const MachineCode& code) {
  const LaunchTerms& terms = code.prediction.terms;
  return {{"loop", mix_json(code.loop)},
          {"kernel", mix_json(code.kernel)},
          {"predicted_us", code.prediction.time_us},
          {"bound", code.prediction.bound_by},
          {"waves", code.prediction.waves},
          {"terms",
           {{"turns", terms.turns},
            {"loop_clocks", terms.loop_clocks},
            {"tensor_clocks", terms.tensor_clocks},
            {"outside_clocks", terms.outside_clocks},
            {"outside_bytes", terms.outside_bytes},
            {"dram_us", terms.dram_us},
            {"meetings", terms.meetings},
            {"clusters", terms.clusters}}}};
}

nlohmann::ordered_json static_model_json(const StaticModel& model) {
  return {{"provenance", model.provenance()},
          {"launch",
           {{"launch_us", model.launch_us},
            {"loop_scale", model.loop_scale},
            {"outside_scale", model.outside_scale},
            {"byte_clocks", model.byte_clocks},
            {"meeting_us", model.meeting_us},
            {"cluster_us", model.cluster_us},
            {"unhidden_share", model.unhidden_share}}}};
}

}  // namespace tiletune
