#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "author/init.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "space/parser.h"

namespace tiletune {

namespace {

using Numbers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

constexpr std::string_view kLaunchDecision =
    "the thread blocks and their threads. The guess follows names and the use of blockIdx and threadIdx.";

/// What a name says of a number that is fixed when the kernel is compiled.
enum class Role { other, flag, vector, grid, block, tile };

constexpr std::size_t kNoAxis = std::string::npos;

/// A number that is fixed when the kernel is compiled.
struct Constant {
  std::string name;
  int line;
  Role role;
  std::size_t axis;  ///< 0 for x; kNoAxis where the name has none
  Numbers numbers;   ///< to try
  Names words = {};  ///< JSON, in their place where it is no number
  bool in_template = false;
  bool is_tunable = true;  ///< else the source defines it for good

  Names values() const {
    Names texts = words;
    const std::set<std::int64_t> sorted(numbers.begin(), numbers.end());
    if (words.empty())
      for (const std::int64_t number : sorted) texts.push_back(std::to_string(number));
    return texts;
  }
};

struct Size {
  std::string name;
  std::int64_t usual;
  bool macro = false;                      ///< a macro that -D may replace
  std::optional<std::int64_t> fixed = {};  ///< by a macro that -D may not replace

  std::int64_t value() const { return fixed.value_or(usual); }
  /// It says how something is read rather than how much there is.
  bool is_small() const {
    return has_one_of(name, {"kernel", "filter", "radius", "halo", "pad", "stride", "dilat", "iter", "step",
                             "offset", "shift", "pass", "level", "seed", "border"});
  }
};

struct DraftBuffer {
  std::string name;
  ElementType type;
  std::string role, elements;
  int lanes;                  ///< of an element's type; of a struct its bytes
  bool constant;              ///< it is passed as a pointer to const
  bool sure;                  ///< of the role
  bool indexes;               ///< addresses are computed from what it holds
  std::string values = {};    ///< of the manifest; "": its default
  std::string question = {};  ///< about them

  std::string elements_of(const std::string& size) const {
    constexpr int kMostLanes = 4;
    return lanes > kMostLanes ? fmt::format("{} * {}", size, lanes)
           : lanes > 1        ? fmt::format("{} * {}", lanes, size)
                              : size;
  }
  bool holds_integers() const { return !is_floating(type); }
};

Role role_of(const std::string& name) {
  const auto has = [&](std::initializer_list<std::string_view> words) { return has_one_of(name, words); };
  if (has({"use", "enable", "readonly", "pad", "flag"})) return Role::flag;
  if (has({"vec"})) return Role::vector;
  if (has({"numblocks", "nblocks", "grid"})) return Role::grid;
  if (has({"perthread", "unroll", "items", "coarsen"})) return Role::vector;
  if (has({"per"}) && !has({"perblock"})) return Role::other;
  if (has({"block", "thread", "tpb"})) return Role::block;
  return has({"tile"}) ? Role::tile : Role::other;
}

std::string in_quotes(const std::string& text) { return json_text(nlohmann::ordered_json(text)); }

std::string listed(Names texts) {
  for (std::string& text : texts) text = in_quotes(text);
  return "[" + join(texts, ", ") + "]";
}

/// The elements of a list, each on a line behind `indent`.
std::string lines_of(const Names& elements, const std::string& indent = "\n    ") {
  return elements.empty() ? "" : indent + join(elements, "," + indent);
}

class Drafter {
 public:
  Drafter(const std::string& name, const std::string& source, const SourceFacts& facts,
          const KernelText& kernel, const Signature& signature)
      : name_(name), source_(source), facts_(facts), kernel_(kernel), signature_(signature) {
    collect_arguments();
    collect_constants();
    collect_sizes();
    choose_values();
    for (Constant& constant : constants_)
      if (constant.is_tunable) add_axis_values(constant);
    choose_launch();
  }

  Draft draft(const Names& operations) {
    Draft draft{manifest(operations), "", std::move(findings_)};
    for (const Size& size : dimensions())
      draft.problem += fmt::format("{}{}", draft.problem.empty() ? "" : "x", size.value());
    return draft;
  }

