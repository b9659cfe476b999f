#include "author/source_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "author/tokens.h"
#include "base/error.h"
#include "base/text.h"

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

/// The number that tokens are, in brackets or not, and nothing else.
std::optional<std::int64_t> number_of(TokenRange tokens) {
  while (tokens.end() - tokens.begin() > 2 && tokens.is(tokens.begin(), "(") &&
         tokens.is(tokens.end() - 1, ")"))
    tokens = tokens.part(tokens.begin() + 1, tokens.end() - 1);
  const bool is_number =
      tokens.end() == tokens.begin() + 1 && tokens[tokens.begin()].kind == SourceToken::Kind::number;
  return is_number ? integer_of(tokens.text(tokens.begin())) : std::nullopt;
}

/// What #define gives a name.
TokenRange definition_of(const SourceTokens& directive) { return {directive, 2, directive.size()}; }

/// As a person writes it: "std::uint8_t", "unsigned char".
std::string compact_text(const TokenRange& tokens) {
  std::string text;
  for (std::size_t i = tokens.begin(); i < tokens.end(); ++i) {
    if (tokens.is_name(i) && tokens.is_name(i - 1)) text += ' ';
    text += tokens.text(i);
  }
  return text;
}

void set_default(TemplateParameter& parameter, const TokenRange& tokens) {
  parameter.default_text = compact_text(tokens);
  parameter.default_value = number_of(tokens);
}

class KernelReader {
 public:
  KernelReader(const SourceTokens& code, std::size_t global, const std::string& file)
      : code_(code), body_(code, 0, 0), global_(global), file_(file) {}

  /// None for a declaration, and for what is not a function.
  std::optional<KernelText> read() {
    const std::size_t open = read_head();
    if (open >= code_.end() || kernel_.name.empty()) return std::nullopt;
    const std::size_t close = code_.behind_bracket(open);
    if (!code_.is(close - 1, ")")) {
      throw UserError(fmt::format("the parameter list of the kernel '{}' is not closed", kernel_.name),
                      Where{file_, fmt::format("line {}", kernel_.line)}, "Add the missing ')'.");
    }
    read_parameters(code_.part(open + 1, close - 1));
    const std::size_t body = code_.find({"{", ";"}, close);
    if (!code_.is(body, "{")) return std::nullopt;
    // Text that is not closed belongs to one kernel all the same, so that reading all takes linear time.
    const std::size_t next = code_.find({"__global__"}, body);
    body_ = code_.part(body, code_.behind_bracket(body, next));
    read_body();
    kernel_.indices = read_index_uses(body_, pointers_);
    return std::move(kernel_);
  }

 private:
  /// Attributes, a template's parameters and the name; the place of the parameter list.
  std::size_t read_head() {
    std::size_t begin = global_;
    while (begin > 0 && !code_.is_one_of(begin - 1, {";", "}", "{"})) --begin;
    for (std::size_t i = begin; i + 1 < code_.end();) {
      const bool calls = code_.is_name(i) && code_.is(i + 1, "(");
      if (code_.is(i, "template") && code_.is(i + 1, "<")) {
        const std::size_t end = code_.behind_bracket(i + 1);
        read_template(code_.part(i + 2, end - 1));
        i = end;
      } else if (calls && code_.text(i).starts_with("__")) {
        const std::size_t end = code_.behind_bracket(i + 1);
        const auto arguments = code_.part(i + 2, end - 1).list();
        if (code_.is(i, "__launch_bounds__") && !arguments.empty())
          kernel_.launch_bounds = arguments.front().spaced_text();
        i = end;
      } else if (calls && i > global_) {
        kernel_.name = std::string(code_.text(i));
        kernel_.line = code_[i].line;
        return i + 1;
      } else if (i > global_ && code_.is_one_of(i, {";", "{", "}"})) {
        break;
      } else {
        ++i;
      }
    }
    return code_.end();
  }

  /// The last name before a default value or the bounds of an array; the end where there is none.
  static std::size_t name_in(const TokenRange& parameter) {
    std::size_t name = parameter.end();
    const std::size_t end = parameter.find({"=", "["}, parameter.begin());
    for (std::size_t i = parameter.begin(); i < end; ++i)
      if (parameter.is_name(i)) name = i;
    return name;
  }

