#include "measure/problem_buffers.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "base/clock.h"
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

/// A launch gets one of so many sets of inputs, if memory allows.
constexpr std::size_t kSets = 3;
/// As many sets as this takes seconds to make are made for the launches of a batch.
constexpr double kSetsSeconds = 0.25;
/// Between samples of a batch, one in so many copies gets other inputs, if there are enough of them.
constexpr std::size_t kPart = 4;
constexpr std::size_t kFewestPartly = 2 * kPart;

std::size_t reference_bytes(const Workload::SizedBuffer& buffer) {
  return is_floating(buffer.type) ? static_cast<std::size_t>(buffer.elements) * sizeof(double)
                                  : data_bytes(buffer);
}

/// Contents and reference.
std::size_t set_bytes(const Workload& workload) {
  std::size_t bytes = 0;
  for (const auto& buffer : workload.buffers) {
    if (buffer.role != BufferRole::out) bytes += data_bytes(buffer);
    if (buffer.role != BufferRole::in) bytes += reference_bytes(buffer);
  }
  return bytes;
}

/// What files hold is the same in every set.
bool has_sets(const Workload& workload) {
  const auto is_drawn = [](const Workload::SizedBuffer& buffer) {
    const Distribution kind = values_of(buffer).distribution;
    return buffer.role != BufferRole::out && !buffer.file && kind != Distribution::constant &&
           kind != Distribution::iota;
  };
  return std::any_of(workload.buffers.begin(), workload.buffers.end(), is_drawn) &&
         std::none_of(workload.buffers.begin(), workload.buffers.end(),
                      [](const Workload::SizedBuffer& buffer) { return buffer.expected.has_value(); });
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
  const std::size_t sets = wanted_sets();
  for (const Workload::SizedBuffer& buffer : request_.workload.buffers) slots_.emplace_back().buffer = buffer;
  use(allocated());
  if (group != nullptr) slices_.emplace(*group, request_.workload, wholes());
  std::vector<Workload::SizedBuffer> checked;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    // A kernel that is loaded while the stream is held would wait for it.
    kernels_.prepare_rows(slots_[i].buffer.type);
    if (slots_[i].buffer.role == BufferRole::in || !slots_[i].buffer.is_compared) continue;
    compared_.push_back(i);
    checked.push_back(slots_[i].buffer);
  }
  kernels_.fill_shared(kNan);
  upload_sets();
  checks_.emplace(gpu_, kernels_, std::move(checked));
  if (!request_.inputs.empty()) check_input_kernels();
  make_sets(sets);
  refill();
}

/// How many sets fit into memory, beside the buffers with their guards and the copies with which a reference
/// is computed: of FP64 numbers, or of integers as they are.
std::size_t ProblemBuffers::wanted_sets() {
  const Workload& workload = request_.workload;
  constexpr std::size_t kPage = std::size_t{4} << 20;
  std::size_t needed = 0;
  std::size_t copies = 0;
  std::string sum;
  for (const auto& buffer : workload.buffers) {
    const bool twice = buffer.role == BufferRole::inout;
    needed += data_bytes(buffer) * (twice ? 2 : 1) + kPage;
    if (workload.gpus > 1)
      needed += static_cast<std::size_t>(workload.elements_on_each(buffer)) * size_bytes(buffer.type) + kPage;
    copies += reference_bytes(buffer);
    sum += fmt::format("{} {}{} + ", buffer.name, twice ? "2 x " : "", human_bytes(data_bytes(buffer)));
  }
  needed += copies;
  const std::size_t free = gpu_.free_bytes();
  if (needed > free)
    throw GpuError(fmt::format("{}copies for the reference {} = {} > {} of GPU memory that are free", sum,
                               human_bytes(copies), human_bytes(needed), human_bytes(free)));
  const std::size_t set = std::max<std::size_t>(set_bytes(workload), 1);
  keeps_inputs_ = needed + set <= free;
  // The rest is for workspaces, copies and other places.
  // Nothing is timed in a check.
  return keeps_inputs_ && has_sets(workload) && request_.name.empty()
             ? std::clamp<std::size_t>((free - needed) / 2 / set, 1, kSets)
             : 1;
}

