// A config, with two templates that it may name: "tile" (gemm) and "axpy" (its own).

#include <algorithm>

#include "foreign/t1.h"
#include "fuzz/fuzz.h"
#include "spec/load.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

constexpr const char* kTile = R"json({
  "name": "tile", "summary": "a tiled kernel", "source": "kernel.cuh", "kernel": "tile", "operation": "gemm",
  "template_arguments": ["BM", "BN", "PAD"],
  "types": [{"A": "f32", "B": "f32", "C": "f32"}, {"A": "f16", "B": "f16", "C": "f16"}],
  "options": {"layout": ["nn", "nt", "tn"]},
  "parameters": [{"name": "BM", "values": [32, 64, 128], "meaning": "rows"},
                 {"name": "BN", "values": [8, 16], "meaning": "columns"},
                 {"name": "PAD", "values": [true, false], "meaning": "padding"}],
  "derived": [{"name": "THREADS", "value": "BM * BN // 4", "meaning": "threads"}],
  "constraints": [{"require": "THREADS <= 1024", "why": "a block has no more"}],
  "launch": {"grid": ["ceil_div(N, BN)", "ceil_div(M, BM)"], "block": ["THREADS"]},
  "arguments": [{"scalar": "M", "type": "i32"}, {"scalar": "alpha", "type": "f32"}, {"buffer": "A"},
                {"buffer": "B"}, {"buffer": "C"}]})json";
constexpr const char* kAxpy = R"json({
  "name": "axpy", "summary": "y = a * x + y",
  "operation": {
    "dimensions": ["n"], "scalars": {"a": 2.0},
    "buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"},
                {"name": "y", "type": "f32", "elements": "n", "role": "inout"}],
    "flops": "2 * n", "bytes": "12 * n", "accumulation": 1, "bound": "copy",
    "reference": {"source": "reference.cu", "kernel": "reference", "grid": ["ceil_div(n, 256)"], "block": ["256"]}},
  "source": "kernel.cu", "kernel": "axpy", "macros": {"SIZE": "BLOCK"},
  "parameters": [{"name": "BLOCK", "values": [128, 256], "meaning": "threads"}],
  "launch": {"grid": ["ceil_div(n, BLOCK)"], "block": ["BLOCK"]},
  "arguments": [{"scalar": "n", "type": "i32"}, {"scalar": "a", "type": "f32"}, {"buffer": "x"}, {"buffer": "y"}]})json";

LoadOptions with_templates() {
  write_scratch("kernel_templates/tile/template.json", kTile);
  write_scratch("kernel_templates/tile/kernel.cuh", "");
  write_scratch("kernel_templates/axpy/template.json", kAxpy);
  write_scratch("kernel_templates/axpy/kernel.cu", "");
  write_scratch("kernel_templates/axpy/reference.cu", "");
  LoadOptions options;
  options.read_other = read_t1;
  options.template_folders = {scratch_folder() / "kernel_templates",
                              std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
  return options;
}

void check(const TuneSpec& spec) {
  require(!spec.templates.empty() && !spec.problems.empty(), "a sweep has templates and problems");
  for (const Problem& problem : spec.problems) {
    require(problem.dimensions.size() == spec.templates.front().operation.dimensions.size(),
            "a problem has all dimensions");
    for (const auto& [name, size] : problem.dimensions) require(size > 0, "a dimension is positive");
  }
  require(spec.measure.samples > 0 && spec.measure.warmup >= 0, "something is timed");
  require(spec.measure.screening == 0 || spec.measure.screening >= 1, "no screening gives up the leader");
  const FinalsPolicy& finals = spec.measure.finals;
  require(finals.configurations >= 0 && finals.rounds >= 6 && finals.sustained_s >= 0,
          "finals can be held or left out");
  require(spec.measure.launch_timeout_s > 0 && spec.compile.timeout_s > 0, "deadlines lie ahead");
  for (const TemplateSpec& one : spec.templates) {
    const auto problem = std::find_if(spec.problems.begin(), spec.problems.end(),
                                      [&](const Problem& of_config) { return one.runs(of_config); });
    require(problem != spec.problems.end(), "a template runs a problem");
    evaluate_template(one, *problem);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const LoadOptions options = with_templates();
  const auto config = write_scratch("configs/sweep.json", text_of(data, size));
  refused([&] { check(load_tune_spec(config, options)); });
  return 0;
}
