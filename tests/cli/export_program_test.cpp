// Programs that `tiletune export` writes: the header, and the folder with kernels, which runs against a
// driver without a GPU (tests/deploy/fake_cuda.cpp).

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "cli/expect_error.h"
#include "cli/process.h"

namespace tiletune {
namespace export_program_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestFile = std::size_t{16} << 20;
const std::string kStrict = "-Wall -Wextra -Werror";

bool is_there(const std::string& command) {
  return std::system(("command -v " + command + " > /dev/null 2>&1").c_str()) == 0;
}

/// Runs a command line in the sandbox.
Finished shell(const Sandbox& sandbox, const std::string& command) {
  const int status = std::system(
      fmt::format("cd '{}' && ({}) > shell.out 2> shell.err", sandbox.folder().string(), command).c_str());
  return {WEXITSTATUS(status), read_file(sandbox.folder() / "shell.out", kLargestFile),
          read_file(sandbox.folder() / "shell.err", kLargestFile)};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void change(const Sandbox& sandbox, const std::string& database, const std::string& statement,
            const std::vector<std::string>& values = {}) {
  SQLite::Database file((sandbox.folder() / database).string(), SQLite::OPEN_READWRITE);
  SQLite::Statement query(file, statement);
  for (std::size_t i = 0; i < values.size(); ++i) query.bind(static_cast<int>(i) + 1, values[i]);
  query.exec();
}

/// Keeps the rows that a condition names.
void keep(const Sandbox& sandbox, const std::string& database, const std::string& condition) {
  change(sandbox, database, "DELETE FROM trial WHERE NOT (" + condition + ")");
  change(sandbox, database, "DELETE FROM sweep_trial WHERE trial_id NOT IN (SELECT id FROM trial)");
}

std::string text_in(const Sandbox& sandbox, const std::string& file) {
  return read_file(sandbox.folder() / file, kLargestFile);
}

/// Answers questions from standard input, a line each: the GPU's compute capability and name ("-": none), M,
/// N, K, lda, alpha and beta. "time": the mean of all that choose() takes, in ns.
constexpr const char* kAsk = R"--(
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>
#include "tuned.h"

struct Question {
  tuned::gemm_f32_problem problem{};
  int capability = 0;
  char name[64] = "";
};

int main(int count, char**) {
  std::vector<Question> all;
  for (Question q; std::scanf("%d %63s %lld %lld %lld %lld %lf %lf", &q.capability, q.name, &q.problem.M, &q.problem.N,
                              &q.problem.K, &q.problem.lda, &q.problem.alpha, &q.problem.beta) == 8;)
    all.push_back(q);
  const auto device_of = [](Question& q) {
    for (char* c = q.name; *c != '\0'; ++c)
      if (*c == '_') *c = ' ';
    tuned::Device device;
    device.name = q.name;
    device.compute_capability = q.capability;
    device.multiprocessors = 132;
    return device;
  };
  if (count > 1) {
    const auto start = std::chrono::steady_clock::now();
    long long launches = 0;
    const int kTimes = 20;
    for (int i = 0; i < kTimes; ++i)
      for (Question& q : all) {
        const tuned::Device device = device_of(q);
        tuned::Plan plan(device);
        tuned::choose(q.problem, device, plan);
        launches += plan.launches;
      }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    std::printf("%.1f\n%lld\n", took.count() / (kTimes * static_cast<double>(all.size())), launches);
    return 0;
  }
  const char* const matches[] = {"model", "compute_capability", "nearest"};
  for (Question& q : all) {
    const tuned::Device device = device_of(q);
    tuned::Plan plan(device);
    const tuned::Picked picked = tuned::choose(q.problem, device, plan);
    if (picked.kernel == nullptr) {
      std::printf("refused: %s\n", picked.why);
      continue;
    }
    bool is_whole = plan.refused == nullptr && plan.launches > 0;
    for (int i = 0; i < plan.launches; ++i) {
      const tuned::Launch& l = plan.launch[i];
      is_whole = is_whole && l.grid[0] > 0 && l.grid[1] > 0 && l.grid[2] > 0 && l.grid[1] <= 65535 && l.grid[2] <= 65535 &&
                 l.block[0] * l.block[1] * l.block[2] > 0 && l.block[0] * l.block[1] * l.block[2] <= 1024 && l.arguments > 0;
    }
    tuned::Plan again(device);
    is_whole = is_whole && tuned::allows(*picked.kernel, q.problem, device, again) && again.launches == plan.launches &&
               std::memcmp(again.launch[0].grid, plan.launch[0].grid, sizeof plan.launch[0].grid) == 0;
    std::printf("%s %s %s\n", is_whole ? "whole" : "BROKEN", matches[static_cast<int>(picked.match)],
                picked.kernel->expressions[plan.launch[0].kernel]);
  }
}
)--";

struct Question {
  std::vector<std::int64_t> sizes;
  std::int64_t lda = 0;
  int capability = 90;
  std::string gpu = "NVIDIA_H200";
  double alpha = 1, beta = 0;

