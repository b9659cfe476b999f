#include "deploy/plan_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "deploy/recorded_kernels.h"
#include "space/operators.h"
#include "space/parser.h"
#include "space/program.h"
#include "space/scope.h"
#include "space/template_programs.h"

namespace tiletune {

using namespace space;

namespace {

struct NamedOp {
  Op op;
  const char* function;  ///< of values.h.in
};
constexpr std::array<NamedOp, 36> kNamedOps{{{Op::add, "add"},
                                             {Op::subtract, "subtract"},
                                             {Op::multiply, "multiply"},
                                             {Op::divide, "divide"},
                                             {Op::floor_divide, "floor_divide"},
                                             {Op::modulo, "modulo"},
                                             {Op::power, "power"},
                                             {Op::bit_or, "bit_or"},
                                             {Op::bit_xor, "bit_xor"},
                                             {Op::bit_and, "bit_and"},
                                             {Op::bit_not, "bit_not"},
                                             {Op::shift_left, "shift_left"},
                                             {Op::shift_right, "shift_right"},
                                             {Op::ceil_div, "ceil_div"},
                                             {Op::round_up, "round_up"},
                                             {Op::gcd, "gcd"},
                                             {Op::lcm, "lcm"},
                                             {Op::min, "least"},
                                             {Op::max, "greatest"},
                                             {Op::abs, "absolute"},
                                             {Op::to_integer, "to_integer"},
                                             {Op::to_number, "to_number"},
                                             {Op::is_pow2, "is_pow2"},
                                             {Op::log2, "log2"},
                                             {Op::negate, "negate"},
                                             {Op::plus, "same"},
                                             {Op::logical_not, "inverse"},
                                             {Op::truth, "truth"},
                                             {Op::equal, "equals"},
                                             {Op::not_equal, "differs"},
                                             {Op::less, "less"},
                                             {Op::less_equal, "less_equal"},
                                             {Op::greater, "greater"},
                                             {Op::greater_equal, "greater_equal"},
                                             {Op::logical_and, "both"},
                                             {Op::logical_or, "either"}}};

std::string literal(const Scalar& value) {
  if (value.is_string()) return cpp_literal(*value.string);
  if (value.kind == Scalar::Kind::boolean) return value.integer != 0 ? "1LL" : "0LL";
  return value.kind == Scalar::Kind::integer ? cpp_integer(value.integer) : cpp_text(value);
}

/// Writes expressions as calls of the functions of values.h.in.
class ExpressionWriter {
 public:
  /// The text for the name in a slot.
  explicit ExpressionWriter(std::function<std::string(std::size_t)> load) : load_(std::move(load)) {}

  std::string text(const SyntaxNode& node) const {
    if (node.op == Op::constant) return literal(to_scalar(node.constant));
    if (node.op == Op::load) return load_(static_cast<std::size_t>(node.slot));
    std::vector<std::string> operands{text(node.operands.front())};
    const bool is_decided = operands.front() == "1LL" || operands.front() == "0LL";
    if (node.op == Op::conditional && is_decided)
      return text(node.operands[operands.front() == "1LL" ? 1 : 2]);
    for (std::size_t i = 1; i < node.operands.size(); ++i) operands.push_back(text(node.operands[i]));
    if (node.op == Op::type_size) {  // types are fixed: the operand is a constant
      Scalar size = unset_scalar();
      const std::string name = operands.front().size() > 2 ? unquoted(operands.front()) : "";
      const Value type = name;
      return apply(Op::type_size, to_scalar(type), size) == FaultKind::none ? literal(size) : "Value()";
    }
    if (node.op == Op::conditional) return fmt::format("chosen({})", join(operands, ", "));
    std::string whole;
    const auto add = [&](const char* function, const std::string& one) {
      whole = whole.empty() ? one : fmt::format("{}({}, {})", function, whole, one);
    };
    if (node.op == Op::comparison_chain) {  // "a < b <= c" as both(less(a, b), less_equal(b, c))
      for (std::size_t i = 0; i < node.comparisons.size(); ++i)
        add("both", comparison(node.comparisons[i], operands[i], operands[i + 1]));
      return whole;
    }
    if (node.op == Op::in_list || node.op == Op::not_in_list) {
      for (std::size_t i = 1; i < operands.size(); ++i)
        add("either_of_both", fmt::format("equals({}, {})", operands.front(), operands[i]));
      if (whole.empty()) whole = "0LL";
      return node.op == Op::in_list ? whole : fmt::format("inverse({})", whole);
    }
    const char* const function = function_of(node.op);
    if (operands.size() == 1) return fmt::format("{}({})", function, operands.front());
    for (const std::string& operand : operands)
      if (node.op != Op::multiply || operand != "1LL") add(function, operand);
    return whole.empty() ? operands.front() : whole;
  }

