#include <unistd.h>

#include <algorithm>
#include <list>

#include "cli/common.h"
#include "foreign/import.h"
#include "output/export.h"
#include "output/progress.h"
#include "store/merge.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ImportOptions {
  const CLI::App* command = nullptr;
  std::vector<fs::path> files;
  fs::path database = kDefaultDatabase;
  ImportFacts facts;
  std::string format = "table";
};

/// `count` of so many that were kept.
std::string number_of(std::size_t count, std::size_t kept) {
  return kept < kMostDistinct ? std::to_string(count) : fmt::format("more than {}", count - 1);
}

std::string listed(const std::set<std::string>& values, const char* plural) {
  return values.size() == 1 ? printable(*values.begin())
                            : number_of(values.size(), values.size()) + " " + plural;
}

/// Problems that are known by a name.
std::set<std::string> named_problems(const ImportSummary& summary) {
  std::set<std::string> names = summary.problems;
  std::erase_if(names, is_sizes);
  return names;
}

std::string as_text(const ImportSummary& summary) {
  std::string recorded = summary.first_recorded_at.empty() ? "" : ", " + summary.first_recorded_at;
  if (summary.first_recorded_at != summary.last_recorded_at) recorded += " to " + summary.last_recorded_at;
  std::string text =
      fmt::format("{}: {} of {} {} on {}{}\n", printable(summary.file.filename().string()), summary.format,
                  listed(summary.kernels, "kernels"), listed(summary.problems, "problems"),
                  listed(summary.gpus, "GPUs"), printable(recorded));
  const std::uint64_t known = summary.known_rows;
  text += fmt::format("  {}{}: {}\n", counted(summary.rows, "row"),
                      known == 0 ? "" : fmt::format(", {} of them present already", known),
                      outcome_summary({summary.outcomes.begin(), summary.outcomes.end()}));
  if (summary.repeats > 0)
    text += fmt::format("  {} of the rows {} an earlier row's configuration; the {} one counts\n",
                        summary.repeats, summary.repeats == 1 ? "repeats" : "repeat",
                        summary.is_fastest_kept ? "fastest" : "last");
  if (summary.profiled > 0)
    text += fmt::format("  left out: {} of launches under a profiler, whose times are not the kernel's\n",
                        counted(summary.profiled, "row"));
  if (summary.bad_rows > 0)
    text += fmt::format("  cannot be read, left out: {}; the first: {}\n", counted(summary.bad_rows, "row"),
                        printable(summary.first_bad));
  constexpr std::size_t kMostReasons = 10;
  std::size_t shown = 0;
  for (const auto& [what, count] : summary.reasons) {
    if (what.first == Outcome::screened_out) continue;  // a decision by times, not a fault
    if (++shown > kMostReasons) continue;
    text += fmt::format("  {} {}: {}\n", name(what.first), count, printable(what.second));
  }
  if (shown > kMostReasons)
    text +=
        fmt::format("  {} more reasons not shown\n", number_of(shown - kMostReasons, summary.reasons.size()));
  if (summary.kernels.size() == 1)
    text += fmt::format("  {} {}: {}\n", number_of(summary.parameters.size(), summary.parameters.size()),
                        summary.parameters.size() == 1 ? "parameter" : "parameters",
                        printable(join(summary.parameters, ", ")));
  const std::set<std::string> names = named_problems(summary);
  if (!names.empty())
    text += fmt::format(
        "  the problem '{}'{} is a name without sizes: it equals only problems of the same name\n",
        printable(*names.begin()),
        names.size() == 1
            ? ""
            : fmt::format(" (and {} more)", number_of(names.size() - 1, summary.problems.size())));
  if (summary.unfinished)
    text += fmt::format("  unfinished: {}; all rows before that are imported\n",
                        summary.lost_row ? "it ends in the middle of a row, which is left out"
                                         : "its closing braces are missing");
  return text;
}

