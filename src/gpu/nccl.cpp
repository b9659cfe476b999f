#include "gpu/nccl.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/library.h"

namespace tiletune {

namespace {

// nccl.h is not part of the toolkit: these declarations follow NVIDIA's NCCL API reference, version 2.
struct NcclComm_st;
using NcclComm = NcclComm_st*;

constexpr int kNcclSuccess = 0;
constexpr int kNcclSum = 0;

/// Multicast memory can put a whole host's GPUs out of service where several programs share them. NCCL reads
/// the environment once, when it is loaded.
Library open_nccl() {
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  try {
    return Library(nccl_library_names());
  } catch (const GpuError& error) {
    throw GpuError(
        fmt::format("NCCL is not installed: {}\nInstall libnccl2 or the wheel nvidia-nccl, or name the file "
                    "in TILETUNE_NCCL.",
                    error.what()));
  }
}

struct NcclApi {
  Library library = open_nccl();

  int (*version)(int*) = library.load("ncclGetVersion");
  int (*init_all)(NcclComm*, int, const int*) = library.load("ncclCommInitAll");
  int (*destroy)(NcclComm) = library.load("ncclCommDestroy");
  int (*group_start)() = library.load("ncclGroupStart");
  int (*group_end)() = library.load("ncclGroupEnd");
  int (*all_gather)(const void*, void*, std::size_t, int, NcclComm,
                    CUstream_st*) = library.load("ncclAllGather");
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclComm,
                        CUstream_st*) = library.load("ncclReduceScatter");
  const char* (*error_text)(int) = library.load("ncclGetErrorString");
  const char* (*last_error)(NcclComm) = library.find("ncclGetLastError");
};

/// ncclDataType_t, or -1: NCCL has no such numbers.
int nccl_type(ElementType type) {
  using enum ElementType;
  // A type's number is its place; tf32 is an f32.
  constexpr std::array kTypes{i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16};
  const auto* const found = std::find(kTypes.begin(), kTypes.end(), type == tf32 ? f32 : type);
  return found == kTypes.end() ? -1 : static_cast<int>(found - kTypes.begin());
}
constexpr int kNcclBytes = 1;  // ncclUint8

}  // namespace

struct Nccl::Impl {
  NcclApi api;
  std::vector<NcclComm> ranks;

  ~Impl() {
    for (const NcclComm rank : ranks)
      if (rank != nullptr) api.destroy(rank);
  }

  void check(int code, const char* call) const {
    if (code == kNcclSuccess) return;
    const char* more = api.last_error != nullptr ? api.last_error(nullptr) : nullptr;
    const std::string reason = more != nullptr && *more != '\0' ? fmt::format(": {}", more) : "";
    throw GpuError(fmt::format("{}: {}{}", call, api.error_text(code), reason));
  }

  /// `queue` is called for each rank, between the start and the end of a group.
  template <typename Queue>
  void group(std::span<const NcclPart> parts, const char* call, const Queue& queue) const {
    if (parts.size() != ranks.size())
      throw GpuError(fmt::format("{}: {} parts for {} GPUs", call, parts.size(), ranks.size()));
    check(api.group_start(), "ncclGroupStart");
    int first_error = kNcclSuccess;
    for (std::size_t i = 0; i < parts.size() && first_error == kNcclSuccess; ++i)
      first_error = queue(parts[i], ranks[i]);
    const int end = api.group_end();
    check(first_error, call);
    check(end, call);
  }
};

Nccl::Nccl(std::span<const int> devices) : impl_(std::make_unique<Impl>()) {
  impl_->ranks.resize(devices.size());
  impl_->check(impl_->api.init_all(impl_->ranks.data(), static_cast<int>(devices.size()), devices.data()),
               "ncclCommInitAll");
}

Nccl::~Nccl() = default;

bool Nccl::adds(ElementType type) { return nccl_type(type) >= 0; }

void Nccl::all_gather(std::span<const NcclPart> parts, std::size_t elements, ElementType type) {
  const std::size_t bytes = elements * size_bytes(type);
  impl_->group(parts, "ncclAllGather", [&](const NcclPart& part, NcclComm rank) {
    return impl_->api.all_gather(reinterpret_cast<const void*>(part.from), reinterpret_cast<void*>(part.to),
                                 bytes, kNcclBytes, rank, part.stream);
  });
}

void Nccl::reduce_scatter(std::span<const NcclPart> parts, std::size_t elements, ElementType type) {
  const int number = nccl_type(type);
  if (number < 0) throw GpuError(fmt::format("NCCL does not add numbers of type {}", name(type)));
  impl_->group(parts, "ncclReduceScatter", [&](const NcclPart& part, NcclComm rank) {
    return impl_->api.reduce_scatter(reinterpret_cast<const void*>(part.from),
                                     reinterpret_cast<void*>(part.to), elements, number, kNcclSum, rank,
                                     part.stream);
  });
}

std::string Nccl::version() const {
  int version = 0;
  impl_->check(impl_->api.version(&version), "ncclGetVersion");
  const int major = version < 10000 ? 1000 : 10000;  // before 2.9, and since
  return fmt::format("{}.{}.{}", version / major, version % major / 100, version % 100);
}

}  // namespace tiletune