 private:
  UserError refusal(const std::string& what, const char* remedy) const {
    return {what, {source_, fmt::format("line {}", kernel_.line)}, remedy};
  }

  void collect_arguments() {
    if (signature_.parameters.empty())
      throw refusal(fmt::format("the kernel '{}' has no parameters, so that it has no output", kernel_.name),
                    "Pass what it reads and writes as pointers.");
    if (signature_.waits_for_grid)
      throw refusal(fmt::format("the kernel '{}' has a grid-wide barrier, such as grid.sync(), which needs a "
                                "cooperative launch",
                                kernel_.name),
                    "Cooperative launches are not supported: split the kernel there into two launches.");
    // A macro may stand for several parameters.
    const bool are_named = kernel_.parameter_names.size() == signature_.parameters.size();
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      const ParameterType& type = signature_.parameters[i];
      const std::string_view written = are_named ? kernel_.parameter_names[i] : std::string_view();
      const bool is_named = !written.empty() && (type.pointer || !space::is_reserved(written));
      const std::string name = is_named ? std::string(written) : fmt::format("argument_{}", i + 1);
      const PointerUse use = i < signature_.uses.size() ? signature_.uses[i] : PointerUse{.escaped = true};
      if (use.texture)
        throw refusal(
            fmt::format("parameter {}, '{}', is a texture or surface object, which is not supported "
                        "as an input",
                        i + 1, name),
            "Take a pointer to const instead, and read it with __ldg().");
      if (type.pointer) {
        buffers_.push_back(buffer_of(name, type, use));
        arguments_.push_back(fmt::format(R"({{"buffer": "{}"}})", name));
        continue;
      }
      if (!type.element || type.lanes != 1)
        throw refusal(
            fmt::format("parameter {}, '{}', has a type that a manifest cannot pass by value", i + 1, name),
            "Pass its members one by one, or describe a tensor map by hand (docs/template.md).");
      const std::string element(tiletune::name(*type.element));
      const bool is_size = !is_floating(*type.element) && size_bytes(*type.element) >= 4;
      arguments_.push_back(fmt::format(R"({{"scalar": "{}", "type": "{}"}})", name, element));
      if (is_size)
        sizes_.push_back({name, 0});
      else
        scalars_.emplace_back(name, is_floating(*type.element) ? 1 : 0);
      findings_.push_back({is_size ? "dimension" : "scalar", name, element, kernel_.line});
    }
    if (buffers_.empty())
      throw refusal(fmt::format("the kernel '{}' takes no pointer, so that it has no output", kernel_.name),
                    "Pass what it reads and writes as pointers.");
    const auto is_output = [](const DraftBuffer& buffer) { return buffer.role != "in"; };
    if (std::ranges::any_of(buffers_, is_output)) return;
    // Where nothing is written with first values, other values may make it an output.
    for (DraftBuffer& buffer : buffers_)
      if (!buffer.constant) buffer.role = "inout";
    if (std::ranges::none_of(buffers_, is_output))
      throw refusal(fmt::format("the kernel '{}' takes pointers to const alone, so that it has no output",
                                kernel_.name),
                    "Remove const from what it writes.");
  }

  static DraftBuffer buffer_of(const std::string& name, const ParameterType& type, const PointerUse& use) {
    const int lanes = type.element ? type.lanes : std::max(static_cast<int>(type.bytes), 1);
    DraftBuffer buffer{
        name,       type.element.value_or(ElementType::u8), "in", "", lanes, type.constant, !use.escaped,
        use.indexes};
    if (use.written || (use.escaped && !type.constant))
      buffer.role = use.read || use.escaped ? "inout" : "out";
    return buffer;
  }

  /// What stands in the manifest already.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const Constant& constant : constants_) names.insert(constant.name);
    for (const Size& size : sizes_) names.insert(size.name);
    for (const auto& scalar : scalars_) names.insert(scalar.first);
    for (const DraftBuffer& buffer : buffers_) names.insert(buffer.name);
    return names;
  }