  void read_template(const TokenRange& parameters) {
    for (const TokenRange& one : parameters.list()) {
      const std::size_t name = name_in(one);
      if (name >= one.end()) continue;
      TemplateParameter parameter{std::string(one.text(name)), one.part(one.begin(), name).spaced_text(), "",
                                  std::nullopt, one[name].line};
      if (name + 2 < one.end()) set_default(parameter, one.part(name + 2, one.end()));
      kernel_.template_parameters.push_back(std::move(parameter));
    }
  }

  void read_parameters(const TokenRange& parameters) {
    for (const TokenRange& one : parameters.list()) {
      if (one.end() == one.begin() + 1 && one.is(one.begin(), "void")) continue;
      const std::size_t name = name_in(one);
      const bool named =
          name < one.end() && name > one.begin() && !one.is_one_of(name, {"__restrict__", "const"});
      kernel_.parameter_names.push_back(named ? std::string(one.text(name)) : "");
      if (!named) continue;
      kernel_.uses[kernel_.parameter_names.back()];
      if (one.has({"*", "["})) pointers_.push_back(kernel_.parameter_names.back());
    }
  }

  void read_body() {
    for (std::size_t i = body_.begin(); i < body_.end(); ++i) {
      if (!body_.is_name(i)) continue;
      if (body_.is_one_of(i, {"threadIdx", "blockIdx"}) && body_.is(i + 1, ".")) {
        int& axes = body_.is(i, "threadIdx") ? kernel_.block_axes : kernel_.grid_axes;
        axes = std::max(axes, body_.is(i + 2, "z") ? 3 : body_.is(i + 2, "y") ? 2 : 1);
      }
      if (body_.is(i, "extern") && body_.is(i + 1, "__shared__") && kernel_.dynamic_shared_line == 0)
        kernel_.dynamic_shared_line = body_[i].line;
      note_index(i);
      const auto use = kernel_.uses.find(std::string(body_.text(i)));
      if (use != kernel_.uses.end() && !body_.is_member(i)) note_use(use->second, i);
    }
  }

  /// threadIdx.x, or a variable that is equal to it.
  struct Index {
    bool of_block;
    std::size_t axis;
    std::size_t end;  ///< the place behind it
  };

  std::optional<Index> index_at(std::size_t at) const {
    const bool is_direct = body_.is_one_of(at, {"blockIdx", "threadIdx"}) && body_.is(at + 1, ".");
    if (is_direct && body_.is_one_of(at + 2, {"x", "y", "z"}))
      return Index{body_.is(at, "blockIdx"), static_cast<std::size_t>(body_.text(at + 2)[0] - 'x'), at + 3};
    const auto alias = aliases_.find(body_.text(at));
    if (alias == aliases_.end()) return std::nullopt;
    return Index{alias->second.first, alias->second.second, at + 1};
  }

  void note_index(std::size_t at) {
    if (const auto counted = indices_.find(body_.text(at)); counted != indices_.end()) {
      std::string& bound = kernel_.bounds[counted->second];
      if (bound.empty()) bound = body_.bound_of(at);
    }
    const auto index = index_at(at);
    if (!index) return;
    if (index->of_block) note_block_use(at, *index);
    if (body_.is(at - 1, "=") && body_.is_name(at - 2) && body_.is_one_of(index->end, {";", ","})) {
      aliases_.insert_or_assign(body_.text(at - 2), std::pair(index->of_block, index->axis));
    } else if (index->of_block) {
      note_cover(at, *index);
    }
  }

  /// Whether blockIdx.x stands alone, as in `row = blockIdx.x`, or is multiplied, and by what.
  void note_block_use(std::size_t at, const Index& block) {
    BlockUse& use = kernel_.block_uses[block.axis];
    use.seen = true;
    const std::size_t next = body_.behind_closing(block.end);
    const std::size_t first = body_.before_opening(at);
    const bool is_shifted = body_.is(next, "<") && body_.is(next + 1, "<");
    const bool is_added = body_.is(next, "+") || body_.is_one_of(first - 1, {"+", ","});
    if (body_.is(next, "*")) {
      use.factors.emplace(body_.text(next + 1));
    } else if (body_.is(first - 1, "*")) {
      use.factors.emplace(body_.text(first - 2));
    } else if (is_shifted || body_.is_one_of(next, {"/", "%"}) || (body_.is(at, "blockIdx") && is_added)) {
      use.other = true;
    } else if (body_.is_one_of(next, {"<", ">="}) && body_.is_name(next + 1) && use.bound.empty()) {
      use.bound = body_.text(next + 1);
    }
  }

