#include "draft/source_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "draft/declarations.h"

namespace tiletune {

namespace {

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  const bool whole = suffix.find_first_not_of("uUlL") == std::string_view::npos;
  return error == std::errc() && whole ? std::optional(value) : std::nullopt;
}

/// The number that tokens from `at` on are, in brackets or not, and nothing else.
std::optional<std::int64_t> number_at(const SourceTokens& tokens, std::size_t at, std::size_t end) {
  while (at + 2 < end && tokens[at].is("(") && tokens[end - 1].is(")")) ++at, --end;
  return end == at + 1 && tokens[at].kind == SourceToken::Kind::number ? integer_of(tokens[at].text)
                                                                       : std::nullopt;
}

/// As a person writes it: "std::uint8_t", "unsigned char".
std::string compact_text(const SourceTokens& tokens, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin && tokens[i].is_name() && tokens[i - 1].is_name()) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

void set_default(TemplateParameter& parameter, const SourceTokens& tokens, std::size_t begin,
                 std::size_t end) {
  parameter.default_text = compact_text(tokens, begin, end);
  parameter.default_value = number_at(tokens, begin, end);
}

/// Splits [begin, end) at commas that stand in no brackets.
std::vector<std::pair<std::size_t, std::size_t>> split_list(const SourceTokens& tokens, std::size_t begin,
                                                            std::size_t end) {
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  int depth = 0;
  std::size_t start = begin;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string_view text = tokens[i].text;
    if (text == "(" || text == "[" || text == "{" || text == "<") ++depth;
    if (text == ")" || text == "]" || text == "}" || text == ">") --depth;
    if (text != "," || depth != 0) continue;
    parts.emplace_back(start, i);
    start = i + 1;
  }
  if (start < end) parts.emplace_back(start, end);
  return parts;
}

class KernelReader {
 public:
  KernelReader(const SourceTokens& code, std::size_t global, const std::string& file)
      : code_(code), global_(global), file_(file) {}

  /// None for a declaration, and for what is not a function.
  std::optional<KernelText> read() {
    const std::size_t open = read_head();
    if (open >= code_.size() || kernel_.name.empty()) return std::nullopt;
    const std::size_t close = behind_bracket(code_, open, code_.size());
    if (!code_[close - 1].is(")")) {
      throw UserError(fmt::format("the parameter list of the kernel '{}' is not closed", kernel_.name),
                      Where{file_, fmt::format("line {}", kernel_.line)}, "Add the missing ')'.");
    }
    read_parameters(open + 1, close - 1);
    std::size_t body = close;
    while (body < code_.size() && !code_[body].is("{") && !code_[body].is(";")) ++body;
    if (body >= code_.size() || code_[body].is(";")) return std::nullopt;
    // Text that is not closed belongs to one kernel all the same, so that reading all takes linear time.
    std::size_t next = body;
    while (next < code_.size() && !code_[next].is("__global__")) ++next;
    const std::size_t end = behind_bracket(code_, body, next);
    read_body(body, end);
    kernel_.indices = read_index_uses(code_, body, end, pointers_);
    return std::move(kernel_);
  }

 private:
  /// Attributes, a template's parameters and the name; the place of the parameter list.
  std::size_t read_head() {
    std::size_t begin = global_;
    while (begin > 0 && !code_[begin - 1].is(";") && !code_[begin - 1].is("}") && !code_[begin - 1].is("{"))
      --begin;
    for (std::size_t i = begin; i + 1 < code_.size();) {
      const SourceToken& token = code_[i];
      const bool opens = code_[i + 1].is("(");
      if (token.is("template") && code_[i + 1].is("<")) {
        const std::size_t end = behind_bracket(code_, i + 1, code_.size());
        read_template(i + 2, end - 1);
        i = end;
      } else if (token.is_name() && opens && token.text.starts_with("__")) {
        const std::size_t end = behind_bracket(code_, i + 1, code_.size());
        const auto parts = split_list(code_, i + 2, end - 1);
        if (token.is("__launch_bounds__") && !parts.empty())
          kernel_.launch_bounds = text_of(parts.front().first, parts.front().second);
        i = end;
      } else if (token.is_name() && opens && i > global_) {
        kernel_.name = std::string(token.text);
        kernel_.line = token.line;
        return i + 1;
      } else if (i > global_ && (token.is(";") || token.is("{") || token.is("}"))) {
        break;
      } else {
        ++i;
      }
    }
    return code_.size();
  }

