#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "foreign/format.h"

namespace tiletune {

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

/// Whether a problem is known by its sizes, as in "4096x4096" or "1000x77 lda=80", and not by a name.
bool is_sizes(const std::string& problem);

/// Puts `"name":value` behind what `parameters`, JSON text from its '{' on, holds. Throws UserError, at
/// `where`, for a number that it is or holds and that cannot be kept: two configurations could become one.
void add_parameter(std::string_view name, const JsonValue& value, const Where& where,
                   std::string& parameters);

/// What to say of a configuration, or of a list of parameters, that has a name twice.
UserError named_twice(std::string_view name, const Where& where);

/// Microseconds of the unit that a file names, or the person. Throws UserError where nobody does, and for a
/// unit that is none or another than the other's.
double time_unit(std::string_view in_file, const ImportFacts& facts, const Where& where);

/// A word of another tool for what became of a configuration.
struct ForeignOutcome {
  std::string_view word;
  Outcome outcome;
  const char* reason;  ///< the word is put behind it
};

/// Sets outcome and reason; false for a word that is not among them.
template <std::size_t N>
bool set_outcome(const std::array<ForeignOutcome, N>& words, std::string_view word, Trial& trial) {
  for (const ForeignOutcome& known : words) {
    if (known.word != word) continue;
    trial.outcome = known.outcome;
    trial.reason =
        known.outcome == Outcome::ok ? "" : std::string(known.reason) + " (" + std::string(word) + ")";
    return true;
  }
  return false;
}

/// "known: a, b" of such words.
template <std::size_t N>
std::string known_words(const std::array<ForeignOutcome, N>& words) {
  std::string text = "Known: ";
  for (const ForeignOutcome& known : words)
    text += (known.word == words[0].word ? "" : ", ") + std::string(known.word);
  return text + ".";
}

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
