#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/console_observer.h"
#include "cli/gpus.h"
#include "cli/measure_flags.h"
#include "cli/single_configuration.h"
#include "cli/sweep_report.h"
#include "cli/verdict.h"
#include "output/configuration_report.h"
#include "output/display.h"
#include "spec/load.h"
#include "spec/problem.h"
#include "tune/sweep.h"

namespace tiletune {

namespace {

struct BenchCommand {
  std::string kernel_template;
  std::vector<std::string> settings;
  std::string problem;
  bool best = false;
  bool extend = false;
  bool allow_outside_paths = false;
  MeasureFlags measure;
  CompileOptions compile;
  std::filesystem::path database = kDefaultDatabase;
  GpuChoice gpus{"", "0", false, {}};
  std::string format = "table";
  bool quiet = false;
  std::string command_line;
};

SingleConfiguration configuration_of(const BenchCommand& options) {
  SingleConfiguration one;
  one.extend = options.extend;
  one.allow_outside_paths = options.allow_outside_paths;
  one.manifest = manifest_of(options.kernel_template, options.allow_outside_paths);
  LoadOptions load;
  load.template_folders = {home_folder() / "kernel_templates"};
  load.allow_outside_paths = options.allow_outside_paths;
  one.kernel = load_template(one.manifest, load);
  const Where where{"--problem", ""};
  if (options.problem.empty()) {
    throw UserError(
        "the problem is missing", where,
        fmt::format("Give the sizes {}, such as --problem {}.", join(one.kernel.operation.dimensions, "x"),
                    join(std::vector<std::string>(one.kernel.operation.dimensions.size(), "4096"), "x")));
  }
  const nlohmann::ordered_json problem = options.problem;
  const std::vector<std::string> names = setting_names(one.kernel.operation);
  std::vector<std::string> settings = options.settings;
  for (const auto& [name, text] : read_settings({problem, where}, names))
    settings.push_back(fmt::format("{}={}", name, text));
  apply_settings(one, settings, load);
  one.problem = parse_problem(options.problem, one.kernel, where, names);
  return one;
}

/// The best row of the template on the GPU that would be used; none when the database has none.
std::optional<Trial> best_known(const BenchCommand& options, const SingleConfiguration& one) {
  const Database database(options.database, Database::Mode::read_only);
  return recorded_best(database, one.kernel, gpu_name(options.gpus, ""), one.problem.label());
}

void fill_from_best(const BenchCommand& options, SingleConfiguration& one) {
  const auto best = best_known(options, one);
  if (!best) {
    throw UserError(fmt::format("{} holds no {} on {}", options.database.string(), one.kernel.label(),
                                gpu_name(options.gpus, "")),
                    Where{"--best", ""}, "Sweep it first, or set every parameter.");
  }
  const std::string filled = fill_from(one, *best);
  if (options.quiet || filled.empty()) return;
  fmt::print(stderr, "from the best recorded for {} on {}: {}\n", best->problem, printable(best->gpu),
             printable(filled));
}

/// Where the database knows a best, the command that measures it.
std::string suggested_command(const BenchCommand& options, const SingleConfiguration& one) {
  try {
    const auto best = best_known(options, one);
    if (!best) return "";
    std::string command = bench_command_line(*best, one.kernel, options.kernel_template, one.problem.label());
    if (!options.gpus.model.empty()) command += " --gpu " + shell_quoted(options.gpus.model);
    if (options.database != kDefaultDatabase) command += " --db " + shell_quoted(options.database.string());
    return fmt::format("\n  The best recorded for {} on {}:\n    {}", best->problem, printable(best->gpu),
                       command);
  } catch (const UserError&) {  // there is no database yet, or none that can be read
    return "";
  }
}

void check_determined(const BenchCommand& options, const SingleConfiguration& one) {
  const std::vector<Parameter> open = open_parameters(one);
  if (open.empty()) return;
  std::string remedy = "Set each to one of the values that are left:";
  for (const Parameter& parameter : open) {
    remedy += fmt::format("\n    --set {}=", parameter.name);
    for (const Value& value : parameter.values) {
      if (&value != &parameter.values.front()) remedy += '|';
      remedy += to_text(value);
    }
    if (!parameter.meaning.empty()) remedy += fmt::format("   ({})", parameter.meaning);
  }
  throw UserError(fmt::format("{} of {} {} not set", counted(open.size(), "parameter"), one.kernel.name,
                              open.size() == 1 ? "is" : "are"),
                  Where{"--set", ""}, remedy + suggested_command(options, one));
}

void check_one_gpu(const GpuChoice& gpus) {
  if (gpus.indices.find_first_not_of("0123456789") == std::string::npos) return;
  throw UserError("one configuration is measured on one GPU", Where{"--gpus", ""},
                  "Give one number, such as --gpus 1.");
}

ConfigurationReport report_of(const TuneSpec& spec, const GpuSet& gpu_set, const Database& database,
                              const SweepSummary& summary) {
  ConfigurationReport report;
  TrialFilter filter;
  filter.sweep_id = summary.sweep_id;
  for (Trial& row : database.trials(filter)) {
    if (row.kind == "kernel")
      report.kernel = std::move(row);
    else if (row.kind == "twin")
      report.twin = std::move(row);
    else
      report.baselines.push_back(std::move(row));
  }
  report.calibration = database.calibration(report.kernel.gpu_uuid, report.kernel.driver_version);
  const Workload& workload = gpu_set.tasks.front().instantiator.workload();
  report.flops = workload.flops;
  report.bytes = workload.bytes;
  report.multiprocessors = gpu_set.target().model.multiprocessors;
  report.error_bound = error_bound_text(spec.templates.front());
  return report;
}

void print_report(const ConfigurationReport& report, const Database& database, const SweepSummary& summary,
                  Format format) {
  if (format == Format::json) {
    nlohmann::ordered_json document{{"tiletune", kVersion}, {"sweep_id", summary.sweep_id}};
    document.update(report_json(report));
    write_output("", json_text(document, 2) + "\n");
    return;
  }
  stream_output("", [&](std::ostream& out) {
    write_report(out, report);
    out << fmt::format("\nrecorded in {} as sweep {}\n", printable(database.file().string()),
                       summary.sweep_id);
  });
}

int exit_code(const ConfigurationReport& report, const SweepSummary& summary) {
  if (summary.failure) std::rethrow_exception(summary.failure);
  if (summary.interrupted) return kInterrupted;
  const Trial& kernel = report.kernel;
  if (kernel.outcome == Outcome::ok) return 0;
  throw NothingToDo(fmt::format("the configuration cannot be ranked: {}", name(kernel.outcome)),
                    Where{kernel.template_name, ""}, printable_message(kernel.reason));
}

int run(const BenchCommand& options) {
  const Format format = format_from_name(options.format, {Format::table, Format::json});
  SingleConfiguration one = configuration_of(options);
  if (options.best) fill_from_best(options, one);
  check_determined(options, one);
  TuneSpec spec = tune_spec_of(one);
  options.measure.apply(spec);
  options.compile.add_include_folders(spec);
  std::vector<Task> tasks = plan_tasks(spec);
  if (tasks.front().instantiator.workload().gpus == 1) check_one_gpu(options.gpus);
  Database database(options.database, Database::Mode::read_write);
  catch_interrupts();
  ChosenGpus gpus = choose_gpus(options.gpus, spec, std::move(tasks), interrupted);
  if (format == Format::table && !options.quiet) write_output("", headline(gpus));
  if (format == Format::json && !gpus.why_predicted.empty()) fmt::print(stderr, "{}", headline(gpus));
  SweepOptions sweep;
  sweep.compile = options.compile.pool_options(spec);
  sweep.command = options.command_line;
  sweep.remeasure = true;
  sweep.outputs = options.gpus.outputs;
  sweep.interrupted = interrupted;
  ConsoleObserver observer(options.quiet);
  tell_if_not_confined([&](const std::string& line) { observer.on_note(line); });
  observer.wait_for_others(database);
  const SweepSummary summary = run_sweep(spec, gpus.gpu_sets, database, sweep, observer);
  observer.finish();
  const ConfigurationReport report = report_of(spec, gpus.gpu_sets.front(), database, summary);
  if (summary.finished > 0) {
    print_report(report, database, summary, format);
  } else if (summary.interrupted) {
    fmt::print(stderr, "Interrupted: nothing was measured.\n");
  }
  return exit_code(report, summary);
}

void add_what_to(CLI::App& command, BenchCommand& options) {
  command
      .add_option("TEMPLATE", options.kernel_template, "A shipped template, or the folder of a template.json")
      ->required();
  command
      .add_option(
          "--set", options.settings,
          "A value of a parameter, such as BM=128, a scalar, a type variable or an option (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--problem", options.problem,
                     "Problem, e.g. 4096x4096x4096, 1000x77x513,lda=520 or 1x8192x8192,layout=nt");
  command.add_flag(
      "--best", options.best,
      "Take parameters that are not set from the best recorded configuration of the template on this GPU");
  command.add_flag("--extend", options.extend, "Allow values that the template does not list");
  command.add_flag("--allow-outside-paths", options.allow_outside_paths,
                   "Let the template name files outside its folder");
}

void add_how_to(CLI::App& command, BenchCommand& options, const CLI::Option*& gpus) {
  options.compile.add_to(command);
  options.measure.add_to(command, Flag::Of::bench);
  command.add_option("--db", options.database, "Results database, where it is recorded")
      ->capture_default_str();
  gpus = command.add_option("--gpus", options.gpus.indices, "The driver's number of the GPU to measure on")
             ->capture_default_str();
  command
      .add_option("--gpu", options.gpus.model, "Predict for this model (e.g. A100-80GB) instead of measuring")
      ->excludes("--gpus");
  command
      .add_option("--outputs", options.gpus.outputs,
                  "Keep what it leaves in its outputs: FOLDER/<key of the row>/<buffer>.npy")
      ->type_name("FOLDER")
      ->excludes("--gpu");
  // For tests, as in sweep.
  command.add_option("--gpu-worker", options.gpus.worker)->allow_extra_args(false)->group("");
  command.add_option("--format", options.format, "table (a report to read) or json")->capture_default_str();
  command.add_flag("-q,--quiet", options.quiet, "No progress, only the report");
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action, const std::string& command_line) {
  auto options = std::make_shared<BenchCommand>();
  options->command_line = command_line;
  CLI::App* command =
      app.add_subcommand("bench", "Measure one configuration and report everything known about it");
  add_what_to(*command, *options);
  const CLI::Option* gpus = nullptr;
  add_how_to(*command, *options, gpus);
  command->footer(
      "Parameters that are not set must follow from the constraints, or come from --best.\n"
      "Examples:\n  tiletune bench sgemm_shared --set BM=32 --set BN=32 --set BK=16 --problem "
      "4096x4096x4096\n"
      "  tiletune bench sgemm_warptile --best --problem 4096x4096x4096 --sustained 2s\n"
      "  tiletune bench sgemm_warptile --best --set BK=16 --problem 1024 --format json\n"
      "  tiletune bench my_kernels/axpy --set BLOCK=256 --problem 1000000 --gpu A100-80GB");
  command->callback([options, command, gpus, &action] {
    options->gpus.asked = gpus->count() > 0;
    options->gpus.confined = options->compile.confined;
    action = [options, command] {
      check_flags_beside_model(*command);
      return run(*options);
    };
  });
}

}  // namespace tiletune
