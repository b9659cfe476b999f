#include "author/signature.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace tiletune {

namespace {

struct CudaType {
  std::string_view name;
  ElementType element;
  std::string_view vectors;  ///< "float" of float2, float3 and float4; "": there are none
};
constexpr std::array<CudaType, 18> kTypes{{{"float", ElementType::f32, "float"},
                                           {"double", ElementType::f64, "double"},
                                           {"__half", ElementType::f16, ""},
                                           {"__nv_bfloat16", ElementType::bf16, ""},
                                           {"__nv_fp8_e4m3", ElementType::e4m3, ""},
                                           {"__nv_fp8_e5m2", ElementType::e5m2, ""},
                                           {"char", ElementType::i8, "char"},
                                           {"signed char", ElementType::i8, ""},
                                           {"unsigned char", ElementType::u8, "uchar"},
                                           {"short", ElementType::i16, "short"},
                                           {"unsigned short", ElementType::u16, "ushort"},
                                           {"int", ElementType::i32, "int"},
                                           {"unsigned int", ElementType::u32, "uint"},
                                           {"long", ElementType::i64, "long"},
                                           {"unsigned long", ElementType::u64, "ulong"},
                                           {"long long", ElementType::i64, "longlong"},
                                           {"unsigned long long", ElementType::u64, "ulonglong"},
                                           {"bool", ElementType::boolean, ""}}};

constexpr int kLanes = 8;  // a type's code is 8 * (1 + its place in kTypes) + lanes, or 0
constexpr int kConstant = 256;
constexpr int kPointer = 512;

/// Text behind the source: the types of a function's parameters become numbers in a mangled name, which is
/// bounded and has no user's types in it. Other names may be macros there. As a template argument itself, a
/// template is instantiated as a whole.
std::string with_probe(const std::string& source) {
  std::string text = source + R"(
struct __half; struct __nv_bfloat16; struct __nv_fp8_e4m3; struct __nv_fp8_e5m2;
struct __half2; struct __nv_bfloat162;
template <class tiletune_T> struct tiletune_code { static constexpr int tiletune_value = 0; };
)";
  const auto add = [&](std::string_view name, std::size_t type, int lanes) {
    text +=
        fmt::format("template <> struct tiletune_code<{}> {{ static constexpr int tiletune_value = {}; }};\n",
                    name, kLanes * static_cast<int>(type + 1) + lanes);
  };
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    add(kTypes[i].name, i, 1);
    if (kTypes[i].vectors.empty()) continue;
    for (const int lanes : {2, 3, 4}) add(fmt::format("{}{}", kTypes[i].vectors, lanes), i, lanes);
  }
  add("__half2", 2, 2);
  add("__nv_bfloat162", 3, 2);
  return text + fmt::format(R"(template <class tiletune_T> struct tiletune_code<const tiletune_T> {{
  static constexpr int tiletune_value = tiletune_code<tiletune_T>::tiletune_value + {0};
}};
template <class tiletune_T> struct tiletune_code<tiletune_T*> {{
  static constexpr int tiletune_of = tiletune_code<tiletune_T>::tiletune_value;
  static constexpr int tiletune_value = tiletune_of < {1} ? tiletune_of + {1} : {1};
}};
template <int...> struct tiletune_codes {{}};
template <class... tiletune_A>
tiletune_codes<tiletune_code<tiletune_A>::tiletune_value...> tiletune_types(void (*)(tiletune_A...));
template <class tiletune_T, auto> __global__ void tiletune_signature() {{}}
template <class tiletune_T> __global__ void tiletune_parameters() {{}}
)",
                            kConstant, kPointer);
}

}  // namespace

std::string ParameterType::text() const {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const CudaType& one) { return element && one.element == *element; });
  std::string text = type == kTypes.end() ? "another type" : std::string(type->name);
  if (type != kTypes.end() && lanes > 1)
    text = type->vectors.empty() ? text + std::to_string(lanes) : fmt::format("{}{}", type->vectors, lanes);
  return (constant ? "const " : "") + text + (pointer ? "*" : "");
}

CompileRequest types_request(CompileRequest request) {
  request.source.text = with_probe(request.source.text);
  for (std::string& kernel : request.kernel_expressions)
    kernel = fmt::format("tiletune_parameters<decltype(tiletune_types(&{}))>", kernel);
  return request;
}

