#include "base/text.h"
#include "fixture.h"
#include "spec/reader.h"
#include "spec/values.h"

namespace tiletune {
namespace template_test {

class TemplateTest : public SpecTest {
 protected:
  /// Breaks the manifest by each fault's patch in turn.
  void expect_faults(const Json& manifest, const std::vector<Fault>& faults) const {
    for (const Fault& fault : faults) {
      const auto file = write_manifest(manifest, fault.patch);
      expect_fault(user_error_of([&] { load_template(file, options_); }), fault, file.string());
    }
  }
};

TEST_F(TemplateTest, ReadsEveryKeyOfAGemmManifest) {
  const TemplateSpec spec = load_patched(tile(), "{}");
  EXPECT_EQ(spec.operation.dimensions, (std::vector<std::string>{"M", "N", "K"}));
  ASSERT_EQ(spec.operation.buffers.size(), 3U);
  EXPECT_EQ(spec.operation.buffers[1].name, "B");
  EXPECT_EQ(spec.operation.buffers[1].type, ElementType::f16);
  EXPECT_EQ(spec.operation.buffers[1].elements.text, "((K) - 1) * (ldb) + (N)");
  EXPECT_EQ(spec.operation.buffers[2].role, BufferRole::inout);
  EXPECT_EQ(spec.operation.buffers[2].read_when.text, "beta != 0");
  EXPECT_EQ(spec.operation.flops.text, "2.0 * M * N * K");
  EXPECT_EQ(spec.operation.accumulation.text, "K");
  EXPECT_EQ(spec.operation.bound, Ceiling::ffma);
  EXPECT_EQ(spec.operation.reference_library, LibraryOperation::gemm);
  EXPECT_EQ(spec.operation.baseline_library, LibraryOperation::gemm);
  EXPECT_EQ(spec.source, root_ / "kernel_templates/tile/kernel.cuh");
  EXPECT_EQ(spec.parameters[1].values, (std::vector<Value>{true, false}));
  EXPECT_EQ(spec.derived[0].value.where.pointer, "/derived/0/value");
  EXPECT_EQ(spec.constraints[0].require.where.text(),
            (root_ / "kernel_templates/tile/template.json").string() + ": /constraints/0/require");
  EXPECT_EQ(spec.launches[0].arguments[1].value.text, "N");
  EXPECT_EQ(spec.launches[0].arguments[2].value.text, "alpha");
  EXPECT_EQ(spec.launches[0].arguments[3].kind, Argument::Kind::buffer);
  EXPECT_EQ(spec.min_compute_capability.text, "7.0");
  EXPECT_EQ(spec.max_compute_capability.text, "12.0");
  EXPECT_EQ(spec.tolerance_factor, 2.5);
  EXPECT_EQ(spec.pipe, Emulation::tf32x3);
  EXPECT_FALSE(spec.operation.reference);
}

TEST_F(TemplateTest, NumbersAndBooleansStandForTheirText) {
  const TemplateSpec spec = load_patched(tile(), R"({"launch": {"block": [256, 0.5]}})");
  EXPECT_EQ(spec.launches[0].template_arguments[1].text, "4");
  EXPECT_EQ(spec.launches[0].template_arguments[2].text, "true");
  EXPECT_EQ(spec.launches[0].block[0].text, "256");
  EXPECT_EQ(spec.launches[0].block[1].text, "0.5");
  EXPECT_EQ(spec.launches[0].block[2].text, "1");
}

TEST_F(TemplateTest, WhatMayBeLeftOutHasDefaults) {
  const TemplateSpec spec = load_patched(tile(), R"({"$schema": null, "teaches": null, "types": null,
    "template_arguments": null, "compile_options": null, "parameters": null, "derived": null, "constraints": null,
    "launch": {"grid": [1], "dynamic_shared_bytes": null}, "min_compute_capability": null, "pipe": null, "tolerance_factor": null})");
  EXPECT_EQ(spec.operation.buffers[0].type, ElementType::f32);
  EXPECT_EQ(spec.operation.accumulator, ElementType::f32);
  EXPECT_EQ(spec.launches[0].dynamic_shared_bytes.text, "0");
  EXPECT_EQ(spec.tolerance_factor, 1.0);
  EXPECT_EQ(spec.pipe, std::nullopt);
  EXPECT_TRUE(spec.parameters.empty());
  EXPECT_TRUE(spec.launches[0].template_arguments.empty());
}

TEST_F(TemplateTest, ReadsAnOperationWithoutAName) {
  const TemplateSpec spec = load_patched(axpy(), "{}");
  EXPECT_EQ(spec.operation.name, "axpy");
  EXPECT_EQ(spec.operation.dimensions, std::vector<std::string>{"n"});
  EXPECT_EQ(spec.operation.scalars, (std::vector<std::pair<std::string, double>>{{"a", 2.0}}));
  EXPECT_EQ(spec.operation.buffers[1].type, ElementType::f64);
  EXPECT_EQ(spec.operation.buffers[1].role, BufferRole::inout);
  EXPECT_EQ(spec.operation.accumulator, ElementType::f64);
  EXPECT_EQ(spec.macros.at(0).first, "TILE_SIZE");
  EXPECT_EQ(spec.macros.at(0).second.where.pointer, "/macros/TILE_SIZE");
  ASSERT_TRUE(spec.operation.reference);
  EXPECT_EQ(spec.operation.reference->source, root_ / "kernel_templates/axpy/reference.cu");
  EXPECT_EQ(spec.operation.reference->launch.grid[1].text, "1");
  ASSERT_EQ(spec.workspace.size(), 1U);
  EXPECT_EQ(spec.workspace[0].type, ElementType::f64);
  EXPECT_EQ(spec.workspace[0].elements.text, "n * BLOCK");
  EXPECT_FALSE(spec.workspace[0].zeroed);
}

TEST_F(TemplateTest, ReadsAnOperationsObject) {
  const TemplateSpec spec = load_patched(softmax(), "{}");
  const Operation& operation = spec.operation;
  EXPECT_EQ(operation.name, "row_softmax");
  EXPECT_EQ(operation.types, (std::vector<std::pair<std::string, ElementType>>{
                                 {"T", ElementType::f16}, {"accumulator", ElementType::f32}}));
  EXPECT_EQ(operation.options, (std::vector<std::pair<std::string, std::string>>{{"base", "2"}}));
  ASSERT_EQ(operation.leading_dimensions.size(), 1U);
  EXPECT_EQ(operation.leading_dimensions[0].name, "stride");
  EXPECT_EQ(operation.leading_dimensions[0].columns, "columns");
  ASSERT_EQ(operation.buffers.size(), 3U);
  EXPECT_EQ(operation.buffers[0].type, ElementType::f16);
  EXPECT_EQ(operation.buffers[0].pitch.text, "stride");
  EXPECT_EQ(operation.buffers[1].pitch.text, "columns") << "its rows are dense";
  EXPECT_EQ(operation.buffers[2].type, ElementType::f64);
  EXPECT_EQ(operation.accumulation.text, "columns");
  EXPECT_EQ(operation.bound, Ceiling::copy);
  ASSERT_TRUE(operation.reference);
  EXPECT_TRUE(operation.reference->launch.arguments.empty()) << "the template's";
  EXPECT_FALSE(operation.baseline_library);
  EXPECT_EQ(load_patched(softmax(), R"({"operation": {"name": null}})").operation.name, "softmax");
}

/// The file of an operation "scale" with a kernel as its reference, and a template of it.
class OperationFile : public TemplateTest {
 protected:
  void SetUp() override {
    TemplateTest::SetUp();
    write("kernel_templates/operations/scale/reference.cu", "extern \"C\" __global__ void scale();\n");
    write_operation("{}");
    manifest_ = axpy();
    for (const char* key : {"types", "workspace"}) manifest_.erase(key);
    manifest_.merge_patch(
        Json::parse(R"({"operation": "scale", "arguments": [{"buffer": "y"}, {"buffer": "x"}]})"));
  }