std::vector<GuardedBuffer> ProblemBuffers::allocated() const {
  std::vector<GuardedBuffer> memory;
  for (const auto& buffer : request_.workload.buffers)
    memory.emplace_back(buffer.name, data_bytes(buffer), pattern_round(buffer));
  return memory;
}

void ProblemBuffers::use(std::vector<GuardedBuffer> memory) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].memory = std::move(memory[i]);
    addresses_[slots_[i].buffer.name] = slots_[i].data();
  }
}

std::vector<DeviceAddress> ProblemBuffers::wholes() const {
  std::vector<DeviceAddress> wholes;
  for (const Slot& slot : slots_) wholes.push_back(slot.data());
  return wholes;
}

std::vector<DeviceAddress> ProblemBuffers::contents() const {
  std::vector<DeviceAddress> contents;
  for (const Slot& slot : slots_)
    contents.push_back(slot.buffer.role == BufferRole::out ? 0
                       : slot.contents.bytes > 0           ? slot.contents.at(set_of_[0])
                                                           : slot.data());
  return contents;
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
    const std::size_t fewest =
        std::clamp<std::size_t>(2 * cache / std::max<std::size_t>(touched, 1) + 2, 2, kMostCopies);
    const std::size_t fit = kMostOutputBytes / std::max<std::size_t>(outputs, 1);
    wanted.inputs = wanted.outputs = std::clamp(fit, fewest, kMostCopies);
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
  made.memory = DeviceBuffer::apart(count * made.pitch);
  gpu_.fill8(made.memory.address(), slot.memory.pattern(), made.memory.bytes());
  // With what lies between rows.
  for (std::size_t copy = 0; copy < count && slot.bytes() > 0; ++copy)
    gpu_.copy_on_device(made.memory.address() + copy * made.pitch, slot.data(), slot.bytes());
  return made;
}

/// Makes all copies, or none: throws when memory does not suffice.
std::size_t ProblemBuffers::copies() {
  if (slices_) return 1;
  if (!copy_addresses_.empty()) return copy_addresses_.size() + 1;
  const CopyCounts counts = wanted_copies();
  add_sets(counts.inputs);
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
  set_of_.resize(counts.inputs, set_of_.front());
  hold_all_ = false;
  return counts.outputs;
}

/// Launches of a batch that have the same inputs could copy each other's results.
void ProblemBuffers::add_sets(std::size_t wanted) {
  const std::size_t fit = gpu_.free_bytes() / 4 / std::max<std::size_t>(set_bytes(request_.workload), 1);
  const auto timely = static_cast<std::size_t>(kSetsSeconds / std::max(set_s_, 1e-4));
  const std::size_t count = std::min({wanted, fit, timely});
  // Once; what configurations agree on takes too long.
  if (!request_.candidates.empty() || sets_ != kSets || count <= sets_) return;
  try {
    make_sets(count);
  } catch (const CudaError& error) {
    if (!error.out_of_memory()) throw;
    make_sets(kSets);
  }
  restore({}, {}, kNan);
}

void ProblemBuffers::drop_copies() {
  copies_.clear();
  copy_addresses_.clear();
  set_of_.resize(1);
}

/// The old buffers are freed last, so that the new ones lie elsewhere; where memory does not allow that, they
/// stay.
void ProblemBuffers::relocate() {
  if (slices_) return;
  drop_copies();
  std::size_t needed = 0;
  for (const Slot& slot : slots_) needed += slot.memory.memory().bytes();
  if (needed > gpu_.free_bytes() / 2) return;
  std::vector<GuardedBuffer> fresh;
  try {
    fresh = allocated();
  } catch (const CudaError& error) {
    // Another program may have taken what was free.
    if (!error.out_of_memory()) throw;
    return;
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const DeviceBuffer& before = slots_[i].memory.memory();
    gpu_.copy_on_device(fresh[i].memory().address(), before.address(), before.bytes());
  }
  use(std::move(fresh));
}

