#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "output/display.h"
#include "output/progress.h"
#include "output/table.h"
#include "tune/inspection.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

struct CompileCommand {
  ConfigOptions config;
  CompileOptions compile;
  std::vector<std::string> gpus;
  std::string shard;
  std::string format = "table";
  bool quiet = false;
};

/// What became of the configurations on one GPU.
struct Compilations {
  std::uint64_t compiled = 0;
  std::uint64_t refused = 0;  ///< the GPU cannot run them
  std::map<std::string, std::uint64_t> failures;

  void add(const InspectedOnGpu& result) {
    if (result.outcome == Outcome::ok)
      ++compiled;
    else if (result.outcome == Outcome::refused)
      ++refused;
    else
      ++failures[result.reason.substr(0, result.reason.find('\n'))];
  }

  std::uint64_t failed() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : failures) sum += count;
    return sum;
  }
};

std::string as_text(const Target& target, const Compilations& compilations) {
  constexpr std::size_t kMostShown = 5;
  std::string text =
      fmt::format("{} ({}): {} compiled, {} refused, {} failed\n", target.name, target.architecture,
                  compilations.compiled, compilations.refused, compilations.failed());
  std::size_t shown = 0;
  for (const auto& [reason, count] : compilations.failures) {
    if (++shown > kMostShown) {
      text += fmt::format("  and {} more\n", counted(compilations.failures.size() - kMostShown, "reason"));
      break;
    }
    text += fmt::format("  {} x {}\n", count, printable(reason));
  }
  return text;
}

Json as_json(const Target& target, const Compilations& compilations) {
  return {{"gpu", target.name},
          {"architecture", target.architecture},
          {"compiled", compilations.compiled},
          {"refused", compilations.refused},
          {"failed", compilations.failed()}};
}

int run(const CompileCommand& options) {
  const Format format = format_from_name(options.format, {Format::table, Format::json});
  const std::vector<Target> targets = targets_for(options.gpus, shipped_static_model());
  TuneSpec spec = options.config.load();
  apply_shard(options.shard, spec.shard);
  options.compile.add_include_folders(spec);
  spec.strategy.name = "exhaustive";
  spec.budget = {};
  catch_interrupts();
  const auto started = Clock::now();
  std::vector<Task> tasks = plan_tasks(spec, interrupted);
  Progress progress(options.quiet, ::isatty(STDERR_FILENO) != 0);
  tell_if_not_confined([&](const std::string& line) { progress.note(line); });
  const CompilePoolOptions pool = options.compile.pool_options(spec);
  std::vector<Compilations> done(targets.size());
  const auto row = [&](const InspectedConfiguration& inspected) {
    for (std::size_t i = 0; i < targets.size(); ++i) done[i].add(inspected.gpus[i]);
  };
  const auto counts = [&](std::size_t finished, std::size_t total) {
    progress.update({"compiling", finished, total, ""});
  };
  inspect_tasks(spec, tasks, targets, pool, false, {row, counts, interrupted});
  progress.finish();
  Json json{
      {"cache", pool.cache_folder.string()}, {"wall_s", seconds_since(started)}, {"gpus", Json::array()}};
  std::string text;
  std::uint64_t compiled = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    json["gpus"].push_back(as_json(targets[i], done[i]));
    text += as_text(targets[i], done[i]);
    compiled += done[i].compiled;
  }
  text += fmt::format("in {}; kernel cache: {}\n", human_seconds(seconds_since(started)),
                      printable(pool.cache_folder.string()));
  write_output("", format == Format::json ? json.dump(2) + "\n" : text);
  if (interrupted()) {
    fmt::print(stderr, "Interrupted: run the same command again to continue from the kernel cache.\n");
    return kInterrupted;
  }
  if (compiled > 0) return 0;
  throw NothingToDo("no configuration was compiled that one of these GPUs can run",
                    Where{spec.file.string(), ""}, "See why: tiletune inspect, with the same options.");
}

}  // namespace

void add_compile_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand(
      "compile",
      "Fill the kernel cache for a GPU model, without needing that GPU, so that a sweep only measures");
  options->config.add_to(*command);
  options->compile.add_to(*command);
  command->add_option("--gpu", options->gpus, "GPU model to compile for, e.g. A100-80GB (repeatable)");
  add_shard_option(*command, options->shard);
  command->add_option("--format", options->format, "table or json")->capture_default_str();
  command->add_flag("-q,--quiet", options->quiet, "No progress");
  command->footer(
      "The cache is the folder tiletune/ in XDG_CACHE_HOME (~/.cache). It may be shared by machines.\n"
      "Examples:\n  tiletune compile configs/sgemm.json --gpu H100\n"
      "  XDG_CACHE_HOME=/shared/cache tiletune compile configs/sgemm.json --gpu H100 --shard 3/16");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