  void write_operation(const char* patch) const {
    Json operation = Json::parse(R"({
      "name": "scale", "summary": "y = 2 * x", "dimensions": ["n"],
      "buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"},
                  {"name": "y", "type": "f32", "elements": "n", "role": "out"}],
      "flops": "n", "bytes": "8 * n", "accumulation": 1, "bound": "copy",
      "reference": {"source": "reference.cu", "kernel": "scale", "grid": ["n"], "block": [1],
                    "arguments": [{"buffer": "x"}, {"buffer": "y"}]}})");
    operation.merge_patch(Json::parse(patch));
    write(kFile, operation.dump());
  }

  static constexpr const char* kFile = "kernel_templates/operations/scale/operation.json";
  Json manifest_;
};

TEST_F(OperationFile, ServesEveryTemplateThatNamesIt) {
  const Operation operation = load_patched(manifest_, "{}").operation;
  EXPECT_EQ(operation.name, "scale");
  EXPECT_EQ(operation.accumulator, ElementType::f32);
  ASSERT_TRUE(operation.reference);
  EXPECT_EQ(operation.reference->folder, root_ / "kernel_templates/operations/scale");
  ASSERT_EQ(operation.reference->launch.arguments.size(), 2U);
  EXPECT_EQ(operation.reference->launch.arguments[0].name, "x") << "whatever the template's order is";
}

TEST_F(OperationFile, Faults) {
  for (
      const Fault& fault : std::vector<Fault>{
          {R"({"name": "scales"})", "/name", {"'scales'", "'scale'"}},
          {R"({"bound": "fma"})", "/bound", {"\"fma\"", "ffma, copy", "'ffma'"}},
          {R"({"accumulation": null})", "", {"'accumulation'", "missing"}},
          {R"({"types": {"T": ["f32", "f8"]}})", "/types/T/1", {"'f8'", "element type", "f16"}},
          {R"({"types": {"T": []}})", "/types/T", {"an empty list", "a list"}},
          {R"({"options": {"base": ["e", "2", "e"]}})", "/options/base/2", {"'e'", "twice"}},
          {R"({"types": {"T": ["f32", "f32"]}})", "/types/T/1", {"'f32'", "twice"}},
          {R"({"options": {"n": ["a"]}})", "/options/n", {"'n'", "(/dimensions/0)"}},
          {R"({"reference": {"arguments": null}})", "/reference", {"'arguments'", "missing"}},
          {R"({"reference": {"source": "../../tile/kernel.cuh"}})",
           "/reference/source",
           {"'../../tile/kernel.cuh'", (root_ / "kernel_templates/operations/scale").string()}},
          {R"({"reference": {"library": "gemm"}})", "/reference/library", {"gemm", "M, N, K"}},
          {R"({"baselines": {"library": "gemm"}})", "/baselines/library", {"gemm", "alpha, beta"}},
          {R"({"buffers": [{"name": "x", "type": "f32", "rows": "n", "columns": 7, "pitch": "p", "role": "out"}]})",
           "/buffers/0/columns",
           {"7", "not a dimension", "the"}}}) {
    write_operation(fault.patch);
    expect_fault(user_error_of([&] { load_patched(manifest_, "{}"); }), fault, (root_ / kFile).string());
  }
}

