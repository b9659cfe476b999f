#include "measure/problem_buffers.h"

#include <fmt/format.h>

#include "base/text.h"
#include "measure/input_values.h"
#include "measure/libraries.h"

namespace tiletune {

namespace {

/// Outputs of a batch's launches may take so much: all of them are filled before each sample.
constexpr std::size_t kMostOutputBytes = std::size_t{512} << 20;
/// Outputs of a warm batch may take this fraction (1/4) of the cache; it has at least kFewestWarm launches.
constexpr std::size_t kWarmShare = 4;
constexpr std::size_t kFewestWarm = 4;
constexpr std::size_t kCopyAlignment = 256;
constexpr std::size_t kCopyGuard = 4096;

std::size_t data_bytes(const Workload::SizedBuffer& buffer) {
  return static_cast<std::size_t>(buffer.elements) * size_bytes(buffer.type);
}

/// Buffers with their guards, initial contents, and copies while the reference is computed: of FP64 numbers,
/// or of integers as they are.
void check_free_memory(const Gpu& gpu, const Workload& workload) {
  std::size_t needed = 0;
  std::size_t reference = 0;
  std::string sum;
  for (const auto& buffer : workload.buffers) {
    const bool twice = buffer.role == BufferRole::inout;
    needed += data_bytes(buffer) * (twice ? 2 : 1) + 2 * guard_bytes();
    reference += is_floating(buffer.type) ? static_cast<std::size_t>(buffer.elements) * sizeof(double)
                                          : data_bytes(buffer);
    sum += fmt::format("{} {}{} + ", buffer.name, twice ? "2 x " : "", human_bytes(data_bytes(buffer)));
  }
  needed += reference;
  const std::size_t free = gpu.free_bytes();
  if (needed <= free) return;
  throw GpuError(fmt::format("{}copies for the reference {} = {} > {} of GPU memory that are free", sum,
                             human_bytes(reference), human_bytes(needed), human_bytes(free)));
}

bool errs(const ComparisonResult& result, const ErrorLimits& limits) {
  if (limits.tolerance) return result.off > 0;
  return exceeds(limits.error_bound, result.relative_error, result.largest_error, result.reference_rms);
}

std::string position(const Workload::SizedBuffer& buffer, std::uint64_t index) {
  if (!buffer.rows) return fmt::format("{}[{}]", buffer.name, index);
  const auto pitch = static_cast<std::uint64_t>(buffer.rows->pitch);
  return fmt::format("{}[{},{}]", buffer.name, index / pitch, index % pitch);
}

std::string describe_error(const Workload::SizedBuffer& buffer, const ComparisonResult& result,
                           const ErrorLimits& limits) {
  if (result.not_a_number > 0)
    return fmt::format("{} of {} elements of {} were not written or are not a number, the first at {}",
                       result.not_a_number, buffer.values(), buffer.name,
                       position(buffer, result.first_not_a_number));
  if (limits.tolerance)
    return fmt::format("{}; largest error {:.3g} at {}", describe_off(result.off, buffer, *limits.tolerance),
                       result.largest_error, position(buffer, result.largest_at));
  return fmt::format(
      "relative error {:.3g} of {} (bound {:.3g}); largest error {:.3g} at {}, where values "
      "are about {:.3g}",
      result.relative_error, buffer.name, limits.error_bound, result.largest_error,
      position(buffer, result.largest_at), result.reference_rms);
}

}  // namespace

ProblemBuffers::ProblemBuffers(Gpu& gpu, DeviceKernels& kernels, ComputeLibrary* library,
                               PrepareRequest request, GpuGroup* group)
    : gpu_(gpu), kernels_(kernels), library_(library), request_(std::move(request)) {
  check_free_memory(gpu_, request_.workload);
  use(allocated());
  if (group != nullptr) slices_.emplace(*group, request_.workload, wholes());
  std::vector<Workload::SizedBuffer> checked;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].buffer.role == BufferRole::in) continue;
    outputs_.push_back(i);
    if (slots_[i].buffer.is_compared) {
      compared_.push_back(i);
      checked.push_back(slots_[i].buffer);
    }
    // A kernel that is loaded while the stream is held would wait for it.
    kernels_.prepare_rows(slots_[i].buffer.type);
  }
  checks_.emplace(gpu_, kernels_, std::move(checked));
  // Kernels that compute inputs must compute the same again.
  if (!request_.inputs.empty()) fill();
  rebuild();
}

