#pragma once

#include <optional>
#include <vector>

#include "space/instance.h"
#include "space/program.h"

namespace tiletune::space {

/// The expressions of a tensor map.
class TensorMapPrograms {
 public:
  TensorMapPrograms(const TensorMap& map, const SymbolTable& symbols);
  /// None where its condition is false. Throws UserError for sizes that are not positive, negative offsets,
  /// and swizzles and promotions that are none.
  std::optional<TensorMapShape> evaluate(const Bindings& bindings) const;

 private:
  ElementType type_;
  std::vector<Program> extents_;
  std::vector<Program> pitches_;
  std::vector<Program> box_;
  Program swizzle_;
  Program promotion_;
  std::optional<Program> offset_;
  std::optional<Program> when_;
};

}  // namespace tiletune::space