TEST_F(TemplateTest, AnArgumentMayUseADerivedValue) {
  const auto spec = load_patched(tile(), R"({"arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"},
    {"scalar": "THREADS", "type": "u32"}]})");
  EXPECT_EQ(spec.launches[0].arguments[3].value.text, "THREADS");
}

TEST_F(TemplateTest, AConstraintMayNarrowTheSearchAlone) {
  const TemplateSpec spec =
      load_patched(axpy(), R"({"constraints": [{"require": "true"}, {"require": "true", "narrows": true}]})");
  EXPECT_FALSE(spec.constraints[0].narrows);
  EXPECT_TRUE(spec.constraints[1].narrows);
}

/// The constraints that gemm adds to a manifest without any.
std::vector<std::string> implied(const TemplateSpec& spec) {
  std::vector<std::string> texts;
  for (const Constraint& constraint : spec.constraints)
    texts.push_back(constraint.require.text + ": " + constraint.why);
  return texts;
}

#define LEADING(more)                                                                                                     \
  R"({"constraints": null, "derived": null, "launch": {"grid": [1], "block": [32], "dynamic_shared_bytes": null}, )" more \
  "}"
#define MATRICES R"({"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"})"

TEST_F(TemplateTest, AKernelThatDoesNotLearnOfEveryLeadingDimensionIsForDenseMatrices) {
  const std::vector<std::string> dense{
      "lda == K and ldb == N and ldc == N: the kernel takes dense matrices only"};
  EXPECT_EQ(implied(load_patched(tile(), LEADING(R"("arguments": [)" MATRICES "]"))), dense);
  EXPECT_EQ(implied(load_patched(tile(), LEADING(R"("arguments": [{"scalar": "lda", "type": "i32"},
    {"scalar": "ldb", "type": "i32"}, {"scalar": "ldc", "type": "i32", "value": "N"}, )" MATRICES "]"))),
            dense)
      << "ldc is another scalar's name here";
  EXPECT_EQ(implied(load_patched(tile(), LEADING(R"("arguments": [{"scalar": "lda", "type": "i32"},
    {"scalar": "ldb", "type": "i32"}, {"scalar": "x", "type": "i32", "value": "ldc2 + my_ldc"}, )" MATRICES
                                                 "]"))),
            dense)
      << "parts of other names";
  EXPECT_TRUE(implied(load_patched(axpy(), R"({"constraints": null})")).empty());
}

