#include "measure/device_kernels.h"

#include <fmt/format.h>

#include <future>

#include "compile/cache.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMostBlocks = 4096;
constexpr std::uint64_t kMostComparingBlocks = 1024;

// The layout must be that of typed_kernels.cu.
struct Comparison {
  double squared_error;
  double squared_reference;
  double largest_error;
  std::uint64_t largest_at;
  std::uint64_t not_a_number;
  std::uint64_t first_not_a_number;
  std::uint64_t off;
  std::uint64_t untouched;
};

/// A thread per element, as far as `most` thread blocks go.
unsigned blocks_for(std::uint64_t elements, std::uint64_t most) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((elements + kThreads - 1) / kThreads, 1, most));
}

void add(Comparison& sum, const Comparison& other) {
  sum.squared_error += other.squared_error;
  sum.squared_reference += other.squared_reference;
  if (std::pair(-other.largest_error, other.largest_at) < std::pair(-sum.largest_error, sum.largest_at)) {
    sum.largest_error = other.largest_error;
    sum.largest_at = other.largest_at;
  }
  sum.not_a_number += other.not_a_number;
  sum.first_not_a_number = std::min(sum.first_not_a_number, other.first_not_a_number);
  sum.off += other.off;
}

/// Elements that are moved whatever they are: without padding, 16 bytes at a time.
struct Words {
  std::size_t bytes = 0;
  ElementRows rows;

  Words(ElementType type, const ElementRows& of, std::uint64_t addresses)
      : bytes(size_bytes(type)), rows(of) {
    constexpr std::size_t kLargest = 16;
    const std::uint64_t all = rows.count * bytes;
    if (rows.columns != rows.pitch || (addresses | all) % kLargest != 0) return;
    bytes = kLargest;
    rows = {all / kLargest, all / kLargest, all / kLargest};
  }
  /// The name of a kernel that moves them.
  std::string with_bits(const char* name) const {
    constexpr std::size_t kBits = 8;
    return fmt::format("{}_{}", name, kBits * bytes);
  }
};

constexpr std::size_t kSetAlignment = 256;

}  // namespace

CompileRequest compile_request_of(const OwnSource& source, int compute_major, int compute_minor,
                                  std::optional<ElementType> type) {
  CompileRequest request;
  request.source.name = source.file;
  request.source.text = source.text;
  request.options = {"--std=c++17", "--gpu-architecture=" + architecture_for(compute_major, compute_minor)};
  // What is neither true nor false has to stay apart from both.
  if (type) {
    const std::string_view element = *type == ElementType::boolean ? "Bool" : name(*type);
    request.options.push_back(fmt::format("-DELEMENT={}", element));
    request.options.push_back(fmt::format("-DREFERENCE={}", is_floating(*type) ? "double" : element));
  }
  request.kernel_expressions = {source.kernel};
  return request;
}

std::string cubin_of(const OwnSource& source, const DeviceFacts& device, std::optional<ElementType> type) {
  const CompileRequest request = compile_request_of(source, device.compute_major, device.compute_minor, type);
  const CubinCache cache = default_cubin_cache();
  if (const auto cached = cache.load(request.key())) return cached->binary->cubin;
  const Compiled compiled = compile_here(request);
  if (compiled.outcome != Outcome::ok)
    throw GpuError("NVRTC cannot compile the harness' own kernels for this GPU:\n" + compiled.reason);
  cache.store(compiled);
  return compiled.binary->cubin;
}

void compile_together(const std::vector<OwnKernels>& wanted, const DeviceFacts& device) {
  std::vector<std::future<std::string>> compiling;
  for (const OwnKernels& each : wanted)
    compiling.push_back(
        std::async(std::launch::async, [&] { return cubin_of(*each.source, device, each.type); }));
  for (auto& each : compiling) each.get();
}

