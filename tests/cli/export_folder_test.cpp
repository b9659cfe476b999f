// `tiletune export --format cuda`: a folder that is built, and runs against a driver without a GPU
// (tests/deploy/fake_cuda.cpp).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "cli/exported.h"

namespace tiletune {
namespace export_folder_test {

using namespace exported;
namespace fs = std::filesystem;

/// One exported folder with two predicted operations of tests/deploy, a reduction in two launches with a
/// workspace, one with a zeroed workspace, and a recorded kernel that takes tensor maps; built with a program
/// that uses it.
class ExportFolder : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* command : {"cmake", "c++"})
      if (!is_there(command)) {
        why_not_ = fmt::format("no {}", command);
        return;
      }
    sandbox_ = std::make_unique<Sandbox>();
    const std::string tests = TILETUNE_SOURCE_DIR "/tests/deploy/";
    const auto swept = [&](const std::string& config, const std::string& database,
                           std::vector<std::string> more) {
      more.insert(more.begin(), {"sweep", config, "--gpu", "H100", "--db", database, "--quiet", "-j", "2"});
      const Finished run = sandbox_->run(more);
      ASSERT_EQ(run.code, 0) << run.err;
    };
    swept(tests + "layernorm.json", "layernorm.db", {});
    keep(*sandbox_, "layernorm.db", R"(parameters LIKE '%"VEC":4%' OR problem = '777x1023')");
    swept(tests + "spmv_csr.json", "spmv.db", {"--problem", "1000x77777x50000"});
    sandbox_->write("two_pass.json", R"({"templates": ["reduction_two_pass"], "problems": [1000003]})");
    swept("two_pass.json", "two_pass.db", {"--budget", "3"});
    ASSERT_EQ(
        sandbox_
            ->run({"merge", TILETUNE_SOURCE_DIR "/results/h100/spaces/hgemm_dispatch.db.gz", "-o", "gemm.db"})
            .code,
        0);
    keep(
        *sandbox_, "gemm.db",
        "id IN (SELECT id FROM trial WHERE kind = 'kernel' AND outcome = 'ok' AND options = '' AND problem = "
        "'4096x4096x4096' AND template IN ('hgemm_wgmma', 'hgemm_persistent', 'hgemm_tma') ORDER BY "
        "median_us LIMIT "
        "1)");
    ASSERT_EQ(
        sandbox_->run({"merge", "layernorm.db", "spmv.db", "two_pass.db", "gemm.db", "-o", "rows.db"}).code,
        0);
    exported_ = sandbox_->run(kExport);
    ASSERT_EQ(exported_.code, 0) << exported_.err;
    build();
  }
  static void TearDownTestSuite() { sandbox_.reset(); }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    ASSERT_TRUE(fs::exists(sandbox_->folder() / "build/app"));
  }

  static void build() {
    fs::create_directories(sandbox_->folder() / "consumer");
    sandbox_->write("consumer/CMakeLists.txt", fmt::format(R"(cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES CXX)
add_compile_options(-Wall -Wextra -Werror)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${{CMAKE_BINARY_DIR}})
set(TUNED_TESTS ON CACHE BOOL "")
add_subdirectory(../tuned tuned)
add_executable(app app.cpp)
target_link_libraries(app PRIVATE tuned::tuned)
)"));
    sandbox_->write("consumer/app.cpp", kApp);
    const Finished configured = shell(*sandbox_, "cmake -S consumer -B build");
    if (configured.code != 0 && configured.err.find("CUDAToolkit") != std::string::npos) {
      why_not_ = "CMake finds no CUDA toolkit: " + configured.err.substr(0, 300);
      return;
    }
    ASSERT_EQ(configured.code, 0) << configured.err;
    const Finished built = shell(*sandbox_, "cmake --build build -j2");
    ASSERT_EQ(built.code, 0) << built.out << built.err;
  }

  struct Ran {
    int code = 0;
    std::vector<std::string> said;
    std::vector<std::string> launches;  ///< what the driver was asked for
  };
  static Ran with_driver(const std::string& command, const std::string& environment = "") {
    fs::remove(sandbox_->folder() / "log");
    const Finished run = shell(
        *sandbox_,
        fmt::format("env FAKE_CUDA_LOG='{}/log' LD_LIBRARY_PATH='{}/fake_cuda':\"$LD_LIBRARY_PATH\" {} {}",
                    sandbox_->folder().string(), TILETUNE_BINARY_DIR, environment, command));
    Ran ran{run.code, lines_of(run.out + run.err), {}};
    if (!fs::exists(sandbox_->folder() / "log")) return ran;
    for (const std::string& line : lines_of(text_in(*sandbox_, "log")))
      if (line.starts_with("launch ")) ran.launches.push_back(line);
    return ran;
  }

  /// The number of a parameter in "layernorm THREADS=256 VEC=1".
  static std::int64_t parameter(const std::string& kernel, const std::string& name) {
    const std::size_t at = kernel.find(" " + name + "=");
    return at == std::string::npos ? -1 : std::stoll(kernel.substr(at + name.size() + 2));
  }

  static constexpr const char* kApp = R"--(
