#include <unistd.h>

#include <algorithm>
#include <span>

#include "base/clock.h"
#include "base/fields_json.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "output/cell_text.h"
#include "output/progress.h"
#include "tune/inspection.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Options of `inspect` and `compile`.
struct InspectCommand {
  ConfigOptions config;
  CompileOptions compile;
  std::vector<std::string> gpus;
  std::string format = "table";
  bool quiet = false;
  bool sass = false;
  std::string static_model;
  std::string shard;
};

/// Shows the launch with the lowest occupancy of several.
std::vector<std::string> cells_of(const InspectedOnGpu& gpu) {
  if (gpu.occupancies.empty())
    return {"-", "-", "-", std::string(name(gpu.outcome)), gpu.reason.substr(0, gpu.reason.find('\n'))};
  const std::size_t shown = narrowest(gpu.occupancies);
  const Resources& resources = gpu.resources[shown];
  const Occupancy& occupancy = gpu.occupancies[shown];
  return {std::to_string(resources.registers), std::to_string(resources.spill_bytes()),
          human_bytes(static_cast<std::uint64_t>(resources.static_shared_bytes +
                                                 gpu.instance.launches[shown].dynamic_shared_bytes)),
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
  for (const InspectedOnGpu& gpu : gpus)
    for (std::string& cell : cells_of(gpu)) cells.push_back(std::move(cell));
  return cells;
}

Json launch_json(const InspectedOnGpu& gpu, std::size_t index) {
  const KernelLaunch& launch = gpu.instance.launches[index];
  const Resources& resources = gpu.resources[index];
  Json json{
      {"threads_per_block", launch.block.count()}, {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
      {"registers", resources.registers},          {"spill_bytes", resources.spill_bytes()},
      {"stack_bytes", resources.stack_bytes},      {"static_shared_bytes", resources.static_shared_bytes},
      {"code_bytes", resources.code_bytes}};
  if (gpu.occupancies.empty()) return json;
  json["occupancy"] = to_json(gpu.occupancies[index]);
  return json;
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

Json mix_json(const InstructionMix& mix) {
  Json json = to_json(mix);
  json["fma_share"] = mix.fma_share();
  return json;
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

/// The mixes of loop and kernel, the prediction and the terms it is made of.
Json sass_json(const MachineCode& code) {
  return {{"loop", mix_json(code.loop)},
          {"kernel", mix_json(code.kernel)},
          {"predicted_us", code.prediction.time_us},
          {"bound", code.prediction.bound_by},
          {"waves", code.prediction.waves},
          {"terms", to_json(code.prediction.terms)}};
}

/// Where the model is from, and the numbers that make a time of the terms.
Json static_model_json(const StaticModel& model) {
  return {{"provenance", model.provenance()}, {"launch", to_json(model)}};
}

Json gpu_json(const InspectedOnGpu& gpu, const Target& target) {
  Json json{{"gpu", target.name}, {"architecture", target.architecture}, {"outcome", name(gpu.outcome)}};
  json["reason"] = gpu.reason.empty() ? Json(nullptr) : Json(gpu.reason);
  json["warnings"] = gpu.warnings;
  if (!gpu.resources.empty())
    json.update(launch_json(gpu, gpu.occupancies.empty() ? 0 : narrowest(gpu.occupancies)));
  for (std::size_t i = 0; gpu.resources.size() > 1 && i < gpu.resources.size(); ++i) {
    Json& launch = json["launches"].emplace_back();
    launch["kernel"] = gpu.instance.launches[i].kernel_expression;
    launch.update(launch_json(gpu, i));
  }
  if (gpu.code) {
    json["clock_mhz"] = target.model.boost_clock_mhz;
    json["sass"] = sass_json(*gpu.code);
  }
  return json;
}

using TakeRow = std::function<void(const InspectedConfiguration&)>;

/// GPUs side by side; where lines are too short for that, one table for each GPU.
void write_resources(std::ostream& out, const std::vector<Target>& targets,
                     const std::function<void(const TakeRow&)>& inspect) {
  const TextStyle style = stdout_style();
  TextTable side_by_side = table_for(targets);
  std::vector<TextTable> each;
  if (style.width != kAnyWidth && targets.size() > 1)
    for (const Target& target : targets) each.push_back(table_for(std::span(&target, 1)));
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
    inspect([&](const InspectedConfiguration& row) {
      Json gpus = Json::array();
      for (std::size_t i = 0; i < targets.size(); ++i) gpus.push_back(gpu_json(row.gpus[i], targets[i]));
      document.add(Json{{"template", row.template_name},
                        {"variant", row.variant},
                        {"problem", row.problem},
                        {"parameters", to_json(row.parameters)},
                        {"gpus", gpus}});
    });
    document.end();
    out << '\n';
  } else if (sass) {
    TextTable table = sass_table();
    inspect([&](const InspectedConfiguration& row) {
      for (std::size_t i = 0; i < row.gpus.size(); ++i) {
        std::vector<std::string> cells{row.label(), to_text(row.parameters), row.problem, targets[i].name};
        for (std::string& cell : result_cells(row.gpus[i])) cells.push_back(std::move(cell));
        table.add_row(std::move(cells));
      }
    });
    write_table(out, table, false, stdout_style());
    out << fmt::format(
        "counts and ratios per FFMA: of one warp in one iteration of the hottest loop; 4/8/16: bytes per "
        "thread; copies: LDGSTS and the copy engine's\npredicted_us: by the static model, {}\n",
        printable(targets.front().static_model.provenance()));
  } else {
    write_resources(out, targets, inspect);
  }
}

/// Inspects with progress on standard error.
void inspect_with_progress(const InspectCommand& options, const TuneSpec& spec, std::vector<Task>& tasks,
                           const std::vector<Target>& targets, Progress& progress, const TakeRow& take) {
  const auto counts = [&](std::size_t done, std::size_t total) {
    progress.update({"compiling", done, total, ""});
  };
  inspect_tasks(spec, tasks, targets, options.compile.pool_options(spec), options.sass,
                {take, counts, interrupted});
  progress.finish();
}

int inspect(InspectCommand& options) {
  const Format format = format_from_name(options.format, {Format::table, Format::json});
  if (!options.static_model.empty() && !options.sass)
    throw UserError("has no effect without --sass", Where{"--static-model", ""},
                    "Add --sass, or leave it out.");
  const std::vector<Target> targets =
      targets_for(options.gpus, options.static_model.empty() ? shipped_static_model()
                                                             : load_static_model(options.static_model));
  TuneSpec spec = options.config.load();
  options.compile.add_include_folders(spec);
  // Resources do not depend on the problem, as predictions do: the first one of each template stands for all.
  for (std::size_t i = 0; !options.sass && i < spec.templates.size(); ++i) {
    const auto first = std::find_if(spec.problems.begin(), spec.problems.end(),
                                    [&](const Problem& problem) { return spec.templates[i].runs(problem); });
    spec.templates[i].problems = {first->label()};
  }
  std::vector<Task> tasks = plan_tasks(spec);
  catch_interrupts();
  const bool rows_on_terminal = format == Format::json && ::isatty(STDOUT_FILENO) != 0;
  Progress progress(options.quiet || rows_on_terminal, ::isatty(STDERR_FILENO) != 0);
  tell_if_not_confined([&](const std::string& line) { progress.note(line); });
  bool any_runs = false;
  stream_output("", [&](std::ostream& out) {
    write_rows(out, format, options.sass, targets, [&](const TakeRow& take) {
      inspect_with_progress(options, spec, tasks, targets, progress, [&](const InspectedConfiguration& row) {
        for (const InspectedOnGpu& gpu : row.gpus) any_runs = any_runs || gpu.outcome == Outcome::ok;
        take(row);
      });
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

/// What became of the configurations on one GPU.
struct Compilations {
  std::uint64_t compiled = 0;
  std::uint64_t refused = 0;  ///< the GPU cannot run them
  std::map<std::string, std::uint64_t> failures;

  void add(const InspectedOnGpu& result) {
    if (result.outcome == Outcome::ok)
      ++compiled;
    else if (result.outcome == Outcome::refused)
      ++refused;
    else
      ++failures[result.reason.substr(0, result.reason.find('\n'))];
  }

  std::uint64_t failed() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : failures) sum += count;
    return sum;
  }
};

std::string as_text(const Target& target, const Compilations& compilations) {
  constexpr std::size_t kMostShown = 5;
  std::string text =
      fmt::format("{} ({}): {} compiled, {} refused, {} failed\n", target.name, target.architecture,
                  compilations.compiled, compilations.refused, compilations.failed());
  std::size_t shown = 0;
  for (const auto& [reason, count] : compilations.failures) {
    if (++shown > kMostShown) {
      text += fmt::format("  and {} more\n", counted(compilations.failures.size() - kMostShown, "reason"));
      break;
    }
    text += fmt::format("  {} x {}\n", count, printable(reason));
  }
  return text;
}

int compile(InspectCommand& options) {
  const bool as_json = asks_for_json(options.format);
  const std::vector<Target> targets = targets_for(options.gpus, shipped_static_model());
  TuneSpec spec = options.config.load();
  apply_shard(options.shard, spec.shard);
  options.compile.add_include_folders(spec);
  spec.strategy.name = "exhaustive";
  spec.budget = {};
  catch_interrupts();
  const auto started = Clock::now();
  std::vector<Task> tasks = plan_tasks(spec, interrupted);
  Progress progress(options.quiet, ::isatty(STDERR_FILENO) != 0);
  tell_if_not_confined([&](const std::string& line) { progress.note(line); });
  const std::string cache = options.compile.pool_options(spec).cache_folder.string();
  std::vector<Compilations> done(targets.size());
  inspect_with_progress(options, spec, tasks, targets, progress, [&](const InspectedConfiguration& row) {
    for (std::size_t i = 0; i < targets.size(); ++i) done[i].add(row.gpus[i]);
  });
  Json json{{"cache", cache}, {"wall_s", seconds_since(started)}, {"gpus", Json::array()}};
  std::string text;
  std::uint64_t compiled = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    json["gpus"].push_back({{"gpu", targets[i].name},
                            {"architecture", targets[i].architecture},
                            {"compiled", done[i].compiled},
                            {"refused", done[i].refused},
                            {"failed", done[i].failed()}});
    text += as_text(targets[i], done[i]);
    compiled += done[i].compiled;
  }
  text += fmt::format("in {}; kernel cache: {}\n", human_seconds(seconds_since(started)), printable(cache));
  print_either(as_json, json, text);
  if (interrupted()) {
    fmt::print(stderr, "Interrupted: run the same command again to continue from the kernel cache.\n");
    return kInterrupted;
  }
  if (compiled > 0) return 0;
  throw NothingToDo("no configuration was compiled that one of these GPUs can run",
                    Where{spec.file.string(), ""}, "See why: tiletune inspect, with the same options.");
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command(app, action, "inspect",
                                        "Compile every configuration for any GPU model, without needing that "
                                        "GPU: registers, spills, occupancy, limiter",
                                        inspect);
  options.config.add_to(command);
  options.compile.add_to(command);
  command.add_option("--gpu", options.gpus, "GPU model, e.g. A100-80GB (repeatable; side by side)");
  add_option(command, "--format", options.format, "table or json (json has the blocks-per-SM arithmetic)",
             {.shows_default = true});
  command.add_flag("--sass", options.sass,
                   "Instead show the instructions of the hottest loop's machine code and the static model's "
                   "prediction, for every problem");
  add_option(command, "--static-model", options.static_model,
             "With --sass: predict with this file instead of configs/model/static_model.json",
             {.type = "FILE"});
  command.add_flag("-q,--quiet", options.quiet, "No progress");
  command.footer(
      "Examples:\n  tiletune inspect configs/quick.json --gpu A100-80GB --gpu H100\n"
      "  tiletune inspect configs/sgemm.json --template sgemm_warptile --gpu H200 --format json\n"
      "  tiletune inspect configs/sgemm.json --template sgemm_warptile --gpu H200 --sass");
}

void add_compile_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command(
      app, action, "compile",
      "Fill the kernel cache for a GPU model, without needing that GPU, so that a sweep only measures",
      compile);
  options.config.add_to(command);
  options.compile.add_to(command);
  command.add_option("--gpu", options.gpus, "GPU model to compile for, e.g. A100-80GB (repeatable)");
  add_shard_option(command, options.shard);
  command.add_option("--format", options.format, "table or json")->capture_default_str();
  command.add_flag("-q,--quiet", options.quiet, "No progress");
  command.footer(
      "The cache is the folder tiletune/ in XDG_CACHE_HOME (~/.cache). It may be shared by machines.\n"
      "Examples:\n  tiletune compile configs/sgemm.json --gpu H100\n"
      "  XDG_CACHE_HOME=/shared/cache tiletune compile configs/sgemm.json --gpu H100 --shard 3/16");
}

}  // namespace tiletune