  std::string text() const {
    return fmt::format("{} {} {} {} {} {} {}\n", capability, gpu, fmt::join(sizes, " "), lda, alpha, beta,
                       "");
  }
};

/// With the header of a recorded sweep of 13 problems, and programs that ask it.
class ExportHeader : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    sandbox_ = std::make_unique<Sandbox>();
    ASSERT_EQ(
        sandbox_
            ->run({"merge", TILETUNE_SOURCE_DIR "/tests/data/sgemm_dispatch_fastest.db.gz", "-o", "rows.db"})
            .code,
        0);
    const Finished run = sandbox_->run({"export", "--db", "rows.db", "--format", "header", "-o", "tuned.h"});
    ASSERT_EQ(run.code, 0) << run.err;
    sandbox_->write("ask.cpp", kAsk);
    if (!is_there("c++")) return;
    const Finished built = shell(
        *sandbox_,
        fmt::format("c++ -std=c++17 {0} -O1 -fsanitize=undefined -fno-sanitize-recover=all ask.cpp -o ask & "
                    "c++ -std=c++17 {0} -O2 ask.cpp -o ask_fast && wait $!",
                    kStrict));
    ASSERT_EQ(built.code, 0) << built.err;
  }
  static void TearDownTestSuite() { sandbox_.reset(); }
  void SetUp() override {
    if (!is_there("c++")) GTEST_SKIP() << "no C++ compiler";
  }

  static std::vector<std::string> answers(const std::vector<Question>& questions) {
    std::string text;
    for (const Question& question : questions) text += question.text();
    sandbox_->write("questions", text);
    const Finished run = shell(*sandbox_, "./ask < questions");
    EXPECT_EQ(run.code, 0) << run.err;
    std::vector<std::string> lines = lines_of(run.out);
    EXPECT_EQ(lines.size(), questions.size());
    lines.resize(questions.size());
    return lines;
  }
  static std::string answer(const Question& question) { return answers({question}).front(); }

  static std::vector<Question> random_questions() {
    std::mt19937_64 random(1);
    std::vector<Question> all;
    for (int i = 0; i < 2000; ++i) {
      Question& question = all.emplace_back();
      for (int j = 0; j < 3; ++j) {
        constexpr std::array<std::int64_t, 4> kSteps{1, 1, 4, 64};
        const std::int64_t step = kSteps[random() % kSteps.size()];
        const double size = std::exp2(std::uniform_real_distribution<>(0, 14)(random));
        question.sizes.push_back((static_cast<std::int64_t>(size) + step - 1) / step * step);
      }
    }
    return all;
  }

  static std::unique_ptr<Sandbox> sandbox_;
};
std::unique_ptr<Sandbox> ExportHeader::sandbox_;

TEST_F(ExportHeader, CompilesWithoutAWarningAsOldAndNewCpp) {
  for (const std::string compiler : {"c++", "clang++-14"}) {
    if (!is_there(compiler)) continue;
    for (const std::string standard : {"c++17", "c++20"}) {
      const Finished run = shell(*sandbox_, fmt::format("{} -std={} {} -Wpedantic -fsyntax-only ask.cpp",
                                                        compiler, standard, kStrict));
      EXPECT_EQ(run.code, 0) << compiler << " " << standard << ": " << run.err;
    }
  }
}

TEST_F(ExportHeader, IsTheSameEveryTime) {
  EXPECT_EQ(sandbox_->run({"export", "--db", "rows.db", "--format", "header"}).out,
            text_in(*sandbox_, "tuned.h"));
}