/// "...tiletune_codesIJLi9ELi521EEE...": 9 and 521.
std::vector<ParameterType> parameter_types(std::string_view symbol) {
  std::vector<ParameterType> types;
  const std::string_view start = "tiletune_codesIJ";
  const std::size_t at = symbol.find(start);
  if (at == std::string_view::npos) return types;
  for (symbol.remove_prefix(at + start.size()); symbol.starts_with("Li"); symbol.remove_prefix(1)) {
    int code = 0;
    const auto [end, error] = std::from_chars(symbol.data() + 2, symbol.data() + symbol.size(), code);
    symbol.remove_prefix(static_cast<std::size_t>(end - symbol.data()));
    if (error != std::errc() || !symbol.starts_with("E")) break;
    const auto type = static_cast<std::size_t>(code % kConstant / kLanes);
    ParameterType& parameter = types.emplace_back();
    parameter.pointer = code >= kPointer;
    parameter.constant = code % kPointer >= kConstant;
    if (type == 0 || type > kTypes.size()) continue;
    parameter.element = kTypes[type - 1].element;
    parameter.lanes = std::max(code % kLanes, 1);
  }
  return types;
}

namespace {

/// The kernel with first arguments, `type` for open types.
std::string expression_of(const KernelText& kernel, const std::string& type) {
  std::vector<std::string> arguments;
  for (const TemplateParameter& one : kernel.template_parameters)
    arguments.push_back(!one.default_text.empty() ? one.default_text
                        : one.is_type()           ? type
                        : one.type == "bool"      ? "true"
                                                  : "32");
  return arguments.empty() ? kernel.name : fmt::format("{}<{}>", kernel.name, join(arguments, ", "));
}

/// Values for macros that the source does not define.
struct MacroGuess {
  int value;
  int block;   ///< for what counts threads, such as BLOCK
  int tested;  ///< of macros that an #if tests; 0: like others

  int value_for(const std::string& name) const {
    return has_one_of(name, {"block", "thread", "tpb", "bdim"}) ? block : value;
  }
};
/// In the order in which they are tried: a source may divide by 32, or multiply to what does not fit.
constexpr std::array<MacroGuess, 3> kMacroGuesses{{{8, 8, 1}, {8, 256, 0}, {256, 256, 0}}};
constexpr int kUsualThreads = 256;

std::string define_of(const std::string& macro) { return fmt::format("-D{}=", macro); }

/// For the macros that the source tests and does not define.
std::vector<std::string> defines_of(const SourceFacts& facts, const MacroGuess& guess) {
  std::vector<std::string> defines;
  for (const MacroText& macro : facts.macros) {
    if (macro.value) continue;
    const std::int64_t value = !macro.compared_to.empty() ? *macro.compared_to.begin()
                               : guess.tested > 0         ? guess.tested
                                                          : guess.value_for(macro.name);
    defines.push_back(define_of(macro.name) + std::to_string(value));
  }
  return defines;
}

/// Defines names in `identifier "X" is undefined` that stand in the source where values do; false when all
/// are defined.
bool define_undefined(const std::string& log, const SourceFacts& facts, const MacroGuess& guess,
                      std::vector<std::string>& defines, Signature& signature) {
  const std::string start = "identifier \"";
  const std::size_t before = defines.size();
  for (std::size_t at = log.find(start); at != std::string::npos; at = log.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    const std::size_t end = std::min(log.find('"', begin), log.size());
    const auto known = facts.value_names.find(log.substr(begin, end - begin));
    if (log.compare(end, 14, "\" is undefined") != 0 || known == facts.value_names.end()) continue;
    const auto& [name, line] = *known;
    const auto defines_it = [&, start = define_of(name)](const std::string& one) {
      return one.starts_with(start);
    };
    if (std::ranges::any_of(defines, defines_it)) continue;
    defines.push_back(define_of(name) + std::to_string(guess.value_for(name)));
    signature.undefined.push_back({name, line, std::nullopt, false, {}});
  }
  return defines.size() > before;
}

/// What kernels and other device code name, directly or through what they name.
std::set<std::string_view> names_in_use(const TokenizedSource& source,
                                        const std::vector<Declaration>& declarations) {
  std::multimap<std::string_view, TokenRange> meanings;
  std::vector<TokenRange> reached;
  for (const Declaration& one : declarations) {
    const TokenRange range(source.code, one.begin, one.end);
    if (one.is_device) reached.push_back(range);
    if (one.is_function && !one.is_device) meanings.emplace(one.name, range);
  }
  for (const SourceTokens& directive : source.directives)
    if (TokenRange(directive).fits(0, {"define", "#"}))
      meanings.emplace(directive[1].text, TokenRange(directive, 2, directive.size()));
  std::set<std::string_view> names;
  while (!reached.empty()) {
    const TokenRange range = reached.back();
    reached.pop_back();
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      if (!range.is_name(i) || !names.insert(range.text(i)).second) continue;
      const auto [first, last] = meanings.equal_range(range.text(i));
      for (auto meaning = first; meaning != last; ++meaning) reached.push_back(meaning->second);
    }
  }
  return names;
}

