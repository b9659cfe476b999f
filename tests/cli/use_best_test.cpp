// The examples that use what `export` writes, on a machine without a GPU: with tests/deploy/fake_cuda.cpp.

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/exported.h"
#include "temporary_folder.h"

namespace tiletune {
namespace use_best_test {

using exported::shell;
using Json = nlohmann::ordered_json;

Finished run_example(const std::string& program, const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string errors = (folder / "errors").string();
  const int status =
      std::system(fmt::format("'{}/{}' {} 2> '{}'", TILETUNE_BINARY_DIR, program, arguments, errors).c_str());
  std::ostringstream text;
  text << std::ifstream(errors).rdbuf();
  return {WEXITSTATUS(status), "", text.str()};
}

const std::string kBest = TILETUNE_SOURCE_DIR "/results/h200/sgemm_4096.best.json";

/// Builds an example as a project of its own. False where there is no toolkit to build it with.
bool built(const Sandbox& sandbox, const std::string& example, const std::string& options = "") {
  const Finished configured = shell(
      sandbox, fmt::format("cmake -S '{}/examples/{}' -B build -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' {}",
                           TILETUNE_SOURCE_DIR, example, options));
  const bool lacks_toolkit = configured.err.find("CUDAToolkit") != std::string::npos;
  EXPECT_TRUE(configured.code == 0 || lacks_toolkit) << configured.err;
  if (configured.code != 0) return false;
  const Finished made = shell(sandbox, "cmake --build build -j2");
  EXPECT_EQ(made.code, 0) << made.out << made.err;
  return made.code == 0;
}

/// Operations with and without scalars, workspaces, several launches, and integers.
TEST(UseBest, MistakesAreSaid) {
  const Sandbox sandbox;
  if (!built(sandbox, "use_best")) GTEST_SKIP() << "CMake finds no CUDA toolkit";
  const std::string fake = fmt::format("LD_LIBRARY_PATH='{}/fake_cuda' ", TILETUNE_BINARY_DIR);
  EXPECT_TRUE(carries(shell(sandbox, fake + "build/use_best").err, {"usage: use_best best.json"}));
  EXPECT_TRUE(carries(shell(sandbox, fake + "build/use_best nowhere").err, {"use_best:", "parse error"}));
}

TEST(UseBest, LaunchesWhatAnyOperationHasWithItsArguments) {
  const Sandbox sandbox;
  if (!built(sandbox, "use_best")) GTEST_SKIP() << "CMake finds no CUDA toolkit";
  sandbox.write("two_pass.json", R"({"templates": ["reduction_two_pass"], "problems": [1000003]})");
  sandbox.write("sgemm.json",
                R"({"templates": ["sgemm_coalesced"], "problems": ["64x32x16"], "scalars": {"alpha": 0.5}})");
  const std::string layernorm = TILETUNE_SOURCE_DIR "/tests/deploy/layernorm.json";
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"sgemm.json", {"4:40 4:20 4:10 4:3f000000", "4:0"}},
      {"two_pass.json", {"8:f4243"}},
      {layernorm, {"layernorm"}}};
  for (const auto& [config, expected] : cases) {
    std::filesystem::remove(sandbox.folder() / "one.db");
    std::filesystem::remove(sandbox.folder() / "log");
    const Finished swept =
        sandbox.run({"sweep", config, "--gpu", "H100", "--db", "one.db", "--budget", "2", "--quiet"});
    ASSERT_EQ(swept.code, 0) << swept.err;
    const Finished best = sandbox.run({"export", "--db", "one.db", "--best", "-o", "best.json"});
    ASSERT_EQ(best.code, 0) << best.err;
    const Finished run =
        shell(sandbox, fmt::format("FAKE_CUDA_LOG=log LD_LIBRARY_PATH='{}/fake_cuda':\"$LD_LIBRARY_PATH\" "
                                   "build/use_best best.json",
                                   TILETUNE_BINARY_DIR));
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(carries(run.out, {"[0] = 1"})) << "nothing was computed";
    EXPECT_TRUE(carries(read_file(sandbox.folder() / "log"), expected))
        << read_file(sandbox.folder() / "log").substr(0, 500);
  }
}