TEST_F(ExportHeader, AnswersEverySizeWithLaunchesThatCudaTakes) {
  const std::vector<Question> questions = random_questions();
  const std::vector<std::string> said = answers(questions);
  std::size_t without = 0;
  std::set<std::string> kernels;
  for (std::size_t i = 0; i < said.size(); ++i) {
    kernels.insert(said[i]);
    if (said[i].starts_with("whole model ") || ++without > 10) continue;
    ADD_FAILURE() << said[i] << " at " << questions[i].text();
  }
  EXPECT_EQ(without, 0U) << "of " << said.size();
  EXPECT_GT(kernels.size(), 5U) << "one kernel is not the best of all sizes";
}

/// Among the exported kernels, which are few.
TEST_F(ExportHeader, ChoosesOnARecordedProblemWhatWasTheFastestThere) {
  const Finished run = sandbox_->run({"portfolio", "rows.db", "-k", "10", "--format", "json"});
  const Json few = Json::parse(run.out).at("portfolios").at(0);
  std::vector<Question> questions;
  std::vector<std::string> expected;
  for (const Json& fastest : few.at("fastest")) {
    questions.emplace_back().sizes = fastest.at("sizes").get<std::vector<std::int64_t>>();
    const std::string kernel =
        few["kernels"].at(fastest.at("kernel").get<std::size_t>()).at("kernel_expression");
    expected.push_back("whole model " + kernel.substr(0, kernel.find(" + ")));
  }
  ASSERT_EQ(questions.size(), 13U);
  EXPECT_EQ(answers(questions), expected);
}

TEST_F(ExportHeader, AllRecordedKernelsTogetherChooseTheBestOfEachProblem) {
  ASSERT_EQ(sandbox_
                ->run({"export", "--db", "rows.db", "--format", "header", "--portfolio", "64", "--namespace",
                       "all", "-o", "all.h"})
                .code,
            0);
  const Json rows = Json::parse(sandbox_->run({"export", "--db", "rows.db"}).out).at("trials");
  std::map<std::string, double> best;
  std::map<std::pair<std::string, std::string>, double> times;
  for (const Json& row : rows) {
    if (row.at("kind") != "kernel" || row.at("outcome") != "ok") continue;
    const std::string problem = row.at("problem");
    const double us = row.at("median_us");
    double& its_best = times.try_emplace({problem, row.at("kernel_expression")}, us).first->second;
    its_best = std::min(its_best, us);  // options of the compiler tell some apart
    best[problem] = best.contains(problem) ? std::min(best[problem], us) : us;
  }
  std::string text = "#include <cstdio>\n#include \"all.h\"\nint main() {\n  const long long sizes[][3] = {";
  for (const auto& [problem, us] : best) {
    std::string sizes = problem;
    std::ranges::replace(sizes, 'x', ',');
    text += "{" + sizes + "}, ";
  }
  sandbox_->write("all.cpp", text + R"(};
  for (const auto& s : sizes) {
    all::Device device;
    device.name = "NVIDIA H200";
    device.compute_capability = 90;
    device.multiprocessors = 132;
    all::Plan plan(device);
    const all::Picked picked = all::choose(all::gemm_f32_problem{s[0], s[1], s[2]}, device, plan);
    for (int i = 0; picked.kernel && i < plan.launches; ++i)
      std::printf("%s%s", i > 0 ? " + " : "", picked.kernel->expressions[plan.launch[i].kernel]);
    std::puts("");
  }
})");
  const Finished run = shell(*sandbox_, "c++ -std=c++17 all.cpp -o all && ./all");
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> chosen = lines_of(run.out);
  ASSERT_EQ(chosen.size(), best.size());
  std::size_t i = 0;
  for (const auto& [problem, us] : best) {
    const auto found = times.find({problem, chosen[i++]});
    ASSERT_NE(found, times.end()) << problem << ": " << chosen[i - 1];
    EXPECT_LT(found->second, 1.01 * us) << problem;
  }
}

