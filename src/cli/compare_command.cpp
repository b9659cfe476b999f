#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/console_observer.h"
#include "cli/fill_config.h"
#include "cli/gpus.h"
#include "cli/recorded_problems.h"
#include "output/comparison.h"
#include "output/display.h"
#include "output/table.h"
#include "rank/compare.h"
#include "spec/tune_spec.h"
#include "store/database.h"
#include "tune/row.h"
#include "tune/sweep.h"

namespace tiletune {

namespace {

/// The largest value of --fail-above: no slowdown is beyond it.
constexpr double kMostPercent = 1e6;

struct CompareOptions {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> databases;
  std::string by = "gpu";
  std::vector<std::string> gpus;
  std::vector<std::string> templates;
  std::vector<std::string> problems;
  std::vector<std::string> sources;
  bool any_source = false;
  std::filesystem::path predict;
  CompileOptions compile;
  std::filesystem::path fill;
  std::optional<double> fail_above;
  std::string format = "table";
  std::filesystem::path output;
};

/// Whether a row of the operation, with its types and options, on the GPU, by its whole name, is among those
/// of the filter, whose own GPUs do not count.
bool has_row_of(const Database& database, const std::string& gpu, const Operation& operation,
                TrialFilter filter) {
  filter.gpus = {gpu};
  bool found = false;
  database.for_each(filter, [&](const Trial& trial) {
    // The filter takes a part of a name for the whole.
    found = trial.gpu == gpu && trial.operation == operation.name && is_of_variant(trial, operation);
    return !found;
  });
  return found;
}

/// Predictions in a database that is removed with this object.
class PredictedRows {
 public:
  /// Predicts a config's configurations for a model, with progress on standard error. Throws UserError for an
  /// unknown model; rethrows what ended the sweep.
  void predict(TuneSpec spec, const CompileOptions& compile, const std::string& model) {
    compile.add_include_folders(spec);
    ChosenGpus gpus = choose_gpus({model, "0", false, {}}, spec, plan_tasks(spec, tiletune::interrupted),
                                  tiletune::interrupted);
    Database database(file(), Database::Mode::read_write);
    SweepOptions options;
    options.compile = compile.pool_options(spec);
    options.command = "tiletune compare --predict";
    options.interrupted = tiletune::interrupted;
    ConsoleObserver observer(false);
    observer.on_note(fmt::format("predicting {} for {}", spec.name, gpus.gpu_sets.front().target().name));
    const SweepSummary summary = run_sweep(spec, gpus.gpu_sets, database, options, observer);
    observer.finish();
    if (summary.failure) std::rethrow_exception(summary.failure);
    interrupted_ = interrupted_ || summary.interrupted;
  }
  /// A person ended it early.
  bool interrupted() const { return interrupted_; }
  std::filesystem::path file() const { return folder_.path() / "predicted"; }

 private:
  ScratchFolder folder_;
  bool interrupted_ = false;
};

CompareBy parse_by(const std::string& text) {
  if (const auto by = compare_by_from_name(text)) return *by;
  throw UserError(fmt::format("cannot compare by '{}'", text), Where{"--by", ""},
                  "Known: gpu, driver, date, sweep, source, database.");
}

void check_combination(const CompareOptions& options, CompareBy by) {
  if (options.fail_above && !(*options.fail_above >= 0 && *options.fail_above <= kMostPercent)) {
    throw UserError(fmt::format("{} is not a valid percentage", *options.fail_above),
                    Where{"--fail-above", ""}, fmt::format("Give a number from 0 to {}.", kMostPercent));
  }
  if (by == CompareBy::gpu && !options.gpus.empty()) {
    throw UserError("selects GPUs, but GPUs are what is compared", Where{"--gpu", ""},
                    "Name them after the command: tiletune compare A100 H100.");
  }
  if (options.predict.empty()) return;
  if (by != CompareBy::gpu) {
    throw UserError("predicts for GPUs, but GPUs are not what is compared", Where{"--predict", ""},
                    "Leave out --by, or record predictions with 'tiletune sweep --gpu'.");
  }
  if (options.names.empty()) {
    throw UserError("needs the names of the GPUs to predict for", Where{"--predict", ""},
                    "Name them: tiletune compare A100-80GB H100 --predict configs/sgemm.json.");
  }
}

/// The databases of one comparison, opened.
class Sources {
 public:
  explicit Sources(const CompareOptions& options) : models_(shipped_gpu_models()) {
    const bool may_do_without = !options.predict.empty() && options.databases.empty();
    std::vector<std::filesystem::path> files = options.databases;
    std::error_code ignored;
    if (files.empty() && (!may_do_without || std::filesystem::exists(kDefaultDatabase, ignored)))
      files.emplace_back(kDefaultDatabase);
    for (const auto& file : files) {
      refuse_twice(file);
      check_output(options.output, file);
      check_output(options.fill, file);
      open(file, file.string());
    }
    if (!options.predict.empty()) predict(options);
  }

