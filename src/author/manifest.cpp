#include "author/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"

namespace tiletune {

namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::string_view kLaunchDecision =
    "the thread blocks and their threads. The guess follows names and the use of blockIdx and threadIdx.";

/// What a name says of a number that is fixed when the kernel is compiled.
enum class Role { other, flag, vector, grid, block, tile };

constexpr int kNoAxis = -1;

/// A number that is fixed when the kernel is compiled.
struct Constant {
  std::string name;
  int line;
  Role role;
  int axis;                         ///< 0 for x; kNoAxis where the name has none
  std::vector<std::string> values;  ///< JSON
  bool in_template = false;
  bool is_tunable = true;  ///< else the source defines it for good
};

struct Size {
  std::string name;
  bool macro;                         ///< a macro that -D may replace
  std::optional<std::int64_t> fixed;  ///< by a macro that -D may not replace
  std::int64_t usual;
  int line;
};

bool has(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

Role role_of(const std::string& name) {
  const std::string plain = squashed(name);
  if (has(plain, {"use", "enable", "readonly", "pad", "flag"})) return Role::flag;
  if (has(plain, {"vec"})) return Role::vector;
  if (has(plain, {"numblocks", "nblocks", "grid"})) return Role::grid;
  if (has(plain, {"perthread", "unroll", "items", "coarsen"})) return Role::vector;
  if (has(plain, {"per"}) && !has(plain, {"perblock"})) return Role::other;
  if (has(plain, {"block", "thread", "tpb"})) return Role::block;
  return has(plain, {"tile"}) ? Role::tile : Role::other;
}

/// block_size_x, blockDimX, TILE_Y
int axis_of(const std::string& name, Role role) {
  const char last = squashed(name).empty() ? ' ' : squashed(name).back();
  const bool set_off = name.size() > 1 && (name[name.size() - 2] == '_' || role != Role::other);
  return set_off && last >= 'x' && last <= 'z' ? last - 'x' : kNoAxis;
}

class Drafter {
 public:
  Drafter(std::string name, std::string source, const SourceFacts& facts, const KernelText& kernel,
          const Signature& signature, std::vector<std::string> operations)
      : operations_(std::move(operations)),
        name_(std::move(name)),
        source_(std::move(source)),
        facts_(facts),
        kernel_(kernel),
        type_(signature.type),
        types_(signature.parameters) {
    collect_arguments();
    collect_macros(signature.undefined);
    collect_sizes();
    choose_values();
    for (Constant& constant : constants_)
      if (constant.is_tunable) set_axis_values(constant);
    choose_launch();
  }

  Draft draft() {
    write();
    std::string problem;
    for (const auto& [name, size] : dimensions())
      problem += fmt::format("{}{}", problem.empty() ? "" : "x", size);
    return {text_, problem, findings_};
  }

 private:
  struct Buffer {
    std::string name, type, role, elements;
    int lanes;
    std::size_t bytes;  ///< of an element
    bool sure;          ///< of the role
    bool integers;
    std::string values = {};    ///< of the manifest; "": its default
    std::string question = {};  ///< about them
  };

  std::string argument_name(std::size_t i) const {
    const auto& names = kernel_.parameter_names;
    // A macro may stand for several parameters.
    const bool named = names.size() == types_.size() && !names[i].empty();
    return named ? names[i] : fmt::format("argument_{}", i + 1);
  }

  Where place() const { return {source_, fmt::format("line {}", kernel_.line)}; }

  void collect_arguments() {
    if (types_.empty())
      throw UserError(
          fmt::format("the kernel '{}' has no parameters, so that it has no output", kernel_.name), place(),
          "Pass what it reads and writes as pointers.");
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const ParameterType& type = types_[i];
      const std::string name = argument_name(i);
      if (!type.pointer && (!type.element || type.lanes != 1))
        throw UserError(
            fmt::format("parameter {}, '{}', has a type that a manifest cannot pass by value", i + 1, name),
            place(), "Pass its members one by one, or describe a tensor map by hand (docs/template.md).");
      if (type.pointer) {
        buffers_.push_back(buffer_of(name, type));
        arguments_.push_back(fmt::format(R"({{"buffer": "{}"}})", name));
        continue;
      }
      const std::string element(tiletune::name(*type.element));
      const bool dimension = !is_floating(*type.element) && size_bytes(*type.element) >= 4;
      arguments_.push_back(fmt::format(R"({{"scalar": "{}", "type": "{}"}})", name, element));
      if (dimension)
        sizes_.push_back({name, false, std::nullopt, 0, kernel_.line});
      else
        scalars_.emplace_back(name, is_floating(*type.element) ? 1 : 0);
      findings_.push_back({dimension ? "dimension" : "scalar", name, element, kernel_.line});
    }
    if (buffers_.empty())
      throw UserError(fmt::format("the kernel '{}' takes no pointer, so that it has no output", kernel_.name),
                      place(), "Pass what it reads and writes as pointers.");
    settle_outputs();
  }

  Buffer buffer_of(const std::string& name, const ParameterType& type) const {
    const ElementType element = type.element.value_or(ElementType::u8);
    Buffer buffer{name,          std::string(tiletune::name(element)),
                  "in",          "",
                  type.lanes,    size_bytes(element),
                  type.constant, !is_floating(element)};
    const auto use = kernel_.uses.find(name);
    if (type.constant || use == kernel_.uses.end() || !use->second.written) return buffer;
    buffer.role = use->second.read || use->second.passed ? "inout" : "out";
    return buffer;
  }

  /// Where no assignment shows the output, whatever may be written through another pointer may be it.
  void settle_outputs() {
    const auto is_output = [](const Buffer& buffer) { return buffer.role != "in"; };
    if (std::ranges::none_of(buffers_, is_output)) {
      for (Buffer& buffer : buffers_)
        if (!buffer.sure) buffer.role = "inout";
    }
    if (std::ranges::none_of(buffers_, is_output))
      throw UserError(fmt::format("the kernel '{}' takes pointers to const alone, so that it has no output",
                                  kernel_.name),
                      place(), "Remove const from what it writes.");
  }

  /// WARP_SIZE and FULL_MASK have one value.
  static bool is_fixed(const MacroText& macro) {
    const std::string plain = squashed(macro.name);
    return macro.value && (has(plain, {"warpsize"}) || plain.ends_with("mask"));
  }

  void collect_macros(const std::vector<MacroText>& undefined) {
    for (const TemplateParameter& parameter : kernel_.template_parameters) {
      Constant tunable =
          tunable_of({parameter.name, parameter.line, parameter.default_value, true, {}}, true);
      if (parameter.is_type())
        tunable.values = {quoted(parameter.default_text.empty() ? type_ : parameter.default_text)};
      if (parameter.type == "bool") tunable.values = {"false", "true"};
      constants_.push_back(std::move(tunable));
    }
    const bool sizes_are_passed = !sizes_.empty();
    std::vector<MacroText> macros = facts_.macros;
    macros.insert(macros.end(), undefined.begin(), undefined.end());
    constexpr std::int64_t kLeastSize = 512;
    std::set<std::string> known;
    for (const Constant& constant : constants_) known.insert(constant.name);
    for (const Size& size : sizes_) known.insert(size.name);
    for (const auto& scalar : scalars_) known.insert(scalar.first);
    for (const MacroText& macro : macros) {
      if (!known.insert(macro.name).second || is_fixed(macro)) continue;
      const Role role = role_in_kernel(macro.name);
      const bool is_size = macro.value.value_or(0) >= kLeastSize && role == Role::other;
      if (is_size && !sizes_are_passed) {
        sizes_.push_back({macro.name, macro.guarded, macro.guarded ? std::nullopt : macro.value, *macro.value,
                          macro.line});
        findings_.push_back({"dimension", macro.name, std::to_string(*macro.value), macro.line});
      } else if (!macro.value || macro.guarded) {
        constants_.push_back(tunable_of(macro, false));
      } else {
        findings_.push_back(
            {"constant", macro.name,
             macro.is_variable
                 ? fmt::format("{}; replace it with a macro or a template parameter to tune it", *macro.value)
                 : fmt::format("{}; put it between #ifndef {} and #endif to tune it", *macro.value,
                               macro.name),
             macro.line});
        if (role != Role::other)
          constants_.push_back({macro.name,
                                macro.line,
                                role,
                                axis_in_kernel(macro.name, role),
                                {std::to_string(*macro.value)},
                                false,
                                false});
      }
    }
    // What can be tuned is chosen first for the launch.
    std::stable_partition(constants_.begin(), constants_.end(), std::mem_fn(&Constant::is_tunable));
  }

  /// What the kernel multiplies blockIdx.x by and adds threadIdx.x to is the number of threads.
  Role role_in_kernel(const std::string& name) const {
    const auto& covered = kernel_.covered;
    return std::find(covered.begin(), covered.end(), name) != covered.end() ? Role::block : role_of(name);
  }

  int axis_in_kernel(const std::string& name, Role role) const {
    const auto& covered = kernel_.covered;
    const auto count = std::count(covered.begin(), covered.end(), name);
    if (count > 1) return kNoAxis;
    return count == 0 ? axis_of(name, role)
                      : static_cast<int>(std::find(covered.begin(), covered.end(), name) - covered.begin());
  }

  Constant tunable_of(const MacroText& macro, bool in_template) const {
    const Role role = role_in_kernel(macro.name);
    Constant tunable{macro.name, macro.line, role, axis_in_kernel(macro.name, role), {}, in_template};
    Numbers values(macro.compared_to.begin(), macro.compared_to.end());
    if (role == Role::flag || (!values.empty() && values.back() <= 1 && values.front() >= 0)) values = {0, 1};
    if (values.empty() && (role == Role::vector || (role == Role::other && !macro.value))) values = {1, 2, 4};
    if (role == Role::grid) values = {64, 128, 256, 512};
    if (macro.value && role != Role::block && role != Role::tile) values.push_back(*macro.value);
    set_values(tunable, std::move(values));
    if (macro.value) tunable.values.push_back(std::to_string(*macro.value));
    return tunable;
  }

  static void set_values(Constant& tunable, Numbers values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    tunable.values.clear();
    for (const std::int64_t value : values) tunable.values.push_back(std::to_string(value));
  }

  /// Threads and tiles have other values in two dimensions than in one. What the source says comes to them.
  void set_axis_values(Constant& tunable) const {
    const bool plane = kernel_.block_axes > 1;
    Numbers values;
    for (const std::string& value : tunable.values)
      if (!value.empty() && (std::isdigit(static_cast<unsigned char>(value.front())) != 0))
        values.push_back(std::stoll(value));
    if (values.size() != tunable.values.size()) return;  // false, true, "float"
    const auto add = [&](Numbers more) { values.insert(values.end(), more.begin(), more.end()); };
    if (tunable.axis >= kernel_.block_axes) {
      if (values.empty()) add({1});
    } else if (tunable.role == Role::block) {
      add(!plane                    ? Numbers{64, 128, 256, 512}
          : tunable.axis == kNoAxis ? Numbers{8, 16, 32}
          : tunable.axis == 0       ? Numbers{16, 32, 64}
                                    : Numbers{2, 4, 8});
    } else if (tunable.role == Role::tile) {
      add(has_block() ? Numbers{1, 2, 4} : Numbers{8, 16, 32});
    }
    set_values(tunable, std::move(values));
  }

  bool has_block() const {
    return std::ranges::any_of(constants_, [](const Constant& one) { return one.role == Role::block; });
  }

  void collect_sizes() {
    if (sizes_.empty()) sizes_.push_back({"n", false, std::nullopt, 0, 0});
    const std::int64_t usual = sizes_.size() > 2                             ? 256
                               : sizes_.size() == 2 || kernel_.grid_axes > 1 ? 4096
                                                                             : 1 << 22;
    for (Size& size : sizes_)
      if (size.usual == 0) size.usual = usual;
    std::vector<std::string> names = size_names();
    // The only size of something with rows is that of a square.
    if (names.size() == 1 && kernel_.grid_axes > 1) names.push_back(names.front());
    const std::string product = join(names, " * ");
    for (Buffer& buffer : buffers_)
      buffer.elements = buffer.lanes > 1 ? fmt::format("{} * {}", buffer.lanes, product) : product;
  }

  /// The manifest's dimensions and the first problem.
  std::vector<std::pair<std::string, std::int64_t>> dimensions() const {
    std::vector<std::pair<std::string, std::int64_t>> all;
    for (const Size& size : sizes_) all.emplace_back(size.name, size.fixed.value_or(size.usual));
    if (total_) all.emplace_back(total_->name, total_->usual);
    return all;
  }

  Buffer* find_buffer(const std::string& name) {
    const auto found = std::ranges::find(buffers_, name, &Buffer::name);
    return found == buffers_.end() ? nullptr : &*found;
  }

  /// Null where no size has that name.
  const Size* find_size(const std::string& name) const {
    const auto found = std::ranges::find(sizes_, name, &Size::name);
    return found == sizes_.end() ? nullptr : &*found;
  }

  std::vector<std::string> size_names() const {
    std::vector<std::string> names;
    for (const Size& size : sizes_) names.push_back(size.name);
    return names;
  }

  std::vector<IndexUse> uses_of(const std::string& name) const {
    std::vector<IndexUse> uses;
    for (const IndexUse& use : kernel_.indices.uses)
      if (use.array == name) uses.push_back(use);
    return uses;
  }

  static std::string places_of(const std::vector<IndexUse>& uses) {
    std::vector<std::string> places;
    for (const IndexUse& use : uses) places.push_back(fmt::format("{} (line {})", use.indexed, use.line));
    return join(places, ", ");
  }

  /// What integers hold that the source uses as indices: numbers of elements of what they point into.
  void choose_values() {
    for (Buffer& buffer : buffers_)
      if (buffer.integers && buffer.role == "in") delimit(buffer);
    for (Buffer& buffer : buffers_) {
      if (buffer.integers && buffer.role != "out" && buffer.values.empty()) set_indices(buffer);
      std::string guess = fmt::format("{}, {}", buffer.type, buffer.role);
      if (!buffer.values.empty()) guess += ", " + buffer.values;
      findings_.push_back({"buffer", buffer.name, guess, kernel_.line});
    }
  }

  /// Starts of rows: an element and the next one tell where a row begins and ends in other arrays.
  void delimit(Buffer& starts) {
    const auto neighbours = kernel_.indices.neighbours.find(starts.name);
    const std::vector<IndexUse> uses = uses_of(starts.name);
    if (neighbours == kernel_.indices.neighbours.end() || uses.empty()) return;
    for (const IndexUse& use : uses) {
      const bool adds = use.form == IndexForm::whole || use.form == IndexForm::sum;
      const Buffer* const rows = find_buffer(use.indexed);
      if (!adds || rows == nullptr || rows == &starts) return;
    }
    const Size* const rows = find_size(neighbours->second);
    if (!total_) add_total(rows == nullptr ? sizes_.front() : *rows);
    starts.elements = fmt::format("{} + 1", rows == nullptr ? starts.elements : rows->name);
    starts.values = fmt::format("offsets({})", total_->name);
    starts.question = fmt::format("the values, which are starts of rows in {}: {} is where the last one ends",
                                  places_of(uses), total_->name);
    for (const IndexUse& use : uses) {
      Buffer& delimited = *find_buffer(use.indexed);
      delimited.elements =
          delimited.lanes > 1 ? fmt::format("{} * {}", delimited.lanes, total_->name) : total_->name;
    }
  }

  /// The dimension that counts the elements of all rows.
  void add_total(const Size& rows) {
    constexpr std::int64_t kPerRow = 8;
    std::set<std::string> taken;
    for (const std::string& name : kernel_.parameter_names) taken.insert(name);
    for (const Constant& constant : constants_) taken.insert(constant.name);
    for (const Size& size : sizes_) taken.insert(size.name);
    std::string name = "total";
    while (taken.contains(name)) name += "_";
    total_ = Size{name, false, std::nullopt, kPerRow * rows.fixed.value_or(rows.usual), 0};
    findings_.push_back({"dimension", name, "elements of all rows", kernel_.line});
  }

  /// How many indices do not lead out of what they point into; none where the source does not show it.
  std::optional<std::string> range_of(const IndexUse& use) {
    const Buffer* const indexed = find_buffer(use.indexed);
    if (indexed == nullptr || indexed->lanes > 1) return std::nullopt;
    if (use.form == IndexForm::whole) return indexed->elements;
    if (use.form != IndexForm::scaled) return std::nullopt;
    std::vector<std::string> rest;
    for (const std::string& size : split(indexed->elements, ' '))
      if (size != "*") rest.push_back(size);
    const auto factor = std::ranges::find(rest, use.factor);
    if (factor == rest.end() || rest.size() < 2) return std::nullopt;
    rest.erase(factor);
    return join(rest, " * ");
  }

  void set_indices(Buffer& buffer) {
    const std::vector<IndexUse> uses = uses_of(buffer.name);
    if (uses.empty()) {
      const auto use = kernel_.uses.find(buffer.name);
      if (buffer.role == "in" && use != kernel_.uses.end() && use->second.passed)
        buffer.question =
            "the values, integers from -100 to 100 by default: a function gets them, and may use them as "
            "indices";
      return;
    }
    std::set<std::string> ranges;
    bool is_known = buffer.role == "in" && buffer.lanes == 1;
    for (const IndexUse& use : uses) {
      const auto range = range_of(use);
      is_known = is_known && range;
      if (range) ranges.insert(*range);
    }
    buffer.question = fmt::format("the values, which are indices into {}", places_of(uses));
    if (!is_known) {
      buffer.values = "constant(0)";
      buffer.question += ". Their range does not follow from the source; 0 is not out of bounds";
      return;
    }
    std::string least = *ranges.begin();
    for (const std::string& range : ranges)
      if (range != least) least = fmt::format("min({}, {})", least, range);
    buffer.values = fmt::format("randint(0, {})", least);
  }

  /// The constant of a role along an axis; one whose name has no axis stands for all.
  std::string name_for(Role role, int axis) const {
    for (const int wanted : {axis, kNoAxis}) {
      for (const Constant& constant : constants_)
        if (constant.role == role && constant.axis == wanted) return constant.name;
    }
    return "";
  }

  std::string size_for(int axis) const {
    if (const Size* bound = find_size(kernel_.bounds[static_cast<std::size_t>(axis)])) return bound->name;
    if (kernel_.grid_axes == 1) return join(size_names(), " * ");
    const auto points_to = [&](const Size& size) {
      const std::string plain = squashed(size.name);
      return axis == 0 ? has(plain, {"width", "col", "nx"}) || plain == "n" || plain == "w" || plain == "x"
                       : has(plain, {"height", "row", "ny"}) || plain == "m" || plain == "h" || plain == "y";
    };
    const auto found = axis > 1 ? sizes_.end() : std::find_if(sizes_.begin(), sizes_.end(), points_to);
    if (found != sizes_.end()) return found->name;
    const auto from_last = static_cast<std::size_t>(axis);
    return sizes_.size() > from_last ? sizes_[sizes_.size() - 1 - from_last].name : sizes_.front().name;
  }

  /// Whether each block along an axis works on an index of its own, as in `row = blockIdx.x`: blockIdx is
  /// multiplied by nothing but sizes, which are then strides.
  bool is_index(int axis) const {
    const BlockUse& use = kernel_.block_uses[static_cast<std::size_t>(axis)];
    return use.seen && !use.other && std::ranges::all_of(use.factors, [&](const std::string& one) {
             return find_size(one) != nullptr;
           });
  }

  /// The size that such an index runs through: what it is compared with, else of the only axis the first that
  /// is not its stride.
  std::string size_of_index(int axis) const {
    const BlockUse& use = kernel_.block_uses[static_cast<std::size_t>(axis)];
    if (const Size* bound = find_size(use.bound)) return bound->name;
    if (kernel_.grid_axes > 1) return size_for(axis);
    for (const Size& size : sizes_)
      if (!use.factors.contains(size.name)) return size.name;
    return sizes_.front().name;
  }

  /// Whether launch bounds consist of numbers, names of the manifest and products alone.
  bool is_known(const std::string& expression) const {
    if (expression.empty()) return false;
    for (const std::string& word : split(expression, ' ')) {
      const auto is_it = [&](const Constant& constant) { return constant.name == word; };
      const bool number = word.find_first_not_of("0123456789") == std::string::npos;
      if (!number && word != "*" && std::ranges::none_of(constants_, is_it)) return false;
    }
    return true;
  }

  void choose_launch() {
    constexpr std::array<std::array<const char*, 3>, 3> kUsual{
        {{"256", "", ""}, {"32", "8", ""}, {"8", "8", "4"}}};
    const auto axes = static_cast<std::size_t>(kernel_.block_axes);
    std::vector<std::string> bounds;
    if (is_known(kernel_.launch_bounds)) {
      bounds = axes == 1 ? std::vector{kernel_.launch_bounds} : split(kernel_.launch_bounds, '*');
      if (bounds.size() != axes) bounds.clear();
    }
    bool tiles_are_blocks = false;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      std::string threads = name_for(Role::block, static_cast<int>(axis));
      if (threads.empty() && !bounds.empty()) threads = std::string(trim(bounds[axis]));
      if (threads.empty() && axes > 1) {
        threads = name_for(Role::tile, static_cast<int>(axis));
        tiles_are_blocks = tiles_are_blocks || !threads.empty();
      }
      block_.push_back(threads.empty() ? kUsual[axes - 1][axis] : threads);
    }
    for (int axis = 0; axis < kernel_.grid_axes; ++axis) {
      const std::string blocks = axis == 0 ? name_for(Role::grid, 0) : "";
      if (blocks.empty() && is_index(axis)) {
        grid_.push_back(size_of_index(axis));
        continue;
      }
      std::vector<std::string> covered;
      const bool shown = !kernel_.covered[static_cast<std::size_t>(axis)].empty();
      const std::string tile = tiles_are_blocks || shown ? "" : name_for(Role::tile, axis);
      const bool whole =
          !bounds.empty() && !has_block() && !tile.empty();  // the tile says what a block covers
      if (static_cast<std::size_t>(axis) < axes && !whole)
        covered.push_back(block_[static_cast<std::size_t>(axis)]);
      if (!tile.empty()) covered.push_back(tile);
      grid_.push_back(!blocks.empty() ? blocks
                      : covered.empty()
                          ? size_for(axis)
                          : fmt::format("ceil_div({}, {})", size_for(axis), join(covered, " * ")));
    }
  }

