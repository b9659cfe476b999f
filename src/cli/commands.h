#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace tiletune {

/// What the chosen subcommand does, once the command line is parsed; returns the exit code.
using Action = std::function<int()>;

/// Each adds one subcommand, which sets `action` when it is chosen. `command_line` is kept as provenance.
void add_sweep_command(CLI::App& app, Action& action, const std::string& command_line);
void add_bench_command(CLI::App& app, Action& action, const std::string& command_line);
void add_init_command(CLI::App& app, Action& action);
void add_space_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, Action& action);
void add_argument_uses_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_compile_command(CLI::App& app, Action& action);
void add_slurm_command(CLI::App& app, Action& action);
/// Adds `tiletune slurm status`. What it does is in the action that is returned.
Action add_slurm_status(CLI::App& slurm);
void add_rank_command(CLI::App& app, Action& action);
void add_portfolio_command(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_export_command(CLI::App& app, Action& action);
void add_import_command(CLI::App& app, Action& action);
void add_merge_command(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action, const std::string& command_line);
void add_doctor_command(CLI::App& app, Action& action);

/// The file in a Slurm array's folder that records how it was made. A folder that has it may be overwritten.
inline constexpr const char* kSlurmPlan = "plan.json";
/// The line of a shard's log with which each task begins.
inline constexpr const char* kTaskBegins = "tiletune slurm: a task begins";

}  // namespace tiletune
