#pragma once

#include <stdexcept>
#include <string>

namespace tiletune {

/// A place in a file a person wrote: the file and a JSON pointer (RFC 6901) or "line L, column C" in it.
/// Either part may be empty.
struct Where {
  std::string file;
  std::string pointer;

  /// "configs/a.json: /templates/0/name", or just the part that is known.
  std::string text() const;
  /// A place one level deeper in the file: `at("x")` of "/a" is "/a/x" (with RFC 6901 escaping).
  Where at(const std::string& key) const;
  Where at(size_t index) const;
};

/// A mistake of the person who runs tiletune: what is wrong, where, and what to do about it. Exits 2. what()
/// is printable, and quotes all lines after the first.
class UserError : public std::runtime_error {
 public:
  UserError(std::string what, Where where, std::string remedy);
  UserError(std::string what, std::string remedy) : UserError(std::move(what), Where{}, std::move(remedy)) {}

  const std::string& message() const { return message_; }
  const Where& where() const { return where_; }
  const std::string& remedy() const { return remedy_; }

 private:
  std::string message_;
  Where where_;
  std::string remedy_;
};

/// Nothing is left to do: the space is empty or no configuration was admitted. Exits 1.
class NothingToDo : public UserError {
 public:
  using UserError::UserError;
};

/// The GPU, its driver or a library of it failed in a way that is not one configuration's fault. Exits 3.
class GpuError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tiletune
