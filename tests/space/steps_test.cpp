#include <gtest/gtest.h>

#include "carries.h"
#include "space/instance.h"
#include "space/spec_builder.h"

namespace tiletune {
namespace steps_test {

using std::int64_t;

ExprText at(const std::string& text, const std::string& pointer = "/x") {
  return {text, {"template.json", pointer}};
}

/// All-gather of A's rows by copies, in CHUNKS pieces, or by NCCL; then a product.
TemplateSpec gathered() {
  SpecBuilder builder;
  builder.integers("CHUNKS", {1, 2}).parameter("NCCL", {false, true});
  TemplateSpec& spec = builder.spec();
  spec.operation.dimensions = {"G", "M", "N", "K"};
  spec.operation.gpus = at("G", "/gpus");
  spec.operation.buffers = {
      {"A", ElementType::f32, at("M * K", "/a"), BufferRole::in, {}, at("K"), at("K")},
      {"C", ElementType::f32, at("M * N", "/c"), BufferRole::out, {}, at("N"), at("N")}};
  spec.operation.buffers[0].layout = BufferLayout::rows;
  spec.operation.buffers[1].layout = BufferLayout::columns;
  spec.workspace = {{"gathered", ElementType::f32, at("M * K"), false, ""},
                    {"arrived", ElementType::u32, at("G * CHUNKS"), true, ""}};
  Argument rank{Argument::Kind::scalar, "rank", ElementType::i32, at("rank"), {}, true};
  spec.launches[0].arguments = {{Argument::Kind::peers, "A", {}, {}}, rank};
  StepSpec copy;
  copy.kind = StepKind::copy;
  copy.from = "A";
  copy.to = "gathered";
  copy.repeat = {{"chunk", at("CHUNKS")}, {"step", at("G - 1")}};
  copy.peer = at("(rank + step) % G", "/launches/0/peer");
  copy.elements = at("M // G // CHUNKS * K", "/launches/0/elements");
  copy.from_offset = at("(chunk - 1) * (M // G // CHUNKS) * K");
  copy.to_offset = at("(peer * (M // G) + (chunk - 1) * (M // G // CHUNKS)) * K");
  copy.index = at("peer * CHUNKS + chunk - 1");
  copy.signal = "arrived";
  copy.beside = true;
  copy.when = at("not NCCL");
  StepSpec collective;
  collective.kind = StepKind::collective;
  collective.from = "A";
  collective.to = "gathered";
  collective.elements = at("M // G * K");
  collective.when = at("NCCL");
  StepSpec barrier;
  barrier.kind = StepKind::barrier;
  StepSpec kernel;
  kernel.kind = StepKind::kernel;
  spec.steps = {copy, collective, barrier, kernel};
  return spec;
}

Problem gathered_problem(int64_t gpus) { return {{{"G", gpus}, {"M", 64}, {"N", 32}, {"K", 8}}}; }

Instance instance(const TemplateSpec& spec, int64_t gpus, int64_t chunks, bool nccl) {
  return Instantiator(spec, gathered_problem(gpus)).instantiate({{chunks, nccl}}, 132);
}

std::string error(const TemplateSpec& spec, int64_t gpus = 2) {
  try {
    instance(spec, gpus, 1, false);
  } catch (const UserError& caught) {
    return caught.where().pointer + ": " + caught.message();
  }
  return "no error";
}

TEST(StepsTest, CopiesAreEvaluatedForEveryGpuAndRepetition) {
  const Instance filled = instance(gathered(), 4, 2, false);
  ASSERT_EQ(filled.steps.size(), 3U);
  const GpuStep& copy = filled.steps[0];
  EXPECT_EQ(copy.kind, StepKind::copy);
  EXPECT_TRUE(copy.beside);
  EXPECT_EQ(copy.signal, "arrived");
  ASSERT_EQ(copy.copies.size(), 4U * 2 * 3);
  // GPU 1, chunk 2, step 3: from GPU 0.
  const PeerCopy& one = copy.copies[6 + 5];
  EXPECT_EQ(one.gpu, 1);
  EXPECT_EQ(one.peer, 0);
  EXPECT_EQ(one.elements, 8 * 8);
  EXPECT_EQ(one.from, 8 * 8);
  EXPECT_EQ(one.to, 8 * 8);
  EXPECT_EQ(one.word, 1);
  EXPECT_EQ(copy.copies[0].peer, 1);
  EXPECT_EQ(copy.copies[0].to, 16 * 8);
  EXPECT_EQ(filled.steps[1].kind, StepKind::barrier);
  EXPECT_EQ(filled.steps[2].kind, StepKind::kernel);
  EXPECT_EQ(filled.steps[2].launch, 0);
}

TEST(StepsTest, AParameterChoosesBetweenSteps) {
  const Instance filled = instance(gathered(), 2, 1, true);
  ASSERT_EQ(filled.steps.size(), 3U);
  EXPECT_EQ(filled.steps[0].kind, StepKind::collective);
  EXPECT_EQ(filled.steps[0].elements, 32 * 8);
}

TEST(StepsTest, TheRankIsKnownAtLaunchOnly) {
  const Instance filled = instance(gathered(), 2, 1, false);
  const ArgumentValue& rank = filled.launches[0].arguments[1];
  EXPECT_TRUE(rank.is_rank);
  EXPECT_EQ(filled.launches[0].arguments[0].kind, Argument::Kind::peers);
  TemplateSpec spec = gathered();
  spec.launches[0].grid[0] = at("rank + 1", "/launch/grid/0");
  EXPECT_TRUE(carries(error(spec), {"/launch/grid/0", "rank"}));
}

TEST(StepsTest, TheWorkloadSaysWhatEachGpuHas) {
  const Instantiator instantiator(gathered(), gathered_problem(4));
  const Workload& workload = instantiator.workload();
  EXPECT_EQ(workload.gpus, 4);
  EXPECT_EQ(workload.buffers[0].layout, BufferLayout::rows);
  EXPECT_EQ(workload.buffers[1].layout, BufferLayout::columns);
  EXPECT_TRUE(carries(error(gathered(), 3), {"/a", "64 rows", "'A'", "3 GPUs"}));
  EXPECT_TRUE(carries(error(gathered(), 1), {"/gpus", "2 to 16"}));
  EXPECT_TRUE(carries(error(gathered(), 17), {"/gpus", "2 to 16"}));
}

TEST(StepsTest, NumbersOfGpusAndElementsAreChecked) {
  TemplateSpec spec = gathered();
  spec.steps[0].peer.text = "rank + 1";
  EXPECT_TRUE(carries(error(spec), {"/launches/0/peer", "0 to 1", "2"}));
  spec = gathered();
  spec.steps[0].elements.text = "-1";
  EXPECT_TRUE(carries(error(spec), {"/launches/0/elements", "-1"}));
  spec = gathered();
  spec.steps[0].repeat[0].second = at("2049", "/launches/0/repeat/chunk");
  EXPECT_TRUE(carries(error(spec), {"/launches/0/repeat", "4096"}));
}

TEST(StepsTest, RepetitionsEndThoughTheyHoldNoCopy) {
  for (const char* chunks : {"10 ** 15", "4096"}) {
    TemplateSpec spec = gathered();
    spec.steps[0].repeat = {{"chunk", at(chunks, "/launches/0/repeat/chunk")}, {"step", at("0")}};
    EXPECT_TRUE(carries(error(spec), {"/launches/0/repeat/chunk", "4096"})) << error(spec);
  }
  TemplateSpec spec = gathered();
  spec.steps[0].repeat[0].second = at("CHUNKS - 3", "/launches/0/repeat/chunk");
  EXPECT_TRUE(carries(error(spec), {"/launches/0/repeat/chunk", "-2", "0 to 4096"})) << error(spec);
}

TEST(StepsTest, StepsStayWithinTheArrays) {
  const auto expect = [](auto change, const std::vector<std::string>& parts) {
    TemplateSpec spec = gathered();
    spec.steps[1].elements.where = spec.steps[0].elements.where;
    change(spec);
    EXPECT_TRUE(carries(error(spec), parts)) << error(spec);
  };
  // A has 64 x 8 elements on 2 GPUs, and all of them are gathered.
  expect([](TemplateSpec& spec) { spec.steps[0].from_offset.text = "1"; },
         {"/launches/0/elements", "element 257 of 'A'", "256 on each GPU"});
  expect([](TemplateSpec& spec) { spec.steps[0].to_offset.text = "2 ** 56"; }, {"'gathered'", "512 on each"});
  expect([](TemplateSpec& spec) { spec.workspace[1].elements.text = "0"; },
         {"element 2 of 'arrived'", "has 0"});
  const auto collective = [](TemplateSpec& spec, const char* elements) {
    spec.steps.erase(spec.steps.begin());
    spec.steps[0].when.text = "True";
    spec.steps[0].elements.text = elements;
  };
  expect([&](TemplateSpec& spec) { collective(spec, "2 ** 56"); }, {"'gathered'", "512 on each GPU"});
  expect([&](TemplateSpec& spec) { collective(spec, "257"); }, {"element 514 of 'gathered'"});
  expect(
      [&](TemplateSpec& spec) {
        collective(spec, "256");
        spec.steps[0].collective = Collective::reduce_scatter;
      },
      {"element 512 of 'A'", "256 on each GPU"});
}

TEST(StepsTest, LaunchesThatAreLeftOutAreNotCompiled) {
  TemplateSpec spec = gathered();
  spec.launches.push_back(spec.launches[0]);
  spec.launches[0].kernel = "first";
  spec.launches[0].when = at("NCCL", "/launches/3/when");
  spec.steps.push_back(spec.steps.back());
  spec.steps.back().launch = 1;
  const Instance filled = instance(spec, 2, 1, false);
  ASSERT_EQ(filled.launches.size(), 1U);
  EXPECT_EQ(filled.launches[0].kernel_expression, "example");
  EXPECT_EQ(filled.launches[0].listed, 1U);
  ASSERT_EQ(filled.steps.size(), 3U);
  EXPECT_EQ(filled.steps[2].launch, 0);
  spec.launches[1].when = spec.launches[0].when;
  EXPECT_TRUE(carries(error(spec), {"/launches/3/when", "one launch"}));
}

}  // namespace steps_test
}  // namespace tiletune
