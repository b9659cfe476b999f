#pragma once

#include <cuda.h>

namespace tiletune {

/// The functions of libcuda that tiletune calls, loaded on first use. Private to the gpu library.
struct DriverApi {
  decltype(&cuInit) init;
  decltype(&cuDriverGetVersion) driver_version;
  decltype(&cuDeviceGetCount) device_count;
  decltype(&cuDeviceGet) device_get;
  decltype(&cuDeviceGetName) device_name;
  decltype(&cuDeviceGetUuid) device_uuid;
  decltype(&cuDeviceGetAttribute) device_attribute;
  decltype(&cuDeviceTotalMem) device_memory;
  decltype(&cuDevicePrimaryCtxRetain) context_retain;
  decltype(&cuCtxSetCurrent) context_set_current;
  decltype(&cuCtxPushCurrent) context_push;
  decltype(&cuCtxPopCurrent) context_pop;
  decltype(&cuDeviceCanAccessPeer) can_access_peer;
  decltype(&cuCtxEnablePeerAccess) enable_peer_access;
  decltype(&cuMemGetInfo) memory_info;
  decltype(&cuMemAlloc) memory_allocate;
  decltype(&cuMemFree) memory_free;
  decltype(&cuMemGetAddressRange) memory_range;
  decltype(&cuIpcGetMemHandle) ipc_handle;
  decltype(&cuIpcOpenMemHandle) ipc_open;
  decltype(&cuIpcCloseMemHandle) ipc_close;
  decltype(&cuMemcpyHtoDAsync) copy_to_device;
  decltype(&cuMemcpyDtoHAsync) copy_to_host;
  decltype(&cuMemcpyDtoDAsync) copy_on_device;
  decltype(&cuMemcpyAsync) copy_between;
  decltype(&cuMemcpy2DAsync) copy_rows;
  decltype(&cuMemsetD32Async) fill32;
  decltype(&cuMemsetD8Async) fill8;
  decltype(&cuModuleLoadData) module_load;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_function;
  decltype(&cuModuleGetGlobal) module_global;
  decltype(&cuFuncGetAttribute) function_attribute;
  decltype(&cuFuncSetAttribute) function_set_attribute;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy_blocks;
  decltype(&cuLaunchKernel) launch;
  decltype(&cuLaunchKernelEx) launch_with_attributes;  ///< null where the driver is older than CUDA 11.8
  decltype(&cuStreamCreate) stream_create;
  decltype(&cuStreamDestroy) stream_destroy;
  decltype(&cuStreamSynchronize) stream_synchronize;
  decltype(&cuStreamQuery) stream_query;
  decltype(&cuStreamWaitEvent) stream_wait;
  decltype(&cuStreamWriteValue32) stream_write;  ///< null where the driver is older than CUDA 11.7
  decltype(&cuEventCreate) event_create;
  decltype(&cuEventDestroy) event_destroy;
  decltype(&cuEventRecord) event_record;
  decltype(&cuEventSynchronize) event_synchronize;
  CUresult (*event_elapsed)(float*, CUevent, CUevent);
  decltype(&cuMemHostAlloc) host_allocate;
  decltype(&cuMemFreeHost) host_free;
  decltype(&cuMemHostGetDevicePointer) host_device_pointer;
  decltype(&cuStreamBeginCapture) capture_begin;
  decltype(&cuStreamEndCapture) capture_end;
  decltype(&cuGraphInstantiate) graph_instantiate;
  decltype(&cuGraphLaunch) graph_launch;
  decltype(&cuGraphDestroy) graph_destroy;
  decltype(&cuGraphExecDestroy) graph_executable_destroy;
  decltype(&cuGraphGetNodes) graph_nodes;
  decltype(&cuGraphNodeGetType) graph_node_type;
  decltype(&cuGraphKernelNodeGetParams) graph_kernel_parameters;
  decltype(&cuTensorMapEncodeTiled) tensor_map_encode;  ///< null where the driver is older than CUDA 12.0
  decltype(&cuFuncGetName) function_name;               ///< null where the driver is older than CUDA 12.3
  decltype(&cuKernelGetName) kernel_name;               ///< the same
  decltype(&cuGetErrorName) error_name;
  decltype(&cuGetErrorString) error_string;
};

/// Loads libcuda and initialises it once. Throws GpuError when there is no driver or it does not start.
const DriverApi& driver_api();

/// Throws CudaError (gpu/device.h) unless the call succeeded.
void check(CUresult result, const char* call);

}  // namespace tiletune
