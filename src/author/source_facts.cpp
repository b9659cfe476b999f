#include "author/source_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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
  while (tokens.size() > 2 && tokens.is(tokens.begin(), "(") && tokens.is(tokens.end() - 1, ")"))
    tokens = tokens.part(tokens.begin() + 1, tokens.end() - 1);
  const bool is_number = tokens.size() == 1 && tokens[tokens.begin()].kind == SourceToken::Kind::number;
  return is_number ? integer_of(tokens.text(tokens.begin())) : std::nullopt;
}

/// What #define gives a name.
TokenRange definition_of(const SourceTokens& directive) { return {directive, 2, directive.size()}; }

/// Keeps the default value as a person writes it: "std::uint8_t", "unsigned char".
void set_default(TemplateParameter& parameter, const TokenRange& tokens) {
  for (std::size_t i = tokens.begin(); i < tokens.end(); ++i) {
    if (tokens.is_name(i) && tokens.is_name(i - 1)) parameter.default_text += ' ';
    parameter.default_text += tokens.text(i);
  }
  parameter.default_value = number_of(tokens);
}

/// blockIdx and threadIdx by axis, then blockDim.
constexpr std::array<std::string_view, 9> kIndices{"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                                   "threadIdx.x", "threadIdx.y", "threadIdx.z",
                                                   "blockDim.x",  "blockDim.y",  "blockDim.z"};

/// With each of kIndices as one name.
SourceTokens with_indices(const TokenRange& body) {
  SourceTokens tokens;
  for (std::size_t i = body.begin(); i < body.end(); ++i) {
    tokens.push_back(body[i]);
    if (!body.fits(i, {"blockIdx threadIdx blockDim", ".", "x y z"})) continue;
    tokens.back().text = *std::ranges::find_if(kIndices, [&](std::string_view index) {
      return index.starts_with(body.text(i)) && index.ends_with(body.text(i + 2));
    });
    i += 2;
  }
  return tokens;
}

/// The last name before a default value or the bounds of an array; the end where there is none.
std::size_t name_in(const TokenRange& parameter) {
  std::size_t name = parameter.end();
  const std::size_t end = parameter.find("= [", parameter.begin());
  for (std::size_t i = parameter.begin(); i < end; ++i)
    if (parameter.is_name(i)) name = i;
  return name;
}

/// Reads what a kernel's body, of with_indices(), does with its parameters and with the blocks' and threads'
/// indices.
class BodyReader {
 public:
  BodyReader(const TokenRange& body, KernelText& kernel) : body_(body), kernel_(kernel) {
    for (std::size_t i = 0; i < 6; ++i) indices_.emplace(kIndices.at(i), Index{i < 3, i % 3});
  }

  void read() {
    for (std::size_t i = body_.begin(); i < body_.end(); ++i) {
      if (!body_.is_name(i)) continue;
      if (body_.fits(i, {"extern", "__shared__"}) && kernel_.dynamic_shared_line == 0)
        kernel_.dynamic_shared_line = body_[i].line;
      note_index(i);
    }
  }

 private:
  struct Index {
    bool of_block;
    std::size_t axis;
  };

  void note_index(std::size_t at) {
    if (const auto counter = counters_.find(body_.text(at)); counter != counters_.end())
      if (std::string& bound = kernel_.bounds[counter->second]; bound.empty()) bound = body_.bound_of(at);
    const auto known = indices_.find(body_.text(at));
    if (known == indices_.end()) return;
    const Index index = known->second;
    std::size_t& axes = index.of_block ? kernel_.grid_axes : kernel_.block_axes;
    axes = std::max(axes, index.axis + 1);
    if (index.of_block) note_block_use(at, kernel_.block_uses[index.axis]);
    if (body_.fits(at - 2, {"$", "="}) && body_.is(at + 1, "; ,")) {
      indices_.insert_or_assign(body_.text(at - 2), index);
    } else if (index.of_block) {
      note_cover(at, index.axis);
    }
  }

