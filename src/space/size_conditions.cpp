#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "space/operators.h"
#include "space/template_programs.h"

namespace tiletune::space {

namespace {

constexpr std::size_t kLongest = 2048;  ///< bytes of an expression
/// Multiprocessors, more than any GPU has; and a fraction of them, which limits nothing either.
constexpr std::int64_t kUnlimited = 1'000'000'000;
constexpr std::int64_t kNearlyUnlimited = kUnlimited / 100;

/// An expression with all but the sizes put in: a value, or a text that depends on sizes.
struct Folded {
  std::optional<Scalar> value;
  std::string text;
  bool is_one_word = false;  ///< needs no parentheses
};

struct TooLong {};

std::string literal(const Scalar& value) {
  if (!value.is_string()) return cpp_text(value);
  const char quote = value.string->find('\'') == std::string::npos ? '\'' : '"';
  return quote + *value.string + quote;
}

std::string text_of(const Folded& folded) { return folded.value ? literal(*folded.value) : folded.text; }

std::string operand_text(const Folded& folded) {
  const std::string text = text_of(folded);
  const bool is_bare = folded.value ? !text.starts_with('-') : folded.is_one_word;
  return is_bare ? text : "(" + text + ")";
}

Folded written(std::string text) {
  if (text.size() > kLongest) throw TooLong();
  return {std::nullopt, std::move(text), false};
}

template <std::size_t kCount, class Spelled>
std::string_view spelling(const std::array<Spelled, kCount>& spellings, Op op) {
  const auto found =
      std::find_if(spellings.begin(), spellings.end(), [&](const auto& s) { return s.op == op; });
  return found == spellings.end() ? std::string_view() : found->text;
}

class ConstantFolder {
 public:
  /// `unlimited`: whether the bindings have kUnlimited multiprocessors.
  ConstantFolder(const Bindings& bindings, const std::vector<std::string>& sizes, std::size_t first_derived,
                 bool unlimited)
      : bindings_(bindings), sizes_(sizes), first_derived_(first_derived), unlimited_(unlimited) {}

  /// Folds the next derived value, if it depends on sizes.
  void add_derived(const std::optional<SyntaxNode>& node) {
    FoldedDerived derived;
    try {
      if (node) derived.folded = fold(*node);
    } catch (const TooLong&) {
      derived.is_too_long = true;
    }
    derived_.push_back(std::move(derived));
  }

  Folded fold(const SyntaxNode& node) const {
    switch (node.op) {
      case Op::constant:
        return {to_scalar(node.constant), "", true};
      case Op::load:
        return load(static_cast<std::size_t>(node.slot));
      case Op::conditional:
        return conditional(node);
      case Op::logical_and:
      case Op::logical_or:
        return logical(node);
      case Op::comparison_chain:
        return chain(node);
      case Op::in_list:
      case Op::not_in_list:
        return membership(node);
      default:
        return operation(node);
    }
  }

 private:
  struct FoldedDerived {
    std::optional<Folded> folded;  ///< none: it does not depend on sizes
    bool is_too_long = false;
  };

  Folded load(std::size_t slot) const {
    if (slot < sizes_.size()) return {std::nullopt, sizes_[slot], true};
    if (slot >= first_derived_ && slot - first_derived_ < derived_.size()) {
      const FoldedDerived& derived = derived_[slot - first_derived_];
      if (derived.is_too_long) throw TooLong();
      if (derived.folded) return *derived.folded;
    }
    return {bindings_.slots[slot], "", true};
  }

  Folded conditional(const SyntaxNode& node) const {
    const Folded condition = fold(node.operands[0]);
    if (condition.value) return fold(node.operands[is_true(*condition.value) ? 1 : 2]);
    return written(fmt::format("{} if {} else {}", operand_text(fold(node.operands[1])),
                               operand_text(condition), operand_text(fold(node.operands[2]))));
  }

  /// Operands that are known and do not decide are left out.
  Folded logical(const SyntaxNode& node) const {
    const bool deciding = node.op == Op::logical_or;
    std::vector<Folded> rest;
    for (const SyntaxNode& operand : node.operands) {
      Folded folded = fold(operand);
      const bool decides = folded.value && is_true(*folded.value) == deciding;
      const bool is_last = &operand == &node.operands.back();
      if (!folded.value || decides || is_last) rest.push_back(std::move(folded));
      if (decides) break;
    }
    if (rest.size() == 1) return rest.front();
    return joined(rest, deciding ? " or " : " and ");
  }

