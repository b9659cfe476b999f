#include "cli/common.h"

#include <cerrno>
#include <csignal>
#include <iostream>
#include <set>

#include "base/confinement.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/text.h"
#include "spec/paths.h"

namespace tiletune {

namespace {

/// "3 rows of earlier sources are hidden"
std::string hidden_text(std::uint64_t rows) {
  return fmt::format("{} hidden", rows == 1 ? "1 row of an earlier source is"
                                            : fmt::format("{} rows of earlier sources are", rows));
}

}  // namespace

std::string recorded_text(const Database& database) {
  const std::vector<std::string> gpus = database.distinct("gpu");
  if (gpus.empty()) return "Nothing is recorded yet: run 'tiletune sweep'.";
  return fmt::format("Loosen the filters. Recorded are the GPUs {}; the problems {}; the templates {}.",
                     printable(first_of(gpus)), printable(first_of(database.distinct("problem"))),
                     printable(first_of(database.distinct("template"))));
}

Database open_rows(const std::filesystem::path& file, bool skip_bad) {
  namespace fs = std::filesystem;
  Database database(file, Database::Mode::read_only);
  const std::size_t skipped = skip_bad ? database.skip_bad_rows() : 0;
  if (skipped > 0)
    fmt::print(stderr, "note: {}: {} that cannot be read {} left out\n", printable(file.string()),
               counted(skipped, "row"), skipped == 1 ? "is" : "are");
  constexpr std::size_t kMostFolders = 64;
  std::vector<fs::path> folders;
  std::set<fs::path> seen;
  const std::vector<SweepRecord> sweeps = database.sweeps();
  for (auto sweep = sweeps.rbegin(); sweep != sweeps.rend() && folders.size() < kMostFolders; ++sweep) {
    std::error_code ignored;
    const fs::path named = fs::absolute(sweep->config_file, ignored).parent_path();
    if (!seen.insert(named).second) continue;
    fs::path folder = fs::weakly_canonical(named, ignored);
    if (is_within(folder, fs::current_path(ignored)) && fs::is_directory(folder, ignored))
      folders.push_back(std::move(folder));
  }
  folders.push_back(home_folder() / "kernel_templates");
  database.use_present_sources([folders](const std::string& name) -> std::string {
    try {
      const Folder folder = find_template(name, folders, false, {});
      const auto manifest = parse_json(folder.read(kManifestName, kLargestJson), kManifestName);
      const std::string source = manifest.at("source");
      return is_compiled(source) ? "" : Hasher().add(folder.read(source, kLargestJson)).hex();
    } catch (const std::exception&) {  // it is not at hand, or not valid now
      return "";
    }
  });
  return database;
}

void note_earlier_sources(const Database& database, const TrialFilter& filter, const std::string& flag) {
  if (filter.source_age != SourceAge::newest) return;
  if (const std::uint64_t hidden = database.rows_hidden_by(filter); hidden > 0)
    fmt::print(stderr, "note: {}{}\n", hidden_text(hidden),
               flag.empty() ? "" : fmt::format(" ({} shows {})", flag, hidden == 1 ? "it" : "them"));
  for (const std::string& name : database.edited_templates())
    if (filter.templates.empty() || std::ranges::find(filter.templates, name) != filter.templates.end())
      fmt::print(stderr, "note: the source of {} was edited after its rows were recorded: sweep it again\n",
                 printable(name));
}

void show_rows(const Database& database, const TrialFilter& filter, const std::function<void()>& show) {
  database.at_one_state([&] {
    try {
      show();
    } catch (const NothingToDo& nothing) {
      const std::uint64_t hidden = database.rows_hidden_by(filter);
      if (hidden == 0) throw;
      throw NothingToDo(fmt::format("{}, but {}", nothing.message(), hidden_text(hidden)), nothing.where(),
                        "Include them: --any-source.");
    }
    note_earlier_sources(database, filter);
  });
}

void require_rows(const Database& database, const TrialFilter& filter) {
  if (!database.outcome_counts(filter).empty()) return;
  throw NothingToDo("no row matches", Where{database.file().string(), ""}, recorded_text(database));
}

void refuse_all(const std::vector<UserError>& errors) {
  for (const UserError& error : errors) {
    if (&error == &errors.back()) throw UserError(error);
    fmt::print(stderr, "tiletune: error: {}\n", printable_message(error.what()));
  }
}

void tell_if_not_confined(const std::function<void(const std::string& line)>& tell) {
  if (const std::string why = why_not_confinable(); !why.empty())
    tell(fmt::format("kernels are not confined here: {}", why));
}

std::vector<GpuModel> shipped_gpu_models() { return load_gpu_models(home_folder() / "configs" / "gpus"); }

std::string alias_of(const std::vector<GpuModel>& models, const std::string& gpu) {
  const GpuModel* model = model_called(models, gpu);
  return model == nullptr ? gpu : model->name;
}

StaticModel shipped_static_model() {
  return load_static_model(home_folder() / "configs" / "model" / "static_model.json");
}

void check_output(const std::filesystem::path& file, const std::filesystem::path& database) {
  std::error_code ignored;
  if (file.empty() || !std::filesystem::equivalent(file, database, ignored)) return;
  throw UserError("the output would replace the database it comes from", Where{file.string(), ""},
                  "Write to another file.");
}

void check_default(const CLI::App& command, const std::string& option, const std::filesystem::path& output) {
  if (command.count(option) > 0) return;
  std::filesystem::path place;
  for (const auto& name : output) {
    place /= name;
    std::error_code ignored;
    if (std::filesystem::is_symlink(place, ignored))
      throw UserError("this is a symbolic link, and tiletune writes through one only if you name it",
                      Where{place.string(), ""},
                      fmt::format("To write where it leads, name it: {} {}",
                                  option == "--output" ? "-o" : option, shell_quoted(output.string())));
  }
}

UserError named_by(const std::string& option, const UserError& error) {
  static const std::string kUsual = " with --db FILE";
  std::string remedy = error.remedy();
  const std::size_t at = remedy.find(kUsual);
  if (at != std::string::npos) remedy.replace(at, kUsual.size(), option.empty() ? "" : " with " + option);
  return {error.message(), error.where(), remedy};
}

void write_output(const std::filesystem::path& file, const std::string& text) {
  stream_output(file, [&](std::ostream& out) { out << text; });
}

void stream_output(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write) {
  if (!file.empty() && file != "-") return stream_to_file(file, write);
  try {
    std::cout.exceptions(std::ios::badbit | std::ios::failbit);
    write(std::cout);
    std::cout.flush();
  } catch (const std::ios_base::failure&) {
    if (errno == EPIPE) {
      // The reader has left, as in `| head -1`: a quiet end, also where the signal was ignored until now.
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    }
    throw UserError("standard output cannot be written", "Is the disk full, or did the reader exit?");
  }
}

TextStyle style_for(const std::filesystem::path& file) { return file.empty() ? stdout_style() : TextStyle(); }

bool asks_for_json(const std::string& format) {
  return format_from_name(format, {Format::table, Format::json}) == Format::json;
}

void print_json(const nlohmann::ordered_json& document) { write_output("", json_text(document, 2) + "\n"); }

void print_either(bool json, const nlohmann::ordered_json& document, const std::string& text) {
  json ? print_json(document) : write_output("", text);
}

namespace {

volatile std::sig_atomic_t interrupts = 0;

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int signal) {
    interrupts = interrupts + 1;
    constexpr int kSignalExit = 128;
    if (interrupts == 1) return;
    ::_exit(kSignalExit + signal);
  };
  // No SA_RESTART: a sleeping poll() must return.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return interrupts > 0; }

namespace {

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

const CLI::App& chosen_command(const CLI::App& app) {
  return app.get_subcommands().empty() ? app : *app.get_subcommands().front();
}

}  // namespace

void check_command_line(const std::vector<std::string>& arguments, const CLI::App& app) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    // `--gpu ""` and `--gpu=`: an option with nothing in it.
    if (!argument.empty() && !(argument.starts_with("--") && argument.find('=') == argument.size() - 1))
      continue;
    throw UserError("an argument is empty",
                    Where{argument.empty() && i > 0 ? arguments[i - 1] : argument, ""},
                    "Give it a value or leave it out. Is a shell variable unset?");
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  const bool is_option = first.starts_with('-');
  const auto has_name = [&](const CLI::App* command) { return command->get_name() == first; };
  const std::vector<std::string> options = option_names(app);
  if (is_option && std::find(options.begin(), options.end(), first) != options.end()) return;
  if (!arguments.empty() && !is_option && !app.get_subcommands(has_name).empty()) return;
  std::vector<std::string> commands;  // that help lists
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) commands.push_back(command->get_name());
  const std::string near = suggestion(is_option ? "" : first, commands);
  throw UserError(first.empty() ? "no command is given"
                  : is_option   ? fmt::format("there is no option '{}' before the command", first)
                                : fmt::format("there is no command '{}'", first),
                  std::string(trim(near)) + " See 'tiletune --help'.");
}

std::string help_remedy(const CLI::App& app) {
  const CLI::App& command = chosen_command(app);
  return fmt::format("See 'tiletune {}--help'.", &command == &app ? "" : command.get_name() + " ");
}

void refuse_repetitions(const CLI::App& app) {
  for (const CLI::Option* option : chosen_command(app).get_options()) {
    if (option->get_items_expected_max() != 1 || option->count() < 2) continue;
    const std::string times = option->count() == 2 ? "twice" : fmt::format("{} times", option->count());
    throw UserError(fmt::format("the option is given {}", times), Where{option->get_name(), ""},
                    "Give it once.");
  }
}

void refuse_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  const std::string first = extras.empty() ? "" : extras.front();
  const std::string help = help_remedy(app);
  if (!first.starts_with('-') || first.size() == 1)
    throw UserError(fmt::format("'{}' is one argument too many", first), help);
  const std::string name = first.substr(0, first.find('='));
  const auto near = nearest(name, option_names(chosen_command(app)));
  throw UserError(fmt::format("there is no option '{}'", name),
                  near ? fmt::format("Did you mean '{}'? {}", *near, help) : help);
}

}  // namespace tiletune