TEST_F(ExportHeader, SaysHowWellItKnowsTheGpu) {
  const std::vector<std::int64_t> sizes{1024, 1024, 1024};
  EXPECT_TRUE(answer({sizes}).starts_with("whole model "));
  EXPECT_TRUE(answer({.sizes = sizes, .gpu = "Some_GPU"}).starts_with("whole compute_capability "));
  EXPECT_TRUE(answer({.sizes = sizes, .capability = 80, .gpu = "Some_GPU"}).starts_with("whole nearest "));
  EXPECT_TRUE(answer({.sizes = sizes, .capability = 120, .gpu = "Some_GPU"}).starts_with("whole nearest "));
}

TEST_F(ExportHeader, RefusesSizesThatNoKernelTakesWithAReason) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  std::vector<Question> questions;
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, kLeast, std::int64_t{1} << 31,
                                 (std::int64_t{1} << 31) + 1, std::int64_t{1} << 40, kMost}) {
    for (int i = 0; i < 3; ++i) {
      std::vector<std::int64_t> sizes{64, 64, 64};
      sizes[static_cast<std::size_t>(i)] = bad;
      questions.push_back({sizes});
    }
    questions.push_back({{bad, bad, bad}});
  }
  const std::vector<std::string> said = answers(questions);
  for (std::size_t i = 0; i < said.size(); ++i) {
    EXPECT_TRUE(said[i].starts_with("refused: ")) << said[i] << " at " << questions[i].text();
    EXPECT_GT(said[i].size(), 15U) << questions[i].text();
  }
}

TEST_F(ExportHeader, RefusesALeadingDimensionBelowItsColumns) {
  for (const std::int64_t lda : {std::int64_t{63}, std::int64_t{1}, std::int64_t{-64}})
    EXPECT_TRUE(carries(answer({{64, 64, 64}, lda}), {"refused", "lda", "K"})) << lda;
  for (const std::int64_t lda : {std::int64_t{0}, std::int64_t{64}, std::int64_t{65}, std::int64_t{80}})
    EXPECT_TRUE(answer({{64, 64, 64}, lda}).starts_with("whole ")) << lda;
  EXPECT_TRUE(answer({{64, 64, 64}, std::numeric_limits<std::int64_t>::max()}).starts_with("refused: "));
}

TEST_F(ExportHeader, OtherScalarsThanTheTunedOnesAreAnswered) {
  Question question{{1000, 77, 513}};
  question.alpha = 0.5;
  question.beta = 2;
  EXPECT_TRUE(answer(question).starts_with("whole ")) << answer(question);
}

TEST_F(ExportHeader, ChoosingTakesLessThanALaunch) {
  std::string text;
  for (const Question& question : random_questions()) text += question.text();
  sandbox_->write("questions", text);
  const Finished run = shell(*sandbox_, "./ask_fast time < questions");
  ASSERT_EQ(run.code, 0) << run.err;
  const double ns = std::stod(run.out);
  std::printf("choose(): %.0f ns\n", ns);
  EXPECT_GT(ns, 0);
  EXPECT_LT(ns, 5000) << "1000 are expected";
}

TEST_F(ExportHeader, TwoOfThemLiveInOneProgram) {
  ASSERT_EQ(
      sandbox_
          ->run({"merge", TILETUNE_SOURCE_DIR "/results/h100/spaces/hgemm_dispatch.db.gz", "-o", "half.db"})
          .code,
      0);
  keep(*sandbox_, "half.db",
       "id IN (SELECT id FROM trial WHERE kind = 'kernel' AND outcome = 'ok' AND options = '' ORDER BY "
       "median_us "
       "LIMIT 4)");
  const Finished half = sandbox_->run(
      {"export", "--db", "half.db", "--format", "header", "--namespace", "mine::half", "-o", "half.h"});
  ASSERT_EQ(half.code, 0) << half.err;
  ASSERT_EQ(sandbox_->run({"export", "--db", "half.db", "--format", "header", "-o", "same_namespace.h"}).code,
            0);
  sandbox_->write("one.cpp", R"(
#include "tuned.h"
#include "half.h"
#include "tuned.h"
int other();
int main() {
  tuned::Device device;
  tuned::Plan plan(device);
  mine::half::Device its_device;
  mine::half::Plan its_plan(its_device);
  return tuned::kKernelCount + mine::half::kKernelCount - other() - mine::half::kKernelCount;
})");
  // Another content in the same namespace, in another file: linkers must not take one for the other.
  sandbox_->write("other.cpp", R"(
#include "same_namespace.h"
const tuned::Kernel* volatile first = tuned::kKernels;
int other() { return first->number + )" +
                                   std::to_string([&] {
                                     const std::string text = text_in(*sandbox_, "tuned.h");
                                     const std::string mark = "kKernelCount = ";
                                     return std::stoi(text.substr(text.find(mark) + mark.size()));
                                   }()) +
                                   "; }\n");
  const Finished run =
      shell(*sandbox_, fmt::format("c++ -std=c++17 {} one.cpp other.cpp -o both && ./both", kStrict));
  EXPECT_EQ(run.code, 0) << run.err;
  // In one file they are told apart by their namespaces alone.
  sandbox_->write("clash.cpp",
                  "#include \"tuned.h\"\n#include \"same_namespace.h\"\nint n = tuned::kKernelCount;\n");
  EXPECT_NE(shell(*sandbox_, "c++ -std=c++17 -fsyntax-only clash.cpp").code, 0);
}

