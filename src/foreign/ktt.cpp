// The JSON output of KTT (Kernel Tuning Toolkit) 2: {"Metadata": {"Device", "TimeUnit", ...}, "Results":
// [{"KernelName", "Status", "TotalDuration", "Configuration": [{"Name", "Value"}], "ComputationResults"}]}.

#include <fmt/format.h>

#include <array>

#include "foreign/format.h"

namespace tiletune {

namespace {

constexpr std::array kKttWords{
    ForeignOutcome{"Ok", Outcome::ok, ""},
    ForeignOutcome{"ComputationFailed", Outcome::launch_failed, "cannot be launched, or fails as it runs"},
    ForeignOutcome{"ValidationFailed", Outcome::wrong_result, "its results are wrong"},
    ForeignOutcome{"CompilationFailed", Outcome::compile_failed, "does not compile"},
    ForeignOutcome{"DeviceLimitsExceeded", Outcome::refused, "needs more than the GPU has"}};

class KttFormat : public ForeignFormat {
 public:
  KttFormat(const JsonValue& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    const JsonValue* metadata = find(header, "Metadata");
    const auto said = [&](const char* name) {
      return metadata == nullptr ? std::string_view() : text_of(*metadata, name);
    };
    unit_ = time_unit(said("TimeUnit"), facts, Where{file, "/Metadata/TimeUnit"});
    // Rows name their kernel themselves.
    ImportFacts of_file = facts;
    of_file.kernel = "KTT";
    shared_ = shared_row("KTT", file, said("Device").empty() ? said("DeviceName") : said("Device"), "", "",
                         of_file);
    shared_.recorded_at = utc_time(said("Timestamp"));
  }

  std::string name() const override { return "KTT output"; }

  void read(const JsonValue& row, const Where& where, Trial& trial) override {
    const std::string_view kernel = text_of(row, "KernelName");
    trial.template_name = kernel.empty() ? facts_.kernel : kernel;
    if (trial.template_name.empty())
      throw UserError("the row does not name its kernel", where.at("KernelName"), "Name it: --kernel NAME.");
    check_same(trial.template_name, facts_, &ImportFacts::kernel, "--kernel", where);
    trial.operation = trial.template_name;
    read_configuration(row, where.at("Configuration"), trial);
    set_outcome(kKttWords, text_of(row, "Status"), "is not a known status", where, "Status", trial);
    const JsonValue* results = find(row, "ComputationResults");
    if (results != nullptr && results->IsArray()) read_registers(*results, trial);
    if (trial.outcome != Outcome::ok) return;
    auto time = number_of(row, "TotalDuration");
    if (time) *time *= unit_;
    set_times(time, nullptr, unit_, where.at("TotalDuration"), trial);
  }

 private:
  static void read_configuration(const JsonValue& row, const Where& where, Trial& trial) {
    const JsonValue* configuration = find(row, "Configuration");
    if (configuration == nullptr || !configuration->IsArray())
      throw UserError("the row has no configuration", where, "Is this an output of KTT?");
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const JsonValue& pair : configuration->GetArray()) {
      parameters.emplace_back(text_of(pair, "Name"), find(pair, "Value"));
      if (parameters.back().second == nullptr || parameters.back().first.empty())
        throw UserError("a parameter lacks its name or its value", where, "Correct or remove the row.");
    }
    set_parameters(parameters, where, trial);
  }

  /// Reads the registers of the only kernel function: several functions are different kernels.
  static void read_registers(const JsonValue& results, Trial& trial) {
    int functions = 0;
    for (const JsonValue& result : results.GetArray()) {
      const JsonValue* data = find(result, "CompilationData");
      const JsonValue* count = data == nullptr ? nullptr : find(*data, "RegistersCount");
      if (count != nullptr && count->IsInt64() && is_figure(count->GetDouble()) && ++functions == 1)
        trial.registers = count->GetInt64();
    }
    if (functions > 1) trial.registers.reset();
  }

  ImportFacts facts_;
  double unit_ = 1;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_ktt_format(const JsonValue& header, const ImportFacts& facts,
                                               const std::string& file) {
  return std::make_unique<KttFormat>(header, facts, file);
}

}  // namespace tiletune
