#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fixture.h"

namespace tiletune {
namespace several_gpus_test {

class SeveralGpusTest : public SpecTest {
 protected:
  void SetUp() override {
    SpecTest::SetUp();
    write("kernel_templates/gather/kernel.cu", "extern \"C\" __global__ void k();\n");
    write("kernel_templates/sums/kernel.cu", "extern \"C\" __global__ void k();\n");
    write("kernel_templates/sums/reference.cu", "extern \"C\" __global__ void r();\n");
  }

  /// all_gather + GEMM: copies run beside the kernel, or NCCL gathers before it.
  static Json gather() {
    return Json::parse(R"--({
      "name": "gather", "summary": "over several GPUs",
      "operation": {
        "dimensions": ["G", "M", "N", "K"], "gpus": "G",
        "flops": "2 * M * N * K", "bytes": "4 * (M * K + K * N + M * N)", "accumulation": "K", "bound": "ffma",
        "buffers": [
          {"name": "A", "type": "f32", "rows": "M", "columns": "K", "role": "in", "layout": "rows"},
          {"name": "B", "type": "f32", "rows": "K", "columns": "N", "role": "in", "layout": "columns"},
          {"name": "C", "type": "f32", "rows": "M", "columns": "N", "role": "out", "layout": "columns"}],
        "reference": {"library": "all_gather_gemm"}, "baselines": {"library": "all_gather_gemm"}},
      "source": "kernel.cu",
      "parameters": [{"name": "TRANSFER", "values": ["copy_engine", "nccl"]}],
      "workspace": [{"name": "gathered", "type": "f32", "elements": "M * K"},
                    {"name": "arrived", "type": "u32", "elements": "G", "zeroed": true}],
      "launches": [
        {"copy": "A", "to": "gathered", "peer": "(rank + step) % G", "to_offset": "peer * M // G * K",
         "elements": "M // G * K", "repeat": {"step": "G - 1"}, "beside": true, "signal": "arrived",
         "when": "TRANSFER == 'copy_engine'"},
        {"collective": "all_gather", "from": "A", "to": "gathered", "elements": "M // G * K",
         "when": "TRANSFER == 'nccl'"},
        {"barrier": true, "when": "TRANSFER == 'nccl'"},
        {"kernel": "k", "grid": ["1"], "block": ["128"],
         "arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"}, {"buffer": "gathered"},
                       {"peers": "A"}, {"scalar": "rank", "type": "i32"},
                       {"scalar": "mine", "type": "i32", "value": "rank"}]}]})--");
  }
};

TEST_F(SeveralGpusTest, AManifestHasStepsAmongItsLaunches) {
  const TemplateSpec spec = load_patched(gather(), "{}");
  EXPECT_EQ(spec.operation.gpus.text, "G");
  EXPECT_EQ(spec.operation.buffers[0].layout, BufferLayout::rows);
  EXPECT_EQ(spec.operation.buffers[1].layout, BufferLayout::columns);
  EXPECT_EQ(spec.operation.reference_library, LibraryOperation::all_gather_gemm);
  ASSERT_EQ(spec.launches.size(), 1U);
  EXPECT_EQ(spec.launches[0].where.pointer, "/launches/3");
  const std::vector<Argument>& arguments = spec.launches[0].arguments;
  EXPECT_EQ(arguments[4].kind, Argument::Kind::peers);
  EXPECT_TRUE(arguments[5].is_rank);
  EXPECT_TRUE(arguments[6].is_rank);
  ASSERT_EQ(spec.steps.size(), 4U);
  const StepSpec& copy = spec.steps[0];
  EXPECT_EQ(copy.kind, StepKind::copy);
  EXPECT_EQ(copy.from, "A");
  EXPECT_EQ(copy.to, "gathered");
  EXPECT_EQ(copy.peer.text, "(rank + step) % G");
  EXPECT_TRUE(copy.beside);
  EXPECT_EQ(copy.signal, "arrived");
  EXPECT_EQ(copy.repeat.at(0).first, "step");
  EXPECT_EQ(spec.steps[1].kind, StepKind::collective);
  EXPECT_EQ(spec.steps[1].collective, Collective::all_gather);
  EXPECT_EQ(spec.steps[2].kind, StepKind::barrier);
  EXPECT_EQ(spec.steps[3].kind, StepKind::kernel);
  EXPECT_EQ(spec.steps[3].launch, 0U);
}

