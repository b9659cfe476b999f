#include "measure/loaded_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/identifier.h"
#include "measure/guards.h"

namespace tiletune {

namespace {

/// Arrays whose addresses on all GPUs are passed.
std::set<std::string> names_of_peers(const MeasureRequest& request) {
  std::set<std::string> names;
  for (const KernelLaunch& launch : request.launches) {
    for (const ArgumentValue& argument : launch.arguments)
      if (argument.kind == Argument::Kind::peers) names.insert(argument.name);
  }
  return names;
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

GroupKernel::GroupKernel(Slices& slices, const MeasureRequest& request)
    : group_(slices.group()),
      slices_(slices),
      request_(request),
      steps_(steps_of(request)),
      launches_(group_) {}

GroupKernel::GroupKernel(Slices& slices, const MeasureRequest& request,
                         const std::map<std::string, DeviceAddress>& wholes)
    : GroupKernel(slices, request) {
  for (const GpuStep& step : steps_) check_step(step);
  group_.fork();
  group_.on_each([&](std::size_t gpu) { members_.push_back(load(gpu, wholes)); });
  group_.on_each([&](std::size_t gpu) {
    list_peers(gpu);
    Member& member = *members_[gpu];
    for (const KernelLaunch& launch : request_.launches)
      member.arguments.emplace_back(launch.arguments, member.addresses,
                                    PeerArguments{static_cast<std::int64_t>(gpu), &member.peers});
  });
  group_.join();
}

GroupKernel::~GroupKernel() {
  try {
    group_.on_each([&](std::size_t gpu) {
      if (gpu < members_.size()) members_[gpu].reset();
    });
  } catch (const CudaError&) {
    // What it is destroyed for says more.
    return;
  }
}

std::unique_ptr<GroupKernel::Member> GroupKernel::load(std::size_t gpu,
                                                       const std::map<std::string, DeviceAddress>& wholes) {
  auto member = std::make_unique<Member>();
  member->module = std::make_shared<const Module>(request_.cubin);
  member->kernels = kernels_of(member->module, request_.launches);
  member->workspace =
      std::make_unique<KernelWorkspace>(group_.gpu(gpu), group_.kernels(gpu), request_.workspace);
  member->addresses = slices_.addresses(gpu);
  member->addresses.insert(member->workspace->addresses().begin(), member->workspace->addresses().end());
  for (const ConstantCopy& constant : request_.constants) {
    copy_between(member->module->variable(symbol_of_variable(constant.symbol)), wholes.at(constant.buffer),
                 static_cast<std::size_t>(constant.bytes), group_.stream(gpu));
  }
  return member;
}

void GroupKernel::list_peers(std::size_t gpu) {
  std::vector<DeviceAddress> lists;
  const std::set<std::string> names = names_of_peers(request_);
  for (const std::string& name : names) {
    for (const auto& member : members_) lists.push_back(member->addresses.at(name));
  }
  if (lists.empty()) return;
  Member& member = *members_[gpu];
  const std::size_t list_bytes = group_.size() * sizeof(DeviceAddress);
  member.lists = DeviceBuffer(names.size() * list_bytes);
  group_.gpu(gpu).copy_to_device(member.lists.address(), lists.data(), member.lists.bytes());
  group_.gpu(gpu).synchronize();
  DeviceAddress at = member.lists.address();
  for (const std::string& name : names) {
    member.peers[name] = at;
    at += list_bytes;
  }
}

ElementType GroupKernel::type(const std::string& name) const {
  if (const auto type = slices_.type(name)) return *type;
  for (const SizedWorkspace& workspace : request_.workspace)
    if (workspace.name == name) return workspace.type;
  throw GpuError(fmt::format("there is no buffer '{}'", name));
}

void GroupKernel::check_step(const GpuStep& step) const {
  if (step.kind != StepKind::collective) return;
  if (group_.nccl() == nullptr) throw Unlaunchable(Outcome::refused, group_.why_no_nccl());
  if (step.collective == Collective::reduce_scatter && !Nccl::adds(type(step.from)))
    throw Unlaunchable(Outcome::refused,
                       fmt::format("NCCL does not add numbers of type {}", name(type(step.from))));
}

void GroupKernel::launch() {
  launches_.launch([this] {
    for (const GpuStep& step : steps_) run(step);
    const auto is_beside = [](const GpuStep& step) { return step.beside; };
    if (std::none_of(steps_.begin(), steps_.end(), is_beside)) return;
    group_.on_each([this](std::size_t gpu) { group_.join_side(gpu); });
  });
}

void GroupKernel::run(const GpuStep& step) {
  switch (step.kind) {
    case StepKind::kernel:
      return launch_kernel(static_cast<std::size_t>(step.launch));
    case StepKind::copy:
      return copy(step);
    case StepKind::barrier:
      return group_.barrier();
    case StepKind::collective:
      return run_collective(step);
  }
}

void GroupKernel::launch_kernel(std::size_t number) {
  const KernelLaunch& launch = request_.launches[number];
  group_.on_each([&](std::size_t gpu) {
    const Member& member = *members_[gpu];
    group_.gpu(gpu).launch(member.kernels.at(number), launch, member.arguments[number].pointers(),
                           number > 0 && launch.programmatic);
  });
}

void GroupKernel::copy(const GpuStep& step) {
  const auto size = static_cast<std::int64_t>(size_bytes(type(step.to)));
  const auto address = [&](std::int64_t gpu, const std::string& name, std::int64_t bytes) {
    return members_.at(static_cast<std::size_t>(gpu))->addresses.at(name) + static_cast<DeviceAddress>(bytes);
  };
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::uint32_t));
  group_.on_each([&](std::size_t gpu) {
    if (step.beside) group_.fork_side(gpu);
    CUstream_st* const stream = step.beside ? group_.side_stream(gpu) : group_.stream(gpu);
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

void GroupKernel::run_collective(const GpuStep& step) {
  std::vector<NcclPart> parts;
  for (std::size_t gpu = 0; gpu < group_.size(); ++gpu) {
    const auto& addresses = members_[gpu]->addresses;
    parts.push_back({addresses.at(step.from), addresses.at(step.to), group_.stream(gpu)});
  }
  const auto elements = static_cast<std::size_t>(step.elements);
  if (step.collective == Collective::all_gather)
    return group_.nccl()->all_gather(parts, elements, type(step.from));
  group_.nccl()->reduce_scatter(parts, elements, type(step.from));
}

void GroupKernel::reset() {
  group_.fork();
  group_.on_each([&](std::size_t gpu) { members_[gpu]->workspace->reset(); });
  group_.join();
}

void GroupKernel::poison(int variant) {
  group_.fork();
  group_.on_each([&](std::size_t gpu) { members_[gpu]->workspace->poison(variant); });
  group_.join();
}

template <typename Check>
std::optional<Finding> GroupKernel::first_finding(const Check& check) {
  std::optional<Finding> finding;
  group_.on_each([&](std::size_t gpu) {
    if (finding) return;
    finding = check(*members_[gpu]->workspace);
    if (finding) finding->reason += fmt::format(" (GPU {})", gpu);
  });
  return finding;
}

std::optional<Finding> GroupKernel::check() {
  return first_finding([](KernelWorkspace& workspace) { return workspace.check(); });
}

std::optional<Finding> GroupKernel::check_surroundings() {
  return first_finding([](KernelWorkspace& workspace) { return workspace.check_surroundings(); });
}

LoadedKernel::LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request)
    : gpu_(gpu),
      buffers_(buffers),
      request_(request),
      module_(std::make_shared<const Module>(request.cubin)),
      kernels_(kernels_of(module_, request.launches)),
      own_(gpu, buffers.kernels(),
           buffers.slices() == nullptr ? request.workspace : std::vector<SizedWorkspace>{}),
      tally_(std::make_shared<LaunchTally>()) {
  tally_->tolerance_factor = request.tolerance_factor;
  if (Slices* slices = buffers.slices()) {
    group_ = std::make_unique<GroupKernel>(*slices, request, buffers.addresses());
    return;
  }
  fill_constants();
  rebind();
}

OwnMemory& LoadedKernel::own_workspace() {
  if (group_) return *group_;
  return own_;
}

int LoadedKernel::blocks_per_multiprocessor(std::size_t kernel) const {
  const LaunchShape& shape = request_.launches[kernel];
  return kernels_[kernel].blocks_per_multiprocessor(static_cast<int>(shape.block.count()),
                                                    static_cast<std::size_t>(shape.dynamic_shared_bytes));
}

/// The first with the fewest resident warps.
std::size_t LoadedKernel::narrowest() const {
  constexpr std::int64_t kWarp = 32;
  std::size_t narrowest = 0;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const std::int64_t warps = (request_.launches[i].block.count() + kWarp - 1) / kWarp;
    const std::int64_t resident = warps * blocks_per_multiprocessor(i);
    if (resident < fewest) narrowest = i;
    fewest = std::min(fewest, resident);
  }
  return narrowest;
}

void LoadedKernel::fill_constants() {
  for (const ConstantCopy& constant : request_.constants) {
    gpu_.copy_on_device(module_->variable(symbol_of_variable(constant.symbol)),
                        buffers_.addresses().at(constant.buffer), static_cast<std::size_t>(constant.bytes));
  }
}

void LoadedKernel::launch(std::size_t copy) {
  if (group_) return group_->launch();
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    launch_one(i, copy, i > 0 && request_.launches[i].programmatic);
}

void LoadedKernel::launch_one(std::size_t kernel, std::size_t copy, bool programmatic) {
  gpu_.launch(kernels_[kernel], request_.launches[kernel], arguments_[copy][kernel].pointers(), programmatic);
}

std::vector<std::function<void()>> LoadedKernel::parts() {
  std::vector<std::function<void()>> parts;
  if (group_) return parts;
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    parts.emplace_back([this, i] { launch_one(i, 0, false); });
  return parts;
}

Subject LoadedKernel::subject() {
  Subject subject{[this](std::size_t copy) { launch(copy); }, [this] { return bind_copies(); }, &buffers_,
                  tally_};
  if (!group_) return subject;
  subject.gpu_times_us = [this](int count) { return group_->times_us(count); };
  subject.floor_us = buffers_.slices()->group().floor_us;
  return subject;
}

void LoadedKernel::rebind() {
  if (group_) return;
  arguments_.clear();
  bind(0);
}

void LoadedKernel::bind(std::size_t copy) {
  std::map<std::string, DeviceAddress> addresses = buffers_.addresses(copy);
  addresses.insert(own_.addresses().begin(), own_.addresses().end());
  std::vector<ArgumentPack>& packs = arguments_.emplace_back();
  for (const KernelLaunch& launch : request_.launches) packs.emplace_back(launch.arguments, addresses);
}

std::size_t LoadedKernel::bind_copies() {
  const std::size_t copies = buffers_.copies();
  while (!group_ && arguments_.size() < copies) bind(arguments_.size());
  return copies;
}

std::optional<Finding> LoadedKernel::check_surroundings() {
  if (auto finding = buffers_.check_surroundings()) return finding;
  return own_workspace().check_surroundings();
}

}  // namespace tiletune
