#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/file.h"
#include "base/version.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "cli/sanitize.h"
#include "cli/sweep_report.h"
#include "output/configuration_report.h"
#include "rank/ranking.h"
#include "rank/rows.h"
#include "spec/load.h"
#include "spec/paths.h"
#include "spec/problem.h"
#include "spec/values.h"
#include "tune/row.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// One configuration as a person names it: `tiletune bench TEMPLATE --set BM=128 --problem 4096x4096x4096`.
struct SingleConfiguration {
  fs::path manifest;
  LoadOptions load;
  Json config;    ///< names it, and asks for no screening, and for finals of it alone
  TuneSpec spec;  ///< read from the config: a parameter has the value that is set, or all that are listed

  const TemplateSpec& kernel() const { return spec.templates.front(); }
  const Problem& problem() const { return spec.problems.front(); }
};

/// Tells where a person typed what stands at a place of the config: /templates/0/parameters/BM is --set BM.
Where typed_at(const Where& in_config, const std::string& flag) {
  const std::vector<std::string> keys = split(in_config.pointer, '/');
  if (keys.size() > 1 && keys[1] == "problems") return {"--problem", ""};
  if (keys.size() > 2 && keys[1] == "scalars") return {fmt::format("{} {}", flag, keys[2]), ""};
  return {keys.size() > 4 ? fmt::format("{} {}", flag, keys[4]) : flag, ""};
}

/// Reads the config. Throws UserError at the place of what a person typed; `flag` gave the values.
void read_config(SingleConfiguration& one, const std::string& flag) {
  try {
    one.spec = parse_tune_spec(one.config.dump(2), flag, one.load);
  } catch (const UserError& error) {
    if (error.where().file != flag) throw;
    const bool is_unlisted = error.where().pointer.find("/parameters/") != std::string::npos &&
                             !one.config["templates"][0].contains("extend");
    throw UserError(error.message(), typed_at(error.where(), flag),
                    is_unlisted ? "Use one of those, or add --extend." : error.remedy());
  }
  // The nearest there is to a config's file: what git knows of it is recorded.
  one.spec.file = one.manifest;
}

[[noreturn]] void refuse_empty(const SingleConfiguration& one, const Space& space) {
  std::string set;
  for (const Parameter& parameter : one.kernel().parameters) {
    if (parameter.values.size() != 1) continue;
    set += fmt::format("{}{}={}", set.empty() ? " with " : " ", parameter.name,
                       to_text(parameter.values.front()));
  }
  std::string broken = "It breaks";
  for (const ConstraintReport& constraint : space.constraints()) {
    if (constraint.removed_first > 0)
      broken += fmt::format("\n    {}{}", constraint.require,
                            constraint.why.empty() ? "" : fmt::format("   ({})", constraint.why));
  }
  throw NothingToDo(
      fmt::format("{} has no valid configuration at {}{}", one.kernel().label(), one.problem().label(), set),
      Where{"--set", ""}, broken);
}

/// The manifest of a template that is shipped, or that a folder or path names. Throws UserError with the
/// nearest name.
fs::path manifest_of(const std::string& text, const LoadOptions& load) {
  fs::path path(text);
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  if (fs::exists(path / kManifestName, error)) return path / kManifestName;
  const Where where{"TEMPLATE", ""};
  if (text.find('/') == std::string::npos)
    return find_template(text, load.template_folders, load.allow_outside_paths, where).path() / kManifestName;
  throw UserError(
      fmt::format("there is no template at {}", text), where,
      fmt::format("Name a folder with a {}, that file itself, or a shipped template.", kManifestName));
}

/// Writes a parameter, a scalar, a type or an option of the template into the config. Throws UserError.
void write_setting(Json& config, const TemplateSpec& offered, const std::string& name,
                   const std::string& text) {
  const Where where{"--set " + name, ""};
  const Operation& operation = offered.operation;
  Json& entry = config["templates"][0];
  const auto parameter = std::ranges::find(offered.parameters, name, &Parameter::name);
  const auto is_named = [&](const auto& named) { return named.first == name; };
  if (parameter != offered.parameters.end()) {
    entry["parameters"][name] = Json::array({to_json(parse_value(text, *parameter, where))});
  } else if (std::ranges::any_of(operation.types, is_named)) {
    entry["types"][name] = text;
  } else if (std::ranges::any_of(operation.options, is_named)) {
    entry["options"][name] = text;
  } else if (std::ranges::any_of(operation.scalars, is_named)) {
    const auto value = parsed_number<double>(text);
    if (!value || !std::isfinite(*value))
      throw UserError(fmt::format("'{}' is not a number", text), where, "Write a number such as 1 or -0.5.");
    config["scalars"][name] = *value;
  } else {
    std::vector<std::string> known = names_of(offered.parameters, &Parameter::name);
    for (const auto& type : operation.types) known.push_back(type.first);
    for (const auto& option : operation.options) known.push_back(option.first);
    for (const auto& scalar : operation.scalars) known.push_back(scalar.first);
    throw UserError(fmt::format("{} has no parameter '{}'", offered.name, name), where,
                    std::string(trim(suggestion(name, known))));
  }
}