  void collect_constants() {
    for (const TemplateParameter& parameter : kernel_.template_parameters) {
      Constant& one = constants_.emplace_back(
          tunable({parameter.name, parameter.line, parameter.default_value, true, {}}));
      one.in_template = true;
      if (parameter.is_type())
        one.words = {in_quotes(parameter.default_text.empty() ? signature_.type : parameter.default_text)};
      if (parameter.type == "bool") one.words = {"false", "true"};
    }
    const bool sizes_are_passed = !sizes_.empty();
    std::set<std::string> known = names();
    for (const auto* const macros : {&facts_.macros, &signature_.undefined})
      for (const MacroText& macro : *macros)
        if (!signature_.overridden.contains(macro.name) && known.insert(macro.name).second)
          collect_macro(macro, sizes_are_passed);
    // What can be tuned is chosen first for the launch.
    std::stable_partition(constants_.begin(), constants_.end(), std::mem_fn(&Constant::is_tunable));
  }

  void collect_macro(const MacroText& macro, bool sizes_are_passed) {
    constexpr std::int64_t kLeastSize = 512;
    // WARP_SIZE and FULL_MASK have one value.
    if (macro.value && (has_one_of(macro.name, {"warpsize"}) || squashed(macro.name).ends_with("mask")))
      return;
    const Role role = role_in_kernel(macro.name);
    if (!sizes_are_passed && macro.value.value_or(0) >= kLeastSize && role == Role::other) {
      sizes_.push_back({macro.name, *macro.value, macro.guarded, macro.guarded ? std::nullopt : macro.value});
      findings_.push_back({"dimension", macro.name, std::to_string(*macro.value), macro.line});
      return;
    }
    if (!macro.value || macro.guarded) return constants_.push_back(tunable(macro));
    const std::string remedy =
        macro.is_variable ? "replace it with a macro or a template parameter to tune it"
                          : fmt::format("put it between #ifndef {} and #endif to tune it", macro.name);
    findings_.push_back({"constant", macro.name, fmt::format("{}; {}", *macro.value, remedy), macro.line});
    if (role != Role::other)
      constants_.push_back(
          {macro.name, macro.line, role, axis_in_kernel(macro.name, role), {*macro.value}, {}, false, false});
  }

  /// What the kernel multiplies blockIdx.x by and adds threadIdx.x to is the number of threads.
  Role role_in_kernel(const std::string& name) const {
    return std::ranges::count(kernel_.covered, name) > 0 ? Role::block : role_of(name);
  }

  std::size_t axis_in_kernel(const std::string& name, Role role) const {
    const auto count = std::ranges::count(kernel_.covered, name);
    if (count == 1)
      return static_cast<std::size_t>(std::ranges::find(kernel_.covered, name) - kernel_.covered.begin());
    // block_size_x, blockDimX, TILE_Y
    const std::string plain = squashed(name);
    const char last = plain.empty() ? ' ' : plain.back();
    const bool set_off = name.size() > 1 && (name[name.size() - 2] == '_' || role != Role::other);
    const bool has_axis = count == 0 && set_off && last >= 'x' && last <= 'z';
    return has_axis ? static_cast<std::size_t>(last - 'x') : kNoAxis;
  }

  Constant tunable(const MacroText& macro) const {
    const Role role = role_in_kernel(macro.name);
    Numbers values(macro.compared_to.begin(), macro.compared_to.end());
    if (role == Role::flag || (!values.empty() && values.back() <= 1 && values.front() >= 0)) values = {0, 1};
    if (values.empty() && (role == Role::vector || (role == Role::other && !macro.value))) values = {1, 2, 4};
    if (role == Role::grid) values = {64, 128, 256, 512};
    if (macro.value) values.push_back(*macro.value);
    return {macro.name, macro.line, role, axis_in_kernel(macro.name, role), std::move(values)};
  }

