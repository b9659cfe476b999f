#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "spec/tune_spec.h"

namespace tiletune {

/// Flags that replace what a config says of measuring. Empty: as the config says.
struct MeasureFlags {
  std::string baseline;
  std::string cache;
  std::string precision;
  std::string sustained;
  std::string screening;
  std::string finals;

  /// Those of every command that measures.
  void add_to(CLI::App& command);
  /// Those of a command that measures many: screening and finals.
  void add_finals_to(CLI::App& command);
  /// Throws UserError that names the flag.
  void apply(TuneSpec& spec) const;
};

/// Throws UserError for a flag of measuring, or of how many samples, that was given beside --gpu MODEL: there
/// times are predicted.
void check_flags_beside_model(const CLI::App& command);

}  // namespace tiletune