  static std::string quoted(const std::string& text) { return json_text(nlohmann::ordered_json(text)); }
  static std::string listed(std::vector<std::string> texts) {
    for (std::string& text : texts) text = quoted(text);
    return "[" + join(texts, ", ") + "]";
  }

  void line(const std::string& text) { text_ += text + "\n"; }

  /// A member that is a list, an element on each line.
  void list(const std::string& key, const std::vector<std::string>& elements,
            const std::string& indent = "  ") {
    line(fmt::format("{}\"{}\": [", indent, key));
    for (std::size_t i = 0; i < elements.size(); ++i)
      line(fmt::format("{}  {}{}", indent, elements[i], i + 1 < elements.size() ? "," : ""));
    line(indent + "],");
  }

  void write() {
    line("{");
    line("  \"name\": " + quoted(name_) + ",");
    line("  // decide: what the kernel computes, in one line.");
    line("  \"summary\": " + quoted(fmt::format("{} of {}", kernel_.name, source_)) + ",");
    if (is_product())
      line(
          "  // decide: this looks like a matrix product. Replace the object by \"operation\": \"gemm\" to "
          "have its reference and cuBLAS as the baseline.");
    if (!operations_.empty())
      line("  // Operations that come with tiletune: " + join(operations_, ", ") + ".");
    line("  \"operation\": {");
    write_operation();
    line("  },");
    line("  \"source\": " + quoted(source_) + ",");
    line("  \"kernel\": " + quoted(kernel_.name) + ",");
    write_tunables();
    line(fmt::format("  // decide: {}", kLaunchDecision));
    if (kernel_.dynamic_shared_line > 0)
      line(fmt::format("  // decide: the bytes of extern __shared__ in line {} of the source.",
                       kernel_.dynamic_shared_line));
    line(fmt::format(R"(  "launch": {{"grid": {}, "block": {}{}}},)", listed(grid_), listed(block_),
                     kernel_.dynamic_shared_line > 0 ? R"(, "dynamic_shared_bytes": "0")" : ""));
    for (const ConstantArray& array : facts_.constants)
      line(
          fmt::format("  // decide: what __constant__ {0} in line {1} of the source holds. Describe it as a "
                      "buffer with the role \"in\" and add \"constants\": {{\"{0}\": BUFFER}}.",
                      array.name, array.line));
    list("arguments", arguments_);
    text_.replace(text_.rfind(','), 1, "");
    line("}");
  }