  /// Threads and tiles have other values in two dimensions than in one. What the source says comes to them.
  void add_axis_values(Constant& one) const {
    const auto add = [&](const Numbers& more) {
      one.numbers.insert(one.numbers.end(), more.begin(), more.end());
    };
    if (one.axis != kNoAxis && one.axis >= kernel_.block_axes) {
      if (one.numbers.empty()) add({1});
    } else if (one.role == Role::block) {
      add(kernel_.block_axes == 1 ? Numbers{64, 128, 256, 512}
          : one.axis == kNoAxis   ? Numbers{8, 16, 32}
          : one.axis == 0         ? Numbers{16, 32, 64}
                                  : Numbers{2, 4, 8});
    } else if (one.role == Role::tile) {
      add(has_block() ? Numbers{1, 2, 4} : Numbers{8, 16, 32});
    }
  }

  bool has_block() const {
    return std::ranges::find(constants_, Role::block, &Constant::role) != constants_.end();
  }

  void collect_sizes() {
    if (sizes_.empty()) sizes_.push_back({"n", 0});
    const auto large = std::ranges::count_if(sizes_, std::not_fn(&Size::is_small));
    const std::int64_t usual = large > 1               ? 1 << std::max<std::ptrdiff_t>(24 / large, 1)
                               : kernel_.grid_axes > 1 ? 4096
                                                       : 1 << 22;
    for (Size& size : sizes_)
      if (size.usual == 0) size.usual = large > 0 && size.is_small() ? 1 : usual;
    // The only size of something with rows is that of a square.
    const bool is_square = sizes_.size() == 1 && kernel_.grid_axes > 1;
    const std::string product = all_sizes() + (is_square ? " * " + all_sizes() : "");
    for (DraftBuffer& buffer : buffers_) buffer.elements = buffer.elements_of(product);
  }

  /// The manifest's dimensions and the first problem.
  std::vector<Size> dimensions() const {
    std::vector<Size> all = sizes_;
    if (total_) all.push_back(*total_);
    return all;
  }

  DraftBuffer* find_buffer(const std::string& name) {
    const auto found = std::ranges::find(buffers_, name, &DraftBuffer::name);
    return found == buffers_.end() ? nullptr : &*found;
  }

  /// Null where no size has that name.
  const Size* find_size(const std::string& name) const {
    const auto found = std::ranges::find(sizes_, name, &Size::name);
    return found == sizes_.end() ? nullptr : &*found;
  }

  /// The product of those that say how much there is.
  std::string all_sizes() const {
    Names names;
    const bool are_all_small = std::ranges::all_of(sizes_, &Size::is_small);
    for (const Size& size : sizes_)
      if (are_all_small || !size.is_small()) names.push_back(size.name);
    return join(names, " * ");
  }

  std::vector<IndexUse> uses_of(const std::string& name) const {
    std::vector<IndexUse> uses;
    for (const IndexUse& use : kernel_.indices.uses)
      if (use.array == name) uses.push_back(use);
    return uses;
  }

  static std::string places_of(const std::vector<IndexUse>& uses) {
    Names places;
    for (const IndexUse& use : uses) places.push_back(fmt::format("{} (line {})", use.indexed, use.line));
    return join(places, ", ");
  }

  /// What integers hold that the source uses as indices: numbers of elements of what they point into.
  void choose_values() {
    for (DraftBuffer& buffer : buffers_)
      if (buffer.holds_integers() && buffer.role == "in") delimit(buffer);
    for (DraftBuffer& buffer : buffers_) {
      if (buffer.holds_integers() && buffer.role != "out" && buffer.values.empty()) set_indices(buffer);
      std::string guess = fmt::format("{}, {}", tiletune::name(buffer.type), buffer.role);
      if (!buffer.values.empty()) guess += ", " + buffer.values;
      findings_.push_back({"buffer", buffer.name, guess, kernel_.line});
    }
  }

