#include "author/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "compile/pool.h"

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
/// bounded and has no user's types in it. Other names may be macros there.
std::string probe() {
  std::string text =
      "\nstruct __half; struct __nv_bfloat16; struct __nv_fp8_e4m3; struct __nv_fp8_e5m2;\n"
      "struct __half2; struct __nv_bfloat162;\n"
      "template <class tiletune_T> struct tiletune_code { static constexpr int tiletune_value = 0; };\n";
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
  text += fmt::format(
      "template <class tiletune_T> struct tiletune_code<const tiletune_T> {{ static constexpr int "
      "tiletune_value = "
      "tiletune_code<tiletune_T>::tiletune_value "
      "+ {}; }};\n"
      "template <class tiletune_T> struct tiletune_code<tiletune_T*> {{ static constexpr int tiletune_value "
      "= "
      "tiletune_code<tiletune_T>::tiletune_value < {} ? tiletune_code<tiletune_T>::tiletune_value + {} : {}; "
      "}};\n"
      "template <int...> struct tiletune_codes {{}};\n"
      "template <class... tiletune_A> tiletune_codes<tiletune_code<tiletune_A>::tiletune_value...> "
      "tiletune_types(void (*)(tiletune_A...));\n"
      "template <class tiletune_T, auto> __global__ void tiletune_signature() {{}}\n"
      "template <class tiletune_T> __global__ void tiletune_parameters() {{}}\n",
      kConstant, kPointer, kPointer, kPointer);
  return text;
}

/// As a template argument itself, a template is instantiated as a whole.
std::string probing(const std::string& kernel) {
  return fmt::format("tiletune_signature<decltype(tiletune_types(&{0})), &{0}>", kernel);
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

CompileRequest signature_request(CompileRequest request) {
  request.source.text += probe();
  for (std::string& kernel : request.kernel_expressions) kernel = probing(kernel);
  return request;
}

CompileRequest types_request(CompileRequest request) {
  request.source.text += probe();
  for (std::string& kernel : request.kernel_expressions)
    kernel = fmt::format("tiletune_parameters<decltype(tiletune_types(&{}))>", kernel);
  return request;
}

/// "...tiletune_codesIJLi9ELi521EEE...": 9 and 521.
std::vector<ParameterType> parameter_types(std::string_view symbol) {
  std::vector<ParameterType> types;
  const std::string_view start = "tiletune_codesIJ";
  std::size_t at = symbol.find(start);
  if (at == std::string_view::npos) return types;
  for (symbol.remove_prefix(at + start.size()); symbol.starts_with("Li"); symbol.remove_prefix(1)) {
    symbol.remove_prefix(2);
    int code = 0;
    const auto [end, error] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), code);
    symbol.remove_prefix(static_cast<std::size_t>(end - symbol.data()));
    if (error != std::errc() || !symbol.starts_with("E")) break;
    const int type = code % kConstant / kLanes;
    ParameterType parameter{code >= kPointer, code % kPointer >= kConstant, std::nullopt, 1};
    if (type > 0 && type <= static_cast<int>(kTypes.size())) {
      parameter.element = kTypes[static_cast<std::size_t>(type) - 1].element;
      parameter.lanes = std::max(code % kLanes, 1);
    }
    types.push_back(parameter);
  }
  return types;
}

namespace {

/// A template parameter that is a type and has no default.
bool is_open_type(const TemplateParameter& parameter) {
  return parameter.is_type() && parameter.default_text.empty();
}

std::string first_argument(const TemplateParameter& parameter, const std::string& type) {
  if (!parameter.default_text.empty()) return parameter.default_text;
  if (parameter.is_type()) return type;
  return parameter.type == "bool" ? "true" : "32";
}

std::string expression_of(const KernelText& kernel, const std::string& type) {
  std::vector<std::string> arguments;
  for (const TemplateParameter& parameter : kernel.template_parameters)
    arguments.push_back(first_argument(parameter, type));
  return arguments.empty() ? kernel.name : fmt::format("{}<{}>", kernel.name, join(arguments, ", "));
}

Compiled compile_once(CompilePool& pool, const CompileRequest& request) {
  Compiled compiled;
  pool.submit(request, [&](const Compiled& done) { compiled = done; });
  while (pool.deliver() == 0) wait_for_work(pool);
  return compiled;
}

/// Names in `identifier "X" is undefined` that stand in the source where values do.
std::vector<MacroText> undefined_in(const std::string& log, const SourceFacts& facts) {
  const std::string start = "identifier \"";
  std::vector<MacroText> names;
  for (std::size_t at = log.find(start); at != std::string::npos; at = log.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    const std::size_t end = log.find('"', begin);
    if (end == std::string::npos || log.compare(end, 14, "\" is undefined") != 0) continue;
    const auto known = facts.value_names.find(log.substr(begin, end - begin));
    if (known == facts.value_names.end()) continue;
    const auto is_it = [&](const MacroText& macro) { return macro.name == known->first; };
    if (std::none_of(names.begin(), names.end(), is_it))
      names.push_back({known->first, known->second, std::nullopt, false, {}});
  }
  return names;
}

/// Values for macros that the source does not define.
struct MacroGuess {
  int value;
  int block;  ///< for what counts threads, such as BLOCK

