// find() of exported headers at sizes that were not tuned.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/expect_error.h"
#include "cli/process.h"
#include "output/size_check.h"

namespace tiletune {
namespace header_sizes_test {

using Json = nlohmann::ordered_json;
using Sizes = std::vector<std::int64_t>;

/// What find() of tuned.h answers: kernel expressions, or why there is none.
std::vector<std::string> found(const Sandbox& sandbox, const std::vector<Sizes>& queries,
                               const std::string& gpu, const std::string& element_types) {
  std::string text = "#include <cstdio>\n#include \"tuned.h\"\nconst long long kSizes[][3] = {\n";
  for (const Sizes& sizes : queries) text += fmt::format("{{{}, {}, {}}},\n", sizes[0], sizes[1], sizes[2]);
  text += "};\nint main() {\n  for (const auto& sizes : kSizes) {\n    tiletune_best::Query query;\n";
  text += fmt::format("    query.gpu = \"{}\";\n    query.element_types = \"{}\";\n", gpu, element_types);
  sandbox.write("main.cpp", text + R"(
    for (int i = 0; i < 3; ++i) query.sizes[i] = sizes[i];
    const tiletune_best::Found found = tiletune_best::find(query);
    const char* const known[] = {"recorded", "hold", "not known", "refused", "none"};
    std::printf("%s\n", found.entry ? found.entry->kernel_expression : known[static_cast<int>(found.constraints)]);
  }
})");
  const std::string in_folder = "cd '" + sandbox.folder().string() + "' && ";
  EXPECT_EQ(
      std::system(
          (in_folder + "c++ -std=c++17 -Wall -Wextra -Werror main.cpp -o main && ./main > found").c_str()),
      0);
  std::ifstream file(sandbox.folder() / "found");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The best kernels in rows.db, as JSON; tuned.h is their header.
Json exported(const Sandbox& sandbox) {
  EXPECT_EQ(sandbox.run({"export", "--db", "rows.db", "--format", "header", "-o", "tuned.h"}).code, 0);
  EXPECT_EQ(sandbox.run({"export", "--db", "rows.db", "--best", "-o", "best.json"}).code, 0);
  std::ifstream file(sandbox.folder() / "best.json");
  return Json::parse(file).at("best");
}

TEST(HeaderSizes, AKernelIsFoundExactlyWhereItsConstraintsHold) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  const Sandbox sandbox;
  const std::string recorded = TILETUNE_SOURCE_DIR "/results/h100/spaces/hgemm_dispatch.db.gz";
  ASSERT_EQ(sandbox.run({"merge", recorded, "-o", "rows.db"}).code, 0);
  std::map<std::string, std::string> conditions;
  for (const Json& entry : exported(sandbox)) {
    if (entry.at("launch").contains("launches")) continue;  // it is not in the header
    if (entry.at("options") != "") continue;                // the queries ask for none
    conditions[entry.at("kernel_expression")] = entry.at("size_conditions").dump();
  }
  std::vector<Sizes> queries{{4096, 4097, 4096}};
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto size = [&](int step) {
      return static_cast<std::int64_t>(1 + random() % 8192) / step * step + step;
    };
    queries.push_back({size(1), size(i % 2 == 0 ? 1 : 8), size(i % 2 == 0 ? 1 : 8)});
  }
  const std::vector<std::string> answers =
      found(sandbox, queries, "NVIDIA H100 80GB HBM3", "A:f16 B:f16 C:f16 accumulator:f32");
  ASSERT_EQ(answers.size(), queries.size());
  EXPECT_EQ(answers.front(), "refused");
  std::size_t kernels = 0;
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto allows = [&](const auto& kernel) {
      return satisfy(queries[i], kernel.second, {"M", "N", "K"}) == true;
    };
    const auto kernel = conditions.find(answers[i]);
    const bool is_kernel = kernel != conditions.end();
    kernels += is_kernel ? 1 : 0;
    if (is_kernel ? !allows(*kernel) : std::any_of(conditions.begin(), conditions.end(), allows))
      wrong.push_back(answers[i] + " at " + testing::PrintToString(queries[i]));
  }
  EXPECT_EQ(wrong.size(), 0U) << wrong.front();
  EXPECT_GT(kernels, 100U);
}

/// The README's kernel, whose grid has a row of blocks for each BY rows of C.
TEST(HeaderSizes, NoKernelIsFoundWhoseGridCudaRefuses) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  const Sandbox sandbox;
  const auto sweep = [&](const std::string& problem) {
    return sandbox.run({"sweep", TILETUNE_SOURCE_DIR "/docs/examples/my_gemm.json", "--gpu", "H100",
                        "--problem", problem, "--db", "rows.db", "--budget", "1", "-j", "1"});
  };
  ASSERT_EQ(sweep("1000x77x513").code, 0);
  exported(sandbox);
  EXPECT_EQ(found(sandbox, {{3000000, 64, 16}}, "H100 SXM", "f32"), std::vector<std::string>{"refused"});
  EXPECT_NE(found(sandbox, {{65535, 64, 16}}, "H100 SXM", "f32"), std::vector<std::string>{"refused"});
  const Finished refused = sweep("3000000x64x16");
  EXPECT_TRUE(carries(refused.out + refused.err, {"grid.y", "65535"})) << refused.out << refused.err;
}

}  // namespace header_sizes_test
}  // namespace tiletune