/// Writes each "NAME=VALUE" into the config. Throws UserError, also for a name that comes twice or that the
/// problem has, too.
void write_settings(const std::vector<std::string>& texts, const TemplateSpec& offered,
                    const Choices& of_problem, Json& config) {
  std::set<std::string> names;
  for (const auto& setting : of_problem) names.insert(setting.first);
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw UserError(fmt::format("'{}' sets nothing", text), Where{"--set", ""},
                      "Write a parameter's name and its value: --set BM=128.");
    const std::string name = text.substr(0, equals);
    if (!names.insert(name).second)
      throw UserError("it is set twice", Where{"--set " + name, ""}, "Set it once.");
    write_setting(config, offered, name, text.substr(equals + 1));
  }
}

/// The parameters for which more than one value is left under the constraints, each with these values; none
/// when all are determined. Throws NothingToDo when no configuration is left, with the constraints that
/// remove them.
std::vector<Parameter> open_parameters(const SingleConfiguration& one) {
  // Beyond this many, listing what is left under the constraints would take long and say little.
  constexpr std::uint64_t kMostVisited = 200000;
  const Space space(one.kernel(), one.problem());
  if (space.size() == 0) refuse_empty(one, space);
  std::vector<Parameter> open = one.kernel().parameters;
  if (space.size() <= kMostVisited) {
    std::vector<std::set<Value>> occurring(open.size());
    for (std::uint64_t index = 0; index < space.size(); ++index) {
      const Configuration configuration = space.at(index);
      for (std::size_t i = 0; i < open.size(); ++i) occurring[i].insert(configuration.values[i]);
    }
    for (std::size_t i = 0; i < open.size(); ++i)
      std::erase_if(open[i].values, [&](const Value& value) { return !occurring[i].contains(value); });
  }
  std::erase_if(open, [](const Parameter& parameter) { return parameter.values.size() < 2; });
  return open;
}

struct BenchCommand {
  const CLI::App* command = nullptr;
  std::string kernel_template;
  std::vector<std::string> settings;
  std::string problem;
  bool best = false;
  bool extend = false;
  bool allow_outside_paths = false;
  bool allow_loose = false;
  std::vector<std::string> sanitize;
  std::vector<std::string> filled;  ///< NAME=VALUE of parameters that --best gave
  MeasureFlags measure;
  CompileOptions compile;
  fs::path database = kDefaultDatabase;
  GpuChoice gpus{"", "0", false, {}};
  std::string format = "table";
  bool quiet = false;
  std::string command_line;
};

SingleConfiguration configuration_of(const BenchCommand& options) {
  SingleConfiguration one;
  one.load.template_folders = {home_folder() / "kernel_templates"};
  one.load.allow_outside_paths = options.allow_outside_paths;
  one.load.allow_loose = options.allow_loose;
  one.manifest = manifest_of(options.kernel_template, one.load);
  const TemplateSpec offered = load_template(one.manifest, one.load);
  const Where where{"--problem", ""};
  const std::vector<std::string>& dimensions = offered.operation.dimensions;
  if (options.problem.empty())
    throw UserError("the problem is missing", where,
                    fmt::format("Give the sizes {}, such as --problem {}.", join(dimensions, "x"),
                                join(std::vector<std::string>(dimensions.size(), "4096"), "x")));
  const Json problem = options.problem;
  one.config = {{"name", offered.name},
                {"templates", Json::array({Json{{"template", offered.name}}})},
                {"problems", Json::array({problem})},
                {"measure", {{"screening", 0}, {"finals", {{"configurations", 1}, {"within_percent", 0}}}}}};
  if (options.extend) one.config["templates"][0]["extend"] = true;
  write_settings(options.settings, offered, read_settings({problem, where}, setting_names(offered.operation)),
                 one.config);
  one.load.template_folders.insert(one.load.template_folders.begin(),
                                   fs::absolute(one.manifest).lexically_normal().parent_path().parent_path());
  read_config(one, "--set");
  return one;
}

