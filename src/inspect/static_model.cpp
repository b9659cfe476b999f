#include "inspect/static_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "inspect/elf.h"
#include "inspect/kernel_code.h"
#include "inspect/lanes.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

constexpr std::array<std::string_view, 2> kNumberKeys{"value", "meaning"};

/// Each is {"value": 30, "meaning": "..."}.
template <typename Owner>
void read_numbers(const JsonNode& node, Owner& out) {
  static constexpr auto kKeys = field_names<Owner>();
  ObjectReader section(node, kKeys);
  for_each_field<Owner>([&](const auto& field) {
    ObjectReader number(section.need(field.name, "a value with its meaning"), kNumberKeys);
    read_string(number.need("meaning", "a text"), "a text");
    out.*field.member = read_number(number.need("value", "a number"), field.bounds);
  });
}

/// The words of constant bank 0 that hold the kernel's scalar arguments, each at its natural alignment. The
/// attribute with the size and place of the arguments says where they begin.
std::map<std::uint32_t, std::int64_t> argument_words(const CubinElf& elf, const std::string& kernel,
                                                     const KernelLaunch& launch) {
  constexpr std::uint8_t kArgumentBank = 0x0a;
  std::optional<std::uint32_t> begin;
  if (const ElfSection* info = elf.section(".nv.info." + kernel)) {
    for_each_attribute(info->bytes, [&](const Attribute& attribute) {
      if (attribute.id == kArgumentBank) begin = read_scalar<std::uint32_t>(attribute.bytes, 4) & 0xffff;
    });
  }
  std::map<std::uint32_t, std::int64_t> words;
  std::uint32_t offset = 0;
  for (const ArgumentValue& argument : launch.arguments) {
    const bool scalar = argument.kind == Argument::Kind::scalar;
    const bool map = argument.kind == Argument::Kind::tensor_map;
    const auto bytes = static_cast<std::uint32_t>(map      ? 128
                                                  : scalar ? size_bytes(argument.type)
                                                           : sizeof(std::uint64_t));
    const std::uint32_t alignment = map ? 64 : bytes;
    offset = (offset + alignment - 1) / alignment * alignment;
    const auto* integer = std::get_if<std::int64_t>(&argument.value);
    if (begin && scalar && integer != nullptr) words[*begin + offset] = static_cast<std::int32_t>(*integer);
    offset += bytes;
  }
  return words;
}

std::optional<double> integer_of(const NamedValues& values, const std::string& name) {
  for (const auto& [key, value] : values) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (key == name && integer != nullptr && *integer > 0) return static_cast<double>(*integer);
  }
  return std::nullopt;
}

/// How much more the blocks compute than the problem needs because tiles stick out of its matrices. By
/// convention the tiles of M, N and K have the sizes BM, BN and BK; a template with other names has none.
double padding(const Instance& instance, const KernelLaunch& launch) {
  double factor = 1;
  for (const char* dimension : {"M", "N", "K"}) {
    const std::string name = std::string("B") + dimension;
    auto tile = integer_of(instance.parameters, name);
    if (!tile) tile = integer_of(instance.derived, name);
    const auto argument = std::ranges::find(launch.arguments, dimension, &ArgumentValue::name);
    if (!tile || argument == launch.arguments.end()) continue;
    const auto* extent = std::get_if<std::int64_t>(&argument->value);
    if (extent == nullptr || *extent <= 0) continue;
    const auto size = static_cast<double>(*extent);
    factor *= std::ceil(size / *tile) * *tile / size;
  }
  return factor;
}

/// What a warp does outside the hot loop.
struct Outside {
  double instructions = 0;
  double bytes = 0;  ///< of global memory
  bool cluster = false;
};

Outside outside_of(const KernelCode& code) {
  using enum SassKind;
  Outside outside;
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    const SassInstruction& instruction = code.instructions[i];
    const bool inside = i >= code.loop.begin && i < code.loop.end;
    if (inside || instruction.kind == nothing) continue;
    ++outside.instructions;
    if (instruction.is_one_of({global_load, global_store, global_reduction, async_copy}))
      outside.bytes += kLanes * instruction.bytes;
    outside.cluster = outside.cluster || instruction.kind == cluster_barrier;
  }
  return outside;
}