#include <cstdio>
#include <cstdlib>
#include <string>
#include "tuned/tuned.h"

// A line: the code, the reason, the kernel.
static void say(const tuned::Status& status) {
  std::printf("%d|%s|%s|%d\n", static_cast<int>(status.code), status.text, status.kernel, static_cast<int>(status.match));
}

int main(int, char** words) {
  const std::string what = words[1];
  const auto number = [&](int i) { return std::atoll(words[i]); };
  static char memory[4096];
  char* const p = memory + (256 - reinterpret_cast<unsigned long long>(memory) % 256);
  const auto f = [&](long long at) { return reinterpret_cast<float*>(p + at); };
  const auto n = [&](long long at) { return reinterpret_cast<int*>(p + at); };
  CUstream_st* const stream = reinterpret_cast<CUstream_st*>(0x70);
  std::printf("%llx\n", reinterpret_cast<unsigned long long>(p));
  if (what == "layernorm")
    say(tuned::layernorm_f32(stream, number(2), number(3), f(number(4)), f(16), f(32), f(48), 0.25));
  if (what == "spmv") say(tuned::spmv_csr_i32_f32(stream, number(2), number(3), number(4), n(0), n(16), f(32), f(48), f(64)));
  if (what == "gemm") say(tuned::gemm_f16_f32(stream, number(2), number(3), number(4), p + number(6), p + 16, p + 32, 1, 0, number(5)));
  if (what == "reduction") {
    const tuned::Needs needs = tuned::reduction_f32_needs(number(2));
    std::printf("%zu %zu\n", needs.bytes, needs.zeroed_bytes);
    tuned::On on(stream);
    if (number(3) != 0) {
      on.workspace = p + number(3);
      on.workspace_bytes = needs.bytes - number(4);
    }
    say(tuned::reduction_f32(on, number(2), f(0), f(16)));
    if (number(3) == 0) {
      tuned::WorkspaceMemory workspace;
      say(workspace.reserve(needs));
      say(tuned::reduction_f32(workspace.on(stream), number(2), f(0), f(16)));
    }
  }
  if (what == "load") say(tuned::load());
}
)--";
  inline static const std::vector<std::string> kExport{
      "export", "--db", "rows.db", "--format", "cuda", "--arch", "90a", "-o", "tuned", "--portfolio", "2"};
  static std::unique_ptr<Sandbox> sandbox_;
  static std::string why_not_;
  static Finished exported_;
};
std::unique_ptr<Sandbox> ExportFolder::sandbox_;
std::string ExportFolder::why_not_;
Finished ExportFolder::exported_;

std::uint64_t hex(const std::string& text) { return std::stoull(text, nullptr, 16); }

TEST_F(ExportFolder, IsWrittenOnceAndThenOnlyWhatChanged) {
  const auto count = [](const Finished& run) { return run.err.substr(run.err.find("wrote ")); };
  EXPECT_TRUE(std::regex_search(exported_.err, std::regex("wrote ([0-9]+) of \\1 files in tuned")))
      << exported_.err;
  EXPECT_TRUE(count(sandbox_->run(kExport)).starts_with("wrote 0 of "));
  const std::string readme = text_in(*sandbox_, "tuned/README.md");
  sandbox_->write("tuned/README.md", "mine");
  EXPECT_TRUE(count(sandbox_->run(kExport)).starts_with("wrote 1 of "));
  EXPECT_EQ(text_in(*sandbox_, "tuned/README.md"), readme);
}

TEST_F(ExportFolder, BuildsNothingAgainThatIsBuilt) {
  const Finished again = shell(*sandbox_, "cmake --build build -j2");
  EXPECT_EQ(again.code, 0) << again.err;
  for (const char* work : {"Building", "Linking", "Compiling"})
    EXPECT_EQ(again.out.find(work), std::string::npos) << again.out;
}

