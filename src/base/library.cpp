#include "base/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

namespace {

/// Adds the library of NVIDIA's wheel, if a Python whose executable is in `folder` has that.
void add_wheels_of_python(const std::filesystem::path& folder, std::vector<std::string>& names) {
  std::error_code none;
  if (!std::filesystem::exists(folder / "python3", none)) return;
  for (const auto& version : std::filesystem::directory_iterator(folder.parent_path() / "lib", none)) {
    if (!version.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const std::filesystem::path file = version.path() / packages / "nvidia/nccl/lib/libnccl.so.2";
      if (std::filesystem::exists(file, none)) names.push_back(file.string());
    }
  }
}

}  // namespace

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

std::vector<std::string> cuda_library_names(const std::string& stem) {
  std::vector<std::string> names;
  for (const std::string folder : {TILETUNE_CUDA_LIB_FOLDER "/", "", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {"13", "12"}) {
      const std::string name = fmt::format("{}lib{}.so.{}", folder, stem, version);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> nccl_library_names() {
  constexpr const char* kFile = "libnccl.so.2";
  std::vector<std::string> names;
  if (const char* named = std::getenv("TILETUNE_NCCL"); named != nullptr && *named != '\0')
    names.emplace_back(named);
  // In wheels the toolkit's libraries lie in nvidia/cu13/lib, or nvidia/cuda_nvrtc/lib.
  const std::filesystem::path toolkit = TILETUNE_CUDA_LIB_FOLDER;
  names.push_back((toolkit / kFile).string());
  names.push_back((toolkit.parent_path().parent_path() / "nccl/lib" / kFile).string());
  names.emplace_back(kFile);
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "", ':'))
    add_wheels_of_python(folder, names);
  return names;
}

}  // namespace tiletune
