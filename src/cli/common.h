#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "compile/pool.h"
#include "inspect/gpu_model.h"
#include "inspect/static_model.h"
#include "output/display.h"
#include "output/view.h"
#include "spec/tune_spec.h"
#include "store/database.h"

namespace tiletune {

inline constexpr const char* kDefaultDatabase = "results/tiletune.db";

/// Adds a subcommand that has its own options. If the user chooses it, `run` is called with these options.
template <typename Options>
std::pair<CLI::App&, Options&> add_command(CLI::App& app, Action& action, const char* name, const char* help,
                                           int (*run)(Options&)) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, help);
  command->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
  return {*command, *options};
}

/// How an option's value is parsed, and what help shows for it.
struct OptionTraits {
  const char* type = nullptr;  ///< the value's name in help, such as "FILE"
  std::optional<CLI::Validator> check = {};
  bool shows_default = false;
  bool one_each = false;  ///< a list takes one value each time the option is given
};
template <typename Value>
CLI::Option* add_option(CLI::App& command, const std::string& names, Value& value, const std::string& help,
                        const OptionTraits& traits) {
  CLI::Option* option = command.add_option(names, value, help);
  if (traits.type != nullptr) option->type_name(traits.type);
  if (traits.check) option->check(*traits.check);
  if (traits.shows_default) option->capture_default_str();
  if (traits.one_each) option->allow_extra_args(false);
  return option;
}

inline constexpr const char* kAllowLoose =
    "Accept templates whose tolerance_factor exceeds 16, or whose operation allows relative errors above 0.1";

/// Options of every subcommand that reads a config.
struct ConfigOptions {
  std::filesystem::path config;
  std::vector<std::string> problems;
  std::filesystem::path problem_file;
  std::vector<std::string> templates;
  bool allow_outside_paths = false;
  bool allow_loose = false;

  void add_to(CLI::App& command);
  /// With `faults`, mistakes in templates are added to them as long as one template is left.
  TuneSpec load(std::vector<UserError>* faults = nullptr) const;
  /// As load(); the mistake that leaves no template is added to `faults`, too.
  TuneSpec load_all(std::vector<UserError>& faults) const;
};

/// Options of every subcommand that compiles.
struct CompileOptions {
  int jobs = 0;
  std::uint64_t max_memory_bytes = CompilePoolOptions{}.max_memory_bytes;
  bool confined = false;
  std::vector<std::filesystem::path> include_folders;

  void add_to(CLI::App& command);
  /// With symbolic links resolved. Throws UserError for one that does not exist.
  std::vector<std::filesystem::path> resolved_include_folders() const;
  /// Gives every template, and those of its reference and baselines, these folders before their own.
  void add_include_folders(TuneSpec& spec) const;
  /// Throws UserError where kernels must be confined and the system cannot do it.
  CompilePoolOptions pool_options(const TuneSpec& spec) const;
};

/// Flags that replace what a config says of measuring: --baseline, and those that options of MeasurePolicy
/// have.
class MeasureFlags {
 public:
  /// Adds the flags that a command has.
  void add_to(CLI::App& command, Flag::Of of);
  /// Throws UserError that names the flag.
  void apply(TuneSpec& spec) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;  ///< by flag; empty: as the config says
};

/// Throws UserError for a flag of measuring that was given beside --gpu MODEL: there times are predicted.
void check_flags_beside_model(const CLI::App& command);

/// Options of every subcommand that reads rows.
struct FilterOptions {
  std::filesystem::path database = kDefaultDatabase;
  std::vector<std::string> gpus;
  std::vector<std::string> templates;
  std::vector<std::string> problems;
  std::vector<std::string> sources;
  std::optional<std::int64_t> sweep;
  bool any_source = false;
  bool skip_bad = false;

  void add_to(CLI::App& command);
  /// As open_rows().
  Database open() const;
  /// Throws UserError for what no row can have, a sweep that a database does not know included.
  TrialFilter filter(const std::vector<const Database*>& databases) const;
};

/// Restricts a filter to those of the problems that rows of the databases are of which the texts name, each
/// as sizes with an x between them, or one size for all, and behind them leading dimensions, and options and
/// types as rows state them: "512" names 512x512x512, "1000x77x513,lda=520" the problem with that lda alone,
/// "1x64x64,layout=nt,A=f16" rows of that layout whose A is in f16. A text that names none of them stands for
/// itself. Throws UserError for what is not a problem.
void filter_problems(const std::vector<std::string>& texts, const std::vector<const Database*>& databases,
                     TrialFilter& filter);
