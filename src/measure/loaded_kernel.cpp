#include "measure/loaded_kernel.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tiletune {

namespace {

/// What a variable takes among others, so that each can be read in words.
std::size_t place_of(const Module::Variable& variable) {
  constexpr std::size_t kAlignment = 16;
  return (variable.bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Neighbours as one: a kernel may have hundreds.
std::vector<Module::Variable> merged(std::vector<Module::Variable> variables) {
  constexpr std::size_t kGap = 64;
  std::sort(variables.begin(), variables.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  std::vector<Module::Variable> ranges;
  for (const Module::Variable& variable : variables) {
    const bool is_near =
        !ranges.empty() && variable.address < ranges.back().address + ranges.back().bytes + kGap;
    if (!is_near) ranges.push_back(variable);
    const DeviceAddress end = variable.address + variable.bytes;
    ranges.back().bytes = std::max<std::size_t>(ranges.back().bytes, end - ranges.back().address);
  }
  return ranges;
}

}  // namespace

std::vector<Kernel> kernels_of(const std::shared_ptr<const Module>& module,
                               const std::vector<KernelLaunch>& launches) {
  std::vector<Kernel> kernels;
  for (const KernelLaunch& launch : launches) {
    Kernel& kernel = kernels.emplace_back(module, launch.symbol);
    const auto bytes = static_cast<int>(launch.dynamic_shared_bytes);
    if (bytes > 0) kernel.allow_dynamic_shared(bytes);
  }
  return kernels;
}

std::vector<GpuStep> steps_of(const MeasureRequest& request) {
  if (!request.steps.empty()) return request.steps;
  std::vector<GpuStep> steps;
  for (std::size_t i = 0; i < request.launches.size(); ++i) {
    GpuStep& step = steps.emplace_back();
    step.launch = static_cast<std::int64_t>(i);
  }
  return steps;
}

template <typename Body>
void LoadedKernel::on_each(const Body& body) {
  if (group_ != nullptr) return group_->on_each(body);
  body(std::size_t{0});
}

LoadedKernel::LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request, Unloaded)
    : gpu_(gpu),
      buffers_(buffers),
      request_(request),
      slices_(buffers.slices()),
      group_(slices_ != nullptr ? &slices_->group() : nullptr),
      steps_(steps_of(request)) {
  tally_->tolerance_factor = request.tolerance_factor;
  if (group_ != nullptr) launches_.emplace(*group_);
}

LoadedKernel::LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request)
    : LoadedKernel(gpu, buffers, request, Unloaded{}) {
  if (group_ != nullptr) {
    for (const GpuStep& step : steps_) check_step(step);
    group_->fork();
  }
  on_each([&](std::size_t gpu_number) { members_.push_back(load(gpu_number)); });
  on_each([&](std::size_t gpu_number) {
    if (group_ != nullptr) list_peers(gpu_number);
    bind(gpu_number, 0);
  });
  if (group_ != nullptr) group_->join();
}

LoadedKernel::~LoadedKernel() {
  try {
    on_each([&](std::size_t gpu) {
      if (gpu < members_.size()) members_[gpu].reset();
    });
  } catch (const CudaError&) {
    // What it is destroyed for says more.
    return;
  }
}

/// Calls `body(variable, initial)`, `initial` being where what it is to hold lies.
template <typename Body>
void LoadedKernel::for_each_variable(const Member& member, const Body& body) {
  DeviceAddress initial = member.initial.address();
  for (const Module::Variable& variable : member.variables) {
    body(variable, initial);
    initial += place_of(variable);
  }
}

std::unique_ptr<LoadedKernel::Member> LoadedKernel::load(std::size_t gpu) {
  Gpu& there = gpu_of(gpu);
  DeviceKernels& kernels = device_kernels(gpu);
  auto member = std::make_unique<Member>();
  member->module = std::make_shared<const Module>(request_.cubin);
  member->kernels = kernels_of(member->module, request_.launches);
  member->workspace = std::make_unique<KernelWorkspace>(there, kernels, request_.workspace);
  if (slices_ != nullptr) {
    const auto& own = member->workspace->addresses();
    member->addresses = slices_->addresses(gpu);
    member->addresses.insert(own.begin(), own.end());
  }
  for (const std::string& name : request_.variables)
    if (const auto variable = member->module->find_variable(name)) member->variables.push_back(*variable);
  member->variables = merged(std::move(member->variables));
  std::size_t bytes = 0;
  for (const Module::Variable& variable : member->variables) bytes += place_of(variable);
  if (bytes > 0) {
    member->initial = DeviceBuffer::apart(2 * bytes);
    there.fill8(member->initial.address(), 0, member->initial.bytes());
  }
  for_each_variable(*member, [&](const Module::Variable& variable, DeviceAddress initial) {
    kernels.copy(initial, variable.address, variable.bytes);
  });
  return member;
}

void LoadedKernel::list_peers(std::size_t gpu) {
  std::set<std::string> names;
  for (const KernelLaunch& launch : request_.launches) {
    for (const ArgumentValue& argument : launch.arguments)
      if (argument.kind == Argument::Kind::peers) names.insert(argument.name);
  }
  std::vector<DeviceAddress> lists;
  for (const std::string& name : names)
    for (const auto& member : members_) lists.push_back(member->addresses.at(name));
  if (lists.empty()) return;
  Member& member = *members_[gpu];
  const std::size_t list_bytes = group_->size() * sizeof(DeviceAddress);
  member.lists = DeviceBuffer(names.size() * list_bytes);
  group_->gpu(gpu).copy_to_device(member.lists.address(), lists.data(), member.lists.bytes());
  group_->gpu(gpu).synchronize();
  DeviceAddress at = member.lists.address();
  for (const std::string& name : names) {
    member.peers[name] = at;
    at += list_bytes;
  }
}

void LoadedKernel::bind(std::size_t gpu, std::size_t copy) {
  Member& member = *members_[gpu];
  std::map<std::string, DeviceAddress> addresses = member.addresses;
  PeerArguments peers{static_cast<std::int64_t>(gpu), &member.peers};
  if (slices_ == nullptr) {
    const auto& own = member.workspace->addresses();
    addresses = buffers_.addresses(copy);
    addresses.insert(own.begin(), own.end());
    peers = {};
  }
  std::vector<ArgumentPack>& packs = member.arguments.emplace_back();
  for (const KernelLaunch& launch : request_.launches) packs.emplace_back(launch.arguments, addresses, peers);
}

void LoadedKernel::rebind() {
  if (group_ != nullptr) return;
  members_.front()->arguments.clear();
  bind(0, 0);
}

std::size_t LoadedKernel::bind_copies() {
  const std::size_t copies = buffers_.copies();
  if (group_ != nullptr) return copies;
  for (std::size_t copy = members_.front()->arguments.size(); copy < copies; ++copy) bind(0, copy);
  return copies;
}

ElementType LoadedKernel::type(const std::string& name) const {
  if (const auto type = slices_->type(name)) return *type;
  for (const SizedWorkspace& workspace : request_.workspace)
    if (workspace.name == name) return workspace.type;
  throw GpuError(fmt::format("there is no buffer '{}'", name));
}

void LoadedKernel::check_step(const GpuStep& step) const {
  if (step.kind != StepKind::collective) return;
  if (group_->nccl() == nullptr) throw Unlaunchable(Outcome::refused, group_->why_no_nccl());
  if (step.collective == Collective::reduce_scatter && !Nccl::adds(type(step.from)))
    throw Unlaunchable(Outcome::refused,
                       fmt::format("NCCL does not add numbers of type {}", name(type(step.from))));
}

void LoadedKernel::launch(std::size_t copy) {
  if (group_ == nullptr) {
    for (std::size_t i = 0; i < request_.launches.size(); ++i)
      launch_one(i, copy, i > 0 && request_.launches[i].programmatic);
    return;
  }
  launches_->launch([this] {
    for (const GpuStep& step : steps_) run(step);
    const auto is_beside = [](const GpuStep& step) { return step.beside; };
    if (std::none_of(steps_.begin(), steps_.end(), is_beside)) return;
    on_each([this](std::size_t gpu) { group_->join_side(gpu); });
  });
}

void LoadedKernel::run(const GpuStep& step) {
  const auto number = static_cast<std::size_t>(step.launch);
  switch (step.kind) {
    case StepKind::kernel:
      return launch_one(number, 0, number > 0 && request_.launches.at(number).programmatic);
    case StepKind::copy:
      return copy(step);
    case StepKind::barrier:
      return group_->barrier();
    case StepKind::collective:
      return run_collective(step);
  }
}

void LoadedKernel::launch_one(std::size_t number, std::size_t copy, bool programmatic) {
  on_each([&](std::size_t gpu) {
    const Member& member = *members_[gpu];
    gpu_of(gpu).launch(member.kernels.at(number), request_.launches[number],
                       member.arguments[copy][number].pointers(), programmatic);
  });
}

void LoadedKernel::copy(const GpuStep& step) {
  const auto size = static_cast<std::int64_t>(size_bytes(type(step.to)));
  const auto address = [&](std::int64_t gpu, const std::string& name, std::int64_t bytes) {
    return members_.at(static_cast<std::size_t>(gpu))->addresses.at(name) + static_cast<DeviceAddress>(bytes);
  };
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::uint32_t));
  group_->on_each([&](std::size_t gpu) {
    if (step.beside) group_->fork_side(gpu);
    CUstream_st* const stream = step.beside ? group_->side_stream(gpu) : group_->stream(gpu);
    for (const PeerCopy& copy : step.copies) {
      if (copy.gpu != static_cast<std::int64_t>(gpu)) continue;
      if (copy.elements > 0)
        copy_between(address(copy.gpu, step.to, copy.to * size),
                     address(copy.peer, step.from, copy.from * size),
                     static_cast<std::size_t>(copy.elements * size), stream);
      if (!step.signal.empty()) write_word(address(copy.gpu, step.signal, copy.word * kWord), 1, stream);
    }
  });
}