/// The best row that the database holds for the template, in its variant, on the GPU that would be used: of
/// the problem, else of the problem recorded last. Measured rows come before predicted ones.
std::optional<Trial> best_known(const BenchCommand& options, const SingleConfiguration& one) {
  const Database database = open_rows(options.database);
  TrialFilter filter;
  filter.templates = {one.kernel().name};
  filter.gpus = {gpu_name(options.gpus)};
  filter.baselines = false;
  filter.source_age = SourceAge::newest;
  if (!options.quiet) note_earlier_sources(database, filter, "");
  RankingRows rows = ranking_rows(database, filter);
  std::optional<Trial> best;
  std::tuple<bool, bool> best_preference;
  for (const RankingGroup& group : rank_rows(rows)) {
    const std::tuple preference(group.problem == one.problem().label(), group.source == Source::measured);
    // Some words of a name suffice for the filter.
    if (group.gpu != filter.gpus.front() || (best && preference < best_preference)) continue;
    Trial row = database.row(group.rows.front().id);
    if (!is_of_variant(row, one.kernel().operation)) continue;
    best = std::move(row);
    best_preference = preference;
  }
  return best;
}

/// Gives the parameters that are not set yet the values of a recorded row. Throws UserError when there is
/// none, and when the template no longer lists one of them.
void fill_from_best(BenchCommand& options, SingleConfiguration& one) {
  const auto best = best_known(options, one);
  if (!best)
    throw UserError(fmt::format("{} holds no {} on {}", options.database.string(), one.kernel().label(),
                                gpu_name(options.gpus)),
                    Where{"--best", ""}, "Sweep it first, or set every parameter.");
  const Json recorded = Json::parse(best->parameters, nullptr, false);
  std::vector<std::string>& filled = options.filled;
  for (const Parameter& parameter : one.kernel().parameters) {
    if (parameter.values.size() == 1 || !recorded.is_object() || !recorded.contains(parameter.name)) continue;
    Value value;
    if (!from_json(recorded[parameter.name], value)) continue;
    one.config["templates"][0]["parameters"][parameter.name] = Json::array({recorded[parameter.name]});
    filled.push_back(fmt::format("{}={}", parameter.name, to_text(value)));
  }
  read_config(one, "--best");
  if (options.quiet || filled.empty()) return;
  fmt::print(stderr, "from the best recorded for {} on {}: {}\n", printable(best->problem),
             printable(best->gpu), printable(join(filled, " ")));
}

void check_determined(const SingleConfiguration& one, bool asked_for_best) {
  const std::vector<Parameter> open = open_parameters(one);
  if (open.empty()) return;
  std::string remedy = fmt::format("Set each to one of the values that are left{}:",
                                   asked_for_best ? "" : ", or take the best recorded ones with --best");
  for (const Parameter& parameter : open) {
    std::vector<std::string> values;
    for (const Value& value : parameter.values) values.push_back(to_text(value));
    remedy += fmt::format("\n--set {}={}", parameter.name, join(values, "|"));
    if (!parameter.meaning.empty()) remedy += fmt::format("   ({})", parameter.meaning);
  }
  throw UserError(fmt::format("{} of {} {} not set", counted(open.size(), "parameter"), one.kernel().name,
                              open.size() == 1 ? "is" : "are"),
                  Where{"--set", ""}, remedy);
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
                  bool json) {
  if (json) {
    Json document{{"tiletune", kVersion}, {"sweep_id", summary.sweep_id}};
    document.update(report_json(report));
    return print_json(document);
  }
  stream_output("", [&](std::ostream& out) {
    write_report(out, report);
    out << fmt::format("\nrecorded in {} as sweep {}\n", printable(database.file().string()),
                       summary.sweep_id);
  });
}

int measure(BenchCommand& options) {
  check_flags_beside_model(*options.command);
  options.gpus.asked = options.command->count("--gpus") > 0;
  options.gpus.confined = options.compile.confined;
  const bool json = asks_for_json(options.format);
  SingleConfiguration one = configuration_of(options);
  if (options.best) fill_from_best(options, one);
  check_determined(one, options.best);
  TuneSpec spec = std::move(one.spec);
  options.measure.apply(spec);
  options.compile.add_include_folders(spec);
  std::vector<Task> tasks = plan_tasks(spec);
  if (tasks.front().instantiator.workload().gpus == 1 &&
      options.gpus.indices.find_first_not_of("0123456789") != std::string::npos)
    throw UserError("one configuration is measured on one GPU", Where{"--gpus", ""},
                    "Give one number, such as --gpus 1.");
  check_default(*options.command, "--db", options.database);
  Database database(options.database, Database::Mode::read_write);
  catch_interrupts();
  ChosenGpus gpus = choose_gpus(options.gpus, spec, std::move(tasks), interrupted);
  if (!options.sanitize.empty() && !gpus.why_predicted.empty())
    throw UserError("there is no GPU to run it on", Where{"--sanitize", ""}, "Leave the flag out.");
  if (!json && !options.quiet) write_output("", headline(gpus));
  if (json && !gpus.why_predicted.empty()) fmt::print(stderr, "{}", headline(gpus));
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
    print_report(report, database, summary, json);
  } else if (summary.interrupted) {
    fmt::print(stderr, "Interrupted: nothing was measured.\n");
  }
  if (summary.failure) std::rethrow_exception(summary.failure);
  if (summary.interrupted) return kInterrupted;
  const Trial& kernel = report.kernel;
  if (kernel.outcome == Outcome::ok) return 0;
  throw NothingToDo(fmt::format("the configuration cannot be ranked: {}", name(kernel.outcome)),
                    Where{kernel.template_name, ""}, kernel.reason);
}

