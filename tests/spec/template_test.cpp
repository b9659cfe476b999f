#include "fixture.h"
#include "spec/values.h"

namespace tiletune {
namespace {

class TemplateTest : public SpecTest {
 protected:
  /// Breaks the manifest by each fault's patch in turn.
  void expect_faults(const Json& manifest, const std::vector<Fault>& faults) const {
    for (const Fault& fault : faults) {
      const auto file = write_manifest(manifest, fault.patch);
      expect_fault(error_of([&] { load_template(file, options_); }), fault, file.string());
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
  EXPECT_EQ(spec.operation.baselines, LibraryOperation::gemm);
  EXPECT_EQ(spec.source, root_ / "kernel_templates/tile/kernel.cuh");
  EXPECT_EQ(spec.parameters[1].values, (std::vector<Value>{true, false}));
  EXPECT_EQ(spec.derived[0].value.where.pointer, "/derived/0/value");
  EXPECT_EQ(spec.constraints[0].require.where.text(),
            (root_ / "kernel_templates/tile/template.json").string() + ": /constraints/0/require");
  EXPECT_EQ(spec.arguments[1].value.text, "N");
  EXPECT_EQ(spec.arguments[2].value.text, "alpha");
  EXPECT_EQ(spec.arguments[3].kind, Argument::Kind::buffer);
  EXPECT_EQ(spec.min_compute_capability.text, "7.0");
  EXPECT_EQ(spec.tolerance_factor, 2.5);
  EXPECT_FALSE(spec.operation.reference);
}

TEST_F(TemplateTest, NumbersAndBooleansStandForTheirText) {
  const TemplateSpec spec = load_patched(tile(), R"({"launch": {"block": [256, 0.5]}})");
  EXPECT_EQ(spec.template_arguments[1].text, "4");
  EXPECT_EQ(spec.template_arguments[2].text, "true");
  EXPECT_EQ(spec.launch.block[0].text, "256");
  EXPECT_EQ(spec.launch.block[1].text, "0.5");
  EXPECT_EQ(spec.launch.block[2].text, "1");
}

TEST_F(TemplateTest, WhatMayBeLeftOutHasDefaults) {
  const TemplateSpec spec = load_patched(tile(), R"({"$schema": null, "teaches": null, "types": null,
    "template_arguments": null, "compile_options": null, "parameters": null, "derived": null, "constraints": null,
    "launch": {"grid": [1], "dynamic_shared_bytes": null}, "min_compute_capability": null, "tolerance_factor": null})");
  EXPECT_EQ(spec.operation.buffers[0].type, ElementType::f32);
  EXPECT_EQ(spec.operation.accumulator, ElementType::f32);
  EXPECT_EQ(spec.launch.dynamic_shared_bytes.text, "0");
  EXPECT_EQ(spec.tolerance_factor, 1.0);
  EXPECT_TRUE(spec.parameters.empty());
  EXPECT_TRUE(spec.template_arguments.empty());
}

TEST_F(TemplateTest, ReadsACustomOperation) {
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
  EXPECT_EQ(spec.operation.reference->grid[1].text, "1");
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
  EXPECT_TRUE(operation.reference->arguments.empty()) << "the template's";
  EXPECT_FALSE(operation.baselines);
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
    for (const char* key :
         {"types", "dimensions", "scalars", "buffers", "flops", "bytes", "reference", "workspace"})
      manifest_.erase(key);
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
  ASSERT_EQ(operation.reference->arguments.size(), 2U);
  EXPECT_EQ(operation.reference->arguments[0].name, "x") << "whatever the template's order is";
}

TEST_F(OperationFile, Faults) {
  for (
      const Fault& fault : std::vector<Fault>{
          {R"({"name": "scales"})", "/name",
           "the operation is named 'scales', but its folder is named 'scale'", "the same name"},
          {R"({"bound": "fma"})", "/bound", R"(found "fma", expected one of ffma, copy)",
           "Did you mean 'ffma'?"},
          {R"({"accumulation": null})", "", "the key 'accumulation' is missing", "terms that are added up"},
          {R"({"types": {"T": ["f32", "f8"]}})", "/types/T/1", "'f8' is not an element type",
           "Use one of f16"},
          {R"({"types": {"T": []}})", "/types/T", "found an empty list, expected a list of texts",
           "at least one"},
          {R"({"options": {"n": ["a"]}})", "/options/n",
           "the name 'n' is taken by a dimension (/dimensions/0)", "Rename one"},
          {R"({"reference": {"arguments": null}})", "/reference", "the key 'arguments' is missing",
           "the reference kernel's arguments"},
          {R"({"reference": {"source": "../../tile/kernel.cuh"}})", "/reference/source",
           "'../../tile/kernel.cuh' leaves the folder " +
               (root_ / "kernel_templates/operations/scale").string(),
           "allow-outside-paths"},
          {R"({"reference": {"library": "gemm"}})", "/reference/library",
           "the library gemm computes another operation", "It has the dimensions M, N, K"},
          {R"({"baselines": {"library": "gemm"}})", "/baselines/library",
           "the library gemm computes another operation", "the scalars alpha, beta"},
          {R"({"buffers": [{"name": "x", "type": "f32", "rows": "n", "columns": 7, "pitch": "p", "role": "out"}]})",
           "/buffers/0/columns", "the rows of a matrix with a pitch have 7 elements, not a dimension",
           "Name one of the dimensions n."}}) {
    write_operation(fault.patch);
    expect_fault(error_of([&] { load_patched(manifest_, "{}"); }), fault, (root_ / kFile).string());
  }
}

TEST_F(TemplateTest, AnArgumentMayUseADerivedValue) {
  const auto spec = load_patched(tile(), R"({"arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"},
    {"scalar": "THREADS", "type": "u32"}]})");
  EXPECT_EQ(spec.arguments[3].value.text, "THREADS");
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

TEST_F(TemplateTest, FaultsOfKeys) {
  expect_faults(
      tile(),
      {Fault{R"({"paramters": []})", "/paramters", "unknown key 'paramters'", "Did you mean 'parameters'?"},
       Fault{R"({"launch": {"grids": ["1"]}})", "/launch/grids", "unknown key 'grids'",
             "Did you mean 'grid'?"},
       Fault{R"({"launch": {"a/b~c": 1}})", "/launch/a~1b~0c", "unknown key 'a/b~c'",
             "Known: grid, block, dynamic_shared_bytes."},
       Fault{R"({"types": {"D": "f32"}})", "/types/D", "the operation has no type variable 'D'",
             "Did you mean 'A'?"},
       Fault{R"({"operation": null})", "", "the key 'operation' is missing",
             R"(Add "operation": the name of an operation)"},
       Fault{R"({"source": null})", "", "the key 'source' is missing", R"(Add "source": the kernel's file.)"},
       Fault{R"({"launch": {"grid": null}})", "/launch", "the key 'grid' is missing",
             "Add \"grid\": a list of one"},
       Fault{R"({"constraints": [{"require": "true"}]})", "/constraints/0", "the key 'why' is missing",
             "the reason of the constraint"},
       Fault{R"({"parameters": [{"name": "BM", "values": [1]}]})", "/parameters/0",
             "the key 'meaning' is missing", "one line on what the parameter means"},
       Fault{R"({"dimensions": ["M"]})", "/dimensions", "'dimensions' has no effect here",
             "the operation gemm has its own"},
       Fault{R"({"macros": {"X": 1}})", "/macros", "found both 'template_arguments' and 'macros'",
             "Keep one"}});
}

TEST_F(TemplateTest, FaultsOfTypes) {
  expect_faults(
      tile(),
      {

          Fault{R"({"launch": {"grid": "BM"}})", "/launch/grid",
                "found a string, expected a list of one to three expressions",
                R"(Write it in brackets: ["BM"].)"},
          Fault{R"({"launch": {"grid": [1, 1, 1, 1]}})", "/launch/grid",
                "found a list of 4, expected a list of one to three expressions", "those left out are 1"},
          Fault{R"({"launch": {"block": [" "]}})", "/launch/block/0",
                "found an empty string, expected an expression", "Fill it in"},
          Fault{R"({"launch": {"block": [{}]}})", "/launch/block/0",
                "found an object, expected an expression (a string or a number)", "Replace it"},
          Fault{R"({"launch": []})", "/launch", "found a list, expected an object",
                "Replace it with an object."},
          Fault{R"({"kernel": 7})", "/kernel", "found an integer, expected a name",
                R"(Write it in quotes: "7".)"},
          Fault{R"({"kernel": "7up"})", "/kernel", "'7up' is not a name", "no digit first"},
          Fault{R"({"summary": ""})", "/summary", "found an empty string, expected a string", "Fill it in"},
          Fault{R"({"operation": "gem"})", "/operation", "there is no operation 'gem'",
                "Did you mean 'gemm'?"},
          Fault{R"({"types": {"A": "float"}})", "/types/A",
                R"(found "float", expected one of f32, f16, bf16, f64, i32, u32)", "Known: f32"},
          Fault{R"({"tolerance_factor": 0})", "/tolerance_factor", "found 0, expected a number above 0",
                "Replace it with a number above 0."},
          Fault{R"({"tolerance_factor": "2"})", "/tolerance_factor",
                "found a string, expected a number above 0", "Write it without quotes: 2."},
          Fault{R"({"min_compute_capability": "sm_70"})", "/min_compute_capability",
                R"(found "sm_70", expected a compute capability such as "7.0")", "major and minor"},
          Fault{R"({"min_compute_capability": "80"})", "/min_compute_capability",
                R"(found "80", expected a compute capability such as "7.0")", "with a dot between them"},
          Fault{R"({"min_compute_capability": 7.5})", "/min_compute_capability",
                R"(found a number, expected a compute capability such as "7.0")",
                R"(Write it in quotes: "7.5".)"},
          Fault{R"({"compile_options": ["-G", null, 3]})", "/compile_options/1",
                "found null, expected a string", "Replace it with a string."}});
}

TEST_F(TemplateTest, FaultsOfParameterValues) {
  expect_faults(
      tile(), {Fault{PARAMETER("[]"), "/parameters/0/values",
                     "found an empty list, expected a list of values", "at least one"},
               Fault{PARAMETER("128"), "/parameters/0/values", "found an integer, expected a list of values",
                     "Write it in brackets: [128]."},
               Fault{PARAMETER("[1, true]"), "/parameters/0/values/1", "found a boolean among numbers",
                     "all booleans"},
               Fault{PARAMETER("[\"1\", 2.5]"), "/parameters/0/values/1", "found a number among strings",
                     "all strings"},
               Fault{PARAMETER("[1, 2, 1.0]"), "/parameters/0/values/2", "the value 1.0 is listed twice",
                     "the first is at /parameters/0/values/0"},
               Fault{PARAMETER("[1, null]"), "/parameters/0/values/1",
                     "found null, expected a value (a boolean, a number or a string)", "Replace it"},
               Fault{PARAMETER("[18446744073709551615]"), "/parameters/0/values/0",
                     "found the number 18446744073709551615, which is out of range", "64 bits"}});
}

TEST_F(TemplateTest, FaultsOfNames) {
  expect_faults(
      tile(),
      {Fault{R"({"name": "other"})", "/name", "the template is named 'other', but its folder is named 'tile'",
             "the same name"},
       Fault{R"({"parameters": [{"name": "K", "values": [1], "meaning": "x"}]})", "/parameters/0/name",
             "the name 'K' is taken by a dimension (/dimensions/2)", "Rename one"},
       Fault{R"({"derived": [{"name": "BM", "value": 1, "meaning": "x"}]})", "/derived/0/name",
             "the name 'BM' is taken by a parameter (/parameters/0/name)", "Rename one"},
       Fault{R"({"derived": [{"name": "beta", "value": 1, "meaning": "x"}]})", "/derived/0/name",
             "the name 'beta' is taken by a scalar (/scalars/beta)", "Rename one"},
       Fault{R"({"derived": [{"name": "multiprocessors", "value": 1, "meaning": "x"}]})", "/derived/0/name",
             "the name 'multiprocessors' is taken by the GPU's number of multiprocessors", "Rename it."},
       Fault{R"({"template_arguments": null, "macros": {"A-B": 1}})", "/macros/A-B", "'A-B' is not a name",
             "letters"}});
}

TEST_F(TemplateTest, FaultsOfArguments) {
  expect_faults(
      tile(),
      {

          Fault{ARGUMENTS(R"({"buffer": "A"}, {"buffer": "C"})"), "/arguments",
                "the buffer 'B' is not passed to the kernel", R"(Add {"buffer": "B"})"},
          Fault{ARGUMENTS(R"({"buffer": "D"})"), "/arguments/0/buffer", "there is no buffer 'D'",
                "Did you mean 'A'?"},
          Fault{ARGUMENTS(R"({"scalar": "alhpa", "type": "f32"})"), "/arguments/0/scalar",
                "'alhpa' is not a dimension, scalar, parameter or derived value, and has no \"value\"",
                "Did you mean 'alpha'?"},
          Fault{ARGUMENTS(R"({"scalar": "M"})"), "/arguments/0", "the key 'type' is missing",
                "such as \"i32\""},
          Fault{ARGUMENTS(R"({"scalar": "M", "type": "int"})"), "/arguments/0/type",
                R"(found "int", expected one of i32, u32, i64, f32, f64)", "Known: i32"},
          Fault{ARGUMENTS(R"({"buffer": "A", "type": "f32"})"), "/arguments/0/type",
                "'type' has no effect here", "the type that the operation gives it"},
          Fault{ARGUMENTS(R"({"buffer": "A", "scalar": "M"})"), "/arguments/0",
                "found more than one of 'buffer', 'scalar' and 'tensor_map'", "Write {"},
          Fault{ARGUMENTS("{}"), "/arguments/0", "found none of 'buffer', 'scalar' and 'tensor_map'",
                "Write {"},
          Fault{ARGUMENTS(""), "/arguments", "found an empty list, expected a list of arguments",
                "at least one"}});
}

TEST_F(TemplateTest, ReadsTensorMaps) {
  const auto spec = load_patched(tile(), MAP_OF_A(R"("extents": ["K", "M", 2], "pitches": ["K", "K * M"],
      "box": [64, "BM", 1], "swizzle": "128B", "when": "PAD")"));
  const Argument& argument = spec.arguments[2];
  EXPECT_EQ(argument.kind, Argument::Kind::tensor_map);
  EXPECT_EQ(argument.name, "A") << "and A counts as passed";
  EXPECT_EQ(argument.tensor_map->type, ElementType::f16);
  EXPECT_EQ(argument.tensor_map->pitches[1].text, "K * M");
  EXPECT_EQ(argument.tensor_map->pitches[1].where.pointer, "/arguments/2/pitches/1");
  EXPECT_EQ(argument.tensor_map->swizzle.text, "'128B'");
  EXPECT_EQ(argument.tensor_map->when.text, "PAD");
  const auto of_vector = load_patched(
      tile(),
      MAP_OF_A(R"("extents": ["K"], "pitches": [], "box": [64], "swizzle": "'32B' if PAD else 'none'")"));
  EXPECT_EQ(of_vector.arguments[2].tensor_map->swizzle.text, "'32B' if PAD else 'none'");
}

TEST_F(TemplateTest, FaultsOfTensorMaps) {
  expect_faults(
      tile(),
      {Fault{MAP_OF_A(R"("extents": ["K", "M"], "pitches": ["K"])"), "/arguments/2",
             "the key 'box' is missing", "innermost dimension first"},
       Fault{MAP_OF_A(R"("extents": ["K", "M"], "pitches": ["K", "M"], "box": [1, 1])"),
             "/arguments/2/pitches", "found 2 expressions, expected 1",
             "for each dimension of \"extents\" but the innermost."},
       Fault{MAP_OF_A(R"("extents": ["K", "M"], "pitches": ["K"], "box": [1])"), "/arguments/2/box",
             "found 1 expressions, expected 2", "for each dimension of \"extents\"."},
       Fault{MAP_OF_A(R"("extents": [1, 1, 1, 1, 1, 1], "pitches": [1], "box": [1])"), "/arguments/2/extents",
             "found 6 dimensions, a tensor map has at most 5", "Join"},
       Fault{MAP_OF_A(R"("extents": ["K"], "pitches": [], "box": [1], "type": "f32")"), "/arguments/2/type",
             "'type' has no effect here", "A tensor map has the type of its buffer."}});
}

TEST_F(TemplateTest, FaultsOfWorkspace) {
  expect_faults(
      axpy(),
      {Fault{WORKSPACE(R"({"name": "y", "type": "f32", "elements": 1, "meaning": "x"})"), "/workspace/0/name",
             "the name 'y' is taken by a buffer (/buffers/1/elements)", "Rename one"},
       Fault{WORKSPACE(R"({"name": "partials", "type": "f32", "elements": 1, "meaning": "x"},
                          {"name": "partials", "type": "u32", "elements": 1, "meaning": "x"})"),
             "/workspace/1/name", "the name 'partials' is taken by a workspace (/workspace/0/name)",
             "Rename one"},
       Fault{WORKSPACE(R"({"name": "tickets", "type": "u32", "elements": 1, "meaning": "x"},
                          {"name": "partials", "type": "u32", "elements": 1, "meaning": "x"})"),
             "/arguments", "the workspace 'tickets' is not passed to the kernel",
             R"(Add {"buffer": "tickets"} where the kernel expects it.)"},
       Fault{WORKSPACE(R"({"name": "partials", "type": "u8", "elements": 1, "meaning": "x"})"),
             "/workspace/0/type", R"(found "u8", expected one of f16, bf16, f32, f64, i32, u32)",
             "Known: f16"},
       Fault{WORKSPACE(R"({"name": "partials", "type": "u32", "elements": 1, "zeroed": 1, "meaning": "x"})"),
             "/workspace/0/zeroed", "found an integer, expected true or false", ""},
       Fault{R"({"workspace": null})", "/arguments/4/buffer", "there is no buffer 'partials'",
             "Pass a buffer of the operation or a workspace. Known: x, y."}});
}

TEST_F(TemplateTest, FaultsOfOperation) {
  expect_faults(
      axpy(), {

                  Fault{R"({"dimensions": null})", "", "the key 'dimensions' is missing", "a list of names"},
                  Fault{R"({"dimensions": []})", "/dimensions",
                        "found an empty list, expected a list of names", "at least one"},
                  Fault{R"({"dimensions": ["n", "n"]})", "/dimensions/1",
                        "the name 'n' is taken by a dimension (/dimensions/0)", "Rename"},
                  Fault{R"({"scalars": {"n": 1}})", "/scalars/n",
                        "the name 'n' is taken by a dimension (/dimensions/0)", "Rename"},
                  Fault{R"({"scalars": {"2a": 1}})", "/scalars/2a", "'2a' is not a name", "letters"},
                  Fault{R"({"scalars": {"a": "x"}})", "/scalars/a",
                        "found a string, expected a finite number", "Replace it"},
                  Fault{R"({"types": {"A": "f32"}})", "/types/A", "the operation has no type variable 'A'",
                        "Known: accumulator"},
                  Fault{R"({"flops": null})", "", "the key 'flops' is missing", "operations of one launch"},
                  Fault{R"({"bytes": null})", "", "the key 'bytes' is missing", "bytes one launch must move"},
                  Fault{R"({"reference": null})", "", "the key 'reference' is missing", "reference kernel"},
                  Fault{R"({"reference": {"block": null}})", "/reference", "the key 'block' is missing",
                        "in threads"},
                  Fault{R"({"reference": {"source": "refrence.cu"}})", "/reference/source",
                        "the file 'refrence.cu' does not exist", "Did you mean 'reference.cu'?"},
                  Fault{R"({"buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"}]})",
                        "/buffers", "no buffer is an output", R"("out" or "inout")"},
                  Fault{R"({"buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "output"}]})",
                        "/buffers/0/role", R"(found "output", expected one of in, out, inout)",
                        "Known: in, out, inout."},
                  Fault{R"({"buffers": [{"name": "x", "type": "f32", "elements": 1, "role": "in"},
                              {"name": "x", "type": "f32", "elements": 1, "role": "out"}]})",
                        "/buffers/1/name", "the name 'x' is taken by a buffer (/buffers/0/name)", "Rename"}});
}