 private:
  /// Names that are compared with a parameter's are known here, as in SCHEDULE == 'stream_k'.
  static std::string comparison(Op op, const std::string& left, const std::string& right) {
    const bool are_names = left.starts_with('"') && right.starts_with('"');
    if (are_names && (op == Op::equal || op == Op::not_equal))
      return (left == right) == (op == Op::equal) ? "1LL" : "0LL";
    return fmt::format("{}({}, {})", function_of(op), left, right);
  }
  static const char* function_of(Op op) { return std::ranges::find(kNamedOps, op, &NamedOp::op)->function; }
  static std::string unquoted(const std::string& text) { return text.substr(1, text.size() - 2); }

  std::function<std::string(std::size_t)> load_;
};

/// How deep brackets lie within each other.
int depth_of(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

bool is_for_compilers(const std::string& text) {
  constexpr std::size_t kLongest = 32768;
  constexpr int kDeepest = 200;  // clang gives up at 256 brackets
  return text.size() <= kLongest && depth_of(text) <= kDeepest;
}

std::string type_text(ElementType type) {
  return "Type::" + std::string(type == ElementType::boolean ? "boolean" : name(type));
}

class PlanWriter {
 public:
  PlanWriter(const TemplateSpec& spec, const Problem& problem, const Configuration& configuration)
      : spec_(spec),
        scope_(spec, problem),
        sizes_(problem.dimensions.size() + spec.operation.leading_dimensions.size() +
               spec.operation.scalars.size()),
        slots_(scope_.initial_slots()),
        definitions_(scope_.definitions()),
        writer_([this](std::size_t slot) { return name_of(slot); }) {
    for (std::size_t i = 0; i < configuration.values.size(); ++i)
      slots_[scope_.first_parameter() + i] = to_scalar(configuration.values[i]);
    for (const Derived& derived : spec.derived) {
      derived_.push_back(parse(derived.value, scope_.symbols()));
      varies_.push_back(varies(derived_.back()));
    }
  }

  PlanCode code() {
    add_conditions();
    add_workspaces();
    add_constants();
    for (std::size_t i = 0; i < spec_.launches.size(); ++i) add_launch(i);
    code_.statements = derived_values() + body_;
    return std::move(code_);
  }

  std::string waves(const std::vector<std::int64_t>& blocks_at_once) {
    is_unlimited_ = true;
    slots_[scope_.multiprocessors()] = to_scalar(std::int64_t{kUnlimitedMultiprocessors});
    std::vector<std::string> all;
    for (const Launch& launch : spec_.launches) {
      if (!launch.when.text.empty() &&
          !is_true(evaluate(Program(launch.when, scope_.launch_symbols()), Bindings{slots_, definitions_})))
        continue;
      std::string tiles;
      for (const ExprText& extent : launch.grid) {
        const std::string one = text(extent, "1LL");
        if (tiles.empty() || tiles == "1LL")
          tiles = one;
        else if (one != "1LL")
          tiles = fmt::format("multiply({}, {})", tiles, one);
      }
      all.push_back(fmt::format("waves_of({}, {}LL)", tiles, blocks_at_once[all.size()]));
    }
    return derived_values() + fmt::format("  const double waves[] = {{{}}};\n", join(all, ", "));
  }

  /// The derived values that are used.
  std::string derived_values() {
    std::string first;
    for (const std::size_t i : used_)
      first += fmt::format("  const Value {} = {};\n", name_of_derived(i), texts_[i]);
    return first;
  }

  std::string elements() {
    for (const Buffer& buffer : spec_.operation.buffers) add("*elements++ = {};", text(buffer.elements));
    return body_;
  }

  std::string problem() {
    const Operation& operation = spec_.operation;
    for (const Buffer& buffer : operation.buffers) {
      const auto value = [&](std::size_t place) -> std::string {
        const bool is_stated = buffer.values && place < buffer.values->arguments.size();
        if (is_stated) return text(buffer.values->arguments[place]);
        return is_floating(buffer.type) ? (place == 0 ? "-1.0" : "1.0") : (place == 0 ? "-3LL" : "4LL");
      };
      const Distribution otherwise = is_floating(buffer.type) ? Distribution::uniform : Distribution::randint;
      const Distribution distribution = buffer.values ? buffer.values->distribution : otherwise;
      const std::string reads = buffer.role == BufferRole::inout
                                    ? fmt::format("holds({})", text(buffer.read_when, "1LL"))
                                    : (buffer.role == BufferRole::in ? "true" : "false");
      add("p.add({}, {}, {}, {}, {}, {}, {}, {}, {});", type_text(buffer.type), reads,
          buffer.role != BufferRole::in, text(buffer.elements), text(buffer.columns, "0LL"),
          text(buffer.pitch, "0LL"), static_cast<int>(distribution), value(0), value(1));
    }
    const ElementType accumulator = operation.accumulator;
    double roundoff = is_floating(accumulator) ? std::ldexp(1, -facts_of(accumulator).fraction_bits - 1) : 0;
    if (const auto bits = operation.accumulation_bits) roundoff = std::max(roundoff, std::ldexp(1, -*bits));
    add("p.terms = {}.as_real();", fmt::format("Value({})", text(operation.accumulation, "1LL")));
    add("p.accumulator_roundoff = {:.17g};", roundoff);
    add("p.factor = {:.17g};", spec_.tolerance_factor);
    if (const auto& tolerance = operation.tolerance)
      add("p.absolute = {:.17g};\n  p.relative = {:.17g};", tolerance->absolute, tolerance->relative);
    return body_;
  }

 private:
  bool varies(const SyntaxNode& node) const {
    if (node.op != Op::load)
      return std::ranges::any_of(node.operands, [&](const SyntaxNode& one) { return varies(one); });
    const auto slot = static_cast<std::size_t>(node.slot);
    const bool is_derived = slot >= scope_.first_derived() && slot < scope_.multiprocessors();
    if (is_derived) return varies_[slot - scope_.first_derived()];
    return slot < sizes_ || slot == scope_.multiprocessors();
  }

  std::string name_of_derived(std::size_t place) const { return fmt::format("d{}", place); }

  /// The text of a name; notes that a derived value is used.
  std::string name_of(std::size_t slot) {
    if (slot < sizes_) return fmt::format("n[{}]", slot);
    if (slot == scope_.multiprocessors() && !is_unlimited_) return fmt::format("n[{}]", sizes_);
    const std::size_t place = slot - scope_.first_derived();
    const bool is_derived = slot >= scope_.first_derived() && place < derived_.size();
    if (!is_derived) return literal(slots_[slot]);
    if (!varies_[place]) {
      Scalar value = unset_scalar();
      Fault fault;
      return scope_.derived()[place].run({slots_, definitions_}, value, fault) ? literal(value) : "Value()";
    }
    if (!used_.contains(place)) {
      texts_[place] = text(derived_[place], spec_.derived[place].value);
      used_.insert(place);
    }
    return name_of_derived(place);
  }

  std::string text(const SyntaxNode& node, const ExprText& written) {
    if (!varies(node)) {
      Scalar value = unset_scalar();
      Fault fault;
      const Program program(written, scope_.launch_symbols());
      return program.run({slots_, definitions_}, value, fault) ? literal(value) : "Value()";
    }
    std::string code = writer_.text(node);
    if (is_for_compilers(code)) return code;
    throw UserError("the expression is too long or nested too deeply for a C++ compiler", written.where,
                    "Split it into derived values.");
  }

  std::string text(const ExprText& written, const char* otherwise = "") {
    if (written.text.empty()) return otherwise;
    return text(parse(written, scope_.launch_symbols()), written);
  }

  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    body_ += indent_ + fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }

  void add_condition(const std::string& condition, const std::string& reason) {
    if (condition != "1LL") add("if (!p.needs({}, {})) return;", condition, cpp_literal(reason));
  }

  /// What is compiled into the kernel must have the same value.
  void add_fixed(const ExprText& written) {
    if (written.text.empty()) return;
    const SyntaxNode node = parse(written, scope_.launch_symbols());
    if (!varies(node)) return;
    const Scalar value = evaluate(Program(written, scope_.launch_symbols()), Bindings{slots_, definitions_});
    add_condition(fmt::format("equals({}, {})", text(node, written), literal(value)),
                  fmt::format("it was compiled for {} = {}", written.text, to_text(to_value(value))));
  }

  int capability(const ExprText& written, int otherwise) {
    if (written.text.empty()) return otherwise;
    const double version =
        evaluate_number(Program(written, scope_.symbols()), Bindings{slots_, definitions_});
    return static_cast<int>(std::lround(10 * version));
  }

  void add_conditions() {
    constexpr int kAny = 999;
    const int least = capability(spec_.min_compute_capability, 0);
    const int most = capability(spec_.max_compute_capability, kAny);
    if (least > 0 || most < kAny) add("if (!p.needs_capability({}, {})) return;", least, most);
    for (const Constraint& constraint : spec_.constraints)
      if (!constraint.narrows)
        add_condition(text(constraint.require),
                      constraint.why.empty()
                          ? constraint.require.text
                          : fmt::format("{}: {}", constraint.require.text, constraint.why));
    for (const auto& [macro, value] : spec_.macros) add_fixed(value);
  }

  void add_workspaces() {
    for (const WorkspaceArray& array : spec_.workspace)
      add("p.add_workspace({}, {}, {});", type_text(array.type), text(array.elements), array.zeroed);
  }

  void add_constants() {
    for (const ConstantMemory& constant : spec_.constants) {
      const auto& buffers = spec_.operation.buffers;
      const auto buffer = std::ranges::find(buffers, constant.buffer, &Buffer::name);
      add("p.add_constant({}, {});", type_text(buffer->type), text(buffer->elements));
    }
  }

  std::string expression(const Launch& launch) {
    if (launch.template_arguments.empty()) return launch.kernel;
    std::vector<std::string> parts;
    for (const ExprText& argument : launch.template_arguments)
      parts.push_back(
          cpp_text(evaluate(Program(argument, scope_.symbols()), Bindings{slots_, definitions_})));
    return fmt::format("{}<{}>", launch.kernel, join(parts, ", "));
  }

  void add_launch(std::size_t number) {
    const Launch& launch = spec_.launches[number];
    const bool is_conditional = !launch.when.text.empty();
    if (is_conditional) {
      add("if (p.decides({})) {{", text(launch.when));
      indent_ += "  ";
    }
    try {
      code_.expressions.push_back(expression(launch));
      for (const ExprText& argument : launch.template_arguments) add_fixed(argument);
    } catch (const UserError&) {
      if (!is_conditional) throw;
      code_.expressions.emplace_back();
      add_condition("0LL", "it was compiled without this launch");
    }
    add("p.begin({});", number);
    const auto& grid = launch.grid;
    add("p.set_grid({}, {}, {});", text(grid[0], "1LL"), text(grid[1], "1LL"), text(grid[2], "1LL"));
    const auto& block = launch.block;
    add("p.set_block({}, {}, {});", text(block[0], "1LL"), text(block[1], "1LL"), text(block[2], "1LL"));
    add("p.set_shared({});", text(launch.dynamic_shared_bytes, "0LL"));
    if (!launch.programmatic.text.empty()) add("p.set_programmatic({});", text(launch.programmatic));
    for (const Argument& argument : launch.arguments) add_argument(argument);
    code_.most_arguments = std::max(code_.most_arguments, launch.arguments.size());
    if (!is_conditional) return;
    indent_.resize(indent_.size() - 2);
    add("}}");
  }

  /// "buffer, 0": the kind and place of what an argument names.
  std::pair<std::string, std::size_t> memory(const std::string& name) const {
    const auto place = [&](const auto& list) {
      return static_cast<std::size_t>(
          std::ranges::find_if(list, [&](const auto& one) { return one.name == name; }) - list.begin());
    };
    const std::size_t array = place(spec_.workspace);
    if (array < spec_.workspace.size()) return {"workspace", array};
    return {"buffer", place(spec_.operation.buffers)};
  }

  void add_argument(const Argument& argument) {
    if (argument.kind == Argument::Kind::scalar) {
      const ExprText value = or_default(argument.value, argument.name);
      add("p.add_scalar({}, {});", type_text(argument.type), text(value));
      return;
    }
    const auto [kind, place] = memory(argument.name);
    const bool is_absent = kind == "buffer" && place == spec_.operation.buffers.size();
    if (argument.kind == Argument::Kind::buffer) {
      add("p.add_address(Argument::{}, {});", is_absent ? "null_address" : kind, is_absent ? 0 : place);
      return;
    }
    if (is_absent) {
      add("p.add_address(Argument::no_map, 0);");
      return;
    }
    const TensorMap& map = *argument.tensor_map;
    if (map.when.text.empty()) {
      add("{{");
    } else {
      add("if (!p.decides({})) {{", text(map.when));
      add("  p.add_address(Argument::no_map, 0);");
      add("}} else {{");
    }
    indent_ += "  ";
    const auto list = [&](const std::vector<ExprText>& texts) {
      std::vector<std::string> all;
      for (const ExprText& one : texts) all.push_back(text(one));
      return join(all, ", ");
    };
    add("TensorMap& m = p.add_map(Argument::map_of_{}, {}, {}, {});", kind, place, type_text(map.type),
        map.extents.size());
    add("p.set_sizes(m.extents, {{{}}});", list(map.extents));
    if (!map.pitches.empty()) add("p.set_sizes(m.pitches, {{{}}});", list(map.pitches));
    add("p.set_sizes(m.box, {{{}}});", list(map.box));
    add("p.set_way(m, {}, {}, {});", text(map.swizzle), text(map.promotion), text(map.offset, "0LL"));
    indent_.resize(indent_.size() - 2);
    add("}}");
  }

  const TemplateSpec& spec_;
  Scope scope_;
  std::size_t sizes_;
  std::vector<Scalar> slots_;
  std::vector<const Program*> definitions_;
  std::vector<SyntaxNode> derived_;
  std::vector<bool> varies_;   ///< by derived value: whether sizes, scalars or the GPU decide on it
  bool is_unlimited_ = false;  ///< the GPU has as many multiprocessors as anything asks for
  std::set<std::size_t> used_;
  std::map<std::size_t, std::string> texts_;
  ExpressionWriter writer_;
  std::string indent_ = "  ";
  std::string body_;
  PlanCode code_;
};

}  // namespace

PlanCode plan_code(const TemplateSpec& spec, const Problem& problem, const Configuration& configuration) {
  return PlanWriter(spec, problem, configuration).code();
}

PlanCode plan_code(const TemplateSpec& spec, const Problem& problem, const OperationKernel& kernel) {
  TemplateSpec alone = spec;
  alone.launches = {kernel.launch};
  if (kernel.launch.arguments.empty()) {  // the template's, without its workspaces
    alone.launches.front().arguments = spec.launches.front().arguments;
    std::erase_if(alone.launches.front().arguments, [&](const Argument& argument) {
      return std::ranges::any_of(spec.workspace, [&](const WorkspaceArray& array) {
        return argument.kind == Argument::Kind::buffer && array.name == argument.name;
      });
    });
  }
  for (Argument& argument : alone.launches.front().arguments)
    if (argument.kind == Argument::Kind::tensor_map) argument.kind = Argument::Kind::buffer;
  alone.workspace.clear();
  alone.constants.clear();
  alone.parameters.clear();
  alone.derived.clear();
  alone.constraints.clear();
  alone.macros.clear();
  alone.steps.clear();
  alone.min_compute_capability = alone.max_compute_capability = {};
  return PlanWriter(alone, problem, {}).code();
}

std::string elements_code(const TemplateSpec& spec, const Problem& problem) {
  return PlanWriter(spec, problem, {}).elements();
}

std::string problem_code(const TemplateSpec& spec, const Problem& problem) {
  return PlanWriter(spec, problem, {}).problem();
}

std::string waves_code(const TemplateSpec& spec, const Problem& problem, const Configuration& configuration,
                       const std::vector<std::int64_t>& blocks_at_once) {
  return PlanWriter(spec, problem, configuration).waves(blocks_at_once);
}

std::string cpp_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kFirstPrintable = 0x20;
    constexpr unsigned char kLastPrintable = 0x7E;
    if (c == '"' || c == '\\' || c == '?') {  // ? is escaped for the sake of trigraphs
      literal += std::string("\\") + c;
    } else if (byte >= kFirstPrintable && byte <= kLastPrintable) {
      literal += c;
    } else {
      literal += fmt::format("\\{:03o}", byte);
    }
  }
  return literal + "\"";
}

std::string cpp_integer(std::int64_t number) {
  // The digits of 2^63 are no literal of a signed type.
  return number == INT64_MIN ? "(-9223372036854775807LL - 1)" : fmt::format("{}LL", number);
}

std::string comment_text(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\\' || (c >= 0 && c < ' '); }, '_');
  return text;
}

std::string cpp_literals(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(cpp_literal(text));
  return join(all, ", ");
}

}  // namespace tiletune
