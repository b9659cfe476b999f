// Programs of unusual templates and hostile databases: names, dimensions, changed files.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "cli/exported.h"

namespace tiletune {
namespace export_program_test {

using namespace exported;
namespace fs = std::filesystem;

/// A template of one kernel with two configurations, whose names a test may change.
struct Tiny {
  std::string dimension = "n", parameter = "T", buffer = "in", scalar = "factor", operation = "scaled";
  std::string values = "[64, 128]", elements = "@size";
  int dimensions = 1;

  void write(const Sandbox& sandbox, const std::string& name = "tiny") const {
    fs::create_directories(sandbox.folder() / name);
    std::string more;
    std::string sizes = "4096";
    for (int i = 1; i < dimensions; ++i) {
      more += fmt::format(R"(, "d{}")", i);
      sizes += "x2";
    }
    std::string text = kManifest;
    const std::vector<std::pair<std::string, std::string>> marks{
        {"@elements", elements},   {"@more", more},           {"@values", values},
        {"@operation", operation}, {"@size", dimension},      {"@scalar", scalar},
        {"@in", buffer},           {"@parameter", parameter}, {"@name", name}};
    for (const auto& [mark, with] : marks)
      for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size()))
        text.replace(at, mark.size(), with);
    sandbox.write(name + "/template.json", text);
    sandbox.write(name + "/part.cuh", "#define HALF 0.5f\n");
    sandbox.write(name + "/kernel.cu", kKernel);
    sandbox.write(name + "/reference.cu",
                  "extern \"C\" __global__ void reference(const double*, double*, long long) {}\n");
    sandbox.write(name + ".json", fmt::format(R"({{"templates": ["{}"], "problems": ["{}"]}})", name, sizes));
  }

  static constexpr const char* kManifest = R"--({
  "name": "@name", "summary": "one line\nand another \\",
  "operation": {
    "name": "@operation", "dimensions": ["@size"@more], "scalars": {"@scalar": 2}, "flops": "1",
    "bytes": "8 * @size", "accumulation": "1", "bound": "copy",
    "buffers": [{"name": "@in", "type": "f32", "elements": "@elements", "role": "in"},
                {"name": "result", "type": "f32", "elements": "@size", "role": "out"}],
    "reference": {"source": "reference.cu", "kernel": "reference", "grid": [1], "block": [32],
                  "arguments": [{"buffer": "@in"}, {"buffer": "result"}, {"scalar": "@size", "type": "i64"}]}},
  "source": "kernel.cu", "kernel": "scale", "macros": {"COUNT": "32 if @parameter in ['x'] else 64"},
  "parameters": [{"name": "@parameter", "values": @values}],
  "launch": {"grid": ["ceil_div(@size, 64)"], "block": [64]},
  "arguments": [{"buffer": "@in"}, {"buffer": "result"}, {"scalar": "@size", "type": "i64"},
                {"scalar": "@scalar", "type": "f32"}]})--";
  static constexpr const char* kKernel = R"--(
#include "part.cuh"
extern "C" __global__ void scale(const float* in, float* out, long long n, float f) {
  const long long i = blockIdx.x * 64LL + threadIdx.x;
  if (i < n) out[i] = in[i] * f + HALF * COUNT;
}
)--";
};

/// Fills the database NAME.db with predictions.
Finished predict(const Sandbox& sandbox, const std::string& name = "tiny") {
  return sandbox.run({"sweep", name + ".json", "--gpu", "H100", "--db", name + ".db", "--quiet", "-j", "2"});
}

/// What a compiler says of all headers of an exported folder.
Finished compiled(const Sandbox& sandbox, const std::string& folder,
                  const std::string& options = "-std=gnu++17") {
  sandbox.write("main.cpp", "#include \"test/operations.h\"\nint main() {}\n");
  return shell(sandbox, fmt::format("c++ {} {} -I {}/include -I {} -fsyntax-only main.cpp", options, kStrict,
                                    folder, folder));
}

