#pragma once

#include <span>
#include <string>
#include <vector>

namespace tiletune {

/// The address of a function, which becomes a pointer of the type that is asked for.
class FunctionAddress {
 public:
  explicit FunctionAddress(void* address) : address_(address) {}
  bool is_null() const { return address_ == nullptr; }
  template <typename Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address_);
  }

 private:
  void* address_;
};

/// A shared library opened at run time; stays open for the life of the process.
class Library {
 public:
  /// None: it has no functions.
  Library() = default;
  /// Opens the first that can be of `names` (file names or paths). Throws GpuError listing what was tried.
  explicit Library(std::span<const std::string> names);

  /// Throws GpuError when the library has no such function.
  FunctionAddress load(const char* name) const;
  /// Null where the library, as an older one, has no such function, nor one of its older name.
  FunctionAddress find(const char* name, const char* older_name = nullptr) const;

  /// The file that was opened.
  const std::string& name() const { return name_; }
  /// Where it lies; its name where the loader does not tell.
  std::string path() const;

 private:
  void* handle_ = nullptr;
  std::string name_;
};

/// Where a library of the CUDA toolkit is looked for, by its name without prefix and suffix ("cublas"):
/// in the toolkit that tiletune was built with, through the loader, and where toolkits are installed, the
/// newest version first.
std::vector<std::string> cuda_library_names(const std::string& stem);

/// Where libnccl.so.2 is looked for, in this order: $TILETUNE_NCCL, beside the CUDA libraries that tiletune
/// was built with, through the loader, and in NVIDIA's wheel for each python3 on $PATH.
std::vector<std::string> nccl_library_names();

// Each declares a member that points to a function of the member `library`, by its name in NVIDIA's header. A
// macro of the header may stand for a version of it: cuMemAlloc is cuMemAlloc_v2. Null, with the second,
// where the library has no such function.
// NOLINTBEGIN(bugprone-macro-parentheses): names in a declaration cannot stand in parentheses.
#define TILETUNE_LOADED(member, function) decltype(&function) member = library.load(TILETUNE_TEXT(function))
#define TILETUNE_FOUND(member, function) decltype(&function) member = library.find(TILETUNE_TEXT(function))
#define TILETUNE_TEXT(name) #name
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace tiletune