  /// Starts of rows: an element and the next one tell where a row begins and ends in other arrays.
  void delimit(DraftBuffer& starts) {
    const auto neighbours = kernel_.indices.neighbours.find(starts.name);
    const std::vector<IndexUse> uses = uses_of(starts.name);
    if (neighbours == kernel_.indices.neighbours.end() || uses.empty()) return;
    for (const IndexUse& use : uses) {
      const bool adds = use.form == IndexForm::whole || use.form == IndexForm::sum;
      const DraftBuffer* const rows = find_buffer(use.indexed);
      if (!adds || rows == nullptr || rows == &starts) return;
    }
    const Size* const rows = find_size(neighbours->second);
    if (!total_) {  // The dimension counts the elements of all rows.
      constexpr std::int64_t kPerRow = 8;
      const std::set<std::string> taken = names();
      std::string name = "total";
      while (taken.contains(name)) name += "_";
      total_ = Size{name, kPerRow * (rows == nullptr ? sizes_.front() : *rows).value()};
      findings_.push_back({"dimension", name, "elements of all rows", kernel_.line});
    }
    starts.elements = fmt::format("{} + 1", rows == nullptr ? starts.elements : rows->name);
    starts.values = fmt::format("offsets({})", at_most_of(starts, total_->name, 0));
    starts.question = fmt::format("the values, which are starts of rows in {}: {} is where the last one ends",
                                  places_of(uses), total_->name);
    for (const IndexUse& use : uses) {
      DraftBuffer& delimited = *find_buffer(use.indexed);
      delimited.elements = delimited.elements_of(total_->name);
    }
  }

  /// How many indices do not lead out of what they point into; none where the source does not show it.
  std::optional<std::string> range_of(const IndexUse& use) {
    const DraftBuffer* const indexed = find_buffer(use.indexed);
    if (indexed == nullptr || indexed->lanes > 1) return std::nullopt;
    if (use.form == IndexForm::whole) return indexed->elements;
    if (use.form != IndexForm::scaled) return std::nullopt;
    Names rest;
    for (const std::string& size : split(indexed->elements, ' '))
      if (size != "*") rest.push_back(size);
    const auto factor = std::ranges::find(rest, use.factor);
    if (factor == rest.end() || rest.size() < 2) return std::nullopt;
    rest.erase(factor);
    return join(rest, " * ");
  }

  /// The expression, or how many numbers a narrow type has from 0 on; one of the two more than the last.
  static std::string at_most_of(const DraftBuffer& buffer, const std::string& text, int more) {
    constexpr std::size_t kWide = 4;
    if (size_bytes(buffer.type) >= kWide) return text;
    const auto last = static_cast<int>(tiletune::range_of(buffer.type).highest);
    return fmt::format("min({}, {})", text, last + more);
  }

  void set_indices(DraftBuffer& buffer) {
    const std::vector<IndexUse> uses = uses_of(buffer.name);
    if (uses.empty()) {
      if (!buffer.indexes) return;
      buffer.values = "constant(0)";
      buffer.question = "the values, which the kernel uses as indices. 0 is within bounds";
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
      buffer.question += ". Their range does not follow from the source; 0 is within bounds";
      return;
    }
    std::string least = *ranges.begin();
    for (const std::string& range : ranges)
      if (range != least) least = fmt::format("min({}, {})", least, range);
    buffer.values = fmt::format("randint(0, {})", at_most_of(buffer, least, 1));
  }

  /// The constant of a role along an axis; one whose name has no axis stands for all.
  std::string name_for(Role role, std::size_t axis) const {
    for (const std::size_t wanted : {axis, kNoAxis}) {
      for (const Constant& constant : constants_)
        if (constant.role == role && constant.axis == wanted) return constant.name;
    }
    return "";
  }

  std::string size_for(std::size_t axis) const {
    if (const Size* bound = find_size(kernel_.bounds.at(axis))) return bound->name;
    if (kernel_.grid_axes == 1) return all_sizes();
    const auto points_to = [&](const Size& size) {
      const std::string plain = squashed(size.name);
      return axis == 0
                 ? has_one_of(plain, {"width", "col", "nx"}) || plain == "n" || plain == "w" || plain == "x"
                 : has_one_of(plain, {"height", "row", "ny"}) || plain == "m" || plain == "h" || plain == "y";
    };
    const auto found = axis > 1 ? sizes_.end() : std::ranges::find_if(sizes_, points_to);
    if (found != sizes_.end()) return found->name;
    return sizes_.size() > axis ? sizes_[sizes_.size() - 1 - axis].name : sizes_.front().name;
  }