std::vector<ProblemBuffers::Slot> ProblemBuffers::allocated() const {
  std::vector<Slot> slots;
  for (const auto& buffer : request_.workload.buffers) {
    Slot slot;
    slot.buffer = buffer;
    slot.memory = GuardedBuffer(buffer.name, data_bytes(buffer), pattern_round(buffer));
    if (buffer.role == BufferRole::inout) slot.initial = DeviceBuffer(std::max<std::size_t>(slot.bytes(), 1));
    slots.push_back(std::move(slot));
  }
  return slots;
}

void ProblemBuffers::use(std::vector<Slot> slots) {
  slots_ = std::move(slots);
  for (const Slot& slot : slots_) addresses_[slot.buffer.name] = slot.data();
}

std::vector<Slices::Whole> ProblemBuffers::wholes() const {
  std::vector<Slices::Whole> wholes;
  for (const Slot& slot : slots_) wholes.push_back({slot.data(), slot.initial.address()});
  return wholes;
}

/// What a launch on several GPUs left, into the buffers.
void ProblemBuffers::gather(std::size_t result) {
  if (slices_) slices_->gather(result);
}

const std::map<std::string, DeviceAddress>& ProblemBuffers::addresses(std::size_t copy) const {
  return copy == 0 ? addresses_ : copy_addresses_.at(copy - 1);
}

ProblemBuffers::CopyCounts ProblemBuffers::wanted_copies() const {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t touched = 0;
  for (const Slot& slot : slots_) {
    (slot.buffer.role == BufferRole::in ? inputs : outputs) += slot.bytes();
    touched += static_cast<std::size_t>(slot.buffer.values()) * size_bytes(slot.buffer.type);
  }
  const auto cache = static_cast<std::size_t>(gpu_.facts().l2_bytes);
  CopyCounts wanted;
  if (request_.policy.cache == CachePolicy::warm) {
    const std::size_t beside_inputs = cache / kWarmShare / std::max<std::size_t>(outputs, 1);
    wanted.outputs = std::clamp(beside_inputs, kFewestWarm, kMostCopies);
  } else {
    wanted.inputs =
        std::clamp<std::size_t>(2 * cache / std::max<std::size_t>(touched, 1) + 2, 2, kMostCopies);
    const std::size_t fit = kMostOutputBytes / std::max<std::size_t>(outputs, 1);
    wanted.outputs = std::clamp(fit, wanted.inputs, kMostCopies);
  }
  const std::size_t free = gpu_.free_bytes() / 2;
  const std::size_t affordable = free / std::max<std::size_t>(inputs + outputs, 1) + 1;
  if (wanted.inputs * inputs + wanted.outputs * outputs <= free) return wanted;
  return {std::min(wanted.inputs, affordable), std::min(wanted.outputs, affordable)};
}

ProblemBuffers::Copies ProblemBuffers::copies_of(const Slot& slot, std::size_t count) const {
  Copies made;
  made.count = count;
  made.bytes = slot.bytes();
  made.pitch = (slot.bytes() + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment + kCopyGuard;
  if (count == 0) return made;
  made.memory = DeviceBuffer(count * made.pitch);
  gpu_.fill8(made.memory.address(), slot.memory.pattern(), made.memory.bytes());
  const DeviceAddress from = slot.buffer.role == BufferRole::inout ? slot.initial.address() : slot.data();
  for (std::size_t copy = 0; copy < count && slot.bytes() > 0; ++copy)
    gpu_.copy_on_device(made.memory.address() + copy * made.pitch, from, slot.bytes());
  return made;
}

/// Makes all copies, or none: throws when memory does not suffice.
std::size_t ProblemBuffers::copies() {
  if (slices_) return 1;
  if (!copy_addresses_.empty()) return copy_addresses_.size() + 1;
  const CopyCounts counts = wanted_copies();
  std::vector<Copies> all;
  std::vector<std::map<std::string, DeviceAddress>> addresses(counts.outputs - 1);
  for (const Slot& slot : slots_) {
    const std::size_t count = slot.buffer.role == BufferRole::in ? counts.inputs : counts.outputs;
    const Copies& made = all.emplace_back(copies_of(slot, count - 1));
    for (std::size_t copy = 1; copy < counts.outputs; ++copy) {
      const std::size_t place = copy % count;
      addresses[copy - 1][slot.buffer.name] =
          place == 0 ? slot.data() : made.memory.address() + (place - 1) * made.pitch;
    }
  }
  copies_ = std::move(all);
  copy_addresses_ = std::move(addresses);
  return counts.outputs;
}

void ProblemBuffers::drop_copies() {
  copies_.clear();
  copy_addresses_.clear();
}

/// The old buffers are freed last, so that the new ones lie elsewhere; where memory does not allow that, they
/// stay.
void ProblemBuffers::relocate() {
  if (slices_) return;
  drop_copies();
  std::size_t needed = 0;
  for (const Slot& slot : slots_) needed += slot.memory.memory().bytes() + slot.initial.bytes();
  if (needed > gpu_.free_bytes() / 2) return;
  std::vector<Slot> fresh;
  try {
    fresh = allocated();
  } catch (const CudaError& error) {
    // Another program may have taken what was free.
    if (!error.out_of_memory()) throw;
    return;
  }
  const std::vector<Slot> old = std::exchange(slots_, {});
  use(std::move(fresh));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const DeviceBuffer& before = old[i].memory.memory();
    gpu_.copy_on_device(slots_[i].memory.memory().address(), before.address(), before.bytes());
    if (old[i].initial.bytes() > 0)
      gpu_.copy_on_device(slots_[i].initial.address(), old[i].initial.address(), old[i].initial.bytes());
    slots_[i].checksum = old[i].checksum;
  }
}

