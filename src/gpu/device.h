#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/device_properties.h"
#include "base/error.h"
#include "base/launch_shape.h"

// The driver's handle types, as cuda.h declares them: only the gpu library includes that header.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUevent_st;
struct CUstream_st;

namespace tiletune {

/// This machine has no NVIDIA driver, or no GPU that the driver shows.
class NoGpu : public GpuError {
 public:
  using GpuError::GpuError;
};

/// A call of the CUDA driver failed.
class CudaError : public GpuError {
 public:
  CudaError(int code, const std::string& what) : GpuError(what), code_(code) {}
  /// The launch itself was refused; the context is fine.
  bool launch_refused() const;
  bool out_of_memory() const;
  /// This error with what went before it: "the kernel failed in its first launch: ...".
  CudaError with(const std::string& circumstances) const { return {code_, circumstances + ": " + what()}; }

 private:
  int code_;
};

/// What the driver says of a device.
struct DeviceFacts : DeviceProperties {
  int index = 0;
  std::string name;
  std::string uuid;          ///< "GPU-..."
  std::string cuda_version;  ///< highest the driver supports: "13.0"

  static constexpr auto fields() {
    using D = DeviceFacts;
    return joined(fields_of<&D::index, &D::name, &D::uuid, &D::cuda_version>(), DeviceProperties::fields());
  }
};

using DeviceAddress = std::uint64_t;

/// Device memory, owned.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Throws CudaError.
  explicit DeviceBuffer(std::size_t bytes);
  /// At a random address between stretches of addresses that stand for no memory: a kernel finds it only if
  /// it is told where it is, and a launch that runs over its ends fails. It has at least so many bytes, up to
  /// a whole page. Every GPU that is open has access to it, as far as the machine allows. Where the driver
  /// cannot map memory, it is ordinary memory. Throws CudaError.
  static DeviceBuffer apart(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  DeviceAddress address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  DeviceAddress address_ = 0;
  std::size_t bytes_ = 0;
  DeviceAddress reserved_ = 0;  ///< the first address of a buffer that lies apart; else 0
};

/// Host memory that the GPU reaches by itself, owned: copies from it need no copy by the driver.
class PinnedBuffer {
 public:
  /// Throws CudaError.
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  std::byte* data() const { return data_; }
  /// For copies by any GPU of the process. Throws CudaError.
  DeviceAddress address() const;

 private:
  std::byte* data_ = nullptr;
};

/// What cuFuncGetAttribute says of a loaded kernel.
struct KernelAttributes {
  int registers = 0;
  int static_shared_bytes = 0;
  int local_bytes = 0;
  int max_threads_per_block = 0;

  static constexpr auto fields() {
    using K = KernelAttributes;
    return fields_of<&K::registers, &K::static_shared_bytes, &K::local_bytes, &K::max_threads_per_block>();
  }
};

/// A loaded cubin.
class Module {
 public:
  /// Throws CudaError when the image cannot be loaded.
  explicit Module(std::string_view cubin);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  struct Variable {
    DeviceAddress address = 0;
    std::size_t bytes = 0;
  };
  /// A variable in device or constant memory. Throws CudaError when there is none.
  Variable variable(const std::string& symbol) const;
  /// None where there is none.
  std::optional<Variable> find_variable(const std::string& symbol) const;
  CUmod_st* get() const { return module_; }

 private:
  std::string image_;
  CUmod_st* module_ = nullptr;
};

/// One kernel of a loaded cubin.
class Kernel {
 public:
  /// Throws CudaError when the module has no such kernel.
  Kernel(std::shared_ptr<const Module> module, const std::string& symbol);
  /// With a module of its own. Throws CudaError also when the image cannot be loaded.
  Kernel(std::string_view cubin, const std::string& symbol)
      : Kernel(std::make_shared<const Module>(cubin), symbol) {}

  KernelAttributes attributes() const;
  /// Opts in to so much dynamic shared memory; needed above 48 KiB.
  void allow_dynamic_shared(int bytes) const;
  /// cuOccupancyMaxActiveBlocksPerMultiprocessor
  int blocks_per_multiprocessor(int threads_per_block, std::size_t dynamic_shared_bytes) const;
  CUfunc_st* function() const { return function_; }

 private:
  std::shared_ptr<const Module> module_;
  CUfunc_st* function_ = nullptr;
};

class Event {
 public:
  /// Between two of them time can be measured.
  enum class Use { timing, order };

  explicit Event(Use use = Use::timing);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent_st* get() const { return event_; }

 private:
  CUevent_st* event_ = nullptr;
};

/// One GPU: its primary context, and one stream on which everything runs in order. Of several GPUs in a
/// process, each needs its context current in this thread for its calls (gpu/stream.h).
class Gpu {
 public:
  /// Makes the context current in this thread. Throws GpuError when there is no driver or no such device.
  explicit Gpu(int index);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const DeviceFacts& facts() const { return facts_; }
  /// How many GPUs the driver shows.
  int devices() const { return devices_; }
  std::size_t free_bytes() const;
  CUstream_st* stream() const { return stream_; }
  CUctx_st* context() const { return context_; }

  /// From a PinnedBuffer it is under way when this returns.
  void copy_to_device(DeviceAddress to, const void* from, std::size_t bytes);
  /// Waits for the copy.
  void copy_to_host(void* to, DeviceAddress from, std::size_t bytes);
  void copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes);
  void fill32(DeviceAddress to, std::uint32_t value, std::size_t count);
  void fill8(DeviceAddress to, std::uint8_t value, std::size_t count);
  /// `arguments` are addresses of the argument values, in the kernel's order. A programmatic launch may begin
  /// once all blocks of the kernel before it have executed griddepcontrol.launch_dependents or ended (CUDA's
  /// programmatic dependent launch).
  /// Without a stream, on the GPU's own.
  void launch(const Kernel& kernel, const LaunchShape& shape, std::span<void* const> arguments,
              bool programmatic = false, CUstream_st* stream = nullptr);
  void record(const Event& event);
  /// Waits for everything; reports errors of what ran before.
  void synchronize();
  /// Waits for what was queued before an event.
  void wait(const Event& event);
  /// Microseconds between two events; waits for the second.
  double elapsed_us(const Event& first, const Event& second);

 private:
  DeviceFacts facts_;
  int devices_ = 0;
  CUctx_st* context_ = nullptr;
  CUstream_st* stream_ = nullptr;
};

}  // namespace tiletune