TEST_F(ExportFolder, AMacroKernelIsLaunchedWithItsGridBlockAndArguments) {
  const Ran ran = with_driver("build/app layernorm 777 1023 0");
  ASSERT_EQ(ran.said.size(), 2U);
  ASSERT_TRUE(ran.said[1].starts_with("0|ok|layernorm ")) << ran.said[1];
  ASSERT_EQ(ran.launches.size(), 1U);
  const std::uint64_t p = hex(ran.said[0]);
  EXPECT_EQ(
      ran.launches[0],
      fmt::format(
          "launch layernorm grid 777 1 1 block {} 1 1 shared 0 programmatic 0 stream 70: 4:3ff 4:3e800000 "
          "8:{:x} 8:{:x} 8:{:x} 8:{:x}",
          parameter(ran.said[1], "THREADS"), p, p + 16, p + 32, p + 48));
}

TEST_F(ExportFolder, ATemplatedKernelIsFoundUnderItsSymbol) {
  const Ran ran = with_driver("build/app spmv 1000 77777 50000");
  ASSERT_EQ(ran.said.size(), 2U);
  ASSERT_TRUE(ran.said[1].starts_with("0|ok|spmv_csr ")) << ran.said[1];
  ASSERT_EQ(ran.launches.size(), 1U);
  const std::int64_t threads = parameter(ran.said[1], "THREADS");
  const std::int64_t rows = threads / parameter(ran.said[1], "LANES");
  const std::uint64_t p = hex(ran.said[0]);
  EXPECT_TRUE(carries(ran.launches[0],
                      {fmt::format("grid {} 1 1 block {} 1 1 shared 0 programmatic 0 stream 70: 4:3e8 "
                                   "8:{:x} 8:{:x} 8:{:x} 8:{:x} 8:{:x}",
                                   (1000 + rows - 1) / rows, threads, p, p + 16, p + 32, p + 48, p + 64)}))
      << ran.launches[0];
  EXPECT_TRUE(ran.launches[0].starts_with(
      fmt::format("launch _Z8spmv_csrILi{}ELi{}E", threads, parameter(ran.said[1], "LANES"))))
      << ran.launches[0];
}

TEST_F(ExportFolder, TwoLaunchesShareAWorkspace) {
  const Ran ran = with_driver("build/app reduction 1000003 256 0");
  ASSERT_EQ(ran.said.size(), 3U);
  ASSERT_TRUE(ran.said[2].starts_with("0|ok|reduction_two_pass ")) << ran.said[2];
  const std::int64_t blocks = 132 * parameter(ran.said[2], "BLOCKS");
  EXPECT_TRUE(std::stoll(ran.said[1]) >= 4 * blocks && std::stoll(ran.said[1]) % 256 == 0) << ran.said[1];
  ASSERT_EQ(ran.launches.size(), 2U);
  const std::uint64_t p = hex(ran.said[0]);
  EXPECT_TRUE(carries(ran.launches[0],
                      {"reduction_of_blocks", "8:f4243", fmt::format("8:{:x} 8:{:x}", p, p + 256)}) ||
              carries(ran.launches[0], {fmt::format("8:f4243 8:{:x} 8:{:x}", p, p + 256)}))
      << ran.launches[0];
  EXPECT_TRUE(carries(ran.launches[0],
                      {fmt::format("grid {} 1 1 block {} 1 1", blocks, parameter(ran.said[2], "THREADS"))}))
      << ran.launches[0];
  EXPECT_TRUE(
      carries(ran.launches[1], {"grid 1 1 1", fmt::format("8:{:x}", p + 256), fmt::format("8:{:x}", p + 16)}))
      << ran.launches[1];
}

TEST_F(ExportFolder, AWorkspaceThatIsMissingTooSmallOrMisalignedIsSaid) {
  const Ran without = with_driver("build/app reduction 1000003 0 0");
  ASSERT_EQ(without.said.size(), 5U);
  EXPECT_TRUE(carries(without.said[2], {"3", "workspace"})) << without.said[2];
  EXPECT_TRUE(without.said[3].starts_with("0|"));
  EXPECT_TRUE(without.said[4].starts_with("0|ok|reduction_two_pass ")) << without.said[4];
  EXPECT_EQ(without.launches.size(), 2U);
  const Ran small = with_driver("build/app reduction 1000003 256 1");
  EXPECT_TRUE(small.said.at(2).starts_with("3|")) << small.said.at(2);
  EXPECT_TRUE(small.launches.empty());
  const Ran misaligned = with_driver("build/app reduction 1000003 128 0");
  EXPECT_TRUE(misaligned.said.at(2).starts_with("2|")) << misaligned.said.at(2);
  EXPECT_TRUE(misaligned.launches.empty());
}

