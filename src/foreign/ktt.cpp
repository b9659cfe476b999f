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
  KttFormat(const Header& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    const auto metadata = header.find("Metadata");
    const auto text = [&](const char* name) {
      return metadata ? metadata->text_of(name) : std::string_view();
    };
    unit_ = time_unit(text("TimeUnit"), facts, Where{file, "/Metadata/TimeUnit"});
    // Rows name their kernel themselves.
    ImportFacts of_file = facts;
    of_file.kernel = "KTT";
    shared_ = shared_row("KTT", file, text("Device").empty() ? text("DeviceName") : text("Device"), "", "",
                         of_file);
    shared_.recorded_at = utc_time(text("Timestamp"));
  }

  std::string name() const override { return "KTT output"; }

  void read(const Branch& row, const Where& where, Trial& trial) override {
    read_kernel(row.text_of("KernelName"), where, trial);
    read_configuration(row, where, trial);
    if (!set_outcome(kKttWords, row.text_of("Status"), trial)) {
      throw UserError(fmt::format("'{}' is not a known status", row.text_of("Status")), where.at("Status"),
                      known_words(kKttWords));
    }
    const auto results = row.find("ComputationResults");
    if (results && results->is(Tree::Kind::list)) read_registers(*results, trial);
    if (trial.outcome != Outcome::ok) return;
    auto time = row.number_of("TotalDuration");
    if (time) time = *time * unit_;
    set_times(time, std::nullopt, unit_, where.at("TotalDuration"), trial);
  }

 private:
  void read_kernel(std::string_view name, const Where& where, Trial& trial) const {
    trial.template_name = name.empty() ? facts_.kernel : name;
    if (trial.template_name.empty())
      throw UserError("the row does not name its kernel", where.at("KernelName"), "Name it: --kernel NAME.");
    check_same(trial.template_name, facts_, &ImportFacts::kernel, "--kernel", where);
    trial.operation = trial.template_name;
  }

  static void read_configuration(const Branch& row, const Where& where, Trial& trial) {
    const auto configuration = row.find("Configuration");
    if (!configuration || !configuration->is(Tree::Kind::list)) {
      throw UserError("the row has no configuration", where.at("Configuration"), "Is this an output of KTT?");
    }
    trial.parameters = "{";
    std::vector<std::string_view> names;
    for (const Branch pair : *configuration) {
      const auto value = pair.find("Value");
      if (!value || pair.text_of("Name").empty()) {
        throw UserError("a parameter lacks its name or its value", where.at("Configuration"),
                        "Correct or remove the row.");
      }
      const std::string_view name = names.emplace_back(pair.text_of("Name"));
      if (std::count(names.begin(), names.end(), name) > 1)
        throw named_twice(name, where.at("Configuration"));
      add_parameter(name, *value, where.at("Configuration"), trial.parameters);
    }
    trial.parameters += '}';
  }

  /// Of the only kernel function: where there are several, their registers are of different kernels.
  static void read_registers(const Branch& results, Trial& trial) {
    int functions = 0;
    for (const Branch result : results) {
      const auto data = result.find("CompilationData");
      const auto count = data ? data->find("RegistersCount") : std::nullopt;
      if (count && count->is(Tree::Kind::integer) && is_figure(count->number()) && ++functions == 1)
        trial.registers = count->integer();
    }
    if (functions > 1) trial.registers.reset();
  }

  ImportFacts facts_;
  double unit_ = 1;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_ktt_format(const Header& header, const ImportFacts& facts,
                                               const std::string& file) {
  return std::make_unique<KttFormat>(header, facts, file);
}

}  // namespace tiletune
