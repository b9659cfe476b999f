#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "foreign/import.h"
#include "foreign/json.h"
#include "store/trial.h"

namespace tiletune {

/// How the files of one tool say what they say.
class ForeignFormat {
 public:
  virtual ~ForeignFormat() = default;
  /// "Kernel Tuner cache"
  virtual std::string name() const = 0;
  /// Fills in what the row says; what all rows of the file share is there already. Throws UserError, at
  /// `where`, for what is not a row of the tool's.
  virtual void read(const JsonValue& row, const Where& where, Trial& trial) = 0;
  /// What all rows share.
  const Trial& shared() const { return shared_; }

 protected:
  Trial shared_;
};

/// One kind of document. A header is an object of the top-level members that hold no rows.
struct FormatKind {
  const char* rows;    ///< the member that holds its rows
  const char* header;  ///< the member without which rows cannot be read
  std::unique_ptr<ForeignFormat> (*make)(const JsonValue& header, const ImportFacts& facts,
                                         const std::string& file);
};

// Each throws UserError where neither the file nor the person says what must be known.
std::unique_ptr<ForeignFormat> make_kernel_tuner_format(const JsonValue& header, const ImportFacts& facts,
                                                        const std::string& file);
std::unique_ptr<ForeignFormat> make_t4_format(const JsonValue& header, const ImportFacts& facts,
                                              const std::string& file);
std::unique_ptr<ForeignFormat> make_ktt_format(const JsonValue& header, const ImportFacts& facts,
                                               const std::string& file);

}  // namespace tiletune
