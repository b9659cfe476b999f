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
  OwnFormat(const Header& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    const auto version = header.find("tiletune_trials");
    if (!version || !version->is(Tree::Kind::integer) || version->integer() < 1 ||
        version->integer() > kNewest) {
      throw UserError(fmt::format("\"tiletune_trials\": {} is missing", kNewest),
                      Where{file, "/tiletune_trials"}, "Import what 'tiletune export' wrote.");
    }
    cold_was_dirty_ = version->integer() == 1;
    time_unit("us", facts, Where{file, ""});  // as the columns are; throws for another
    const auto each = [&](const char* name, const auto& visit) {
      const auto list = header.find(name);
      if (!list || !list->is(Tree::Kind::list)) return;
      for (const Branch element : *list) visit(element);
    };
    each("sweeps", [&](const Branch& sweep) { sweeps_.push_back(read_sweep(sweep)); });
    each("calibrations", [&](const Branch& calibration) {
      calibrations_.push_back(read_calibration(calibration, Where{file, "/calibrations"}));
    });
  }

  std::string name() const override { return "tiletune export"; }
  bool own() const override { return true; }
  void read(const Branch& row, const Where& where, Trial& trial) override {
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

std::unique_ptr<ForeignFormat> make_own_format(const Header& header, const ImportFacts& facts,
                                               const std::string& file) {
  return std::make_unique<OwnFormat>(header, facts, file);
}

}  // namespace tiletune
