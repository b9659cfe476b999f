// What `export` writes: {"tiletune_trials": 1, "sweeps": [...], "trials": [{every column}]}.

#include "foreign/format.h"
#include "foreign/own_columns.h"

namespace tiletune {

namespace {

class OwnFormat : public ForeignFormat {
 public:
  OwnFormat(const Header& header, const std::string& file) {
    const auto version = header.find("tiletune_trials");
    if (!version || !version->is(Tree::Kind::integer) || version->integer() != 1) {
      throw UserError("\"tiletune_trials\": 1 is missing", Where{file, "/tiletune_trials"},
                      "Import what 'tiletune export' wrote.");
    }
    const auto sweeps = header.find("sweeps");
    if (!sweeps || !sweeps->is(Tree::Kind::list)) return;
    for (const Branch sweep : *sweeps) sweeps_.push_back(read_sweep(sweep));
  }

  std::string name() const override { return "tiletune export"; }
  bool own() const override { return true; }
  void read(const Branch& row, const Where& where, Trial& trial) override {
    read_own_columns(row, where, trial);
  }
  std::vector<SweepRecord> sweeps() const override { return sweeps_; }

 private:
  std::vector<SweepRecord> sweeps_;
};

}  // namespace

std::unique_ptr<ForeignFormat> make_own_format(const Header& header, const ImportFacts& /*facts*/,
                                               const std::string& file) {
  return std::make_unique<OwnFormat>(header, file);
}

}  // namespace tiletune
