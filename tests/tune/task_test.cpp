#include "tune/task.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "carries.h"
#include "spec/load.h"
#include "temporary_folder.h"

namespace tiletune {
namespace task_test {

TuneSpec shipped(const std::string& config, const std::vector<std::string>& problems) {
  LoadOptions options;
  const std::filesystem::path home = TILETUNE_SOURCE_DIR;
  options.template_folders = {home / "kernel_templates"};
  options.problems = problems;
  return load_tune_spec(home / "configs" / config, options);
}

TEST(Stages, RunProblemByProblemAndShareBuffersWithinOne) {
  const TuneSpec spec = shipped("quick.json", {"512", "1024"});
  const std::vector<Task> tasks = plan_tasks(spec);
  ASSERT_EQ(tasks.size(), 2 * spec.templates.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t problem = i / spec.templates.size();
    EXPECT_EQ(tasks[i].problem.label(), problem == 0 ? "512x512x512" : "1024x1024x1024");
    EXPECT_EQ(tasks[i].workload, problem) << "all of them are the same product in FP32";
  }
}

std::string message_of(const std::function<void()>& plan) {
  try {
    plan();
    return "none";
  } catch (const UserError& error) {
    EXPECT_NE(error.where().file.find("quick.json"), std::string::npos);
    return error.message();
  }
}

TEST(Stages, BuildingTheirSpacesCanBeStopped) {
  const TuneSpec spec = shipped("quick.json", {"512"});
  EXPECT_TRUE(carries(message_of([&] { plan_tasks(spec, [] { return true; }); }),
                      {spec.templates.front().name, "512x512x512", "space"}));
  TuneSpec with_options = spec;
  with_options.templates.front().compile_options = {"--use_fast_math"};
  EXPECT_TRUE(carries(message_of([&] { plan_tasks(with_options, [] { return true; }); }),
                      {spec.templates.front().name, "options"}));
}

/// A filter whose weights lie in constant memory, as a template's or a baseline's kernel.
constexpr const char* kWithConstants = R"--("source": "kernel.cu", "kernel": "blur",
  "constants": {"d_weights": "weights"}, "arguments": [{"buffer": "in"}, {"buffer": "out"}])--";

/// `baselines` is the member of that name, or empty.
std::string filter(const std::string& name, const std::string& baselines) {
  return R"--({"name": ")--" + name + R"--(", "summary": "a filter", "operation": {
    "name": "filter", "dimensions": ["n"], "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
    "buffers": [{"name": "in", "type": "f32", "elements": "n", "role": "in"},
                {"name": "weights", "type": "f32", "elements": "16", "role": "in"},
                {"name": "out", "type": "f32", "elements": "n", "role": "out"}],
    )--" +
         baselines + R"--("reference": "none"}, "launch": {"grid": ["n"], "block": [32]}, )--" +
         kWithConstants + "}";
}

TEST(Stages, BaselinesGetTheirConstantMemory) {
  const TemporaryFolder folder;
  const std::string baselines = R"("baselines": [{"template": "other"},
      {"name": "plain", "grid": ["n"], "block": [32], )" +
                                std::string(kWithConstants) + "}], ";
  for (const std::string name : {"filter", "other"}) {
    write_file(folder / name / "kernel.cu", "__constant__ float d_weights[16];");
    write_file(folder / name / "template.json", filter(name, name == "filter" ? baselines : ""));
  }
  write_file(folder / "filter.json", R"({"templates": ["filter"], "problems": [64]})");
  const TuneSpec spec = load_tune_spec(folder / "filter.json", {});
  const std::vector<Task> tasks = plan_tasks(spec);
  ASSERT_EQ(tasks.front().baselines.size(), 2U);
  GpuModel gpu;
  gpu.memory_bytes = std::int64_t{1} << 30;
  for (const Task& baseline : tasks.front().baselines) {
    Instance instance;
    EXPECT_EQ(instantiate(baseline, 0, gpu, instance), "") << baseline.label();
    Binary binary;
    binary.kernel_symbols = {"blur"};
    const MeasureRequest request = measure_request(baseline, instance, binary);
    ASSERT_EQ(request.constants.size(), 1U) << baseline.label();
    EXPECT_EQ(request.constants[0].symbol, "d_weights");
    EXPECT_EQ(request.constants[0].buffer, "weights");
  }
}

TEST(Stages, AreRefusedBeyondTheLimits) {
  const TuneSpec spec = shipped("quick.json", {"512", "1024"});
  const std::uint64_t tasks = 2 * spec.templates.size();
  std::uint64_t rows = 0;
  for (const Task& task : plan_tasks(spec)) rows += task.space.rows();
  EXPECT_EQ(message_of([&] { plan_tasks(spec, never_stop, {tasks, rows}); }), "none");
  EXPECT_TRUE(carries(message_of([&] {
                        plan_tasks(spec, never_stop, {tasks - 1, rows});
                      }),
                      {std::to_string(tasks - 1), "pairs"}));
  EXPECT_TRUE(carries(message_of([&] {
                        plan_tasks(spec, never_stop, {tasks, rows - 1});
                      }),
                      {std::to_string(rows - 1), "combinations"}));
}

TEST(Stages, HarmfulOptionsOfAConfigAreRefused) {
  TuneSpec spec = shipped("quick.json", {});
  spec.compile.options = {"--include-path=/etc"};
  EXPECT_THROW(plan_tasks(spec), UserError);
}