void LoadedKernel::run_collective(const GpuStep& step) {
  std::vector<NcclPart> parts;
  for (std::size_t gpu = 0; gpu < group_->size(); ++gpu) {
    const auto& addresses = members_[gpu]->addresses;
    parts.push_back({addresses.at(step.from), addresses.at(step.to), group_->stream(gpu)});
  }
  const auto elements = static_cast<std::size_t>(step.elements);
  if (step.collective == Collective::all_gather)
    return group_->nccl()->all_gather(parts, elements, type(step.from));
  group_->nccl()->reduce_scatter(parts, elements, type(step.from));
}

std::vector<std::function<void()>> LoadedKernel::parts() {
  std::vector<std::function<void()>> parts;
  if (group_ != nullptr) return parts;
  for (std::size_t i = 0; i < request_.launches.size(); ++i)
    parts.emplace_back([this, i] { launch_one(i, 0, false); });
  return parts;
}

Subject LoadedKernel::subject(bool remembers) {
  Subject subject{[this](std::size_t copy) { launch(copy); }, [this] { return bind_copies(); }, &buffers_,
                  tally_};
  subject.prepare = [this, remembers](std::size_t copy) {
    remembers ? copy_constants(copy) : prepare(buffers_.filled_with(), copy);
  };
  subject.inputs.same = !request_.constants.empty();
  if (group_ == nullptr) return subject;
  subject.gpu_times_us = [this](int count) { return launches_->times_us(count); };
  subject.floor_us = group_->floor_us;
  return subject;
}

