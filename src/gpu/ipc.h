#pragma once

#include <array>
#include <cstddef>

#include "gpu/device.h"

namespace tiletune {

/// What another process of this machine needs to open a buffer; may be sent to it as bytes.
struct IpcName {
  std::array<std::byte, 64> handle{};  ///< cuda.h's CUipcMemHandle
  std::size_t offset = 0;              ///< bytes from the start of what the handle stands for
};

/// Throws CudaError where the system has no such handles.
IpcName ipc_name(const DeviceBuffer& buffer);

/// A buffer of another process, whose GPU the current one has peer access to; closed when this ends.
class IpcBuffer {
 public:
  /// Throws CudaError.
  explicit IpcBuffer(const IpcName& name);
  ~IpcBuffer();
  IpcBuffer(const IpcBuffer&) = delete;
  IpcBuffer& operator=(const IpcBuffer&) = delete;

  DeviceAddress address() const { return opened_ + offset_; }

 private:
  DeviceAddress opened_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace tiletune