TEST_F(ExportHeader, MistakesAreSaidWithPlaceAndRemedy) {
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"export", "--db", "rows.db"});
    return sandbox_->run(more);
  };
  for (const std::string name : {"for", "9x", "a b", "a::", "::a", "a::class", "a-b", "a\nb"}) {
    expect_error(run({"--format", "header", "--namespace", name}), kUserError,
                 {"--namespace", "tuned::sizes"});
    expect_error(run({"--format", "cuda", "-o", "folder", "--namespace", name}), kUserError, {"--namespace"});
  }
  expect_error(run({"--format", "cuda", "-o", "folder", "--namespace", "a::b"}), kUserError,
               {"--namespace", "a::b", "one word"});
  expect_error(run({"--format", "cuda"}), kUserError, {"--format cuda", "-o tuned"});
  expect_error(run({"--format", "cuda", "-o", "-"}), kUserError, {"--format cuda", "-o tuned"});
  for (const std::string name : {"9", "sm_90", "90b", "9.0", "90a;80", "90a 80", "\"", "90\n"})
    expect_error(run({"--format", "cuda", "-o", "folder", "--arch", name}), kUserError, {"--arch", "90a,80"});
  expect_error(run({"--format", "header", "--arch", "90a"}), kUserError, {"--arch", "--format cuda"});
  expect_error(run({"--format", "header", "--jit"}), kUserError, {"--jit", "--format cuda"});
  for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
           {"--arch", "90a"}, {"--jit"}, {"--template-folder", "."}, {"--namespace", "x"}}) {
    expect_error(run(option), kUserError, {option[0], "--format cuda"});
    if (option[0] == "--template-folder") continue;  // best.json reads templates, too
    std::vector<std::string> best = option;
    best.emplace_back("--best");
    expect_error(run(best), kUserError, {option[0], "--format cuda"});
  }
  expect_error(run({"--portfolio", "3"}), kUserError, {"--portfolio", "--format cuda"});
  for (const std::string format : {"header", "cuda"})
    expect_error(run({"--format", format, "--samples", "-o", "folder"}), kUserError, {"--samples"});
  EXPECT_FALSE(fs::exists(sandbox_->folder() / "folder"));
  expect_error(run({"--format", "yaml"}), kUserError, {"--format", "yaml", "json", "t4", "header", "cuda"});
  sandbox_->write("file", "");
  expect_error(run({"--format", "cuda", "-o", "file"}), kUserError, {"file"});
  expect_error(run({"--format", "header", "-o", "rows.db"}), kUserError, {"rows.db"});
}

TEST_F(ExportHeader, ANamespaceThatNoBuildCanHaveIsRefusedForAFolder) {
  // Names of files, of CMake's targets and of what stands beside the namespace.
  for (const std::string name : {"kernels", "test", "all", "install", "clean", "main", "detail", "std"}) {
    expect_error(sandbox_->run(
                     {"export", "--db", "rows.db", "--format", "cuda", "-o", "refused", "--namespace", name}),
                 kUserError, {"--namespace", name});
    EXPECT_FALSE(fs::exists(sandbox_->folder() / "refused")) << name;
    fs::remove_all(sandbox_->folder() / "refused");
  }
}

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
  EXPECT_TRUE(
      said("layernorm 777 1023 2").starts_with("2|no kernel accesses buffers that are aligned so little|"));
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

}  // namespace export_program_test
}  // namespace tiletune
