// Untrusted configs, kernels, databases and arguments: nothing leaves the sandbox, nothing reaches the
// terminal.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/expect_error.h"
#include "store/database.h"

namespace tiletune {
namespace hostile_test {

namespace fs = std::filesystem;

const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> texts{"'; DROP TABLE trial; --",
                                              "\" OR 1=1 --",
                                              "%",
                                              "_",
                                              "$(touch pwned)",
                                              "`touch pwned`",
                                              "\x1b[2J\x1b]0;title\x07",
                                              "\xC2\x9B"
                                              "31m",
                                              "\xFF\xFE broken",
                                              "\xE2\x80\xAEtxet desrever",
                                              "<script>alert(1)</script>",
                                              "a | b ` c [d](javascript:e)",
                                              "=HYPERLINK(\"http://x\")",
                                              std::string(5000, 'x')};
  return texts;
}

/// No byte of it that a terminal obeys.
void expect_harmless(const std::string& text) {
  for (const char c : text)
    EXPECT_TRUE(c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20) << int{c};
  EXPECT_EQ(text.find('\x7F'), std::string::npos);
  EXPECT_EQ(text.find("\xC2\x9B"), std::string::npos);
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_EQ(text.find('\xFF'), std::string::npos);
}

std::vector<Trial> hostile_rows() {
  std::vector<Trial> rows;
  for (const std::string& text : hostile_texts()) {
    for (const Outcome outcome : {Outcome::ok, Outcome::crashed}) {
      Trial trial;
      trial.key = text + std::string(name(outcome));
      trial.template_name = trial.operation = trial.problem = trial.scalars = trial.reason = text;
      trial.warnings = trial.element_types = trial.occupancy_limiter = trial.gpu = trial.host = text;
      trial.kernel_expression = trial.launch = trial.derived = trial.compile_options = text;
      trial.parameters = nlohmann::json{{text, text + std::string(name(outcome))}}.dump(
          -1, ' ', false, nlohmann::json::error_handler_t::ignore);
      trial.outcome = outcome;
      trial.median_us = 1;
      rows.push_back(trial);
      trial.key += "2";
      trial.parameters = text + std::string(name(outcome));
      rows.push_back(trial);
    }
  }
  return rows;
}

void write_hostile_database(const fs::path& file) {
  Database database(file, Database::Mode::read_write);
  SweepRecord sweep;
  sweep.command = sweep.config_file = sweep.host = sweep.gpu = hostile_texts()[8];
  database.begin_sweep(sweep);
  database.record_all(hostile_rows());
}

/// Reports repeat names for each problem and pair of GPUs.
TEST(Hostile, AnEndlessNameOfAGpuIsRefused) {
  const Sandbox sandbox;
  {
    Database database(sandbox.folder() / "foreign.db", Database::Mode::read_write);
    Trial trial;
    trial.key = "key";
    trial.gpu = std::string(8192, 'x');
    trial.outcome = Outcome::ok;
    trial.median_us = 1;
    database.record(trial);
    trial.gpu += "x";
    EXPECT_THROW(database.record(trial), UserError);
  }
  EXPECT_EQ(sandbox.run({"report", "--db", "foreign.db", "-o", "report.html"}).code, 0);
  SQLite::Database((sandbox.folder() / "foreign.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE trial SET gpu = gpu || 'x'");
  for (const char* command : {"rank", "report", "export"})
    expect_error(sandbox.run({command, "--db", "foreign.db"}), kUserError,
                 {"foreign.db", "gpu", "8193", "8192"});
}

TEST(Hostile, RowsOfAForeignDatabaseAreShownHarmlessly) {
  const Sandbox sandbox;
  write_hostile_database(sandbox.folder() / "foreign.db");
  for (const std::string format : {"table", "csv", "markdown", "json"}) {
    for (const std::vector<std::string>& view : {std::vector<std::string>{},
                                                 {"--ladder"},
                                                 {"--outcome", "crashed"},
                                                 {"--columns", "gpu,reason,parameters"}}) {
      std::vector<std::string> arguments{"rank", "--db", "foreign.db", "--format", format};
      arguments.insert(arguments.end(), view.begin(), view.end());
      const Finished run = sandbox.run(arguments);
      EXPECT_EQ(run.code, 0) << format << run.err.substr(0, 300);
      if (format == "json") {
        EXPECT_TRUE(nlohmann::json::accept(run.out));
      } else {
        expect_harmless(run.out);
      }
      if (format == "markdown") {
        EXPECT_EQ(run.out.find("<script"), std::string::npos);
      }
      if (format == "csv") {
        EXPECT_EQ(run.out.find("\n=HYPER"), std::string::npos);
      }
      if (format == "csv") {
        EXPECT_EQ(run.out.find(",\"=HYPER"), std::string::npos);
      }
    }
  }
  for (const char* best : {"--best", "--samples"}) {
    const Finished run = sandbox.run({"export", "--db", "foreign.db", best});
    EXPECT_EQ(run.code, 0) << run.err.substr(0, 300);
    EXPECT_TRUE(nlohmann::json::accept(run.out));
  }
}

TEST(Hostile, ArgumentsNeverBecomeSqlOrCommands) {
  const Sandbox sandbox;
  write_hostile_database(sandbox.folder() / "foreign.db");
  const auto rows = [&] {
    return Database(sandbox.folder() / "foreign.db", Database::Mode::read_only).trials({}).size();
  };
  const std::size_t before = rows();
  for (const std::string& text : hostile_texts()) {
    for (const std::string option :
         {"--gpu", "--template", "--problem", "--sort-by", "--columns", "--sweep"}) {
      const Finished run = sandbox.run({"rank", "--db", "foreign.db", option, text});
      EXPECT_TRUE(run.code == 0 || run.code == kNothingToDo || run.code == kUserError) << option << run.err;
      expect_harmless(run.out + run.err);
      EXPECT_LT(run.err.size(), 2000U) << option;
    }
  }
  // A wildcard is a letter like any other: only the template of that very name matches.
  const Finished percent = sandbox.run({"rank", "--db", "foreign.db", "--template", "%", "--format", "csv"});
  EXPECT_EQ(percent.out.find("DROP"), std::string::npos);
  EXPECT_EQ(rows(), before);
  EXPECT_FALSE(fs::exists(sandbox.folder() / "pwned"));
}

TEST(Hostile, ConfigsAreEchoedHarmlesslyAndShortened) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(1);
  const std::string text = R"("\u001b[2J\u202e)" + std::string(5000, '(') + "\"";
  for (const std::string& config :
       {R"({"templates": ["tiny"], "problems": [)" + text + "]}",
        R"({"templates": [)" + text + R"(], "problems": [1]})",
        R"({"templates": ["tiny"], "problems": [1], )" + text + ": 1}",
        R"({"templates": ["tiny"], "problems": [1], "gpu": )" + text + "}",
        R"({"templates": ["tiny"], "problems": [1], "compile": {"options": [)" + text + "]}}",
        R"({"templates": [{"template": "tiny", "constraints": [{"require": )" + text +
            R"(, "why": "x"}]}], "problems": [1]})"}) {
    sandbox.write("hostile.json", config);
    const Finished run = sandbox.run({"sweep", "hostile.json", "--db", "x.db", "--quiet"});
    EXPECT_EQ(run.code, kUserError) << config.substr(0, 100);
    expect_harmless(run.err);
    EXPECT_LT(run.err.size(), 2500U) << config.substr(0, 100);
  }
}

TEST(Hostile, KernelsOpenNoFileOutsideTheirFolders) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  const std::string kernel = read_file(sandbox.folder() / "tiny/kernel.cu");
  const Sandbox elsewhere;
  const std::string secret = elsewhere.write("secret.h", "#error THE SECRET\n");
  const std::vector<std::string> attacks{
      "#include </etc/passwd>\n", "#include <../../../../../../../../etc/passwd>\n",
      "#define F \"" + secret + "\"\n#include F\n", "%:\\\ninclude <" + secret + ">\n",
      "#if __has_include(<" + secret + ">)\n#error THE SECRET\n#endif\n"};
  for (const std::string& attack : attacks) {
    sandbox.write("tiny/kernel.cu", attack + kernel);
    const Finished run = sandbox.run({"inspect", config, "--gpu", "H100", "--format", "json"});
    EXPECT_EQ((run.out + run.err).find("THE SECRET"), std::string::npos) << attack;
    EXPECT_EQ((run.out + run.err).find("root:"), std::string::npos) << attack;
    const bool only_asks = attack.starts_with("#if");
    EXPECT_EQ(run.code, only_asks ? 0 : kNothingToDo) << attack << run.out;
  }
}

