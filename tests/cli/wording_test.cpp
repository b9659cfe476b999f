// The wording of messages, in one place: wording.txt holds commands and all that they print. Where that has
// changed on purpose, `TILETUNE_UPDATE_WORDING=1 build/release/test_cli --gtest_filter=Wording.*` writes it
// again: review the diff.
//
//   # COMMENT
//   < FILE CONTENT                        writes a file; \n is a line feed
//   $ [GPU=MODE] tiletune ARGUMENTS...    runs it, with fake GPU workers of this mode; below, what it printed

#include <gtest/gtest.h>

#include <cstdlib>
#include <iomanip>
#include <regex>
#include <sstream>

#include "base/file.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace wording_test {

/// Without what differs from run to run, from machine to machine, and from compiler to compiler.
std::string normalised(std::string text, const Sandbox& sandbox) {
  const std::vector<std::pair<std::regex, std::string>> rules{
      {std::regex(R"([^\n]*: \d+/\d+ \(\d+%\)[^\n]*\n)"),
       ""},  // progress: how often depends on the time it takes
      {std::regex(R"(kernels are not confined here[^\n]*\n)"), ""},
      {std::regex(std::filesystem::canonical(sandbox.folder()).string()), "FOLDER"},
      {std::regex(TILETUNE_BINARY_DIR), "BUILD"},
      {std::regex(TILETUNE_SOURCE_DIR), "HOME"},
      {std::regex(R"(\d{4}-\d\d-\d\d)"), "DATE"},
      {std::regex(R"(\b\d+(\.\d+)? (s|ms|us)\b)"), "TIME"},
      {std::regex(R"(\d+(\.\d+)+(e[-+]?\d+)?)"), "#"},
      {std::regex(R"(\d+( registers)? per thread)"), "#$1 per thread"},
      {std::regex(R"(   *)"), "  "},
      {std::regex(R"(  -?\d+(\.\.\d+)?(?=  |\n))"), "  #"},  // of a table
      {std::regex(R"(tiny  ?V=\d)"), "tiny V=#"},            // which one leads depends on the compiled bytes
      {std::regex("#####+"), "BAR"},
      {std::regex("---+"), "---"},
      {std::regex(" +\n"), "\n"},
  };
  for (const auto& [pattern, replacement] : rules) text = std::regex_replace(text, pattern, replacement);
  return text;
}

std::string printed_by(const std::string& command, const Sandbox& sandbox) {
  std::istringstream words(command);
  std::vector<std::string> arguments;
  std::string mode;
  for (std::string word; words >> std::quoted(word, '\'');) {
    if (word.rfind("GPU=", 0) == 0) {
      mode = word.substr(4);
    } else if (word != "tiletune") {
      arguments.push_back(word);
    }
  }
  if (!mode.empty()) {
    const std::vector<std::string> worker = fake_gpu_workers(mode);
    arguments.insert(arguments.end(), worker.begin(), worker.end());
  }
  const Finished run = sandbox.run(arguments);
  std::istringstream lines(normalised(run.out + run.err, sandbox));
  std::string indented;
  for (std::string line; std::getline(lines, line);) indented += line.empty() ? "\n" : "    " + line + "\n";
  return indented + (run.code == 0 ? "" : "    exit " + std::to_string(run.code) + "\n");
}

TEST(Wording, IsAsReviewed) {
  const std::string file = std::string(TILETUNE_SOURCE_DIR) + "/tests/cli/wording.txt";
  const std::string reviewed = read_file(file);
  const Sandbox sandbox;
  sandbox.write_tiny_space(4);
  std::string now;
  std::istringstream lines(reviewed);
  for (std::string line; std::getline(lines, line);) {
    const std::string kind = line.substr(0, 2);
    if (kind == "# " || kind == "< ") now += line + "\n";
    if (kind == "< ") {
      const std::size_t name_ends = line.find(' ', 2);
      sandbox.write(line.substr(2, name_ends - 2),
                    std::regex_replace(line.substr(name_ends + 1), std::regex(R"(\\n)"), "\n"));
    } else if (kind == "$ ") {
      now += line + "\n" + printed_by(line.substr(2), sandbox) + "\n";
    }
  }
  if (now.ends_with("\n\n")) now.pop_back();
  if (std::getenv("TILETUNE_UPDATE_WORDING") != nullptr) {
    write_file_atomically(file, now);
  } else {
    EXPECT_EQ(now, reviewed);
  }
}

}  // namespace wording_test
}  // namespace tiletune