Json as_json(const ImportSummary& summary) {
  auto outcomes = Json::object();
  for (const auto& [outcome, count] : summary.outcomes) outcomes[std::string(name(outcome))] = count;
  auto reasons = Json::array();
  for (const auto& [what, count] : summary.reasons)
    reasons.push_back({{"outcome", name(what.first)}, {"reason", what.second}, {"rows", count}});
  return {{"file", summary.file.string()},
          {"format", summary.format},
          {"gpus", summary.gpus},
          {"templates", summary.kernels},
          {"problems", summary.problems},
          {"named_problems", named_problems(summary)},
          {"parameters", summary.parameters},
          {"first_recorded_at", summary.first_recorded_at},
          {"last_recorded_at", summary.last_recorded_at},
          {"rows", summary.rows},
          {"new_rows", summary.new_rows},
          {"repeats", summary.repeats},
          {"profiled", summary.profiled},
          {"bad_rows", summary.bad_rows},
          {"first_bad", summary.first_bad},
          {"unfinished", summary.unfinished},
          {"lost_row", summary.lost_row},
          {"outcomes", std::move(outcomes)},
          {"reasons", std::move(reasons)}};
}

int run(ImportOptions& options) {
  const bool json = asks_for_json(options.format);
  check_default(*options.command, "--db", options.database);
  catch_interrupts();
  std::error_code ignored;
  const bool is_new = !fs::exists(options.database, ignored);
  Database database(options.database, Database::Mode::read_write);
  Progress progress(false, ::isatty(STDERR_FILENO) != 0);
  auto files = Json::array();
  std::string text;
  std::vector<std::string> errors;  // of files of which nothing was taken in
  int code = 0;
  for (const fs::path& file : options.files) {
    const std::string task = "importing " + printable(file.filename().string());
    const auto take = [&](std::uint64_t rows) {
      if (interrupted()) throw Stopped();
      progress.update({task, rows, 0, ""});
    };
    constexpr int kMistake = 2;  // which does not keep the other files out
    try {
      const ImportSummary summary = import_file(database, file, options.facts, take);
      if (summary.rows == 0)
        throw UserError(
            summary.bad_rows == 0 ? "the file has no rows" : "no row of the file can be read, the first:",
            Where{file.string(), ""}, summary.first_bad);
      files.push_back(as_json(summary));
      text += as_text(summary);
    } catch (const UserError& error) {
      errors.emplace_back(error.what());
      code = kMistake;
    } catch (const Stopped&) {
      errors.push_back(printable(file.string()) + ": interrupted; nothing of it was imported");
      code = kInterrupted;
      break;
    }
  }
  progress.finish();
  if (!files.empty())
    text += fmt::format("tiletune rank --db {}\n", printable(shell_quoted(options.database.string())));
  print_either(json, {{"database", options.database.string()}, {"files", files}}, printable_message(text));
  if (is_new && files.empty()) database.remove_if_empty();
  for (const std::string& error : errors)
    fmt::print(stderr, "tiletune: error: {}\n", printable_message(error));
  if (!errors.empty() && options.files.size() > 1)
    fmt::print(stderr, "tiletune: {} of {} files were imported\n", files.size(), options.files.size());
  return code;
}

struct MergeOptions {
  std::vector<fs::path> inputs;
  fs::path output;
  bool skip_bad = false;
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
    const fs::path folder = fs::absolute(options.output).parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      throw UserError(fmt::format("the folder of the output cannot be created: {}", error.message()),
                      Where{options.output.string(), ""}, "Name another file with -o FILE.");
    std::list<DatabaseCopy> copies;  // of all inputs, before anything is written
    for (const fs::path& input : options.inputs)
      copies.emplace_back(input, folder, interrupted, options.skip_bad);
    // The database that the others go into is one that is there, or a new one, which is there when it is
    // whole.
    std::optional<Database> present;
    std::optional<MergedDatabase> made;
    if (MergedDatabase::is_free(options.output))
      made.emplace(options.output);
    else
      present.emplace(options.output, Database::Mode::read_write);
    keeps_each = present.has_value();
    for (const DatabaseCopy& copy : copies)
      merged.inputs.emplace_back(copy.original(),
                                 made ? made->add(copy, interrupted) : merge(copy, *present, interrupted));
    merged.rows = made ? made->rows() : row_count(*present);
    if (made) made->put_in_place();
    return 0;
  } catch (const Stopped&) {
    const std::string text =
        fmt::format("{}: interrupted; {}", options.output.string(), said_of_rest(merged, keeps_each));
    fmt::print(stderr, "tiletune: error: {}\n", printable(text));
    return kInterrupted;
  } catch (const UserError& error) {
    if (!merged.inputs.empty())
      fmt::print(stderr, "tiletune: {}\n", printable(said_of_rest(merged, keeps_each)));
    throw named_by(error.where().file == options.output.string() ? "-o FILE" : "", error);
  }
}

