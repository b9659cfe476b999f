#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "foreign/document.h"
#include "foreign/import.h"
#include "store/trial.h"

namespace tiletune {

/// How the files of one tool say what they say.
class ForeignFormat {
 public:
  virtual ~ForeignFormat() = default;
  /// Fills in what the row says; what all rows of the file share is there already. `name` is the row's key,
  /// or the name of the element that it lies in. Throws UserError, at `where`, for what is not a row of the
  /// tool's.
  virtual void read(const JsonValue& row, const std::string& name, const Where& where, Trial& trial) = 0;
  /// What all rows share.
  const Trial& shared() const { return shared_; }

 protected:
  Trial shared_;
};

/// A format that import reads.
struct FormatKind {
  const char* name;       ///< "Kernel Tuner cache"
  std::string_view rows;  ///< the member that holds its rows
  const char* header;     ///< the member without which rows cannot be read; null: none is needed
  /// `header` is an object with the top-level members other than the rows. Throws UserError if neither the
  /// file nor an option gives a required fact.
  std::unique_ptr<ForeignFormat> (*make)(const JsonValue& header, const ImportFacts& facts,
                                         const std::string& file);
  const char* within = nullptr;  ///< the member of each element that lists the rows; null: elements are rows
  /// Whether a row is a launch under a profiler, whose time is none; null: the tool records no such rows.
  bool (*is_profiled)(const JsonValue& row) = nullptr;
  bool repeats = false;    ///< the tool runs a configuration again, and its fastest row counts
  bool are_pairs = false;  ///< a row is a list of two values, not an object
};
/// The format whose rows are in a member of this name; null if there is none.
const FormatKind* kind_of(std::string_view rows);

// Functions that several formats use.

/// The value that a text stands for as Python writes it: a number, True, False, or else the text itself,
/// which must outlive the value.
JsonValue value_of(std::string_view text);

/// What all rows of a file share. Throws UserError, naming the option, for what is not known or is said
/// in two ways.
Trial shared_row(const std::string& tool, const std::string& file, std::string_view gpu,
                 std::string_view problem, std::string_view kernel, const ImportFacts& facts);

/// Throws UserError, at `where`, when the person says with `option` another thing than the file does.
void check_same(std::string_view in_file, const ImportFacts& facts, std::string ImportFacts::*fact,
                std::string_view option, const Where& where);

/// "4096x4096" of [4096, 4096], 4096 or "4096"; another text is the problem's name; empty for what is
/// neither, and for null.
std::string problem_text(const JsonValue* problem_size);

/// Sets the parameters of a row from their names and values. Throws UserError, at `where`, for a duplicate
/// name, and for a number that cannot be stored exactly: two configurations could become one.
void set_parameters(std::span<const std::pair<std::string_view, const JsonValue*>> parameters,
                    const Where& where, Trial& trial);

/// Sets template and operation: the kernel that a row names, or else the person. Throws UserError where
/// nobody does, or the two differ.
void set_kernel(std::string_view in_file, const ImportFacts& facts, const Where& where, Trial& trial);

/// What to say of a configuration, or of a list of parameters, that has a name twice.
UserError named_twice(std::string_view name, const Where& where);

inline constexpr double kMillisecond = 1e3;  ///< in us

/// Microseconds in one of the unit: "ms", "milliseconds", "miliseconds" (as some files spell it), "us", "ns",
/// "s" and their long names, in any case. None for anything else.
std::optional<double> microseconds_of(std::string_view unit);

/// Microseconds of the unit that a file names, or the person. Throws UserError where nobody does, and for a
/// unit that is none or another than the other's.
double time_unit(std::string_view in_file, const ImportFacts& facts, const Where& where);

/// "2023-12-22T09:54:05Z" of "2023-12-22 09:54:05.502007+00:00" and other forms of ISO 8601, brought to UTC,
/// also without leading zeros, and with "UTC" behind it; a time without an offset is taken for UTC. Empty for
/// what is none.
std::string utc_time(std::string_view text);

/// A word of another tool for what became of a configuration.
struct ForeignOutcome {
  std::string_view word;
  Outcome outcome;
  const char* reason;  ///< the word is put behind it
};

/// Sets outcome and reason. Throws UserError, at `key`, for a word that is not among `words`. `what` ends its
/// message: "is not a known status".
void set_outcome(std::span<const ForeignOutcome> words, std::string_view word, const char* what,
                 const Where& where, const char* key, Trial& trial);

/// Whether something beside the time can be so: not negative, and neither infinite nor beyond 10^12.
bool is_figure(double value);

/// The number of such a member; none where it cannot be so.
std::optional<double> figure_of(const JsonValue& object, std::string_view name);

/// The times of a configuration that ran: the tool's own figure, which is a mean, and its samples, if it
/// keeps them (otherwise null). Throws UserError where there is neither, one is not a time, or they cannot be
/// of one unit.
void set_times(std::optional<double> mean_us, const JsonValue* samples, double unit_us, const Where& where,
               Trial& trial);

}  // namespace tiletune