/// Parses the values of an option such as --source. `what` is its name without dashes; `known` lists all
/// values, for the error. Throws UserError for an unknown value.
template <Spelled Enum>
std::vector<Enum> parse_names(const std::vector<std::string>& texts, const char* what, const char* known) {
  std::vector<Enum> values;
  for (const std::string& text : texts) {
    const auto value = from_name<Enum>(text);
    if (!value)
      throw UserError(fmt::format("unknown {} '{}'", what, text), Where{fmt::format("--{}", what), ""},
                      fmt::format("Known: {}.", known));
    values.push_back(*value);
  }
  return values;
}
inline std::vector<Source> parse_sources(const std::vector<std::string>& texts) {
  return parse_names<Source>(texts, "source", "measured, predicted, replayed, imported");
}
/// What --any-source does.
inline constexpr const char* kAnySourceHelp =
    "Include rows of earlier sources of a template: rows that were recorded before its kernel was edited";

/// What --skip-bad does.
inline constexpr const char* kSkipBadHelp = "Leave out rows that cannot be read, and count them";
/// What filters could choose: "Loosen the filters. Recorded are the GPUs ...".
std::string recorded_text(const Database& database);
/// Opens a database to read rows. Rows count of the sources of templates as they are now, where these are at
/// hand: shipped ones, and those beside a config below the working folder that a sweep names. No other file
/// is read: the database may be a stranger's. With `skip_bad`, rows that cannot be read are left out, and
/// counted on stderr.
Database open_rows(const std::filesystem::path& file, bool skip_bad = false);
/// Notes on stderr how many rows the filters leave out because they are of earlier sources, if any, and which
/// templates were edited since. `flag` is what includes the rows; empty: nothing does.
void note_earlier_sources(const Database& database, const TrialFilter& filter,
                          const std::string& flag = "--any-source");
/// Runs `show`, which reads rows that pass, at one state of the database, then note_earlier_sources(). Where
/// there is NothingToDo, the error says how many rows are hidden.
void show_rows(const Database& database, const TrialFilter& filter, const std::function<void()>& show);
/// Throws NothingToDo when no row passes.
void require_rows(const Database& database, const TrialFilter& filter);

/// Takes a number from 0 to 2^63 - 1. CLI11 takes the nearest for one that does not fit.
CLI::Validator whole_number();

inline constexpr std::uint64_t kMostShards = 1000000;
/// --shard I/N
CLI::Option* add_shard_option(CLI::App& command, std::string& text);
/// "3/16"; of "/16" the number is that of the Slurm array's task; empty: all. Throws UserError for what is no
/// shard.
void apply_shard(const std::string& text, Shard& shard);

/// Prints all but the last, if any, and throws that.
void refuse_all(const std::vector<UserError>& errors);
/// Tells the person, before anything is compiled, where kernels are not confined.
void tell_if_not_confined(const std::function<void(const std::string& line)>& tell);

/// configs/gpus of the home folder.
std::vector<GpuModel> shipped_gpu_models();
StaticModel shipped_static_model();
/// What a GPU's model is called: the shipped models know what drivers call them.
std::string alias_of(const std::vector<GpuModel>& models, const std::string& gpu);

/// Throws UserError when an output file is the database itself.
void check_output(const std::filesystem::path& file, const std::filesystem::path& database);
/// Throws UserError where an output's default name, beneath the current folder, leads through a symbolic
/// link: whoever made the folder may have it lead anywhere. With `option` of the command its path was typed.
void check_default(const CLI::App& command, const std::string& option, const std::filesystem::path& output);
/// The error for a database that is named by another option than --db, such as "-o FILE", or by none ("").
UserError named_by(const std::string& option, const UserError& error);

/// Writes to a file, or to standard output for "" and "-".
void write_output(const std::filesystem::path& file, const std::string& text);
/// As write_output(), for output that may be too long for memory.
void stream_output(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);
/// The style of a table that is written to that file.
TextStyle style_for(const std::filesystem::path& file);
/// Whether --format asks for JSON, in a command that has "table" and "json". Throws UserError for another.
bool asks_for_json(const std::string& format);
/// Writes a document to standard output.
void print_json(const nlohmann::ordered_json& document);
/// Writes the document to standard output if `json`, else the text.
void print_either(bool json, const nlohmann::ordered_json& document, const std::string& text);

/// The exit code of an interrupted command: 128 + SIGINT, as shells say it.
inline constexpr int kInterrupted = 130;
/// From now on the first SIGINT, SIGTERM or SIGHUP (unless nohup has it ignored) is only noted; a second one
/// ends the process at once (workers die with it). A reader of the progress that leaves, as in
/// `2>&1 | head -1`, ends nothing.
void catch_interrupts();
/// Whether one has been noted.
bool interrupted();

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