/// Lines of "k.cu(12): error: ..." and "k.cu(1): catastrophic error: ...".
std::set<int> error_lines(std::string_view log, const std::string& file) {
  std::set<int> lines;
  const std::string start = file + "(";
  for (std::size_t at = log.find(start); at != std::string_view::npos; at = log.find(start, at + 1)) {
    const char* const digits = log.data() + at + start.size();
    int line = 0;
    const auto [end, error] = std::from_chars(digits, log.data() + log.size(), line);
    const std::string_view rest = log.substr(static_cast<std::size_t>(end - log.data()));
    if (error == std::errc() && (rest.starts_with("): error") || rest.starts_with("): catastrophic error")))
      lines.insert(line);
  }
  return lines;
}

/// Reads the signature of one instance; returns the compiler's message where it does not compile.
std::string read_instance(CompilePool& pool, KernelSource source, const std::string& architecture,
                          const SourceFacts& facts, const KernelText& kernel, const MacroGuess& guess,
                          Signature& signature) {
  HostCode host(source.text);
  Instance instance;
  instance.launches.emplace_back().kernel_expression = expression_of(kernel, signature.type);
  instance.defines = defines_of(facts, guess);
  constexpr int kMostRounds = 64;  // a name or a host function may appear once others are dealt with
  for (int round = 0;; ++round) {
    source.text = host.blanked();
    CompileRequest request = make_compile_request({}, source, instance, architecture);
    request.source.text = with_probe(request.source.text);
    for (std::string& expression : request.kernel_expressions)
      expression = fmt::format("tiletune_signature<decltype(tiletune_types(&{0})), &{0}>", expression);
    Compiled compiled;
    pool.submit(request, [&](const Compiled& done) { compiled = done; });
    while (pool.deliver() == 0) wait_for_work(pool);
    const std::string& log = compiled.reason;
    if (compiled.outcome == Outcome::ok) {
      signature.parameters = parameter_types(compiled.binary->kernel_symbols.front());
      break;
    }
    if (round < kMostRounds && (host.leave_out(log, source.name) ||
                                define_undefined(log, facts, guess, instance.defines, signature) ||
                                host.leave_out(log, source.name, true)))
      continue;
    const std::vector<LineRange> lines = host.lines();
    return lines.empty() ? log : fmt::format("{}\nLeft out as host code: {}", log, lines_text(lines));
  }
  signature.host_code = host.lines();
  signature.guarded = host.guarded();
  std::ranges::stable_sort(signature.undefined, {}, &MacroText::line);
  return "";
}

}  // namespace

std::string lines_text(const std::vector<LineRange>& lines) {
  std::vector<std::string> texts;
  for (const LineRange& one : lines)
    texts.push_back(one.first == one.last ? std::to_string(one.first)
                                          : fmt::format("{}-{}", one.first, one.last));
  const bool single = lines.size() == 1 && lines.front().first == lines.front().last;
  return (single ? "line " : "lines ") + join(texts, ", ");
}

HostCode::HostCode(std::string text) : text_(std::move(text)) {
  const TokenizedSource source = tokenize_source(text_);
  const auto place = [&](const SourceToken& token) {
    return static_cast<std::size_t>(token.text.data() - text_.data());
  };
  for (const SourceTokens& directive : source.directives) {
    if (directive.size() < 3 || !TokenRange(directive).fits(0, {"include", "<"})) continue;
    const SourceToken& first = directive.front();
    const std::size_t begin = text_.rfind('\n', place(first)) + 1;  // npos + 1 is 0
    parts_.push_back({begin, std::min(text_.find('\n', begin), text_.size()), {first.line, first.line}});
  }
  const std::vector<Declaration> declarations = read_declarations(source.code);
  const std::set<std::string_view> used = names_in_use(source, declarations);
  for (const Declaration& one : declarations) {
    if (one.is_device) continue;
    const SourceToken& first = source.code[one.begin];
    const SourceToken& last = source.code[one.end - 1];
    parts_.push_back({place(first),
                      place(last) + last.text.size(),
                      {first.line, last.line},
                      !one.is_function || used.contains(one.name)});
  }
  std::ranges::sort(parts_, {}, &Part::begin);
}

