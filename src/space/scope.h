#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "space/program.h"
#include "spec/tune_spec.h"

namespace tiletune::space {

/// The names a template's expressions may use for one problem: the problem's dimensions and leading
/// dimensions, then the scalars, type variables and options of the operation, the parameters and the derived
/// values, each of which may use what comes before it.
class Scope {
 public:
  /// Throws UserError for names that cannot be declared, parameters without values or with equal ones, and
  /// derived values that cannot be parsed.
  Scope(const TemplateSpec& spec, const Problem& problem);

  const SymbolTable& symbols() const { return symbols_; }
  /// These and `multiprocessors`: what depends on the GPU that a configuration is for may use them.
  const SymbolTable& launch_symbols() const { return launch_symbols_; }
  /// The symbols of the problem and the operation only: what sizes, flops and bytes may use.
  const SymbolTable& constants() const { return constants_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// One value per slot: of the constants; unset for the others.
  std::vector<Scalar> initial_slots() const;
  /// By slot; for Bindings.
  std::vector<const Program*> definitions() const;

  /// Slots.
  std::size_t first_parameter() const { return constant_values_.size(); }
  std::size_t first_derived() const { return first_parameter() + parameters_.size(); }
  std::size_t multiprocessors() const { return first_derived() + derived_.size(); }
  /// Parameters (by position) whose values a program's result depends on, also through derived values;
  /// ascending.
  std::vector<std::size_t> parameters_of(const Program& program) const;
  /// Derived values (by position) it reads, also through others; ascending.
  std::vector<std::size_t> derived_of(const Program& program) const;

  const std::vector<Program>& derived() const { return derived_; }

 private:
  void declare_constants(const TemplateSpec& spec, const Problem& problem);
  void mark(const Program& program, std::vector<bool>& slots) const;
  std::vector<std::size_t> marked(const Program& program, std::size_t first, std::size_t last) const;

  std::vector<Parameter> parameters_;
  std::shared_ptr<const std::vector<Value>> texts_;  ///< of types and options: constants borrow them
  SymbolTable constants_;
  SymbolTable symbols_;
  SymbolTable launch_symbols_;
  std::vector<Scalar> constant_values_;
  std::vector<Program> derived_;
};

}  // namespace tiletune::space
