// Runs the GEMM that `tiletune export --best` recommends: reads best.json, picks the entry of a problem,
// compiles its template with NVRTC, checks the result and prints the time beside the recorded one and
// cuBLAS's.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/pool.h"
#include "gpu/nvml.h"
#include "measure/baselines.h"
#include "measure/measure_kernel.h"
#include "spec/load.h"
#include "tune/evaluator.h"
#include "tune/task.h"

namespace {

using namespace tiletune;
using Json = nlohmann::ordered_json;

/// The entry of a problem on this GPU; `gpu` empty: on any.
Json pick(const std::string& file, const std::string& problem, const std::string& gpu) {
  const Json document = read_json(file);
  std::string others;
  for (const Json& entry : document.value("best", Json::array())) {
    const bool is_here = gpu.empty() || entry.value("gpu", "") == gpu;
    if (is_here && entry.value("operation", "") == "gemm" && entry.value("problem", "") == problem)
      return entry;
    others += fmt::format(" {} on {};", entry.value("problem", ""), entry.value("gpu", ""));
  }
  throw UserError(
      fmt::format("has no gemm of {}{}", problem, gpu.empty() ? "" : " on " + gpu), {file, ""},
      others.empty() ? "Write it with 'tiletune export --best -o best.json'." : "It has" + others);
}

/// A config of that one configuration, measured as it was recorded.
TuneSpec spec_of(const Json& entry, const std::string& file) {
  Json kernel{{"template", entry.at("template")}, {"extend", true}};
  for (const auto& [name, value] : entry.at("parameters").items())
    kernel["parameters"][name] = Json::array({value});
  Json config{{"templates", Json::array({kernel})},
              {"problems", Json::array({entry.at("problem")})},
              {"baseline", "cublas"}};
  config["measure"] = {{"cache", entry.at("cache")}, {"screening", 0}};
  for (const std::string& scalar : split(entry.at("scalars").get<std::string>(), ' ')) {
    const std::size_t equals = scalar.find('=');
    config["scalars"][scalar.substr(0, equals)] = Json::parse(scalar.substr(equals + 1));
  }
  LoadOptions options;
  options.template_folders = {home_folder() / "kernel_templates"};
  return parse_tune_spec(config.dump(), file, options);
}

void run(const std::string& file, const std::string& problem) {
  pick(file, problem, "");
  Gpu gpu(0);
  const DeviceFacts& device = gpu.facts();
  const Json entry = pick(file, problem, device.name);
  const TuneSpec spec = spec_of(entry, file);
  const std::vector<Task> tasks = plan_tasks(spec);
  const Task& task = tasks.front();

  Instance instance;
  const GpuModel model = target_from_device({device, 1, ""}, {}).model;
  const std::string impossible = instantiate(task, 0, model, instance);
  if (!impossible.empty()) throw UserError(impossible, {file, ""}, "Tune it again for this GPU.");
  const std::string kernel = instance.launches.front().kernel_expression;
  if (instance.launches.size() != 1 || kernel != entry.at("kernel_expression").get<std::string>())
    throw UserError("the template has changed since", {file, ""}, "Tune it again.");
  const std::string architecture = architecture_for(device.compute_major, device.compute_minor);
  const Compiled compiled =
      compile_here(make_compile_request(spec.compile, *task.source, instance, architecture));
  if (!compiled.binary) throw UserError(compiled.reason, {file, ""}, "Tune it again on this machine.");

  // Buffers with guard bands and their FP64 reference, the library's product, then the kernel: checked,
  // timed, checked again.
  DeviceKernels kernels(gpu);
  Timer timer(gpu, kernels, [] {});
  PrepareRequest request = prepare_request(spec, task, {});
  request.baseline = Baseline::cublas;
  Libraries libraries;
  libraries.open(request, gpu, nullptr);
  ProblemBuffers buffers(gpu, kernels, libraries.reference_of(request), request, nullptr);
  const Baselines cublas = measure_baselines(gpu, buffers, timer, libraries);
  const Measured measured = measure_kernel(gpu, buffers, timer, Nvml(device.uuid),
                                           measure_request(task, instance, *compiled.binary));
  if (measured.outcome != Outcome::ok || !measured.timing || !measured.accuracy)
    throw GpuError(fmt::format("{}: {}", name(measured.outcome), measured.reason));
  if (cublas.measured.empty()) throw GpuError("nothing to compare with: " + cublas.note);

  const double now_us = measured.timing->median_us;
  const double recorded_us = entry.at("timing").at("median_us").get<double>();
  fmt::print("{} on {}: {} us, recorded {} us ({:+.2f}%), relative error {:.2g} (bound {:.2g})\n", kernel,
             device.name, three_digits(now_us), three_digits(recorded_us), 100 * (now_us / recorded_us - 1),
             measured.accuracy->relative_error, measured.accuracy->error_bound.value_or(0));
  for (const Measured& library : cublas.measured)
    fmt::print("{}: {} us, relative error {:.2g}\n", library.library->library,
               three_digits(library.timing->median_us),
               library.accuracy ? library.accuracy->relative_error : 0);
}

constexpr const char* kUsage =
    "Usage: use_best BEST.JSON PROBLEM\n"
    "Runs the GEMM that 'tiletune export --best -o BEST.JSON' recommends for a problem, checks it, and "
    "prints its\n"
    "time beside the recorded one and cuBLAS's.\n"
    "Example: use_best best.json 4096x4096x4096\n"
    "Exit codes: 0 done, 2 a mistake to correct or no GPU, 3 the GPU failed.\n";

int failed(int status, const std::string& message) {
  fmt::print(stderr, "use_best: {}\n", message);
  return status;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (argc != 3) throw UserError("two arguments are needed", "Write: use_best BEST.JSON 4096x4096x4096");
  run(argv[1], argv[2]);
  return 0;
} catch (const NoGpu& error) {
  return failed(2,
                fmt::format("no GPU to run on: {}\n  Run it on a machine with an NVIDIA GPU.", error.what()));
} catch (const GpuError& error) {
  return failed(3, fmt::format("GPU error: {}", error.what()));
} catch (const Json::exception& error) {
  return failed(
      2, fmt::format("error: {}: is not what 'tiletune export --best' writes: {}", argv[1], error.what()));
} catch (const std::exception& error) {
  return failed(2, fmt::format("error: {}", error.what()));
}