TEST(ExportProgram, NamesOfTemplatesMayBeWordsOfCpp) {
  if (!is_there("c++")) GTEST_SKIP() << "no C++ compiler";
  const std::vector<Tiny> all{
      {.dimension = "for", .parameter = "class", .buffer = "new", .scalar = "delete"},
      {.dimension = "Device", .parameter = "number", .buffer = "detail", .scalar = "Value"},
      {.dimension = "n", .parameter = "Kernel", .buffer = "where_", .scalar = "Status"},
      {.dimension = "problem", .parameter = "Plan", .buffer = "buffers_", .scalar = "device"},
      {.dimension = "plan", .buffer = "numbers_", .scalar = "values"},
      {.dimension = "detail", .buffer = "why_", .scalar = "Needs"},
      {.dimension = "linux", .parameter = "unix", .buffer = "NULL", .scalar = "INFINITY"},
      {.buffer = "Device", .scalar = "On", .operation = "class"},
      {.dimension = "scaled_f32"},
      {.dimension = "new_", .parameter = "new", .operation = "load"},
      {.values = R"(["x", "\"; }\n#error INJECTED", "a\\", "?\u003f/"])"},
      {.elements = "@size\\n * 1"},
  };
  const Sandbox sandbox;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].write(sandbox);
    fs::remove(sandbox.folder() / "tiny.db");
    const Finished swept = predict(sandbox);
    if (swept.code == kUserError) {  // a manifest may be refused, but not for nothing
      EXPECT_TRUE(carries(swept.err, {"template.json"})) << i << ": " << swept.err;
      continue;
    }
    fs::remove_all(sandbox.folder() / "out");
    const Finished run = sandbox.run({"export", "--db", "tiny.db", "--format", "cuda", "-o", "out"});
    EXPECT_EQ(run.code, 0) << i << ": " << run.err;
    const Finished built = compiled(sandbox, "out");
    EXPECT_EQ(built.code, 0) << i << ": " << built.err.substr(0, 600);
  }
}

TEST(ExportProgram, ManyDimensionsAreAnsweredOrRefusedBeforeAnythingIsWritten) {
  if (!is_there("c++")) GTEST_SKIP() << "no C++ compiler";
  for (const int dimensions : {16, 17, 80}) {
    const Sandbox sandbox;
    Tiny tiny;
    tiny.dimensions = dimensions;
    tiny.write(sandbox);
    const Finished swept = predict(sandbox);
    ASSERT_EQ(swept.code, 0) << swept.err;
    const Finished run = sandbox.run({"export", "--db", "tiny.db", "--format", "header", "-o", "tuned.h"});
    if (run.code != 0) {
      expect_error(run, kUserError, {"tiny", std::to_string(dimensions), "16"});
      EXPECT_FALSE(fs::exists(sandbox.folder() / "tuned.h"));
      continue;
    }
    std::string sizes = "4096";
    for (int i = 1; i < dimensions; ++i) sizes += ", 2";
    sandbox.write("main.cpp",
                  "#include \"tuned.h\"\nint main() {\n  tuned::Device device;\n  device.compute_capability "
                  "= 90;\n  device.multiprocessors = 132;\n  tuned::Plan plan(device);\n  return "
                  "tuned::choose(tuned::scaled_f32_problem{" +
                      sizes + "}, device, plan).kernel == nullptr;\n}\n");
    const Finished built = shell(sandbox,
                                 "c++ -std=c++17 -fsanitize=address,undefined -fno-sanitize-recover=all "
                                 "main.cpp -o main && ./main");
    EXPECT_EQ(built.code, 0) << dimensions << ": " << built.err.substr(0, 600);
  }
}

TEST(ExportProgram, ATemplateThatIsGoneOrHasChangedIsNamedWithTheRemedy) {
  const Sandbox sandbox;
  Tiny{}.write(sandbox);
  ASSERT_EQ(predict(sandbox).code, 0);
  const std::vector<std::string> command{"export", "--db", "tiny.db", "--format", "cuda", "-o", "out"};
  const auto restored = [&] {
    Tiny{}.write(sandbox);
    return sandbox.run(command).code == 0;
  };
  ASSERT_TRUE(restored());
  fs::remove_all(sandbox.folder() / "out");
  sandbox.write("tiny/kernel.cu", text_in(sandbox, "tiny/kernel.cu") + "// another\n");
  expect_error(sandbox.run(command), kUserError, {"tiny/kernel.cu", "Sweep again"});
  EXPECT_FALSE(fs::exists(sandbox.folder() / "out"));
  ASSERT_TRUE(restored());
  // An included file may change for the sake of others.
  sandbox.write("tiny/part.cuh", "#define HALF 7.0f\n");
  const Finished noted = sandbox.run(command);
  EXPECT_EQ(noted.code, 0);
  EXPECT_TRUE(carries(noted.err, {"note:", "tiny/part.cuh", "changed"})) << noted.err;
  ASSERT_TRUE(restored());
  // Another operation or other arguments are as wrong as another text.
  std::string manifest = text_in(sandbox, "tiny/template.json");
  manifest.replace(manifest.find("\"type\": \"f32\", \"elements\""), 13, "\"type\": \"f64\"");
  sandbox.write("tiny/template.json", manifest);
  EXPECT_EQ(sandbox.run(command).code, kUserError);
  ASSERT_TRUE(restored());
  // Without a value of the row for a parameter, which kernel it was is not known.
  Tiny other;
  other.parameter = "U";
  other.write(sandbox);
  expect_error(sandbox.run(command), kUserError, {"tiny/template.json", "U", "sweep again"});
  ASSERT_TRUE(restored());
  fs::create_directories(sandbox.folder() / "more");
  fs::rename(sandbox.folder() / "tiny", sandbox.folder() / "more/tiny");
  expect_error(sandbox.run(command), kUserError, {"tiny", "--template-folder"});
  std::vector<std::string> named = command;
  named.insert(named.end(), {"--template-folder", "more"});
  const Finished found = sandbox.run(named);
  EXPECT_EQ(found.code, 0) << found.err;
  expect_error(
      sandbox.run({"export", "--db", "tiny.db", "--format", "header", "--template-folder", "nowhere"}),
      kUserError, {"--template-folder"});
}

