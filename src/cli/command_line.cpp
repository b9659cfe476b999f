#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

namespace {

/// The subcommands that help lists.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// `--gpu ""` and `--gpu=`: an option with nothing in it.
bool is_empty_value(const std::string& argument) {
  return argument.empty() || (argument.starts_with("--") && argument.find('=') == argument.size() - 1);
}

}  // namespace

void check_command_line(const std::vector<std::string>& arguments, const CLI::App& app) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_empty_value(arguments[i])) continue;
    const std::string place = arguments[i].empty() && i > 0 ? arguments[i - 1] : arguments[i];
    throw UserError("an argument is empty", Where{place, ""},
                    "Give it a value or leave it out. Is a shell variable unset?");
  }
  const std::string known = suggestion("", command_names(app));
  if (arguments.empty())
    throw UserError("no command is given", std::string(trim(known)) + " See 'tiletune --help'.");
  if (arguments.front().starts_with('-')) {
    const std::vector<std::string> options = option_names(app);
    if (std::find(options.begin(), options.end(), arguments.front()) != options.end()) return;
    throw UserError(fmt::format("there is no option '{}' before the command", arguments.front()),
                    std::string(trim(known)) + " See 'tiletune --help'.");
  }
  const auto has_name = [&](const CLI::App* command) { return command->get_name() == arguments.front(); };
  if (!app.get_subcommands(has_name).empty()) return;
  throw UserError(
      fmt::format("there is no command '{}'", arguments.front()),
      std::string(trim(suggestion(arguments.front(), command_names(app)))) + " See 'tiletune --help'.");
}

std::string help_remedy(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  return fmt::format("See 'tiletune {}--help'.", commands.empty() ? "" : commands.front()->get_name() + " ");
}

void refuse_repetitions(const CLI::App& app) {
  const CLI::App* command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  for (const CLI::Option* option : command->get_options()) {
    if (option->get_items_expected_max() != 1 || option->count() < 2) continue;
    const std::string times = option->count() == 2 ? "twice" : fmt::format("{} times", option->count());
    throw UserError(fmt::format("the option is given {}", times), Where{option->get_name(), ""},
                    "Give it once.");
  }
}

void refuse_extras(const CLI::App& app) {
  const CLI::App* command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  const std::vector<std::string> extras = app.remaining(true);
  const std::string first = extras.empty() ? "" : extras.front();
  const std::string help = help_remedy(app);
  if (first.starts_with('-') && first.size() > 1) {
    const std::string name = first.substr(0, first.find('='));
    const auto near = nearest(name, option_names(*command));
    throw UserError(fmt::format("there is no option '{}'", name),
                    near ? fmt::format("Did you mean '{}'? {}", *near, help) : help);
  }
  throw UserError(fmt::format("'{}' is one argument too many", first), help);
}

}  // namespace tiletune
