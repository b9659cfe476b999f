#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>

#include "spec/tune_spec.h"

namespace tiletune {

/// Flags that replace what a config says of measuring: --baseline, and those that options of MeasurePolicy
/// have.
class MeasureFlags {
 public:
  /// Adds the flags that the command has.
  void add_to(CLI::App& command, Flag::Of of);
  /// Throws UserError that names the flag.
  void apply(TuneSpec& spec) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;  ///< by flag; empty: as the config says
};

/// Throws UserError for a flag of measuring that was given beside --gpu MODEL: there times are predicted.
void check_flags_beside_model(const CLI::App& command);

}  // namespace tiletune