  std::string text_of(std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) text.append(text.empty() ? "" : " ").append(code_[i].text);
    return text;
  }

  /// The last name before a default value or the bounds of an array.
  std::size_t name_in(std::size_t begin, std::size_t end) const {
    std::size_t name = end;
    for (std::size_t i = begin; i < end && !code_[i].is("=") && !code_[i].is("["); ++i)
      if (code_[i].is_name()) name = i;
    return name;
  }

  void read_template(std::size_t begin, std::size_t end) {
    for (const auto& [from, to] : split_list(code_, begin, end)) {
      const std::size_t name = name_in(from, to);
      if (name >= to) continue;
      TemplateParameter parameter{std::string(code_[name].text), text_of(from, name), "", std::nullopt,
                                  code_[name].line};
      if (name + 2 < to) set_default(parameter, code_, name + 2, to);
      kernel_.template_parameters.push_back(std::move(parameter));
    }
  }

  void read_parameters(std::size_t begin, std::size_t end) {
    for (const auto& [from, to] : split_list(code_, begin, end)) {
      if (to == from + 1 && code_[from].is("void")) continue;
      const std::size_t name = name_in(from, to);
      const bool named =
          name < to && name > from && !code_[name].is("__restrict__") && !code_[name].is("const");
      kernel_.parameter_names.push_back(named ? std::string(code_[name].text) : "");
      if (!named) continue;
      kernel_.uses[kernel_.parameter_names.back()];
      const auto points = [](const SourceToken& token) { return token.is("*") || token.is("["); };
      if (std::any_of(code_.begin() + static_cast<std::ptrdiff_t>(from),
                      code_.begin() + static_cast<std::ptrdiff_t>(to), points))
        pointers_.push_back(kernel_.parameter_names.back());
    }
  }

  void read_body(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!code_[i].is_name()) continue;
      const std::string_view index = code_[i].text;
      if (i + 2 < end && code_[i + 1].is(".") && (index == "threadIdx" || index == "blockIdx")) {
        int& axes = index == "threadIdx" ? kernel_.block_axes : kernel_.grid_axes;
        axes = std::max(axes, code_[i + 2].is("z") ? 3 : code_[i + 2].is("y") ? 2 : 1);
      }
      if (code_[i].is("extern") && i + 1 < end && code_[i + 1].is("__shared__") &&
          kernel_.dynamic_shared_line == 0)
        kernel_.dynamic_shared_line = code_[i].line;
      note_index(i, end);
      const auto use = kernel_.uses.find(std::string(index));
      if (use != kernel_.uses.end() && !code_[i - 1].is(".") && !code_[i - 1].is("->"))
        note_use(use->second, i, end);
    }
  }

  /// threadIdx.x, or a variable that is equal to it.
  struct Index {
    bool of_block;
    std::size_t axis;
    std::size_t end;  ///< the place behind it
  };

  std::optional<Index> index_at(std::size_t at, std::size_t end) const {
    if (at >= end) return std::nullopt;
    const bool of_block = code_[at].is("blockIdx");
    if ((of_block || code_[at].is("threadIdx")) && at + 2 < end && code_[at + 1].is(".")) {
      const std::string_view axis = code_[at + 2].text;
      if (axis == "x" || axis == "y" || axis == "z")
        return Index{of_block, static_cast<std::size_t>(axis[0] - 'x'), at + 3};
    }
    const auto alias = aliases_.find(code_[at].text);
    if (alias == aliases_.end()) return std::nullopt;
    return Index{alias->second.first, alias->second.second, at + 1};
  }

  /// The place of the first token that is no bracket of a cast.
  std::size_t behind_brackets(std::size_t at, std::size_t end) const {
    while (at < end && code_[at].is(")")) ++at;
    return at;
  }

  void note_index(std::size_t at, std::size_t end) {
    const auto compared = at + 3 < end ? indices_.find(code_[at].text) : indices_.end();
    if (compared != indices_.end() && (code_[at + 1].is("<") || code_[at + 1].is(">=")) &&
        code_[at + 2].is_name() && kernel_.bounds[compared->second].empty() &&
        (code_[at + 3].is(")") || code_[at + 3].is("&&") || code_[at + 3].is("||") || code_[at + 3].is(";")))
      kernel_.bounds[compared->second] = code_[at + 2].text;
    const auto index = index_at(at, end);
    if (!index) return;
    if (index->of_block) note_block_use(at, *index, end);
    if (at > 1 && code_[at - 1].is("=") && code_[at - 2].is_name() && index->end < end &&
        (code_[index->end].is(";") || code_[index->end].is(","))) {
      aliases_.insert_or_assign(code_[at - 2].text, std::pair(index->of_block, index->axis));
      return;
    }
    if (index->of_block) note_cover(at, *index, end);
  }

  /// Whether blockIdx.x stands alone, as in `row = blockIdx.x`, or is multiplied, and by what.
  void note_block_use(std::size_t at, const Index& block, std::size_t end) {
    BlockUse& use = kernel_.block_uses[block.axis];
    const bool is_direct = code_[at].is("blockIdx");
    use.seen = true;
    const std::size_t next = behind_brackets(block.end, end);
    std::size_t first = at;
    while (first > 0 && code_[first - 1].is("(")) --first;
    const std::string_view before = first > 0 ? code_[first - 1].text : "";
    const std::string_view after = next < end ? code_[next].text : "";
    if (after == "*" && next + 1 < end) {
      use.factors.emplace(code_[next + 1].text);
    } else if (before == "*" && first > 1) {
      use.factors.emplace(code_[first - 2].text);
    } else if (is_shifted(next, end) || after == "/" || after == "%" ||
               (is_direct && (after == "+" || before == "+" || before == ","))) {
      use.other = true;
    } else if ((after == "<" || after == ">=") && next + 1 < end && code_[next + 1].is_name() &&
               use.bound.empty()) {
      use.bound = code_[next + 1].text;
    }
  }

  bool is_shifted(std::size_t at, std::size_t end) const {
    return at < end && (code_[at].is("<<") || (code_[at].is("<") && at + 1 < end && code_[at + 1].is("<")));
  }

  /// Of blockIdx.x: NAME in its product, where threadIdx.x is added to that.
  void note_cover(std::size_t at, const Index& block, std::size_t end) {
    std::size_t next = behind_brackets(block.end, end);
    std::size_t first = at;
    std::size_t name = 0;
    if (next + 1 < end && code_[next].is("*") && code_[next + 1].is_name()) {
      name = next + 1;
    } else if (at > 2 && code_[at - 1].is("*")) {
      name = first = at - 2;
      if (at > 4 && code_[at - 3].is(".")) name = first = at - 4;
    }
    if (name == 0 || !code_[name].is_name()) return;
    const bool is_dim = code_[name].is("blockDim");
    if (name > at) next = name + (is_dim ? 3 : 1);
    next = behind_brackets(next, end);
    while (first > 0 && code_[first - 1].is("(")) --first;
    const bool is_sum = adds_thread(next, block.axis, end) || follows_thread(first, block.axis);
    if (!is_sum) return;
    if (!is_dim && kernel_.covered[block.axis].empty()) kernel_.covered[block.axis] = code_[name].text;
    std::size_t start = first;
    while (start > 1 && !code_[start].is("=") && !code_[start].is(";") && first - start < kLongestIndexStart)
      --start;
    if (start > 1 && code_[start].is("=") && code_[start - 1].is_name())
      indices_.insert_or_assign(code_[start - 1].text, block.axis);
  }

  /// + threadIdx.x
  bool adds_thread(std::size_t at, std::size_t axis, std::size_t end) const {
    if (at >= end || !code_[at].is("+")) return false;
    ++at;
    while (at < end && code_[at].is("(")) ++at;
    const auto thread = index_at(at, end);
    return thread && !thread->of_block && thread->axis == axis &&
           (thread->end >= end || !code_[thread->end].is("*"));
  }

  /// threadIdx.x +
  bool follows_thread(std::size_t at, std::size_t axis) const {
    if (at < 2 || !code_[at - 1].is("+")) return false;
    for (const std::size_t length : {std::size_t{3}, std::size_t{1}}) {
      if (at < length + 2) continue;
      const auto thread = index_at(at - 1 - length, at - 1);
      if (thread && thread->end == at - 1 && !thread->of_block && thread->axis == axis)
        return !code_[at - 2 - length].is("*");
    }
    return false;
  }

  void note_use(PointerUse& use, std::size_t name, std::size_t end) const {
    constexpr std::size_t kLongestIndex = 1000;  // tokens
    std::size_t next = name + 1;
    while (next < end && code_[next].is("["))
      next = behind_bracket(code_, next, std::min(end, next + kLongestIndex));
    const bool element = next > name + 1 || code_[name - 1].is("*");
    if (element && next + 1 < end && code_[next].is(".")) next += 2;  // a component of float4
    const std::string_view then = next < end ? code_[next].text : "";
    const bool assigned = element && then == "=";
    const bool updated =
        element && then.size() > 1 &&
        (then == "++" || then == "--" ||
         (then.ends_with("=") && then != "==" && then != "!=" && then != "<=" && then != ">="));
    const bool address = code_[name - 1].is("&") && element;
    use.written = use.written || assigned || updated;
    use.passed = use.passed || !element || address;
    use.read = use.read || (element && !assigned && !address);
  }

  static constexpr std::size_t kLongestIndexStart = 16;  // tokens
  const SourceTokens& code_;
  std::size_t global_;
  const std::string& file_;
  KernelText kernel_;
  std::vector<std::string> pointers_;                                 ///< among its parameters
  std::map<std::string_view, std::pair<bool, std::size_t>> aliases_;  ///< of threadIdx.x or blockIdx.x
  std::map<std::string_view, std::size_t> indices_;  ///< variables that count threads of the grid, with axes
};