int run(BenchCommand& options) {
  check_sanitizers(options.sanitize);
  if (options.sanitize.empty()) return measure(options);
  std::exception_ptr refusal;
  int code = 0;
  try {
    code = measure(options);
  } catch (const NothingToDo&) {
    refusal = std::current_exception();  // a tool may tell why it is wrong
  }
  if (code != 0) return code;
  const bool json = asks_for_json(options.format);
  const auto write = [&](const std::string& text) {
    json ? fmt::print(stderr, "{}", text) : write_output("", text);
  };
  const int failed = run_sanitizers(options.sanitize, options.database, options.filled, write);
  if (failed == kInterrupted) return kInterrupted;
  if (refusal) std::rethrow_exception(refusal);
  return failed == 0 ? 0 : 1;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action, const std::string& command_line) {
  auto [command, options] = add_command<BenchCommand>(
      app, action, "bench", "Measure one configuration and report everything known about it", run);
  options.command = &command;
  options.command_line = command_line;
  command
      .add_option("TEMPLATE", options.kernel_template, "A shipped template, or the folder of a template.json")
      ->required();
  add_option(command, "--set", options.settings,
             "A value of a parameter, such as BM=128, a scalar, a type variable or an option (repeatable)",
             {.one_each = true});
  command.add_option("--problem", options.problem,
                     "Problem, e.g. 4096x4096x4096, 1000x77x513,lda=520 or 1x8192x8192,layout=nt");
  command.add_flag(
      "--best", options.best,
      "Take parameters that are not set from the best recorded configuration of the template on this GPU");
  command.add_flag("--extend", options.extend, "Allow values that the template does not list");
  command.add_flag("--allow-outside-paths", options.allow_outside_paths,
                   "Let the template name files outside its folder");
  command.add_flag("--allow-loose", options.allow_loose, kAllowLoose);
  options.compile.add_to(command);
  options.measure.add_to(command, Flag::Of::bench);
  add_option(command, "--db", options.database, "Results database, where it is recorded",
             {.shows_default = true});
  add_option(command, "--gpus", options.gpus.indices, "The driver's number of the GPU to measure on",
             {.shows_default = true});
  command
      .add_option("--gpu", options.gpus.model, "Predict for this model (e.g. A100-80GB) instead of measuring")
      ->excludes("--gpus");
  add_option(command, "--outputs", options.gpus.outputs,
             "Keep what it leaves in its outputs: FOLDER/<key of the row>/<buffer>.npy", {.type = "FOLDER"})
      ->excludes("--gpu");
  add_option(command, "--sanitize", options.sanitize,
             "Then re-run the configuration under these compute-sanitizer tools: memcheck, racecheck, "
             "initcheck, synccheck",
             {.type = "TOOL,...", .one_each = true})
      ->delimiter(',')
      ->excludes("--gpu");
  // For tests, as in sweep.
  command.add_option("--gpu-worker", options.gpus.worker)->allow_extra_args(false)->group("");
  command.add_option("--format", options.format, "table (a report to read) or json")->capture_default_str();
  command.add_flag("-q,--quiet", options.quiet, "No progress, only the report");
  command.footer(
      "Parameters that are not set must follow from the constraints, or come from --best.\n"
      "Examples:\n  tiletune bench sgemm_shared --set BM=32 --set BN=32 --set BK=16 --problem "
      "4096x4096x4096\n"
      "  tiletune bench sgemm_warptile --best --problem 4096x4096x4096 --sustained 2s\n"
      "  tiletune bench sgemm_warptile --best --set BK=16 --problem 1024 --format json\n"
      "  tiletune bench my_kernels/axpy --set BLOCK=256 --problem 1000000 --gpu A100-80GB");
}

}  // namespace tiletune
