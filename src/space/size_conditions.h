#pragma once

#include <optional>
#include <string>
#include <vector>

#include "space/instance.h"
#include "space/parser.h"
#include "space/program.h"
#include "space/scope.h"

namespace tiletune::space {

/// What a template asks of a problem's sizes, and how much its launches have to do there, apart from the one
/// problem that it is instantiated for.
class SizeConditions {
 public:
  /// Throws UserError for expressions that cannot be parsed.
  SizeConditions(const TemplateSpec& spec, const Problem& problem, const Scope& scope);

  /// The conditions under which a configuration's kernel may be launched for other sizes too, with dense
  /// matrices: its constraints hold, CUDA takes the grid, scalar arguments fit in their types, and whatever
  /// is compiled into the kernel, its block and its shared memory stay the same. Expressions over the
  /// dimensions alone: "columns % 4 == 0". None for one that would be too long to write down. `slots` hold
  /// the configuration's parameters and derived values.
  std::vector<std::optional<std::string>> of(const Bindings& bindings) const;

  /// By launch of the template. A grid with unlimited multiprocessors has a thread block for each tile.
  std::vector<TileCount> tiles(const Bindings& bindings) const;

 private:
  struct Fixed {
    SyntaxNode node;
    Program program;
  };

  struct Grid {
    SyntaxNode product;  ///< product of the grid's extents
    std::vector<Program> extents;
  };

  bool reads_sizes(const SyntaxNode& node) const;
  /// 0 where they cannot be computed.
  static double blocks(const Grid& grid, const Bindings& bindings);
  /// Values for a problem with more tiles than any GPU has multiprocessors.
  std::vector<Scalar> with_large_sizes(const Bindings& bindings) const;
  void add_fixed(const ExprText& text, const SymbolTable& symbols);
  /// Adds the constraint that what a launch evaluates lies between both ends.
  void add_limit(const ExprText& text, const TypeRange& range, const Launch& launch);

  const Scope& scope_;
  std::size_t dimensions_;
  std::vector<std::string> sizes_;  ///< by slot: the dimension that a size or a leading dimension is
  std::vector<std::optional<SyntaxNode>> derived_;  ///< derived values that depend on sizes
  std::vector<SyntaxNode> constraints_;  ///< constraints on sizes; and limits of CUDA and of argument types
  std::vector<Fixed> fixed_;             ///< what depends on sizes and must not change
  std::vector<Grid> grids_;              ///< by launch
};

}  // namespace tiletune::space
