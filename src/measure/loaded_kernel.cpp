#include "measure/loaded_kernel.h"

namespace tiletune {

LoadedKernel::LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request)
    : gpu_(gpu),
      buffers_(buffers),
      request_(request),
      kernel_(request.cubin, request.symbol),
      own_(gpu, buffers.kernels(), request.workspace),
      tally_(std::make_shared<LaunchTally>()) {
  tally_->tolerance_factor = request.tolerance_factor;
  rebind();
  if (request.shape.dynamic_shared_bytes > 0)
    kernel_.allow_dynamic_shared(static_cast<int>(request.shape.dynamic_shared_bytes));
}

int LoadedKernel::blocks_per_multiprocessor() const {
  return kernel_.blocks_per_multiprocessor(static_cast<int>(request_.shape.threads()),
                                           request_.shape.dynamic_shared_bytes);
}

void LoadedKernel::launch(std::size_t copy) {
  gpu_.launch(kernel_, request_.shape, arguments_[copy].pointers());
}

Subject LoadedKernel::subject() {
  return {[this](std::size_t copy) { launch(copy); }, [this] { return bind_copies(); }, &buffers_, tally_};
}

void LoadedKernel::rebind() {
  arguments_.clear();
  bind(0);
}

void LoadedKernel::bind(std::size_t copy) {
  std::map<std::string, DeviceAddress> addresses = buffers_.addresses(copy);
  addresses.insert(own_.addresses().begin(), own_.addresses().end());
  arguments_.emplace_back(request_.arguments, addresses);
}

std::size_t LoadedKernel::bind_copies() {
  const std::size_t copies = buffers_.copies();
  while (arguments_.size() < copies) bind(arguments_.size());
  return copies;
}

std::optional<Finding> LoadedKernel::check_surroundings() {
  if (auto finding = buffers_.check_surroundings()) return finding;
  return own_.check_surroundings();
}

}  // namespace tiletune
