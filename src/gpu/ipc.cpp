#include "gpu/ipc.h"

#include <cstring>

#include "gpu/driver_api.h"

namespace tiletune {

static_assert(sizeof(CUipcMemHandle) == sizeof(IpcName::handle));

IpcName ipc_name(const DeviceBuffer& buffer) {
  CUdeviceptr start = 0;
  check(driver_api().memory_range(&start, nullptr, buffer.address()), "cuMemGetAddressRange");
  CUipcMemHandle handle{};
  check(driver_api().ipc_handle(&handle, start), "cuIpcGetMemHandle");
  IpcName name;
  std::memcpy(name.handle.data(), &handle, sizeof(handle));
  name.offset = buffer.address() - start;
  return name;
}

IpcBuffer::IpcBuffer(const IpcName& name) : offset_(name.offset) {
  CUipcMemHandle handle{};
  std::memcpy(&handle, name.handle.data(), sizeof(handle));
  CUdeviceptr opened = 0;
  check(driver_api().ipc_open(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), "cuIpcOpenMemHandle");
  opened_ = opened;
}

IpcBuffer::~IpcBuffer() { driver_api().ipc_close(opened_); }

}  // namespace tiletune