  bool interrupted() const { return predicted_ && predicted_->interrupted(); }
  const std::vector<std::string>& names() const { return names_; }
  std::string alias(const std::string& gpu) const { return alias_of(models_, gpu); }

  Databases all() const {
    std::vector<const Database*> databases;
    for (const auto& database : databases_) databases.push_back(database.get());
    return Databases(databases);
  }

  /// All that `read` reads is of one state of each database.
  void at_one_state(const std::function<void()>& read, std::size_t from = 0) const {
    if (from == databases_.size()) return read();
    databases_[from]->at_one_state([&] { at_one_state(read, from + 1); });
  }

 private:
  void open(const std::filesystem::path& file, const std::string& name) {
    databases_.push_back(std::make_unique<Database>(file, Database::Mode::read_only));
    names_.push_back(name);
  }

  void refuse_twice(const std::filesystem::path& file) const {
    for (const std::string& other : names_) {
      std::error_code ignored;
      if (!std::filesystem::equivalent(file, other, ignored)) continue;
      throw UserError("the database is named twice", Where{file.string(), ""}, "Leave one of the two out.");
    }
  }

  bool has_row(const std::string& wanted, const Operation& operation, const TrialFilter& filter) const {
    for (const auto& database : databases_) {
      for (const std::string& gpu : database->gpus()) {
        if (!has_words(gpu, wanted) && !has_words(alias(gpu), wanted)) continue;
        if (has_row_of(*database, gpu, operation, filter)) return true;
      }
    }
    return false;
  }

  /// With each template only on those of its problems for which the GPU lacks rows of its operation.
  TuneSpec lacking(TuneSpec spec, const std::string& gpu, TrialFilter filter) const {
    for (TemplateSpec& kernel : spec.templates) {
      std::set<std::string> labels;
      for (const Problem& problem : spec.problems) {
        filter.problems = {problem.label()};
        if (kernel.runs(problem) && !has_row(gpu, kernel.operation, filter)) labels.insert(problem.label());
      }
      kernel.problems = std::move(labels);
    }
    std::erase_if(spec.templates, [](const TemplateSpec& kernel) { return kernel.problems.empty(); });
    return spec;
  }

  /// Problems without a valid configuration have no rows on any GPU.
  void predict_for(const std::string& gpu, TuneSpec spec, const CompileOptions& compile) {
    try {
      predicted_->predict(std::move(spec), compile, gpu);
    } catch (const NothingToDo& nothing) {
      fmt::print(stderr, "note: {}\n", printable(nothing.what()));
    }
  }

  void predict(const CompareOptions& options) {
    catch_interrupts();
    ConfigOptions config;
    config.config = options.predict;
    config.problems = options.problems;
    config.templates = options.templates;
    const TuneSpec spec = config.load();
    TrialFilter compared;
    compared.baselines = false;
    compared.templates = options.templates;
    compared.sources = parse_sources(options.sources);
    compared.source_age = options.any_source ? SourceAge::any : SourceAge::newest;
    for (const std::string& name : options.names) {
      TuneSpec predicted = lacking(spec, name, compared);
      if (predicted.templates.empty()) continue;
      if (!predicted_) predicted_ = std::make_unique<PredictedRows>();
      predict_for(name, std::move(predicted), options.compile);
      if (predicted_->interrupted()) return;
    }
    if (predicted_) open(predicted_->file(), "predictions");
  }