class MacroReader {
 public:
  explicit MacroReader(const std::vector<SourceTokens>& directives) : directives_(directives) {
    for (const SourceTokens& directive : directives)
      if (directive.size() > 1 && directive[0].is("define")) defined_.emplace(directive[1].text, &directive);
  }

  std::vector<MacroText> read() {
    for (std::size_t i = 0; i < directives_.size(); ++i) {
      const SourceTokens& directive = directives_[i];
      if (directive[0].is("define") && directive.size() > 2) read_definition(i);
      const bool unroll = directive[0].is("pragma") && directive.size() > 1 && directive[1].is("unroll");
      if (!directive[0].is("if") && !directive[0].is("elif") && !unroll) continue;
      for (std::size_t at = 1; at < directive.size(); ++at) read_tested(directive, at);
    }
    return std::move(macros_);
  }

 private:
  MacroText& macro(std::string_view name, int line) {
    const auto [place, is_new] = places_.try_emplace(name, macros_.size());
    if (is_new) macros_.push_back({std::string(name), line, std::nullopt, false, {}});
    return macros_[place->second];
  }

  void read_definition(std::size_t i) {
    const SourceTokens& directive = directives_[i];
    const auto value = number_at(directive, 2, directive.size());
    if (!value) return;
    MacroText& found = macro(directive[1].text, directive[1].line);
    if (found.value) return;
    found.value = value;
    const SourceTokens& before = directives_[i == 0 ? 0 : i - 1];
    found.guarded = !before[0].is("define") && before.back().line < directive[0].line &&
                    (before[0].is("ifndef") || (before[0].is("if") && before.size() > 2 &&
                                                before[1].is("!") && before[2].is("defined"))) &&
                    std::any_of(before.begin(), before.end(),
                                [&](const SourceToken& token) { return token.is(directive[1].text); });
  }