Sets::Sets(std::size_t count, std::size_t bytes)
    : bytes(bytes), pitch((bytes + kSetAlignment - 1) / kSetAlignment * kSetAlignment), checksums(count) {
  memory = DeviceBuffer::apart(std::max<std::size_t>(count * pitch, 1));
}

DeviceKernels::DeviceKernels(Gpu& gpu)
    : gpu_(gpu),
      plain_{cubin_of(kDeviceKernels, gpu.facts()), {}},
      result_(DeviceBuffer::apart(kMostComparingBlocks * sizeof(Comparison))) {}

const Kernel& DeviceKernels::Loaded::kernel(const std::string& symbol) {
  auto found = kernels.find(symbol);
  if (found == kernels.end()) found = kernels.emplace(symbol, Kernel(cubin, symbol)).first;
  return found->second;
}

const Kernel& DeviceKernels::kernel(const std::string& symbol, ElementType type) {
  auto found = typed_.find(type);
  if (found == typed_.end())
    found = typed_.emplace(type, Loaded{cubin_of(kTypedKernels, gpu_.facts(), type), {}}).first;
  return found->second.kernel(symbol);
}

void DeviceKernels::launch(const Kernel& kernel, unsigned blocks, unsigned threads,
                           std::span<void* const> arguments, unsigned copies) {
  gpu_.launch(kernel, {{blocks, copies}, {threads}}, arguments);
}

template <typename... Arguments>
void DeviceKernels::run(const Kernel& kernel, std::uint64_t elements, Arguments... arguments) {
  const std::array<void*, sizeof...(Arguments)> addresses{&arguments...};
  launch(kernel, blocks_for(elements, kMostBlocks), kThreads, addresses);
}

template <typename... Arguments>
void DeviceKernels::run_on_copies(const Kernel& kernel, const BufferCopies& copies, std::uint64_t elements,
                                  Arguments... arguments) {
  if (copies.count == 0) return;
  DeviceAddress first = copies.first;
  std::uint64_t pitch = copies.pitch;
  const std::array<void*, 2 + sizeof...(Arguments)> addresses{&first, &pitch, &arguments...};
  launch(kernel, blocks_for(elements, kMostBlocks / copies.count), kThreads, addresses,
         static_cast<unsigned>(copies.count));
}

void DeviceKernels::fill_values(ElementType type, DeviceAddress out, const ElementRows& rows,
                                const Workload::Values& values, std::uint64_t seed) {
  run(kernel("fill_values", type), rows.count, out, rows.count, rows.columns, rows.pitch,
      static_cast<int>(values.distribution), values.a, values.b, seed);
}

void DeviceKernels::widen(ElementType type, DeviceAddress in, DeviceAddress out, std::uint64_t elements) {
  run(kernel("widen", type), elements, in, out, elements);
}

void DeviceKernels::narrow(ElementType type, DeviceAddress in, DeviceAddress out, std::uint64_t elements) {
  run(kernel("narrow", type), elements, in, out, elements);
}

ComparisonResult DeviceKernels::compare(ElementType type, DeviceAddress out, DeviceAddress reference,
                                        const ElementRows& rows, const Tolerance& tolerated) {
  auto [elements, columns, pitch] = rows;
  auto [absolute, relative] = tolerated;
  std::vector<Comparison> of_blocks(blocks_for(elements, kMostComparingBlocks));
  DeviceAddress result_address = result_.address();
  launch(kernel("compare", type), static_cast<unsigned>(of_blocks.size()), kThreads,
         std::array<void*, 8>{&out, &reference, &elements, &columns, &pitch, &absolute, &relative,
                              &result_address});
  gpu_.copy_to_host(of_blocks.data(), result_address, of_blocks.size() * sizeof(Comparison));
  Comparison sum = of_blocks.front();
  for (std::size_t i = 1; i < of_blocks.size(); ++i) add(sum, of_blocks[i]);
  ComparisonResult result;
  result.largest_error = sum.largest_error;
  result.largest_at = sum.largest_at;
  result.not_a_number = sum.not_a_number;
  result.first_not_a_number = sum.first_not_a_number;
  result.off = sum.off;
  result.reference_rms =
      std::sqrt(sum.squared_reference / static_cast<double>(std::max<std::uint64_t>(elements, 1)));
  const double norm = std::sqrt(sum.squared_reference);
  const double error = std::sqrt(sum.squared_error);
  result.relative_error = norm > 0 ? error / norm : error;
  return result;
}

