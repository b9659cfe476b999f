// The example that runs what `export --best` recommends, on a machine without a GPU.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/expect_error.h"
#include "temporary_folder.h"

namespace tiletune {
namespace use_best_test {

Finished run_example(const std::string& program, const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string errors = (folder / "errors").string();
  const int status =
      std::system(fmt::format("'{}/{}' {} 2> '{}'", TILETUNE_BINARY_DIR, program, arguments, errors).c_str());
  std::ostringstream text;
  text << std::ifstream(errors).rdbuf();
  return {WEXITSTATUS(status), "", text.str()};
}

Finished use_best(const std::string& arguments) { return run_example("use_best", arguments); }

const std::string kBest = TILETUNE_SOURCE_DIR "/results/h200/sgemm_4096.best.json";

bool has_gpu() { return std::system("nvidia-smi -L > /dev/null 2>&1") == 0; }

TEST(UseBest, WithoutAGpuItSaysSo) {
  if (has_gpu()) GTEST_SKIP() << "there is a GPU here";
  expect_error(use_best("'" + kBest + "' 4096x4096x4096"), kUserError, {"use_best:", "no GPU"});
}

TEST(UseBest, ExplainsItself) {
  const TemporaryFolder folder;
  EXPECT_EQ(use_best("--help > '" + (folder / "help").string() + "'").code, 0);
  std::ostringstream text;
  text << std::ifstream(folder / "help").rdbuf();
  EXPECT_TRUE(text.str().starts_with("Usage: use_best BEST.JSON PROBLEM\n")) << text.str();
}

TEST(UseBest, MistakesAreSaidWithPlaceAndRemedy) {
  expect_error(use_best(""), kUserError, {"two arguments", "Write: use_best BEST.JSON"});
  expect_error(use_best("nowhere.json 1x1x1"), kUserError, {"nowhere.json", "no such"});
  expect_error(use_best("'" + kBest + "' 9x9x9"), kUserError,
               {"sgemm_4096.best.json:", "gemm of 9x9x9", "4096x4096x4096 on NVIDIA H200"});
  const TemporaryFolder folder;
  std::ofstream(folder / "list.json") << R"({"best": []})";
  std::ofstream(folder / "odd.json") << R"({"best": [7]})";
  expect_error(use_best("'" + (folder / "list.json").string() + "' 1x1x1"), kUserError,
               {"gemm of 1x1x1", "tiletune export --best -o best.json"});
  expect_error(use_best("'" + (folder / "odd.json").string() + "' 1x1x1"), kUserError,
               {"odd.json", "'tiletune export --best'"});
}

TEST(UseBestOnGpus, MistakesAreSaidWithPlaceAndRemedy) {
  expect_error(run_example("use_best_on_gpus", "'" + kBest + "' 4096x4096x4096"), kUserError,
               {"use_best_on_gpus:", "one GPU", "use_best"});
}

}  // namespace use_best_test
}  // namespace tiletune
