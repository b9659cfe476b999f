#pragma once

#include <array>
#include <string>
#include <vector>

#include "space/instance.h"
#include "space/program.h"
#include "space/tensor_map.h"

namespace tiletune::space {

/// Three expressions for the size of a grid or a block.
class ShapePrograms {
 public:
  /// `unit` is what is counted, for messages: "thread blocks". An empty expression means 1.
  ShapePrograms(const std::array<ExprText, 3>& texts, const SymbolTable& symbols, std::string unit);
  /// Throws UserError when a dimension is not positive and when their product exceeds 64 bits.
  Dim3 evaluate(const Bindings& bindings) const;

 private:
  std::vector<Program> programs_;
  std::string unit_;
};

/// A kernel's arguments.
class ArgumentPrograms {
 public:
  ArgumentPrograms(const std::vector<Argument>& arguments, const SymbolTable& symbols);
  /// Throws UserError when a value does not fit its argument's type.
  std::vector<ArgumentValue> evaluate(const Bindings& bindings) const;

 private:
  struct Scalars {
    std::size_t argument;
    Program program;
  };
  std::vector<ArgumentValue> arguments_;  ///< with the values still open
  struct Map {
    std::size_t argument;
    TensorMapPrograms programs;
  };
  std::vector<Scalars> scalars_;
  std::vector<Map> maps_;
};

}  // namespace tiletune::space