void ProblemBuffers::refill() {
  drop_copies();
  if (!keeps_inputs_) {
    fill(0);
  } else {
    for (const Slot& slot : slots_) {
      slot.memory.fill(gpu_);
      if (slot.buffer.role == BufferRole::out)
        kernels_.fill_bands(padding_of(slot.buffer, slot.data()), slot.memory.pattern());
      else
        gpu_.copy_on_device(slot.data(), slot.contents.at(set_of_[0]), slot.bytes());
    }
  }
  if (slices_) slices_->fill();
}

void ProblemBuffers::rebuild() {
  if (!sets_are_intact()) make_sets(sets_);
  refill();
}

void ProblemBuffers::make_sets(std::size_t count) {
  // What was queued may still compare with the sets that there are.
  gpu_.synchronize();
  drop_copies();
  sets_ = count;
  for (Slot& slot : slots_) {
    slot.contents = {};
    slot.reference = {};
    slot.rms.reset();
  }
  for (Slot& slot : slots_)
    if (slot.buffer.role == BufferRole::inout || (slot.buffer.role == BufferRole::in && keeps_inputs_))
      slot.contents = Sets(count, slot.bytes());
  for (std::size_t set = 0; set < count; ++set) {
    const Clock::time_point started = Clock::now();
    fill(set);
    for (Slot& slot : slots_) {
      if (slot.buffer.role == BufferRole::out) continue;
      slot.contents.checksums.resize(count);
      slot.contents.checksums[set] = kernels_.checksum(slot.data(), slot.bytes());
      if (slot.contents.bytes > 0) gpu_.copy_on_device(slot.contents.at(set), slot.data(), slot.bytes());
    }
    compute_references(set);
    set_s_ = seconds_since(started);
    constexpr double kLongest = 5;
    if (set_s_ > kLongest) count = sets_ = 1;
  }
}

void ProblemBuffers::fill(std::size_t set) {
  const std::uint64_t seed = seed_of_set(request_.policy.seed, set);
  std::size_t place = 0;
  for (Slot& slot : slots_) {
    slot.memory.fill(gpu_);
    const std::uint64_t own_seed = seed_of_buffer(seed, place++);
    if (slot.buffer.file)
      load_values(gpu_, slot.buffer, slot.data());
    else
      kernels_.fill_values(slot.buffer.type, slot.data(), rows_of(slot.buffer), values_of(slot.buffer),
                           own_seed);
    kernels_.fill_bands(padding_of(slot.buffer, slot.data()), slot.memory.pattern());
  }
  for (const PrepareRequest::OperationLaunch& launch : request_.inputs) compute_input(launch);
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
    if (slot.buffer.name != launch.input && after[i] != before[i])
      throw GpuError(fmt::format("{} writes into {}", kernel, slot.buffer.name));
  }
}

/// Kernels that compute inputs must compute the same again.
void ProblemBuffers::check_input_kernels() {
  fill(0);
  const std::vector<std::uint64_t> first = checksums();
  fill(0);
  const std::vector<std::uint64_t> second = checksums();
  for (const PrepareRequest::OperationLaunch& launch : request_.inputs)
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].buffer.name == launch.input && first[i] != second[i])
        throw GpuError(fmt::format("the kernel that computes the input {} computes other values each time",
                                   launch.input));
}

/// The checksum of each buffer with its padding.
std::vector<std::uint64_t> ProblemBuffers::checksums() {
  std::vector<std::uint64_t> checksums;
  for (const Slot& slot : slots_) checksums.push_back(kernels_.checksum(slot.data(), slot.bytes()));
  return checksums;
}

/// Of the set that is in the buffers.
void ProblemBuffers::compute_references(std::size_t set) {
  if (!request_.candidates.empty() && !consensus_) return;
  const bool has_files = std::any_of(slots_.begin(), slots_.end(),
                                     [](const Slot& slot) { return slot.buffer.expected.has_value(); });
  const bool has_reference = has_files || request_.reference || request_.reference_library;
  if (!request_.policy.verify && !has_reference) return;
  set_of_[0] = static_cast<std::uint32_t>(set);
  upload_sets();
  const auto outputs =
      consensus_ ? consensus_() : compute_reference(gpu_, kernels_, library_, request_, addresses_);
  for (const std::size_t output : compared_) {
    Slot& slot = slots_[output];
    const DeviceBuffer& computed = outputs.at(slot.buffer.name);
    const std::size_t bytes = reference_bytes(slot.buffer);
    if (slot.reference.bytes == 0) slot.reference = Sets(sets_, bytes);
    gpu_.copy_on_device(slot.reference.at(set), computed.address(), bytes);
    slot.reference.checksums[set] = kernels_.checksum(computed.address(), bytes);
    slot.rms =
        std::max({slot.rms.value_or(0), compare(slot, computed.address()).reference_rms, request_.scale});
  }
}

