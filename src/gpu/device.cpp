#include "gpu/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "gpu/driver_api.h"

namespace tiletune {

namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver_api().device_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

std::string uuid_text(CUdevice device) {
  CUuuid uuid{};
  check(driver_api().device_uuid(&uuid, device), "cuDeviceGetUuid");
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

DeviceFacts read_facts(int index, CUdevice device) {
  DeviceFacts facts;
  facts.index = index;
  std::array<char, 256> name{};
  check(driver_api().device_name(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName");
  facts.name = name.data();
  facts.uuid = uuid_text(device);
  int version = 0;
  check(driver_api().driver_version(&version), "cuDriverGetVersion");
  facts.cuda_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  facts.compute_major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.compute_minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.warp_size = attribute(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  facts.max_threads_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  facts.max_threads_per_multiprocessor =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  facts.max_blocks_per_multiprocessor = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  facts.registers_per_multiprocessor =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  facts.registers_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  facts.shared_bytes_per_multiprocessor =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  facts.shared_bytes_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  facts.shared_bytes_per_block_optin =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.reserved_shared_bytes_per_block =
      attribute(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  facts.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  constexpr double kKilohertzPerMegahertz = 1e3;
  facts.boost_clock_mhz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / kKilohertzPerMegahertz;
  std::size_t memory = 0;
  check(driver_api().device_memory(&memory, device), "cuDeviceTotalMem");
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  return facts;
}

/// Addresses on each side of a buffer that lies apart.
constexpr std::size_t kUnmapped = std::size_t{64} << 20;

/// Somewhere in the lower 46 of 47 bits that addresses have.
CUdeviceptr random_address(std::size_t alignment) {
  std::random_device random;
  const std::uint64_t drawn = std::uint64_t{random()} << 32 | random();
  constexpr std::uint64_t kSpan = std::uint64_t{1} << 46;
  return drawn % kSpan / alignment * alignment;
}

std::vector<CUdevice>& open_devices() {
  static std::vector<CUdevice> devices;
  return devices;
}

/// For the owner and for all open GPUs that can have it.
std::vector<CUmemAccessDesc> access_to(CUdevice owner) {
  std::vector<CUmemAccessDesc> all;
  for (const CUdevice device : open_devices()) {
    int can = device == owner ? 1 : 0;
    if (can == 0) check(driver_api().can_access_peer(&can, device, owner), "cuDeviceCanAccessPeer");
    if (can == 0) continue;
    CUmemAccessDesc& access = all.emplace_back();
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return all;
}

}  // namespace

bool CudaError::launch_refused() const {
  return code_ == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || code_ == CUDA_ERROR_INVALID_VALUE ||
         code_ == CUDA_ERROR_INVALID_IMAGE || code_ == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         code_ == CUDA_ERROR_NOT_FOUND || code_ == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE ||
         code_ == CUDA_ERROR_INVALID_SOURCE || code_ == CUDA_ERROR_INVALID_CLUSTER_SIZE ||
         code_ == CUDA_ERROR_OUT_OF_MEMORY;  // not enough for the local memory of all its threads
}

bool CudaError::out_of_memory() const { return code_ == CUDA_ERROR_OUT_OF_MEMORY; }

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  CUdeviceptr address = 0;
  check(driver_api().memory_allocate(&address, bytes), "cuMemAlloc");
  address_ = address;
}

DeviceBuffer DeviceBuffer::apart(std::size_t bytes) {
  const DriverApi& api = driver_api();
  CUdevice device = 0;
  check(api.context_device(&device), "cuCtxGetDevice");
  if (attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0)
    return DeviceBuffer(bytes);
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = device;
  std::size_t page = 0;
  check(api.memory_granularity(&page, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "cuMemGetAllocationGranularity");
  DeviceBuffer made;
  made.bytes_ = (bytes + page - 1) / page * page;
  CUdeviceptr first = 0;
  check(api.addresses_reserve(&first, made.bytes_ + 2 * kUnmapped, 0, random_address(page), 0),
        "cuMemAddressReserve");
  made.reserved_ = first;
  CUmemGenericAllocationHandle memory = 0;
  check(api.memory_create(&memory, made.bytes_, &kind, 0), "cuMemCreate");
  const CUresult mapped = api.memory_map(first + kUnmapped, made.bytes_, 0, memory, 0);
  // The mapping keeps it.
  api.memory_release(memory);
  check(mapped, "cuMemMap");
  made.address_ = first + kUnmapped;
  const std::vector<CUmemAccessDesc> access = access_to(device);
  check(api.memory_access(made.address_, made.bytes_, access.data(), access.size()), "cuMemSetAccess");
  return made;
}

DeviceBuffer::~DeviceBuffer() {
  if (reserved_ == 0) {
    if (address_ != 0) driver_api().memory_free(address_);
    return;
  }
  // Unlike freeing, this does not wait for what still uses the memory.
  driver_api().context_synchronize();
  if (address_ != 0) driver_api().memory_unmap(address_, bytes_);
  driver_api().addresses_free(reserved_, bytes_ + 2 * kUnmapped);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      reserved_(std::exchange(other.reserved_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(reserved_, other.reserved_);
  return *this;
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  void* memory = nullptr;
  check(driver_api().host_allocate(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
  data_ = static_cast<std::byte*>(memory);
}

PinnedBuffer::~PinnedBuffer() { driver_api().host_free(data_); }

// Addresses are unified: it is the same for every GPU.
DeviceAddress PinnedBuffer::address() const {
  CUdeviceptr address = 0;
  check(driver_api().host_device_pointer(&address, data_, 0), "cuMemHostGetDevicePointer");
  return address;
}

Module::Module(std::string_view cubin) : image_(cubin) {
  check(driver_api().module_load(&module_, image_.data()), "cuModuleLoadData");
}

Module::~Module() { driver_api().module_unload(module_); }

Module::Variable Module::variable(const std::string& symbol) const {
  if (const auto found = find_variable(symbol)) return *found;
  throw CudaError(CUDA_ERROR_NOT_FOUND, fmt::format("the kernel has no variable '{}'", symbol));
}

std::optional<Module::Variable> Module::find_variable(const std::string& symbol) const {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult found = driver_api().module_global(&address, &bytes, module_, symbol.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) return std::nullopt;
  check(found, "cuModuleGetGlobal");
  return Variable{address, bytes};
}

Kernel::Kernel(std::shared_ptr<const Module> module, const std::string& symbol) : module_(std::move(module)) {
  check(driver_api().module_function(&function_, module_->get(), symbol.c_str()), "cuModuleGetFunction");
}

KernelAttributes Kernel::attributes() const {
  const auto read = [this](CUfunction_attribute which) {
    int value = 0;
    check(driver_api().function_attribute(&value, which, function_), "cuFuncGetAttribute");
    return value;
  };
  return {read(CU_FUNC_ATTRIBUTE_NUM_REGS), read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
          read(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)};
}

void Kernel::allow_dynamic_shared(int bytes) const {
  check(
      driver_api().function_set_attribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
      "cuFuncSetAttribute");
}

int Kernel::blocks_per_multiprocessor(int threads_per_block, std::size_t dynamic_shared_bytes) const {
  int blocks = 0;
  check(driver_api().occupancy_blocks(&blocks, function_, threads_per_block, dynamic_shared_bytes),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

Event::Event(Use use) {
  check(driver_api().event_create(&event_, use == Use::order ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT),
        "cuEventCreate");
}
Event::~Event() { driver_api().event_destroy(event_); }

Gpu::Gpu(int index) {
  const DriverApi& api = driver_api();
  check(api.device_count(&devices_), "cuDeviceGetCount");
  if (devices_ == 0) throw NoGpu("the NVIDIA driver shows no GPU");
  if (index < 0 || index >= devices_)
    throw GpuError(fmt::format("there is no GPU {}; the driver shows {}", index, devices_));
  CUdevice device = 0;
  check(api.device_get(&device, index), "cuDeviceGet");
  facts_ = read_facts(index, device);
  check(api.context_retain(&context_, device), "cuDevicePrimaryCtxRetain");
  check(api.context_set_current(context_), "cuCtxSetCurrent");
  check(api.stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  std::vector<CUdevice>& open = open_devices();
  if (std::find(open.begin(), open.end(), device) == open.end()) open.push_back(device);
}

// The context is released with the process: after a sticky error every call would only report it again.
Gpu::~Gpu() { driver_api().stream_destroy(stream_); }

std::size_t Gpu::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(driver_api().memory_info(&free, &total), "cuMemGetInfo");
  return free;
}

void Gpu::copy_to_device(DeviceAddress to, const void* from, std::size_t bytes) {
  check(driver_api().copy_to_device(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
}

void Gpu::copy_to_host(void* to, DeviceAddress from, std::size_t bytes) {
  check(driver_api().copy_to_host(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
  synchronize();
}

void Gpu::copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes) {
  check(driver_api().copy_on_device(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
}

void Gpu::fill32(DeviceAddress to, std::uint32_t value, std::size_t count) {
  check(driver_api().fill32(to, value, count, stream_), "cuMemsetD32Async");
}

void Gpu::fill8(DeviceAddress to, std::uint8_t value, std::size_t count) {
  check(driver_api().fill8(to, value, count, stream_), "cuMemsetD8Async");
}

void Gpu::launch(const Kernel& kernel, const LaunchShape& shape, std::span<void* const> arguments,
                 bool programmatic, CUstream_st* stream) {
  if (stream == nullptr) stream = stream_;
  const auto number = [](std::int64_t extent) { return static_cast<unsigned>(extent); };
  const auto& [grid, block, shared_bytes] = shape;
  CUlaunchConfig config{};
  config.gridDimX = number(grid.x);
  config.gridDimY = number(grid.y);
  config.gridDimZ = number(grid.z);
  config.blockDimX = number(block.x);
  config.blockDimY = number(block.y);
  config.blockDimZ = number(block.z);
  config.sharedMemBytes = number(shared_bytes);
  config.hStream = stream;
  std::vector<void*> values(arguments.begin(), arguments.end());
  if (!programmatic)
    return check(driver_api().launch(kernel.function(), config.gridDimX, config.gridDimY, config.gridDimZ,
                                     config.blockDimX, config.blockDimY, config.blockDimZ,
                                     config.sharedMemBytes, stream, values.data(), nullptr),
                 "cuLaunchKernel");
  if (driver_api().launch_with_attributes == nullptr)
    throw GpuError("the driver has no programmatic dependent launches: they need CUDA 11.8");
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(driver_api().launch_with_attributes(&config, kernel.function(), values.data(), nullptr),
        "cuLaunchKernelEx");
}

void Gpu::record(const Event& event) {
  check(driver_api().event_record(event.get(), stream_), "cuEventRecord");
}

void Gpu::synchronize() { check(driver_api().stream_synchronize(stream_), "cuStreamSynchronize"); }

void Gpu::wait(const Event& event) {
  check(driver_api().event_synchronize(event.get()), "cuEventSynchronize");
}

double Gpu::elapsed_us(const Event& first, const Event& second) {
  wait(second);
  float milliseconds = 0;
  check(driver_api().event_elapsed(&milliseconds, first.get(), second.get()), "cuEventElapsedTime");
  constexpr double kMicrosecondsPerMillisecond = 1e3;
  return milliseconds * kMicrosecondsPerMillisecond;
}

}  // namespace tiletune
