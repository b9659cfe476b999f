#pragma once

#include <cuda.h>

#include "base/library.h"

namespace tiletune {

/// The functions of libcuda that tiletune calls, loaded on first use. Private to the gpu library.
struct DriverApi {
  Library library;

  TILETUNE_LOADED(init, cuInit);
  TILETUNE_LOADED(driver_version, cuDriverGetVersion);
  TILETUNE_LOADED(device_count, cuDeviceGetCount);
  TILETUNE_LOADED(device_get, cuDeviceGet);
  TILETUNE_LOADED(device_name, cuDeviceGetName);
  // Headers before CUDA 13 have no macro for the second version, which alone tells the slices of a GPU apart.
  decltype(&cuDeviceGetUuid) device_uuid = library.load("cuDeviceGetUuid_v2");
  TILETUNE_LOADED(device_attribute, cuDeviceGetAttribute);
  TILETUNE_LOADED(device_memory, cuDeviceTotalMem);
  TILETUNE_LOADED(context_retain, cuDevicePrimaryCtxRetain);
  TILETUNE_LOADED(context_set_current, cuCtxSetCurrent);
  TILETUNE_LOADED(context_device, cuCtxGetDevice);
  TILETUNE_LOADED(context_synchronize, cuCtxSynchronize);
  TILETUNE_LOADED(context_push, cuCtxPushCurrent);
  TILETUNE_LOADED(context_pop, cuCtxPopCurrent);
  TILETUNE_LOADED(can_access_peer, cuDeviceCanAccessPeer);
  TILETUNE_LOADED(enable_peer_access, cuCtxEnablePeerAccess);
  TILETUNE_LOADED(memory_info, cuMemGetInfo);
  TILETUNE_LOADED(memory_allocate, cuMemAlloc);
  TILETUNE_LOADED(memory_free, cuMemFree);
  TILETUNE_LOADED(memory_granularity, cuMemGetAllocationGranularity);
  TILETUNE_LOADED(memory_create, cuMemCreate);
  TILETUNE_LOADED(memory_release, cuMemRelease);
  TILETUNE_LOADED(memory_map, cuMemMap);
  TILETUNE_LOADED(memory_unmap, cuMemUnmap);
  TILETUNE_LOADED(memory_access, cuMemSetAccess);
  TILETUNE_LOADED(addresses_reserve, cuMemAddressReserve);
  TILETUNE_LOADED(addresses_free, cuMemAddressFree);
  TILETUNE_LOADED(memory_range, cuMemGetAddressRange);
  TILETUNE_LOADED(ipc_handle, cuIpcGetMemHandle);
  TILETUNE_LOADED(ipc_open, cuIpcOpenMemHandle);
  TILETUNE_LOADED(ipc_close, cuIpcCloseMemHandle);
  TILETUNE_LOADED(copy_to_device, cuMemcpyHtoDAsync);
  TILETUNE_LOADED(copy_to_host, cuMemcpyDtoHAsync);
  TILETUNE_LOADED(copy_on_device, cuMemcpyDtoDAsync);
  TILETUNE_LOADED(copy_between, cuMemcpyAsync);
  TILETUNE_LOADED(copy_rows, cuMemcpy2DAsync);
  TILETUNE_LOADED(fill32, cuMemsetD32Async);
  TILETUNE_LOADED(fill8, cuMemsetD8Async);
  TILETUNE_LOADED(module_load, cuModuleLoadData);
  TILETUNE_LOADED(module_unload, cuModuleUnload);
  TILETUNE_LOADED(module_function, cuModuleGetFunction);
  TILETUNE_LOADED(module_global, cuModuleGetGlobal);
  TILETUNE_LOADED(function_attribute, cuFuncGetAttribute);
  TILETUNE_LOADED(function_set_attribute, cuFuncSetAttribute);
  TILETUNE_LOADED(occupancy_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor);
  TILETUNE_LOADED(launch, cuLaunchKernel);
  TILETUNE_LOADED(stream_create, cuStreamCreate);
  TILETUNE_LOADED(stream_destroy, cuStreamDestroy);
  TILETUNE_LOADED(stream_synchronize, cuStreamSynchronize);
  TILETUNE_LOADED(stream_query, cuStreamQuery);
  TILETUNE_LOADED(stream_wait, cuStreamWaitEvent);
  TILETUNE_LOADED(event_create, cuEventCreate);
  TILETUNE_LOADED(event_destroy, cuEventDestroy);
  TILETUNE_LOADED(event_record, cuEventRecord);
  TILETUNE_LOADED(event_synchronize, cuEventSynchronize);
  CUresult (*event_elapsed)(float*, CUevent, CUevent) = library.load("cuEventElapsedTime");
  TILETUNE_LOADED(host_allocate, cuMemHostAlloc);
  TILETUNE_LOADED(host_free, cuMemFreeHost);
  TILETUNE_LOADED(host_device_pointer, cuMemHostGetDevicePointer);
  TILETUNE_LOADED(capture_begin, cuStreamBeginCapture);
  TILETUNE_LOADED(capture_end, cuStreamEndCapture);
  TILETUNE_LOADED(graph_instantiate, cuGraphInstantiate);
  TILETUNE_LOADED(graph_launch, cuGraphLaunch);
  TILETUNE_LOADED(graph_destroy, cuGraphDestroy);
  TILETUNE_LOADED(graph_executable_destroy, cuGraphExecDestroy);
  TILETUNE_LOADED(graph_nodes, cuGraphGetNodes);
  TILETUNE_LOADED(graph_node_type, cuGraphNodeGetType);
  TILETUNE_LOADED(graph_kernel_parameters, cuGraphKernelNodeGetParams);
  TILETUNE_LOADED(error_name, cuGetErrorName);
  TILETUNE_LOADED(error_string, cuGetErrorString);

  // Each is null where the driver is older than a version of CUDA.
  TILETUNE_FOUND(stream_write, cuStreamWriteValue32);         ///< 11.7
  TILETUNE_FOUND(launch_with_attributes, cuLaunchKernelEx);   ///< 11.8
  TILETUNE_FOUND(tensor_map_encode, cuTensorMapEncodeTiled);  ///< 12.0
  TILETUNE_FOUND(function_name, cuFuncGetName);               ///< 12.3
  TILETUNE_FOUND(kernel_name, cuKernelGetName);               ///< 12.3
};

/// Loads libcuda and initialises it once. Throws GpuError when there is no driver or it does not start.
const DriverApi& driver_api();

/// Throws CudaError (gpu/device.h) unless the call succeeded.
void check(CUresult result, const char* call);

}  // namespace tiletune
