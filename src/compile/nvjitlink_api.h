#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tiletune {

/// The functions of nvJitLink that tiletune calls, loaded on first use; it makes cubins of PTX. Its header is
/// not needed: not all installations of a toolkit's libraries have it. Private to the compile library.
struct NvJitLinkApi {
  using Handle = void*;
  static constexpr int kPtx = 2;  ///< NVJITLINK_INPUT_PTX

  // All but the first return 0 when they succeed.
  std::string version;  ///< "13.0"
  int (*create)(Handle* handle, std::uint32_t count, const char** options);
  int (*destroy)(Handle* handle);
  int (*add_data)(Handle handle, int input, const void* data, std::size_t bytes, const char* name);
  int (*complete)(Handle handle);
  int (*cubin_size)(Handle handle, std::size_t* bytes);
  int (*cubin)(Handle handle, void* cubin);
  int (*log_size)(Handle handle, std::size_t* bytes);
  int (*log)(Handle handle, char* log);
};

/// Loads nvJitLink once. Null where there is none.
const NvJitLinkApi* find_nvjitlink();

}  // namespace tiletune
