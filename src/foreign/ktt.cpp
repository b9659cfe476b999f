// The JSON output of KTT (Kernel Tuning Toolkit) 2: {"Metadata": {"Device", "TimeUnit", ...}, "Results":
// [{"KernelName", "Status", "TotalDuration", "Configuration": [{"Name", "Value"}], "ComputationResults"}]}.

#include <fmt/format.h>

#include <algorithm>

#include "foreign/format.h"
#include "foreign/row.h"
#include "foreign/units.h"

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
    read_kernel(text_of(row, "KernelName"), where, trial);
    read_configuration(row, where, trial);
    if (!set_outcome(kKttWords, text_of(row, "Status"), trial)) {
      throw UserError(fmt::format("'{}' is not a known status", text_of(row, "Status")), where.at("Status"),
                      known_words(kKttWords));
    }
    const JsonValue* results = find(row, "ComputationResults");
    if (results != nullptr && results->IsArray()) read_registers(*results, trial);
    if (trial.outcome != Outcome::ok) return;
    auto time = number_of(row, "TotalDuration");
    if (time) time = *time * unit_;
    set_times(time, nullptr, unit_, where.at("TotalDuration"), trial);
  }

 private:
  void read_kernel(std::string_view name, const Where& where, Trial& trial) const {
    trial.template_name = name.empty() ? facts_.kernel : name;
    if (trial.template_name.empty())
      throw UserError("the row does not name its kernel", where.at("KernelName"), "Name it: --kernel NAME.");
    check_same(trial.template_name, facts_, &ImportFacts::kernel, "--kernel", where);
    trial.operation = trial.template_name;
  }

  static void read_configuration(const JsonValue& row, const Where& where, Trial& trial) {
    const JsonValue* configuration = find(row, "Configuration");
    if (configuration == nullptr || !configuration->IsArray()) {
      throw UserError("the row has no configuration", where.at("Configuration"), "Is this an output of KTT?");
    }
    trial.parameters = "{";
    std::vector<std::string_view> names;
    for (const JsonValue& pair : configuration->GetArray()) {
      const JsonValue* value = find(pair, "Value");
      if (value == nullptr || text_of(pair, "Name").empty()) {
        throw UserError("a parameter lacks its name or its value", where.at("Configuration"),
                        "Correct or remove the row.");
      }
      const std::string_view name = names.emplace_back(text_of(pair, "Name"));
      if (std::count(names.begin(), names.end(), name) > 1)
        throw named_twice(name, where.at("Configuration"));
      add_parameter(name, *value, where.at("Configuration"), trial.parameters);
    }
    trial.parameters += '}';
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