  /// The size that runs along an axis where each of its blocks works on an index of its own, as in
  /// `row = blockIdx.x`: what the index is compared with, else of the only axis the first that is not its
  /// stride. "" where blockIdx is multiplied by other things than sizes, which are strides.
  std::string size_of_index(std::size_t axis) const {
    const BlockUse& use = kernel_.block_uses.at(axis);
    const auto is_size = [&](const std::string& factor) { return find_size(factor) != nullptr; };
    if (!use.seen || use.other || !std::ranges::all_of(use.factors, is_size)) return "";
    if (is_size(use.bound)) return use.bound;
    if (kernel_.grid_axes > 1) return size_for(axis);
    const auto first =
        std::ranges::find_if(sizes_, [&](const Size& size) { return !use.factors.contains(size.name); });
    return first == sizes_.end() ? sizes_.front().name : first->name;
  }

  /// What launch bounds say of each axis; nothing where they do not consist of numbers, names of the
  /// manifest and products alone.
  Names launch_bounds() const {
    const std::string& bounds = kernel_.launch_bounds;
    if (bounds.empty()) return {};
    for (const std::string& word : split(bounds, ' ')) {
      const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number && word != "*" &&
          std::ranges::find(constants_, word, &Constant::name) == constants_.end())
        return {};
    }
    Names axes = kernel_.block_axes == 1 ? Names{bounds} : split(bounds, '*');
    return axes.size() == kernel_.block_axes ? axes : Names{};
  }

  /// The least value of a constant, or a number.
  std::int64_t least_of(const std::string& text) const {
    const auto constant = std::ranges::find(constants_, text, &Constant::name);
    if (constant != constants_.end() && !constant->numbers.empty())
      return std::ranges::min(constant->numbers);
    return parsed_number<std::int64_t>(text).value_or(1);
  }

  void choose_launch() {
    constexpr std::int64_t kUsualLimit = 1024;  // threads of a block, on every GPU so far
    constexpr std::array<std::array<const char*, 3>, 3> kUsual{
        {{"256", "", ""}, {"32", "8", ""}, {"8", "8", "4"}}};
    const Names bounds = launch_bounds();
    bool tiles_are_blocks = false;
    for (std::size_t axis = 0; axis < kernel_.block_axes; ++axis) {
      std::string threads = name_for(Role::block, axis);
      if (threads.empty() && !bounds.empty()) threads = std::string(trim(bounds[axis]));
      if (threads.empty() && kernel_.block_axes > 1) {
        threads = name_for(Role::tile, axis);
        tiles_are_blocks = tiles_are_blocks || !threads.empty();
      }
      block_.push_back(threads.empty() ? kUsual.at(kernel_.block_axes - 1).at(axis) : threads);
    }
    std::int64_t least_threads = 1;
    for (const std::string& threads : block_)
      least_threads *= std::clamp<std::int64_t>(least_of(threads), 1, kUsualLimit);
    for (std::size_t axis = 0; axis < block_.size() && least_threads > kUsualLimit; ++axis)
      block_[axis] = kUsual.at(kernel_.block_axes - 1).at(axis);
    for (std::size_t axis = 0; axis < kernel_.grid_axes; ++axis) {
      const std::string tile =
          tiles_are_blocks || !kernel_.covered.at(axis).empty() ? "" : name_for(Role::tile, axis);
      grid_.push_back(blocks_along(axis, tile, !bounds.empty() && !has_block() && !tile.empty()));
    }
  }

  /// `is_whole`: the tile says what a block covers; else each of its threads covers one.
  std::string blocks_along(std::size_t axis, const std::string& tile, bool is_whole) const {
    if (std::string blocks = name_for(Role::grid, 0); axis == 0 && !blocks.empty()) return blocks;
    if (std::string size = size_of_index(axis); !size.empty()) return size;
    Names covered;
    if (axis < block_.size() && !is_whole) covered.push_back(block_[axis]);
    if (!tile.empty()) covered.push_back(tile);
    return covered.empty() ? size_for(axis)
                           : fmt::format("ceil_div({}, {})", size_for(axis), join(covered, " * "));
  }

  std::string manifest(const Names& operations) {
    Names hints;
    if (is_product())
      hints.emplace_back(
          "decide: this looks like a matrix product. Replace the object by \"operation\": \"gemm\" to have "
          "its "
          "reference and cuBLAS as the baseline.");
    if (!operations.empty())
      hints.push_back("Operations that come with tiletune: " + join(operations, ", ") + ".");
    Names memory;
    if (kernel_.dynamic_shared_line > 0)
      memory.push_back(fmt::format("decide: the bytes of extern __shared__ in line {} of the source.",
                                   kernel_.dynamic_shared_line));
    Names constants;
    for (const ConstantArray& array : facts_.constants)
      constants.push_back(fmt::format(
          "decide: what __constant__ {0} in line {1} of the source holds. Describe it as a buffer "
          "with the role \"in\" and add \"constants\": {{\"{0}\": BUFFER}}.",
          array.name, array.line));
    using fmt::arg;
    return fmt::format(
        R"({{
  "name": {name},
  // decide: what the kernel computes, in one line.
  "summary": {summary},{hints}
  "operation": {{
{operation}
  }},
  "source": {source},
  "kernel": {kernel},
{tunables}
  // decide: {launch}{memory}
  "launch": {{"grid": {grid}, "block": {block}{bytes}}},{constants}
  "arguments": [{arguments}
  ]
}}
)",
        arg("name", in_quotes(name_)),
        arg("summary", in_quotes(fmt::format("{} of {}", kernel_.name, source_))),
        arg("hints", comments(hints)), arg("operation", operation()), arg("source", in_quotes(source_)),
        arg("kernel", in_quotes(kernel_.name)), arg("tunables", tunables()), arg("launch", kLaunchDecision),
        arg("memory", comments(memory)), arg("grid", listed(grid_)), arg("block", listed(block_)),
        arg("bytes", memory.empty() ? "" : R"(, "dynamic_shared_bytes": "0")"),
        arg("constants", comments(constants)), arg("arguments", lines_of(arguments_)));
  }

  static std::string comments(const Names& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += "\n  // " + text;
    return lines;
  }

  /// M, N and K, and A, B and C.
  bool is_product() const {
    const auto named = [](const auto& list, std::initializer_list<std::string> names) {
      return std::ranges::all_of(names, [&](const std::string& name) {
        return std::ranges::any_of(list, [&](const auto& one) { return squashed(one.name) == name; });
      });
    };
    return named(sizes_, {"m", "n", "k"}) && named(buffers_, {"a", "b", "c"});
  }

  std::string operation() const {
    Names dimension_names, scalars, buffers, bytes;
    for (const Size& size : dimensions()) dimension_names.push_back(size.name);
    for (const auto& [name, value] : scalars_)
      scalars.push_back(fmt::format("{}: {}", in_quotes(name), value));
    for (const DraftBuffer& buffer : buffers_) {
      const std::string values =
          buffer.values.empty() ? "" : fmt::format(R"(, "values": "{}")", buffer.values);
      buffers.push_back(
          fmt::format(R"({{"name": "{}", "type": "{}", "elements": "{}", "role": "{}"{}}}{}  // decide: the )"
                      "number of elements{}{}.",
                      buffer.name, tiletune::name(buffer.type), buffer.elements, buffer.role, values,
                      &buffer == &buffers_.back() ? "" : ",",
                      buffer.sure ? "" : "; the role, because the kernel passes the array's address on",
                      buffer.question.empty() ? "" : "; " + buffer.question));
      const bool is_sum = buffer.elements.find('+') != std::string::npos;
      bytes.push_back(fmt::format("{} * {}", size_bytes(buffer.type) * (buffer.role == "inout" ? 2 : 1),
                                  is_sum ? "(" + buffer.elements + ")" : buffer.elements));
    }
    const std::string members = "    // decide: the values of the scalars.\n    \"scalars\": {";
    return fmt::format(R"(    // decide: the problem's sizes. {}
    "dimensions": {},
{}    "buffers": [
      {}
    ],
    // decide: the operations of one launch, or 0 where only memory counts.
    "flops": "0",
    // decide: the minimum number of bytes one launch must read and write.
    "bytes": {},
    // decide: how many terms are added up for one element of an output.
    "accumulation": "1",
    // decide: "ffma" for FP32 arithmetic, "copy" where memory alone limits.
    "bound": "copy",
    // decide: a kernel that computes the outputs in FP64. With "none" no result is verified.
    "reference": "none")",
                       "They were guessed from integer arguments, else from macros with large values.",
                       listed(dimension_names), scalars.empty() ? "" : members + join(scalars, ", ") + "},\n",
                       join(buffers, "\n      "), in_quotes(join(bytes, " + ")));
  }

  std::string tunables() {
    Names macros, arguments, options, parameters, derived, constraints;
    const bool is_template = !kernel_.template_parameters.empty();
    const auto pass = [&](const std::string& name) {
      if (is_template)
        options.push_back(in_quotes(fmt::format("-D{0}={{{0}}}", name)));
      else
        macros.push_back(fmt::format("{0}: {0}", in_quotes(name)));
    };
    for (const Constant& one : constants_) {
      const std::string values = "[" + join(one.values(), ", ") + "]";
      if (!one.is_tunable) {
        derived.push_back(fmt::format(
            R"({{"name": "{}", "value": "{}", "meaning": "as line {} of the source defines it"}})", one.name,
            one.numbers.front(), one.line));
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
      if (size.fixed || (size.macro && is_template))
        constraints.push_back(fmt::format(R"({{"require": "{} == {}", "why": "the source defines it"}})",
                                          size.name, size.value()));
    }
    const auto is_named = [](const std::string& text) { return !is_digit(text[0]); };
    if (std::ranges::any_of(block_, is_named))
      constraints.push_back(
          fmt::format(R"({{"require": "{} <= 1024", "why": "a thread block has at most 1024 threads"}})",
                      join(block_, " * ")));
    std::string text;
    if (!arguments.empty()) text += "  \"template_arguments\": " + listed(arguments) + ",\n";
    if (!macros.empty()) text += "  \"macros\": {" + join(macros, ", ") + "},\n";
    if (!options.empty()) text += "  \"compile_options\": [" + join(options, ", ") + "],\n";
    if (!parameters.empty())
      text +=
          "  // decide: the values to try. These values are placeholders; the source does not say which make "
          "sense.\n";
    text += "  \"parameters\": [" + lines_of(parameters) + "\n  ],\n";
    if (!derived.empty()) text += "  \"derived\": [" + lines_of(derived) + "\n  ],\n";
    return text + "  // decide: what else must hold, such as that a tile is a multiple of another one.\n" +
           "  \"constraints\": [" + lines_of(constraints) + "\n  ],";
  }

  const std::string &name_, &source_;
  const SourceFacts& facts_;
  const KernelText& kernel_;
  const Signature& signature_;
  std::vector<DraftBuffer> buffers_;
  std::vector<Size> sizes_;
  std::optional<Size> total_;                         ///< a dimension that no argument is
  std::vector<std::pair<std::string, int>> scalars_;  ///< with their values
  Names arguments_, block_, grid_;
  std::vector<Constant> constants_;  ///< the tunable ones first, then others that the launch may need
  std::vector<SourceFinding> findings_;
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

Draft draft_manifest(const std::string& name, const std::string& source, const SourceFacts& facts,
                     const KernelText& kernel, const Signature& signature, const Names& operations) {
  return Drafter(name, source, facts, kernel, signature).draft(operations);
}

}  // namespace tiletune