/// A template whose parameters are macros, and one with template arguments.
class ExportOne : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    sandbox_ = std::make_unique<Sandbox>();
    sandbox_->write("sgemm.json", R"({"templates": ["sgemm_coalesced"], "problems": ["64x32x16", "8x8x8"]})");
    const std::string tiny = sandbox_->write_tiny_space(3);
    for (const std::string& config : {std::string("sgemm.json"), tiny}) {
      const Finished swept = sandbox_->run({"sweep", config, "--gpu", "H100", "--db", "one.db", "--quiet"});
      ASSERT_EQ(swept.code, 0) << swept.err;
    }
  }
  static void TearDownTestSuite() { sandbox_.reset(); }

  static Finished exported(std::vector<std::string> more) {
    more.insert(more.begin(), {"export", "--db", "one.db"});
    return sandbox_->run(more);
  }
  static std::unique_ptr<Sandbox> sandbox_;
};
std::unique_ptr<Sandbox> ExportOne::sandbox_;

TEST_F(ExportOne, BestJsonMatchesItsSchema) {
  ASSERT_EQ(exported({"--best", "-o", "best.json"}).code, 0);
  const std::string command = "'" TILETUNE_SOURCE_DIR "/tools/check_schemas' '" +
                              (sandbox_->folder() / "best.json").string() + "' >&2";
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): a tool of the project
  constexpr int kNoJsonschema = 77;
  if (WEXITSTATUS(status) == kNoJsonschema) GTEST_SKIP() << "python3-jsonschema is missing";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ExportOne, BestJsonHasWhatCompilingAndLaunchingTakes) {
  const Finished run = exported({"--best", "--problem", "64x32x16"});
  const Json definition = Json::parse(run.out).at("best").at(0).at("definition");
  EXPECT_TRUE(definition.at("source").get<std::string>().ends_with("sgemm_coalesced/kernel.cuh"));
  EXPECT_EQ(definition.at("template").at("name"), "sgemm_coalesced");
  EXPECT_EQ(definition.at("launches").at(0).at("arguments").at(0).at("bits"), 64);
  EXPECT_EQ(definition.at("launches").at(0).at("arguments").at(3).at("bits"), 0x3f800000) << "alpha is 1";
  const Json& a = definition.at("buffers").at(0);
  EXPECT_EQ(a.at("name"), "A");
  EXPECT_EQ(a.at("bytes"), 64 * 16 * 4);
}

TEST_F(ExportOne, WithoutItsTemplateAnEntryHasNoDefinition) {
  std::filesystem::rename(sandbox_->folder() / "tiny", sandbox_->folder() / "moved");
  const Finished run = exported({"--best", "--template", "tiny"});
  const Finished one = exported({"--format", "defines", "--template", "tiny"});
  std::filesystem::rename(sandbox_->folder() / "moved", sandbox_->folder() / "tiny");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(Json::parse(run.out).at("best").at(0).at("definition").is_null());
  EXPECT_TRUE(carries(run.err, {"tiny has no definition"})) << run.err;
  expect_error(one, kUserError, {"tiny", "--template-folder"});
}

TEST_F(ExportOne, OptionsOfNvccAreMacrosAndParametersByTheirNames) {
  const Finished macros = exported({"--format", "defines", "--template", "tiny"});
  EXPECT_EQ(macros.code, 0) << macros.err;
  EXPECT_TRUE(macros.out.starts_with("-DV=")) << macros.out;
  EXPECT_TRUE(carries(macros.out, {"-arch=sm_90a"})) << macros.out;
  const Finished constants =
      exported({"--format", "defines", "--problem", "64x32x16", "--namespace", "mine::fast"});
  EXPECT_TRUE(constants.out.starts_with("-DMINE_FAST_")) << constants.out;
}

TEST_F(ExportOne, CMakeReadsTheVariables) {
  ASSERT_EQ(exported({"--format", "cmake", "--problem", "64x32x16", "-o", "one.cmake"}).code, 0);
  sandbox_->write("show.cmake", R"(include(${CMAKE_CURRENT_LIST_DIR}/one.cmake)
message("${TUNED_KERNEL}|${TUNED_GRID}|${TUNED_BLOCK}|${TUNED_SHARED_BYTES}|${TUNED_ARCHITECTURES}")
foreach(folder ${TUNED_INCLUDE_FOLDERS} ${TUNED_SOURCE})
  if(NOT EXISTS ${folder})
    message(FATAL_ERROR "${folder}")
  endif()
endforeach()
)");
  const Finished run = shell(*sandbox_, "cmake -P show.cmake");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(run.err.starts_with("sgemm_coalesced<")) << run.err;
  EXPECT_TRUE(run.err.ends_with("|90a\n")) << run.err;
}