TEST(Stages, AddTheirFoldersToThoseOfThePool) {
  const auto paths_of = [](const CompilePoolOptions& options) {
    std::set<std::filesystem::path> paths;
    for (const auto& folder : options.folders) EXPECT_TRUE(paths.insert(folder->path()).second);
    return paths;
  };
  const TuneSpec one = shipped("quick.json", {});
  const TuneSpec other = shipped("hgemm.json", {});
  const std::vector<Task> tasks = plan_tasks(one);
  const std::vector<Task> others = plan_tasks(other);
  CompilePoolOptions options = with_folders({}, one, tasks);
  std::set<std::filesystem::path> expected = paths_of(options);
  expected.merge(paths_of(with_folders({}, other, others)));
  EXPECT_GT(expected.size(), options.folders.size());
  options = with_folders(with_folders(std::move(options), other, others), one, tasks);
  EXPECT_EQ(paths_of(options), expected);
}

TEST(Stages, PrepareRequestHoldsTheWholeProblem) {
  const TuneSpec spec = shipped("quick.json", {"30x20x10"});
  const std::vector<Task> tasks = plan_tasks(spec);
  const PrepareRequest request = prepare_request(spec, tasks.front(), {});
  ASSERT_EQ(request.workload.buffers.size(), 3U);
  EXPECT_EQ(request.workload.buffers[0].elements, 300);
  EXPECT_EQ(request.workload.buffers[1].elements, 200);
  EXPECT_EQ(request.workload.buffers[2].elements, 600);
  EXPECT_EQ(request.workload.flops, 2.0 * 30 * 20 * 10);
  EXPECT_FALSE(request.reference.has_value());
}

/// Doubles numbers; VEC of them at a time, from 64 on.
const char* const kChecked =
    R"--({"name": "twice", "summary": "twice", "source": "kernel.cu", "kernel": "twice",
  "macros": {"VEC": "VEC"}, "parameters": [{"name": "VEC", "values": [1, 4]}],
  "constraints": [{"require": "n % VEC == 0"}],
  "operation": {"dimensions": ["n"], "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
    "buffers": [{"name": "in", "type": "f32", "elements": "n", "role": "in"},
                {"name": "out", "type": "f32", "elements": "n", "role": "out"}],
    "reference": {"source": "reference.cu", "kernel": "r", "grid": ["n"], "block": [32],
                  "arguments": [{"scalar": "n", "type": "i64"}, {"buffer": "in"}, {"buffer": "out"}]},
    "checks": [{"name": "odd", "problems": [["17"], ["n // 2"]], "values": {"in": "spread(-2 * n, 2 * n)"}},
               {"name": "even", "problems": [["20"]], "scale": "2.5 * n"}]},
  "launch": {"grid": ["ceil_div(n, 32)"], "block": [32]},
  "arguments": [{"scalar": "n", "type": "i64"}, {"buffer": "in"}, {"buffer": "out"}]})--";

TuneSpec checked(const TemporaryFolder& folder) {
  for (const char* name : {"kernel.cu", "reference.cu"}) write_file(folder / "twice" / name, "");
  write_file(folder / "twice/template.json", kChecked);
  write_file(folder / "twice.json", R"({"templates": ["twice"], "problems": [48]})");
  return load_tune_spec(folder / "twice.json", {});
}

TEST(Checks, ArePreparedWithTheirProblemsAndValues) {
  const TemporaryFolder folder;
  const TuneSpec spec = checked(folder);
  const std::vector<Task> tasks = plan_tasks(spec);
  WorkloadKernels kernels;
  kernels.operation = {std::make_shared<Binary>(Binary{.kernel_symbols = {"_r"}})};
  const PrepareRequest request = prepare_request(spec, tasks.front(), kernels);
  ASSERT_EQ(request.checks.size(), 3U);
  EXPECT_EQ(request.checks[0].name, "odd (17)");
  EXPECT_EQ(request.checks[1].name, "odd (24)");
  EXPECT_EQ(request.checks[2].name, "even (20)");
  EXPECT_EQ(request.checks[0].workload.buffers[0].elements, 17);
  EXPECT_EQ(request.checks[0].workload.buffers[0].input, (Workload::Values{Distribution::spread, -34, 34}));
  EXPECT_EQ(request.checks[1].workload.buffers[0].input, (Workload::Values{Distribution::spread, -48, 48}));
  EXPECT_EQ(request.checks[2].workload.buffers[0].input, std::nullopt);
  EXPECT_EQ(request.checks[2].scale, 50);
  EXPECT_EQ(request.checks[1].reference->launch.grid.x, 24)
      << "the reference's launch is that of the check's size";
  EXPECT_EQ(request.checks[1].reference->launch.symbol, "_r");
  EXPECT_EQ(request.workload.buffers[0].input, std::nullopt) << "what is timed keeps its values";
}

TEST(Checks, AreLaunchedOnTheFirstProblemThatAConfigurationAllows) {
  const TemporaryFolder folder;
  const TuneSpec spec = checked(folder);
  const std::vector<Task> tasks = plan_tasks(spec);
  GpuModel gpu;
  gpu.memory_bytes = std::int64_t{1} << 30;
  gpu.max_threads_per_block = 1024;
  Binary binary;
  binary.kernel_symbols = {"twice"};
  std::string launched;
  for (std::uint64_t index = 0; index < 2; ++index) {
    Instance instance;
    ASSERT_EQ(instantiate(tasks.front(), index, gpu, instance), "");
    for (const CheckLaunches& check : check_launches(tasks.front(), instance, binary, gpu)) {
      launched += std::to_string(check.check) + " ";
      EXPECT_EQ(check.launches.front().symbol, "twice");
    }
    launched += "; ";
  }
  EXPECT_EQ(launched, "0 2 ; 1 2 ; ") << "17 is no multiple of 4";
}

}  // namespace task_test
}  // namespace tiletune