TEST_F(TemplateTest, AKernelMayLearnOfLeadingDimensionsInAnyWay) {
  EXPECT_TRUE(implied(load_patched(tile(), LEADING(R"("arguments": [{"scalar": "lda", "type": "i32"},
    {"scalar": "ldb", "type": "i64"}, {"scalar": "ldc", "type": "i32"}, )" MATRICES "]")))
                  .empty());
  EXPECT_TRUE(implied(load_patched(tile(), LEADING(R"("template_arguments": ["BM", "ldb"],
    "arguments": [{"scalar": "lda", "type": "i32"}, {"scalar": "row_bytes", "type": "i32", "value": "4*ldc"}, )" MATRICES
                                                   "]")))
                  .empty());
  EXPECT_TRUE(implied(load_patched(tile(), LEADING(R"("template_arguments": null,
    "macros": {"LDA": "lda", "LDB": "ldb", "LDC": "ldc"}, "arguments": [)" MATRICES "]")))
                  .empty());
}

TEST_F(TemplateTest, TheComputeCapabilityMayBeAnExpression) {
  for (const char* text : {"9.0 if PAD else 8.0", "BM"}) {
    const auto spec = load_patched(tile(), Json{{"min_compute_capability", text}}.dump());
    EXPECT_EQ(spec.min_compute_capability.text, text);
    EXPECT_EQ(spec.min_compute_capability.where.pointer, "/min_compute_capability");
  }
}

TEST_F(TemplateTest, IntegersAndFloatsMixAsNumbers) {
  const auto spec =
      load_patched(tile(), R"({"parameters": [{"name": "BM", "values": [1, 2.5, 3], "meaning": "x"}]})");
  EXPECT_EQ(spec.parameters[0].values, (std::vector<Value>{std::int64_t{1}, 2.5, std::int64_t{3}}));
}

#define PARAMETER(values) R"({"parameters": [{"name": "BM", "meaning": "x", "values": )" values "}]}"
#define WORKSPACE(list) R"({"workspace": [)" list "]}"
#define MAP_OF_A(members) \
  R"({"arguments": [{"buffer": "B"}, {"buffer": "C"}, {"tensor_map": "A", )" members "}]}"
#define ARGUMENTS(list) R"({"arguments": [)" list "]}"

TEST_F(TemplateTest, WhatExplainsMayBeLeftOut) {
  const TemplateSpec spec = load_patched(tile(), R"({"parameters": [{"name": "BM", "values": [1]}],
      "derived": [{"name": "THREADS", "value": "BM"}], "constraints": [{"require": "BM > 0"}]})");
  EXPECT_EQ(spec.parameters[0].meaning, "");
  EXPECT_EQ(spec.derived[0].meaning, "");
  EXPECT_EQ(spec.constraints[0].why, "");
}

TEST_F(TemplateTest, ValuesMayBeRangesAndListsJoined) {
  const auto values = [&](const std::string& text) {
    std::string found;
    const std::string patch = R"({"parameters": [{"name": "BM", "values": ")" + text + R"("}]})";
    const TemplateSpec spec = load_patched(tile(), patch.c_str());
    for (const Value& value : spec.parameters[0].values) found += to_text(value) + " ";
    return found;
  };
  EXPECT_EQ(values("range(16, 65, 16)"), "16 32 48 64 ");
  EXPECT_EQ(values("range(3)"), "0 1 2 ");
  EXPECT_EQ(values("range(3, 0, -1)"), "3 2 1 ");
  EXPECT_EQ(values("[1, 2] + range(4, 9, 4) + [100]"), "1 2 4 8 100 ");
  EXPECT_EQ(values("[0.5]+[2]"), "0.5 2 ");
}

TEST_F(TemplateTest, CommentsAreLeftOut) {
  std::string text = tile().dump(2);
  text.insert(1, " // what this is\n /* and\n more */");
  write("kernel_templates/tile/template.json", text);
  EXPECT_EQ(load_template(root_ / "kernel_templates/tile/template.json", options_).name, "tile");
}

TEST_F(TemplateTest, FaultsOfRanges) {
  for (const char* text :
       {"range()", "range(1, 2, 3, 4)", "range(1.5)", "range(3", "[1, 2", "[1] + ", "[1] [2]", "1, 2",
        "range(0, 9223372036854775807, 1)", "range(a)", "[1] * 2", "+"}) {
    const std::string patch = std::string(R"({"parameters": [{"name": "BM", "values": ")") + text + R"("}]})";
    const UserError error = user_error_of([&] { load_patched(tile(), patch.c_str()); });
    EXPECT_EQ(error.where().pointer, "/parameters/0/values") << text;
    EXPECT_NE(error.remedy().find("range(4, 65, 4)"), std::string::npos) << text;
  }
  expect_faults(
      tile(),
      {Fault{PARAMETER("\"range(0, 9, 0)\""), "/parameters/0/values", {"step 0"}},
       Fault{PARAMETER("\"range(0, 1000000000)\""), "/parameters/0/values", {"100000 values", "shorter"}},
       Fault{PARAMETER("\"range(0)\""), "/parameters/0/values", {"an empty list"}},
       Fault{PARAMETER("\"[1, 2] + range(2, 4)\""), "/parameters/0/values/2", {"2", "twice"}}});
}

TEST_F(TemplateTest, FaultsOfKeys) {
  expect_faults(
      tile(),
      {Fault{R"({"paramters": []})", "/paramters", {"'paramters'", "'parameters'"}},
       Fault{R"({"launch": {"grids": ["1"]}})", "/launch/grids", {"'grids'", "'grid'"}},
       Fault{R"({"launch": {"a/b~c": 1}})",
             "/launch/a~1b~0c",
             {"'a/b~c'", "grid, block, dynamic_shared_bytes"}},
       Fault{R"({"types": {"D": "f32"}})", "/types/D", {"'D'", "'A'"}},
       Fault{R"({"operation": null})", "", {"'operation'", "missing", "\"operation\""}},
       Fault{R"({"source": null})", "", {"'source'", "missing", "\"source\""}},
       Fault{R"({"launch": {"grid": null}})", "/launch", {"'grid'", "missing", "\"grid\""}},
       Fault{R"({"constraints": [{"why": "true"}]})", "/constraints/0", {"'require'", "missing"}},
       Fault{R"({"parameters": [{"name": "BM"}]})", "/parameters/0", {"'values'", "missing", "range("}},
       Fault{R"({"dimensions": ["M"]})", "/dimensions", {"'dimensions'", "unknown key"}},
       Fault{
           R"({"operation": "custom", "dimensions": ["M"]})", "/operation", {"0.1", "accumulation", "docs/"}},
       Fault{R"({"macros": {"X": 1}})", "/macros", {"'template_arguments'", "'macros'"}}});
}

TEST_F(TemplateTest, FaultsOfTypes) {
  expect_faults(
      tile(),
      {

          Fault{R"({"launch": {"grid": "BM"}})", "/launch/grid", {"a string", "a list", "[\"BM\"]"}},
          Fault{R"({"launch": {"grid": [1, 1, 1, 1]}})", "/launch/grid", {"a list", "4", "1"}},
          Fault{R"({"launch": {"block": [" "]}})", "/launch/block/0", {"an empty string", "an expression"}},
          Fault{R"({"launch": {"block": [{}]}})", "/launch/block/0", {"an object", "an expression"}},
          Fault{R"({"launch": []})", "/launch", {"a list", "an object"}},
          Fault{R"({"kernel": 7})", "/kernel", {"an integer", "a name", "\"7\""}},
          Fault{R"({"kernel": "7up"})", "/kernel", {"'7up'", "not a name"}},
          Fault{R"({"summary": ""})", "/summary", {"an empty string", "a string"}},
          Fault{R"({"operation": "gem"})", "/operation", {"'gem'", "'gemm'"}},
          Fault{R"({"types": {"A": "float"}})", "/types/A", {"\"float\"", "f32, f16, bf16, f64"}},
          Fault{R"({"pipe": "f16"})", "/pipe", {"f16x3"}},
          Fault{R"({"tolerance_factor": 0})", "/tolerance_factor", {"0", "a number"}},
          Fault{R"({"tolerance_factor": "2"})", "/tolerance_factor", {"a string", "a number", "0", "2"}},
          Fault{
              R"({"min_compute_capability": "sm_70"})", "/min_compute_capability", {"\"sm_70\"", "\"7.0\""}},
          Fault{R"({"min_compute_capability": "80"})", "/min_compute_capability", {"\"80\"", "\"7.0\""}},
          Fault{R"({"min_compute_capability": 7.5})",
                "/min_compute_capability",
                {"a number", "\"7.0\"", "\"7.5\""}},
          Fault{R"({"compile_options": ["-G", null, 3]})", "/compile_options/1", {"null", "a string"}}});
}

TEST_F(TemplateTest, FaultsOfParameterValues) {
  expect_faults(
      tile(),
      {Fault{PARAMETER("[]"), "/parameters/0/values", {"an empty list", "a list"}},
       Fault{PARAMETER("128"), "/parameters/0/values", {"an integer", "a list", "[128]"}},
       Fault{PARAMETER("[1, true]"), "/parameters/0/values/1", {"a boolean"}},
       Fault{PARAMETER("[\"1\", 2.5]"), "/parameters/0/values/1", {"a number"}},
       Fault{PARAMETER("[1, 2, 1.0]"), "/parameters/0/values/2", {"1.0", "twice", "/parameters/0/values/0"}},
       Fault{PARAMETER("[1, null]"), "/parameters/0/values/1", {"null"}},
       Fault{PARAMETER("[18446744073709551615]"),
             "/parameters/0/values/0",
             {"18446744073709551615", "out of range", "64 bits"}},
       Fault{PARAMETER("\"[18446744073709551616] + range(3)\""),
             "/parameters/0/values",
             {"18446744073709551616", "out of range"}}});
}

TEST_F(TemplateTest, FaultsOfNames) {
  expect_faults(tile(), {Fault{R"({"name": "other"})", "/name", {"'other'", "'tile'"}},
                         Fault{R"({"parameters": [{"name": "K", "values": [1], "meaning": "x"}]})",
                               "/parameters/0/name",
                               {"'K'", "(/dimensions/2)"}},
                         Fault{R"({"derived": [{"name": "BM", "value": 1, "meaning": "x"}]})",
                               "/derived/0/name",
                               {"'BM'", "(/parameters/0/name)"}},
                         Fault{R"({"derived": [{"name": "beta", "value": 1, "meaning": "x"}]})",
                               "/derived/0/name",
                               {"'beta'", "(/scalars/beta)"}},
                         Fault{R"({"derived": [{"name": "multiprocessors", "value": 1, "meaning": "x"}]})",
                               "/derived/0/name",
                               {"'multiprocessors'", "GPU"}},
                         Fault{R"({"template_arguments": null, "macros": {"A-B": 1}})",
                               "/macros/A-B",
                               {"'A-B'", "not a name"}}});
}

TEST_F(TemplateTest, FaultsOfArguments) {
  expect_faults(
      tile(),
      {

          Fault{ARGUMENTS(R"({"buffer": "A"}, {"buffer": "C"})"),
                "/arguments",
                {"'B'", "not passed", "{\"buffer\": \"B\"}"}},
          Fault{ARGUMENTS(R"({"buffer": "D"})"), "/arguments/0/buffer", {"'D'", "'A'"}},
          Fault{ARGUMENTS(R"({"scalar": "alhpa", "type": "f32"})"),
                "/arguments/0/scalar",
                {"'alhpa'", "not a dimension", "\"value\"", "'alpha'"}},
          Fault{ARGUMENTS(R"({"scalar": "M"})"), "/arguments/0", {"'type'", "missing", "\"i32\""}},
          Fault{
              ARGUMENTS(R"({"scalar": "M", "type": "int"})"), "/arguments/0/type", {"\"int\"", "f16, bf16"}},
          Fault{ARGUMENTS(R"({"buffer": "A", "type": "f32"})"), "/arguments/0/type", {"'type'", "no effect"}},
          Fault{ARGUMENTS(R"({"buffer": "A", "scalar": "M"})"),
                "/arguments/0",
                {"'buffer'", "'scalar'", "'tensor_map'"}},
          Fault{ARGUMENTS("{}"), "/arguments/0", {"'buffer'", "'scalar'", "'tensor_map'"}},
          Fault{ARGUMENTS(""), "/arguments", {"'A'", "not passed"}}});
}

TEST_F(TemplateTest, ReadsTensorMaps) {
  const auto spec = load_patched(tile(), MAP_OF_A(R"("extents": ["K", "M", 2], "pitches": ["K", "K * M"],
      "box": [64, "BM", 1], "swizzle": "128B", "promotion": "none", "offset": "K * 8", "when": "PAD")"));
  const Argument& argument = spec.launches[0].arguments[2];
  EXPECT_EQ(argument.kind, Argument::Kind::tensor_map);
  EXPECT_EQ(argument.name, "A") << "and A counts as passed";
  EXPECT_EQ(argument.tensor_map->type, ElementType::f16);
  EXPECT_EQ(argument.tensor_map->pitches[1].text, "K * M");
  EXPECT_EQ(argument.tensor_map->pitches[1].where.pointer, "/arguments/2/pitches/1");
  EXPECT_EQ(argument.tensor_map->swizzle.text, "'128B'");
  EXPECT_EQ(argument.tensor_map->promotion.text, "'none'");
  EXPECT_EQ(argument.tensor_map->offset.text, "K * 8");
  EXPECT_EQ(argument.tensor_map->when.text, "PAD");
  const auto of_vector = load_patched(
      tile(),
      MAP_OF_A(R"("extents": ["K"], "pitches": [], "box": [64], "swizzle": "'32B' if PAD else 'none'")"));
  EXPECT_EQ(of_vector.launches[0].arguments[2].tensor_map->swizzle.text, "'32B' if PAD else 'none'");
}

TEST_F(TemplateTest, FaultsOfTensorMaps) {
  expect_faults(
      tile(),
      {Fault{MAP_OF_A(R"("extents": ["K", "M"], "pitches": ["K"])"), "/arguments/2", {"'box'", "missing"}},
       Fault{MAP_OF_A(R"("extents": ["K", "M"], "pitches": ["K", "M"], "box": [1, 1])"),
             "/arguments/2/pitches",
             {"2", "1", "\"extents\""}},
       Fault{MAP_OF_A(R"("extents": ["K", "M"], "pitches": ["K"], "box": [1])"),
             "/arguments/2/box",
             {"1", "2", "\"extents\""}},
       Fault{MAP_OF_A(R"("extents": [1, 1, 1, 1, 1, 1], "pitches": [1], "box": [1])"),
             "/arguments/2/extents",
             {"6", "5"}},
       Fault{MAP_OF_A(R"("extents": ["K"], "pitches": [], "box": [1], "type": "f32")"),
             "/arguments/2/type",
             {"'type'", "no effect"}}});
}

TEST_F(TemplateTest, FaultsOfWorkspace) {
  expect_faults(
      axpy(),
      {Fault{WORKSPACE(R"({"name": "y", "type": "f32", "elements": 1, "meaning": "x"})"),
             "/workspace/0/name",
             {"'y'", "(/operation/buffers/1/elements)"}},
       Fault{WORKSPACE(R"({"name": "partials", "type": "f32", "elements": 1, "meaning": "x"},
                          {"name": "partials", "type": "u32", "elements": 1, "meaning": "x"})"),
             "/workspace/1/name",
             {"'partials'", "(/workspace/0/name)"}},
       Fault{WORKSPACE(R"({"name": "tickets", "type": "u32", "elements": 1, "meaning": "x"},
                          {"name": "partials", "type": "u32", "elements": 1, "meaning": "x"})"),
             "/arguments",
             {"'tickets'", "not passed", "{\"buffer\": \"tickets\"}"}},
       Fault{WORKSPACE(R"({"name": "partials", "type": "byte", "elements": 1, "meaning": "x"})"),
             "/workspace/0/type",
             {"\"byte\"", "f16, bf16"}},
       Fault{WORKSPACE(R"({"name": "partials", "type": "u32", "elements": 1, "zeroed": 1, "meaning": "x"})"),
             "/workspace/0/zeroed",
             {"an integer", "true or false"}},
       Fault{R"({"workspace": null})", "/arguments/4/buffer", {"'partials'", "x, y"}}});
}

TEST_F(TemplateTest, FaultsOfOperation) {
  expect_faults(
      axpy(),
      {

          Fault{R"({"operation": {"dimensions": null}})", "/operation", {"'dimensions'", "missing"}},
          Fault{R"({"operation": {"dimensions": []}})", "/operation/dimensions", {"an empty list", "a list"}},
          Fault{R"({"operation": {"dimensions": ["n", "n"]}})",
                "/operation/dimensions/1",
                {"'n'", "(/operation/dimensions/0)"}},
          Fault{R"({"operation": {"scalars": {"n": 1}}})",
                "/operation/scalars/n",
                {"'n'", "(/operation/dimensions/0)"}},
          Fault{R"({"operation": {"scalars": {"2a": 1}}})", "/operation/scalars/2a", {"'2a'", "not a name"}},
          Fault{R"({"operation": {"scalars": {"a": "x"}}})", "/operation/scalars/a", {"a string"}},
          Fault{R"({"types": {"A": "f32"}})", "/types/A", {"'A'", "accumulator"}},
          Fault{R"({"operation": {"flops": null}})", "/operation", {"'flops'", "missing"}},
          Fault{R"({"operation": {"bytes": null}})", "/operation", {"'bytes'", "missing"}},
          Fault{R"({"operation": {"reference": null}})", "/operation", {"'reference'", "missing"}},
          Fault{R"({"operation": {"reference": {"block": null}}})",
                "/operation/reference",
                {"'block'", "missing"}},
          Fault{R"({"operation": {"reference": {"source": "refrence.cu"}}})",
                "/operation/reference/source",
                {"'refrence.cu'", "'reference.cu'"}},
          Fault{
              R"({"operation": {"buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"}]}})",
              "/operation/buffers",
              {"\"out\"", "\"inout\""}},
          Fault{
              R"({"operation": {"buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "output"}]}})",
              "/operation/buffers/0/role",
              {"\"output\"", "in, out, inout"}},
          Fault{R"({"operation": {"buffers": [{"name": "x", "type": "f32", "elements": 1, "role": "in"},
                              {"name": "x", "type": "f32", "elements": 1, "role": "out"}]}})",
                "/operation/buffers/1/name",
                {"'x'", "(/operation/buffers/0/name)"}}});
}

