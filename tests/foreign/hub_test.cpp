// The recordings of the benchmark hub.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "foreign/t1.h"
#include "importing.h"
#include "space/space.h"
#include "spec/load.h"

namespace tiletune {
namespace hub_test {

const std::filesystem::path kHub = std::filesystem::path(TILETUNE_SOURCE_DIR) / "tests/data/benchmark_hub";

using Counts = std::map<Outcome, std::int64_t>;

class Hub : public Importing {};

TEST_F(Hub, EveryRowIsTakenWithWhatBecameOfIt) {
  const ImportSummary a100 = import(kHub / "A100.json.gz");
  EXPECT_EQ(a100.rows, 4362U);
  EXPECT_EQ(a100.new_rows, 4362U);
  EXPECT_EQ(a100.outcomes,
            (Counts{{Outcome::ok, 4201}, {Outcome::compile_failed, 6}, {Outcome::launch_failed, 155}}));
  EXPECT_EQ(a100.gpus, std::set<std::string>{"NVIDIA A100-PCIE-40GB"});
  EXPECT_EQ(a100.problems, std::set<std::string>{"4096x4096"});
  EXPECT_EQ(a100.first_recorded_at, "2023-12-22T09:54:05Z");
  EXPECT_EQ(a100.parameters.size(), 10U);
  const ImportSummary a4000 = import(kHub / "A4000.json.gz");
  EXPECT_EQ(a4000.rows, 4362U);
  EXPECT_EQ(a4000.rows - static_cast<std::uint64_t>(a4000.outcomes.at(Outcome::ok)), 161U);
  const ImportSummary a6000 = import(kHub / "A6000_original.json.gz");
  EXPECT_EQ(a6000.rows, 2442U);
  EXPECT_EQ(a6000.outcomes,
            (Counts{{Outcome::ok, 2266}, {Outcome::compile_failed, 104}, {Outcome::launch_failed, 72}}));
  EXPECT_EQ(a6000.parameters.size(), 6U);
}

TEST_F(Hub, ACacheAndT4ResultsOfOneRecordingAreTheSameRows) {
  import(kHub / "A100.json.gz");
  const std::vector<Trial> cached = rows();
  const ImportFacts facts{"NVIDIA A100-PCIE-40GB", "4096x4096", "convolution_kernel", ""};
  const ImportSummary again = import(kHub / "A100_T4.json.gz", facts);
  EXPECT_EQ(again.rows, 4362U);
  EXPECT_EQ(again.new_rows, 0U);

  Database other(folder_ / "t4.db", Database::Mode::read_write);
  import_file(other, kHub / "A100_T4.json.gz", facts, [](std::uint64_t) {});
  const std::vector<Trial> exchanged = other.trials({});
  ASSERT_EQ(exchanged.size(), cached.size());
  // T4 does not say these, and the file is another.
  const std::set<std::string> unsaid{"measure_ms", "tflops", "measure_policy"};
  for (std::size_t i = 0; i < cached.size(); ++i) {
    for (const Column& column : trial_columns()) {
      if (unsaid.contains(column.name)) continue;
      ASSERT_EQ(column.read(cached[i]), column.read(exchanged[i]))
          << column.name << " of " << cached[i].parameters;
    }
  }
}

TEST_F(Hub, TheTuningProblemHasExactlyTheConfigurationsOfTheCache) {
  import(kHub / "A100.json.gz");
  std::set<std::string> recorded;
  for (const Trial& row : rows()) recorded.insert(row.parameters);
  LoadOptions options;
  options.read_other = read_t1;
  const TuneSpec spec = load_tune_spec(kHub / "T1_convolution_milo.json", options);
  EXPECT_EQ(spec.problems.front().label(), "4096x4096");
  EXPECT_EQ(spec.templates.front().name, "convolution_kernel");
  const Space space(spec.templates.front(), spec.problems.front());
  std::set<std::string> enumerated;
  for (std::uint64_t i = 0; i < space.size(); ++i)
    enumerated.insert(to_json(space.at(i).named(spec.templates.front())).dump());
  EXPECT_EQ(space.size(), 4362U);
  EXPECT_EQ(enumerated, recorded);
}

}  // namespace hub_test
}  // namespace tiletune