TEST_F(SeveralGpusTest, AnOperationOnOneGpuHasNoSteps) {
  const TemplateSpec spec = load_patched(sums(), "{}");
  EXPECT_TRUE(spec.steps.empty());
}

TEST_F(SeveralGpusTest, ALaunchMayBeLeftOut) {
  Json manifest = sums();
  manifest["launches"][1]["when"] = "T > 128";
  EXPECT_EQ(load_patched(manifest, "{}").launches[1].when.text, "T > 128");
}

TEST_F(SeveralGpusTest, MistakesAreNamedWithTheirPlace) {
  const auto file = (root_ / "kernel_templates/gather/template.json").string();
  const auto expect = [&](const char* pointer, const Json& value, const char* place,
                          const std::vector<std::string>& parts) {
    Json manifest = gather();
    if (value.is_null()) {
      const Json::json_pointer member(pointer);
      manifest[member.parent_pointer()].erase(member.back());
    } else {
      manifest[Json::json_pointer(pointer)] = value;
    }
    expect_fault(user_error_of([&] { load_patched(manifest, "{}"); }), {pointer, place, parts}, file);
  };
  expect("/operation/buffers/0/layout", "diagonal", "/operation/buffers/0/layout", {"diagonal", "rows"});
  expect("/operation/buffers/0/pitch", "lda", "/operation/buffers/0/layout", {"'A'", "pitch"});
  expect("/operation/buffers/0/layout", "replicated", "/operation/reference/library", {"all_gather_gemm"});
  expect("/operation/gpus", nullptr, "/operation/buffers/0/layout", {"one GPU", "gpus"});
  expect("/parameters/0/name", "rank", "/parameters/0/name", {"'rank'"});
  expect("/launches/0/peer", nullptr, "/launches/0", {"'peer'"});
  expect("/launches/0/copy", "D", "/launches/0/copy", {"'D'"});
  expect("/launches/0/to", "A", "/launches/0/to", {"'A'", "input"});
  expect("/launches/1/to", "B", "/launches/1/to", {"'B'", "input"});
  expect("/launches/0/signal", "gathered", "/launches/0/signal", {"'gathered'", "u32", "zeroed"});
  expect("/operation/reference",
         Json::parse(R"({"source": "kernel.cu", "kernel": "r", "grid": [1], "block": [1],
                         "arguments": [{"buffer": "A"}, {"peers": "C"}]})"),
         "/operation/reference/arguments/1", {"one GPU"});
  expect("/launches/1/collective", "all_reduce", "/launches/1/collective", {"all_reduce", "all_gather"});
  expect("/launches/2/barrier", false, "/launches/2/barrier", {"when"});
  expect("/workspace/0/type", "f16", "/launches/0", {"f32", "f16"});
  expect("/launches/3", Json::parse(R"({"barrier": true})"), "/launches", {"no kernel"});
}

TEST_F(SeveralGpusTest, StepsAndPeersNeedSeveralGpus) {
  Json manifest = sums();
  manifest["launches"].push_back(Json::parse(R"({"barrier": true})"));
  const auto file = (root_ / "kernel_templates/sums/template.json").string();
  expect_fault(user_error_of([&] { load_patched(manifest, "{}"); }), {"", "/launches/2", {"one GPU", "gpus"}},
               file);
  manifest = sums();
  manifest["launches"][0]["arguments"][0] = Json::parse(R"({"peers": "in"})");
  expect_fault(user_error_of([&] { load_patched(manifest, "{}"); }),
               {"", "/launches/0/arguments/0/peers", {"one GPU"}}, file);
}

}  // namespace several_gpus_test
}  // namespace tiletune