void ProblemBuffers::use_consensus(std::function<std::map<std::string, DeviceBuffer>()> reach) {
  consensus_ = std::move(reach);
  for (std::size_t set = 0; set < sets_; ++set) compute_references(set);
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

bool ProblemBuffers::sets_are_intact() {
  const auto is_intact = [&](const Sets& sets) {
    const std::uint64_t sum = std::accumulate(sets.checksums.begin(), sets.checksums.end(), std::uint64_t{0});
    return sets.bytes == 0 ||
           kernels_.checksum({sets.memory.address(), sets_, sets.pitch}, sets.bytes) == sum;
  };
  return std::all_of(slots_.begin(), slots_.end(),
                     [&](const Slot& slot) { return is_intact(slot.contents) && is_intact(slot.reference); });
}

void ProblemBuffers::draw() { draw({}, {}); }

void ProblemBuffers::use_first_set() {
  set_of_[0] = 0;
  upload_sets();
}

CopyRange ProblemBuffers::draw(const CopyRange& launches, const InputRules& rules) {
  const std::size_t places = set_of_.size();
  CopyRange drawn{0, places};
  const auto begin = set_of_.begin();
  if (launches.count < places || places == 1) {
    drawn = {launches.first % places, 1};
    set_of_[drawn.first] = static_cast<std::uint32_t>(random_() % sets_);
  } else if (rules.same) {
    std::fill(begin, set_of_.end(), static_cast<std::uint32_t>(random_() % sets_));
    hold_all_ = false;
  } else if (rules.all || !hold_all_ || places < kFewestPartly) {
    for (std::size_t i = 0; i < places; ++i) set_of_[i] = static_cast<std::uint32_t>(i % sets_);
    std::shuffle(begin, set_of_.end(), random_);
    hold_all_ = true;
  } else {
    // A part of the copies changes its inputs among itself: which ones, a kernel cannot know either.
    drawn.count = places / kPart;
    drawn.first = random_() % (places - drawn.count + 1);
    const auto first = begin + static_cast<std::ptrdiff_t>(drawn.first);
    const auto shift = static_cast<std::ptrdiff_t>(1 + random_() % (drawn.count - 1));
    std::rotate(first, first + shift, first + static_cast<std::ptrdiff_t>(drawn.count));
  }
  upload_sets();
  return drawn;
}

/// Queued: what was drawn before may still be in use.
void ProblemBuffers::upload_sets() {
  std::byte* const to = drawn_.data() + draws_++ % kDraws * kMostCopies * sizeof(std::uint32_t);
  std::memcpy(to, set_of_.data(), set_of_.size() * sizeof(std::uint32_t));
  gpu_.copy_to_device(set_numbers_.address(), to, set_of_.size() * sizeof(std::uint32_t));
}

void ProblemBuffers::poison(int variant) {
  filled_with_ = variant == 0 ? kNan : static_cast<std::uint32_t>(random_());
  restore({}, {}, filled_with_);
}

void ProblemBuffers::invalidate(const CopyRange& copies, const InputRules& rules) {
  const CopyRange inputs = draw(copies, rules);
  const auto number = static_cast<std::uint32_t>(random_());
  filled_with_ = std::array{kNan, kOtherNan, number, number}.at(random_() % 4);
  restore(copies, inputs, filled_with_);
  if (!slices_) return;
  GpuGroup& group = slices_->group();
  group.fork();
  group.flush_others(request_.policy.cache == CachePolicy::dirty);
  group.join();
}

void ProblemBuffers::restore(const CopyRange& copies, const CopyRange& inputs, std::uint32_t word) {
  if (!slices_) kernels_.fill_shared(word);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const ElementRows rows = rows_of(slot.buffer);
    const Places all = places(i, slot.buffer.role == BufferRole::in ? inputs : copies, slot.contents);
    for (std::size_t part = 0; part < all.copies.size(); ++part) {
      if (slot.buffer.role == BufferRole::out)
        kernels_.fill_rows(slot.buffer.type, all.copies.at(part), rows, word);
      else if (slot.contents.bytes > 0)
        kernels_.restore_rows(slot.buffer.type, all.copies.at(part), slot.contents.at(0),
                              all.choices.at(part), rows);
    }
  }
  if (slices_) slices_->restore(word);
}