void DeviceKernels::prepare_rows(ElementType type) {
  constexpr std::uint64_t kOdd = 1;
  for (const char* name : {"fill_rows", "restore_rows"})
    for (const std::uint64_t addresses : {std::uint64_t{0}, kOdd})
      prepare(Words(type, {}, addresses).with_bits(name));
  kernel("check_rows", type);
}

void DeviceKernels::check_rows(ElementType type, const BufferCopies& copies, DeviceAddress first_reference,
                               const SetChoice& choice, const ElementRows& rows, std::uint32_t filled_with,
                               const Tolerance& tolerated, DeviceAddress checks, std::uint64_t check_pitch) {
  run_on_copies(kernel("check_rows", type), copies, rows.count, first_reference, choice, rows.count,
                rows.columns, rows.pitch, filled_with, tolerated.absolute, tolerated.relative, checks,
                check_pitch);
}

void DeviceKernels::fill_rows(ElementType type, const BufferCopies& copies, const ElementRows& rows,
                              std::uint32_t word) {
  const Words words(type, rows, copies.first | copies.pitch);
  run_on_copies(kernel(words.with_bits("fill_rows")), copies, words.rows.count, words.rows.count,
                words.rows.columns, words.rows.pitch, word);
}

void DeviceKernels::restore_rows(ElementType type, const BufferCopies& copies, DeviceAddress first_set,
                                 const SetChoice& choice, const ElementRows& rows) {
  const Words words(type, rows, copies.first | copies.pitch | first_set | choice.pitch);
  run_on_copies(kernel(words.with_bits("restore_rows")), copies, words.rows.count, first_set, choice,
                words.rows.count, words.rows.columns, words.rows.pitch);
}

void DeviceKernels::copy(DeviceAddress to, DeviceAddress from, std::uint64_t bytes) {
  run(kernel("copy_bytes"), bytes / sizeof(std::uint32_t), to, from, bytes);
}

const Kernel& DeviceKernels::with_all_shared(const std::string& symbol) {
  const bool is_new = !plain_.kernels.contains(symbol);
  const Kernel& loaded = kernel(symbol);
  if (is_new) loaded.allow_dynamic_shared(static_cast<int>(gpu_.facts().shared_bytes_per_block_optin));
  return loaded;
}

void DeviceKernels::occupy(CUstream_st* stream, unsigned blocks, unsigned threads, bool alone,
                           std::uint64_t seed) {
  std::uint64_t longest_ns = 50000;
  const std::int64_t shared_bytes = alone ? gpu_.facts().shared_bytes_per_block_optin : 0;
  gpu_.launch(with_all_shared("occupy"), {{blocks}, {threads}, shared_bytes},
              std::array<void*, 2>{&longest_ns, &seed}, false, stream);
}

void DeviceKernels::fill_shared(std::uint32_t word) {
  const DeviceFacts& facts = gpu_.facts();
  const auto bytes = static_cast<int>(facts.shared_bytes_per_block_optin);
  const Kernel& fill = with_all_shared("fill_shared");
  constexpr int kBlock = 1024;
  auto words = static_cast<std::uint32_t>(bytes) / static_cast<std::uint32_t>(sizeof word);
  gpu_.launch(fill, {{facts.multiprocessors}, {kBlock}, bytes}, std::array<void*, 2>{&words, &word});
}

