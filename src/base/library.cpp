#include "base/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

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

std::string Library::path() const {
  const link_map* map = nullptr;
  const bool known = ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
  return known ? map->l_name : name_;
}

FunctionAddress Library::load(const char* name) const {
  const FunctionAddress address = find(name);
  if (address.is_null()) throw GpuError(fmt::format("{} has no function {}", name_, name));
  return address;
}

FunctionAddress Library::find(const char* name, const char* older_name) const {
  if (handle_ == nullptr) return FunctionAddress(nullptr);
  void* const address = ::dlsym(handle_, name);
  if (address != nullptr || older_name == nullptr) return FunctionAddress(address);
  return FunctionAddress(::dlsym(handle_, older_name));
}

}  // namespace tiletune