/// The text stands in an untrusted database.
TEST_F(ExportOne, NothingInADatabaseIsACommand) {
  const std::string breaks =
      "x\nexecute_process(COMMAND touch INJECTED)\nmessage(INJECTED ${x} $ENV{HOME} \";";
  const std::pair<const char*, std::string> cells[] = {
      {"gpu", breaks},
      {"kernel_expression", breaks},
      {"kernel_expression", "k\x1b]0;INJECTED\x07"},
      {"architecture", "sm_90; touch INJECTED"},
      {"compile_options",
       R"x(["-DV=1; touch INJECTED", "-D", "--std=c++17\ntouch INJECTED", "-D$(touch INJECTED)"])x"},
      {"compile_options", "[\"--std=" + std::string(500000, 'a') + "\"]"},
      {"launch",
       R"x({"grid": "\\nexecute_process(COMMAND touch INJECTED)", "block": [[]], "dynamic_shared_bytes": {}})x"},
      {"launch", R"({"grid": 1, "arguments": [3], "workspace": 7, "launches": {}})"},
      {"dimensions", R"({"M": -1})"}};
  const auto injected = [&] { return std::filesystem::exists(sandbox_->folder() / "INJECTED"); };
  for (const auto& [column, text] : cells) {
    std::filesystem::copy_file(sandbox_->folder() / "one.db", sandbox_->folder() / "hostile.db",
                               std::filesystem::copy_options::overwrite_existing);
    exported::change(*sandbox_, "hostile.db", fmt::format("UPDATE trial SET {} = ?", column), {text});
    for (const std::string format : {"defines", "cmake", "best"}) {
      std::vector<std::string> words{"export", "--db", "hostile.db", "--template", "tiny", "-o", "out"};
      if (format == "best") words.emplace_back("--best");
      if (format != "best") words.insert(words.end(), {"--format", format});
      const Finished run = sandbox_->run(words);
      EXPECT_TRUE(run.code == 0 || run.code == kUserError || run.code == kNothingToDo) << column << run.err;
      EXPECT_EQ(run.err.find('\x1b'), std::string::npos) << column;
      if (run.code != 0) continue;
      const std::string written = read_file(sandbox_->folder() / "out");
      EXPECT_EQ(written.find('\x1b'), std::string::npos) << column;
      if (format == "cmake") EXPECT_EQ(shell(*sandbox_, "cmake -P out").code, 0) << written.substr(0, 2000);
      constexpr std::size_t kLongestCommand = 100000;
      if (format == "defines" && written.size() < kLongestCommand)
        EXPECT_EQ(shell(*sandbox_, "echo " + written).code, 0);
      EXPECT_FALSE(injected()) << column << ": " << written.substr(0, 2000);
    }
  }
}

TEST_F(ExportOne, OneConfigurationIsAskedFor) {
  expect_error(exported({"--format", "cmake"}), kUserError,
               {"3 comparable sets match", "64x32x16", "--problem"});
  expect_error(exported({"--format", "defines", "--arch", "80", "--problem", "8x8x8"}), kUserError,
               {"--arch"});
  expect_error(exported({"--format", "defines", "--problem", "8x8x8", "--namespace", "a b"}), kUserError,
               {"--namespace"});
}

/// In the place of cuBLAS: says what it was asked for.
constexpr const char* kFakeCublas = R"--(
#include <cublas_v2.h>
#include <cstdio>
extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t stream) {
  std::printf("stream %p\n", static_cast<void*>(stream));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGemmEx_64(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* a, cudaDataType at, int64_t lda, const void* b, cudaDataType bt,
                               int64_t ldb, const void* beta, void* c, cudaDataType ct, int64_t ldc, cublasComputeType_t compute,
                               cublasGemmAlgo_t) {
  std::printf("gemm %d %d: %ld %ld %ld, %g, %p %d %ld, %p %d %ld, %g, %p %d %ld, %d\n", ta, tb, m, n, k,
              *static_cast<const float*>(alpha), a, at, lda, b, bt, ldb, *static_cast<const float*>(beta), c, ct, ldc, compute);
  return CUBLAS_STATUS_SUCCESS;
}
}
)--";

