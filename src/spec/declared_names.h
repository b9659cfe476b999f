#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace tiletune {

/// Names of one kind of space, each declared once.
class DeclaredNames {
 public:
  /// `what` says what the name stands for: "a parameter". Throws UserError when the name is taken.
  void declare(const std::string& name, const std::string& what, const Where& where);
  bool contains(const std::string& name) const { return declared_.count(name) != 0; }
  /// In order of declaration.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Declaration {
    std::string what;
    Where where;
  };
  std::map<std::string, Declaration> declared_;
  std::vector<std::string> names_;
};

}  // namespace tiletune