  /// What `#define A B` stands for.
  std::string_view meant_by(std::string_view name) const {
    for (int depth = 0; depth < 8; ++depth) {
      const auto definition = defined_.find(name);
      if (definition == defined_.end() || definition->second->size() != 3 ||
          !definition->second->back().is_name())
        break;
      name = definition->second->back().text;
    }
    return name;
  }

  void read_tested(const SourceTokens& directive, std::size_t at) {
    const SourceToken& token = directive[at];
    const auto is_next = [&](std::size_t by, std::string_view text) {
      return at + by < directive.size() && directive[at + by].is(text);
    };
    if (!token.is_name() || token.is("unroll") || token.is("defined") || is_next(1, "(")) return;
    if (directive[at - 1].is("defined") || (at > 1 && directive[at - 2].is("defined"))) return;
    const std::string_view name = meant_by(token.text);
    const auto definition = defined_.find(name);
    const bool numeric = definition != defined_.end() &&
                         number_at(*definition->second, 2, definition->second->size()).has_value();
    if ((definition != defined_.end() && !numeric) || name.starts_with("_") || name.starts_with("CUDA"))
      return;
    MacroText& found = macro(name, token.line);
    if (is_next(1, "==") && at + 2 < directive.size())
      if (const auto value = integer_of(directive[at + 2].text)) found.compared_to.insert(*value);
  }