void ProblemBuffers::refill() {
  drop_copies();
  fill();
  if (slices_) slices_->fill();
}

void ProblemBuffers::rebuild() {
  refill();
  if (references_.empty() || !references_are_intact()) compute_references();
}

void ProblemBuffers::fill() {
  std::size_t place = 0;
  for (Slot& slot : slots_) {
    slot.memory.fill(gpu_);
    const std::uint64_t seed = seed_of_buffer(request_.policy.seed, place++);
    if (slot.buffer.file)
      load_values(gpu_, slot.buffer, slot.data());
    else
      kernels_.fill_values(slot.buffer.type, slot.data(), rows_of(slot.buffer), values_of(slot.buffer), seed);
    kernels_.fill_bands(padding_of(slot.buffer, slot.data()), slot.memory.pattern());
  }
  for (const PrepareRequest::OperationLaunch& launch : request_.inputs) compute_input(launch);
  for (Slot& slot : slots_) {
    if (slot.buffer.role == BufferRole::inout)
      gpu_.copy_on_device(slot.initial.address(), slot.data(), slot.bytes());
    if (slot.buffer.role == BufferRole::in) slot.checksum = kernels_.checksum(slot.data(), slot.bytes());
  }
}

/// Checks that the kernel does nothing else.
void ProblemBuffers::compute_input(const PrepareRequest::OperationLaunch& launch) {
  const std::string kernel = fmt::format("the kernel that computes the input {}", launch.input);
  const std::vector<std::uint64_t> before = checksums();
  try {
    run_operation_kernel(gpu_, launch, addresses_);
  } catch (const CudaError& error) {
    throw error.with(kernel + " failed");
  }
  const std::vector<std::uint64_t> after = checksums();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    auto finding = slot.memory.check(kernels_);
    if (!finding) finding = check_padding(slot, slot.data());
    if (finding) throw GpuError(fmt::format("{} writes out of bounds: {}", kernel, finding->reason));
    if (slot.buffer.name == launch.input) {
      const auto [known, is_first] = computed_checksums_.emplace(launch.input, after[i]);
      if (!is_first && known->second != after[i])
        throw GpuError(fmt::format("{} computes other values each time", kernel));
    } else if (after[i] != before[i]) {
      throw GpuError(fmt::format("{} writes into {}", kernel, slot.buffer.name));
    }
  }
}

/// The checksum of each buffer with its padding.
std::vector<std::uint64_t> ProblemBuffers::checksums() {
  std::vector<std::uint64_t> checksums;
  for (const Slot& slot : slots_) checksums.push_back(kernels_.checksum(slot.data(), slot.bytes()));
  return checksums;
}

/// The inputs are the same after every rebuild, and so is the reference: it is computed again only when it
/// was damaged.
void ProblemBuffers::compute_references() {
  references_.clear();
  if (!request_.candidates.empty() && !consensus_) return;
  const bool has_files = std::any_of(slots_.begin(), slots_.end(),
                                     [](const Slot& slot) { return slot.buffer.expected.has_value(); });
  const bool has_reference = has_files || request_.reference || request_.reference_library;
  if (!request_.policy.verify && !has_reference) return;
  references_ = consensus_ ? consensus_() : compute_reference(gpu_, kernels_, library_, request_, addresses_);
  for (const auto& [name, reference] : references_)
    reference_checksums_[name] = kernels_.checksum(reference.address(), reference.bytes());
}

void ProblemBuffers::use_consensus(std::function<std::map<std::string, DeviceBuffer>()> reach) {
  consensus_ = std::move(reach);
  compute_references();
}