TEST_F(TemplateTest, RefusesTooManyValues) {
  Json document = tile();
  Json& values = document["parameters"][0]["values"];
  for (std::size_t i = values.size(); i < kMostValues; ++i) values.push_back(1000 + i);
  EXPECT_EQ(load_patched(document, "{}").parameters[0].values.size(), kMostValues);
  values.push_back(1);
  const UserError error = user_error_of([&] { load_patched(document, "{}"); });
  EXPECT_TRUE(carries(error.message(), {"100001", "100000"}));
  EXPECT_EQ(error.where().pointer, "/parameters/0/values");
}

TEST_F(TemplateTest, TheSourceStaysInTheFolder) {
  write("kernel_templates/secret.cuh", "");
  const std::string absolute = root_ / "kernel_templates/secret.cuh";
  const std::vector<std::string> outside{"../secret.cuh", absolute, "sub/../../secret.cuh", "/etc/hostname"};
  for (const std::string& path : outside) {
    const UserError error = user_error_of([&] { load_patched(tile(), Json{{"source", path}}.dump()); });
    EXPECT_TRUE(carries(error.message(), {"'" + path + "'", (root_ / "kernel_templates/tile").string()}));
    EXPECT_EQ(error.where().pointer, "/source");
  }
  options_.allow_outside_paths = true;
  EXPECT_EQ(load_patched(tile(), R"({"source": "../secret.cuh"})").source,
            root_ / "kernel_templates/secret.cuh");
}

