// Runs an operation over several GPUs that `tiletune export --best` recommends, with one process per GPU:
// each reads the same entry of best.json, compiles the same kernels, and opens the others' memory by CUDA
// IPC.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/pool.h"
#include "exchange.h"
#include "gpu/stream.h"
#include "measure/argument_pack.h"
#include "measure/loaded_kernel.h"
#include "measure/messages.h"
#include "spec/load.h"
#include "tune/evaluator.h"
#include "tune/identity.h"
#include "tune/task.h"

namespace {

using namespace tiletune;
using Json = nlohmann::ordered_json;
using Addresses = std::map<std::string, DeviceAddress>;

constexpr int kDeadlineS = 120;
constexpr int kLaunches = 21;

/// The first entry of a problem that matches; `wanted` is part of the template's name, or empty.
Json pick(const std::string& file, const std::string& problem, const std::string& wanted) {
  const Json document = read_json(file);
  std::string others;
  for (const Json& entry : document.value("best", Json::array())) {
    const std::string kernel = entry.value("template", "");
    if (entry.value("problem", "") == problem && kernel.find(wanted) != std::string::npos) return entry;
    others += fmt::format(" {} {};", kernel, entry.value("problem", ""));
  }
  throw UserError(
      fmt::format("has no entry of {} {}", problem, wanted), {file, ""},
      others.empty() ? "Write it with 'tiletune export --best -o best.json'." : "It has" + others);
}

/// "A:bf16 B:bf16" or "alpha=1 beta=0" as members of an object; "f32", of all matrices alike, has none.
Json settings_of(const std::string& text) {
  Json settings = Json::object();
  for (const std::string& setting : split(text, ' ')) {
    const std::size_t end = setting.find_first_of(":=");
    if (end != std::string::npos) settings[setting.substr(0, end)] = setting.substr(end + 1);
  }
  return settings;
}

/// A config of that one configuration.
TuneSpec spec_of(const Json& entry, const std::string& file) {
  Json kernel{{"template", entry.at("template")}, {"extend", true}};
  const Json types = settings_of(entry.value("element_types", ""));
  if (!types.empty()) kernel["types"] = types;
  for (const auto& [name, value] : entry.at("parameters").items())
    kernel["parameters"][name] = Json::array({value});
  Json config{{"templates", Json::array({kernel})}, {"problems", Json::array({entry.at("problem")})}};
  const Json scalars = settings_of(entry.value("scalars", ""));
  for (const auto& [name, value] : scalars.items())
    config["scalars"][name] = Json::parse(value.get<std::string>());
  LoadOptions options;
  options.template_folders = {home_folder() / "kernel_templates"};
  return parse_tune_spec(config.dump(), file, options);
}

/// Numbers from -1 to below 1 that every process computes alike, by their place in the whole matrix.
float input(std::uint64_t place, std::uint32_t seed) {
  auto x = static_cast<std::uint32_t>(place) * 0x9e3779b9U ^ static_cast<std::uint32_t>(place >> 32U) ^ seed;
  x = (x ^ x >> 16U) * 0x7feb352dU;
  x = (x ^ x >> 15U) * 0x846ca68bU;
  return static_cast<float>(x >> 8U) * 0x1p-23F - 1;
}

std::uint32_t bits_of(ElementType type, float value) {
  if (type == ElementType::f16) {
    const auto half = static_cast<_Float16>(value);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &half, sizeof(bits));
    return bits;
  }
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return type == ElementType::bf16 ? (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U : bits;
}

float number_of(ElementType type, std::uint32_t bits) {
  if (type == ElementType::f16) {
    const auto low = static_cast<std::uint16_t>(bits);
    _Float16 half = 0;
    std::memcpy(&half, &low, sizeof(low));
    return half;
  }
  if (type == ElementType::bf16) bits <<= 16U;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// What one GPU has of a matrix: its rows and columns within the whole.
struct Part {
  ElementType type;
  std::int64_t whole_columns, first_row, rows, first_column, columns;

  Part(const Workload::SizedBuffer& buffer, int rank, int gpus) : type(buffer.type) {
    whole_columns = buffer.rows->columns;
    rows = buffer.elements / whole_columns;
    columns = whole_columns;
    first_row = first_column = 0;
    if (buffer.layout == BufferLayout::rows) {
      rows /= gpus;
      first_row = rank * rows;
    } else if (buffer.layout == BufferLayout::columns) {
      columns /= gpus;
      first_column = rank * columns;
    }
  }
  std::size_t bytes() const { return static_cast<std::size_t>(rows * columns) * size_bytes(type); }
  float value(std::int64_t row, std::int64_t column, std::uint32_t seed) const {
    const float exact = input(static_cast<std::uint64_t>(row * whole_columns + column), seed);
    return number_of(type, bits_of(type, exact));
  }
};

constexpr std::uint32_t kSeedA = 1;
constexpr std::uint32_t kSeedB = 2;

/// The configuration on one GPU, in one process.
class Member {
 public:
  Member(Exchange& exchange, const Task& task, const MeasureRequest& request, Gpu& gpu)
      : exchange_(exchange), task_(task), request_(request), gpu_(gpu) {
    place_arrays();
    fill_inputs();
    open_others();
    module_ = std::make_shared<const Module>(request.cubin);
    kernels_ = kernels_of(module_, request.launches);
    for (const KernelLaunch& launch : request.launches)
      arguments_.emplace_back(launch.arguments, own_, PeerArguments{exchange.rank(), &lists_});
  }

  /// All steps. No GPU begins before all have ended what they did before.
  void launch() {
    exchange_.meet();
    gpu_.record(begin_);
    bool is_forked = false;
    for (const GpuStep& step : steps_of(request_)) {
      if (step.kind == StepKind::kernel) {
        const auto number = static_cast<std::size_t>(step.launch);
        const KernelLaunch& launch = request_.launches[number];
        gpu_.launch(kernels_[number], launch, arguments_[number].pointers(), launch.programmatic);
      } else if (step.kind == StepKind::barrier) {
        gpu_.synchronize();
        exchange_.meet();
      } else {
        copy(step);
        is_forked = is_forked || step.beside;
      }
    }
    if (is_forked) {
      record(side_ended_, side_.get());
      wait_for(side_ended_, gpu_.stream());
    }
    gpu_.record(end_);
    gpu_.synchronize();
  }
  double elapsed_us() { return gpu_.elapsed_us(begin_, end_); }

  /// The largest error among some elements of C, which is alpha * A * B, divided by alpha and the square root
  /// of K.
  double largest_error(double alpha) {
    const Workload& workload = task_.instantiator.workload();
    const Part c = part("C");
    const Part a(workload.buffer("A"), 0, 1);
    const Part b(workload.buffer("B"), 0, 1);
    const std::int64_t elements = c.rows * c.columns;
    std::vector<std::byte> results(c.bytes());
    gpu_.copy_to_host(results.data(), own_.at("C"), results.size());
    constexpr std::int64_t kSamples = 500;
    double largest = 0;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const std::int64_t place = (elements / kSamples * i + i % 97) % elements;
      const std::int64_t row = c.first_row + place / c.columns;
      const std::int64_t column = c.first_column + place % c.columns;
      double sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k)
        sum += static_cast<double>(a.value(row, k, kSeedA)) * static_cast<double>(b.value(k, column, kSeedB));
      std::uint32_t bits = 0;
      std::memcpy(&bits, results.data() + static_cast<std::size_t>(place) * size_bytes(c.type),
                  size_bytes(c.type));
      const double error = std::abs(static_cast<double>(number_of(c.type, bits)) / alpha - sum);
      largest = std::isnan(error) ? error : std::max(largest, error);
    }
    return largest / std::sqrt(static_cast<double>(a.columns));
  }

