// What `export` writes: {"tiletune_trials": 2, "sweeps": [...], "calibrations": [...], "trials": [{every
// column, "sweeps": [1, 2]}]}. In version 1 `cold` says what `dirty` says now.

#include <fmt/format.h>

#include "foreign/format.h"
#include "foreign/own_columns.h"
#include "foreign/row.h"

namespace tiletune {

namespace {

class OwnFormat : public ForeignFormat {
 public:
  OwnFormat(const JsonValue& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    const JsonValue* version = find(header, "tiletune_trials");
    if (version == nullptr || !version->IsInt64() || version->GetInt64() < 1 ||
        version->GetInt64() > kNewest) {
      throw UserError(fmt::format("\"tiletune_trials\": {} is missing", kNewest),
                      Where{file, "/tiletune_trials"}, "Import what 'tiletune export' wrote.");
    }
    cold_was_dirty_ = version->GetInt64() == 1;
    time_unit("us", facts, Where{file, ""});  // as the columns are; throws for another
    const auto each = [&](const char* name, const auto& visit) {
      const JsonValue* list = find(header, name);
      if (list == nullptr || !list->IsArray()) return;
      for (const JsonValue& element : list->GetArray()) visit(element);
    };
    each("sweeps", [&](const JsonValue& sweep) { sweeps_.push_back(read_sweep(sweep)); });
    each("calibrations", [&](const JsonValue& calibration) {
      calibrations_.push_back(read_calibration(calibration, Where{file, "/calibrations"}));
    });
  }

  std::string name() const override { return "tiletune export"; }
  bool own() const override { return true; }
  void read(const JsonValue& row, const Where& where, Trial& trial) override {
    read_own_columns(row, where, facts_, trial);
    if (cold_was_dirty_ && trial.cache == "cold") trial.cache = "dirty";
  }
  std::vector<SweepRecord> sweeps() const override { return sweeps_; }
  std::vector<CalibrationRecord> calibrations() const override { return calibrations_; }

 private:
  static constexpr std::int64_t kNewest = 2;

  ImportFacts facts_;
  bool cold_was_dirty_ = false;
  std::vector<SweepRecord> sweeps_;
  std::vector<CalibrationRecord> calibrations_;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_own_format(const JsonValue& header, const ImportFacts& facts,
                                               const std::string& file) {
  return std::make_unique<OwnFormat>(header, facts, file);
}

}  // namespace tiletune