  /// Whether blockIdx.x stands alone, as in `row = blockIdx.x`, or is multiplied, and by what.
  void note_block_use(std::size_t at, BlockUse& use) const {
    use.seen = true;
    const std::size_t next = body_.behind_closing(at + 1);
    const std::size_t first = body_.before_opening(at);
    const bool is_added = body_.is(next, "+") || body_.is(first - 1, "+ ,");
    if (body_.is(next, "*")) {
      use.factors.emplace(body_.text(next + 1));
    } else if (body_.is(first - 1, "*")) {
      use.factors.emplace(body_.text(first - 2));
    } else if (body_.fits(next, {"<", "<"}) || body_.is(next, "/ %") ||
               (is_added && body_.text(at).starts_with("blockIdx."))) {
      use.other = true;
    } else if (body_.fits(next, {"< >=", "$"}) && use.bound.empty()) {
      use.bound = body_.text(next + 1);
    }
  }

  /// NAME in the product of blockIdx.x, where threadIdx.x is added to that before or behind it.
  void note_cover(std::size_t at, std::size_t axis) {
    std::size_t first = at, name = body_.end(), next = body_.behind_closing(at + 1);
    if (body_.fits(next, {"*", "$"})) {
      name = next + 1;
      next = body_.behind_closing(next + 2);
    } else if (body_.is(at - 1, "*")) {
      name = first = body_.is(at - 3, ".") ? at - 4 : at - 2;
    }
    if (!body_.is_name(name)) return;
    first = body_.before_opening(first);
    std::size_t added = next + 1;
    while (body_.is(added, "(")) ++added;
    const bool precedes = body_.is(next, "+") && is_thread(added, axis) && !body_.is(added + 1, "*");
    const bool follows = body_.is(first - 1, "+") && is_thread(first - 2, axis) && !body_.is(first - 3, "*");
    if (!precedes && !follows) return;
    std::string& covered = kernel_.covered[axis];
    if (covered.empty() && !body_.text(name).starts_with("blockDim")) covered = body_.text(name);
    constexpr std::size_t kLongestIndexStart = 16;  // tokens
    std::size_t start = first;
    while (!body_.is(start, "= ;") && first - start < kLongestIndexStart) --start;
    if (body_.fits(start - 1, {"$", "="})) counters_.insert_or_assign(body_.text(start - 1), axis);
  }

  bool is_thread(std::size_t at, std::size_t axis) const {
    const auto index = indices_.find(body_.text(at));
    return index != indices_.end() && !index->second.of_block && index->second.axis == axis;
  }

  TokenRange body_;
  KernelText& kernel_;
  std::map<std::string_view, Index> indices_;         ///< of kIndices and of variables that are equal to them
  std::map<std::string_view, std::size_t> counters_;  ///< variables that count threads of the grid, with axes
};

void read_template(const TokenRange& parameters, KernelText& kernel) {
  for (const TokenRange& one : parameters.list()) {
    const std::size_t name = name_in(one);
    if (name >= one.end()) continue;
    TemplateParameter& parameter = kernel.template_parameters.emplace_back();
    parameter.name = one.text(name);
    parameter.type = one.part(one.begin(), name).spaced_text();
    parameter.line = one[name].line;
    if (name + 2 < one.end()) set_default(parameter, one.part(name + 2, one.end()));
  }
}

/// Reads attributes, a template's parameters and the name; returns the place of the parameter list, or the
/// end where the code has none.
std::size_t read_head(const TokenRange& code, std::size_t global, KernelText& kernel) {
  std::size_t i = global;
  while (i > 0 && !code.is(i - 1, "; } {")) --i;
  while (i + 1 < code.end() && (i <= global || !code.is(i, "; { }"))) {
    const bool calls = code.fits(i, {"$", "("});
    const bool is_attribute = calls && code.text(i).starts_with("__");
    if (calls && !is_attribute && i > global) {
      kernel.name = std::string(code.text(i));
      kernel.line = code[i].line;
      return i + 1;
    }
    if (!is_attribute && !code.fits(i, {"template", "<"})) {
      ++i;
      continue;
    }
    const std::size_t end = code.behind_bracket(i + 1);
    const TokenRange arguments = code.part(i + 2, end - 1);
    if (!is_attribute) read_template(arguments, kernel);
    if (code.is(i, "__launch_bounds__") && arguments.size() > 0)
      kernel.launch_bounds = arguments.list().front().spaced_text();
    i = end;
  }
  return code.end();
}