  /// M, N and K, and A, B and C.
  bool is_product() const {
    const auto named = [](const auto& list, const char* name) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& one) { return squashed(one.name) == name; });
    };
    return named(sizes_, "m") && named(sizes_, "n") && named(sizes_, "k") && named(buffers_, "a") &&
           named(buffers_, "b") && named(buffers_, "c");
  }

  void write_operation() {
    std::vector<std::string> names;
    for (const auto& [name, size] : dimensions()) names.push_back(name);
    line(
        "    // decide: the problem's sizes. They were guessed from integer arguments, else from macros with "
        "large values.");
    line("    \"dimensions\": " + listed(names) + ",");
    if (!scalars_.empty()) {
      std::vector<std::string> members;
      for (const auto& [name, value] : scalars_)
        members.push_back(fmt::format("{}: {}", quoted(name), value));
      line("    // decide: the values of the scalars.");
      line("    \"scalars\": {" + join(members, ", ") + "},");
    }
    line("    \"buffers\": [");
    std::vector<std::string> bytes;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Buffer& buffer = buffers_[i];
      const std::string values =
          buffer.values.empty() ? "" : fmt::format(R"(, "values": "{}")", buffer.values);
      line(fmt::format(
          R"(      {{"name": "{}", "type": "{}", "elements": "{}", "role": "{}"{}}}{}  // decide: the number of elements{}{}.)",
          buffer.name, buffer.type, buffer.elements, buffer.role, values, i + 1 < buffers_.size() ? "," : "",
          buffer.sure ? "" : "; the role, guessed from how the source uses it",
          buffer.question.empty() ? "" : "; " + buffer.question));
      const bool is_sum = buffer.elements.find('+') != std::string::npos;
      bytes.push_back(fmt::format("{} * {}", buffer.bytes * (buffer.role == "inout" ? 2 : 1),
                                  is_sum ? "(" + buffer.elements + ")" : buffer.elements));
    }
    line("    ],");
    line("    // decide: the operations of one launch, or 0 where only memory counts.");
    line(R"(    "flops": "0",)");
    line("    // decide: the minimum number of bytes one launch must read and write.");
    line("    \"bytes\": " + quoted(join(bytes, " + ")) + ",");
    line("    // decide: how many terms are added up for one element of an output.");
    line(R"(    "accumulation": "1",)");
    line(R"(    // decide: "ffma" for FP32 arithmetic, "copy" where memory alone limits.)");
    line(R"(    "bound": "copy",)");
    line("    // decide: a kernel that computes the outputs in FP64. With \"none\" no result is verified.");
    line(R"(    "reference": "none")");
  }

  void write_tunables() {
    std::vector<std::string> macros, arguments, options, parameters, derived, constraints;
    const bool is_template = !kernel_.template_parameters.empty();
    const auto pass = [&](const std::string& name) {
      if (is_template)
        options.push_back(quoted(fmt::format("-D{0}={{{0}}}", name)));
      else
        macros.push_back(fmt::format("{0}: {0}", quoted(name)));
    };
    for (const Constant& one : constants_) {
      const std::string values = "[" + join(one.values, ", ") + "]";
      if (!one.is_tunable) {
        derived.push_back(fmt::format(
            R"({{"name": "{}", "value": "{}", "meaning": "as line {} of the source defines it"}})", one.name,
            one.values.front(), one.line));
        continue;
      }
      if (one.in_template)
        arguments.push_back(one.name);
      else
        pass(one.name);
      parameters.push_back(fmt::format(R"({{"name": "{}", "values": {}}})", one.name, values));
      findings_.push_back({"parameter", one.name, values, one.line});
    }
    for (const Size& size : sizes_) {
      if (size.macro && !is_template) pass(size.name);
      const auto value = size.fixed                  ? size.fixed
                         : size.macro && is_template ? std::optional(size.usual)
                                                     : std::nullopt;
      if (value)
        constraints.push_back(
            fmt::format(R"({{"require": "{} == {}", "why": "the source defines it"}})", size.name, *value));
    }
    if (std::any_of(block_.begin(), block_.end(), [](const std::string& text) {
          return std::isdigit(static_cast<unsigned char>(text[0])) == 0;
        }))
      constraints.push_back(
          fmt::format(R"({{"require": "{} <= 1024", "why": "a thread block has at most 1024 threads"}})",
                      join(block_, " * ")));
    if (!arguments.empty()) line("  \"template_arguments\": " + listed(arguments) + ",");
    if (!macros.empty()) line("  \"macros\": {" + join(macros, ", ") + "},");
    if (!options.empty()) line("  \"compile_options\": [" + join(options, ", ") + "],");
    if (!parameters.empty())
      line(
          "  // decide: the values to try. These values are placeholders; the source does not say which make "
          "sense.");
    list("parameters", parameters);
    if (!derived.empty()) list("derived", derived);
    line("  // decide: what else must hold, such as that a tile is a multiple of another one.");
    list("constraints", constraints);
  }

  std::vector<std::string> operations_;  ///< that come with tiletune
  std::string name_, source_;
  const SourceFacts& facts_;
  const KernelText& kernel_;
  const std::string& type_;
  const std::vector<ParameterType>& types_;
  std::vector<Buffer> buffers_;
  std::vector<Size> sizes_;
  std::optional<Size> total_;                         ///< a dimension that no argument is
  std::vector<std::pair<std::string, int>> scalars_;  ///< with their values
  std::vector<std::string> arguments_, block_, grid_;
  std::vector<Constant> constants_;  ///< the tunable ones first, then others that the launch may need
  std::vector<SourceFinding> findings_;
  std::string text_;
};

}  // namespace

std::vector<Decision> launch_first(std::vector<Decision> decisions) {
  std::stable_partition(decisions.begin(), decisions.end(),
                        [](const Decision& decision) { return decision.text == kLaunchDecision; });
  return decisions;
}

std::vector<Decision> decisions_in(const std::string& manifest) {
  static const std::string kMark = "// decide: ";
  std::vector<Decision> decisions;
  std::istringstream lines(manifest);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (const std::size_t at = line.find(kMark); at != std::string::npos)
      decisions.push_back({number, line.substr(at + kMark.size())});
  }
  return decisions;
}

std::vector<std::string> first_defines(const SourceFacts& facts) {
  std::vector<std::string> defines;
  for (const MacroText& macro : facts.macros) {
    if (macro.value) continue;
    defines.push_back(
        fmt::format("-D{}={}", macro.name, macro.compared_to.empty() ? 1 : *macro.compared_to.begin()));
  }
  return defines;
}

Draft draft_manifest(const std::string& name, const std::string& source, const SourceFacts& facts,
                     const KernelText& kernel, const Signature& signature,
                     const std::vector<std::string>& operations) {
  return Drafter(name, source, facts, kernel, signature, operations).draft();
}

}  // namespace tiletune