 private:
  Part part(const std::string& name) const {
    const Workload& workload = task_.instantiator.workload();
    return {workload.buffer(name), exchange_.rank(), workload.gpus};
  }

  /// All arrays of a GPU lie in one buffer, at the same places on every GPU. Workspaces begin with zeros.
  void place_arrays() {
    std::size_t bytes = 0;
    const auto place = [&](const std::string& name, std::size_t needed) {
      if (needed > 0) places_[name] = bytes;
      bytes += (needed + 1023) / 1024 * 1024;
    };
    for (const Workload::SizedBuffer& buffer : task_.instantiator.workload().buffers)
      place(buffer.name, part(buffer.name).bytes());
    for (const SizedWorkspace& workspace : request_.workspace) place(workspace.name, workspace.bytes());
    memory_ = DeviceBuffer(bytes);
    gpu_.fill8(memory_.address(), 0, bytes);
    own_ = addresses_in(memory_.address());
  }

  /// An array without elements has a null address.
  Addresses addresses_in(DeviceAddress start) const {
    Addresses addresses;
    for (const SizedWorkspace& workspace : request_.workspace) addresses[workspace.name] = 0;
    for (const auto& [name, offset] : places_) addresses[name] = start + offset;
    return addresses;
  }

  void fill_inputs() {
    for (const auto& [name, seed] : {std::pair{"A", kSeedA}, std::pair{"B", kSeedB}}) {
      const Part matrix = part(name);
      std::vector<std::byte> values(matrix.bytes());
      std::byte* at = values.data();
      for (std::int64_t row = 0; row < matrix.rows; ++row) {
        for (std::int64_t column = 0; column < matrix.columns; ++column, at += size_bytes(matrix.type)) {
          const std::uint32_t bits =
              bits_of(matrix.type, matrix.value(matrix.first_row + row, matrix.first_column + column, seed));
          std::memcpy(at, &bits, size_bytes(matrix.type));
        }
      }
      gpu_.copy_to_device(own_.at(name), values.data(), values.size());
      gpu_.synchronize();
    }
  }