/// Reads the kernel whose __global__ stands at `global`; none for a declaration, and for what is not a
/// function.
std::optional<KernelText> read_kernel(const TokenRange& code, std::size_t global, const std::string& file) {
  KernelText kernel;
  const std::size_t open = read_head(code, global, kernel);
  if (open >= code.end()) return std::nullopt;
  const std::size_t close = code.behind_bracket(open);
  if (!code.is(close - 1, ")"))
    throw UserError(fmt::format("the parameter list of the kernel '{}' is not closed", kernel.name),
                    Where{file, fmt::format("line {}", kernel.line)}, "Add the missing ')'.");
  std::vector<std::string> pointers;
  for (const TokenRange& one : code.part(open + 1, close - 1).list()) {
    if (one.size() == 1 && one.is(one.begin(), "void")) continue;
    const std::size_t at = name_in(one);
    const bool is_named = at < one.end() && at > one.begin() && !one.is(at, "__restrict__ const");
    const std::string& name = kernel.parameter_names.emplace_back(is_named ? one.text(at) : "");
    if (!is_named) continue;
    if (one.has("* [")) pointers.push_back(name);
  }
  const std::size_t start = code.find("{ ;", close);
  if (!code.is(start, "{")) return std::nullopt;
  // Text that is not closed belongs to one kernel all the same, so that reading all takes linear time.
  const std::size_t next = code.find("__global__", start);
  const SourceTokens body = with_indices(code.part(start, code.behind_bracket(start, next)));
  BodyReader(TokenRange(body), kernel).read();
  kernel.indices = read_index_uses(TokenRange(body), pointers);
  return kernel;
}

class MacroReader {
 public:
  explicit MacroReader(const std::vector<SourceTokens>& directives) : directives_(directives) {
    for (const SourceTokens& directive : directives)
      if (directive.size() > 1 && directive[0].is("define")) defined_.emplace(directive[1].text, &directive);
  }

  std::vector<MacroText> read() {
    for (std::size_t i = 0; i < directives_.size(); ++i) {
      const TokenRange directive(directives_[i]);
      if (directive.is(0, "define") && directive.size() > 2) read_definition(i);
      if (!directive.is(0, "if elif") && !directive.fits(0, {"pragma", "unroll"})) continue;
      for (std::size_t at = 1; at < directive.size(); ++at) read_tested(directive, at);
    }
    return std::move(macros_);
  }

 private:
  MacroText& macro(const SourceToken& name) {
    const auto [place, is_new] = places_.try_emplace(name.text, macros_.size());
    if (is_new) macros_.push_back({std::string(name.text), name.line, std::nullopt, false, {}});
    return macros_[place->second];
  }

  void read_definition(std::size_t i) {
    const SourceTokens& directive = directives_[i];
    const auto value = number_of(definition_of(directive));
    if (!value) return;
    MacroText& found = macro(directive[1]);
    if (found.value) return;
    found.value = value;
    if (i == 0) return;
    const TokenRange before(directives_[i - 1]);
    const bool tests = before.is(0, "ifndef") || before.fits(0, {"if", "!", "defined"});
    found.guarded =
        tests && before.has(directive[1].text) && before[before.end() - 1].line < directive[0].line;
  }

