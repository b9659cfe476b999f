// Kernels as other people wrote them: with headers of libraries, compiled already, and with errors.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/fake_sweep.h"
#include "compile/pool.h"

namespace tiletune {
namespace sources_test {

namespace fs = std::filesystem;

constexpr const char* kUsesLibrary =
    "#include <shape/shape.hpp>\n"
    "extern \"C\" __global__ void tiny(const float* A, const float* B, float* C) { C[0] = shape::area(V); "
    "}\n";

/// Of a folder that no template contains.
void write_library(const Sandbox& sandbox, const std::string& height) {
  sandbox.write("library/include/shape/shape.hpp", "#include <shape/height.hpp>\n");
  sandbox.write("library/include/shape/height.hpp",
                "namespace shape { __device__ inline float area(float w) { return w + " + height + "; } }\n");
}

TEST(IncludeFolders, OfTheCommandLineAreReadAndWatched) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3);
  sandbox.write("tiny/kernel.cu", kUsesLibrary);
  write_library(sandbox, "2");
  const auto sweep = measured_sweep(config, "none", 3, {"--include", "library/include"});
  ASSERT_EQ(sandbox.run(sweep).code, 0);
  expect_complete(sandbox, 3);
  EXPECT_NE(sandbox.run(sweep).out.find("3 reused"), std::string::npos);
  write_library(sandbox, "3");
  EXPECT_EQ(sandbox.run(sweep).out.find("reused"), std::string::npos) << "a header has changed";
}

TEST(IncludeFolders, AreTakenByEveryCommandThatCompiles) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  sandbox.write("tiny/kernel.cu", kUsesLibrary);
  write_library(sandbox, "2");
  const Finished without = sandbox.run({"inspect", config, "--gpu", "H100", "--format", "json", "--quiet"});
  EXPECT_EQ(without.code, kNothingToDo);
  EXPECT_TRUE(carries(without.out, {"shape/shape.hpp", "--include"}));
  const Finished inspected =
      sandbox.run({"inspect", config, "--gpu", "H100", "--include", "library/include", "--quiet"});
  EXPECT_EQ(inspected.code, 0) << inspected.out << inspected.err;
  const Finished benched = sandbox.run({"bench", "tiny", "--set", "V=1", "--problem", "1x1x1", "--gpu",
                                        "H100", "--include", "library/include", "--quiet"});
  EXPECT_EQ(benched.code, 0) << benched.out << benched.err;
  EXPECT_EQ(sandbox.run({"check", config, "--quiet"}).code, 1);
  const Finished checked = sandbox.run({"check", config, "--include", "library/include", "--quiet"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const Finished compared =
      sandbox.run({"compare", "H100", "A100 40GB", "--predict", config, "--include", "library/include"});
  EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
  const Finished drafted =
      sandbox.run({"init", "tiny/kernel.cu", "--out", "mine", "--include", "library/include"});
  EXPECT_EQ(drafted.code, 0) << drafted.out << drafted.err;
  EXPECT_TRUE(carries(drafted.out, {"tiletune sweep mine.json --include library/include"}));
  expect_error(sandbox.run({"inspect", config, "--gpu", "H100", "--include", "nowhere"}), kUserError,
               {"--include", "nowhere"});
}

TEST(IncludeFolders, OfManyFilesTakeLittleOfARow) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3);
  std::string text = kUsesLibrary;
  write_library(sandbox, "2");
  for (int i = 0; i < 80; ++i) {
    const std::string name = "part_with_a_long_name_" + std::to_string(i) + ".hpp";
    sandbox.write("library/include/shape/" + name, "// nothing\n");
    text = "#include <shape/" + name + ">\n" + text;
  }
  sandbox.write("tiny/kernel.cu", text);
  const auto sweep = measured_sweep(config, "none", 3, {"--include", "library/include"});
  ASSERT_EQ(sandbox.run(sweep).code, 0);
  for (const Trial& row : rows_of(sandbox)) EXPECT_LT(row.included_files.size(), 100U);
  EXPECT_NE(sandbox.run(sweep).out.find("3 reused (compiling 0 ms"), std::string::npos);
  fs::remove_all(sandbox.folder() / "cache");
  EXPECT_NE(sandbox.run(sweep).out.find("3 reused"), std::string::npos) << "the lists are gone, not the rows";
  sandbox.write("library/include/shape/part_with_a_long_name_7.hpp", "// another comment\n");
  EXPECT_NE(sandbox.run(sweep).out.find("3 reused"), std::string::npos) << "the same kernels";
  write_library(sandbox, "3");
  EXPECT_EQ(sandbox.run(sweep).out.find("reused"), std::string::npos);
}

constexpr const char* kPtx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry KERNEL(.param .u64 A, .param .u64 B, .param .u64 C) {
  .reg .u64 %address;
  ld.param.u64 %address, [C];
  st.global.u32 [%address], VALUE;
  ret;
}
)";

std::string ptx(const std::string& kernel, const std::string& value) {
  std::string text = kPtx;
  text.replace(text.find("VALUE"), 5, value);
  return text.replace(text.find("KERNEL"), 6, kernel);
}

