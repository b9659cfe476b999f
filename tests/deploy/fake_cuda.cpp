// libcuda.so.1 without a GPU, for programs that `tiletune export --format cuda` writes: memory is the host's,
// a launch does nothing but write what it was given into the file FAKE_CUDA_LOG, a line each. Cubins are read
// as far as a driver would notice a mistake: kernels and variables that they lack are not found, and
// arguments have their sizes. FAKE_CUDA_NAME and FAKE_CUDA_CAPABILITY (90) describe the device.

#include <cuda.h>
#include <elf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

struct CUfunc_st {
  std::string name;
  std::vector<unsigned> parameter_bytes;
  int static_shared = 0;
  int most_dynamic_shared = 48 << 10;
};

struct CUmod_st {
  std::map<std::string, CUfunc_st> functions;
  std::map<std::string, std::pair<void*, std::size_t>> variables;
};

namespace {

constexpr int kMostShared = 227 << 10;
constexpr int kReservedShared = 1024;  // of which .nv.shared tells since compute capability 9.0
int context = 0;
bool is_initialized = false;
bool has_context = false;

/// What cuTensorMapEncodeTiled() was given, in the place of what a driver makes of it.
struct Map {
  std::uint64_t address;
  std::uint32_t type, rank, swizzle, promotion;
  std::uint32_t extents[5], box[5];
};
static_assert(sizeof(Map) <= sizeof(CUtensorMap));

void log_line(const std::string& line) {
  const char* const name = std::getenv("FAKE_CUDA_LOG");
  std::FILE* const file = name != nullptr ? std::fopen(name, "a") : nullptr;
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

int capability() {
  const char* const text = std::getenv("FAKE_CUDA_CAPABILITY");
  return text != nullptr ? std::atoi(text) : 90;
}

template <class T>
T read(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Sizes of arguments, in their order, from the section .nv.info of a kernel.
std::vector<unsigned> parameters_of(const unsigned char* info, std::size_t size) {
  constexpr unsigned char kHasBytes = 4, kParameter = 0x17, kLargeParameter = 0x45;
  std::map<unsigned, unsigned> bytes;
  for (std::size_t at = 0; at + 4 <= size;) {
    const unsigned char format = info[at], id = info[at + 1];
    const unsigned char* const content = info + at + 4;
    if (id == kParameter || id == kLargeParameter) {
      const auto word = read<std::uint32_t>(content + 8);
      bytes[read<std::uint16_t>(content + 4)] = id == kParameter ? word >> 18 : word & 0xffffff;
    }
    at += 4 + (format == kHasBytes ? read<std::uint16_t>(info + at + 2) : 0);
  }
  std::vector<unsigned> all;
  for (const auto& [ordinal, one] : bytes) all.push_back(one);
  return all;
}

bool load(const unsigned char* image, CUmod_st& module) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return false;
  const auto header = read<Elf64_Ehdr>(image);
  const auto section = [&](std::size_t i) {
    return read<Elf64_Shdr>(image + header.e_shoff + i * header.e_shentsize);
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  std::map<std::string, Elf64_Shdr> sections;
  for (std::size_t i = 0; i < header.e_shnum; ++i)
    sections[reinterpret_cast<const char*>(image + names.sh_offset + section(i).sh_name)] = section(i);
  constexpr std::string_view kText = ".text.";
  for (const auto& [name, text] : sections) {
    if (name.compare(0, kText.size(), kText) != 0) continue;
    CUfunc_st function;
    function.name = name.substr(kText.size());
    const auto info = sections.find(".nv.info." + function.name);
    if (info != sections.end())
      function.parameter_bytes = parameters_of(image + info->second.sh_offset, info->second.sh_size);
    const auto shared = sections.find(".nv.shared." + function.name);
    if (shared != sections.end())
      function.static_shared = static_cast<int>(shared->second.sh_size) - kReservedShared;
    module.functions[function.name] = function;
  }
  const Elf64_Shdr symbols = sections.at(".symtab");
  const Elf64_Shdr strings = section(symbols.sh_link);
  for (std::size_t at = 0; at < symbols.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = read<Elf64_Sym>(image + symbols.sh_offset + at);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    const char* const name = reinterpret_cast<const char*>(image + strings.sh_offset + symbol.st_name);
    module.variables[name] = {std::calloc(1, symbol.st_size), symbol.st_size};
  }
  return true;
}

std::string text_of(const void* argument, unsigned bytes) {
  char text[200];
  if (bytes == sizeof(CUtensorMap)) {
    Map map;
    std::memcpy(&map, argument, sizeof map);
    std::snprintf(text, sizeof text, "map(%llx rank %u extents %u,%u box %u,%u swizzle %u)",
                  static_cast<unsigned long long>(map.address), map.rank, map.extents[0], map.extents[1],
                  map.box[0], map.box[1], map.swizzle);
    return text;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, argument, bytes < sizeof value ? bytes : sizeof value);
  std::snprintf(text, sizeof text, "%u:%llx", bytes, static_cast<unsigned long long>(value));
  return text;
}

CUresult launch(const CUlaunchConfig& config, CUfunction function, void** arguments) {
  if (!has_context) return CUDA_ERROR_INVALID_CONTEXT;
  const unsigned threads = config.blockDimX * config.blockDimY * config.blockDimZ;
  const bool is_possible = config.gridDimX > 0 && config.gridDimY > 0 && config.gridDimZ > 0 && threads > 0 &&
                           threads <= 1024 && config.gridDimY <= 65535 && config.gridDimZ <= 65535 &&
                           config.sharedMemBytes <= static_cast<unsigned>(function->most_dynamic_shared);
  if (!is_possible) return CUDA_ERROR_INVALID_VALUE;
  char text[1200];
  std::snprintf(text, sizeof text,
                "launch %s grid %u %u %u block %u %u %u shared %u programmatic %u stream %llx:",
                function->name.c_str(), config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX,
                config.blockDimY, config.blockDimZ, config.sharedMemBytes, config.numAttrs,
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(config.hStream)));
  std::string line = text;
  for (std::size_t i = 0; i < function->parameter_bytes.size(); ++i)
    line += " " + text_of(arguments[i], function->parameter_bytes[i]);
  log_line(line);
  return CUDA_SUCCESS;
}

void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult encode(CUtensorMap* encoded, CUtensorMapDataType type, cuuint32_t rank, void* address,
                const cuuint64_t* extents, const cuuint64_t* pitches, const cuuint32_t* box,
                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill) {
  Map map{};
  map.address = reinterpret_cast<std::uintptr_t>(address);
  map.type = type;
  map.rank = rank;
  map.swizzle = swizzle;
  map.promotion = promotion;
  if (map.address % 16 != 0 || rank < 1 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (extents[i] == 0 || box[i] == 0 || box[i] > 256) return CUDA_ERROR_INVALID_VALUE;
    if (i + 1 < rank && pitches[i] % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
    map.extents[i] = static_cast<std::uint32_t>(extents[i]);
    map.box[i] = box[i];
  }
  std::memcpy(encoded, &map, sizeof map);
  return CUDA_SUCCESS;
}

CUresult load_function(CUfunction) { return CUDA_SUCCESS; }

}  // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned) {
  is_initialized = true;
  return CUDA_SUCCESS;
}
/// NVRTC asks for tables of the driver's own where it finds a driver.
CUresult CUDAAPI cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}
CUresult CUDAAPI cuGetErrorString(CUresult result, const char** text) {
  *text = result == CUDA_SUCCESS ? "no error" : "the fake driver refuses";
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxGetCurrent(CUcontext* current) {
  if (!is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  *current = has_context ? reinterpret_cast<CUcontext>(&context) : nullptr;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxSetCurrent(CUcontext current) {
  has_context = current != nullptr;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* retained, CUdevice) {
  *retained = reinterpret_cast<CUcontext>(&context);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxGetId(CUcontext, unsigned long long* number) {
  *number = 1;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return has_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult CUDAAPI cuCtxSynchronize() { return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice) {
  const char* const text = std::getenv("FAKE_CUDA_NAME");
  std::snprintf(name, static_cast<std::size_t>(size), "%s", text != nullptr ? text : "NVIDIA H100 80GB HBM3");
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = capability() / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = capability() % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = kMostShared;
      break;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** found, int, cuuint64_t,
                                  CUdriverProcAddressQueryResult* status) {
  const std::string_view name = symbol;
  *found = name == "cuTensorMapEncodeTiled" ? reinterpret_cast<void*>(&encode)
           : name == "cuFuncLoad"           ? reinterpret_cast<void*>(&load_function)
                                            : nullptr;
  if (status != nullptr)
    *status = *found != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  auto* const loaded = new CUmod_st;
  *module = loaded;
  if (!load(static_cast<const unsigned char*>(image), *loaded)) return CUDA_ERROR_INVALID_IMAGE;
  log_line("load");
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *function = &found->second;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule module,
                                   const char* name) {
  const auto found = module->variables.find(name);
  if (found == module->variables.end()) return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(found->second.first);
  *bytes = found->second.second;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  *value = attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? function->static_shared : 0;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  if (value + function->static_shared > kMostShared) return CUDA_ERROR_INVALID_VALUE;
  function->most_dynamic_shared = value;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                                unsigned threads_y, unsigned threads_z, unsigned shared, CUstream stream,
                                void** arguments, void**) {
  CUlaunchConfig config{};
  config.gridDimX = x;
  config.gridDimY = y;
  config.gridDimZ = z;
  config.blockDimX = threads_x;
  config.blockDimY = threads_y;
  config.blockDimZ = threads_z;
  config.sharedMemBytes = shared;
  config.hStream = stream;
  return launch(config, function, arguments);
}
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                                  void**) {
  return launch(*config, function, arguments);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return *address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  std::free(host(address));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  std::memcpy(host(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  std::memcpy(to, host(from), bytes);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(host(to), host(from), bytes);
  log_line("copy " + std::to_string(bytes));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemsetD32(CUdeviceptr address, unsigned value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned*>(address)[i] = value;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemsetD8(CUdeviceptr address, unsigned char value, std::size_t bytes) {
  std::memset(host(address), value, bytes);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned) {
  *event = nullptr;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuEventDestroy(CUevent) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuEventElapsedTime(float* ms, CUevent, CUevent) {
  *ms = 1;
  return CUDA_SUCCESS;
}

}  // extern "C"