  void read_tested(const TokenRange& directive, std::size_t at) {
    if (!directive.is_name(at) || directive.is(at, "unroll defined") || directive.is(at + 1, "(") ||
        directive.is(at - 1, "defined") || directive.is(at - 2, "defined"))
      return;
    std::string_view name = directive.text(at);
    auto definition = defined_.find(name);
    // Follows `#define A B`.
    for (int depth = 0; depth < 8 && definition != defined_.end() && definition->second->size() == 3 &&
                        definition->second->back().is_name();
         ++depth)
      definition = defined_.find(name = definition->second->back().text);
    if (definition != defined_.end() && !number_of(definition_of(*definition->second))) return;
    if (name.starts_with("_") || name.starts_with("CUDA")) return;
    MacroText& found = macro({SourceToken::Kind::name, name, directive[at].line});
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
      if (tokens.is_name(i + 1) || tokens.is(i + 1, "( ::")) others.emplace(tokens.text(i));
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
  const std::size_t end = tokens.find("(", tokens.begin() + 1);
  for (std::size_t i = tokens.begin() + 1; i < end; ++i) {
    if (!tokens.is(i + 1, "<")) continue;
    const auto kernel = std::ranges::find(facts.kernels, tokens.text(i), &KernelText::name);
    if (kernel == facts.kernels.end()) return;
    const auto arguments = tokens.part(i + 2, tokens.behind_bracket(i + 1) - 1).list();
    auto& parameters = kernel->template_parameters;
    for (std::size_t place = 0; place < std::min(arguments.size(), parameters.size()); ++place)
      if (parameters[place].default_text.empty()) set_default(parameters[place], arguments[place]);
    return;
  }
}

/// const int NAME = 16; false: it is something else.
bool read_constant(const TokenRange& tokens, SourceFacts& facts) {
  const std::size_t equals = tokens.find("=", tokens.begin());
  const TokenRange head = tokens.part(tokens.begin(), equals);
  if (head.size() < 3 || !head.is_name(equals - 1) || !head.has("const constexpr") ||
      head.has("float double") || tokens.end() - equals < 3)
    return false;
  const auto value = number_of(tokens.part(equals + 1, tokens.end() - 1));
  if (value)
    facts.macros.push_back(
        {std::string(head.text(equals - 1)), head[equals - 1].line, value, false, {}, true});
  return value.has_value();
}

void read_declaration(const SourceTokens& code, const Declaration& declaration, SourceFacts& facts) {
  const TokenRange tokens(code, declaration.begin, declaration.end);
  if (declaration.is_function) {
    for (KernelText& kernel : facts.kernels)
      if (declaration.name == kernel.name && kernel.scope.empty()) kernel.scope = declaration.scope;
  } else if (tokens.is(tokens.begin(), "template") && !tokens.is(tokens.begin() + 1, "<")) {
    read_instantiation(tokens, facts);
  } else if (!read_constant(tokens, facts)) {
    // __constant__ float NAME[16]; and extern __shared__ float NAME[];
    const std::size_t end = tokens.find("[ ; =", tokens.begin() + 1);
    const TokenRange head = tokens.part(tokens.begin(), end);
    for (std::size_t i = head.begin(); i < end; ++i)
      if (head.fits(i, {"extern", "__shared__"}))
        for (KernelText& kernel : facts.kernels) kernel.dynamic_shared_line = head[i].line;
    if (end < tokens.end() && head.has("__constant__") && head.is_name(end - 1))
      facts.constants.push_back({std::string(head.text(end - 1)), head[end - 1].line});
  }
}

}  // namespace

bool has_one_of(std::string_view name, std::initializer_list<std::string_view> words) {
  const std::string plain = squashed(name);
  return std::ranges::any_of(words, [&](auto word) { return plain.find(word) != std::string::npos; });
}

SourceFacts read_source_facts(std::string_view text, const std::string& file) {
  constexpr int kMostInOneFile = 256;
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
    if (++found > kMostInOneFile)
      throw UserError(fmt::format("more than {} kernels in one file", kMostInOneFile), Where{file, ""},
                      "Copy the kernel that you want to tune into a file of its own.");
    auto kernel = read_kernel(TokenRange(source.code), i, file);
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
  const auto found = std::ranges::find(facts.kernels, name, &KernelText::name);
  if (found == facts.kernels.end())
    throw UserError(fmt::format("no kernel '{}' is defined here", name), Where{file, ""},
                    std::string(trim(suggestion(name, names))));
  return *found;
}

}  // namespace tiletune
