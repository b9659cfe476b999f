#include "gpu/driver_api.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/library.h"
#include "gpu/device.h"

namespace tiletune {

namespace {

Library open_driver() {
  const std::array<std::string, 2> names{"libcuda.so.1", "libcuda.so"};
  try {
    return Library(names);
  } catch (const GpuError&) {
    throw NoGpu("no NVIDIA driver is installed (libcuda.so.1 cannot be opened)");
  }
}

DriverApi load_driver_api() {
  const Library library = open_driver();
  DriverApi api{};
  library.load(api.init, "cuInit");
  library.load(api.driver_version, "cuDriverGetVersion");
  library.load(api.device_count, "cuDeviceGetCount");
  library.load(api.device_get, "cuDeviceGet");
  library.load(api.device_name, "cuDeviceGetName");
  library.load(api.device_uuid, "cuDeviceGetUuid_v2");
  library.load(api.device_attribute, "cuDeviceGetAttribute");
  library.load(api.device_memory, "cuDeviceTotalMem_v2");
  library.load(api.context_retain, "cuDevicePrimaryCtxRetain");
  library.load(api.context_set_current, "cuCtxSetCurrent");
  library.load(api.context_push, "cuCtxPushCurrent_v2");
  library.load(api.context_pop, "cuCtxPopCurrent_v2");
  library.load(api.can_access_peer, "cuDeviceCanAccessPeer");
  library.load(api.enable_peer_access, "cuCtxEnablePeerAccess");
  library.load(api.memory_info, "cuMemGetInfo_v2");
  library.load(api.memory_allocate, "cuMemAlloc_v2");
  library.load(api.memory_free, "cuMemFree_v2");
  library.load(api.memory_range, "cuMemGetAddressRange_v2");
  library.load(api.ipc_handle, "cuIpcGetMemHandle");
  library.load(api.ipc_open, "cuIpcOpenMemHandle_v2");
  library.load(api.ipc_close, "cuIpcCloseMemHandle");
  library.load(api.copy_to_device, "cuMemcpyHtoDAsync_v2");
  library.load(api.copy_to_host, "cuMemcpyDtoHAsync_v2");
  library.load(api.copy_on_device, "cuMemcpyDtoDAsync_v2");
  library.load(api.copy_between, "cuMemcpyAsync");
  library.load(api.copy_rows, "cuMemcpy2DAsync_v2");
  library.load(api.fill32, "cuMemsetD32Async");
  library.load(api.fill8, "cuMemsetD8Async");
  library.load(api.module_load, "cuModuleLoadData");
  library.load(api.module_unload, "cuModuleUnload");
  library.load(api.module_function, "cuModuleGetFunction");
  library.load(api.module_global, "cuModuleGetGlobal_v2");
  library.load(api.function_attribute, "cuFuncGetAttribute");
  library.load(api.function_set_attribute, "cuFuncSetAttribute");
  library.load(api.occupancy_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library.load(api.launch, "cuLaunchKernel");
  library.load_if_there(api.launch_with_attributes, "cuLaunchKernelEx");
  library.load(api.stream_create, "cuStreamCreate");
  library.load(api.stream_destroy, "cuStreamDestroy_v2");
  library.load(api.stream_synchronize, "cuStreamSynchronize");
  library.load(api.stream_query, "cuStreamQuery");
  library.load(api.stream_wait, "cuStreamWaitEvent");
  library.load_if_there(api.stream_write, "cuStreamWriteValue32_v2");
  library.load(api.event_create, "cuEventCreate");
  library.load(api.event_destroy, "cuEventDestroy_v2");
  library.load(api.event_record, "cuEventRecord");
  library.load(api.event_synchronize, "cuEventSynchronize");
  library.load(api.event_elapsed, "cuEventElapsedTime");
  library.load(api.host_allocate, "cuMemHostAlloc");
  library.load(api.host_free, "cuMemFreeHost");
  library.load(api.host_device_pointer, "cuMemHostGetDevicePointer_v2");
  library.load(api.capture_begin, "cuStreamBeginCapture_v2");
  library.load(api.capture_end, "cuStreamEndCapture");
  library.load(api.graph_instantiate, "cuGraphInstantiateWithFlags");
  library.load(api.graph_launch, "cuGraphLaunch");
  library.load(api.graph_destroy, "cuGraphDestroy");
  library.load(api.graph_executable_destroy, "cuGraphExecDestroy");
  library.load(api.graph_nodes, "cuGraphGetNodes");
  library.load(api.graph_node_type, "cuGraphNodeGetType");
  library.load(api.graph_kernel_parameters, "cuGraphKernelNodeGetParams_v2");
  library.load_if_there(api.tensor_map_encode, "cuTensorMapEncodeTiled");
  library.load_if_there(api.function_name, "cuFuncGetName");
  library.load_if_there(api.kernel_name, "cuKernelGetName");
  library.load(api.error_name, "cuGetErrorName");
  library.load(api.error_string, "cuGetErrorString");
  return api;
}

}  // namespace

const DriverApi& driver_api() {
  static const DriverApi api = [] {
    DriverApi loaded = load_driver_api();
    const CUresult result = loaded.init(0);
    if (result != CUDA_SUCCESS) {
      const char* text = nullptr;
      loaded.error_string(result, &text);
      if (result == CUDA_ERROR_NO_DEVICE) throw NoGpu("the NVIDIA driver shows no GPU");
      throw GpuError(fmt::format("the CUDA driver does not start: {} (code {})",
                                 text != nullptr ? text : "unknown error", static_cast<int>(result)));
    }
    return loaded;
  }();
  return api;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* error = nullptr;
  const char* text = nullptr;
  driver_api().error_name(result, &error);
  driver_api().error_string(result, &text);
  throw CudaError(static_cast<int>(result),
                  fmt::format("{}: {} ({})", call, text != nullptr ? text : "unknown error",
                              error != nullptr ? error : "?"));
}

}  // namespace tiletune
