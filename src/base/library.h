#pragma once

#include <span>
#include <string>

namespace tiletune {

/// A shared library opened at run time; stays open for the life of the process. Functions are looked up by
/// name and keep the type of the variable they are stored in.
class Library {
 public:
  /// Opens the first that can be of `names` (file names or paths). Throws GpuError listing what was tried.
  explicit Library(std::span<const std::string> names);

  template <typename Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  /// Null where the library, as an older one, has no such function.
  template <typename Function>
  void load_if_there(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find(name));
  }

  /// The file that was opened.
  const std::string& name() const { return name_; }
  /// Where it lies; its name where the loader does not tell.
  std::string path() const;

 private:
  /// Null when there is none.
  void* find(const char* name) const;
  /// Throws GpuError when the library has no such function.
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace tiletune