void DeviceKernels::read_memory(DeviceAddress from, std::uint64_t bytes) {
  constexpr std::uint64_t kQuad = 16;
  constexpr std::uint64_t kBlocksPerMultiprocessor = 8;
  std::uint64_t quads = bytes / kQuad;
  DeviceAddress sum = result_.address();
  const auto blocks =
      blocks_for(quads, kBlocksPerMultiprocessor * static_cast<std::uint64_t>(gpu_.facts().multiprocessors));
  launch(kernel("read_memory"), blocks, kThreads, std::array<void*, 3>{&from, &quads, &sum});
}

std::uint64_t DeviceKernels::checksum(const BufferCopies& copies, std::uint64_t count) {
  gpu_.fill8(result_.address(), 0, sizeof(std::uint64_t));
  run_on_copies(kernel("checksum"), copies, count / sizeof(std::uint32_t), count, result_.address());
  std::uint64_t sum = 0;
  gpu_.copy_to_host(&sum, result_.address(), sizeof sum);
  return sum;
}

GuardResult DeviceKernels::check_guard(DeviceAddress bytes, std::uint64_t count, std::uint8_t pattern) {
  return check_bands({bytes, 1, count, count}, pattern);
}

GuardResult DeviceKernels::check_bands(const Bands& bands, std::uint8_t pattern) {
  GuardResult result{0, std::numeric_limits<std::uint64_t>::max()};
  gpu_.copy_to_device(result_.address(), &result, sizeof result);
  run(kernel("check_bands"), bands.count * bands.bytes, bands.first, bands.count, bands.pitch, bands.bytes,
      pattern, result_.address());
  gpu_.copy_to_host(&result, result_.address(), sizeof result);
  return result;
}

void DeviceKernels::fill_bands(const Bands& bands, std::uint8_t pattern) {
  if (bands.count == 0) return;
  run(kernel("fill_bands"), bands.count * bands.bytes, bands.first, bands.count, bands.pitch, bands.bytes,
      pattern);
}

void DeviceKernels::block_stream(DeviceAddress words, std::uint32_t ticket, std::uint64_t deadline_ns) {
  launch(kernel("block_stream"), 1, 1, std::array<void*, 3>{&words, &ticket, &deadline_ns});
}

void DeviceKernels::probe_clock(DeviceAddress out, int multiprocessors) {
  launch(kernel("probe_clock"), static_cast<unsigned>(multiprocessors), 1,
         std::array<void*, 2>{&out, &multiprocessors});
}

void DeviceKernels::launch_empty() { launch(kernel("empty"), 1, 1, {}); }

std::uint64_t DeviceKernels::timer_step_ns() {
  DeviceAddress out = result_.address();
  launch(kernel("timer_step"), 1, 1, std::array<void*, 1>{&out});
  std::uint64_t step_ns = 0;
  gpu_.copy_to_host(&step_ns, result_.address(), sizeof step_ns);
  return step_ns;
}

void DeviceKernels::gemm_f64(const BlasGemm& gemm) {
  const auto steps = [](std::int64_t leading, bool transposed) {
    return transposed ? std::pair<std::int64_t, std::int64_t>{1, leading}
                      : std::pair{leading, std::int64_t{1}};
  };
  const auto [a_row, a_column] = steps(gemm.lda, gemm.a_transposed);
  const auto [b_row, b_column] = steps(gemm.ldb, gemm.b_transposed);
  run(kernel("gemm_f64"), static_cast<std::uint64_t>(gemm.m * gemm.n), gemm.m, gemm.n, gemm.k, gemm.alpha,
      gemm.a_address, a_row, a_column, gemm.b_address, b_row, b_column, gemm.beta, gemm.c_address, gemm.ldc);
}

void DeviceKernels::finish_f64(const BlasGemm& gemm) {
  run(kernel("finish_f64"), static_cast<std::uint64_t>(gemm.m * gemm.n), gemm.m, gemm.n, gemm.c_address,
      gemm.ldc, gemm.bias_address, static_cast<int>(gemm.epilogue));
}

}  // namespace tiletune