  /// The others' arrays, and lists of the addresses of each array on all GPUs.
  void open_others() {
    Message own;
    own.memory = ipc_name(memory_);
    const std::vector<Message> all = exchange_.meet(own);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const bool is_own = static_cast<int>(rank) == exchange_.rank();
      all_.push_back(is_own ? own_ : addresses_in(opened_.emplace_back(all[rank].memory).address()));
    }
    std::vector<DeviceAddress> lists;
    for (const auto& [name, address] : own_)
      for (const Addresses& addresses : all_) lists.push_back(addresses.at(name));
    list_memory_ = DeviceBuffer(lists.size() * sizeof(DeviceAddress));
    gpu_.copy_to_device(list_memory_.address(), lists.data(), list_memory_.bytes());
    gpu_.synchronize();
    DeviceAddress at = list_memory_.address();
    for (const auto& [name, address] : own_) {
      lists_[name] = at;
      at += all_.size() * sizeof(DeviceAddress);
    }
  }

  std::size_t element_bytes(const std::string& name) const {
    for (const SizedWorkspace& workspace : request_.workspace)
      if (workspace.name == name) return size_bytes(workspace.type);
    return size_bytes(task_.instantiator.workload().buffer(name).type);
  }

  void copy(const GpuStep& step) {
    CUstream_st* const stream = step.beside ? side_.get() : gpu_.stream();
    if (step.beside) {
      gpu_.record(side_begins_);
      wait_for(side_begins_, stream);
    }
    const std::size_t bytes = element_bytes(step.from);
    for (const PeerCopy& copy : step.copies) {
      if (copy.gpu != exchange_.rank()) continue;
      const DeviceAddress from = all_[static_cast<std::size_t>(copy.peer)].at(step.from);
      copy_between(own_.at(step.to) + static_cast<std::size_t>(copy.to) * bytes,
                   from + static_cast<std::size_t>(copy.from) * bytes,
                   static_cast<std::size_t>(copy.elements) * bytes, stream);
      if (!step.signal.empty())
        write_word(own_.at(step.signal) + static_cast<std::size_t>(copy.word) * sizeof(std::uint32_t), 1,
                   stream);
    }
  }

  Exchange& exchange_;
  const Task& task_;
  const MeasureRequest& request_;
  Gpu& gpu_;
  DeviceBuffer memory_;
  std::map<std::string, std::size_t> places_;  ///< bytes from the start of the memory
  Addresses own_;
  std::deque<IpcBuffer> opened_;
  std::vector<Addresses> all_;  ///< by GPU
  DeviceBuffer list_memory_;
  Addresses lists_;  ///< of an array's addresses on all GPUs
  std::shared_ptr<const Module> module_;
  std::vector<Kernel> kernels_;
  std::vector<ArgumentPack> arguments_;
  Stream side_;
  Event side_begins_{Event::Use::order}, side_ended_{Event::Use::order};
  Event begin_, end_;
};

/// Whether the entry is still what its template gives, and moves data in a way that this program knows.
void check(const Json& entry, const Instance& instance, const std::string& file) {
  if (kernels_text(instance) != entry.at("kernel_expression").get<std::string>() ||
      Json::parse(launch_text(instance)) != entry.at("launch"))
    throw UserError("the template has changed since", {file, ""}, "Tune it again.");
  if (std::any_of(instance.steps.begin(), instance.steps.end(),
                  [](const GpuStep& step) { return step.kind == StepKind::collective; }))
    throw UserError("this program moves data without NCCL, which the entry needs", {file, ""},
                    "Export an entry with another TRANSFER.");
}