  Folded chain(const SyntaxNode& node) const {
    const std::vector<Folded> operands = fold_all(node.operands);
    std::string text = operand_text(operands.front());
    Scalar result = boolean_scalar(true);
    bool is_known = true;
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      const Folded& left = operands[i];
      const Folded& right = operands[i + 1];
      text += fmt::format(" {} {}", spelling(kComparisons, node.comparisons[i]), operand_text(right));
      is_known = is_known && left.value && right.value &&
                 apply(node.comparisons[i], *left.value, *right.value, result) == FaultKind::none;
      if (is_known && !is_true(result)) return {result, "", true};
    }
    return is_known ? Folded{result, "", true} : written(std::move(text));
  }

  Folded membership(const SyntaxNode& node) const {
    const std::vector<Folded> operands = fold_all(node.operands);
    const bool negated = node.op == Op::not_in_list;
    if (all_known(operands)) {
      const bool found = std::any_of(operands.begin() + 1, operands.end(), [&](const Folded& element) {
        return equals(*operands.front().value, *element.value);
      });
      return {boolean_scalar(found != negated), "", true};
    }
    const std::vector<Folded> elements(operands.begin() + 1, operands.end());
    return written(fmt::format("{} {} ({})", operand_text(operands.front()), negated ? "not in" : "in",
                               joined(elements, ", ").text));
  }

  Folded operation(const SyntaxNode& node) const {
    std::vector<Folded> operands = fold_all(node.operands);
    if (all_known(operands)) {
      Scalar result = *operands.front().value;
      FaultKind fault = operands.size() == 1 ? apply(node.op, result, result) : FaultKind::none;
      for (std::size_t i = 1; i < operands.size() && fault == FaultKind::none; ++i)
        fault = apply(node.op, result, *operands[i].value, result);
      if (fault == FaultKind::none) return {result, "", true};
    }
    leave_out_neutral(node.op, operands);
    if (operands.size() == 1 && node.operands.size() > 1) return operands.front();
    if (const std::string_view infix = spelling(kInfix, node.op); !infix.empty())
      return joined(operands, fmt::format(" {} ", infix));
    if (const std::string_view prefix = spelling(kPrefix, node.op); !prefix.empty())
      return written(fmt::format("{}{}", prefix, operand_text(operands.front())));
    const auto* const function = std::find_if(kFunctions.begin(), kFunctions.end(),
                                              [&](const Function& known) { return known.op == node.op; });
    std::vector<std::string> texts;
    for (const Folded& operand : operands) texts.push_back(text_of(operand));
    Folded call = written(fmt::format("{}({})", function->name, join(texts, ", ")));
    call.is_one_word = true;
    return call;
  }

  /// Factors and divisors of 1, and a limit that limits nothing. Something that depends on sizes is left.
  void leave_out_neutral(Op op, std::vector<Folded>& operands) const {
    const auto is_one = [](const Folded& operand) {
      return operand.value && operand.value->kind == Scalar::Kind::integer && operand.value->integer == 1;
    };
    const auto is_unlimited = [&](const Folded& operand) {
      return unlimited_ && operand.value && operand.value->kind == Scalar::Kind::integer &&
             operand.value->integer >= kNearlyUnlimited;
    };
    if (op == Op::multiply) std::erase_if(operands, is_one);
    if (op == Op::min) std::erase_if(operands, is_unlimited);
    if (op != Op::floor_divide && op != Op::ceil_div) return;
    if (is_unlimited(operands.front())) operands.resize(1);
    operands.erase(std::remove_if(operands.begin() + 1, operands.end(), is_one), operands.end());
  }

  std::vector<Folded> fold_all(const std::vector<SyntaxNode>& nodes) const {
    std::vector<Folded> all;
    for (const SyntaxNode& node : nodes) all.push_back(fold(node));
    return all;
  }

