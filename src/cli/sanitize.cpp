#include "cli/sanitize.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "cli/common.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr const char* kToolkit = "/usr/local/cuda/bin/compute-sanitizer";

std::string sanitizer() {
  if (std::system("command -v compute-sanitizer > /dev/null 2>&1") == 0) return "compute-sanitizer";
  if (::access(kToolkit, X_OK) == 0) return kToolkit;
  throw UserError(
      "compute-sanitizer is not installed", Where{"--sanitize", ""},
      fmt::format("Install the CUDA Toolkit. tiletune looks for compute-sanitizer on PATH and at {}.",
                  kToolkit));
}

/// The words of this process's command that say what is measured.
std::vector<std::string> own_words() {
  static const std::set<std::string, std::less<>> kOthers{"--sanitize",  "--db",          "--samples",
                                                          "--rounds",    "--format",      "--outputs",
                                                          "--sustained", "--host-copies", "--regime"};
  std::vector<std::string> words;
  std::vector<std::string> all;
  std::ifstream file("/proc/self/cmdline");
  for (std::string word; std::getline(file, word, '\0');) all.push_back(word);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::string option = all[i].substr(0, all[i].find('='));
    if (kOthers.contains(option))
      i += option == all[i] ? 1 : 0;
    else if (all[i] != "-q" && all[i] != "--quiet" && all[i] != "--best")
      words.push_back(shell_quoted(all[i]));
  }
  return words;
}

/// The lines of an output with which the tool tells of errors.
std::vector<std::string> findings(const std::string& log) {
  // What it says of runs without errors, or of the program's exit status.
  constexpr std::array kUsual{"COMPUTE-SANITIZER", "SUMMARY: 0 ", "Target application returned an error"};
  std::vector<std::string> found;
  for (const std::string& line : split(log, '\n')) {
    if (!line.starts_with("=========")) continue;
    const std::string_view text =
        trim(std::string_view(line).substr(std::min(line.find_first_not_of('='), line.size())));
    const bool is_usual = std::ranges::any_of(
        kUsual, [&](const char* usual) { return text.find(usual) != std::string_view::npos; });
    if (!text.empty() && !is_usual) found.emplace_back(text);
  }
  return found;
}

}  // namespace

void check_sanitizers(const std::vector<std::string>& tools) {
  const std::vector<std::string> known{"memcheck", "racecheck", "initcheck", "synccheck"};
  for (const std::string& tool : tools)
    if (std::ranges::find(known, tool) == known.end())
      throw UserError(fmt::format("compute-sanitizer has no tool '{}'", tool), Where{"--sanitize", ""},
                      fmt::format("Name some of {}, with commas between them.", join(known, ", ")));
  if (!tools.empty()) sanitizer();
}

int run_sanitizers(const std::vector<std::string>& tools, const fs::path& database,
                   const std::vector<std::string>& settings,
                   const std::function<void(const std::string&)>& write) {
  std::vector<std::string> words = own_words();
  for (const std::string& setting : settings) words.push_back("--set " + shell_quoted(setting));
  int failed = 0;
  for (const std::string& tool : tools) {
    const ScratchFolder scratch;
    const fs::path copy = scratch.path() / "copy.db";
    std::error_code none;  // a new database measures the GPU's ceilings first
    fs::copy_file(database, copy, none);
    const fs::path output = scratch.path() / "output";
    // Guard bands would hide accesses beyond the ends of buffers, and so would buffers that lie side by side.
    const std::string command = fmt::format(
        "TILETUNE_NO_GUARDS=1 {} --tool {}{} --target-processes all --print-limit 10 {} {} --quiet "
        "--samples 1 --rounds 6 --db {} > {} 2>&1",
        sanitizer(), tool, tool == "memcheck" ? " --padding 64" : "",
        shell_quoted(fs::read_symlink("/proc/self/exe").string()), join(words, " "),
        shell_quoted(copy.string()), shell_quoted(output.string()));
    fmt::print(stderr, "running again under {} ...\n", tool);
    const int status = std::system(command.c_str());
    if (WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) >= kInterrupted)) {
      fmt::print(stderr, "Interrupted: {} did not end.\n", tool);
      return kInterrupted;
    }
    const std::string log = read_file(output, std::size_t{256} << 20);
    constexpr std::size_t kLongest = 4000;
    const std::string end = printable(log.substr(log.size() - std::min(log.size(), kLongest)));
    std::vector<std::string> found = findings(log);
    if (found.empty() && (status != 0 || log.find(" SUMMARY: ") == std::string::npos))
      found = {"the configuration did not run to its end:", end};
    failed += found.empty() ? 0 : 1;
    for (const std::string& line : found) write(printable(line) + "\n");
    write(fmt::format("{}: {}\n", tool, found.empty() ? "no errors" : "errors found, see above"));
  }
  return failed;
}

}  // namespace tiletune
