// `tiletune export --format header`: what programs that include it choose, launch and refuse.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/exported.h"

namespace tiletune {
namespace export_header_test {

using namespace exported;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

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

/// Kernels that are added for other sizes have other launches than their rows.
TEST_F(ExportHeader, ARecordingWhoseKernelsAreAdaptedIsExported) {
  const Finished run =
      sandbox_->run({"export", "--db", TILETUNE_SOURCE_DIR "/results/h100/spaces/hgemm_dispatch.db.gz",
                     "--format", "header", "-o", "hgemm.h"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.err, {"unmeasured kernels", "wrote hgemm.h"})) << run.err;
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

}  // namespace export_header_test
}  // namespace tiletune