TEST(Hostile, LinksPipesAndDevicesInsteadOfFiles) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  const fs::path kernel = sandbox.folder() / "tiny/kernel.cu";
  fs::remove(kernel);
  fs::create_symlink("/etc/passwd", kernel);
  expect_error(sandbox.run({"space", config}), kUserError, {"template.json: /source", "leaves the folder"});
  fs::remove(kernel);
  ASSERT_EQ(::mkfifo(kernel.c_str(), 0600), 0);
  expect_error(sandbox.run({"space", config}), kUserError,
               {"template.json: /source", "'kernel.cu'", "not a file"});

  const fs::path manifest = sandbox.folder() / "tiny/template.json";
  fs::remove(manifest);
  ASSERT_EQ(::mkfifo(manifest.c_str(), 0600), 0);
  expect_error(sandbox.run({"space", config}), kUserError, {"template.json:", "regular file"});
  fs::remove(manifest);
  fs::create_symlink("/dev/zero", manifest);
  expect_error(sandbox.run({"space", config}), kUserError, {"template.json:", "leads out"});
  expect_error(sandbox.run({"space", config, "--allow-outside-paths"}), kUserError, {"this is a device"});
  expect_error(sandbox.run({"space", "/dev/zero"}), kUserError, {"/dev/zero:", "device"});
  sandbox.write("huge.json", "[" + std::string(std::size_t{17} << 20, ' ') + "]");
  expect_error(sandbox.run({"space", "huge.json"}), kUserError, {"huge.json", "16777216 bytes"});
}

}  // namespace hostile_test
}  // namespace tiletune