  /// NAME in the product of blockIdx.x, where threadIdx.x is added to that.
  void note_cover(std::size_t at, const Index& block) {
    std::size_t next = body_.behind_closing(block.end);
    std::size_t first = at;
    std::size_t name = 0;
    if (body_.is(next, "*") && body_.is_name(next + 1)) {
      name = next + 1;
    } else if (body_.is(at - 1, "*")) {
      name = first = body_.is(at - 3, ".") ? at - 4 : at - 2;
    }
    if (!body_.is_name(name)) return;
    const bool is_dim = body_.is(name, "blockDim");
    if (name > at) next = name + (is_dim ? 3 : 1);
    first = body_.before_opening(first);
    if (!adds_thread(body_.behind_closing(next), block.axis) && !follows_thread(first, block.axis)) return;
    std::string& covered = kernel_.covered[block.axis];
    if (!is_dim && covered.empty()) covered = body_.text(name);
    constexpr std::size_t kLongestIndexStart = 16;  // tokens
    std::size_t start = first;
    while (!body_.is_one_of(start, {"=", ";"}) && first - start < kLongestIndexStart) --start;
    if (body_.is(start, "=") && body_.is_name(start - 1))
      indices_.insert_or_assign(body_.text(start - 1), block.axis);
  }

  /// + threadIdx.x
  bool adds_thread(std::size_t at, std::size_t axis) const {
    if (!body_.is(at, "+")) return false;
    ++at;
    while (body_.is(at, "(")) ++at;
    const auto thread = index_at(at);
    return thread && !thread->of_block && thread->axis == axis && !body_.is(thread->end, "*");
  }

  /// threadIdx.x +
  bool follows_thread(std::size_t at, std::size_t axis) const {
    if (!body_.is(at - 1, "+")) return false;
    for (const std::size_t length : {3, 1}) {
      const auto thread = index_at(at - 1 - length);
      if (thread && thread->end == at - 1 && !thread->of_block && thread->axis == axis)
        return !body_.is(at - 2 - length, "*");
    }
    return false;
  }

  void note_use(PointerUse& use, std::size_t name) const {
    constexpr std::size_t kLongestIndex = 1000;  // tokens
    std::size_t next = body_.behind_subscripts(name, kLongestIndex);
    const bool element = next > name + 1 || body_.is(name - 1, "*");
    if (element && body_.is(next, ".")) next += 2;  // a component of float4
    const std::string_view then = body_.text(next);
    const bool assigned = element && then == "=";
    const bool compares = body_.is_one_of(next, {"==", "!=", "<=", ">="});
    const bool changes = body_.is_one_of(next, {"++", "--"}) || (then.ends_with("=") && !compares);
    const bool updated = element && then.size() > 1 && changes;
    const bool address = body_.is(name - 1, "&") && element;
    use.written = use.written || assigned || updated;
    use.passed = use.passed || !element || address;
    use.read = use.read || (element && !assigned && !address);
  }

  TokenRange code_;
  TokenRange body_;
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
      const bool unroll = directive[0].is("pragma") && TokenRange(directive).is(1, "unroll");
      if (!directive[0].is("if") && !directive[0].is("elif") && !unroll) continue;
      for (std::size_t at = 1; at < directive.size(); ++at) read_tested(TokenRange(directive), at);
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
    const auto value = number_of(definition_of(directive));
    if (!value) return;
    MacroText& found = macro(directive[1].text, directive[1].line);
    if (found.value) return;
    found.value = value;
    if (i == 0) return;
    const TokenRange before(directives_[i - 1]);
    const bool tests =
        before.is(0, "ifndef") || (before.is(0, "if") && before.is(1, "!") && before.is(2, "defined"));
    found.guarded =
        tests && before.has({directive[1].text}) && before[before.end() - 1].line < directive[0].line;
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