/// One launch: how its blocks come together on the busiest multiprocessor.
struct Layout {
  int warps = 0;      ///< of a block, in the hot loop
  int resident = 0;   ///< blocks at a time
  double rounds = 0;  ///< rounds of `resident` blocks
  int left_over = 0;  ///< blocks in the last round, if that is not full
  double blocks = 0;
};

Layout layout_of(const GpuModel& gpu, const KernelLaunch& launch, const Occupancy& occupancy,
                 const HotLoop& loop) {
  Layout layout;
  layout.warps = occupancy.warps_per_block;
  // Where other warps load for those that run the hot loop, one warp or one group of four does.
  if (loop.fed_by_other_warps && layout.warps >= 2)
    layout.warps -= layout.warps % 4 == 1 || layout.warps < 8 ? 1 : 4;
  layout.resident = std::max(1, occupancy.blocks_per_multiprocessor);
  layout.blocks = std::ceil(static_cast<double>(launch.grid.count()) / gpu.multiprocessors);
  layout.rounds = std::floor(layout.blocks / layout.resident);
  layout.left_over = static_cast<int>(layout.blocks - layout.rounds * layout.resident);
  return layout;
}

/// What keeps a multiprocessor from taking less than `clocks` for a turn of all its blocks.
const char* bound_of(const GpuModel& gpu, const LoopSteps& loop, double warps, double clocks,
                     const PipelineRates& rates) {
  const char* memory = loop.l1_clocks > loop.memory_clocks / 2 ? "L1 traffic" : "shared memory";
  const std::array<std::pair<double, const char*>, 5> terms = {{
      {warps * static_cast<double>(loop.steps.size()) / kSchedulers, "fp32 issue"},
      {warps * loop.fp32_lanes / gpu.fp32_lanes_per_multiprocessor, "fp32 issue"},
      {warps * loop.tensor_clocks / kSchedulers, "tensor cores"},
      {warps * loop.memory_clocks, memory},
      {warps * loop.l2_bytes / rates.l2_bytes_per_clock, "L2 traffic"},
  }};
  const auto most = std::max_element(terms.begin(), terms.end());
  constexpr double kBusy = 0.75;
  return most->first >= kBusy * clocks ? most->second : "latency";
}

Prediction predict_launch(const GpuModel& gpu, const StaticModel& model, const Workload& workload,
                          const Instance& instance, std::size_t index, const Binary& binary,
                          const Occupancy& occupancy) {
  const KernelLaunch& launch = instance.launches[index];
  const KernelCode code = read_kernel_code(binary, index);
  const CubinElf elf(binary.cubin);
  const LoopSteps loop =
      loop_steps(gpu, code.instructions, code.loop,
                 LaneTracker(launch.block, argument_words(elf, binary.kernel_symbols.at(index), launch)),
                 static_cast<double>(launch.block.count()), model.pipeline);
  const Layout layout = layout_of(gpu, launch, occupancy, code.loop);
  const double full =
      layout.rounds > 0 ? clocks_per_turn(loop.steps, layout.resident, layout.warps, model.pipeline) : 0;
  const double last = clocks_per_turn(loop.steps, layout.left_over, layout.warps, model.pipeline);

  const auto grid = static_cast<double>(launch.grid.count());
  const double flops_per_turn = loop.flops * layout.warps;
  // Each of several GPUs has an equal share.
  const double launches = static_cast<double>(instance.launches.size()) * workload.gpus;
  Prediction out;
  LaunchTerms& terms = out.terms;
  if (flops_per_turn > 0)
    terms.turns =
        std::max(1.0, workload.flops * padding(instance, launch) / launches / grid / flops_per_turn);
  terms.loop_clocks = terms.turns * (layout.rounds * full + last);
  terms.tensor_clocks = terms.turns * layout.blocks * layout.warps * loop.tensor_clocks / kSchedulers;
  const Outside outside = outside_of(code);
  const double warps = occupancy.warps_per_block * layout.blocks;  // of a multiprocessor, one after another
  terms.outside_clocks = outside.instructions * warps / kSchedulers;
  terms.outside_bytes = outside.bytes * warps;
  terms.dram_us = workload.bytes / launches / (gpu.memory_bandwidth_gbs * 1e3);
  const auto is_used = [](const SizedWorkspace& each) { return each.elements > 0; };
  terms.meetings = std::ranges::any_of(instance.workspace, is_used) ? 1 : 0;
  terms.clusters = outside.cluster ? 1 : 0;

  const double blocks = layout.rounds > 0 ? layout.resident : layout.left_over;
  out.time_us = launch_us(terms, model, gpu.boost_clock_mhz);
  out.bound_by = bound_of(gpu, loop, layout.warps * blocks, layout.rounds > 0 ? full : last, model.pipeline);
  if (terms.dram_us > out.time_us / 2) out.bound_by = "DRAM traffic";
  if (model.launch_us > out.time_us / 2) out.bound_by = "latency";
  out.waves = grid / (layout.resident * gpu.multiprocessors);
  return out;
}

}  // namespace

