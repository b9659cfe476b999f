#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tiletune {

/// Refuses an empty argument and a subcommand that does not exist, with the nearest one that does. Throws
/// UserError.
void check_command_line(const std::vector<std::string>& arguments, const CLI::App& app);

/// Which help to read: that of the command that was given.
std::string help_remedy(const CLI::App& app);

/// Refuses an option that takes one value and was given more. Throws UserError.
void refuse_repetitions(const CLI::App& app);

/// Refuses the arguments that parsing left over, with the nearest option. Throws UserError.
[[noreturn]] void refuse_extras(const CLI::App& app);

}  // namespace tiletune
