#include "cli/predicted_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/error.h"
#include "cli/console_observer.h"
#include "cli/gpus.h"
#include "cli/signals.h"
#include "tune/sweep.h"

namespace tiletune {

bool has_row_of(const Database& database, const std::string& gpu, TrialFilter filter) {
  filter.gpus = {gpu};
  bool found = false;
  database.for_each(filter, [&](const Trial& trial) {
    // The filter takes a part of a name for the whole.
    found = trial.gpu == gpu;
    return !found;
  });
  return found;
}

PredictedRows::PredictedRows() {
  std::string name = (std::filesystem::temp_directory_path() / "tiletune-compare-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw UserError("no folder can be made for predictions", Where{name, ""},
                    "Check that the folder is writable and the disk has room.");
  }
  folder_ = name;
}

PredictedRows::~PredictedRows() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void PredictedRows::predict(const ConfigOptions& config, const CompileOptions& compile,
                            const std::string& model) {
  const TuneSpec spec = config.load();
  ChosenGpus gpus = choose_gpus({model, "0", false, {}}, spec, plan_stages(spec));
  Database database(file(), Database::Mode::read_write);
  SweepOptions options;
  options.compile = compile.pool_options(spec);
  options.command = "tiletune compare --predict";
  options.interrupted = tiletune::interrupted;
  ConsoleObserver observer(false);
  observer.on_note(fmt::format("predicting {} for {}", spec.name, gpus.fleets.front().target().name));
  const SweepSummary summary = run_sweep(spec, gpus.fleets, database, options, observer);
  observer.finish();
  if (summary.failure) std::rethrow_exception(summary.failure);
  interrupted_ = interrupted_ || summary.interrupted;
}

}  // namespace tiletune
