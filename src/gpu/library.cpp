#include "gpu/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace tiletune {

Library::Library(std::span<const std::string> names) {
  std::string tried;
  for (const std::string& name : names) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    tried += fmt::format("\n  {}", ::dlerror());
  }
  throw GpuError("none of these libraries can be opened:" + tried);
}

void* Library::find(const char* name) const { return ::dlsym(handle_, name); }

void* Library::symbol(const char* name) const {
  void* address = find(name);
  if (address == nullptr) throw GpuError(fmt::format("{} has no function {}", name_, name));
  return address;
}

}  // namespace tiletune