  const std::vector<SourceTokens>& directives_;
  std::map<std::string_view, const SourceTokens*> defined_;
  std::map<std::string_view, std::size_t> places_;
  std::vector<MacroText> macros_;
};

/// Neither called nor followed by another name, as a type is, wherever it stands.
std::map<std::string, int> value_names(const TokenizedSource& source) {
  std::map<std::string, int> names;
  std::set<std::string, std::less<>> others;
  const auto read = [&](const SourceTokens& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!tokens[i].is_name()) continue;
      const bool followed = i + 1 < tokens.size() &&
                            (tokens[i + 1].is_name() || tokens[i + 1].is("(") || tokens[i + 1].is("::"));
      if (followed) others.emplace(tokens[i].text);
      names.try_emplace(std::string(tokens[i].text), tokens[i].line);
    }
  };
  read(source.code);
  // "#pragma unroll N", "#define A (B)": the first name says what the directive is.
  for (const SourceTokens& directive : source.directives)
    if (directive[0].is("define") && directive.size() > 2)
      read(SourceTokens(directive.begin() + 2, directive.end()));
  for (const std::string& other : others) names.erase(other);
  return names;
}

/// Fills in, for parameters without defaults, what `template __global__ void k<float, 256>(...)` names.
void read_instantiation(const SourceTokens& code, const Declaration& declaration, SourceFacts& facts) {
  for (std::size_t i = declaration.begin + 1; i + 1 < declaration.end && !code[i].is("("); ++i) {
    if (!code[i + 1].is("<")) continue;
    const auto kernel = std::find_if(facts.kernels.begin(), facts.kernels.end(),
                                     [&](const KernelText& known) { return code[i].is(known.name); });
    if (kernel == facts.kernels.end()) return;
    const auto arguments = split_list(code, i + 2, behind_bracket(code, i + 1, declaration.end) - 1);
    auto& parameters = kernel->template_parameters;
    for (std::size_t place = 0; place < std::min(arguments.size(), parameters.size()); ++place)
      if (parameters[place].default_text.empty())
        set_default(parameters[place], code, arguments[place].first, arguments[place].second);
    return;
  }
}

/// __constant__ float NAME[16]; and extern __shared__ float NAME[];
void read_device_variable(const SourceTokens& code, const Declaration& declaration, SourceFacts& facts) {
  bool is_constant = false;
  for (std::size_t i = declaration.begin; i + 1 < declaration.end; ++i) {
    is_constant = is_constant || code[i].is("__constant__");
    if (code[i].is("extern") && code[i + 1].is("__shared__"))
      for (KernelText& kernel : facts.kernels) kernel.dynamic_shared_line = code[i].line;
    const bool ends_name = code[i + 1].is("[") || code[i + 1].is(";") || code[i + 1].is("=");
    if (!ends_name) continue;
    if (is_constant && code[i].is_name())
      facts.constants.push_back({std::string(code[i].text), code[i].line});
    return;
  }
}

