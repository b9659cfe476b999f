#include "gpu/stream.h"

#include <fmt/format.h>

#include <cstring>

#include "gpu/driver_api.h"

namespace tiletune {

namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMapBytes));

CUtensorMapDataType data_type(ElementType type) {
  using enum ElementType;
  constexpr std::array<std::pair<ElementType, CUtensorMapDataType>, 11> kTypes{
      {{f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
       {bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
       {tf32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
       {f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
       {f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
       {i16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
       {u16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
       {i32, CU_TENSOR_MAP_DATA_TYPE_INT32},
       {u32, CU_TENSOR_MAP_DATA_TYPE_UINT32},
       {i64, CU_TENSOR_MAP_DATA_TYPE_INT64},
       {u64, CU_TENSOR_MAP_DATA_TYPE_UINT64}}};
  for (const auto& [known, data_type] : kTypes)
    if (known == type) return data_type;
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // of one byte
}

// In the order of the enumerations.
constexpr std::array kSwizzles{CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                               CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
constexpr std::array kPromotions{CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B};

}  // namespace

TensorMapBytes encode_tensor_map(const TensorMapLayout& layout) {
  const auto encode = driver_api().tensor_map_encode;
  if (encode == nullptr) throw GpuError("the driver has no cuTensorMapEncodeTiled; it came with CUDA 12.0");
  const std::vector<cuuint64_t> extents(layout.extents.begin(), layout.extents.end());
  const std::vector<cuuint64_t> pitches(layout.pitch_bytes.begin(), layout.pitch_bytes.end());
  const std::vector<cuuint32_t> box(layout.box.begin(), layout.box.end());
  const std::vector<cuuint32_t> every_element(box.size(), 1);
  CUtensorMap map{};
  // The address is of device memory: the driver takes it as a pointer all the same.
  void* const address = reinterpret_cast<void*>(layout.address);  // NOLINT(performance-no-int-to-ptr)
  check(encode(&map, data_type(layout.type), static_cast<cuuint32_t>(extents.size()), address, extents.data(),
               pitches.data(), box.data(), every_element.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
               kSwizzles.at(static_cast<std::size_t>(layout.swizzle)),
               kPromotions.at(static_cast<std::size_t>(layout.promotion)), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  TensorMapBytes bytes;
  std::memcpy(bytes.bytes.data(), &map, sizeof map);
  return bytes;
}

namespace {

CUdevice device_of(const Gpu& gpu) {
  CUdevice device = 0;
  check(driver_api().device_get(&device, gpu.facts().index), "cuDeviceGet");
  return device;
}

/// Ends a capture however the recorded function ends: a stream left capturing refuses everything else.
CUgraph capture(CUstream stream, const std::function<void()>& body) {
  const DriverApi& api = driver_api();
  check(api.capture_begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    body();
  } catch (...) {
    if (api.capture_end(stream, &graph) == CUDA_SUCCESS) api.graph_destroy(graph);
    throw;
  }
  check(api.capture_end(stream, &graph), "cuStreamEndCapture");
  return graph;
}

std::string kernel_name(CUgraphNode node) {
  const DriverApi& api = driver_api();
  CUgraphNodeType type{};
  if (api.graph_node_type(node, &type) != CUDA_SUCCESS || type != CU_GRAPH_NODE_TYPE_KERNEL) return "";
  CUDA_KERNEL_NODE_PARAMS parameters{};
  if (api.graph_kernel_parameters(node, &parameters) != CUDA_SUCCESS) return "";
  const char* name = nullptr;
  const CUresult found = parameters.func != nullptr ? api.function_name(&name, parameters.func)
                                                    : api.kernel_name(&name, parameters.kern);
  return found == CUDA_SUCCESS && name != nullptr ? name : "";
}

}  // namespace

OnGpu::OnGpu(const Gpu& gpu) { check(driver_api().context_push(gpu.context()), "cuCtxPushCurrent"); }

OnGpu::~OnGpu() {
  CUcontext popped = nullptr;
  driver_api().context_pop(&popped);
}

void enable_peer_access(const Gpu& first, const Gpu& second) {
  for (const auto& [gpu, peer] : {std::pair(&first, &second), std::pair(&second, &first)}) {
    int can = 0;
    check(driver_api().can_access_peer(&can, device_of(*gpu), device_of(*peer)), "cuDeviceCanAccessPeer");
    if (can == 0)
      throw GpuError(fmt::format("GPU {} cannot access the memory of GPU {}: they have no peer access",
                                 gpu->facts().index, peer->facts().index));
    const OnGpu current(*gpu);
    const CUresult enabled = driver_api().enable_peer_access(peer->context(), 0);
    if (enabled != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) check(enabled, "cuCtxEnablePeerAccess");
  }
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

Graph::Graph(Gpu& gpu, const std::function<void()>& body) : gpu_(gpu), graph_(capture(gpu.stream(), body)) {
  const CUresult made = driver_api().graph_instantiate(&executable_, graph_, 0);
  if (made != CUDA_SUCCESS) driver_api().graph_destroy(graph_);
  check(made, "cuGraphInstantiate");
}

Graph::~Graph() {
  driver_api().graph_executable_destroy(executable_);
  driver_api().graph_destroy(graph_);
}

void Graph::launch() { check(driver_api().graph_launch(executable_, gpu_.stream()), "cuGraphLaunch"); }

std::vector<std::string> Graph::kernel_names() const {
  const DriverApi& api = driver_api();
  if (api.function_name == nullptr || api.kernel_name == nullptr) return {};
  std::size_t count = 0;
  check(api.graph_nodes(graph_, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  check(api.graph_nodes(graph_, nodes.data(), &count), "cuGraphGetNodes");
  std::vector<std::string> names;
  for (CUgraphNode node : nodes) {
    std::string name = kernel_name(node);
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tiletune
