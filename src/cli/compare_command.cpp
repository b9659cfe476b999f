#include <cmath>
#include <set>

#include "base/folder.h"
#include "cli/common.h"
#include "cli/fill_config.h"
#include "cli/sweep_report.h"
#include "output/comparison.h"
#include "rank/compare.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// The largest value of --fail-above: no slowdown is beyond it.
constexpr double kMostPercent = 1e6;

struct CompareOptions {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> databases;
  std::string by = "gpu";
  FilterOptions rows;
  std::filesystem::path predict;
  CompileOptions compile;
  std::filesystem::path fill;
  std::optional<double> fail_above;
  std::string statistic = "median";
  std::string format = "table";
  std::filesystem::path output;
};

void check_combination(const CompareOptions& options, CompareBy by) {
  if (options.fail_above && !(*options.fail_above >= 0 && *options.fail_above <= kMostPercent))
    throw UserError(fmt::format("{} is not a valid percentage", *options.fail_above),
                    Where{"--fail-above", ""}, fmt::format("Give a number from 0 to {}.", kMostPercent));
  if (by == CompareBy::gpu && !options.rows.gpus.empty())
    throw UserError("selects GPUs, but GPUs are what is compared", Where{"--gpu", ""},
                    "Name them after the command: tiletune compare A100 H100.");
  if (options.predict.empty()) return;
  if (by != CompareBy::gpu)
    throw UserError("predicts for GPUs, but GPUs are not what is compared", Where{"--predict", ""},
                    "Leave out --by, or record predictions with 'tiletune sweep --gpu'.");
  if (options.names.empty())
    throw UserError("needs the names of the GPUs to predict for", Where{"--predict", ""},
                    "Name them: tiletune compare A100-80GB H100 --predict configs/sgemm.json.");
}

/// The databases of one comparison, opened. Predictions are in one that is removed with this object.
class Sources {
 public:
  explicit Sources(const CompareOptions& options) : models_(shipped_gpu_models()) {
    const bool may_do_without = !options.predict.empty() && options.databases.empty();
    std::vector<std::filesystem::path> files = options.databases;
    std::error_code ignored;
    if (files.empty() && (!may_do_without || std::filesystem::exists(kDefaultDatabase, ignored)))
      files.emplace_back(kDefaultDatabase);
    for (const auto& file : files) {
      for (const std::string& other : names_) {
        if (std::filesystem::equivalent(file, other, ignored))
          throw UserError("the database is named twice", Where{file.string(), ""},
                          "Leave one of the two out.");
      }
      check_output(options.output, file);
      check_output(options.fill, file);
      open(file, file.string(), options.rows.skip_bad);
    }
    if (!options.predict.empty()) predict(options);
  }

  /// A person ended predicting early.
  bool is_interrupted() const { return is_interrupted_; }
  const std::vector<std::string>& names() const { return names_; }
  std::string alias(const std::string& gpu) const { return alias_of(models_, gpu); }

  std::vector<const Database*> all() const {
    std::vector<const Database*> databases;
    for (const auto& database : databases_) databases.push_back(database.get());
    return databases;
  }

  /// All that `read` reads is of one state of each database.
  void at_one_state(const std::function<void()>& read, std::size_t from = 0) const {
    if (from == databases_.size()) return read();
    databases_[from]->at_one_state([&] { at_one_state(read, from + 1); });
  }

 private:
  void open(const std::filesystem::path& file, const std::string& name, bool skip_bad = false) {
    databases_.push_back(std::make_unique<Database>(open_rows(file, skip_bad)));
    names_.push_back(name);
  }

