#include "author/signature.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace tiletune {

extern const std::string_view kParameterCodes;  ///< parameter_codes.cu.in, which CMake embeds

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

// A type's code has these flags, 1 + its place in kTypes or 0, and its bytes.
constexpr int kConstant = 1;
constexpr int kPointer = 2;
constexpr int kPlace = 4;
constexpr int kBytes = 128;

/// With text behind the source: the types of a function's parameters become numbers in a mangled name, which
/// is bounded and has no user's types in it.
std::string with_probe(const std::string& source) {
  std::string types;
  const auto add = [&](std::string_view name, std::size_t type, std::size_t lanes) {
    types +=
        fmt::format("template <> struct tiletune_code<{}> {{ static constexpr int tiletune_value = {}; }};\n",
                    name, kPlace * (type + 1) + kBytes * lanes * size_bytes(kTypes.at(type).element));
  };
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    add(kTypes[i].name, i, 1);
    if (kTypes[i].vectors.empty()) continue;
    for (const std::size_t lanes : {2, 3, 4}) add(fmt::format("{}{}", kTypes[i].vectors, lanes), i, lanes);
  }
  add("__half2", 2, 2);
  add("__nv_bfloat162", 3, 2);
  const std::array<Replacement, 4> replacements{{{"// {types}\n", types},
                                                 {"{constant}", std::to_string(kConstant)},
                                                 {"{pointer}", std::to_string(kPointer)},
                                                 {"{bytes}", std::to_string(kBytes)}}};
  return source + "\n" + replaced(kParameterCodes, replacements);
}

}  // namespace

std::string ParameterType::text() const {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const CudaType& one) { return element && one.element == *element; });
  std::string text = type != kTypes.end() ? std::string(type->name)
                     : bytes > 0          ? fmt::format("a type of {} bytes", bytes)
                                          : "another type";
  if (type != kTypes.end() && lanes > 1)
    text = type->vectors.empty() ? text + std::to_string(lanes) : fmt::format("{}{}", type->vectors, lanes);
  return (constant ? "const " : "") + text + (pointer ? "*" : "");
}

CompileRequest types_request(CompileRequest request, bool with_code) {
  request.source.text = with_probe(request.source.text);
  const std::vector<std::string> kernels = request.kernel_expressions;
  for (std::string& kernel : request.kernel_expressions)
    kernel = fmt::format("tiletune_parameters<decltype(tiletune_types(&{}))>", kernel);
  if (!with_code) return request;
  request.kernel_expressions.insert(request.kernel_expressions.end(), kernels.begin(), kernels.end());
  std::string& architecture = request.options.front();
  architecture.replace(architecture.find("=sm_"), 4, "=compute_");
  return request;
}

std::optional<UserError> overload_fault(const std::string& kernel, const std::string& reason,
                                        const Where& where) {
  if (reason.find("overloaded function") == std::string::npos ||
      reason.find(fmt::format("\"{}\"", kernel)) == std::string::npos)
    return std::nullopt;
  return UserError(fmt::format("several functions are named '{}', with different parameters", kernel), where,
                   "Give the one to tune another name: a manifest names a kernel without its parameters.");
}

/// "...tiletune_codesIJLi516ELi519EEE...": 516 and 519.
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
    const auto type = static_cast<std::size_t>(code % kBytes / kPlace);
    ParameterType& parameter = types.emplace_back();
    parameter.pointer = (code & kPointer) != 0;
    parameter.constant = (code & kConstant) != 0;
    parameter.bytes = static_cast<std::size_t>(std::max(code, 0) / kBytes);
    if (type == 0 || type > kTypes.size()) continue;
    parameter.element = kTypes[type - 1].element;
    parameter.lanes = std::max(static_cast<int>(parameter.bytes / size_bytes(*parameter.element)), 1);
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

/// Drops the define that a header of the source overrides, as "#define N overrides the option -DN=8" says;
/// false where none is.
bool drop_overridden(const std::string& reason, std::vector<std::string>& defines, Signature& signature) {
  const std::string start = "#define ";
  const std::size_t end = reason.find(" overrides the option ");
  const std::size_t begin = reason.rfind(start, end) + start.size();
  if (end == std::string::npos || begin > end) return false;
  const std::string name = reason.substr(begin, end - begin);
  signature.overridden.insert(name);
  return std::erase_if(defines, [&](const std::string& one) { return one.starts_with(define_of(name)); }) > 0;
}

/// Reads the signature of one instance; returns the compiler's message where it does not compile.
std::string read_instance(CompilePool& pool, const KernelSource& source, const std::string& architecture,
                          const SourceFacts& facts, const KernelText& kernel, const MacroGuess& guess,
                          Signature& signature) {
  Instance instance;
  instance.launches.emplace_back().kernel_expression = expression_of(kernel, signature.type);
  instance.defines = defines_of(facts, guess);
  constexpr int kMostRounds = 64;  // a name may appear once others are dealt with
  Compiled compiled;
  for (int round = 0;; ++round) {
    pool.submit(types_request(make_compile_request({}, source, instance, architecture), true),
                [&](const Compiled& done) { compiled = done; });
    while (pool.deliver() == 0) wait_for_work(pool);
    if (compiled.outcome == Outcome::ok) break;
    if (compiled.outcome == Outcome::compile_timeout)
      throw UserError(compiled.reason, Where{source.name, fmt::format("line {}", kernel.line)},
                      "Try again while the machine has less to do.");
    if (drop_overridden(compiled.reason, instance.defines, signature)) continue;
    if (round == kMostRounds || !define_undefined(compiled.reason, facts, guess, instance.defines, signature))
      return compiled.reason;
  }
  const std::vector<std::string>& symbols = compiled.binary->kernel_symbols;
  signature.parameters = parameter_types(symbols.front());
  signature.uses = pointer_uses(compiled.binary->cubin, symbols.back());
  signature.waits_for_grid = waits_for_grid(compiled.binary->cubin, symbols.back());
  signature.included = compiled.dependencies;
  std::ranges::stable_sort(signature.undefined, {}, &MacroText::line);
  return "";
}

}  // namespace

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
  if (const auto fault = overload_fault(kernel.name, first_reason, where)) throw *fault;
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
