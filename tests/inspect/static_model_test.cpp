#include "inspect/static_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "inspect/predict.h"

namespace tiletune {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path shipped() {
  return std::filesystem::path(TILETUNE_SOURCE_DIR) / "configs" / "model" / "static_model.json";
}

TEST(StaticModel, TheShippedOneSaysWhatItWasCalibratedOn) {
  const StaticModel model = load_static_model(shipped());
  EXPECT_EQ(model.provenance().rfind("calibrated on NVIDIA H200, 20", 0), 0U) << model.provenance();
  EXPECT_GT(model.loop_scale, 0.5);
  EXPECT_LT(model.loop_scale, 2);
  EXPECT_EQ(StaticModel{}.provenance(), "not calibrated");
}

TEST(StaticModel, EveryNumberIsPartOfItsIdentity) {
  const StaticModel model = load_static_model(shipped());
  StaticModel other = model;
  EXPECT_EQ(other.identity(), model.identity());
  other.unhidden_share += 0.125;
  EXPECT_NE(other.identity(), model.identity());
  other = model;
  other.pipeline.bank_conflict_clocks += 0.125;
  EXPECT_NE(other.identity(), model.identity());
}

struct Mistake {
  const char* pointer;  ///< what is replaced
  Json value;           ///< null: removed
  const char* where;
  const char* what;
};

const Mistake kMistakes[] = {
    {"/launch/loop_scale/value", 0, "/launch/loop_scale/value", "0 is out of bounds: greater than 0"},
    {"/launch/launch_us/value", -1, "/launch/launch_us/value", "-1 is out of bounds: at least 0"},
    {"/launch/launch_us/value", "two", "/launch/launch_us/value", "the value is no number"},
    {"/launch/round_clocks", 5, "/launch/round_clocks", "found 5, expected a value with its meaning"},
    {"/launch/round_clocks", nullptr, "/launch", "'round_clocks' is missing"},
    {"/pipeline/l2_latency/value", 1e300, "/pipeline/l2_latency/value", "is out of bounds"},
    {"/pipeline/l2_latency/meaning", " ", "/pipeline/l2_latency/meaning", "the text is empty"},
    {"/pipeline/l3_latency", Json{{"value", 1}}, "/pipeline/l3_latency",
     "there is no 'l3_latency' in a static model"},
    {"/pipeline", Json::array(), "/pipeline", "expected an object"},
    {"/calibrated_on/gpu", 200, "/calibrated_on/gpu", "found 200, expected a text"},
    {"/calibrated_on/date", nullptr, "/calibrated_on", "'date' is missing"},
    {"/fitted", true, "/fitted", "there is no 'fitted' in a static model"},
};

TEST(StaticModel, MistakesAreNamedWithTheirPlace) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / "static_model_with_a_mistake.json";
  for (const Mistake& mistake : kMistakes) {
    Json json = read_json(shipped());
    const Json::json_pointer pointer(mistake.pointer);
    if (mistake.value.is_null()) {
      json[pointer.parent_pointer()].erase(pointer.back());
    } else {
      json[pointer] = mistake.value;
    }
    write_file_atomically(file, json.dump());
    try {
      load_static_model(file);
      ADD_FAILURE() << "accepted: " << mistake.pointer;
    } catch (const UserError& error) {
      EXPECT_EQ(error.where().pointer, mistake.where);
      EXPECT_NE(error.message().find(mistake.what), std::string::npos) << error.message();
      EXPECT_FALSE(error.remedy().empty());
    }
  }
  write_file_atomically(file, "[]");
  EXPECT_THROW(load_static_model(file), UserError);
  std::filesystem::remove(file);
  EXPECT_THROW(load_static_model(file), UserError);
}

TEST(StaticModel, ALaunchTakesTheLongerOfComputingAndMemoryAndPartOfTheShorter) {
  StaticModel model;
  model.launch_us = 2;
  model.loop_scale = 1.5;
  model.round_clocks = 1000;
  model.outside_scale = 0.5;
  model.unhidden_share = 0.25;
  model.partial_scale = 3;
  const LaunchTerms terms = {10, 200000, 4, 20000, 50, 7};
  const double computing = (1.5 * 200000 + 4 * 1000 + 0.5 * 20000) / 2000;
  EXPECT_DOUBLE_EQ(launch_us(terms, model, 2000), 2 + computing + 0.25 * 50 + 3 * 7);
  LaunchTerms streaming = terms;
  streaming.dram_us = 1000;
  EXPECT_DOUBLE_EQ(launch_us(streaming, model, 2000), 2 + 1000 + 0.25 * computing + 3 * 7);
}

}  // namespace
}  // namespace tiletune