TEST(ExportProgram, TwoOperationsOfOneNameAreTwoFunctions) {
  if (!is_there("c++")) GTEST_SKIP() << "no C++ compiler";
  const Sandbox sandbox;
  Tiny{}.write(sandbox, "first");
  Tiny{.dimension = "m", .buffer = "x", .scalar = "by"}.write(sandbox, "second");
  ASSERT_EQ(predict(sandbox, "first").code, 0);
  ASSERT_EQ(predict(sandbox, "second").code, 0);
  ASSERT_EQ(sandbox.run({"merge", "first.db", "second.db", "-o", "both.db"}).code, 0);
  const Finished run = sandbox.run({"export", "--db", "both.db", "--format", "cuda", "-o", "out"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(compiled(sandbox, "out").code, 0);
  const std::string functions = text_in(sandbox, "out/include/tuned/tuned.h");
  EXPECT_TRUE(
      carries(functions, {"Status scaled_f32(", "Status scaled_f32_2(", "long long n", "long long m"}));
}

/// A stranger's database. Whatever it holds, the export fails cleanly or its files still are what they should
/// be.
TEST(ExportProgram, NothingInADatabaseLeavesTheTextThatItStandsIn) {
  if (!is_there("c++")) GTEST_SKIP() << "no C++ compiler";
  const Sandbox sandbox;
  Tiny{}.write(sandbox);
  ASSERT_EQ(predict(sandbox).code, 0);
  const std::string breaks =
      "x\"; */ )tiletune\" ?\?/\n#error INJECTED\nexecute_process(COMMAND INJECTED)\n\\";
  const std::vector<std::pair<std::string, std::string>> all{
      {"gpu", breaks},
      {"gpu", "a\\"},
      {"gpu", ""},
      {"architecture", "sm_90a\" CACHE STRING \"\")\nexecute_process(COMMAND INJECTED)\nset(A \""},
      {"architecture", "sm_90a;--jit;/etc"},
      {"architecture", "sm_"},
      {"architecture", "sm_99999999999999999999"},
      {"operation", breaks},
      {"operation", "9x"},
      {"operation", "class"},
      {"operation", ""},
      {"options", breaks},
      {"element_types", breaks},
      {"scalars", "factor=nan"},
      {"scalars", "factor=inf"},
      {"scalars", "factor=1e999"},
      {"scalars", "factor=2}; int INJECTED[] = {1"},
      {"parameters", R"({"T": "\"; }\n#error INJECTED"})"},
      {"parameters", R"({"T": -9223372036854775808})"},
      {"parameters", R"({"T": 1e308})"},
      {"parameters", R"({"T": null})"},
      {"parameters", "[]"},
      {"kernel_expression", breaks},
      {"compile_options", R"(["--include-path=/etc"])"},
      {"compile_options", R"(["-I/etc"])"},
      {"compile_options", R"(["--pre-include=/etc/passwd"])"},
      {"compile_options", R"(["-DCOUNT=1\n#error INJECTED"])"},
      {"compile_options", R"(["-DA=1\r#error INJECTED"])"},
      {"compile_options", R"(["-D\nINJECTED"])"},
      {"compile_options", R"(["--device-time-trace=/tmp/INJECTED"])"},
      {"compile_options", R"(["-DA=\"; INJECTED"])"},
      {"compile_options", "{"},
      {"dimensions", R"({"n": -1})"},
      {"dimensions", R"({"n": 9223372036854775807})"},
      {"dimensions", R"({"n": "\n#error INJECTED"})"},
      {"dimensions", R"({"n": 4096, "x\n#error INJECTED": 2})"},
      {"template", "../../../etc"},
      {"template", breaks},
      {"median_us", "1e308"},
      {"median_us", "-1"},
      {"median_us", "0"},
      {"source_hash", breaks},
      {"included_files", breaks},
  };
  std::size_t written = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [column, value] = all[i];
    fs::copy_file(sandbox.folder() / "tiny.db", sandbox.folder() / "hostile.db",
                  fs::copy_options::overwrite_existing);
    change(sandbox, "hostile.db", fmt::format("UPDATE trial SET \"{}\" = ?", column), {value});
    const std::string out = fmt::format("out{}", i);
    const Finished run = sandbox.run({"export", "--db", "hostile.db", "--format", "cuda", "-o", out});
    const std::string what = column + " = " + value;
    if (run.code != 0) {
      EXPECT_TRUE(run.code == kUserError || run.code == kNothingToDo) << what << ": " << run.code << run.err;
      EXPECT_FALSE(run.err.empty()) << what;
      EXPECT_FALSE(fs::exists(sandbox.folder() / out)) << what;
      continue;
    }
    ++written;
    const Finished built = compiled(sandbox, out, "-std=c++17");
    EXPECT_EQ(built.code, 0) << what << ": " << built.err.substr(0, 500);
    const std::string cmake = text_in(sandbox, out + "/CMakeLists.txt");
    EXPECT_EQ(cmake.find("INJECTED"), std::string::npos) << what;
    std::smatch architectures;
    ASSERT_TRUE(
        std::regex_search(cmake, architectures, std::regex("set\\(TUNED_ARCHITECTURES \"([^\"]*)\" CACHE")))
        << what;
    EXPECT_TRUE(std::regex_match(architectures[1].str(), std::regex("([0-9]{2,3}[af]?(;[0-9]{2,3}[af]?)*)?")))
        << what << ": " << architectures[1];
    const std::string header = text_in(sandbox, out + "/include/tuned/kernels.h");
    for (const std::string option :
         {"include-path=/etc", "-I/etc", "pre-include=/etc", "time-trace", "#error INJECTED"})
      for (const std::string& line : lines_of(header))
        EXPECT_TRUE(line.find(option) == std::string::npos || (option[0] == '#' && !line.starts_with("#")))
            << what;
  }
  EXPECT_GT(written, 10U) << "most of it is but text";
}

TEST(ExportProgram, WhatWasMeasuredIsChosenBeforeWhatWasPredicted) {
  if (!is_there("c++")) GTEST_SKIP() << "no C++ compiler";
  const Sandbox sandbox;
  Tiny{}.write(sandbox);
  ASSERT_EQ(predict(sandbox).code, 0);
  fs::copy_file(sandbox.folder() / "tiny.db", sandbox.folder() / "measured.db");
  for (const char* database : {"tiny.db", "measured.db"})
    change(sandbox, database, "UPDATE trial SET gpu = 'Some GPU'");
  keep(sandbox, "measured.db", "parameters = '{\"T\":128}'");
  change(sandbox, "measured.db", "UPDATE trial SET source = 'measured', key = 'm', relative_error = 0");
  change(sandbox, "tiny.db", "UPDATE trial SET median_us = 1 WHERE parameters = '{\"T\":64}'");
  ASSERT_EQ(sandbox.run({"merge", "tiny.db", "measured.db", "-o", "both.db"}).code, 0);
  const Finished run = sandbox.run({"export", "--db", "both.db", "--format", "header", "-o", "tuned.h"});
  ASSERT_EQ(run.code, 0) << run.err;
  sandbox.write("main.cpp", R"(
#include <cstdio>
#include "tuned.h"
int main() {
  tuned::Device device;
  device.name = "Some GPU";
  device.compute_capability = 90;
  device.multiprocessors = 132;
  tuned::Plan plan(device);
  std::puts(tuned::choose(tuned::scaled_f32_problem{4096}, device, plan).kernel->name);
})");
  const Finished said = shell(sandbox, "c++ -std=c++17 main.cpp -o main && ./main");
  EXPECT_EQ(said.out, "tiny T=128\n") << said.err;
}

}  // namespace export_program_test
}  // namespace tiletune
