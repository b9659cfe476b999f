#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
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
  const auto same = [](const fs::path& one, const fs::path& other) {
    std::error_code ignored;
    return fs::equivalent(one, other, ignored);
  };
  for (auto input = options.inputs.begin(); input != options.inputs.end(); ++input) {
    const Where where{input->string(), ""};
    if (same(*input, options.output))
      throw UserError("the output is one of the inputs", where,
                      "Leave it out of the inputs: its rows are kept.");
    const auto first = std::find_if(options.inputs.begin(), input,
                                    [&](const fs::path& other) { return same(*input, other); });
    if (first != input)
      throw UserError(fmt::format("this is the same file as the input {}", first->string()), where,
                      "Name it once.");
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
  for (const fs::path& input : options.inputs) copies.emplace_back(input, folder, interrupted);
  return copies;
}

std::string as_text(const fs::path& file, const MergeSummary& summary) {
  return fmt::format("{}: {}, {} new, {} replaced; {}, {}\n", printable(file.string()),
                     counted(summary.rows, "row"), summary.new_rows, summary.replaced,
                     counted(summary.sweeps, "new sweep"), counted(summary.calibrations, "calibration"));
}

nlohmann::ordered_json as_json(const fs::path& file, const MergeSummary& summary) {
  return {{"file", file.string()},        {"rows", summary.rows},     {"new_rows", summary.new_rows},
          {"replaced", summary.replaced}, {"sweeps", summary.sweeps}, {"calibrations", summary.calibrations}};
}

/// The database that the others go into: one that is there, or a new one, which is there when it is whole.
class Output {
 public:
  explicit Output(const fs::path& file) {
    if (MergedDatabase::is_free(file)) {
      made_.emplace(file);
    } else {
      present_.emplace(file, Database::Mode::read_write);
    }
  }

  MergeSummary add(const DatabaseCopy& copy) {
    return made_ ? made_->add(copy, interrupted) : merge(copy, *present_, interrupted);
  }
  std::int64_t rows() { return made_ ? made_->rows() : row_count(*present_); }
  /// Whether databases that were added stay when a later one is not added.
  bool keeps_each() const { return present_.has_value(); }
  void finish() {
    if (made_) made_->put_in_place();
  }

 private:
  std::optional<Database> present_;
  std::optional<MergedDatabase> made_;
};

struct Merged {
  std::vector<std::pair<fs::path, MergeSummary>> inputs;
  std::int64_t rows = 0;  ///< of the output
};

/// What a merge that does not come to its end has changed.
std::string said_of_rest(const Merged& merged, bool keeps_each) {
  if (merged.inputs.empty() || !keeps_each) return "nothing was changed";
  std::vector<std::string> names;
  for (const auto& [file, summary] : merged.inputs) names.push_back(file.string());
  return "only what came before was merged: " + join(names, ", ");
}

/// The exit code.
int merge_all(const MergeOptions& options, Merged& merged) {
  bool keeps_each = false;
  try {
    const std::list<DatabaseCopy> copies = copies_of(options);
    Output output(options.output);
    keeps_each = output.keeps_each();
    for (const DatabaseCopy& copy : copies) merged.inputs.emplace_back(copy.original(), output.add(copy));
    merged.rows = output.rows();
    output.finish();
    return 0;
  } catch (const Stopped&) {
    const std::string text =
        fmt::format("{}: interrupted; {}", options.output.string(), said_of_rest(merged, keeps_each));
    std::cerr << "tiletune: error: " << printable_message(text) << "\n";
    return kInterrupted;
  } catch (const UserError& error) {
    if (!merged.inputs.empty())
      std::cerr << "tiletune: " << printable_message(said_of_rest(merged, keeps_each)) << "\n";
    throw named_by(error.where().file == options.output.string() ? "-o FILE" : "", error);
  }
}

int run(const MergeOptions& options) {
  const bool json = format_from_name(options.format, {Format::table, Format::json}) == Format::json;
  check_inputs(options);
  catch_interrupts();
  Merged merged;
  const int code = merge_all(options, merged);
  if (code != 0) return code;
  auto files = nlohmann::ordered_json::array();
  std::string text;
  for (const auto& [file, summary] : merged.inputs) {
    files.push_back(as_json(file, summary));
    text += as_text(file, summary);
  }
  text += fmt::format("{} now has {}\n", printable(options.output.string()), counted(merged.rows, "row"));
  if (json) {
    const nlohmann::ordered_json document{
        {"database", options.output.string()}, {"rows", merged.rows}, {"inputs", files}};
    text = json_text(document, 2) + "\n";
  }
  write_output("", text);
  return 0;
}

}  // namespace

void add_merge_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "Join databases");
  command->add_option("DATABASE", options->inputs, "Databases to merge; they are not changed")->required();
  command->add_option("-o,--output", options->output, "Database to write into; it may exist already")
      ->required();
  command->add_option("--format", options->format, "table or json: how to print the summary")
      ->capture_default_str();
  command->footer(
      "Of two rows with the same key, a measured time wins over one of a dropped configuration, and that "
      "over "
      "a\nfailure; otherwise the later row wins. Sweeps get new numbers.\n"
      "Examples:\n  tiletune merge a.db b.db -o all.db\n  tiletune merge colleague.db -o "
      "results/tiletune.db");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
