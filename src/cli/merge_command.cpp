#include <fmt/format.h>

#include <list>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "output/display.h"
#include "store/merge.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<fs::path> inputs;
  fs::path output;
  std::string format = "table";
};

void check_inputs(const MergeOptions& options) {
  std::error_code ignored;
  for (const fs::path& input : options.inputs) {
    if (!fs::equivalent(input, options.output, ignored)) continue;
    throw UserError("the output is one of the inputs", Where{input.string(), ""},
                    "Leave it out of the inputs: what it holds stays there.");
  }
}

/// All inputs, before anything is written.
std::list<DatabaseCopy> copies_of(const MergeOptions& options) {
  fs::path folder = fs::absolute(options.output).parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw UserError(fmt::format("the folder of the output cannot be created: {}", error.message()),
                    Where{options.output.string(), ""}, "Name another file with -o FILE.");
  }
  std::list<DatabaseCopy> copies;
  for (const fs::path& input : options.inputs) copies.emplace_back(input, folder);
  return copies;
}

std::string as_text(const fs::path& file, const MergeSummary& summary) {
  return fmt::format("{}: {} rows, {} new, {} replaced; {} new sweeps, {} calibrations\n",
                     printable(file.string()), summary.rows, summary.new_rows, summary.replaced,
                     summary.sweeps, summary.calibrations);
}

nlohmann::ordered_json as_json(const fs::path& file, const MergeSummary& summary) {
  return {{"file", file.string()},        {"rows", summary.rows},     {"new_rows", summary.new_rows},
          {"replaced", summary.replaced}, {"sweeps", summary.sweeps}, {"calibrations", summary.calibrations}};
}

int run(const MergeOptions& options) {
  const bool json = format_from_name(options.format, {Format::table, Format::json}) == Format::json;
  check_inputs(options);
  const std::list<DatabaseCopy> copies = copies_of(options);
  Database output(options.output, Database::Mode::read_write);
  auto files = nlohmann::ordered_json::array();
  std::string text;
  for (const DatabaseCopy& copy : copies) {
    const MergeSummary summary = merge(copy, output);
    files.push_back(as_json(copy.original(), summary));
    text += as_text(copy.original(), summary);
  }
  std::int64_t rows = 0;
  for (const auto& [outcome, count] : output.outcome_counts({})) rows += count;
  text += fmt::format("{} now has {} rows\n", printable(options.output.string()), rows);
  if (json) {
    const nlohmann::ordered_json document{
        {"database", options.output.string()}, {"rows", rows}, {"inputs", files}};
    text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  write_output("", text);
  return 0;
}

}  // namespace

void add_merge_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "Join databases");
  command->add_option("DATABASE", options->inputs, "Databases to join; they stay as they are")->required();
  command->add_option("-o,--output", options->output, "The database they go into; it need not be new")
      ->required();
  command->add_option("--format", options->format, "table or json: how to print the summary")
      ->capture_default_str();
  command->footer(
      "Of two rows of one key a measured time counts more than one given up as slow, that more than a "
      "failure;\n"
      "then the later one counts. Sweeps get new numbers.\n"
      "Examples:\n  tiletune merge a.db b.db -o all.db\n  tiletune merge colleague.db -o "
      "results/tiletune.db");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
