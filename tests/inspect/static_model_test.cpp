#include "inspect/static_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "carries.h"
#include "temporary_folder.h"

namespace tiletune {
namespace static_model_test {

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
  const TemporaryFolder folder;
  const StaticModel model = load_static_model(shipped());
  EXPECT_EQ(load_static_model(shipped()).identity(), model.identity());
  const Json numbers = read_json(shipped());
  for (const char* section : {"pipeline", "launch"}) {
    for (const auto& [name, unused] : numbers.at(section).items()) {
      Json other = numbers;
      other[section][name]["value"] = other[section][name]["value"].get<double>() + 0.125;
      EXPECT_NE(load_static_model(folder.write("model.json", other.dump())).identity(), model.identity())
          << section << " " << name;
    }
  }
}

struct Mistake {
  const char* pointer;  ///< what is replaced
  Json value;           ///< null: removed
  const char* where;
  std::vector<std::string> parts;
};

const Mistake kMistakes[] = {
    {"/launch/loop_scale/value", 0, "/launch/loop_scale/value", {"found 0", "above 0"}},
    {"/launch/launch_us/value", -1, "/launch/launch_us/value", {"found -1", "at least 0"}},
    {"/launch/launch_us/value", "two", "/launch/launch_us/value", {"a string", "a number"}},
    {"/launch/byte_clocks", 5, "/launch/byte_clocks", {"an integer", "an object"}},
    {"/launch/byte_clocks", nullptr, "/launch", {"'byte_clocks'", "missing"}},
    {"/pipeline/l2_latency/value", 1e300, "/pipeline/l2_latency/value", {"found 1e+300", "at most"}},
    {"/pipeline/l2_latency/meaning", " ", "/pipeline/l2_latency/meaning", {"empty"}},
    {"/pipeline/l3_latency", Json{{"value", 1}}, "/pipeline/l3_latency", {"'l3_latency'"}},
    {"/pipeline", Json::array(), "/pipeline", {"an object"}},
    {"/calibrated_on/gpu", 200, "/calibrated_on/gpu", {"an integer", "a text"}},
    {"/calibrated_on/date", nullptr, "/calibrated_on", {"'date'", "missing"}},
    {"/fitted", true, "/fitted", {"'fitted'"}},
};

TEST(StaticModel, MistakesAreNamedWithTheirPlace) {
  const TemporaryFolder folder;
  for (const Mistake& mistake : kMistakes) {
    Json json = read_json(shipped());
    const Json::json_pointer pointer(mistake.pointer);
    if (mistake.value.is_null()) {
      json[pointer.parent_pointer()].erase(pointer.back());
    } else {
      json[pointer] = mistake.value;
    }
    try {
      load_static_model(folder.write("model.json", json.dump()));
      ADD_FAILURE() << "accepted: " << mistake.pointer;
    } catch (const UserError& error) {
      EXPECT_EQ(error.where().pointer, mistake.where);
      EXPECT_TRUE(carries(error.message(), mistake.parts));
      EXPECT_FALSE(error.remedy().empty());
    }
  }
  const std::filesystem::path file = folder.write("model.json", "[]");
  EXPECT_THROW(load_static_model(file), UserError);
  std::filesystem::remove(file);
  EXPECT_THROW(load_static_model(file), UserError);
}

TEST(StaticModel, ALaunchTakesTheLongerOfComputingAndMemoryAndPartOfTheShorter) {
  StaticModel model;
  model.launch_us = 2;
  model.loop_scale = 1.5;
  model.outside_scale = 0.5;
  model.byte_clocks = 0.25;
  model.meeting_us = 3;
  model.cluster_us = 5;
  model.unhidden_share = 0.25;
  const LaunchTerms terms = {.turns = 10,
                             .loop_clocks = 200000,
                             .outside_clocks = 20000,
                             .outside_bytes = 4000,
                             .dram_us = 50,
                             .meetings = 1};
  const double computing = (1.5 * 200000 + 0.5 * 20000 + 0.25 * 4000) / 2000;
  EXPECT_DOUBLE_EQ(launch_us(terms, model, 2000), 2 + computing + 0.25 * 50 + 3);
  LaunchTerms streaming = terms;
  streaming.dram_us = 1000;
  streaming.clusters = 1;
  EXPECT_DOUBLE_EQ(launch_us(streaming, model, 2000), 2 + 1000 + 0.25 * computing + 3 + 5);
  LaunchTerms multiplying = terms;
  multiplying.tensor_clocks = 400000;
  EXPECT_DOUBLE_EQ(launch_us(multiplying, model, 2000), 2 + 400000 / 2000 + 0.25 * 50 + 3);
}

}  // namespace static_model_test
}  // namespace tiletune
