#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/progress.h"
#include "output/table.h"
#include "tune/inspection.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

struct InspectCommand {
  ConfigOptions config;
  CompileOptions compile;
  std::vector<std::string> gpus;
  std::string format = "table";
  bool quiet = false;
  bool sass = false;
  std::string static_model;
};

std::string shared_text(const Resources& resources, const KernelLaunch& launch) {
  return human_bytes(static_cast<std::uint64_t>(resources.static_shared_bytes + launch.dynamic_shared_bytes));
}

/// Shows the launch with the lowest occupancy of several.
std::vector<std::string> cells_of(const InspectedOnGpu& gpu) {
  if (gpu.occupancies.empty())
    return {"-", "-", "-", std::string(name(gpu.outcome)), gpu.reason.substr(0, gpu.reason.find('\n'))};
  const std::size_t shown = narrowest(gpu.occupancies);
  const Resources& resources = gpu.resources[shown];
  const Occupancy& occupancy = gpu.occupancies[shown];
  return {std::to_string(resources.registers), std::to_string(resources.spill_bytes()),
          shared_text(resources, gpu.instance.launches[shown]),
          fmt::format("{:.0f}%", 100 * occupancy.fraction),
          gpu.outcome == Outcome::ok
              ? fmt::format("{} ({})", occupancy.limiter, occupancy.blocks_per_multiprocessor)
              : "refused: " + gpu.reason};
}

TextTable table_for(std::span<const Target> targets) {
  TextTable table;
  table.add_column("template", Align::left);
  table.add_column("parameters", Align::left);
  for (const Target& target : targets) {
    table.add_column(target.name + ": registers", Align::right);
    table.add_column("spill B", Align::right, 2);
    table.add_column("shared", Align::right, 1);
    table.add_column("occupancy", Align::right);
    table.add_column("limiter (blocks/SM)", Align::left);
  }
  return table;
}

std::vector<std::string> table_row(const InspectedConfiguration& row, std::span<const InspectedOnGpu> gpus) {
  std::vector<std::string> cells{row.label(), to_text(row.parameters)};
  for (const InspectedOnGpu& gpu : gpus) {
    for (std::string& cell : cells_of(gpu)) cells.push_back(std::move(cell));
  }
  return cells;
}

Json occupancy_json(const Occupancy& occupancy) {
  return {{"fraction", occupancy.fraction},
          {"limiter", occupancy.limiter},
          {"blocks_per_multiprocessor", occupancy.blocks_per_multiprocessor},
          {"limit_by_warps", occupancy.limit_by_warps},
          {"limit_by_registers", occupancy.limit_by_registers},
          {"limit_by_shared", occupancy.limit_by_shared},
          {"limit_by_blocks", occupancy.limit_by_blocks},
          {"arithmetic", occupancy.arithmetic}};
}

