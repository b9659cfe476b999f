#include "measure/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "measure/error_bound.h"
#include "measure/surroundings.h"

namespace tiletune {

namespace {

/// Of a buffer's copies: a batch has no use for more; each is followed by a guard band.
constexpr std::size_t kMostCopies = 100;
constexpr std::size_t kCopyAlignment = 256;
constexpr std::size_t kCopyGuard = 4096;
// Largest single error allowed, as a multiple of the norm-wise bound times the reference's RMS: over 10^9
// elements the largest of normally distributed errors stays below 6.5 standard deviations.
constexpr double kLargestErrorFactor = 16;

std::size_t data_bytes(const Workload::SizedBuffer& buffer) {
  return static_cast<std::size_t>(buffer.elements) * size_bytes(buffer.type);
}

/// Buffers with their guards, initial contents, and FP64 copies while the reference is computed.
void check_free_memory(const Gpu& gpu, const Workload& workload, std::size_t guard) {
  std::size_t needed = 0;
  std::size_t reference = 0;
  std::string sum;
  for (const auto& buffer : workload.buffers) {
    const bool twice = buffer.role == BufferRole::inout;
    needed += data_bytes(buffer) * (twice ? 2 : 1) + 2 * guard;
    reference += static_cast<std::size_t>(buffer.elements) * sizeof(double);
    sum += fmt::format("{} {}{} + ", buffer.name, twice ? "2 x " : "", human_bytes(data_bytes(buffer)));
  }
  needed += reference;
  const std::size_t free = gpu.free_bytes();
  if (needed <= free) return;
  throw GpuError(fmt::format("{}FP64 copies for the reference {} = {} > {} of GPU memory that are free", sum,
                             human_bytes(reference), human_bytes(needed), human_bytes(free)));
}

std::string position(const PrepareRequest& request, const Workload::SizedBuffer& buffer,
                     std::uint64_t index) {
  if (request.operation == Operation::gemm && buffer.name == "C") {
    const auto pitch =
        static_cast<std::uint64_t>(buffer.padded ? buffer.padded->pitch : request.dimensions.at(1).second);
    return fmt::format("C[{},{}]", index / pitch, index % pitch);
  }
  return fmt::format("{}[{}]", buffer.name, index);
}

}  // namespace

DeviceAddress Workspace::Slot::data() const { return memory.address() + guard; }

Workspace::Workspace(Gpu& gpu, DeviceKernels& kernels, Blas* blas, PrepareRequest request)
    : gpu_(gpu), kernels_(kernels), blas_(blas), request_(std::move(request)), guard_bytes_(guard_bytes()) {
  check_free_memory(gpu_, request_.workload, guard_bytes_);
  use(allocated());
  rebuild();
}

std::vector<Workspace::Slot> Workspace::allocated() const {
  std::vector<Slot> slots;
  for (const auto& buffer : request_.workload.buffers) {
    Slot slot;
    slot.buffer = buffer;
    slot.bytes = data_bytes(buffer);
    slot.guard = guard_bytes_;
    slot.memory = DeviceBuffer(std::max<std::size_t>(slot.bytes + 2 * slot.guard, 1));
    if (buffer.role == BufferRole::inout) slot.initial = DeviceBuffer(std::max<std::size_t>(slot.bytes, 1));
    slots.push_back(std::move(slot));
  }
  return slots;
}

void Workspace::use(std::vector<Slot> slots) {
  slots_ = std::move(slots);
  for (const Slot& slot : slots_) addresses_[slot.buffer.name] = slot.data();
}

const std::map<std::string, DeviceAddress>& Workspace::addresses(std::size_t copy) const {
  return copy == 0 ? addresses_ : copy_addresses_.at(copy - 1);
}

std::size_t Workspace::wanted_copies() const {
  std::size_t one = 0;
  std::size_t touched = 0;
  for (const Slot& slot : slots_) {
    one += slot.bytes;
    touched += static_cast<std::size_t>(slot.buffer.values()) * size_bytes(slot.buffer.type);
  }
  const auto twice_cache = static_cast<std::size_t>(2 * gpu_.facts().l2_bytes);
  const std::size_t wanted = std::min(twice_cache / std::max<std::size_t>(touched, 1) + 2, kMostCopies);
  const std::size_t affordable = gpu_.free_bytes() / 2 / std::max<std::size_t>(one, 1);
  return std::min(std::max<std::size_t>(wanted, 2), affordable + 1);
}

std::size_t Workspace::copies() {
  if (copy_addresses_.empty()) make_copies();
  return copy_addresses_.size() + 1;
}

/// All copies, or none when memory does not suffice.
void Workspace::make_copies() {
  const std::size_t copies = wanted_copies() - 1;
  if (copies == 0) return;
  std::vector<Copies> all;
  std::vector<std::map<std::string, DeviceAddress>> addresses(copies);
  for (const Slot& slot : slots_) {
    Copies made;
    made.bytes = slot.bytes;
    made.pitch = (slot.bytes + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment + kCopyGuard;
    made.memory = DeviceBuffer(copies * made.pitch);
    gpu_.fill8(made.memory.address(), pattern_round(slot.buffer), made.memory.bytes());
    const DeviceAddress from = slot.buffer.role == BufferRole::inout ? slot.initial.address() : slot.data();
    for (std::size_t copy = 0; copy < copies; ++copy) {
      const DeviceAddress to = made.memory.address() + copy * made.pitch;
      if (slot.bytes > 0) gpu_.copy_on_device(to, from, slot.bytes);
      addresses[copy][slot.buffer.name] = to;
    }
    all.push_back(std::move(made));
  }
  copies_ = std::move(all);
  copy_addresses_ = std::move(addresses);
}

void Workspace::drop_copies() {
  copies_.clear();
  copy_addresses_.clear();
}

/// The old buffers are freed last, so that the new ones lie elsewhere; where memory does not allow that, they
/// stay.
void Workspace::relocate() {
  drop_copies();
  std::size_t needed = 0;
  for (const Slot& slot : slots_) needed += slot.memory.bytes() + slot.initial.bytes();
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
  fill();
}

void Workspace::rebuild() {
  drop_copies();
  fill();
  if (references_.empty() || !references_are_intact()) compute_references();
}

void Workspace::fill() {
  std::uint64_t stream = 0;
  for (Slot& slot : slots_) {
    const std::uint8_t pattern = pattern_round(slot.buffer);
    gpu_.fill8(slot.memory.address(), pattern, slot.memory.bytes());
    // Each buffer has its own stretch of the counter sequence.
    const std::uint64_t seed = (request_.policy.seed << 8 | ++stream) << 40;
    kernels_.fill_random(slot.buffer.type, slot.data(), static_cast<std::uint64_t>(slot.buffer.elements),
                         seed);
    kernels_.fill_bands(padding_of(slot.buffer, slot.data()), pattern);
    if (slot.buffer.role == BufferRole::inout)
      gpu_.copy_on_device(slot.initial.address(), slot.data(), slot.bytes);
    if (slot.buffer.role == BufferRole::in) slot.checksum = kernels_.checksum(slot.data(), slot.bytes);
  }
}

/// The inputs are the same after every rebuild, and so is the reference: it is computed anew only when it was
/// damaged.
void Workspace::compute_references() {
  references_.clear();
  references_ = compute_reference(gpu_, kernels_, blas_, request_, addresses_);
  for (const auto& [name, reference] : references_) {
    reference_checksums_[name] = kernels_.checksum(reference.address(), reference.bytes());
  }
}

bool Workspace::references_are_intact() {
  return std::all_of(references_.begin(), references_.end(), [&](const auto& entry) {
    const auto& [name, reference] = entry;
    return kernels_.checksum(reference.address(), reference.bytes()) == reference_checksums_.at(name);
  });
}

void Workspace::poison(int variant) {
  constexpr std::uint32_t kOtherNan = 0x7fff7fff;  // a NaN as f16, bf16, f32 and f64
  for (const Slot& slot : slots_) {
    if (slot.buffer.role == BufferRole::inout) {
      gpu_.copy_on_device(slot.data(), slot.initial.address(), slot.bytes);
    } else if (slot.buffer.role == BufferRole::out) {
      gpu_.fill8(slot.data(), 0xff, slot.bytes);
      if (variant != 0) gpu_.fill32(slot.data(), kOtherNan, slot.bytes / sizeof kOtherNan);
      kernels_.fill_bands(padding_of(slot.buffer, slot.data()), kGuardPattern);
    }
  }
}

Finding Workspace::describe_error(const Slot& slot, const ComparisonResult& result, double bound) const {
  if (result.not_a_number > 0) {
    return {Outcome::wrong_result,
            fmt::format("{} of {} elements of {} were not written or are no number, the first at {}",
                        result.not_a_number, slot.buffer.values(), slot.buffer.name,
                        position(request_, slot.buffer, result.first_not_a_number))};
  }
  return {Outcome::wrong_result,
          fmt::format("relative error {:.3g} of {} (bound {:.3g}); largest error {:.3g} at {}, where values "
                      "are about {:.3g}",
                      result.relative_error, slot.buffer.name, bound, result.largest_error,
                      position(request_, slot.buffer, result.largest_at), result.reference_rms)};
}

Verification Workspace::verify(double tolerance_factor) {
  double outputs = 0;
  for (const Slot& slot : slots_)
    outputs += slot.buffer.role == BufferRole::in ? 0 : static_cast<double>(slot.buffer.values());
  const double length = request_.workload.flops / 2 / std::max(outputs, 1.0);
  Verification verification;
  for (const Slot& slot : slots_) {
    if (slot.buffer.role == BufferRole::in) continue;
    const double bound = error_bound(slot.buffer.type, request_.accumulator, length, tolerance_factor);
    const ComparisonResult result = kernels_.compare(
        slot.buffer.type, slot.data(), references_.at(slot.buffer.name).address(), rows_of(slot.buffer));
    Accuracy& accuracy = verification.accuracy;
    accuracy.relative_error = std::max(accuracy.relative_error, result.relative_error);
    accuracy.error_bound = std::max(accuracy.error_bound, bound);
    if (result.largest_error > accuracy.largest_error) {
      accuracy.largest_error = result.largest_error;
      accuracy.largest_error_at = position(request_, slot.buffer, result.largest_at);
    }
    const bool wrong = result.not_a_number > 0 || result.relative_error > bound ||
                       result.largest_error > kLargestErrorFactor * bound * result.reference_rms;
    if (wrong && !verification.finding) verification.finding = describe_error(slot, result, bound);
  }
  return verification;
}

std::vector<std::uint64_t> Workspace::output_checksums() {
  std::vector<std::uint64_t> checksums;
  for (const Slot& slot : slots_) {
    if (slot.buffer.role != BufferRole::in) checksums.push_back(kernels_.checksum(slot.data(), slot.bytes));
  }
  return checksums;
}

/// An input's padding is part of its checksum.
std::optional<Finding> Workspace::check_padding(const Slot& slot, DeviceAddress data) {
  if (!slot.buffer.padded || slot.buffer.role == BufferRole::in) return std::nullopt;
  const Bands padding = padding_of(slot.buffer, data);
  const GuardResult guard = kernels_.check_bands(padding, kGuardPattern);
  if (guard.changed == 0) return std::nullopt;
  const std::uint64_t first = (padding.first - data + guard.first) / size_bytes(slot.buffer.type);
  return Finding{Outcome::out_of_bounds,
                 fmt::format("wrote {}, in the padding of its rows: {} bytes there have changed",
                             position(request_, slot.buffer, first), guard.changed)};
}

std::optional<Finding> Workspace::check_surroundings() {
  for (const Slot& slot : slots_) {
    const Guarded guarded{slot.buffer.name, slot.data(), slot.bytes, slot.guard, pattern_round(slot.buffer)};
    if (auto finding = check_guards(kernels_, guarded)) return finding;
    if (auto finding = check_padding(slot, slot.data())) return finding;
  }
  for (const Slot& slot : slots_) {
    if (slot.buffer.role == BufferRole::in && kernels_.checksum(slot.data(), slot.bytes) != slot.checksum) {
      return Finding{Outcome::wrong_result, fmt::format("the input {} was modified", slot.buffer.name)};
    }
  }
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Copies& copies = copies_[i];
    const Slot& slot = slots_[i];
    const Bands bands{copies.memory.address() + copies.bytes, copy_addresses_.size(), copies.pitch,
                      copies.pitch - copies.bytes};
    const std::uint64_t changed = kernels_.check_bands(bands, pattern_round(slot.buffer)).changed;
    if (changed > 0) {
      return Finding{Outcome::out_of_bounds,
                     fmt::format("{} bytes outside copies of {} were written", changed, slot.buffer.name)};
    }
    for (const auto& addresses : copy_addresses_) {
      if (auto finding = check_padding(slot, addresses.at(slot.buffer.name))) return finding;
    }
  }
  if (!references_are_intact()) {
    return Finding{Outcome::out_of_bounds,
                   "memory of the harness was written, far outside the kernel's buffers"};
  }
  return std::nullopt;
}

}  // namespace tiletune
