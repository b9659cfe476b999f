#include "inspect/gpu_model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "carries.h"
#include "inspect/kernels.h"
#include "temporary_folder.h"

namespace tiletune {
namespace gpu_model_test {

namespace fs = std::filesystem;

const fs::path kGpus = fs::path(TILETUNE_SOURCE_DIR) / "configs" / "gpus";

TEST(GpuModels, ThePeaksAreThePublishedOnes) {
  // Datasheets, TFLOP/s of FP32 outside the tensor cores.
  const std::map<std::string, double> published = {
      {"A100 40GB", 19.5}, {"A100 80GB", 19.5}, {"H100 SXM", 67},   {"H100 PCIe", 51}, {"H200", 67},
      {"L40S", 91.6},      {"RTX 3090", 35.6},  {"RTX 4090", 82.6}, {"T4", 8.1},       {"B200", 75}};
  for (const auto& [name, tflops] : published) {
    EXPECT_NEAR(gpu(name).fp32_peak_tflops(), tflops, tflops * 0.03) << name;
    EXPECT_EQ(gpu(name).name, name);
  }
}

TEST(GpuModels, ThePeaksOfTensorCoresAreNotBelowThePublishedOnes) {
  // Datasheets, TFLOP/s of dense 16-bit floats with sums in FP32, some of which are at a lower clock than
  // boost.
  const std::map<std::string, double> published = {{"A100 40GB", 312}, {"H100 SXM", 989}, {"H100 PCIe", 756},
                                                   {"H200", 989},      {"L40S", 362},     {"RTX 3090", 71},
                                                   {"RTX 4090", 165},  {"T4", 65},        {"B200", 2250}};
  for (const auto& [name, tflops] : published) {
    const GpuModel& model = gpu(name);
    const double peak = static_cast<double>(model.tensor_flops_per_clock) * model.multiprocessors *
                        model.boost_clock_mhz * 1e-6;
    EXPECT_GT(peak, 0.99 * tflops) << name;
    EXPECT_LT(peak, 1.1 * tflops) << name;
  }
}

TEST(GpuModels, TheH200IsTheOneTheDriverDescribes) {
  const GpuModel& h200 = gpu("NVIDIA H200");
  EXPECT_EQ(h200.compute_capability(), "9.0");
  EXPECT_EQ(h200.multiprocessors, 132);
  EXPECT_EQ(h200.shared_bytes_per_multiprocessor, 233472);
  EXPECT_EQ(h200.shared_bytes_per_block_optin, 232448);
  EXPECT_EQ(h200.reserved_shared_bytes_per_block, 1024);
  EXPECT_EQ(h200.l2_bytes, 62914560);
  EXPECT_EQ(h200.max_blocks_per_multiprocessor, 32);
}

TEST(GpuModels, EveryFigureOfEveryFileNamesASource) {
  int figures = 0;
  for (const auto& entry : fs::directory_iterator(kGpus)) {
    const auto json = read_json(entry.path());
    for (const auto& [key, value] : json.items()) {
      if (!value.is_object() || key == "sources") continue;
      ++figures;
      const std::string source = value.at("source");
      const bool known = json.at("sources").contains(source) || source.find(' ') != std::string::npos;
      EXPECT_TRUE(known) << entry.path() << " " << key << ": " << source;
    }
  }
  EXPECT_EQ(figures, static_cast<int>(gpu_models().size()) * 20);
}

TEST(GpuModels, TheSchemaNamesTheSameFiguresAsTheFiles) {
  const auto schema = read_json(fs::path(TILETUNE_SOURCE_DIR) / "schemas" / "gpu.schema.json");
  const auto model = read_json(kGpus / "h200.json");
  for (const auto& [key, unused] : model.items()) EXPECT_TRUE(schema["properties"].contains(key)) << key;
  for (const auto& key : schema["required"]) EXPECT_TRUE(model.contains(key.get<std::string>())) << key;
}

TEST(FindGpuModel, TakesNamesAliasesAndBeginnings) {
  const std::map<std::string, std::string> expected = {{"H100", "H100 SXM"},
                                                       {"h100", "H100 SXM"},
                                                       {"NVIDIA H100 80GB HBM3", "H100 SXM"},
                                                       {"h100-pcie", "H100 PCIe"},
                                                       {"NVIDIA A100-SXM4-80GB", "A100 80GB"},
                                                       {"nvidia a100 80gb pcie", "A100 80GB PCIe"},
                                                       {"NVIDIA H200", "H200"},
                                                       {"rtx4090", "RTX 4090"},
                                                       {"GeForce RTX 3090", "RTX 3090"},
                                                       {"Tesla T4", "T4"},
                                                       {"l40s", "L40S"},
                                                       {"b200", "B200"}};
  for (const auto& [name, model] : expected) EXPECT_EQ(gpu(name).name, model) << name;
}

std::string error_of(const std::string& name) {
  try {
    gpu(name);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FindGpuModel, UnknownNamesGetTheNearestOrAll) {
  EXPECT_TRUE(carries(error_of("RTX 4091"), {"GPU model", "'RTX 4091'", "'RTX 4090'"}));
  EXPECT_TRUE(carries(error_of("MI300X"),
                      {"GPU model", "'MI300X'", "A100 40GB", "A100 80GB PCIe", "B200", "H100 PCIe",
                       "H100 SXM", "H200", "L40S", "RTX 3090", "RTX 4090", "T4", "configs/gpus"}));
  EXPECT_TRUE(carries(error_of("rtx"), {"'rtx'", "RTX 3090", "RTX 4090"}));
  EXPECT_TRUE(carries(error_of("A100"), {"'A100'", "A100 40GB, A100 80GB, A100 80GB PCIe"}));
  EXPECT_TRUE(carries(error_of("A100 8"), {"'A100 8'"}));
  for (const char* other : {"L4", "L40", "H20", "h2", "b"}) EXPECT_TRUE(carries(error_of(other), {other}));
  EXPECT_TRUE(carries(error_of(" - "), {"GPU model", "' - '"}));
}

/// A folder with one altered copy of a model; the alteration is a JSON pointer and its new value, or none to
/// remove it.
class BadModelTest : public testing::Test {
 protected:
  void SetUp() override { model_ = read_json(kGpus / "h200.json"); }

  std::string error(const std::string& file = "gpu.json") {
    std::ofstream(folder_ / file) << model_.dump();
    try {
      load_gpu_models(folder_.path());
    } catch (const UserError& error) {
      const std::string text = error.what();
      const auto at = text.find(file);
      return at == std::string::npos ? text : text.substr(at);
    }
    return "no error";
  }

  nlohmann::ordered_json model_;
  TemporaryFolder folder_;
};

TEST_F(BadModelTest, AnUnalteredOneLoads) { EXPECT_EQ(error(), "no error"); }

TEST_F(BadModelTest, MissingFigure) {
  model_.erase("l2_bytes");
  EXPECT_TRUE(carries(error(), {"gpu.json", "'l2_bytes'", "missing"}));
}

TEST_F(BadModelTest, MissingSource) {
  model_["l2_bytes"].erase("source");
  EXPECT_TRUE(carries(error(), {"gpu.json: /l2_bytes", "'source'", "missing"}));
}

TEST_F(BadModelTest, SourceThatIsNoId) {
  model_["l2_bytes"]["source"] = "drivers";
  EXPECT_TRUE(carries(error(), {"gpu.json: /l2_bytes/source", "'drivers'", "'sources'", "'driver'"}));
}

TEST_F(BadModelTest, BareNumber) {
  model_["l2_bytes"] = 5;
  EXPECT_TRUE(carries(error(), {"gpu.json: /l2_bytes", "an integer", "an object", "\"value\", \"source\""}));
}

TEST_F(BadModelTest, MisspeltFigure) {
  model_["l2_byte"] = model_["l2_bytes"];
  EXPECT_TRUE(carries(error(), {"gpu.json: /l2_byte", "'l2_byte'", "'l2_bytes'"}));
}

TEST_F(BadModelTest, ValuesOfTheWrongKind) {
  const auto original = model_;
  for (const auto& value : {nlohmann::ordered_json(1.5), nlohmann::ordered_json(-1),
                            nlohmann::ordered_json(4e9), nlohmann::ordered_json(nullptr)}) {
    model_ = original;
    model_["multiprocessors"]["value"] = value;
    EXPECT_TRUE(carries(error(), {"gpu.json: /multiprocessors/value", value.dump(), "an integer"}));
  }
  model_["multiprocessors"]["value"] = "132";
  EXPECT_TRUE(carries(error(), {"gpu.json: /multiprocessors/value", "a string", "an integer", "132"}));
  model_["multiprocessors"]["value"] = 0;
  EXPECT_TRUE(carries(error(), {"gpu.json: /multiprocessors/value", "0"}));
}

TEST_F(BadModelTest, ValuesThatOccupancyCannotBeComputedWith) {
  const auto original = model_;
  model_["warp_size"]["value"] = 64;
  EXPECT_TRUE(carries(error(), {"gpu.json: /warp_size/value", "32"}));
  model_ = original;
  model_["registers_per_block"]["value"] = std::int64_t{1} << 40;
  EXPECT_TRUE(carries(error(), {"gpu.json: /registers_per_block/value", "1099511627776"}));
}

TEST_F(BadModelTest, ComputeCapability) {
  for (const char* value : {"9", "9.x", "9.0.0", "123.0"}) {
    model_["compute_capability"]["value"] = value;
    EXPECT_TRUE(carries(
        error(), {"gpu.json: /compute_capability/value", "\"" + std::string(value) + "\"", "\"9.0\""}));
  }
  model_["compute_capability"]["value"] = "";
  EXPECT_TRUE(carries(error(), {"gpu.json: /compute_capability/value", "empty", "\"9.0\""}));
}

TEST_F(BadModelTest, PeakThatDoesNotFollow) {
  model_["boost_clock_mhz"]["value"] = 1800;
  EXPECT_TRUE(carries(error(), {"gpu.json: /published_fp32_tflops", "2 x 128", "132",
                                "1800 MHz = 60.8 TFLOP/s", "67", "3%"}));
}

TEST_F(BadModelTest, SharedMemoryThatShrinks) {
  model_["shared_bytes_per_block_optin"]["value"] = 233000;
  EXPECT_TRUE(carries(error(), {"gpu.json: /shared_bytes_per_block_optin"}));
}

TEST_F(BadModelTest, TwoModelsOfOneName) {
  std::ofstream(folder_ / "other.json") << model_.dump();
  model_["name"] = "nvidia-h200";
  model_["aliases"] = nlohmann::ordered_json::array();
  EXPECT_TRUE(carries(error(), {"'nvidiah200'"}));
}

TEST_F(BadModelTest, EmptyFolder) {
  try {
    load_gpu_models(folder_ / "missing");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.message(), {"no GPU"}));
    EXPECT_EQ(error.where().file, (folder_ / "missing").string());
  }
}

}  // namespace gpu_model_test
}  // namespace tiletune