  std::vector<GpuModel> models_;
  std::unique_ptr<PredictedRows> predicted_;
  std::vector<std::unique_ptr<Database>> databases_;
  std::vector<std::string> names_;
};

TrialFilter filter_of(const CompareOptions& options, CompareBy by, const Databases& databases) {
  TrialFilter filter;
  // Sides that differ in time may be a kernel before and after an edit.
  const bool any = options.any_source || by == CompareBy::date || by == CompareBy::sweep;
  filter.source_age = any ? SourceAge::any : SourceAge::newest;
  filter.gpus = options.gpus;
  filter.templates = options.templates;
  filter.sources = parse_sources(options.sources);
  std::vector<const Database*> all;
  for (std::size_t i = 0; i < databases.size(); ++i) all.push_back(&databases[i]);
  filter_problems(options.problems, all, filter);
  return filter;
}

/// What `found` are instead of two sides, and what to do.
std::string remedy_for(const CompareOptions& options, const Comparison& found) {
  if (found.recorded.empty()) return "No row matches: loosen the filters, or name more databases with --db.";
  const std::string recorded = join(found.recorded, ", ");
  const std::string predict = options.by == "gpu" ? ", or predict for another GPU with --predict CONFIG" : "";
  if (found.recorded.size() > 1)
    return fmt::format("Only {} is named; recorded: {}. Name another{}.", found.sides.front().name, recorded,
                       predict);
  return fmt::format("Name more databases with --db{} loosen the filters{}.", predict.empty() ? " or" : ",",
                     predict);
}

Comparison compare(const CompareOptions& options, CompareBy by, const Sources& sources,
                   const Databases& databases) {
  const GpuAlias alias = [&](const std::string& gpu) { return sources.alias(gpu); };
  const TrialFilter filter = filter_of(options, by, databases);
  for (std::size_t i = 0; i < databases.size(); ++i) note_earlier_sources(databases[i], filter);
  Comparison comparison = compare_databases(databases, {by, filter, options.names, sources.names()}, alias);
  if (comparison.sides.size() > 1) return comparison;
  const std::string found =
      comparison.recorded.empty() ? "no row matches"
      : comparison.recorded.size() > 1
          ? fmt::format("only one {} is named", options.by)
          : fmt::format("all rows are from one {}, {}", options.by == "gpu" ? "GPU" : options.by,
                        comparison.recorded.front());
  throw UserError("nothing to compare: " + found, Where{join(sources.names(), ", "), ""},
                  remedy_for(options, comparison));
}

bool is_slower(const Comparison& comparison, std::optional<double> above) {
  if (!above) return false;
  const std::vector<Slowdown> slower = slowdowns(comparison, *above);
  return std::any_of(slower.begin(), slower.end(), [](const Slowdown& each) { return each.is_certain; });
}

int run(const CompareOptions& options) {
  const CompareBy by = parse_by(options.by);
  const Format format = format_from_name(options.format);
  check_combination(options, by);
  const Sources sources(options);
  if (sources.interrupted()) return kInterrupted;
  const Databases databases = sources.all();
  int code = 0;
  sources.at_one_state([&] {
    const Comparison comparison = compare(options, by, sources, databases);
    const bool on_stdout = options.output.empty();
    const TextStyle style{on_stdout && stdout_wants_colour(), on_stdout ? stdout_width() : kUsualWidth};
    stream_output(options.output, [&](std::ostream& out) {
      write_view(out, comparison_view(comparison, databases, options.fail_above), format, style);
    });
    if (!options.fill.empty()) {
      const FillConfigs configs = write_fill_configs(comparison, databases, options.fill, interrupted);
      for (const std::string& line : configs.lines) fmt::print(stderr, "{}\n", printable(line));
      if (configs.written == 0) code = 1;
    }
    if (is_slower(comparison, options.fail_above)) code = 1;
    const bool compared =
        std::any_of(comparison.problems.begin(), comparison.problems.end(),
                    [](const ComparedProblem& problem) { return problem.sides_with_kernels() > 1; });
    if (!compared) {
      throw NothingToDo(
          "no problem ran on two sides under the same conditions", Where{join(sources.names(), ", "), ""},
          "Compare sides that have a problem in common; --fill FILE writes the configs for it.");
    }
  });
  return code;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "Compare what is best on several GPUs, or with several drivers, days, sweeps or sources");
  command->add_option("NAME", options->names,
                      "What to compare: words of a GPU's name, a driver, a date ... (default: all recorded)");
  command->add_option("--db", options->databases, "Results database (repeatable)")
      ->allow_extra_args(false)
      ->default_str(kDefaultDatabase);
  command->add_option("--by", options->by, "gpu, driver, date, sweep, source or database")
      ->capture_default_str();
  command
      ->add_option("--gpu", options->gpus,
                   "With --by: only rows of this GPU: its full name, or whole words of it (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--template", options->templates, "Only rows of this template (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--problem", options->problems,
                   "Only rows of this problem, e.g. 4096x4096x4096 (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--source", options->sources,
                   "Only rows of this source: measured, predicted, replayed or imported (repeatable)")
      ->allow_extra_args(false);
  command->add_flag("--any-source", options->any_source,
                    std::string(kAnySourceHelp) + "; always included by date and by sweep");
  command->add_option("--predict", options->predict,
                      "Predict this config's problems for the named GPUs that have no rows of them");
  options->compile.add_to(*command);
  command->add_option(
      "--fill", options->fill,
      "Write the config that measures the best configurations of each side on the sides that lack them");
  command->add_option("--fail-above", options->fail_above,
                      "Exit with 1 when the fastest of a later side is slower than that of the first side by "
                      "more than this percentage and more than the noise, or no longer runs");
  command->add_option("--format", options->format, "table, json, csv or markdown")->capture_default_str();
  command->add_option("-o,--output", options->output, "Write here instead of to standard output");
  command->footer(
      "Examples:\n  tiletune compare A100 H100 --db a100.db --db h100.db\n"
      "  tiletune compare A100-80GB H100 H200 --predict configs/sgemm.json --db results/h200.db\n"
      "  tiletune compare A100 H100 --db all.db --fill missing.json\n"
      "  tiletune compare --by driver --gpu H200 --fail-above 5\n"
      "  tiletune compare --by database --db before.db --db after.db --format json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