std::string StaticModel::provenance() const {
  if (calibrated_on.empty()) return "not calibrated";
  return fmt::format("calibrated on {}, {}", calibrated_on, calibrated_date);
}

std::string StaticModel::identity() const {
  std::string text = "static model 2";
  for_each_field<PipelineRates>(
      [&](const auto& number) { text += fmt::format(" {}", pipeline.*number.member); });
  for_each_field<StaticModel>([&](const auto& number) { text += fmt::format(" {}", this->*number.member); });
  return text;
}

StaticModel load_static_model(const std::filesystem::path& file) {
  static constexpr std::array<std::string_view, 4> kModelKeys{"$schema", "calibrated_on", "pipeline",
                                                              "launch"};
  static constexpr std::array<std::string_view, 6> kSourceKeys{"gpu",      "date",     "rows",
                                                               "problems", "held_out", "table"};
  const nlohmann::ordered_json json = read_json(file);
  try {
    ObjectReader whole({json, {file.string(), ""}}, kModelKeys);
    ObjectReader source(whole.need("calibrated_on", "the GPU and the date"), kSourceKeys);
    StaticModel model;
    model.calibrated_on = read_string(source.need("gpu", "a text"), "a text");
    model.calibrated_date = read_string(source.need("date", "a text"), "a text");
    read_numbers(whole.need("pipeline", "numbers of a multiprocessor"), model.pipeline);
    read_numbers(whole.need("launch", "numbers of a launch"), model);
    return model;
  } catch (const UserError& error) {
    throw UserError(error.message(), error.where(), "Write the file again with tools/static_model.");
  }
}

double launch_us(const LaunchTerms& terms, const StaticModel& model, double clock_mhz) {
  const double clocks = model.loop_scale * terms.loop_clocks + model.outside_scale * terms.outside_clocks +
                        model.byte_clocks * terms.outside_bytes;
  const double computing = std::max(clocks, terms.tensor_clocks) / clock_mhz;
  return model.launch_us + std::max(computing, terms.dram_us) +
         model.unhidden_share * std::min(computing, terms.dram_us) + model.meeting_us * terms.meetings +
         model.cluster_us * terms.clusters;
}

Prediction predict(const GpuModel& gpu, const StaticModel& model, const Workload& workload,
                   const Instance& instance, const Binary& binary,
                   const std::vector<Occupancy>& occupancies) {
  Prediction longest;
  double time_us = 0;
  for (std::size_t i = 0; i < instance.launches.size(); ++i) {
    const Prediction one = predict_launch(gpu, model, workload, instance, i, binary, occupancies.at(i));
    time_us += one.time_us;
    if (one.time_us > longest.time_us) longest = one;
  }
  longest.time_us = time_us;
  return longest;
}

}  // namespace tiletune