  static bool all_known(const std::vector<Folded>& operands) {
    return std::all_of(operands.begin(), operands.end(), [](const Folded& f) { return f.value.has_value(); });
  }

  static Folded joined(const std::vector<Folded>& operands, const std::string& separator) {
    std::vector<std::string> texts;
    for (const Folded& operand : operands) texts.push_back(operand_text(operand));
    return written(join(texts, separator));
  }

  const Bindings& bindings_;
  const std::vector<std::string>& sizes_;
  std::size_t first_derived_;
  bool unlimited_;
  std::vector<FoldedDerived> derived_;
};

}  // namespace

SizeConditions::SizeConditions(const TemplateSpec& spec, const Problem& problem, const Scope& scope)
    : scope_(scope), dimensions_(problem.dimensions.size()) {
  for (const auto& [name, size] : problem.dimensions) sizes_.push_back(name);
  for (const LeadingDimension& leading : spec.operation.leading_dimensions) sizes_.push_back(leading.columns);
  for (const Derived& derived : spec.derived) {
    SyntaxNode node = parse(derived.value, scope.symbols());
    derived_.push_back(reads_sizes(node) ? std::optional(std::move(node)) : std::nullopt);
  }
  for (const Constraint& constraint : spec.constraints) {
    SyntaxNode node = parse(constraint.require, scope.symbols());
    if (reads_sizes(node) && !constraint.narrows) constraints_.push_back(std::move(node));
  }
  for (const auto& [name, text] : spec.macros) add_fixed(text, scope.symbols());
  for (const Launch& launch : spec.launches) {
    for (const ExprText& argument : launch.template_arguments) add_fixed(argument, scope.symbols());
    for (const ExprText& threads : launch.block) add_fixed(threads, scope.launch_symbols());
    add_fixed(launch.dynamic_shared_bytes, scope.launch_symbols());
    add_fixed(launch.when, scope.launch_symbols());
    add_limit(launch.grid[0], {1, static_cast<double>(kLargestGrid.x)}, launch);
    add_limit(launch.grid[1], {1, static_cast<double>(kLargestGrid.y)}, launch);
    add_limit(launch.grid[2], {1, static_cast<double>(kLargestGrid.z)}, launch);
    for (const Argument& argument : launch.arguments) {
      if (argument.kind != Argument::Kind::scalar || argument.is_rank) continue;
      add_limit(argument.value.text.empty() ? ExprText{argument.name, argument.value.where} : argument.value,
                range_of(argument.type), launch);
    }
    Grid& grid = grids_.emplace_back();
    grid.product.op = Op::multiply;
    grid.product.operands.emplace_back().constant = std::int64_t{1};
    for (const ExprText& extent : launch.grid) {
      if (extent.text.empty()) continue;
      grid.product.operands.push_back(parse(extent, scope.launch_symbols()));
      grid.extents.emplace_back(extent, scope.launch_symbols());
    }
  }
}

bool SizeConditions::reads_sizes(const SyntaxNode& node) const {
  if (node.op == Op::load) {
    const auto slot = static_cast<std::size_t>(node.slot);
    if (slot < sizes_.size()) return true;
    const std::size_t first = scope_.first_derived();
    return slot >= first && slot - first < derived_.size() && derived_[slot - first];
  }
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [&](const SyntaxNode& operand) { return reads_sizes(operand); });
}

void SizeConditions::add_fixed(const ExprText& text, const SymbolTable& symbols) {
  if (text.text.empty()) return;
  SyntaxNode node = parse(text, symbols);
  if (reads_sizes(node)) fixed_.push_back({std::move(node), Program(text, symbols)});
}

void SizeConditions::add_limit(const ExprText& text, const TypeRange& range, const Launch& launch) {
  if (text.text.empty()) return;
  const SyntaxNode value = parse(text, scope_.launch_symbols());
  if (!reads_sizes(value)) return;
  constexpr double kMostOfIntegers = 0x1p63;  // an end beyond 64-bit integers limits nothing
  const bool is_size = value.op == Op::load && static_cast<std::size_t>(value.slot) < sizes_.size();
  const std::string bare = fmt::format("({})", text.text);
  std::string limit = bare;
  if (range.lowest > (is_size ? 1 : -kMostOfIntegers))
    limit = fmt::format("{} <= {}", static_cast<std::int64_t>(range.lowest), limit);
  if (range.highest < kMostOfIntegers)
    limit += fmt::format(" <= {}", static_cast<std::int64_t>(range.highest));
  if (limit == bare) return;
  if (!launch.when.text.empty()) limit = fmt::format("{} if ({}) else true", limit, launch.when.text);
  constraints_.push_back(parse({limit, text.where}, scope_.launch_symbols()));
}