  /// Whether a row of the operation, with its types and options, on such a GPU is among those of the filter,
  /// whose own GPUs do not count.
  bool has_row(const std::string& wanted, const Operation& operation, TrialFilter filter) const {
    bool found = false;
    for (const auto& database : databases_) {
      for (const std::string& gpu : database->distinct("gpu")) {
        if (found || (!has_words(gpu, wanted) && !has_words(alias(gpu), wanted))) continue;
        filter.gpus = {gpu};
        database->for_each(filter, [&](const Trial& trial) {
          // The filter takes a part of a name for the whole.
          found = trial.gpu == gpu && trial.operation == operation.name && is_of_variant(trial, operation);
          return !found;
        });
      }
    }
    return found;
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

  /// Predicts configurations for a model, with progress on standard error. Throws UserError for an unknown
  /// model; rethrows what ended the sweep.
  void predict(TuneSpec spec, const CompileOptions& compile, const std::string& model) {
    if (!folder_) folder_ = std::make_unique<ScratchFolder>();
    compile.add_include_folders(spec);
    ChosenGpus gpus = choose_gpus({model, "0", false, {}}, spec, plan_tasks(spec, interrupted), interrupted);
    Database database(folder_->path() / "predicted", Database::Mode::read_write);
    SweepOptions options;
    options.compile = compile.pool_options(spec);
    options.command = "tiletune compare --predict";
    options.interrupted = interrupted;
    ConsoleObserver observer(false);
    observer.on_note(fmt::format("predicting {} for {}", spec.name, gpus.gpu_sets.front().target().name));
    const SweepSummary summary = run_sweep(spec, gpus.gpu_sets, database, options, observer);
    observer.finish();
    if (summary.failure) std::rethrow_exception(summary.failure);
    is_interrupted_ = is_interrupted_ || summary.interrupted;
  }

  void predict(const CompareOptions& options) {
    catch_interrupts();
    ConfigOptions config;
    config.config = options.predict;
    config.problems = options.rows.problems;
    config.templates = options.rows.templates;
    const TuneSpec spec = config.load();
    TrialFilter compared;
    compared.baselines = false;
    compared.templates = options.rows.templates;
    compared.sources = parse_sources(options.rows.sources);
    compared.source_age = options.rows.any_source ? SourceAge::any : SourceAge::newest;
    for (const std::string& name : options.names) {
      TuneSpec predicted = lacking(spec, name, compared);
      if (predicted.templates.empty()) continue;
      try {
        predict(std::move(predicted), options.compile, name);
      } catch (const NothingToDo& nothing) {
        // Problems without a valid configuration have no rows on any GPU.
        fmt::print(stderr, "note: {}\n", printable(nothing.what()));
      }
      if (is_interrupted_) return;
    }
    if (folder_) open(folder_->path() / "predicted", "predictions");
  }

  std::vector<GpuModel> models_;
  std::unique_ptr<ScratchFolder> folder_;  ///< of predictions, if any
  bool is_interrupted_ = false;
  std::vector<std::unique_ptr<Database>> databases_;
  std::vector<std::string> names_;
};

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
  TrialFilter filter = options.rows.filter(sources.all());
  // Sides that differ in time may be a kernel before and after an edit.
  if (by == CompareBy::date || by == CompareBy::sweep) filter.source_age = SourceAge::any;
  for (std::size_t i = 0; i < databases.size(); ++i) note_earlier_sources(databases[i], filter);
  const auto statistic = from_name<Statistic>(options.statistic);
  if (!statistic)
    throw UserError(fmt::format("'{}' is not a statistic", options.statistic), Where{"--statistic", ""},
                    "Known: median, mean, min.");
  Comparison comparison =
      compare_databases(databases, {by, filter, options.names, sources.names(), *statistic}, alias);
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

int run(CompareOptions& options) {
  const auto by = from_name<CompareBy>(options.by);
  if (!by)
    throw UserError(fmt::format("cannot compare by '{}'", options.by), Where{"--by", ""},
                    "Known: gpu, driver, date, sweep, source, database.");
  const Format format = format_from_name(options.format);
  check_combination(options, *by);
  const Sources sources(options);
  if (sources.is_interrupted()) return kInterrupted;
  const Databases databases(sources.all());
  int code = 0;
  sources.at_one_state([&] {
    const Comparison comparison = compare(options, *by, sources, databases);
    const bool on_stdout = options.output.empty();
    const TextStyle style{on_stdout && stdout_wants_colour(), on_stdout ? stdout_width() : kUsualWidth};
    stream_output(options.output, [&](std::ostream& out) {
      write_view(out, comparison_view(comparison, databases, options.fail_above), format, style);
    });
    if (!options.fill.empty()) code = write_fill_configs(comparison, databases, options.fill, interrupted);
    for (const Slowdown& slower : slowdowns(comparison, options.fail_above.value_or(INFINITY)))
      if (slower.is_certain) code = 1;
    for (const ComparedProblem& problem : comparison.problems)
      if (problem.sides_with_kernels() > 1) return;
    throw NothingToDo("no problem ran on two sides under the same conditions",
                      Where{join(sources.names(), ", "), ""},
                      "Compare sides that have a problem in common; --fill FILE writes the configs for it.");
  });
  return code;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<CompareOptions>(
      app, action, "compare",
      "Compare what is best on several GPUs, or with several drivers, days, sweeps or sources", run);
  const OptionTraits one_each{.one_each = true};
  command.add_option("NAME", options.names,
                     "What to compare: words of a GPU's name, a driver, a date ... (default: all recorded)");
  add_option(command, "--db", options.databases, "Results database (repeatable)", one_each)
      ->default_str(kDefaultDatabase);
  command.add_option("--by", options.by, "gpu, driver, date, sweep, source or database")
      ->capture_default_str();
  add_option(command, "--gpu", options.rows.gpus,
             "With --by: only rows of this GPU: its full name, or whole words of it (repeatable)", one_each);
  add_option(command, "--template", options.rows.templates, "Only rows of this template (repeatable)",
             one_each);
  add_option(command, "--problem", options.rows.problems,
             "Only rows of this problem, e.g. 4096x4096x4096 (repeatable)", one_each);
  add_option(command, "--source", options.rows.sources,
             "Only rows of this source: measured, predicted, replayed or imported (repeatable)", one_each);
  command.add_flag("--any-source", options.rows.any_source,
                   std::string(kAnySourceHelp) + "; always included by date and by sweep");
  command.add_flag("--skip-bad", options.rows.skip_bad, kSkipBadHelp);
  command.add_option("--predict", options.predict,
                     "Predict this config's problems for the named GPUs that have no rows of them");
  options.compile.add_to(command);
  command.add_option(
      "--fill", options.fill,
      "Write the config that measures the best configurations of each side on the sides that lack them");
  command
      .add_option("--statistic", options.statistic, "Compare the median, mean or min of each row's samples")
      ->capture_default_str();
  command.add_option(
      "--fail-above", options.fail_above,
      "Exit with 1 when nothing runs any more on a later side, or when its fastest configuration is slower "
      "than the first side's and the whole interval of the difference is above this percentage");
  command.add_option("--format", options.format, "table, json, csv or markdown")->capture_default_str();
  command.add_option("-o,--output", options.output, "Write here instead of to standard output");
  command.footer(
      "Examples:\n  tiletune compare A100 H100 --db a100.db --db h100.db\n"
      "  tiletune compare A100-80GB H100 H200 --predict configs/sgemm.json --db results/h200.db\n"
      "  tiletune compare A100 H100 --db all.db --fill missing.json\n"
      "  tiletune compare --by driver --gpu H200 --fail-above 5\n"
      "  tiletune compare --by database --db before.db --db after.db --format json");
}

}  // namespace tiletune
