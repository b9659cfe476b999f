#include "measure/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fields_json.h"
#include "base/frame.h"

namespace tiletune {
namespace messages_test {

using Json = nlohmann::ordered_json;

/// Through a frame and back, as between two processes.
Json travelled(const Json& json) {
  FrameReader reader;
  reader.feed(encode_frame(json));
  return *reader.next();
}

KernelLaunch launch_of(const char* symbol, std::int64_t blocks, std::int64_t threads) {
  KernelLaunch launch;
  launch.grid.x = blocks;
  launch.block.x = threads;
  launch.symbol = symbol;
  return launch;
}

MeasureRequest sample_request() {
  MeasureRequest request;
  request.ticket = 42;
  request.cubin = std::string(
      "\x7f"
      "ELF\0\xff",
      6);
  KernelLaunch& launch = request.launches.emplace_back();
  launch.symbol = "_Z5sgemm";
  launch.grid = {1, 2, 3};
  launch.block = {4, 5, 6};
  launch.dynamic_shared_bytes = 70000;
  request.constants = {{"d_filter", "filter", 144}};
  request.workspace = {{"partials", ElementType::bf16, std::int64_t{1} << 40, false},
                       {"tickets", ElementType::u32, 0, true}};
  launch.arguments = {{Argument::Kind::buffer, "A", ElementType::i32, Value{}},
                      {Argument::Kind::scalar, "M", ElementType::i32, Value{std::int64_t{4096}}},
                      {Argument::Kind::scalar, "alpha", ElementType::f32, Value{1.5}},
                      {Argument::Kind::tensor_map, "A", ElementType::i32, Value{},
                       TensorMapShape{ElementType::f16, {64, 32}, {72}, {8, 4}, Swizzle::bytes_64}},
                      {Argument::Kind::tensor_map, "B", ElementType::i32, Value{}}};
  request.tolerance_factor = 2;
  request.leader_us = 2650;
  return request;
}

Measured timed(const std::vector<double>& times_us) {
  Measured measured;
  measured.timing = summarise({times_us});
  return measured;
}

TEST(Messages, MeasureRequestSurvives) {
  const MeasureRequest before = sample_request();
  const MeasureRequest after = from_json<MeasureRequest>(travelled(to_json(before)));
  EXPECT_EQ(to_json(after), to_json(before));
  EXPECT_EQ(after.cubin, before.cubin);
  EXPECT_EQ(after.launches[0].dynamic_shared_bytes, 70000);
  EXPECT_EQ(after.launches[0].arguments[3].tensor_map->pitches, (std::vector<std::int64_t>{72}));
  EXPECT_EQ(after.launches[0].arguments[3].tensor_map->swizzle, Swizzle::bytes_64);
  EXPECT_FALSE(after.launches[0].arguments[4].tensor_map);
  EXPECT_EQ(after.workspace[0].bytes(), std::size_t{1} << 41);
}

TEST(Messages, PrepareRequestSurvives) {
  PrepareRequest before;
  before.workload.buffers = {{"A", ElementType::bf16, 12, BufferRole::in},
                             {"C", ElementType::f32, 6, BufferRole::inout}};
  before.workload.flops = 1e12;
  before.dimensions = {{"M", 3}, {"N", 2}, {"K", 4}};
  before.scalars = {{"alpha", 1.5}, {"beta", -0.5}};
  before.policy.cache = CachePolicy::warm;
  before.policy.samples = 31;
  before.baseline = Baseline::none;
  before.inputs = {{"A", std::string("\x7f\0", 2), launch_of("fill", 2, 32)}};
  before.reference = PrepareRequest::OperationLaunch{"", "cubin", launch_of("reference", 9, 256)};
  const PrepareRequest after = from_json<PrepareRequest>(travelled(to_json(before)));
  EXPECT_EQ(to_json(after), to_json(before));
  EXPECT_EQ(after.policy.cache, CachePolicy::warm);
  EXPECT_EQ(after.inputs.front().cubin, before.inputs.front().cubin);
}

TEST(Messages, RowsOfMatricesTravel) {
  PrepareRequest before;
  before.workload.buffers = {{"A", ElementType::f32, 12, BufferRole::in},
                             {"C", ElementType::f32, 17, BufferRole::out, Workload::Rows{2, 5}}};
  const Json json = to_json(before);
  const PrepareRequest after = from_json<PrepareRequest>(travelled(json));
  EXPECT_EQ(to_json(after), json);
  EXPECT_FALSE(after.workload.buffers[0].rows);
  ASSERT_TRUE(after.workload.buffers[1].rows);
  EXPECT_EQ(after.workload.buffers[1].rows->pitch, 5);
  EXPECT_EQ(after.workload.buffers[1].values(), 8);
  for (const auto& [columns, pitch] : {std::pair{0, 5}, {5, 2}, {2, 4}}) {
    Json bad = json;
    bad["workload"]["buffers"][1]["rows"] = {{"columns", columns}, {"pitch", pitch}};
    EXPECT_THROW(from_json<PrepareRequest>(bad), ProtocolError) << columns << " " << pitch;
  }
}

TEST(Messages, WhatGpusCannotDivideIsRefused) {
  PrepareRequest before;
  before.workload.gpus = 2;
  before.workload.buffers = {{"A", ElementType::f32, 12, BufferRole::in, Workload::Rows{4, 4}}};
  before.workload.buffers[0].layout = BufferLayout::columns;
  const Json json = to_json(before);
  EXPECT_EQ(to_json(from_json<PrepareRequest>(travelled(json))), json);
  Json bad = json;
  bad["workload"]["gpus"] = 3;
  EXPECT_THROW(from_json<PrepareRequest>(bad), ProtocolError);
  bad = json;
  bad["workload"]["buffers"][0]["rows"] = nullptr;
  EXPECT_THROW(from_json<PrepareRequest>(bad), ProtocolError);
}

TEST(Messages, StepsLaunchKernelsThatAreThere) {
  MeasureRequest request = sample_request();
  request.steps.emplace_back();
  EXPECT_EQ(from_json<MeasureRequest>(travelled(to_json(request))).steps.size(), 1U);
  request.steps.back().launch = 1;
  EXPECT_THROW(from_json<MeasureRequest>(to_json(request)), ProtocolError);
}

TEST(Messages, MeasuredSurvivesWithAndWithoutItsOptionalParts) {
  Measured before;
  before.ticket = 7;
  before.outcome = Outcome::out_of_bounds;
  before.reason = "4 bytes after C were written";
  EXPECT_EQ(to_json(from_json<Measured>(travelled(to_json(before)))), to_json(before));
  before.timing = summarise({{3, 1, 2}, {1980, 1970, 1975}, 100, 2, 3.5});
  before.accuracy = Accuracy{1e-7, 7e-6, 1e-4, "C[12,77]"};
  before.attributes = KernelAttributes{128, 4096, 0, 256};
  before.driver_blocks_per_multiprocessor = 2;
  before.condition = {652.5, "sw_power_cap", "python3 (pid 7)", true};
  const Measured after = from_json<Measured>(travelled(to_json(before)));
  EXPECT_EQ(to_json(after), to_json(before));
  EXPECT_EQ(after.timing->median_us, 2);
  EXPECT_EQ(after.timing->median_cycles, 2 * 1975);
}

TEST(Messages, PreparedSurvives) {
  Prepared before;
  Measured& baseline = before.baselines.emplace_back(timed({2, 3}));
  baseline.name = "cublaslt";
  baseline.warning = "odd";
  baseline.library = LibraryKernels{"cuBLASLt 13.0.2", "sgemm_nn", "heuristic 3 of 8"};
  baseline.accuracy = Accuracy{1e-7, 7e-6, 1e-4, "C[12,77]"};
  before.calibration = Calibration{65.1, 4200, 33000, 1.25, 1.5, 0.53};
  before.note = "cuBLASLt: 2 of 8 were left out";
  const Prepared after = from_json<Prepared>(travelled(to_json(before)));
  EXPECT_EQ(to_json(after), to_json(before));
  EXPECT_EQ(after.baselines.front().timing->median_us, 2.5);
  for (const char* const needed : {"timing", "library"}) {
    Json bad = to_json(before);
    bad["baselines"][0][needed] = nullptr;
    EXPECT_THROW(from_json<Prepared>(bad), ProtocolError) << needed;
  }
}

TEST(Messages, FinalsSurvive) {
  FinalsRequest before;
  before.finalists = {sample_request(), sample_request()};
  before.finalists[1].ticket = 43;
  before.baselines = {{"three_pass", sample_request()}};
  EXPECT_EQ(to_json(from_json<FinalsRequest>(travelled(to_json(before)))), to_json(before));
  FinalsMeasured measured;
  measured.times.resize(2);
  measured.times[0].ticket = 43;
  measured.times[0].timing = summarise({{3, 1, 2}});
  measured.times[0].figures = {{"sustained_us", 2.5}, {"sustained_power_w", std::nullopt}};
  measured.times[1].warning = "not timed with copies";
  measured.times[1].name = "twin";
  measured.times[1].outcome = Outcome::unstable;
  measured.wall_ms = 12;
  EXPECT_EQ(to_json(from_json<FinalsMeasured>(travelled(to_json(measured)))), to_json(measured));
}

TEST(Messages, EveryCachePolicyTravelsAndOthersAreRefused) {
  for (const CachePolicy cache : {CachePolicy::cold, CachePolicy::rotate, CachePolicy::warm}) {
    PrepareRequest request;
    request.policy.cache = cache;
    EXPECT_EQ(from_json<PrepareRequest>(travelled(to_json(request))).policy.cache, cache);
  }
  Json bad = to_json(PrepareRequest{});
  bad["policy"]["cache"] = "lukewarm";
  EXPECT_THROW(from_json<PrepareRequest>(bad), ProtocolError);
}

TEST(Messages, OpenedSurvives) {
  GpuOpened before;
  before.device.name = "NVIDIA H200";
  before.device.compute_major = 9;
  before.device.l2_bytes = std::int64_t{60} << 20;
  before.driver_version = "580.159";
  EXPECT_EQ(to_json(from_json<GpuOpened>(travelled(to_json(before)))), to_json(before));
}

/// Every member missing and every member of another type is a ProtocolError, never a crash or a default.
TEST(Messages, EveryMissingOrMistypedMemberIsRefused) {
  const Json good = to_json(sample_request());
  for (const auto& [key, value] : good.items()) {
    Json missing = good;
    missing.erase(key);
    EXPECT_THROW(from_json<MeasureRequest>(missing), ProtocolError) << "without " << key;
    Json mistyped = good;
    mistyped[key] = Json{{"another", "type"}};
    EXPECT_THROW(from_json<MeasureRequest>(mistyped), ProtocolError) << key << " of another type";
  }
}

TEST(Messages, UnknownEnumValuesAreRefused) {
  Json bad = to_json(sample_request());
  bad["launches"][0]["arguments"][0]["kind"] = "register";
  EXPECT_THROW(from_json<MeasureRequest>(bad), ProtocolError);
  Json measured = to_json(Measured{});
  measured["outcome"] = "splendid";
  EXPECT_THROW(from_json<Measured>(measured), ProtocolError);
  measured = to_json(timed({1}));
  measured["timing"]["times_us"] = Json::array();
  EXPECT_THROW(from_json<Measured>(measured), ProtocolError);
  measured = to_json(timed({1, 2}));
  measured["timing"]["clocks_mhz"] = {1980};
  EXPECT_THROW(from_json<Measured>(measured), ProtocolError) << "two samples and one clock";
}

TEST(Messages, TensorMapsThatAreNoneAreRefused) {
  for (const auto& [member, bad] :
       {std::pair("extents", "[]"), std::pair("extents", "[1, 1, 1, 1, 1, 1]"), std::pair("pitches", "[]"),
        std::pair("pitches", "[0]"), std::pair("box", "[8]"), std::pair("box", "[8, 257]"),
        std::pair("swizzle", R"("256B")"), std::pair("promotion", R"("32B")"), std::pair("offset", "-1")}) {
    Json request = to_json(sample_request());
    request["launches"][0]["arguments"][3]["tensor_map"][member] = Json::parse(bad);
    EXPECT_THROW(from_json<MeasureRequest>(request), ProtocolError) << member << ": " << bad;
  }
}

TEST(Messages, SamplesThatAreNoTimesAreRefused) {
  for (const double bad : {std::nan(""), -1.0, HUGE_VAL}) {
    Json measured = to_json(timed({1}));
    measured["timing"]["times_us"] = {1.0, bad, 2.0};
    EXPECT_THROW(from_json<Measured>(travelled(measured)), ProtocolError) << bad;
  }
}

TEST(Messages, IntegersThatDoNotFitAreRefused) {
  for (const Json& bad : {Json(1e300), Json(0.5), Json(-1), Json(std::uint64_t{1} << 32U)}) {
    Json request = to_json(sample_request());
    request["launches"][0]["grid"]["z"] = bad;
    EXPECT_THROW(from_json<MeasureRequest>(request), ProtocolError) << bad;
  }
  Json request = to_json(sample_request());
  request["ticket"] = -1;
  EXPECT_THROW(from_json<MeasureRequest>(request), ProtocolError);
}

}  // namespace messages_test
}  // namespace tiletune
