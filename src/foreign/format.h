#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "foreign/tree.h"
#include "store/trial.h"

namespace tiletune {

/// What the person says of a file, where it does not say it itself.
struct ImportFacts {
  std::string gpu;
  std::string problem;
  std::string kernel;
  std::string time_unit;
  bool replayed = false;  ///< they are those of a config that is replayed, which has fewer options
};

/// The top-level members of a document that hold no rows.
class Header {
 public:
  void add(const std::string& name, Tree value) { members_.emplace_back(name, std::move(value)); }
  std::optional<Branch> find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, Tree>> members_;
};

/// How the files of one tool say what they say.
class ForeignFormat {
 public:
  virtual ~ForeignFormat() = default;
  /// "Kernel Tuner cache"
  virtual std::string name() const = 0;
  /// Fills in what the row says; what all rows of the file share is there already. Throws UserError, at
  /// `where`, for what is not a row of the tool's.
  virtual void read(const Branch& row, const Where& where, Trial& trial) = 0;
  /// Tiletune wrote the file: its rows have keys and all columns.
  virtual bool own() const { return false; }
  /// Runs of the sweep command that rows written by tiletune belong to.
  virtual std::vector<SweepRecord> sweeps() const { return {}; }
  /// What was measured of the GPUs of such rows.
  virtual std::vector<CalibrationRecord> calibrations() const { return {}; }
  /// Rows that stand elsewhere than among the rows.
  virtual std::vector<Trial> other_rows() { return {}; }
  /// What all rows share.
  const Trial& shared() const { return shared_; }

 protected:
  Trial shared_;
};

/// One kind of document.
struct FormatKind {
  const char* rows;    ///< the member that holds its rows
  const char* header;  ///< the member without which rows cannot be read
  std::unique_ptr<ForeignFormat> (*make)(const Header& header, const ImportFacts& facts,
                                         const std::string& file);
};

// Each throws UserError where neither the file nor the person says what must be known.
std::unique_ptr<ForeignFormat> make_kernel_tuner_format(const Header& header, const ImportFacts& facts,
                                                        const std::string& file);
std::unique_ptr<ForeignFormat> make_t4_format(const Header& header, const ImportFacts& facts,
                                              const std::string& file);
std::unique_ptr<ForeignFormat> make_ktt_format(const Header& header, const ImportFacts& facts,
                                               const std::string& file);
std::unique_ptr<ForeignFormat> make_own_format(const Header& header, const ImportFacts& facts,
                                               const std::string& file);

}  // namespace tiletune