TEST_F(TemplateTest, RefusesTooManyValues) {
  Json document = tile();
  Json& values = document["parameters"][0]["values"];
  for (std::size_t i = values.size(); i < kMostValues; ++i) values.push_back(1000 + i);
  EXPECT_EQ(load_patched(document, "{}").parameters[0].values.size(), kMostValues);
  values.push_back(1);
  const UserError error = error_of([&] { load_patched(document, "{}"); });
  EXPECT_EQ(error.message(), "found 100001 values, expected at most 100000");
  EXPECT_EQ(error.where().pointer, "/parameters/0/values");
}

TEST_F(TemplateTest, TheSourceStaysInTheFolder) {
  write("kernel_templates/secret.cuh", "");
  const std::string absolute = root_ / "kernel_templates/secret.cuh";
  const std::vector<std::string> outside{"../secret.cuh", absolute, "sub/../../secret.cuh", "/etc/hostname"};
  for (const std::string& path : outside) {
    const UserError error = error_of([&] { load_patched(tile(), Json{{"source", path}}.dump()); });
    EXPECT_EQ(error.message(),
              "'" + path + "' leaves the folder " + (root_ / "kernel_templates/tile").string());
    EXPECT_EQ(error.where().pointer, "/source");
  }
  options_.allow_outside_paths = true;
  EXPECT_EQ(load_patched(tile(), R"({"source": "../secret.cuh"})").source,
            root_ / "kernel_templates/secret.cuh");
}