std::map<std::string, DeviceBuffer> ProblemBuffers::widened_outputs() {
  gather();
  std::map<std::string, DeviceBuffer> outputs;
  for (const std::size_t output : compared_) {
    const Slot& slot = slots_[output];
    const auto elements = static_cast<std::size_t>(slot.buffer.elements);
    const std::size_t bytes = is_floating(slot.buffer.type) ? elements * sizeof(double) : slot.bytes();
    DeviceBuffer copy(std::max<std::size_t>(bytes, 1));
    if (is_floating(slot.buffer.type))
      kernels_.widen(slot.buffer.type, slot.data(), copy.address(), elements);
    else
      gpu_.copy_on_device(copy.address(), slot.data(), bytes);
    outputs.emplace(slot.buffer.name, std::move(copy));
  }
  gpu_.synchronize();
  return outputs;
}

bool ProblemBuffers::agree_with(const std::map<std::string, DeviceBuffer>& others) {
  gather();
  return std::all_of(compared_.begin(), compared_.end(), [&](std::size_t output) {
    const Slot& slot = slots_[output];
    const ComparisonResult result = compare(slot, others.at(slot.buffer.name).address());
    return result.not_a_number == 0 && !errs(result, limits_of(slot, 1, result.reference_rms));
  });
}

bool ProblemBuffers::references_are_intact() {
  return std::all_of(references_.begin(), references_.end(), [&](const auto& entry) {
    const auto& [name, reference] = entry;
    return kernels_.checksum(reference.address(), reference.bytes()) == reference_checksums_.at(name);
  });
}

void ProblemBuffers::poison(int variant) {
  constexpr std::uint32_t kNan = 0xffffffff;
  constexpr std::uint32_t kOtherNan = 0x7fff7fff;  // a NaN as f16, bf16, f32 and f64
  fill_outputs({}, variant == 0 ? kNan : kOtherNan);
}

void ProblemBuffers::invalidate(const CopyRange& copies) {
  fill_outputs(copies, kValidLookingWord);
  if (!slices_) return;
  GpuGroup& group = slices_->group();
  group.fork();
  group.flush_others(request_.policy.cache == CachePolicy::dirty);
  group.join();
}

void ProblemBuffers::fill_outputs(const CopyRange& copies, std::uint32_t word) {
  for (const std::size_t i : outputs_) {
    const Slot& slot = slots_[i];
    const ElementRows rows = rows_of(slot.buffer);
    for (const BufferCopies& place : places(i, copies)) {
      if (slot.buffer.role == BufferRole::inout)
        kernels_.restore_rows(slot.buffer.type, place, slot.initial.address(), rows);
      else
        kernels_.fill_rows(slot.buffer.type, place, rows, word);
    }
  }
  if (slices_) slices_->fill_outputs(word);
}

std::array<BufferCopies, 2> ProblemBuffers::places(std::size_t slot, const CopyRange& copies) const {
  const bool has_original = copies.first == 0 && copies.count > 0;
  const std::size_t others = copies.count - (has_original ? 1 : 0);
  std::array<BufferCopies, 2> places{};
  places[0] = {slots_[slot].data(), has_original ? 1U : 0U, 0};
  if (others == 0) return places;
  const Copies& made = copies_[slot];
  const std::size_t first = has_original ? 0 : copies.first - 1;
  places[1] = {made.memory.address() + first * made.pitch, others, made.pitch};
  return places;
}

void ProblemBuffers::touch_inputs() {
  for (const Slot& slot : slots_)
    if (slot.buffer.role != BufferRole::out) kernels_.read_memory(slot.data(), slot.bytes());
}

bool ProblemBuffers::queue_check(const CopyRange& copies, std::shared_ptr<LaunchTally> tally) {
  if (reference_rms_.empty()) return false;
  gather();
  std::vector<CheckedOutput> where;
  for (const std::size_t output : compared_) {
    const Slot& slot = slots_[output];
    const std::string& name = slot.buffer.name;
    where.push_back({places(output, copies), references_.at(name).address(),
                     limits_of(slot, tally->tolerance_factor, reference_rms_.at(name))});
  }
  checks_->queue(copies.count, where, std::move(tally));
  return true;
}

/// None of integers: they are compared exactly.
std::optional<Tolerance> ProblemBuffers::tolerance_of(const Slot& slot) const {
  return is_floating(slot.buffer.type) ? request_.workload.tolerance : std::nullopt;
}

ErrorLimits ProblemBuffers::limits_of(const Slot& slot, double tolerance_factor, double reference_rms) const {
  return {reference_rms, error_bound(request_, slot.buffer.type, tolerance_factor), tolerance_of(slot)};
}