std::vector<std::optional<std::string>> SizeConditions::of(const Bindings& bindings) const {
  std::vector<std::optional<std::string>> conditions;
  if (constraints_.empty() && fixed_.empty()) return conditions;
  ConstantFolder folder(bindings, sizes_, scope_.first_derived(), false);
  for (const std::optional<SyntaxNode>& node : derived_) folder.add_derived(node);
  const auto add = [&](const auto& make) {
    try {
      std::optional<std::string> condition = make();
      const bool is_new = std::find(conditions.begin(), conditions.end(), condition) == conditions.end();
      if (condition && is_new) conditions.push_back(std::move(condition));
    } catch (const TooLong&) {
      conditions.emplace_back(std::nullopt);
    }
  };
  for (const SyntaxNode& node : constraints_) {
    add([&]() -> std::optional<std::string> {
      const Folded folded = folder.fold(node);
      return folded.value && is_true(*folded.value) ? std::nullopt : std::optional(text_of(folded));
    });
  }
  for (const Fixed& fixed : fixed_) {
    add([&]() -> std::optional<std::string> {
      const Folded folded = folder.fold(fixed.node);
      if (folded.value) return std::nullopt;
      return fmt::format("{} == {}", operand_text(folded), literal(evaluate(fixed.program, bindings)));
    });
  }
  return conditions;
}

double SizeConditions::blocks(const Grid& grid, const Bindings& bindings) {
  double product = 1;
  for (const Program& extent : grid.extents) {
    Scalar value;
    Fault fault;
    product *= extent.run(bindings, value, fault) && value.is_numeric() ? value.as_number() : 0;
  }
  return product;
}

std::vector<TileCount> SizeConditions::tiles(const Bindings& bindings) const {
  std::vector<Scalar> slots(bindings.slots.begin(), bindings.slots.end());
  // Values for a problem with more tiles than any GPU has multiprocessors; their product fits into 64 bits.
  const std::size_t bits = std::min<std::size_t>(24, 60 / std::max<std::size_t>(dimensions_, 1));
  std::vector<Scalar> large = slots;
  for (std::size_t i = 0; i < sizes_.size(); ++i) large[i] = integer_scalar(std::int64_t{1} << bits);
  for (std::size_t i = 0; i < scope_.derived().size(); ++i) {
    Fault fault;
    Scalar value;
    if (scope_.derived()[i].run({large, bindings.definitions}, value, fault))
      large[scope_.first_derived() + i] = value;
  }
  std::vector<double> most_blocks;
  for (const Grid& grid : grids_) most_blocks.push_back(blocks(grid, {large, bindings.definitions}));
  slots[scope_.multiprocessors()] = large[scope_.multiprocessors()] = integer_scalar(kUnlimited);
  const Bindings unlimited{slots, bindings.definitions};
  ConstantFolder folder(unlimited, sizes_, scope_.first_derived(), true);
  for (const std::optional<SyntaxNode>& node : derived_) folder.add_derived(node);
  std::vector<TileCount> counts;
  for (std::size_t i = 0; i < grids_.size(); ++i) {
    TileCount& count = counts.emplace_back();
    if (most_blocks[i] < std::min(blocks(grids_[i], {large, bindings.definitions}), 1.0 * kNearlyUnlimited))
      count.most_blocks = static_cast<std::int64_t>(most_blocks[i]);
    try {
      const Folded tiles = folder.fold(grids_[i].product);
      const bool is_known =
          !tiles.value || (tiles.value->is_numeric() && tiles.value->as_number() < kNearlyUnlimited);
      if (is_known) count.expression = text_of(tiles);
    } catch (const TooLong&) {
    }
  }
  return counts;
}

}  // namespace tiletune::space
