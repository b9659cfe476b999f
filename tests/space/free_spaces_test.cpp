// The configs whose spaces hold whatever can run: millions of configurations, of which few are in memory.

#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "space/space.h"
#include "spec/load.h"

namespace tiletune {
namespace free_spaces_test {

TuneSpec load(const std::string& name) {
  const std::filesystem::path home(TILETUNE_SOURCE_DIR);
  LoadOptions options;
  options.template_folders = {home / "kernel_templates"};
  return load_tune_spec(home / "configs" / (name + ".json"), options);
}

class FreeSpaces : public testing::TestWithParam<const char*> {};

TEST_P(FreeSpaces, HaveAsManyConfigurationsAsTheirPartsTogether) {
  const TuneSpec spec = load(GetParam());
  const Problem& problem = spec.problems.front();
  std::uint64_t all = 0;
  for (const TemplateSpec& kernel : spec.templates) {
    if (!kernel.runs(problem)) continue;
    const Space space(kernel, problem);
    std::uint64_t parts = 0;
    ASSERT_EQ(kernel.parameters.front().name, "BM");
    for (const Value& value : kernel.parameters.front().values) {
      TemplateSpec part = kernel;
      part.parameters.front().values = {value};
      parts += Space(part, problem).size();
    }
    EXPECT_EQ(space.size(), parts) << kernel.name;
    EXPECT_LT(space.rows(), 2'000'000U) << kernel.name << ": what is kept in memory";
    all += space.size();
  }
  EXPECT_GT(all, 1'000'000U);
  EXPECT_LT(all, 20'000'000U);
}

TEST_P(FreeSpaces, GiveEachConfigurationOneIndex) {
  const TuneSpec spec = load(GetParam());
  std::mt19937_64 random(1);
  for (const TemplateSpec& kernel : spec.templates) {
    if (!kernel.runs(spec.problems.back())) continue;
    const Space space(kernel, spec.problems.back());
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t index = random() % space.size();
      ASSERT_EQ(space.index_at(space.positions(index)), index) << kernel.name;
    }
  }
}

// Takes 0.5 s, and 5 s where sanitizers slow it down. Slower machines get ten times as much. CPU time, which
// others on the machine stretch less than wall time.
TEST_P(FreeSpaces, AreCountedAtOnce) {
  const TuneSpec spec = load(GetParam());
  const std::clock_t start = std::clock();
  for (const TemplateSpec& kernel : spec.templates) {
    if (kernel.runs(spec.problems.front())) {
      EXPECT_GT(Space(kernel, spec.problems.front()).size(), 0U);
    }
  }
#ifdef TILETUNE_SANITIZED
  constexpr double kMostSeconds = 50;
#else
  constexpr double kMostSeconds = 5;
#endif
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kMostSeconds);
}

INSTANTIATE_TEST_SUITE_P(Configs, FreeSpaces, testing::Values("sgemm_free", "hgemm_free"));

}  // namespace free_spaces_test
}  // namespace tiletune