TEST_F(TemplateTest, CompiledKernelsAreNamedByAPathThatFollowsParameters) {
  const Json plain{{"template_arguments", nullptr}, {"compile_options", nullptr}};
  const auto patched = [&](Json patch) {
    Json document = tile();
    document.merge_patch(plain);
    document.merge_patch(patch);
    return load_patched(document, "{}");
  };
  EXPECT_EQ(patched({{"source", "cubins/{BM}.cubin"}}).source, "cubins/{BM}.cubin") << "none need be there";
  const Json options{"--maxrregcount=64"};
  EXPECT_EQ(patched({{"source", "{BM}.ptx"}, {"compile_options", options}}).compile_options.size(), 1U);
  for (const auto& [patch, pointer] : std::vector<std::pair<Json, std::string>>{
           {{{"source", "a.cubin"}, {"compile_options", options}}, "/compile_options"},
           {{{"source", "a.ptx"}, {"macros", {{"BM", "BM"}}}}, "/macros"},
           {{{"source", "a.ptx"}, {"template_arguments", {"BM"}}}, "/template_arguments/0"}}) {
    const UserError error = user_error_of([&] { patched(patch); });
    EXPECT_EQ(error.where().pointer, pointer);
    EXPECT_TRUE(carries(error.message(), {patch["source"].get<std::string>()}));
  }
}

