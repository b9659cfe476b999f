#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "foreign/import.h"
#include "output/display.h"
#include "output/export.h"
#include "output/progress.h"

namespace tiletune {

namespace {

struct ImportOptions {
  std::vector<std::filesystem::path> files;
  std::filesystem::path database = kDefaultDatabase;
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

std::string recorded_text(const ImportSummary& summary) {
  if (summary.first_recorded_at.empty()) return "";
  if (summary.first_recorded_at == summary.last_recorded_at) return ", " + summary.first_recorded_at;
  return fmt::format(", {} to {}", summary.first_recorded_at, summary.last_recorded_at);
}

std::string outcomes_text(const ImportSummary& summary) {
  return outcome_summary({summary.outcomes.begin(), summary.outcomes.end()});
}

/// Problems that are known by a name.
std::set<std::string> named_problems(const ImportSummary& summary) {
  std::set<std::string> names = summary.problems;
  std::erase_if(names, is_sizes);
  return names;
}

std::string as_text(const ImportSummary& summary) {
  std::string text =
      fmt::format("{}: {} of {} {} on {}{}\n", summary.file.filename().string(), summary.format,
                  listed(summary.kernels, "kernels"), listed(summary.problems, "problems"),
                  listed(summary.gpus, "GPUs"), recorded_text(summary));
  const std::uint64_t known = summary.rows - summary.new_rows;
  text += fmt::format("  {}{}: {}\n", counted(summary.rows, "row"),
                      known == 0 ? "" : fmt::format(", {} of them present already", known),
                      outcomes_text(summary));
  constexpr std::size_t kMostReasons = 10;
  std::size_t shown = 0;
  for (const auto& [what, count] : summary.reasons) {
    if (what.first == Outcome::screened_out) continue;  // a decision by times, not a fault
    if (++shown > kMostReasons) continue;
    text += fmt::format("  {} {}: {}\n", name(what.first), count, what.second);
  }
  if (shown > kMostReasons) {
    text +=
        fmt::format("  {} more reasons not shown\n", number_of(shown - kMostReasons, summary.reasons.size()));
  }
  if (summary.kernels.size() == 1)
    text += fmt::format("  {} {}: {}\n", number_of(summary.parameters.size(), summary.parameters.size()),
                        summary.parameters.size() == 1 ? "parameter" : "parameters",
                        join(summary.parameters, ", "));
  const std::set<std::string> names = named_problems(summary);
  if (!names.empty()) {
    text += fmt::format(
        "  the problem '{}'{} is a name without sizes: it equals only problems of the same name\n",
        printable(*names.begin()),
        names.size() == 1
            ? ""
            : fmt::format(" (and {} more)", number_of(names.size() - 1, summary.problems.size())));
  }
  if (summary.unfinished) {
    text += fmt::format("  unfinished: {}; all rows before that are imported\n",
                        summary.lost_row ? "it ends in the middle of a row, which is left out"
                                         : "its closing braces are missing");
  }
  return text;
}

nlohmann::ordered_json as_json(const ImportSummary& summary) {
  auto outcomes = nlohmann::ordered_json::object();
  for (const auto& [outcome, count] : summary.outcomes) outcomes[std::string(name(outcome))] = count;
  auto reasons = nlohmann::ordered_json::array();
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
          {"unfinished", summary.unfinished},
          {"lost_row", summary.lost_row},
          {"outcomes", std::move(outcomes)},
          {"reasons", std::move(reasons)}};
}

struct Interruption {};

/// What became of each file.
struct Imported {
  std::vector<ImportSummary> summaries;
  std::vector<std::string> errors;  ///< of files of which nothing was taken in
  bool interrupted = false;
};

/// A file with a mistake in it does not keep the others out.
Imported import_all(const ImportOptions& options, Database& database) {
  Progress progress(false, ::isatty(STDERR_FILENO) != 0);
  Imported imported;
  for (const auto& file : options.files) {
    const std::string task = "importing " + printable(file.filename().string());
    try {
      imported.summaries.push_back(import_file(database, file, options.facts, [&](std::uint64_t rows) {
        if (interrupted()) throw Interruption{};
        progress.update({task, rows, 0, ""});
      }));
      const ImportSummary& summary = imported.summaries.back();
      if (summary.rows > 0) continue;
      imported.summaries.pop_back();
      imported.errors.push_back(file.string() + ": holds no rows");
    } catch (const UserError& error) {
      imported.errors.emplace_back(error.what());
    } catch (const Interruption&) {
      imported.errors.push_back(file.string() + ": interrupted; nothing of it was imported");
      imported.interrupted = true;
      break;
    }
  }
  return imported;
}

/// Says what is wrong with files, each for itself, and gives the exit code.
int verdict_of(const Imported& imported, std::size_t files) {
  for (const std::string& error : imported.errors)
    std::cerr << "tiletune: error: " << printable_message(error) << "\n";
  if (imported.errors.empty()) return 0;
  if (files > 1)
    std::cerr << fmt::format("tiletune: {} of {} files were imported\n", imported.summaries.size(), files);
  constexpr int kMistake = 2;
  return imported.interrupted ? kInterrupted : kMistake;
}

int run(const ImportOptions& options) {
  const bool json = format_from_name(options.format, {Format::table, Format::json}) == Format::json;
  catch_interrupts();
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(options.database, ignored);
  Database database(options.database, Database::Mode::read_write);
  const Imported imported = import_all(options, database);
  const std::vector<ImportSummary>& summaries = imported.summaries;
  auto files = nlohmann::ordered_json::array();
  std::string text;
  for (const ImportSummary& summary : summaries) {
    files.push_back(as_json(summary));
    text += as_text(summary);
  }
  if (!summaries.empty())
    text += fmt::format("tiletune rank --db {}\n", shell_quoted(options.database.string()));
  if (json) {
    text = json_text({{"database", options.database.string()}, {"files", files}}, 2) + "\n";
    write_output("", text);
  } else {
    write_output("", printable_message(text));
  }
  if (is_new && summaries.empty()) database.remove_if_empty();
  return verdict_of(imported, options.files.size());
}

}  // namespace

void add_import_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "Import what other autotuners have recorded");
  command
      ->add_option("FILE", options->files,
                   "Cache files of Kernel Tuner, T4 results or JSON output of KTT; also gzipped")
      ->required();
  command->add_option("--db", options->database, "Results database")->capture_default_str();
  command->add_option("--gpu", options->facts.gpu, "The GPU's full name, in place of what the files say");
  command->add_option("--problem", options->facts.problem,
                      "The problem, such as 4096x4096, where a file does not say it");
  command->add_option("--kernel", options->facts.kernel,
                      "The kernel's name, which becomes the template, where a file does not say it");
  command->add_option("--time-unit", options->facts.time_unit,
                      "ms, us, ns or s, where a file does not say the unit of its times");
  command->add_flag(
      "--recorded-again", options->facts.recorded_again,
      "The files are later recordings of GPUs that the database has: if a configuration has two "
      "times, the later one counts");
  command->add_option("--format", options->format, "table or json: how to print the summary")
      ->capture_default_str();
  command->footer(
      "Each file is imported as a whole or not at all. Rows of other tools are marked as imported and are "
      "never\n"
      "ranked together with measured ones; a row that the database already has is kept. Databases of "
      "tiletune's\n"
      "are joined by 'tiletune merge'.\n"
      "Examples:\n  tiletune import A100.json.gz A4000.json.gz --db hub.db\n"
      "  tiletune import results.T4.json --gpu \"NVIDIA A100-PCIE-40GB\" --problem 4096x4096 --kernel "
      "convolution_kernel");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