Json launch_json(const InspectedOnGpu& gpu, std::size_t index) {
  const KernelLaunch& launch = gpu.instance.launches[index];
  const Resources& resources = gpu.resources[index];
  Json json{
      {"threads_per_block", launch.block.count()}, {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
      {"registers", resources.registers},          {"spill_bytes", resources.spill_bytes()},
      {"stack_bytes", resources.stack_bytes},      {"static_shared_bytes", resources.static_shared_bytes},
      {"code_bytes", resources.code_bytes}};
  if (!gpu.occupancies.empty()) json["occupancy"] = occupancy_json(gpu.occupancies[index]);
  return json;
}

/// All launches of several, each with its kernel.
Json launches_json(const InspectedOnGpu& gpu) {
  Json list = Json::array();
  for (std::size_t i = 0; i < gpu.resources.size(); ++i) {
    Json json{{"kernel", gpu.instance.launches[i].kernel_expression}};
    json.update(launch_json(gpu, i));
    list.push_back(std::move(json));
  }
  return list;
}

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

/// The mix of the hottest loop and the predicted time: a line per configuration, problem and GPU.
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

/// What stands under the table.
std::string sass_legend(const StaticModel& model) {
  return fmt::format(
      "counts and ratios per FFMA: of one warp in one iteration of the hottest loop; 4/8/16: bytes per "
      "thread; "
      "copies: LDGSTS and the copy engine's\npredicted_us: by the static model, {}\n",
      printable(model.provenance()));
}

/// The mixes of loop and kernel, the prediction and the terms it is made of.
Json sass_json(const MachineCode& code) {
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

/// Where the model is from, and the numbers that make a time of the terms.
Json static_model_json(const StaticModel& model) {
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

Json gpu_json(const InspectedOnGpu& gpu, const Target& target) {
  Json json{{"gpu", target.name}, {"architecture", target.architecture}, {"outcome", name(gpu.outcome)}};
  json["reason"] = gpu.reason.empty() ? Json(nullptr) : Json(gpu.reason);
  json["warnings"] = gpu.warnings;
  if (!gpu.resources.empty())
    json.update(launch_json(gpu, gpu.occupancies.empty() ? 0 : narrowest(gpu.occupancies)));
  if (gpu.resources.size() > 1) json["launches"] = launches_json(gpu);
  if (gpu.code) {
    json["clock_mhz"] = target.model.boost_clock_mhz;
    json["sass"] = sass_json(*gpu.code);
  }
  return json;
}

Json json_row(const InspectedConfiguration& row, const std::vector<Target>& targets) {
  Json gpus = Json::array();
  for (std::size_t i = 0; i < targets.size(); ++i) gpus.push_back(gpu_json(row.gpus[i], targets[i]));
  return {{"template", row.template_name},
          {"variant", row.variant},
          {"problem", row.problem},
          {"parameters", to_json(row.parameters)},
          {"gpus", gpus}};
}

bool runs_somewhere(const InspectedConfiguration& row) {
  return std::any_of(row.gpus.begin(), row.gpus.end(),
                     [](const InspectedOnGpu& gpu) { return gpu.outcome == Outcome::ok; });
}

using TakeRow = std::function<void(const InspectedConfiguration&)>;

/// GPUs side by side; where lines are too short for that, one table for each GPU.
void write_resources(std::ostream& out, const std::vector<Target>& targets,
                     const std::function<void(const TakeRow&)>& inspect) {
  const TextStyle style = stdout_style();
  TextTable side_by_side = table_for(targets);
  std::vector<TextTable> each;
  if (style.width != kAnyWidth && targets.size() > 1) {
    for (const Target& target : targets) each.push_back(table_for(std::span(&target, 1)));
  }
  inspect([&](const InspectedConfiguration& row) {
    side_by_side.add_row(table_row(row, row.gpus));
    for (std::size_t i = 0; i < each.size(); ++i)
      each[i].add_row(table_row(row, std::span(row.gpus).subspan(i, 1)));
  });
  if (each.empty() || side_by_side.width() <= style.width)
    return write_table(out, side_by_side, false, style);
  for (const TextTable& table : each) {
    if (&table != &each.front()) out << '\n';
    write_table(out, table, false, style);
  }
}

/// Rows may be too many for memory: JSON is written as they come, a table keeps its text alone.
void write_rows(std::ostream& out, Format format, bool sass, const std::vector<Target>& targets,
                const std::function<void(const TakeRow&)>& inspect) {
  if (format == Format::json) {
    Json document_around;
    if (sass) document_around["static_model"] = static_model_json(targets.front().static_model);
    document_around["configurations"] = Json::array();
    JsonArrayStream document(out, document_around, 2);
    inspect([&](const InspectedConfiguration& row) { document.add(json_row(row, targets)); });
    document.end();
    out << '\n';
  } else if (sass) {
    TextTable table = sass_table();
    inspect([&](const InspectedConfiguration& row) { add_sass_rows(table, row, targets); });
    write_table(out, table, false, stdout_style());
    out << sass_legend(targets.front().static_model);
  } else {
    write_resources(out, targets, inspect);
  }
}

/// Resources do not depend on the problem, as predictions do: the first one of each template stands for all.
void keep_first_problems(TuneSpec& spec) {
  for (TemplateSpec& kernel : spec.templates) {
    const auto first = std::find_if(spec.problems.begin(), spec.problems.end(),
                                    [&](const Problem& problem) { return kernel.runs(problem); });
    kernel.problems = {first->label()};
  }
}

int run(const InspectCommand& options) {
  const Format format = format_from_name(options.format, {Format::table, Format::json});
  if (!options.static_model.empty() && !options.sass)
    throw UserError("has no effect without --sass", Where{"--static-model", ""},
                    "Add --sass, or leave it out.");
  const std::vector<Target> targets =
      targets_for(options.gpus, options.static_model.empty() ? shipped_static_model()
                                                             : load_static_model(options.static_model));
  TuneSpec spec = options.config.load();
  options.compile.add_include_folders(spec);
  if (!options.sass) keep_first_problems(spec);
  std::vector<Task> tasks = plan_tasks(spec);
  catch_interrupts();
  const bool rows_on_terminal = format == Format::json && ::isatty(STDOUT_FILENO) != 0;
  Progress progress(options.quiet || rows_on_terminal, ::isatty(STDERR_FILENO) != 0);
  tell_if_not_confined([&](const std::string& line) { progress.note(line); });
  bool any_runs = false;
  stream_output("", [&](std::ostream& out) {
    write_rows(out, format, options.sass, targets, [&](const TakeRow& take) {
      const auto row = [&](const InspectedConfiguration& inspected) {
        any_runs = any_runs || runs_somewhere(inspected);
        take(inspected);
      };
      const auto counts = [&](std::size_t done, std::size_t total) {
        progress.update({"compiling", done, total, ""});
      };
      inspect_tasks(spec, tasks, targets, options.compile.pool_options(spec), options.sass,
                    {row, counts, interrupted});
      progress.finish();
    });
  });
  if (interrupted()) {
    fmt::print(stderr,
               "Interrupted: only what was compiled is shown. Run the same command again to continue from "
               "the kernel cache.\n");
    return kInterrupted;
  }
  if (any_runs) return 0;
  throw NothingToDo("no configuration can run on any of these GPUs", Where{spec.file.string(), ""},
                    "The output has the reason of each one.");
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<InspectCommand>();
  CLI::App* command =
      app.add_subcommand("inspect",
                         "Compile every configuration for any GPU model, without needing that "
                         "GPU: registers, spills, occupancy, limiter");
  options->config.add_to(*command);
  options->compile.add_to(*command);
  command->add_option("--gpu", options->gpus, "GPU model, e.g. A100-80GB (repeatable; side by side)");
  command->add_option("--format", options->format, "table or json (json has the blocks-per-SM arithmetic)")
      ->capture_default_str();
  command->add_flag("--sass", options->sass,
                    "Instead show the instructions of the hottest loop's machine code and the static model's "
                    "prediction, for every problem");
  command
      ->add_option("--static-model", options->static_model,
                   "With --sass: predict with this file instead of configs/model/static_model.json")
      ->type_name("FILE");
  command->add_flag("-q,--quiet", options->quiet, "No progress");
  command->footer(
      "Examples:\n  tiletune inspect configs/quick.json --gpu A100-80GB --gpu H100\n"
      "  tiletune inspect configs/sgemm.json --template sgemm_warptile --gpu H200 --format json\n"
      "  tiletune inspect configs/sgemm.json --template sgemm_warptile --gpu H200 --sass");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