TEST_F(TemplateTest, OptionsThatOnlyNvccHasAreLeftOut) {
  const auto with = [&](const std::vector<std::string>& options) {
    return load_patched(tile(), Json{{"compile_options", options}}.dump());
  };
  for (const std::string option :
       {"-O3", "--optimize=2", "-arch=sm_80", "--gpu-architecture=sm_80",
        "-gencode=arch=compute_80,code=sm_80", "-arch sm_80", "-m64", "--machine=64", "-Xcompiler=-Wall",
        "--compiler-options=-fPIC", "-lcublas", "-g", "--expt-relaxed-constexpr", "--extended-lambda",
        "-rdc=false", "-ccbin=g++"}) {
    const TemplateSpec spec = with({option, "-lineinfo"});
    EXPECT_EQ(spec.nvcc_options, std::vector<std::string>{option});
    EXPECT_EQ(spec.compile_options, (std::vector<std::string>{"", "-lineinfo"})) << "each keeps its place";
  }
  const TemplateSpec apart = with(
      {"-Xcompiler", "-O3", "--maxrregcount", "64", "-D", "A=1", "-gencode", "arch=a,code=b", "-m", "64"});
  EXPECT_EQ(apart.compile_options,
            (std::vector<std::string>{"", "", "--maxrregcount=64", "", "-DA=1", "", "", "", "", ""}));
  EXPECT_EQ(apart.nvcc_options,
            (std::vector<std::string>{"-Xcompiler=-O3", "-gencode=arch=a,code=b", "-m=64"}));
  EXPECT_EQ(with({"-std=c++11", "--std=c++17", "-std", "c++0x"}).compile_options,
            (std::vector<std::string>{"--std=c++14", "--std=c++17", "--std=c++14", ""}));
  const std::vector<std::string> others{
      "-lineinfo", "-m32", "-rdc=true", "--Ofast-compile=mid", "-dc", "--unknown=1", "-I.", "-DO3", "-O"};
  EXPECT_EQ(with(others).compile_options, others) << "the compiler's checks are for them";
}