/// const int NAME = 16;
std::optional<MacroText> constant_variable(const SourceTokens& code, const Declaration& declaration) {
  const auto begin = code.begin() + static_cast<std::ptrdiff_t>(declaration.begin);
  const auto end = code.begin() + static_cast<std::ptrdiff_t>(declaration.end);
  const auto equals = std::find_if(begin, end, [](const SourceToken& token) { return token.is("="); });
  if (end - equals < 3 || equals - begin < 3 || !(equals - 1)->is_name()) return std::nullopt;
  const bool is_constant = std::any_of(
      begin, equals, [](const SourceToken& token) { return token.is("const") || token.is("constexpr"); });
  const bool is_integer = std::none_of(
      begin, equals, [](const SourceToken& token) { return token.is("float") || token.is("double"); });
  const auto value =
      number_at(code, static_cast<std::size_t>(equals - code.begin()) + 1, declaration.end - 1);
  if (!is_constant || !is_integer || !value) return std::nullopt;
  return MacroText{std::string((equals - 1)->text), (equals - 1)->line, value, false, {}, true};
}

void read_declaration(const SourceTokens& code, const Declaration& declaration, SourceFacts& facts) {
  const SourceToken& first = code[declaration.begin];
  if (declaration.is_function) {
    for (KernelText& kernel : facts.kernels)
      if (declaration.name == kernel.name && kernel.scope.empty()) kernel.scope = declaration.scope;
  } else if (first.is("template") && !code[std::min(declaration.begin + 1, declaration.end - 1)].is("<")) {
    read_instantiation(code, declaration, facts);
  } else if (auto constant = constant_variable(code, declaration)) {
    facts.macros.push_back(std::move(*constant));
  } else {
    read_device_variable(code, declaration, facts);
  }
}

}  // namespace

SourceFacts read_source_facts(std::string_view text, const std::string& file) {
  constexpr int kMostKernels = 256;
  constexpr std::size_t kLongestText = std::size_t{256} << 10;
  if (text.size() > kLongestText)
    throw UserError(
        fmt::format("{} is too long for a kernel's file", human_bytes(text.size())), Where{file, ""},
        fmt::format("Copy the kernel into a file of its own, of at most {}.", human_bytes(kLongestText)));
  const TokenizedSource source = tokenize_source(text);
  SourceFacts facts;
  std::set<std::string> names;
  int found = 0;
  for (std::size_t i = 0; i < source.code.size(); ++i) {
    if (!source.code[i].is("__global__")) continue;
    if (++found > kMostKernels)
      throw UserError(fmt::format("more than {} kernels in one file", kMostKernels), Where{file, ""},
                      "Copy the kernel that you want to tune into a file of its own.");
    auto kernel = KernelReader(source.code, i, file).read();
    if (kernel && names.insert(kernel->name).second) facts.kernels.push_back(std::move(*kernel));
  }
  facts.macros = MacroReader(source.directives).read();
  for (const Declaration& declaration : read_declarations(source.code))
    read_declaration(source.code, declaration, facts);
  facts.value_names = value_names(source);
  return facts;
}

const KernelText& choose_kernel(const SourceFacts& facts, const std::string& name, const std::string& file) {
  std::vector<std::string> names;
  for (const KernelText& kernel : facts.kernels) names.push_back(kernel.name);
  if (names.empty())
    throw UserError("no __global__ function is defined here", Where{file, ""},
                    "Name the file that has the kernel's text.");
  if (name.empty() && names.size() == 1) return facts.kernels.front();
  if (name.empty())
    throw UserError(fmt::format("{} kernels are defined here: {}", names.size(), join(names, ", ")),
                    Where{file, ""},
                    fmt::format("Choose one with --kernel, such as --kernel {}. A template launches several "
                                "with \"launches\" (docs/template.md).",
                                names.front()));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw UserError(fmt::format("no kernel '{}' is defined here", name), Where{file, ""},
                    std::string(trim(suggestion(name, names))));
  return facts.kernels[static_cast<std::size_t>(found - names.begin())];
}

}  // namespace tiletune