ComparisonResult ProblemBuffers::compare(const Slot& slot, DeviceAddress reference) const {
  return kernels_.compare(slot.buffer.type, slot.data(), reference, rows_of(slot.buffer),
                          tolerance_of(slot).value_or(Tolerance{}));
}

Verification ProblemBuffers::verify(double tolerance_factor, bool whole) {
  Verification verification;
  verification.accuracy.emplace();
  const std::size_t results = slices_ && !whole ? slices_->results() : 1;
  for (std::size_t result = 0; result < results && !verification.finding; ++result) {
    if (!whole) gather(result);
    compare_result(tolerance_factor, verification);
  }
  return verification;
}

/// With the reference, where there is one.
void ProblemBuffers::compare_result(double tolerance_factor, Verification& verification) {
  if (references_.empty()) return;
  for (const std::size_t output : compared_) {
    const Slot& slot = slots_[output];
    const ComparisonResult result = compare(slot, references_.at(slot.buffer.name).address());
    reference_rms_[slot.buffer.name] = result.reference_rms;
    const ErrorLimits limits = limits_of(slot, tolerance_factor, result.reference_rms);
    Accuracy& accuracy = *verification.accuracy;
    accuracy.relative_error = std::max(accuracy.relative_error, result.relative_error);
    if (!limits.tolerance)
      accuracy.error_bound = std::max(accuracy.error_bound.value_or(0), limits.error_bound);
    if (result.largest_error > accuracy.largest_error) {
      accuracy.largest_error = result.largest_error;
      accuracy.largest_error_at = position(slot.buffer, result.largest_at);
    }
    if ((errs(result, limits) || result.not_a_number > 0) && !verification.finding)
      verification.finding = {Outcome::wrong_result, describe_error(slot.buffer, result, limits)};
  }
}

void ProblemBuffers::store(const OutputFile& file) {
  gather();
  store_output(gpu_, request_.workload.buffer(file.buffer), addresses_.at(file.buffer), file.path,
               file.offset);
}

std::vector<std::uint64_t> ProblemBuffers::output_checksums() {
  gather();
  std::vector<std::uint64_t> checksums;
  for (const Slot& slot : slots_)
    if (slot.buffer.role != BufferRole::in) checksums.push_back(kernels_.checksum(slot.data(), slot.bytes()));
  return checksums;
}

std::optional<Finding> ProblemBuffers::check_padding(const Slot& slot, DeviceAddress data) {
  if (!slot.buffer.is_padded()) return std::nullopt;
  const Bands padding = padding_of(slot.buffer, data);
  const GuardResult guard = kernels_.check_bands(padding, slot.memory.pattern());
  if (guard.changed == 0) return std::nullopt;
  const std::uint64_t first = (padding.first - data + guard.first) / size_bytes(slot.buffer.type);
  return Finding{Outcome::out_of_bounds,
                 fmt::format("wrote {}, in the padding of its rows: {} bytes there have changed",
                             position(slot.buffer, first), guard.changed)};
}

/// An input's padding is part of its checksum.
std::optional<Finding> ProblemBuffers::check_surroundings() {
  if (slices_) {
    if (auto finding = slices_->check()) return finding;
  }
  for (const Slot& slot : slots_) {
    if (auto finding = slot.memory.check(kernels_)) return finding;
    if (slot.buffer.role == BufferRole::in) continue;
    if (auto finding = check_padding(slot, slot.data())) return finding;
  }
  for (const Slot& slot : slots_) {
    if (slot.buffer.role == BufferRole::in && kernels_.checksum(slot.data(), slot.bytes()) != slot.checksum)
      return Finding{Outcome::wrong_result, fmt::format("the input {} was modified", slot.buffer.name)};
  }
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Copies& copies = copies_[i];
    const Slot& slot = slots_[i];
    const Bands bands{copies.memory.address() + copies.bytes, copies.count, copies.pitch,
                      copies.pitch - copies.bytes};
    const std::uint64_t changed = kernels_.check_bands(bands, slot.memory.pattern()).changed;
    if (changed > 0) {
      return Finding{Outcome::out_of_bounds,
                     fmt::format("{} bytes outside copies of {} were written", changed, slot.buffer.name)};
    }
    if (slot.buffer.role == BufferRole::in) continue;
    for (const auto& addresses : copy_addresses_)
      if (auto finding = check_padding(slot, addresses.at(slot.buffer.name))) return finding;
  }
  if (!references_are_intact()) {
    return Finding{Outcome::out_of_bounds,
                   "memory of the harness was written, far outside the kernel's buffers"};
  }
  return std::nullopt;
}

}  // namespace tiletune
