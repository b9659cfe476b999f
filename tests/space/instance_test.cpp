#include "space/instance.h"

#include <gtest/gtest.h>

#include "carries.h"
#include "space/space.h"
#include "space/spec_builder.h"

namespace tiletune {
namespace instance_test {

using std::int64_t;

ExprText at(const std::string& text, const std::string& pointer) {
  return {text, {"template.json", pointer}};
}

ExprText quoted(std::string text, const std::string& pointer) {
  text.insert(text.begin(), '\'');
  text.push_back('\'');
  return at(text, pointer);
}

/// A template with one parameter of each kind.
TemplateSpec example() {
  SpecBuilder builder;
  builder.integers("BM", {64, 128}).parameter("VEC", {true, false});
  builder.parameter("SCALE", {0.5, 2.0}).parameter("T", {std::string("float"), std::string("__half")});
  builder.derived("THREADS", "BM * 2").derived("BLOCKS", "ceil_div(M, BM)");
  TemplateSpec& spec = builder.spec();
  spec.operation.buffers = {{"A", ElementType::f32, at("M * K", "/a"), BufferRole::in},
                            {"C", ElementType::f32, at("M * N", "/c"), BufferRole::out}};
  spec.launches[0].arguments = {
      {Argument::Kind::scalar, "M", ElementType::i32, at("M", "/arguments/0")},
      {Argument::Kind::scalar, "alpha", ElementType::f32, {}},
      {Argument::Kind::scalar, "split", ElementType::i64, at("BLOCKS * 2", "/arguments/2")},
      {Argument::Kind::buffer, "A", {}, {}}};
  spec.launches[0].template_arguments = {at("BM", "/t/0"), at("VEC", "/t/1"), at("SCALE", "/t/2"),
                                         at("T", "/t/3"), at("-THREADS // 3", "/t/4")};
  spec.launches[0].grid = {at("BLOCKS", "/launch/grid/0"), at("ceil_div(N, 64)", "/launch/grid/1"), {}};
  spec.launches[0].block = {at("THREADS", "/launch/block/0"), {}, {}};
  spec.launches[0].dynamic_shared_bytes = at("BM * 16 * 4 if VEC else 0", "/launch/dynamic_shared_bytes");
  return spec;
}

constexpr int kMultiprocessors = 132;

Configuration configuration() { return {{int64_t{64}, true, 2.0, std::string("float")}}; }

std::string error(const TemplateSpec& spec, const Problem& size = problem()) {
  try {
    Instantiator(spec, size).instantiate(configuration(), kMultiprocessors);
  } catch (const UserError& caught) {
    return caught.where().pointer + ": " + caught.message();
  }
  return "no error";
}

std::string remedy(const TemplateSpec& spec) {
  try {
    Instantiator(spec, problem()).instantiate(configuration(), kMultiprocessors);
  } catch (const UserError& caught) {
    return caught.remedy();
  }
  return "no error";
}

TEST(InstanceTest, EvaluatesEverything) {
  const Instantiator instantiator(example(), problem());
  const Instance instance = instantiator.instantiate(configuration(), kMultiprocessors);
  EXPECT_EQ(to_text(instance.parameters), "BM=64 VEC=true SCALE=2.0 T=float");
  EXPECT_EQ(to_text(instance.derived), "THREADS=128 BLOCKS=16");
  EXPECT_EQ(instance.launches[0].kernel_expression, "example<64, true, 2.0, float, -43>");
  EXPECT_EQ(instance.launches[0].grid, (Dim3{16, 8, 1}));
  EXPECT_EQ(instance.launches[0].block, (Dim3{128, 1, 1}));
  EXPECT_EQ(instance.launches[0].dynamic_shared_bytes, 4096);
  ASSERT_EQ(instance.launches[0].arguments.size(), 4U);
  EXPECT_EQ(instance.launches[0].arguments[0].value, Value(int64_t{1024}));
  EXPECT_EQ(instance.launches[0].arguments[1].value, Value(1.5));
  EXPECT_EQ(instance.launches[0].arguments[2].value, Value(int64_t{32}));
  EXPECT_EQ(instance.launches[0].arguments[3].kind, Argument::Kind::buffer);
  EXPECT_TRUE(instance.defines.empty());
}

TEST(InstanceTest, SizesTheWorkload) {
  const Instantiator instantiator(example(), problem());
  const Workload& workload = instantiator.workload();
  ASSERT_EQ(workload.buffers.size(), 2U);
  EXPECT_EQ(workload.buffers[1].elements, 1024 * 512);
  EXPECT_EQ(workload.buffers[1].role, BufferRole::out);
  EXPECT_EQ(workload.flops, 2.0 * 1024 * 512 * 256);
  EXPECT_EQ(workload.bytes, 4.0 * (1024 * 256 + 256 * 512 + 1024 * 512));
  EXPECT_FALSE(instantiator.reference());
}

/// The example with A and C as matrices whose rows may lie apart.
TemplateSpec strided_example() {
  TemplateSpec spec = example();
  spec.operation.leading_dimensions = {{"lda", "A", "K"}, {"ldb", "B", "N"}, {"ldc", "C", "N"}};
  spec.operation.buffers = {
      {"A", ElementType::f32, at("(M - 1) * lda + K", "/a"), BufferRole::in, {}, at("K", ""), at("lda", "")},
      {"C", ElementType::f32, at("(M - 1) * ldc + N", "/c"), BufferRole::inout, at("beta != 0", ""),
       at("N", ""), at("ldc", "")}};
  spec.launches[0].arguments.push_back({Argument::Kind::scalar, "lda", ElementType::i32, {}});
  spec.derived.push_back({"ROW_VECTORS", at("ldc // 4", "/derived/2"), ""});
  return spec;
}

TEST(InstanceTest, LeadingDimensionsOfADenseProblemAreItsRows) {
  const Instantiator instantiator(strided_example(), problem());
  const Instance instance = instantiator.instantiate(configuration(), kMultiprocessors);
  EXPECT_EQ(instance.launches[0].arguments.back().value, Value(int64_t{256}));
  EXPECT_EQ(to_text(instance.derived), "THREADS=128 BLOCKS=16 ROW_VECTORS=128");
  EXPECT_EQ(instantiator.workload().buffers[0].elements, 1024 * 256);
  EXPECT_FALSE(instantiator.workload().buffers[0].is_padded());
  EXPECT_EQ(instantiator.workload().buffers[0].values(), 1024 * 256);
}

TemplateSpec with_values(ElementType type, Distribution distribution,
                         const std::vector<std::string>& arguments) {
  TemplateSpec spec = example();
  Buffer& buffer = spec.operation.buffers[0];
  buffer.type = type;
  buffer.values = BufferValues{distribution, {}, {}, {"template.json", "/values"}};
  for (const std::string& argument : arguments) buffer.values->arguments.push_back(at(argument, "/values"));
  return spec;
}

TEST(Workload, ValuesOfAnInputFollowFromTheProblem) {
  const TemplateSpec spec = with_values(ElementType::i32, Distribution::randint, {"-1", "N // 2"});
  const auto values = Instantiator(spec, problem()).workload().buffers[0].input;
  EXPECT_EQ(values, (Workload::Values{Distribution::randint, -1, 256}));
  EXPECT_FALSE(Instantiator(example(), problem()).workload().buffers[0].input);
}

TEST(Workload, InputsThatKernelsComputeFollowFromTheProblem) {
  TemplateSpec spec = with_values(ElementType::f32, Distribution::constant, {"0"});
  EXPECT_TRUE(Instantiator(spec, problem()).input_launches().empty());
  Launch launch{"fill", {}, {at("N // 2", "/grid/0"), at("1", ""), at("1", "")}, {}, {}, {}};
  launch.block = {at("256", ""), at("1", ""), at("1", "")};
  launch.arguments = {{Argument::Kind::buffer, "A", {}, {}},
                      {Argument::Kind::scalar, "n", ElementType::i64, at("2 * N", "/value")}};
  spec.operation.input_kernels = {{"", "fill.cu", launch, "A"}};
  const Instantiator instantiator(spec, problem());
  ASSERT_EQ(instantiator.input_launches().size(), 1U);
  const KernelLaunch& filled = instantiator.input_launches().front();
  EXPECT_EQ(filled.kernel_expression, "fill");
  EXPECT_EQ(filled.grid, (Dim3{256, 1, 1}));
  EXPECT_EQ(filled.arguments[1].value, Value(int64_t{1024}));
  EXPECT_EQ(instantiator.workload().buffers[0].input, (Workload::Values{Distribution::constant, 0, 0}));
  spec.operation.input_kernels[0].launch.grid[0] = at("BM", "/grid/0");
  EXPECT_NE(error(spec).find("BM"), std::string::npos) << "not of the problem";
}

TEST(Workload, ValuesThatABufferCannotHoldAreRefused) {
  const auto of = [](ElementType type, Distribution distribution, const std::vector<std::string>& arguments) {
    return error(with_values(type, distribution, arguments));
  };
  using enum Distribution;
  EXPECT_EQ(of(ElementType::u8, randint, {"0", "256"}), "no error");
  EXPECT_NE(of(ElementType::u8, randint, {"0", "257"}).find("256"), std::string::npos);
  EXPECT_NE(of(ElementType::u16, permutation, {}).find("65535"), std::string::npos);
  EXPECT_NE(of(ElementType::i8, iota, {"0", "1"}).find("262143"), std::string::npos);
  EXPECT_NE(of(ElementType::u32, offsets, {"-1"}).find("-1"), std::string::npos);
  EXPECT_NE(of(ElementType::e4m3, constant, {"449"}).find("448"), std::string::npos);
  EXPECT_NE(of(ElementType::i32, randint, {"0.5", "3"}).find("0.5"), std::string::npos);
  EXPECT_NE(of(ElementType::f32, uniform, {"1", "1"}).find("between 1 and 1"), std::string::npos);
  EXPECT_NE(of(ElementType::i64, constant, {"2 ** 60"}).find("1.152"), std::string::npos);
  EXPECT_NE(of(ElementType::f32, constant, {"BM"}).find("BM"), std::string::npos) << "not of the problem";
}

TEST(InstanceTest, ABufferThatIsNotReadIsAnOutput) {
  TemplateSpec spec = strided_example();
  EXPECT_EQ(Instantiator(spec, problem()).workload().buffers[1].role, BufferRole::out);
  spec.operation.scalars[1].second = 0.5;  // beta
  EXPECT_EQ(Instantiator(spec, problem()).workload().buffers[1].role, BufferRole::inout);
}

TEST(InstanceTest, TypesAndOptionsOfTheOperationCanBeNamed) {
  TemplateSpec spec = example();
  spec.operation.types = {{"A", ElementType::f16}, {"C", ElementType::f64}};
  spec.operation.options = {{"layout", "nt"}};
  spec.operation.bytes = at("size(A) * M + size(C) * N if layout == 'nt' else 0", "/bytes");
  spec.operation.accumulation = at("K", "/accumulation");
  const Workload workload = Instantiator(spec, problem()).workload();
  EXPECT_EQ(workload.bytes, 2 * 1024 + 8 * 512);
  EXPECT_EQ(workload.accumulation, 256);
  spec.operation.bytes = at("size(layout)", "/bytes");
  EXPECT_TRUE(carries(error(spec),
                      {"/bytes", "size()", "element type", "'size(layout)'", "column 1", "layout = 'nt'"}));
}

TEST(InstanceTest, BuffersEndWithTheLastRow) {
  Problem strided = problem();
  strided.leading = {{"lda", 260}, {"ldc", 520}};
  const Instantiator instantiator(strided_example(), strided);
  const Instance instance = instantiator.instantiate(configuration(), kMultiprocessors);
  EXPECT_EQ(instance.launches[0].arguments.back().value, Value(int64_t{260}));
  EXPECT_EQ(to_text(instance.derived), "THREADS=128 BLOCKS=16 ROW_VECTORS=130");
  const Workload& workload = instantiator.workload();
  const auto& a = workload.buffers[0];
  EXPECT_EQ(a.elements, 1023 * 260 + 256);
  ASSERT_TRUE(a.is_padded());
  EXPECT_EQ(a.rows->columns, 256);
  EXPECT_EQ(a.rows->pitch, 260);
  EXPECT_EQ(a.values(), 1024 * 256);
  EXPECT_EQ(workload.buffers[1].values(), 1024 * 512);
  EXPECT_EQ(workload.flops, 2.0 * 1024 * 512 * 256);
  EXPECT_EQ(workload.bytes, 4.0 * (1024 * 256 + 256 * 512 + 1024 * 512));
}

TEST(InstanceTest, ASingleRowHasNoPadding) {
  Problem row = problem(1);
  row.leading = {{"lda", 300}};
  const Instantiator instantiator(strided_example(), row);
  const auto& a = instantiator.workload().buffers[0];
  EXPECT_EQ(a.elements, 256);
  EXPECT_FALSE(a.is_padded());
}

TEST(InstanceTest, DefinesMacros) {
  TemplateSpec spec = example();
  spec.launches[0].template_arguments.clear();
  spec.macros = {{"BM", at("BM", "/m")},       {"USE", at("VEC", "/m")},    {"HALF", at("BM / 128", "/m")},
                 {"ONE", at("BM / 64", "/m")}, {"TINY", at("1e-30", "/m")}, {"T", at("T", "/m")}};
  const Instance instance = Instantiator(spec, problem()).instantiate(configuration(), kMultiprocessors);
  EXPECT_EQ(instance.launches[0].kernel_expression, "example");
  EXPECT_EQ(instance.defines, (std::vector<std::string>{"-DBM=64", "-DUSE=true", "-DHALF=0.5", "-DONE=1.0",
                                                        "-DTINY=1e-30", "-DT=float"}));
}

TEST(InstanceTest, EvaluatesTheReference) {
  TemplateSpec spec = example();
  Launch reference;
  reference.kernel = "reference";
  reference.grid = {at("ceil_div(N, 256)", "/reference/grid/0"), {}, {}};
  reference.block = {at("256", "/reference/block/0"), {}, {}};
  spec.operation.reference = OperationKernel{"", "reference.cu", reference};
  EXPECT_TRUE(carries(error(spec), {"/arguments/2", "unknown name", "'BLOCKS'", "'BLOCKS * 2'", "column 1"}));
  spec.launches[0].arguments.erase(spec.launches[0].arguments.begin() + 2);
  const Instantiator instantiator(spec, problem());
  ASSERT_TRUE(instantiator.reference());
  EXPECT_EQ(instantiator.reference()->grid, (Dim3{2, 1, 1}));
  EXPECT_EQ(instantiator.reference()->block.x, 256);
  EXPECT_EQ(instantiator.reference()->arguments[1].value, Value(1.5));
}

TEST(InstanceTest, RefusesFloatsThatShouldBeIntegers) {
  TemplateSpec spec = example();
  spec.launches[0].template_arguments = {at("BM / 2", "/t/0")};
  EXPECT_TRUE(carries(error(spec), {"/t/0", "'BM / 2'", "32.0", "not an integer", "BM = 64"}));
  EXPECT_TRUE(carries(remedy(spec), {"//"}));
  spec = example();
  spec.derived[0].value.text = "BM / 3";
  spec.launches[0].template_arguments.clear();
  EXPECT_EQ(error(spec).substr(0, 31), "/launch/block/0: 'THREADS' is 2");
}

TEST(InstanceTest, PutsOnlyNamesIntoSource) {
  for (const char* text : {"float", "unsigned int", "cuda::std::byte", "__half2", "a::b c", "float*",
                           "const float&", "Shape<1, 2>", "cute::Layout<Shape<4, -1>, Stride<T*>>::type"}) {
    TemplateSpec spec = example();
    spec.launches[0].template_arguments = {quoted(text, "/t/0")};
    EXPECT_EQ(Instantiator(spec, problem())
                  .instantiate(configuration(), kMultiprocessors)
                  .launches[0]
                  .kernel_expression,
              "example<" + std::string(text) + ">");
  }
  for (const char* text : {"float>",    "1",     "a;b",      "a:b",    "a:::b",  "::a",  "a ",
                           "a  b",      "a::",   "f()",      "-I/tmp", "a, b",   "a<b",  "a>, b<c",
                           "a<b>>, c<", "a < b", "a<\"b\">", "a<'b'>", "a<b\\>", "a\nb", "a{b}",
                           "a[1]",      "a//b",  "a/*b",     "a#b",    "a<b;c>", "a-b",  "a<(b>c)>",
                           "a=b",       "a?b",   "a%b",      "a@b",    "a<<b>>"}) {
    TemplateSpec spec = example();
    spec.launches[0].template_arguments = {quoted(text, "/t/0")};
    EXPECT_NE(error(spec), "no error") << text;
    spec.launches[0].template_arguments.clear();
    spec.macros = {{"X", quoted(text, "/m")}};
    EXPECT_NE(error(spec), "no error") << text;
  }
  TemplateSpec spec = example();
  spec.launches[0].template_arguments = {quoted("", "/t/0")};
  EXPECT_NE(error(spec), "no error") << "an empty argument";
  spec.launches[0].template_arguments.clear();
  spec.macros = {{"X", at("''", "/macros/X")}, {"Y", at("-9223372036854775807 - 1", "/macros/Y")}};
  EXPECT_EQ(Instantiator(spec, problem()).instantiate(configuration(), kMultiprocessors).defines,
            (std::vector<std::string>{"-DX=", "-DY=(-9223372036854775807-1)"}));
  spec.macros = {{"X", at("'a;b'", "/macros/X")}};
  EXPECT_TRUE(carries(error(spec), {"/macros/X", "'a;b'", "not a name"}));
}

TEST(InstanceTest, RefusesLaunchesThatAreNone) {
  TemplateSpec spec = example();
  spec.launches[0].grid[1] = at("N // 1024", "/launch/grid/1");
  EXPECT_TRUE(carries(error(spec), {"/launch/grid/1", "'N // 1024'", "0", "N = 512"}));
  EXPECT_TRUE(carries(remedy(spec), {"constraint"}));
  spec = example();
  spec.launches[0].block[2] = at("-1", "/launch/block/2");
  EXPECT_TRUE(carries(error(spec), {"/launch/block/2", "'-1'", "-1"}));
  spec = example();
  spec.launches[0].grid = {at("2 ** 32", "/launch/grid/0"), at("2 ** 31", ""), at("1", "")};
  EXPECT_TRUE(carries(error(spec), {"/launch/grid/0", "4294967296", "2147483648", "1", "64 bits"}));
  spec = example();
  spec.launches[0].dynamic_shared_bytes = at("BM - 128", "/launch/dynamic_shared_bytes");
  EXPECT_TRUE(
      carries(error(spec), {"/launch/dynamic_shared_bytes", "'BM - 128'", "-64", "not a number", "BM = 64"}));
}

TEST(InstanceTest, ChecksArgumentsAgainstTheirTypes) {
  const auto with = [](const char* text, ElementType type) {
    TemplateSpec spec = example();
    spec.launches[0].arguments = {{Argument::Kind::scalar, "x", type, at(text, "/arguments/0")}};
    return spec;
  };
  EXPECT_TRUE(
      carries(error(with("2 ** 31", ElementType::i32)), {"/arguments/0", "'2 ** 31'", "2147483648", "i32"}));
  EXPECT_TRUE(carries(error(with("-1", ElementType::u32)), {"/arguments/0", "'-1'", "u32"}));
  EXPECT_EQ(error(with("2 ** 32 - 1", ElementType::u32)), "no error");
  EXPECT_EQ(error(with("-128", ElementType::i8)), "no error");
  EXPECT_TRUE(carries(error(with("128", ElementType::i8)), {"/arguments/0", "'128'", "i8"}));
  EXPECT_TRUE(carries(error(with("1e5", ElementType::f16)), {"/arguments/0", "'1e5'", "f16"}));
  EXPECT_EQ(error(with("-2 ** 31", ElementType::i32)), "no error");
  EXPECT_TRUE(carries(error(with("1e39", ElementType::f32)), {"/arguments/0", "'1e39'", "1e+39", "f32"}));
  EXPECT_EQ(error(with("1e39", ElementType::f64)), "no error");
  EXPECT_TRUE(
      carries(error(with("0.5", ElementType::i32)), {"/arguments/0", "'0.5'", "0.5", "not an integer"}));
  EXPECT_TRUE(
      carries(error(with("T", ElementType::f32)), {"/arguments/0", "'T'", "'float'", "not a number"}));
}

TEST(InstanceTest, ChecksSizes) {
  TemplateSpec spec = example();
  spec.operation.buffers[0].elements.text = "M - 2000";
  EXPECT_TRUE(carries(error(spec), {"/a", "'M - 2000'", "-976", "not a number", "0", "2^56", "M = 1024"}));
  spec.operation.buffers[0].elements.text = "BM";
  EXPECT_TRUE(carries(error(spec), {"/a", "'BM'", "column 1"}));
  const int64_t huge = int64_t{1} << 40;
  EXPECT_TRUE(carries(
      error(example(), problem(huge, huge, 1)),
      {"/c", "overflow", "64 bits", "'M * N'", "column 3", "M = 1099511627776", "N = 1099511627776"}));
}

TEST(InstanceTest, MultiprocessorsAreThoseOfTheGpuInLaunchAndArguments) {
  TemplateSpec spec = example();
  spec.launches[0].grid = {at("min(BLOCKS, multiprocessors * 2)", "/launch/grid/0"), {}, {}};
  spec.launches[0].arguments[2].value.text = "multiprocessors + BLOCKS";
  const Instantiator instantiator(spec, problem());
  EXPECT_EQ(instantiator.instantiate(configuration(), 132).launches[0].grid.x, 16);
  EXPECT_EQ(instantiator.instantiate(configuration(), 5).launches[0].grid.x, 10);
  EXPECT_EQ(instantiator.instantiate(configuration(), 5).launches[0].arguments[2].value, Value(int64_t{21}));
}

TEST(InstanceTest, MultiprocessorsAreUnknownToWhatIsTheSameOnEveryGpu) {
  TemplateSpec spec = example();
  spec.derived[1].value.text = "multiprocessors";
  EXPECT_TRUE(carries(error(spec), {"/derived/1/value", "'multiprocessors'", "column 1"}));
  EXPECT_TRUE(carries(remedy(spec), {"launch", "workspace"}));
  spec = example();
  spec.launches[0].template_arguments[0].text = "multiprocessors";
  EXPECT_TRUE(carries(error(spec), {"/t/0", "'multiprocessors'"}));
  spec = example();
  spec.operation.buffers[0].elements.text = "multiprocessors";
  EXPECT_TRUE(carries(error(spec), {"/a", "'multiprocessors'"}));
  spec = example();
  spec.constraints = {{at("multiprocessors", "/constraints/0/require"), ""}};
  EXPECT_THROW(Space(spec, problem()), UserError);
}

TemplateSpec with_workspace(const char* elements) {
  TemplateSpec spec = example();
  spec.workspace = {{"partials", ElementType::f16, at(elements, "/workspace/0/elements"), false, ""},
                    {"tickets", ElementType::u32, at("BLOCKS", "/workspace/1/elements"), true, ""}};
  spec.launches[0].arguments.push_back({Argument::Kind::buffer, "partials", {}, {}});
  spec.launches[0].arguments.push_back({Argument::Kind::buffer, "tickets", {}, {}});
  return spec;
}

TEST(InstanceTest, SizesTheWorkspaceOfAConfiguration) {
  const Instance instance = Instantiator(with_workspace("THREADS * multiprocessors if VEC else 0"), problem())
                                .instantiate(configuration(), 10);
  ASSERT_EQ(instance.workspace.size(), 2U);
  EXPECT_EQ(instance.workspace[0].elements, 1280);
  EXPECT_EQ(instance.workspace[0].bytes(), 2560U);
  EXPECT_TRUE(instance.workspace[1].zeroed);
  EXPECT_EQ(instance.launches[0].arguments.back().name, "tickets");
  EXPECT_EQ(error(with_workspace("0")), "no error");
  EXPECT_TRUE(carries(error(with_workspace("BM - 128")), {"/workspace/0/elements", "'BM - 128'", "-64",
                                                          "not a number", "0", "2^56", "BM = 64"}));
  EXPECT_EQ(error(with_workspace("2 ** 56 + 1")).substr(0, 37), "/workspace/0/elements: '2 ** 56 + 1' ");
}

TemplateSpec with_tensor_map(const char* swizzle, const char* box = "BM") {
  TemplateSpec spec = example();
  TensorMap map;
  map.type = ElementType::f16;
  map.extents = {at("K", ""), at("M", "")};
  map.pitches = {at("K * 2", "")};
  map.box = {at("32", ""), at(box, "/arguments/3/box/1")};
  map.swizzle = at(swizzle, "/arguments/3/swizzle");
  map.promotion = at("'256B' if BM == 64 else 'none'", "/arguments/3/promotion");
  map.when = at("VEC and multiprocessors > 10", "");
  spec.launches[0].arguments[3].kind = Argument::Kind::tensor_map;
  spec.launches[0].arguments[3].tensor_map = map;
  return spec;
}

TEST(InstanceTest, EvaluatesOffsetsOfTensorMaps) {
  TemplateSpec spec = with_tensor_map("'none'");
  spec.launches[0].arguments[3].tensor_map->offset = at("K * 2 - BM", "/arguments/3/offset");
  const auto map =
      Instantiator(spec, problem()).instantiate(configuration(), 132).launches[0].arguments[3].tensor_map;
  ASSERT_TRUE(map);
  EXPECT_EQ(map->offset, 448);
  spec.launches[0].arguments[3].tensor_map->offset = at("-8", "/arguments/3/offset");
  EXPECT_TRUE(carries(error(spec), {"/arguments/3/offset", "-8"}));
}

TEST(InstanceTest, EvaluatesTensorMapsWhereTheyAreWanted) {
  const Instantiator instantiator(with_tensor_map("'128B' if BM == 64 else 'none'"), problem());
  const auto map = instantiator.instantiate(configuration(), 132).launches[0].arguments[3].tensor_map;
  ASSERT_TRUE(map);
  EXPECT_EQ(map->type, ElementType::f16);
  EXPECT_EQ(map->extents, (std::vector<int64_t>{256, 1024}));
  EXPECT_EQ(map->pitches, (std::vector<int64_t>{512}));
  EXPECT_EQ(map->box, (std::vector<int64_t>{32, 64}));
  EXPECT_EQ(map->swizzle, Swizzle::bytes_128);
  EXPECT_EQ(map->promotion, Promotion::bytes_256);
  EXPECT_EQ(map->offset, 0);
  EXPECT_FALSE(instantiator.instantiate(configuration(), 10).launches[0].arguments[3].tensor_map);
  EXPECT_TRUE(carries(error(with_tensor_map("'256B'")), {"/arguments/3/swizzle", "256B", "'256B'"}));
  TemplateSpec promoted = with_tensor_map("'none'");
  promoted.launches[0].arguments[3].tensor_map->promotion = at("'32B'", "/arguments/3/promotion");
  EXPECT_TRUE(carries(error(promoted), {"/arguments/3/promotion", "32B", "a promotion"}));
  EXPECT_TRUE(carries(remedy(with_tensor_map("BM")), {"none, 32B, 64B, 128B"}));
  EXPECT_TRUE(carries(error(with_tensor_map("'none'", "BM - 64")),
                      {"/arguments/3/box/1", "'BM - 64'", "0", "BM = 64"}));
}

TEST(InstanceTest, AReferenceGetsTheBufferOfATensorMap) {
  TemplateSpec spec = with_tensor_map("'none'");
  spec.launches[0].arguments.erase(spec.launches[0].arguments.begin() + 2);
  spec.operation.reference =
      OperationKernel{"", "reference.cu", "reference", {at("1", ""), {}, {}}, {at("256", ""), {}, {}}};
  const ArgumentValue passed = Instantiator(spec, problem()).reference()->arguments[2];
  EXPECT_EQ(passed.kind, Argument::Kind::buffer);
  EXPECT_EQ(passed.name, "A");
}

TEST(InstanceTest, AReferenceGetsNoWorkspace) {
  TemplateSpec spec = with_workspace("BM");
  spec.launches[0].arguments.erase(spec.launches[0].arguments.begin() + 2);
  spec.operation.reference =
      OperationKernel{"", "reference.cu", "reference", {at("1", ""), {}, {}}, {at("256", ""), {}, {}}};
  const Instantiator instantiator(spec, problem());
  ASSERT_EQ(instantiator.reference()->arguments.size(), 3U);
  EXPECT_EQ(instantiator.reference()->arguments[2].name, "A");
}

TEST(InstanceTest, TheComputeCapabilityIsOfTheConfiguration) {
  TemplateSpec spec = example();
  EXPECT_FALSE(Instantiator(spec, problem()).instantiate(configuration(), 132).min_compute_capability);
  const auto capability = [&](const char* text) {
    spec.min_compute_capability = at(text, "/min_compute_capability");
    return Instantiator(spec, problem()).instantiate(configuration(), 132).min_compute_capability;
  };
  EXPECT_EQ(capability("9.0 if T == 'float' else 8.0"), (ComputeCapability{9, 0}));
  EXPECT_EQ(capability("12.1 if THREADS == 128 else 8.0"), (ComputeCapability{12, 1}));
  EXPECT_EQ(capability("8.6"), (ComputeCapability{8, 6}));
  EXPECT_EQ(capability("9"), (ComputeCapability{9, 0}));
  spec.max_compute_capability = at("9.0 if T == 'float' else 12.0", "/max_compute_capability");
  EXPECT_EQ(Instantiator(spec, problem()).instantiate(configuration(), 132).max_compute_capability,
            (ComputeCapability{9, 0}));
  for (const char* text : {"BM", "0.9", "8.65"}) {
    spec.min_compute_capability.text = text;
    EXPECT_TRUE(carries(error(spec), {"8.0"}));
  }
}

TEST(InstanceTest, RefusesAConfigurationOfAnotherTemplate) {
  const Instantiator instantiator(example(), problem());
  EXPECT_THROW(instantiator.instantiate({{int64_t{64}}}, kMultiprocessors), UserError);
}

TEST(Instance, IsAllowedWhereAllConstraintsHold) {
  TemplateSpec spec = example();
  spec.constraints = {{at("THREADS <= 128", "/c/0"), ""}, {at("M % (BM - 64 + M % 7) == 0", "/c/1"), ""}};
  const auto is_allowed = [&](std::int64_t m) {
    return Instantiator(spec, problem(m, 64, 64)).allows(configuration(), kMultiprocessors);
  };
  EXPECT_TRUE(is_allowed(6));
  EXPECT_FALSE(is_allowed(12));
  EXPECT_FALSE(is_allowed(7)) << "a division by zero";
}

TEST(Instance, ConstantsAreEvaluatedByThemselves) {
  const TemplateSpec spec = example();
  EXPECT_EQ(constant_value(spec, problem(6, 5, 4), at("M * N + 0.5", "/x")), 30.5);
  EXPECT_THROW(constant_value(spec, problem(6, 5, 4), at("BM", "/x")), UserError);
}

}  // namespace instance_test
}  // namespace tiletune