int LoadedKernel::blocks_per_multiprocessor(std::size_t kernel) const {
  const LaunchShape& shape = request_.launches[kernel];
  return members_.front()->kernels[kernel].blocks_per_multiprocessor(
      static_cast<int>(shape.block.count()), static_cast<std::size_t>(shape.dynamic_shared_bytes));
}

/// The first with the fewest resident warps.
std::size_t LoadedKernel::narrowest() const {
  constexpr std::int64_t kWarp = 32;
  std::size_t narrowest = 0;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < request_.launches.size(); ++i) {
    const std::int64_t warps = (request_.launches[i].block.count() + kWarp - 1) / kWarp;
    const std::int64_t resident = warps * blocks_per_multiprocessor(i);
    if (resident < fewest) narrowest = i;
    fewest = std::min(fewest, resident);
  }
  return narrowest;
}

template <typename Body>
void LoadedKernel::on_each_member(const Body& body) {
  if (group_ != nullptr) group_->fork();
  on_each([&](std::size_t gpu) { body(*members_[gpu], gpu); });
  if (group_ != nullptr) group_->join();
}

void LoadedKernel::reset() {
  on_each_member([](const Member& member, std::size_t /*gpu*/) { member.workspace->reset(); });
}

void LoadedKernel::prepare(std::uint32_t word, std::size_t copy) {
  on_each_member([&](const Member& member, std::size_t /*gpu*/) { member.workspace->poison(word); });
  forget();
  copy_constants(copy);
}

void LoadedKernel::copy_constants(std::size_t copy) {
  if (request_.constants.empty()) return;
  on_each_member([&](const Member& member, std::size_t gpu) {
    for (const ConstantCopy& constant : request_.constants)
      copy_between(member.module->variable(symbol_of_variable(constant.symbol)).address,
                   buffers_.addresses(copy).at(constant.buffer), static_cast<std::size_t>(constant.bytes),
                   gpu_of(gpu).stream());
  });
}

void LoadedKernel::forget() {
  if (request_.variables.empty()) return;
  on_each_member([&](const Member& member, std::size_t gpu) {
    for_each_variable(member, [&](const Module::Variable& variable, DeviceAddress initial) {
      device_kernels(gpu).copy(variable.address, initial, variable.bytes);
    });
  });
}

bool LoadedKernel::can_remember() {
  if (!request_.workspace.empty()) return true;
  const Member& member = *members_.front();
  if (member.variables.empty()) return false;
  const std::size_t bytes = member.initial.bytes() / 2;
  DeviceKernels& kernels = buffers_.kernels();
  for_each_variable(member, [&](const Module::Variable& variable, DeviceAddress initial) {
    kernels.copy(initial + bytes, variable.address, variable.bytes);
  });
  return kernels.checksum(member.initial.address(), bytes) !=
         kernels.checksum(member.initial.address() + bytes, bytes);
}

template <typename Check>
std::optional<Finding> LoadedKernel::first_finding(const Check& check) {
  std::optional<Finding> finding;
  on_each([&](std::size_t gpu) {
    if (finding) return;
    finding = check(*members_[gpu]->workspace);
    if (finding && group_ != nullptr) finding->reason += fmt::format(" (GPU {})", gpu);
  });
  return finding;
}

std::optional<Finding> LoadedKernel::check_own() {
  return first_finding([](KernelWorkspace& workspace) { return workspace.check(); });
}

std::optional<Finding> LoadedKernel::check_own_surroundings() {
  return first_finding([](KernelWorkspace& workspace) { return workspace.check_surroundings(); });
}

std::optional<Finding> LoadedKernel::check_surroundings() {
  if (auto finding = buffers_.check_surroundings()) return finding;
  return check_own_surroundings();
}

}  // namespace tiletune
