// Kernel Tuner's cache files: {"device_name", "kernel_name", "problem_size", "tune_params_keys", ...,
// "cache": {"16,1": {every parameter, "time", "times", ...}}}; times in milliseconds.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "foreign/format.h"

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
  KernelTunerFormat(const JsonValue& header, const ImportFacts& facts, const std::string& file) {
    const Where where{file, "/tune_params_keys"};
    const JsonValue* keys = find(header, "tune_params_keys");
    if (keys == nullptr || !keys->IsArray())
      throw UserError("a Kernel Tuner cache lists its parameters here", where,
                      "Is this a cache of Kernel Tuner?");
    for (const JsonValue& key : keys->GetArray()) {
      if (!key.IsString()) throw UserError("a parameter's name is not a string", where, "Correct it.");
      if (std::find(parameters_.begin(), parameters_.end(), text(key)) != parameters_.end())
        throw named_twice(text(key), where);
      parameters_.emplace_back(text(key));
    }
    shared_ = shared_row("Kernel Tuner", file, text_of(header, "device_name"),
                         problem_text(find(header, "problem_size")), text_of(header, "kernel_name"), facts);
    unit_ = facts.time_unit.empty() ? kMillisecond : time_unit("", facts, {file, ""});
  }

  std::string name() const override { return "Kernel Tuner cache"; }

  void read(const JsonValue& row, const Where& where, Trial& trial) override {
    read_parameters(row, where, trial);
    trial.recorded_at = utc_time(text_of(row, "timestamp"));
    trial.compile_ms = figure_of(row, "compile_time");
    trial.measure_ms = figure_of(row, "benchmark_time");
    const JsonValue* time = find(row, "time");
    // Later versions have a key of its own for what failed, and no time.
    if (const JsonValue* error = find(row, "__error__"); error != nullptr && error->IsString())
      return set_outcome(kKernelTunerWords, text(*error), kNeither, where, "__error__", trial);
    if (time != nullptr && time->IsString())
      return set_outcome(kKernelTunerWords, text(*time), kNeither, where, "time", trial);
    if (time == nullptr || !time->IsNumber())
      throw UserError("the row has no time", where.at("time"), "Remove the row.");
    if (time->GetDouble() >= kNoTime) {
      trial.outcome = Outcome::launch_failed;
      trial.reason = "did not run; the file does not say why (time 1e20)";
      return;
    }
    trial.outcome = Outcome::ok;
    set_times(time->GetDouble() * unit_, find(row, "times"), unit_, where, trial);
    // The tool's own figure is at its mean; ours is at the median.
    if (const auto gflops = figure_of(row, "GFLOP/s"))
      trial.tflops = *gflops / 1e3 * *trial.mean_us / *trial.median_us;
  }

 private:
  static constexpr const char* kNeither = "is neither a time nor a known failure";

  void read_parameters(const JsonValue& row, const Where& where, Trial& trial) const {
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const std::string& name : parameters_) {
      const JsonValue* value = nullptr;
      for (const auto& member : row.GetObject()) {
        if (text(member.name) != name) continue;
        if (value != nullptr) throw named_twice(name, where);
        value = &member.value;
      }
      if (value == nullptr)
        throw UserError(fmt::format("the row has no value of the parameter '{}'", name), where,
                        "Correct or remove the row.");
      parameters.emplace_back(name, value);
    }
    set_parameters(parameters, where, trial);
  }

  std::vector<std::string> parameters_;
  double unit_ = kMillisecond;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_kernel_tuner_format(const JsonValue& header, const ImportFacts& facts,
                                                        const std::string& file) {
  return std::make_unique<KernelTunerFormat>(header, facts, file);
}

}  // namespace tiletune