  int value_for(const std::string& name) const {
    const std::string plain = squashed(name);
    constexpr std::array kWords{"block", "thread", "tpb", "bdim"};
    const bool counts_threads = std::any_of(kWords.begin(), kWords.end(), [&](const char* word) {
      return plain.find(word) != std::string::npos;
    });
    return counts_threads ? block : value;
  }
};
/// In the order in which they are tried: a source may divide by 32, or multiply to what does not fit.
constexpr std::array<MacroGuess, 3> kMacroGuesses{{{8, 8}, {8, 256}, {256, 256}}};
constexpr int kUsualThreads = 256;

/// `defines` of macros that no test compares with numbers, with another guess.
std::vector<std::string> guessed(std::vector<std::string> defines, const SourceFacts& facts,
                                 const MacroGuess& guess) {
  for (const MacroText& macro : facts.macros) {
    if (macro.value || !macro.compared_to.empty()) continue;
    const std::string start = fmt::format("-D{}=", macro.name);
    for (std::string& define : defines)
      if (define.starts_with(start)) define = start + std::to_string(guess.value_for(macro.name));
  }
  return defines;
}

/// Adds to `defines` a first value for each of the names that has none; false when all have one.
bool define(const std::vector<MacroText>& names, const MacroGuess& guess, std::vector<std::string>& defines,
            Signature& signature) {
  const std::size_t before = defines.size();
  for (const MacroText& macro : names) {
    const std::string start = fmt::format("-D{}=", macro.name);
    const auto is_it = [&](const std::string& other) { return other.starts_with(start); };
    if (std::any_of(defines.begin(), defines.end(), is_it)) continue;
    defines.push_back(start + std::to_string(guess.value_for(macro.name)));
    signature.undefined.push_back(macro);
  }
  return defines.size() > before;
}

/// Reads the signature of one instance; returns the compiler's message where it does not compile.
std::string read_instance(CompilePool& pool, KernelSource source, const std::string& architecture,
                          const SourceFacts& facts, const KernelText& kernel, const MacroGuess& guess,
                          std::vector<std::string> defines, Signature& signature) {
  HostCode host(source.text);
  Instance instance;
  instance.launches.emplace_back().kernel_expression = expression_of(kernel, signature.type);
  constexpr int kMostRounds = 64;  // a name or a host function may appear once others are dealt with
  for (int round = 0;; ++round) {
    source.text = host.blanked();
    instance.defines = defines;
    const Compiled compiled =
        compile_once(pool, signature_request(make_compile_request({}, source, instance, architecture)));
    const std::string& log = compiled.reason;
    if (compiled.outcome == Outcome::ok) {
      signature.parameters = parameter_types(compiled.binary->kernel_symbols.front());
      break;
    }
    const bool goes_on =
        round < kMostRounds &&
        (host.leave_out(log, source.name) || define(undefined_in(log, facts), guess, defines, signature) ||
         host.leave_out_declarations(log, source.name));
    if (goes_on) continue;
    const std::vector<Lines> lines = host.lines();
    return lines.empty() ? log : fmt::format("{}\nLeft out as host code: {}", log, lines_text(lines));
  }
  signature.host_code = host.lines();
  signature.guarded = host.guarded();
  std::stable_sort(signature.undefined.begin(), signature.undefined.end(),
                   [](const MacroText& a, const MacroText& b) { return a.line < b.line; });
  return "";
}

}  // namespace

Signature read_signature(const CompilePoolOptions& options, const KernelSource& source,
                         const std::string& architecture, const SourceFacts& facts, const KernelText& kernel,
                         const std::vector<std::string>& defines) {
  CompilePoolOptions one = options;
  one.workers = 1;
  for (const KernelSource::Root& root : source.roots) one.folders.push_back(root.folder);
  CompilePool pool(one);
  std::vector<std::string> types{""};
  if (std::any_of(kernel.template_parameters.begin(), kernel.template_parameters.end(), is_open_type))
    types = {"float", "int", "unsigned char", "__half", "double"};
  const bool tests_macros = std::any_of(facts.macros.begin(), facts.macros.end(), [](const MacroText& macro) {
    return !macro.value && macro.compared_to.empty();
  });
  std::string first_reason;
  std::vector<MacroText> undefined;
  for (const std::string& type : types) {
    for (std::size_t i = 0; i < kMacroGuesses.size(); ++i) {
      Signature signature;
      signature.type = type;
      const MacroGuess& guess = kMacroGuesses.at(i);
      std::string reason = read_instance(pool, source, architecture, facts, kernel, guess,
                                         i == 0 ? defines : guessed(defines, facts, guess), signature);
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
  if (types.size() > 1)
    throw UserError(fmt::format("the kernel '{}' does not compile with any of the types {}; with {}: {}",
                                kernel.name, join(types, ", "), types.front(), first_reason),
                    where,
                    "The source may be right for another type: give the type parameter a default, such as "
                    "typename T = my_type, or add an explicit instantiation.");
  if (!undefined.empty())
    throw UserError(
        fmt::format("the kernel '{}' does not compile with {} or {} for what the source does not define: {}",
                    kernel.name, kMacroGuesses.front().value, kUsualThreads, first_reason),
        where,
        fmt::format(
            "Put a value with which it compiles above the kernel, such as\n  #ifndef {0}\n  #define {0} "
            "{1}\n  #endif",
            undefined.front().name, kUsualThreads));
  throw UserError(fmt::format("the kernel '{}' does not compile: {}", kernel.name, first_reason), where,
                  "Correct the source until NVRTC compiles it as device code.");
}

}  // namespace tiletune
