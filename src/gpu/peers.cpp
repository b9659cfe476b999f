#include "gpu/peers.h"

#include <fmt/format.h>

#include "gpu/driver_api.h"

namespace tiletune {

namespace {

CUdevice device_of(const Gpu& gpu) {
  CUdevice device = 0;
  check(driver_api().device_get(&device, gpu.facts().index), "cuDeviceGet");
  return device;
}

/// One way.
void enable_access(const Gpu& gpu, const Gpu& peer) {
  int can = 0;
  check(driver_api().can_access_peer(&can, device_of(gpu), device_of(peer)), "cuDeviceCanAccessPeer");
  if (can == 0)
    throw GpuError(fmt::format("GPU {} cannot access the memory of GPU {}: they have no peer access",
                               gpu.facts().index, peer.facts().index));
  const OnGpu current(gpu);
  const CUresult enabled = driver_api().enable_peer_access(peer.context(), 0);
  if (enabled != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) check(enabled, "cuCtxEnablePeerAccess");
}

}  // namespace

OnGpu::OnGpu(const Gpu& gpu) { check(driver_api().context_push(gpu.context()), "cuCtxPushCurrent"); }

OnGpu::~OnGpu() {
  CUcontext popped = nullptr;
  driver_api().context_pop(&popped);
}

void enable_peer_access(const Gpu& first, const Gpu& second) {
  enable_access(first, second);
  enable_access(second, first);
}

Stream::Stream() { check(driver_api().stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
Stream::~Stream() { driver_api().stream_destroy(stream_); }

void record(const Event& event, CUstream_st* stream) {
  check(driver_api().event_record(event.get(), stream), "cuEventRecord");
}

void wait_for(const Event& event, CUstream_st* stream) {
  check(driver_api().stream_wait(stream, event.get(), 0), "cuStreamWaitEvent");
}

void copy_between(DeviceAddress to, DeviceAddress from, std::size_t bytes, CUstream_st* stream) {
  check(driver_api().copy_between(to, from, bytes, stream), "cuMemcpyAsync");
}

void copy_rows(const RowsCopy& copy, CUstream_st* stream) {
  CUDA_MEMCPY2D rows{};
  // Unified addresses: the memories may be those of different GPUs.
  rows.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.srcDevice = copy.from;
  rows.srcPitch = copy.from_pitch;
  rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.dstDevice = copy.to;
  rows.dstPitch = copy.to_pitch;
  rows.WidthInBytes = copy.bytes;
  rows.Height = copy.rows;
  check(driver_api().copy_rows(&rows, stream), "cuMemcpy2DAsync");
}

void write_word(DeviceAddress to, std::uint32_t word, CUstream_st* stream) {
  if (driver_api().stream_write == nullptr)
    throw GpuError("the driver cannot write words between copies: that needs CUDA 11.7");
  check(driver_api().stream_write(stream, to, word, CU_STREAM_WRITE_VALUE_DEFAULT), "cuStreamWriteValue32");
}

bool is_idle(CUstream_st* stream) {
  const CUresult state = driver_api().stream_query(stream);
  if (state == CUDA_ERROR_NOT_READY) return false;
  check(state, "cuStreamQuery");
  return true;
}

}  // namespace tiletune