TEST_F(ExportFolder, TensorMapsAreEncodedForTheBuffersOfTheCall) {
  const Ran ran = with_driver("build/app gemm 4096 4096 4096 0 0");
  ASSERT_EQ(ran.said.size(), 2U);
  ASSERT_TRUE(ran.said[1].starts_with("0|ok|hgemm_")) << ran.said[1];
  EXPECT_TRUE(ran.said[1].ends_with("|0")) << "it was tuned on this model: " << ran.said[1];
  ASSERT_EQ(ran.launches.size(), 1U);
  const std::uint64_t p = hex(ran.said[0]);
  for (const std::uint64_t at : {p, p + 16})
    EXPECT_NE(ran.launches[0].find(fmt::format("map({:x} rank ", at)), std::string::npos) << ran.launches[0];
  const Ran other = with_driver("build/app gemm 4096 4096 4096 0 0", "FAKE_CUDA_NAME='NVIDIA H20'");
  EXPECT_TRUE(other.said.at(1).ends_with("|1")) << other.said.at(1);
}

/// VEC is the number of floats that it reads at once.
TEST_F(ExportFolder, AMisalignedBufferIsLeftToAKernelThatTakesIt) {
  std::int64_t widest = 0;
  for (const auto& [at, most] : {std::pair(0, 4), {16, 4}, {8, 2}, {4, 1}, {12, 1}}) {
    const Ran ran = with_driver(fmt::format("build/app layernorm 1024 4096 {}", at));
    ASSERT_EQ(ran.launches.size(), 1U) << ran.said.at(1);
    const std::int64_t vec = parameter(ran.said.at(1), "VEC");
    EXPECT_LE(vec, most) << ran.said.at(1);
    widest = std::max(widest, vec);
  }
  EXPECT_GT(widest, 1) << "some kernel has an alignment";
}

TEST_F(ExportFolder, WhatCannotBeLaunchedIsRefusedWithACodeAndAReason) {
  const auto said = [&](const std::string& call, const std::string& environment = "") {
    const Ran ran = with_driver("build/app " + call, environment);
    EXPECT_EQ(ran.code, 0) << call;
    EXPECT_TRUE(ran.launches.empty()) << call;
    return ran.said.size() == 2 ? ran.said[1] : "nothing";
  };
  EXPECT_TRUE(said("layernorm 777 1023 2")
                  .starts_with("2|the buffers are not aligned for any kernel that can run these sizes|"));
  EXPECT_TRUE(said("gemm 4096 4096 4096 0 8").starts_with("2|")) << "a tensor map's";
  for (const char* sizes : {"0 1023", "777 0", "-1 1023", "777 -9223372036854775808"})
    EXPECT_TRUE(said(fmt::format("layernorm {} 0", sizes)).starts_with("6|")) << sizes;
  const std::string large = said("layernorm 777 2147483648 0");
  EXPECT_TRUE(large.starts_with("1|") && large.size() > 10) << large;
  EXPECT_TRUE(said("layernorm 9223372036854775807 9223372036854775807 0").starts_with("1|"));
  EXPECT_TRUE(carries(said("gemm 64 64 64 63 0"), {"6", "lda"}));
  EXPECT_TRUE(said("load", "FAKE_CUDA_CAPABILITY=80").starts_with("4|"));
  EXPECT_TRUE(said("layernorm 777 1023 0", "FAKE_CUDA_CAPABILITY=80").starts_with("4|"));
  EXPECT_TRUE(said("load").starts_with("0|"));
}

/// Kernels that compute nothing are wrong, which tells a test that compares from one that does not.
TEST_F(ExportFolder, ItsTestComparesWithReferences) {
  const std::vector<std::string> problems{"layernorm_f32 100 64", "spmv_csr_i32_f32 100 200 1000",
                                          "reduction_f32 1000", "gemm_f16_f32 64 72 80"};
  for (const std::string& problem : problems) {
    const Ran ran = with_driver("build/tuned_test " + problem);
    EXPECT_EQ(ran.code, 1) << problem;
    ASSERT_FALSE(ran.said.empty()) << problem;
    EXPECT_TRUE(ran.said[0].starts_with(problem + ": WRONG")) << ran.said[0];
    EXPECT_EQ(ran.said.back(), "0 right, 1 wrong, 0 without a kernel");
    ASSERT_GE(ran.launches.size(), 2U) << problem;
    EXPECT_TRUE(carries(ran.launches.back(), {"_reference"}) ||
                ran.launches.back().find("reference") != std::string::npos)
        << ran.launches.back();
  }
  const Ran unknown = with_driver("build/tuned_test nothing");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(carries(unknown.said.at(0), {"nothing", "layernorm_f32", "reduction_f32"}));
  const Ran few = with_driver("build/tuned_test layernorm_f32 100");
  EXPECT_EQ(few.code, 2);
  const Ran random = with_driver("build/tuned_test layernorm_f32 --random 5 --largest 100");
  EXPECT_EQ(random.said.back(), "0 right, 5 wrong, 0 without a kernel");
}