/// Row-major matrices are transposed ones to cuBLAS.
TEST(ExportWithLibrary, CublasIsCalledWhereItIsTheFastest) {
  const Sandbox sandbox;
  sandbox.write("sgemm.json", R"({"templates": ["sgemm_coalesced"], "problems": ["64x32x16", "8x8x8"]})");
  const Finished swept = sandbox.run({"sweep", "sgemm.json", "--gpu", "H100", "--db", "one.db", "--quiet"});
  ASSERT_EQ(swept.code, 0) << swept.err;
  {
    SQLite::Database database((sandbox.folder() / "one.db").string(), SQLite::OPEN_READWRITE);
    database.exec("UPDATE trial SET source = 'measured', median_us = 5");
    database.exec(
        "CREATE TEMP TABLE library AS SELECT * FROM trial WHERE problem = '64x32x16' LIMIT 1; UPDATE library "
        "SET id = 1000, key = 'library', kind = 'baseline', template = 'cublas', median_us = 1, parameters = "
        "'{}', "
        "measurement = ''; INSERT INTO trial SELECT * FROM library");
  }
  const Finished exported =
      sandbox.run({"export", "--db", "one.db", "--format", "cuda", "--with-library", "-o", "tuned"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  sandbox.write("fake/cublas.cpp", kFakeCublas);
  sandbox.write("CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.18)
project(library LANGUAGES CXX)
find_package(CUDAToolkit REQUIRED)
set(TUNED_TESTS OFF CACHE BOOL "")
add_subdirectory(tuned)
add_library(fake SHARED fake/cublas.cpp)
target_include_directories(fake PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
add_executable(app app.cpp)
target_link_libraries(app PRIVATE fake tuned::tuned)
)");
  sandbox.write("app.cpp", R"(#include <cstdio>
#include <tuned/tuned.h>
int main() {
  alignas(256) static float memory[96];
  auto* const stream = reinterpret_cast<CUstream_st*>(0x70);
  for (const long long m : {64, 8}) {
    const tuned::Status status = tuned::gemm_f32(stream, m, m / 2, m / 4, memory, memory + 32, memory + 64, 0.5, 0.25, 0, 0, 40);
    std::printf("%s|%s\n", status.text, status.kernel);
  }
}
)");
  const Finished configured = shell(sandbox, "cmake -S . -B build");
  if (configured.err.find("CUDAToolkit") != std::string::npos) GTEST_SKIP() << "CMake finds no CUDA toolkit";
  const Finished made = shell(sandbox, "cmake --build build -j2");
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  const Finished run = shell(
      sandbox,
      fmt::format("LD_PRELOAD=build/libfake.so LD_LIBRARY_PATH='{}/fake_cuda' TUNED_VERBOSE=1 build/app",
                  TILETUNE_BINARY_DIR));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out,
                      {"stream 0x70", "gemm 0 0: 32 64 16, 0.5,", "0 32,", "0.25,", "0 40, 69", "ok|cublas"}))
      << run.out;
}

/// It calls a folder's function. Here it is compiled and linked.
TEST(UseFolder, IsAProjectThatBuilds) {
  const Sandbox sandbox;
  sandbox.write("sgemm.json", R"({"templates": ["sgemm_coalesced"], "problems": ["64x32x16"]})");
  const Finished swept = sandbox.run({"sweep", "sgemm.json", "--gpu", "H100", "--db", "one.db", "--quiet"});
  ASSERT_EQ(swept.code, 0) << swept.err;
  const Finished exported = sandbox.run({"export", "--db", "one.db", "--format", "cuda", "-o", "tuned"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  if (!built(sandbox, "use_folder",
             fmt::format("-DTUNED_FOLDER='{}'", (sandbox.folder() / "tuned").string())))
    GTEST_SKIP() << "CMake finds no CUDA toolkit";
  EXPECT_TRUE(std::filesystem::exists(sandbox.folder() / "build/use_folder"));
}

TEST(UseBestOnGpus, MistakesAreSaidWithPlaceAndRemedy) {
  expect_error(run_example("use_best_on_gpus", "'" + kBest + "' 4096x4096x4096"), kUserError,
               {"use_best_on_gpus:", "one GPU", "use_best"});
}

}  // namespace use_best_test
}  // namespace tiletune
