// Kernel Tuner's cache files: {"device_name", "kernel_name", "problem_size", "tune_params_keys", ...,
// "cache": {"16,1": {every parameter, "time", "times", ...}}}; times in milliseconds.

#include <fmt/format.h>

#include <algorithm>

#include "foreign/format.h"
#include "foreign/row.h"
#include "foreign/units.h"

namespace tiletune {

namespace {

/// What old versions give as the time of a configuration that did not run.
constexpr double kNoTime = 1e20;

constexpr std::array kKernelTunerWords{
    ForeignOutcome{"InvalidConfig", Outcome::refused, "refused before it was compiled or launched"},
    ForeignOutcome{"CompilationFailedConfig", Outcome::compile_failed, "does not compile"},
    ForeignOutcome{"RuntimeFailedConfig", Outcome::launch_failed, "cannot be launched, or fails as it runs"}};

class KernelTunerFormat : public ForeignFormat {
 public:
  KernelTunerFormat(const Header& header, const ImportFacts& facts, const std::string& file) {
    const auto text = [&](const char* name) {
      const auto member = header.find(name);
      return member && member->is(Tree::Kind::text) ? member->text() : std::string_view();
    };
    const Where where{file, "/tune_params_keys"};
    const auto keys = header.find("tune_params_keys");
    if (!keys || !keys->is(Tree::Kind::list)) {
      throw UserError("a Kernel Tuner cache lists its parameters here", where,
                      "Is this a cache of Kernel Tuner?");
    }
    for (const Branch key : *keys) {
      if (!key.is(Tree::Kind::text))
        throw UserError("a parameter's name is not a string", where, "Correct it.");
      if (std::find(parameters_.begin(), parameters_.end(), key.text()) != parameters_.end())
        throw named_twice(key.text(), where);
      parameters_.emplace_back(key.text());
    }
    shared_ = shared_row("Kernel Tuner", file, text("device_name"), problem_text(header.find("problem_size")),
                         text("kernel_name"), facts);
    unit_ = facts.time_unit.empty() ? kMillisecond : time_unit("", facts, {file, ""});
  }

  std::string name() const override { return "Kernel Tuner cache"; }

  void read(const Branch& row, const Where& where, Trial& trial) override {
    read_parameters(row, where, trial);
    trial.recorded_at = utc_time(row.text_of("timestamp"));
    trial.compile_ms = figure_of(row, "compile_time");
    trial.measure_ms = figure_of(row, "benchmark_time");
    const auto time = row.find("time");
    if (time && time->is(Tree::Kind::text)) return read_failure(time->text(), where, trial);
    if (!time || !time->is_number())
      throw UserError("the row has no time", where.at("time"), "Remove the row.");
    if (time->number() >= kNoTime) {
      trial.outcome = Outcome::launch_failed;
      trial.reason = "did not run; the file does not say why (time 1e20)";
      return;
    }
    trial.outcome = Outcome::ok;
    set_times(time->number() * unit_, row.find("times"), unit_, where, trial);
    // The tool's own figure is at its mean; ours is at the median.
    if (const auto gflops = figure_of(row, "GFLOP/s"))
      trial.tflops = *gflops / 1e3 * *trial.mean_us / *trial.median_us;
  }

 private:
  void read_parameters(const Branch& row, const Where& where, Trial& trial) const {
    trial.parameters = "{";
    for (const std::string& name : parameters_) {
      const auto value = only(row, name, where);
      if (!value) {
        throw UserError(fmt::format("the row has no value of the parameter '{}'", name), where,
                        "Correct or remove the row.");
      }
      add_parameter(name, *value, where, trial.parameters);
    }
    trial.parameters += '}';
  }

  static std::optional<Branch> only(const Branch& row, std::string_view name, const Where& where) {
    std::optional<Branch> found;
    for (const Branch child : row) {
      if (child.key() != name) continue;
      if (found) throw named_twice(name, where);
      found = child;
    }
    return found;
  }

  static void read_failure(std::string_view word, const Where& where, Trial& trial) {
    if (set_outcome(kKernelTunerWords, word, trial)) return;
    throw UserError(fmt::format("'{}' is neither a time nor a known failure", word), where.at("time"),
                    known_words(kKernelTunerWords));
  }

  std::vector<std::string> parameters_;
  double unit_ = kMillisecond;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_kernel_tuner_format(const Header& header, const ImportFacts& facts,
                                                        const std::string& file) {
  return std::make_unique<KernelTunerFormat>(header, facts, file);
}

}  // namespace tiletune