/// One process. `entry` is the same for all.
int run(Exchange& exchange, const Json& entry, const std::string& file) {
  // What is wrong for all of them, the first one says.
  if (exchange.rank() > 0) exchange.meet();
  Gpu gpu(exchange.rank());
  const DeviceFacts& device = gpu.facts();
  if (entry.at("gpu").get<std::string>() != device.name)
    throw UserError(fmt::format("is for {}, and GPU {} is {}", entry.at("gpu").get<std::string>(),
                                exchange.rank(), device.name),
                    {file, ""}, "Tune it for these GPUs.");
  const TuneSpec spec = spec_of(entry, file);
  const std::vector<Task> tasks = plan_tasks(spec);
  const Task& task = tasks.front();
  Instance instance;
  const GpuModel model = target_from_device({device, 1, ""}, {}).model;
  const std::string impossible = instantiate(task, 0, model, instance);
  if (!impossible.empty()) throw UserError(impossible, {file, ""}, "Tune it again for these GPUs.");
  check(entry, instance, file);
  if (exchange.rank() == 0) exchange.meet();
  const std::string architecture = architecture_for(device.compute_major, device.compute_minor);
  const Compiled compiled =
      compile_here(make_compile_request(spec.compile, *task.source, instance, architecture));
  if (!compiled.binary) throw UserError(compiled.reason, {file, ""}, "Tune it again on this machine.");
  const MeasureRequest request = measure_request(task, instance, *compiled.binary);

  Member member(exchange, task, request, gpu);
  member.launch();
  std::vector<double> times_us;
  for (int i = 0; i < kLaunches; ++i) {
    member.launch();
    times_us.push_back(member.elapsed_us());
  }
  std::nth_element(times_us.begin(), times_us.begin() + kLaunches / 2, times_us.end());
  Message result;
  result.median_us = times_us[kLaunches / 2];
  const double alpha = std::stod(settings_of(entry.value("scalars", "")).value("alpha", "1"));
  const double error = member.largest_error(alpha);
  const double bound = task.instantiator.workload().buffer("C").type == ElementType::f32 ? 1e-4 : 0.02;
  result.is_right = error <= bound;
  const std::vector<Message> all = exchange.meet(result);
  fmt::print("GPU {}: {} us, largest error {:.2g} (bound {})\n", exchange.rank(),
             three_digits(result.median_us), error, bound);
  const auto is_slower = [](const Message& a, const Message& b) { return a.median_us < b.median_us; };
  if (exchange.rank() == 0)
    fmt::print("{} {}: slowest {} us, recorded {} us\n", entry.at("template").get<std::string>(),
               entry.at("problem").get<std::string>(),
               three_digits(std::max_element(all.begin(), all.end(), is_slower)->median_us),
               three_digits(entry.at("timing").at("median_us").get<double>()));
  const bool is_right = std::all_of(all.begin(), all.end(), [](const Message& one) { return one.is_right; });
  std::fflush(stdout);
  exchange.meet();  // nobody frees what others may read
  return is_right ? 0 : 3;
}

constexpr const char* kUsage =
    "Usage: use_best_on_gpus BEST.JSON PROBLEM [TEMPLATE]\n"
    "Runs what 'tiletune export --best -o BEST.JSON' recommends for a problem of an operation over several "
    "GPUs, with\n"
    "one process per GPU. TEMPLATE, or a part of its name, chooses among several entries. Prints the time on "
    "each "
    "GPU,\n"
    "with warm caches and without a common start, and checks 500 elements on each.\n"
    "Example: use_best_on_gpus best.json 2x2048x8192x4096 hgemm\n"
    "Exit codes: 0 done, 2 a mistake to correct or too few GPUs, 3 a GPU failed or the result is wrong.\n";

int failed(int status, const std::string& message) {
  fmt::print(stderr, "use_best_on_gpus: {}\n", message);
  return status;
}

/// The result of `body`, or the exit code of what it throws.
template <typename Body>
int guarded(const char* file, const Body& body) {
  try {
    return body();
  } catch (const NoGpu& error) {
    return failed(2,
                  fmt::format("no GPU to run on: {}\n  Run it on a machine with NVIDIA GPUs.", error.what()));
  } catch (const GpuError& error) {
    return failed(3, fmt::format("GPU error: {}", error.what()));
  } catch (const Json::exception& error) {
    return failed(
        2, fmt::format("error: {}: is not what 'tiletune export --best' writes: {}", file, error.what()));
  } catch (const std::exception& error) {
    return failed(2, fmt::format("error: {}", error.what()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (argc != 3 && argc != 4)
    return failed(2, "error: two or three arguments are needed\n" + std::string(kUsage));
  return guarded(argv[1], [&] {
    const Json entry = pick(argv[1], argv[2], argc == 4 ? argv[3] : "");
    const TuneSpec spec = spec_of(entry, argv[1]);
    const int gpus = plan_tasks(spec).front().instantiator.workload().gpus;
    if (gpus < 2) throw UserError("is an entry for one GPU", {argv[1], ""}, "Run use_best instead.");
    if (!spec.templates.front().operation.reference_library)
      throw UserError("has an entry that is not a product", {argv[1], ""},
                      "Name the problem of a product, or another template.");
    return run_processes(gpus, kDeadlineS, [&](Exchange& exchange) {
      return guarded(argv[1], [&] { return run(exchange, entry, argv[1]); });
    });
  });
}
