#include "cli/predicted_rows.h"

#include <fmt/format.h>

#include <exception>

#include "cli/console_observer.h"
#include "cli/gpus.h"
#include "cli/signals.h"
#include "tune/row.h"
#include "tune/sweep.h"

namespace tiletune {

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

void PredictedRows::predict(TuneSpec spec, const CompileOptions& compile, const std::string& model) {
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

}  // namespace tiletune