TEST_F(TemplateTest, IncludeFoldersStayInTheFolder) {
  write("kernel_templates/tile/include/a.hpp", "");
  write("library/a.hpp", "");
  const auto folders = [&](const std::string& path) {
    return load_patched(tile(), Json{{"include_folders", {"include", path}}}.dump()).include_folders;
  };
  EXPECT_TRUE(load_patched(tile(), "{}").include_folders.empty());
  for (const std::string path : {"../../library", "include/missing", "kernel.cuh"}) {
    const UserError error = user_error_of([&] { folders(path); });
    EXPECT_TRUE(carries(error.message(), {"'" + path + "'"}));
    EXPECT_EQ(error.where().pointer, "/include_folders/1");
  }
  options_.allow_outside_paths = true;
  EXPECT_EQ(folders("../../library"),
            (std::vector{root_ / "kernel_templates/tile/include", root_ / "library"}));
}

TEST_F(TemplateTest, ASymbolicLinkDoesNotLeaveTheFolderEither) {
  write("outside.cuh", "");
  std::filesystem::create_symlink(root_ / "outside.cuh", root_ / "kernel_templates/tile/link.cuh");
  const UserError error = user_error_of([&] { load_patched(tile(), R"({"source": "link.cuh"})"); });
  EXPECT_TRUE(carries(error.message(), {"'link.cuh'"}));
}

TEST_F(TemplateTest, TheSourceIsAnExistingFile) {
  UserError error = user_error_of([&] { load_patched(tile(), R"({"source": "kernl.cuh"})"); });
  EXPECT_TRUE(carries(error.message(), {"'kernl.cuh'"}));
  EXPECT_TRUE(carries(error.remedy(), {"'kernel.cuh'"}));
  error = user_error_of([&] { load_patched(tile(), R"({"source": "."})"); });
  EXPECT_TRUE(carries(error.message(), {"'.'", "not a file"}));
  error = user_error_of([&] { load_patched(tile(), R"({"source": "kernel.cuh\u0000x"})"); });
  EXPECT_TRUE(carries(error.message(), {"null character"}));
}

TEST_F(TemplateTest, RefusesTooManyParts) {
  Json document = tile();
  for (std::size_t i = document["parameters"].size(); i <= kMostParts; ++i)
    document["parameters"].push_back(
        {{"name", "P" + std::to_string(i)}, {"values", {1}}, {"meaning", "one"}});
  UserError error = user_error_of([&] { load_patched(document, "{}"); });
  EXPECT_TRUE(carries(error.message(), {"257", "256"}));
  EXPECT_EQ(error.where().pointer, "/parameters");
  document["parameters"].erase(kMostParts);
  EXPECT_EQ(load_patched(document, "{}").parameters.size(), kMostParts);

  document = tile();
  document.erase("template_arguments");
  for (std::size_t i = 0; i <= kMostParts; ++i) document["macros"]["M" + std::to_string(i)] = 1;
  error = user_error_of([&] { load_patched(document, "{}"); });
  EXPECT_TRUE(carries(error.message(), {"257 members", "256"}));
  EXPECT_EQ(error.where().pointer, "/macros");
}

TEST_F(TemplateTest, RefusesLongNamesAndValues) {
  const std::string longest(kLongestName, 'x');
  EXPECT_EQ(load_patched(tile(), Json{{"kernel", longest}}.dump()).launches[0].kernel, longest);
  UserError error = user_error_of([&] { load_patched(tile(), Json{{"kernel", longest + "x"}}.dump()); });
  EXPECT_TRUE(carries(error.message(), {"1025", "1024"}));
  Json document = tile();
  document["parameters"][0]["values"] = {longest};
  EXPECT_EQ(load_patched(document, "{}").parameters[0].values.front(), Value{longest});
  document["parameters"][0]["values"] = {longest + "x"};
  error = user_error_of([&] { load_patched(document, "{}"); });
  EXPECT_TRUE(carries(error.message(), {"1025", "1024"}));
  EXPECT_EQ(error.where().pointer, "/parameters/0/values/0");
}

TEST_F(TemplateTest, AManifestStaysInItsFolder) {
  namespace fs = std::filesystem;
  const auto manifest = write("kernel_templates/tile/template.json", tile().dump());
  fs::rename(manifest, root_ / "elsewhere.json");
  fs::create_symlink(root_ / "elsewhere.json", manifest);
  EXPECT_TRUE(carries(user_error_of([&] { load_template(manifest, options_); }).message(),
                      {manifest.parent_path().string()}));
  LoadOptions outside = options_;
  outside.allow_outside_paths = true;
  EXPECT_EQ(load_template(manifest, outside).name, "tile");
}

TEST_F(TemplateTest, SyntaxErrorsHaveLineAndColumn) {
  const auto manifest = write("kernel_templates/tile/template.json", "{\n  \"name\": tile\n}");
  const UserError error = user_error_of([&] { load_template(manifest, options_); });
  EXPECT_EQ(error.where().file, manifest.string());
  EXPECT_NE(error.where().pointer.find("line 2, column"), std::string::npos);
}

}  // namespace template_test
}  // namespace tiletune
