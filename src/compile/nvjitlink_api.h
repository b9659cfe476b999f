#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/library.h"

namespace tiletune {

/// The functions of nvJitLink that tiletune calls, loaded on first use; it makes cubins of PTX. Its header is
/// not needed: not all installations of a toolkit's libraries have it. Private to the compile library.
struct NvJitLinkApi {
  using Handle = void*;
  static constexpr int kPtx = 2;  ///< NVJITLINK_INPUT_PTX

  Library library;
  std::string version_text = {};  ///< "13.0"

  // Each returns 0 when it succeeds.
  int (*version)(unsigned* major, unsigned* minor) = library.load("nvJitLinkVersion");
  int (*create)(Handle* handle, std::uint32_t count, const char** options) = library.load("nvJitLinkCreate");
  int (*destroy)(Handle* handle) = library.load("nvJitLinkDestroy");
  int (*add_data)(Handle handle, int input, const void* data, std::size_t bytes,
                  const char* name) = library.load("nvJitLinkAddData");
  int (*complete)(Handle handle) = library.load("nvJitLinkComplete");
  int (*cubin_size)(Handle handle, std::size_t* bytes) = library.load("nvJitLinkGetLinkedCubinSize");
  int (*cubin)(Handle handle, void* cubin) = library.load("nvJitLinkGetLinkedCubin");
  int (*log_size)(Handle handle, std::size_t* bytes) = library.load("nvJitLinkGetErrorLogSize");
  int (*log)(Handle handle, char* log) = library.load("nvJitLinkGetErrorLog");
};

/// Loads nvJitLink once. Null where there is none.
const NvJitLinkApi* find_nvjitlink();

}  // namespace tiletune