int run(MergeOptions& options) {
  const bool json = asks_for_json(options.format);
  check_inputs(options);
  catch_interrupts();
  Merged merged;
  const int code = merge_all(options, merged);
  if (code != 0) return code;
  auto files = Json::array();
  std::string text;
  for (const auto& [file, summary] : merged.inputs) {
    files.push_back({{"file", file.string()},
                     {"rows", summary.rows},
                     {"new_rows", summary.new_rows},
                     {"replaced", summary.replaced},
                     {"sweeps", summary.sweeps},
                     {"calibrations", summary.calibrations},
                     {"skipped", summary.skipped}});
    text +=
        fmt::format("{}: {}, {} new, {} replaced; {}, {}{}\n", printable(file.string()),
                    counted(summary.rows, "row"), summary.new_rows, summary.replaced,
                    counted(summary.sweeps, "new sweep"), counted(summary.calibrations, "calibration"),
                    summary.skipped > 0 ? fmt::format("; {} left out (unreadable)", summary.skipped) : "");
  }
  text += fmt::format("{} now has {}\n", printable(options.output.string()), counted(merged.rows, "row"));
  print_either(json, {{"database", options.output.string()}, {"rows", merged.rows}, {"inputs", files}}, text);
  return 0;
}

}  // namespace

void add_import_command(CLI::App& app, Action& action) {
  auto [command, options] =
      add_command<ImportOptions>(app, action, "import", "Import what other autotuners have recorded", run);
  options.command = &command;
  command
      .add_option(
          "FILE", options.files,
          "Cache files of Kernel Tuner or Triton's autotuner, T4 results, JSON output of KTT or NVBench, "
          "or CSV output of CUTLASS's profiler; also gzipped")
      ->required();
  command.add_option("--db", options.database, "Results database")->capture_default_str();
  command.add_option("--gpu", options.facts.gpu, "The GPU's full name, in place of what the files say");
  command.add_option("--problem", options.facts.problem,
                     "The problem, such as 4096x4096, if a file does not name it; for NVBench also the axes "
                     "that hold its sizes, such as M,N");
  command.add_option("--kernel", options.facts.kernel,
                     "The kernel's name, which becomes the template, where a file does not say it");
  command.add_option("--time-unit", options.facts.time_unit,
                     "ms, us, ns or s, where a file does not say the unit of its times");
  command.add_flag("--skip-bad", options.facts.skip_bad,
                   "Leave out rows that cannot be read, instead of refusing the file");
  command.add_flag("--recorded-again", options.facts.recorded_again,
                   "The files are later recordings of GPUs that the database has: if a configuration has two "
                   "times, the later one counts");
  command.add_option("--format", options.format, "table or json: how to print the summary")
      ->capture_default_str();
  command.footer(
      "Each file is imported as a whole or not at all. Rows of other tools are marked as imported and are "
      "never\n"
      "ranked together with measured ones; a row that the database already has is kept. Databases of "
      "tiletune's\n"
      "are joined by 'tiletune merge'.\n"
      "Examples:\n  tiletune import A100.json.gz A4000.json.gz --db hub.db\n"
      "  tiletune import results.T4.json --gpu \"NVIDIA A100-PCIE-40GB\" --problem 4096x4096 --kernel "
      "convolution_kernel");
}

void add_merge_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<MergeOptions>(app, action, "merge", "Join databases", run);
  command.add_option("DATABASE", options.inputs, "Databases to merge; they are not changed")->required();
  command.add_option("-o,--output", options.output, "Database to write into; it may exist already")
      ->required();
  command.add_flag("--skip-bad", options.skip_bad, kSkipBadHelp);
  command.add_option("--format", options.format, "table or json: how to print the summary")
      ->capture_default_str();
  command.footer(
      "Of two rows with the same key, a measured time wins over one of a dropped configuration, and that "
      "over a\nfailure; otherwise the later row wins. Sweeps get new numbers.\n"
      "Examples:\n  tiletune merge a.db b.db -o all.db\n  tiletune merge colleague.db -o "
      "results/tiletune.db");
}

}  // namespace tiletune