/// The template `tiny` with files of compiled kernels in the place of a source.
std::string write_compiled_space(const Sandbox& sandbox, int configurations, const std::string& source) {
  const std::string config = sandbox.write_tiny_space(configurations);
  auto manifest = nlohmann::json::parse(read_file(sandbox.folder() / "tiny/template.json", 1 << 20));
  manifest.erase("macros");
  manifest["source"] = source;
  sandbox.write("tiny/template.json", manifest.dump());
  return config;
}

Trial row_of(const std::vector<Trial>& rows, int value) {
  for (const Trial& row : rows) {
    if (row.kind == "kernel" && row.parameters == nlohmann::json{{"V", value}}.dump()) return row;
  }
  return {};
}

TEST(CompiledKernels, AreMeasuredLikeOthersAndKnownByTheirContent) {
  const Sandbox sandbox;
  const std::string config = write_compiled_space(sandbox, 3, "k/{V}.ptx");
  for (int i = 0; i < 3; ++i)
    sandbox.write("tiny/k/" + std::to_string(i) + ".ptx", ptx("tiny", std::to_string(i)));
  const Finished first = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(first.code, 0) << first.err;
  expect_complete(sandbox, 3);
  EXPECT_GT(row_of(rows_of(sandbox), 1).registers.value_or(0), 0);
  sandbox.write("tiny/k/1.ptx", ptx("tiny", "11"));
  const Finished again = sandbox.run(measured_sweep(config, "none"));
  EXPECT_NE(again.out.find("2 reused"), std::string::npos) << again.out;
}

TEST(CompiledKernels, ThatCannotBeUsedAreRowsWithTheirReasons) {
  const Sandbox sandbox;
  const std::string config = write_compiled_space(sandbox, 6, "k/{V}.cubin");
  const auto cubin = [](const std::string& architecture, const std::string& kernel) {
    CompileRequest request;
    request.source.name = "kernel.cu";
    request.source.text = "extern \"C\" __global__ void " + kernel +
                          "(const float* A, const float* B, float* C) { C[0] = A[0]; }";
    request.options = {"--gpu-architecture=" + architecture};
    request.kernel_expressions = {kernel};
    return compile_here(request).binary->cubin;
  };
  const std::string good = cubin("sm_90a", "tiny");
  sandbox.write("tiny/k/0.cubin", good);
  sandbox.write("tiny/k/1.cubin", cubin("sm_80", "tiny"));
  sandbox.write("tiny/k/2.cubin", good.substr(0, good.size() / 2));
  sandbox.write("tiny/k/3.cubin", cubin("sm_90a", "tinny"));
  sandbox.write("tiny/k/4.cubin", "no cubin");
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(row_of(rows, 0).outcome, Outcome::ok) << row_of(rows, 0).reason;
  EXPECT_TRUE(carries(row_of(rows, 1).reason, {"sm_80", "sm_90"}));
  EXPECT_TRUE(carries(row_of(rows, 2).reason, {"k/2.cubin", "cut off"}));
  EXPECT_TRUE(carries(row_of(rows, 3).reason, {"k/3.cubin", "no kernel tiny", "'tinny'"}));
  EXPECT_TRUE(carries(row_of(rows, 4).reason, {"k/4.cubin", "ELF"}));
  EXPECT_TRUE(carries(row_of(rows, 5).reason, {"k/5.cubin", "no file"}));
  for (int i = 1; i < 5; ++i) EXPECT_EQ(row_of(rows, i).outcome, Outcome::refused) << i;
  EXPECT_EQ(row_of(rows, 5).outcome, Outcome::compile_failed);
  sandbox.write("tiny/k/5.cubin", good);
  EXPECT_EQ(sandbox.run(measured_sweep(config, "none")).code, 0);
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), 2) << "one was built meanwhile";
}

TEST(CompiledKernels, AreCheckedBeforeASweep) {
  const Sandbox sandbox;
  const std::string unknown = write_compiled_space(sandbox, 2, "k/{W}.cubin");
  expect_error(sandbox.run(measured_sweep(unknown, "none")), kUserError, {"/source", "'W'", "V"});
}

TEST(Failures, OfEachKindTheFirstIsShown) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(6);
  sandbox.write(
      "tiny/kernel.cu",
      "#if V == 0\n#error none\n#elif V < 3\nint x = undeclared_name + V;\n#endif\n"
      "extern \"C\" __global__ void tiny(const float* A, const float* B, float* C) { C[0] = V; }\n");
  const Finished table = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(carries(table.out, {"2 x compile_failed", "undeclared_name",
                                  "tiny 1x1x1 V=", "1 x compile_failed", "none", "V=0"}));
  const Finished again = sandbox.run(measured_sweep(config, "none", 3, {"--format", "json"}));
  const auto document = nlohmann::json::parse(again.out);
  ASSERT_EQ(document["failures"].size(), 2U) << "reused rows, too";
  EXPECT_EQ(document["failures"][0]["count"], 2);
  EXPECT_EQ(document["failures"][1]["example"]["parameters"]["V"], 0);
}

}  // namespace sources_test
}  // namespace tiletune