  void read_tested(const TokenRange& directive, std::size_t at) {
    if (!directive.is_name(at) || directive.is_one_of(at, {"unroll", "defined"}) ||
        directive.is(at + 1, "(") || directive.is(at - 1, "defined") || directive.is(at - 2, "defined"))
      return;
    const std::string_view name = meant_by(directive.text(at));
    const auto definition = defined_.find(name);
    const bool numeric =
        definition != defined_.end() && number_of(definition_of(*definition->second)).has_value();
    if ((definition != defined_.end() && !numeric) || name.starts_with("_") || name.starts_with("CUDA"))
      return;
    MacroText& found = macro(name, directive[at].line);
    if (!directive.is(at + 1, "==")) return;
    if (const auto value = integer_of(directive.text(at + 2))) found.compared_to.insert(*value);
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
  const auto read = [&](const TokenRange& tokens) {
    for (std::size_t i = tokens.begin(); i < tokens.end(); ++i) {
      if (!tokens.is_name(i)) continue;
      if (tokens.is_name(i + 1) || tokens.is_one_of(i + 1, {"(", "::"})) others.emplace(tokens.text(i));
      names.try_emplace(std::string(tokens.text(i)), tokens[i].line);
    }
  };
  read(TokenRange(source.code));
  // "#pragma unroll N", "#define A (B)": the first name says what the directive is.
  for (const SourceTokens& directive : source.directives)
    if (directive[0].is("define")) read(definition_of(directive));
  for (const std::string& other : others) names.erase(other);
  return names;
}

/// Fills in, for parameters without defaults, what `template __global__ void k<float, 256>(...)` names.
void read_instantiation(const TokenRange& tokens, SourceFacts& facts) {
  const std::size_t end = tokens.find({"("}, tokens.begin() + 1);
  for (std::size_t i = tokens.begin() + 1; i < end; ++i) {
    if (!tokens.is(i + 1, "<")) continue;
    const auto kernel = std::find_if(facts.kernels.begin(), facts.kernels.end(),
                                     [&](const KernelText& known) { return tokens.is(i, known.name); });
    if (kernel == facts.kernels.end()) return;
    const auto arguments = tokens.part(i + 2, tokens.behind_bracket(i + 1) - 1).list();
    auto& parameters = kernel->template_parameters;
    for (std::size_t place = 0; place < std::min(arguments.size(), parameters.size()); ++place)
      if (parameters[place].default_text.empty()) set_default(parameters[place], arguments[place]);
    return;
  }
}

/// __constant__ float NAME[16]; and extern __shared__ float NAME[];
void read_device_variable(const TokenRange& tokens, SourceFacts& facts) {
  const std::size_t end = tokens.find({"[", ";", "="}, tokens.begin() + 1);
  const TokenRange head = tokens.part(tokens.begin(), end);
  for (std::size_t i = head.begin(); i < end; ++i)
    if (head.is(i, "extern") && head.is(i + 1, "__shared__"))
      for (KernelText& kernel : facts.kernels) kernel.dynamic_shared_line = head[i].line;
  if (end < tokens.end() && head.has({"__constant__"}) && head.is_name(end - 1))
    facts.constants.push_back({std::string(head.text(end - 1)), head[end - 1].line});
}

/// const int NAME = 16;
std::optional<MacroText> constant_variable(const TokenRange& tokens) {
  const std::size_t equals = tokens.find({"="}, tokens.begin());
  const TokenRange head = tokens.part(tokens.begin(), equals);
  if (equals - head.begin() < 3 || !head.is_name(equals - 1) || !head.has({"const", "constexpr"}) ||
      head.has({"float", "double"}) || tokens.end() - equals < 3)
    return std::nullopt;
  const auto value = number_of(tokens.part(equals + 1, tokens.end() - 1));
  if (!value) return std::nullopt;
  return MacroText{std::string(head.text(equals - 1)), head[equals - 1].line, value, false, {}, true};
}

void read_declaration(const SourceTokens& code, const Declaration& declaration, SourceFacts& facts) {
  const TokenRange tokens(code, declaration.begin, declaration.end);
  if (declaration.is_function) {
    for (KernelText& kernel : facts.kernels)
      if (declaration.name == kernel.name && kernel.scope.empty()) kernel.scope = declaration.scope;
  } else if (tokens.is(tokens.begin(), "template") && !tokens.is(tokens.begin() + 1, "<")) {
    read_instantiation(tokens, facts);
  } else if (auto constant = constant_variable(tokens)) {
    facts.macros.push_back(std::move(*constant));
  } else {
    read_device_variable(tokens, facts);
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