bool HostCode::leave_out(std::string_view log, const std::string& file, bool others) {
  const std::set<int> lines = error_lines(log, file);
  bool any = false;
  for (Part& part : parts_) {
    const auto line = lines.lower_bound(part.lines.first);
    if (part.left_out || part.is_other != others || line == lines.end() || *line > part.lines.last) continue;
    part.left_out = any = true;
  }
  return any;
}

/// With neighbours as one.
std::vector<HostCode::Part> HostCode::left_out() const {
  std::vector<Part> joined;
  for (const Part& part : parts_) {
    if (!part.left_out) continue;
    const bool follows =
        !joined.empty() && text_.find_first_not_of(" \t\r\n", joined.back().end) >= part.begin;
    if (!follows) joined.push_back(part);
    joined.back().end = part.end;
    joined.back().lines.last = part.lines.last;
  }
  return joined;
}

std::vector<LineRange> HostCode::lines() const {
  std::vector<LineRange> lines;
  for (const Part& part : left_out()) lines.push_back(part.lines);
  return lines;
}

std::string HostCode::blanked() const {
  std::string text = text_;
  for (const Part& part : left_out())
    for (std::size_t i = part.begin; i < part.end; ++i)
      if (text[i] != '\n') text[i] = ' ';
  return text;
}

std::string HostCode::guarded() const {
  std::string text;
  std::size_t copied = 0;
  for (const Part& part : left_out()) {
    std::size_t begin = part.begin;
    while (begin > copied && (text_[begin - 1] == ' ' || text_[begin - 1] == '\t')) --begin;
    text += text_.substr(copied, begin - copied);
    if (begin > 0 && text_[begin - 1] != '\n') text += '\n';
    text += "#ifndef __CUDACC_RTC__\n";
    // A comment behind it stays on its line.
    const std::size_t newline = std::min(text_.find('\n', part.end), text_.size());
    const std::string_view rest = trim(std::string_view(text_).substr(part.end, newline - part.end));
    const std::size_t end = rest.empty() || rest.starts_with("//") ? newline : part.end;
    text += text_.substr(begin, end - begin) + "\n#endif";
    copied = end;
    if (end < newline) text += '\n';
  }
  return text + text_.substr(copied);
}

Signature read_signature(const CompilePoolOptions& options, const KernelSource& source,
                         const std::string& architecture, const SourceFacts& facts,
                         const KernelText& kernel) {
  CompilePoolOptions one = options;
  one.workers = 1;
  for (const KernelSource::Root& root : source.roots) one.folders.push_back(root.folder);
  CompilePool pool(one);
  std::vector<std::string> types{""};
  for (const TemplateParameter& parameter : kernel.template_parameters)
    if (parameter.is_type() && parameter.default_text.empty())
      types = {"float", "int", "unsigned char", "__half", "double"};
  const bool tests_macros = std::ranges::any_of(
      facts.macros, [](const MacroText& macro) { return !macro.value && macro.compared_to.empty(); });
  std::string first_reason;
  std::vector<MacroText> undefined;
  for (const std::string& type : types) {
    for (const MacroGuess& guess : kMacroGuesses) {
      Signature signature;
      signature.type = type;
      std::string reason = read_instance(pool, source, architecture, facts, kernel, guess, signature);
      if (reason.empty()) return signature;
      if (first_reason.empty()) first_reason = std::move(reason);
      if (undefined.empty()) undefined = signature.undefined;
      if (signature.undefined.empty() && !tests_macros) break;
    }
  }
  const Where where{source.name, fmt::format("line {}", kernel.line)};
  if (!kernel.scope.empty())
    throw UserError(fmt::format("the kernel '{}' stands in the namespace {}, and a manifest names kernels "
                                "outside of namespaces",
                                kernel.name, kernel.scope),
                    where,
                    fmt::format("Move it out of the namespace, or add using {}::{}; behind it.", kernel.scope,
                                kernel.name));
  std::string tried, remedy = "Correct the source until NVRTC compiles it as device code.";
  if (types.size() > 1) {
    tried = fmt::format(" with any of the types {}; with {}", join(types, ", "), types.front());
    remedy =
        "The source may be right for another type: give the type parameter a default, such as typename T = "
        "my_type, or add an explicit instantiation.";
  } else if (!undefined.empty()) {
    tried = fmt::format(" with {} or {} for what the source does not define", kMacroGuesses.front().value,
                        kUsualThreads);
    remedy = fmt::format(
        "Put a value with which it compiles above the kernel, such as\n  #ifndef {0}\n  #define {0} "
        "{1}\n  #endif",
        undefined.front().name, kUsualThreads);
  }
  throw UserError(fmt::format("the kernel '{}' does not compile{}: {}", kernel.name, tried, first_reason),
                  where, remedy);
}

}  // namespace tiletune