ProblemBuffers::Places ProblemBuffers::places(std::size_t slot, const CopyRange& copies,
                                              const Sets& sets) const {
  const bool has_original = copies.first == 0 && copies.count > 0;
  const std::size_t others = copies.count - (has_original ? 1 : 0);
  const std::size_t first = has_original ? 1 : copies.first;
  Places places;
  places.copies[0] = {slots_[slot].data(), has_original ? 1U : 0U, 0};
  if (others > 0) {
    const Copies& made = copies_[slot];
    places.copies[1] = {made.memory.address() + (first - 1) * made.pitch, others, made.pitch};
  }
  places.choices.fill({set_numbers_.address(), sets.pitch, 0, set_of_.size()});
  places.choices[1].first = first;
  return places;
}

void ProblemBuffers::touch_inputs() {
  for (const Slot& slot : slots_)
    if (slot.buffer.role != BufferRole::out) kernels_.read_memory(slot.data(), slot.bytes());
}

void ProblemBuffers::queue_check(const CopyRange& copies, std::shared_ptr<LaunchTally> tally) {
  if (!has_reference() || !request_.policy.verify) return;
  gather();
  std::vector<CheckedOutput> where;
  for (const std::size_t output : compared_) {
    const Slot& slot = slots_[output];
    const Places all = places(output, copies, slot.reference);
    where.push_back({all.copies, all.choices, slot.reference.at(0),
                     limits_of(slot, tally->tolerance_factor, slot.rms.value())});
  }
  checks_->queue(copies.count, std::move(where), filled_with_, std::move(tally));
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

/// A result that is small by chance has no smaller errors: they are judged by the largest of the references.
void ProblemBuffers::use_scale(ComparisonResult& result, const Slot& slot) {
  if (!(*slot.rms > 0)) return;
  const double error = result.reference_rms > 0
                           ? result.relative_error * result.reference_rms
                           : result.relative_error / std::sqrt(static_cast<double>(slot.buffer.values()));
  result.relative_error = error / *slot.rms;
  result.reference_rms = *slot.rms;
}

/// With the reference, where there is one.
void ProblemBuffers::compare_result(double tolerance_factor, Verification& verification) {
  if (!has_reference()) return;
  for (const std::size_t output : compared_) {
    const Slot& slot = slots_[output];
    ComparisonResult result = compare(slot, slot.reference.at(set_of_[0]));
    use_scale(result, slot);
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

/// All copies of an input at once, with their padding.
std::optional<Finding> ProblemBuffers::check_inputs() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.buffer.role != BufferRole::in) continue;
    std::uint64_t difference = 0;
    for (const std::uint32_t set : set_of_) difference -= slot.contents.checksums[set];
    for (const BufferCopies& copies : places(i, {0, set_of_.size()}, slot.contents).copies)
      if (copies.count > 0) difference += kernels_.checksum(copies, slot.bytes());
    if (difference != 0)
      return Finding{Outcome::wrong_result, fmt::format("the input {} was modified", slot.buffer.name)};
  }
  return std::nullopt;
}

std::optional<Finding> ProblemBuffers::check_surroundings() {
  if (slices_) {
    if (auto finding = slices_->check()) return finding;
  }
  for (const Slot& slot : slots_) {
    if (auto finding = slot.memory.check(kernels_)) return finding;
    if (slot.buffer.role == BufferRole::in) continue;
    if (auto finding = check_padding(slot, slot.data())) return finding;
  }
  if (auto finding = check_inputs()) return finding;
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
  return std::nullopt;
}

}  // namespace tiletune