TEST_F(TemplateTest, ASymbolicLinkDoesNotLeaveTheFolderEither) {
  write("outside.cuh", "");
  std::filesystem::create_symlink(root_ / "outside.cuh", root_ / "kernel_templates/tile/link.cuh");
  const UserError error = error_of([&] { load_patched(tile(), R"({"source": "link.cuh"})"); });
  EXPECT_NE(error.message().find("'link.cuh' leaves the folder"), std::string::npos);
}

TEST_F(TemplateTest, TheSourceIsAnExistingFile) {
  UserError error = error_of([&] { load_patched(tile(), R"({"source": "kernl.cuh"})"); });
  EXPECT_EQ(error.message(), "the file 'kernl.cuh' does not exist");
  EXPECT_NE(error.remedy().find("Did you mean 'kernel.cuh'?"), std::string::npos);
  error = error_of([&] { load_patched(tile(), R"({"source": "."})"); });
  EXPECT_EQ(error.message(), "'.' is not a file");
  error = error_of([&] { load_patched(tile(), R"({"source": "kernel.cuh\u0000x"})"); });
  EXPECT_EQ(error.message(), "found a string with a null character in it");
}

TEST_F(TemplateTest, RefusesTooManyParts) {
  Json document = tile();
  for (std::size_t i = document["parameters"].size(); i <= kMostParts; ++i)
    document["parameters"].push_back(
        {{"name", "P" + std::to_string(i)}, {"values", {1}}, {"meaning", "one"}});
  UserError error = error_of([&] { load_patched(document, "{}"); });
  EXPECT_EQ(error.message(), "found 257 parameters, expected at most 256");
  EXPECT_EQ(error.where().pointer, "/parameters");
  document["parameters"].erase(kMostParts);
  EXPECT_EQ(load_patched(document, "{}").parameters.size(), kMostParts);

  document = tile();
  document.erase("template_arguments");
  for (std::size_t i = 0; i <= kMostParts; ++i) document["macros"]["M" + std::to_string(i)] = 1;
  error = error_of([&] { load_patched(document, "{}"); });
  EXPECT_EQ(error.message(), "found 257 members, expected at most 256");
  EXPECT_EQ(error.where().pointer, "/macros");
}

