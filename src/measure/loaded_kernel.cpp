#include "measure/loaded_kernel.h"

#include <algorithm>
#include <limits>

#include "base/identifier.h"

namespace tiletune {

LoadedKernel::LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request)
    : gpu_(gpu),
      buffers_(buffers),
      request_(request),
      module_(std::make_shared<const Module>(request.cubin)),
      kernels_(kernels_of(module_, request.calls)),
      own_(gpu, buffers.kernels(),
           buffers.slices() == nullptr ? request.workspace : std::vector<SizedWorkspace>{}),
      tally_(std::make_shared<LaunchTally>()) {
  tally_->tolerance_factor = request.tolerance_factor;
  if (Slices* slices = buffers.slices()) {
    group_ = std::make_unique<GroupKernel>(*slices, *buffers.libraries(), request, buffers.addresses());
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
  const LaunchShape& shape = request_.calls[kernel].shape;
  return kernels_[kernel].blocks_per_multiprocessor(static_cast<int>(shape.threads()),
                                                    shape.dynamic_shared_bytes);
}

/// The first with the fewest resident warps.
std::size_t LoadedKernel::narrowest() const {
  constexpr unsigned kWarp = 32;
  std::size_t narrowest = 0;
  unsigned fewest = std::numeric_limits<unsigned>::max();
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const unsigned warps = (request_.calls[i].shape.threads() + kWarp - 1) / kWarp;
    const unsigned resident = warps * static_cast<unsigned>(blocks_per_multiprocessor(i));
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
    launch_one(i, copy, i > 0 && request_.calls[i].programmatic);
}

void LoadedKernel::launch_one(std::size_t kernel, std::size_t copy, bool programmatic) {
  gpu_.launch(kernels_[kernel], request_.calls[kernel].shape, arguments_[copy][kernel].pointers(),
              programmatic);
}

std::vector<std::function<void()>> LoadedKernel::parts() {
  std::vector<std::function<void()>> parts;
  if (group_) return parts;
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    parts.emplace_back([this, i] { launch_one(i, 0, false); });
  return parts;
}

Subject LoadedKernel::subject() {
  if (group_) {
    Subject subject{[this](std::size_t) { group_->launch(); }, [] { return std::size_t{1}; }, &buffers_,
                    tally_};
    subject.gpu_times_us = [this](int count) { return group_->times_us(count); };
    subject.floor_us = buffers_.slices()->group().floor_us;
    return subject;
  }
  return {[this](std::size_t copy) { launch(copy); }, [this] { return bind_copies(); }, &buffers_, tally_};
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
  for (const KernelCall& call : request_.calls) packs.emplace_back(call.arguments, addresses);
}

std::size_t LoadedKernel::bind_copies() {
  const std::size_t copies = buffers_.copies();
  while (arguments_.size() < copies) bind(arguments_.size());
  return copies;
}

std::optional<Finding> LoadedKernel::check_surroundings() {
  if (auto finding = buffers_.check_surroundings()) return finding;
  return own_workspace().check_surroundings();
}

}  // namespace tiletune