TEST_F(ExportFolder, IsFoundWhereItWasInstalled) {
  const Finished installed = shell(*sandbox_, "cmake --install build --prefix prefix");
  ASSERT_EQ(installed.code, 0) << installed.err;
  fs::create_directories(sandbox_->folder() / "finder");
  sandbox_->write("finder/CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.18)
project(finder LANGUAGES CXX)
find_package(tuned REQUIRED)
add_executable(found ../consumer/app.cpp)
target_link_libraries(found PRIVATE tuned::tuned)
)");
  const Finished built =
      shell(*sandbox_,
            "cmake -S finder -B finder/build -DCMAKE_PREFIX_PATH=$PWD/prefix && cmake --build finder/build");
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  EXPECT_EQ(with_driver("finder/build/found layernorm 777 1023 0").launches.size(), 1U);
}

/// On GPUs for which nothing was compiled beforehand.
TEST_F(ExportFolder, WithJitKernelsAreCompiledOnceAndKept) {
  const Finished exported = sandbox_->run(
      {"export", "--db", "layernorm.db", "--format", "cuda", "--jit", "--arch", "80", "-o", "jit/tuned"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  sandbox_->write("jit/CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.18)
project(jit LANGUAGES CXX)
add_compile_options(-Wall -Wextra -Werror)
add_subdirectory(tuned)
add_executable(app app.cpp)
target_link_libraries(app PRIVATE tuned::tuned)
)");
  sandbox_->write("jit/app.cpp", R"(
#include <cstdio>
#include "tuned/tuned.h"
int main() {
  alignas(16) static float memory[4];
  const tuned::Status status = tuned::layernorm_f32(nullptr, 100, 64, memory, memory, memory, memory);
  std::printf("%d %s\n", static_cast<int>(status.code), status.text);
})");
  const Finished built =
      shell(*sandbox_, "cmake -S jit -B jit/build && cmake --build jit/build -j2 --target app");
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  const fs::path cache = sandbox_->folder() / "kept";
  const std::string with_cache = fmt::format("TUNED_CACHE='{}'", cache.string());
  const auto files = [&] {
    std::map<std::string, std::string> all;
    for (const fs::directory_entry& entry : fs::directory_iterator(cache))
      all[entry.path().filename().string()] = read_file(entry.path(), kLargestFile);
    return all;
  };
  const auto runs = [&] {
    const Ran ran = with_driver("jit/build/app", with_cache);
    EXPECT_EQ(ran.said, std::vector<std::string>{"0 ok"});
    EXPECT_EQ(ran.launches.size(), 1U);
  };
  runs();
  const auto kept = files();
  ASSERT_FALSE(kept.empty());
  for (const auto& [name, content] : kept) EXPECT_TRUE(name.ends_with(".90a")) << name;
  const auto [name, content] = *kept.begin();
  const auto written = fs::last_write_time(cache / name);
  runs();
  EXPECT_EQ(fs::last_write_time(cache / name), written) << "it was compiled again";
  // What is damaged, or anybody's to write, is not loaded.
  sandbox_->write("kept/" + name, content.substr(0, content.size() / 2));
  runs();
  EXPECT_EQ(files(), kept);
  fs::permissions(cache, fs::perms::all);
  sandbox_->write("kept/" + name, "");
  runs();
  EXPECT_EQ(files().at(name), "");
}

TEST_F(ExportFolder, IsLinkedToTheDriverAlone) {
  const Finished run = shell(*sandbox_, "ldd build/app | grep -c 'libcuda.so.1 => not found'");
  if (run.code != 0) GTEST_SKIP() << "there is a driver here";
  EXPECT_EQ(run.out, "1\n") << "it is linked to the driver, and to nothing else of CUDA";
  EXPECT_EQ(shell(*sandbox_, "ldd build/app | grep -c nvrtc").out, "0\n")
      << "without --jit there is no compiler in it";
}

}  // namespace export_folder_test
}  // namespace tiletune