TEST_F(TemplateTest, RefusesLongNamesAndValues) {
  const std::string longest(kLongestName, 'x');
  EXPECT_EQ(load_patched(tile(), Json{{"kernel", longest}}.dump()).kernel, longest);
  UserError error = error_of([&] { load_patched(tile(), Json{{"kernel", longest + "x"}}.dump()); });
  EXPECT_EQ(error.message(), "a name of 1025 characters, expected at most 1024");
  Json document = tile();
  document["parameters"][0]["values"] = {longest};
  EXPECT_EQ(load_patched(document, "{}").parameters[0].values.front(), Value{longest});
  document["parameters"][0]["values"] = {longest + "x"};
  error = error_of([&] { load_patched(document, "{}"); });
  EXPECT_EQ(error.message(), "a string of 1025 characters, expected at most 1024");
  EXPECT_EQ(error.where().pointer, "/parameters/0/values/0");
}

TEST_F(TemplateTest, AManifestStaysInItsFolder) {
  namespace fs = std::filesystem;
  const auto manifest = write("kernel_templates/tile/template.json", tile().dump());
  fs::rename(manifest, root_ / "elsewhere.json");
  fs::create_symlink(root_ / "elsewhere.json", manifest);
  EXPECT_EQ(error_of([&] { load_template(manifest, options_); }).message(),
            "leads out of " + manifest.parent_path().string());
  LoadOptions outside = options_;
  outside.allow_outside_paths = true;
  EXPECT_EQ(load_template(manifest, outside).name, "tile");
}

TEST_F(TemplateTest, SyntaxErrorsHaveLineAndColumn) {
  const auto manifest = write("kernel_templates/tile/template.json", "{\n  \"name\": tile\n}");
  const UserError error = error_of([&] { load_template(manifest, options_); });
  EXPECT_EQ(error.where().file, manifest.string());
  EXPECT_NE(error.where().pointer.find("line 2, column"), std::string::npos);
}

}  // namespace
}  // namespace tiletune
