#include "compile/nvrtc_program.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <map>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/library.h"
#include "compile/compiled_file.h"
#include "compile/included_files.h"
#include "compile/log.h"
#include "compile/pool.h"
#include "compile/standard_headers.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// The functions of NVRTC that tiletune calls, loaded on first use.
struct NvrtcApi {
  Library library;
  std::filesystem::path file = std::filesystem::canonical(library.path());  ///< with links resolved

  TILETUNE_LOADED(version, nvrtcVersion);
  TILETUNE_LOADED(architecture_count, nvrtcGetNumSupportedArchs);
  TILETUNE_LOADED(architectures, nvrtcGetSupportedArchs);
  TILETUNE_LOADED(create, nvrtcCreateProgram);
  TILETUNE_LOADED(destroy, nvrtcDestroyProgram);
  TILETUNE_LOADED(add_name, nvrtcAddNameExpression);
  TILETUNE_LOADED(compile, nvrtcCompileProgram);
  TILETUNE_LOADED(lowered_name, nvrtcGetLoweredName);
  TILETUNE_LOADED(log_size, nvrtcGetProgramLogSize);
  TILETUNE_LOADED(log, nvrtcGetProgramLog);
  TILETUNE_LOADED(cubin_size, nvrtcGetCUBINSize);
  TILETUNE_LOADED(cubin, nvrtcGetCUBIN);
  TILETUNE_LOADED(error_string, nvrtcGetErrorString);
};

Library open_nvrtc() {
  try {
    return Library(cuda_library_names("nvrtc"));
  } catch (const GpuError& error) {
    throw UserError(fmt::format("CUDA's compiler for kernels (libnvrtc) cannot be loaded.\n{}", error.what()),
                    "Install CUDA 12.4 or newer, or name the folder of libnvrtc in LD_LIBRARY_PATH.");
  }
}

/// NVRTC opens its builtins by name, which the loader finds where they are loaded already. Where they are
/// missing NVRTC says so itself, with every compilation.
void load_builtins(const NvrtcApi& api) {
  int major = 0;
  int minor = 0;
  if (api.version(&major, &minor) != NVRTC_SUCCESS) return;
  const auto builtins = api.file.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  ::dlopen(builtins.c_str(), RTLD_NOW);
}

NvrtcApi load_nvrtc() {
  NvrtcApi api{open_nvrtc()};
  load_builtins(api);
  return api;
}

/// Loads NVRTC, and the builtins library beside it, once. Throws UserError when there is none.
const NvrtcApi& nvrtc() {
  static const NvrtcApi api = load_nvrtc();
  return api;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// A call of NVRTC that cannot fail because of the kernel did fail.
void check(nvrtcResult result, const char* call) {
  if (result == NVRTC_SUCCESS) return;
  if (result == NVRTC_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
  throw std::runtime_error(fmt::format("{}: {}", call, nvrtc().error_string(result)));
}

/// A file's name as #line takes it.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text + '"';
}

/// Macros that options define, with the option and the value of the last one: "-DBM=64", "64".
using Definitions = std::map<std::string, std::pair<std::string, std::string>>;

constexpr std::array<std::string_view, 2> kDefine{"-D", "--define-macro="};

bool is_definition(const std::string& option) {
  return std::any_of(kDefine.begin(), kDefine.end(),
                     [&](std::string_view start) { return option.starts_with(start); });
}

Definitions definitions_of(const std::vector<std::string>& options) {
  Definitions definitions;
  for (const std::string& option : options) {
    for (const std::string_view start : kDefine) {
      if (!option.starts_with(start)) continue;
      const std::string definition = option.substr(start.size());
      const std::size_t equals = definition.find('=');
      definitions[definition.substr(0, equals)] = {
          option, equals == std::string::npos ? "1" : definition.substr(equals + 1)};
      break;
    }
    for (const std::string_view start : {"-U", "--undefine-macro="})
      if (option.starts_with(start)) definitions.erase(option.substr(start.size()));
  }
  return definitions;
}

/// What the compiler calls the lines that define the options' macros.
constexpr std::string_view kOptions = "options";

/// The source between the macros of the options. Those before it are defined here and not by options, as
/// NVRTC's own header would replace its parameters T, x or value by them, too. Those behind it are as they
/// were: NVRTC refuses that of one that the source has defined otherwise, also after an #undef. The lines
/// have a name of their own.
std::string checked_text(const CompileRequest& request) {
  const Definitions definitions = definitions_of(request.options);
  std::string text;
  if (!definitions.empty()) {
    text = fmt::format("#line 1 \"{}\"\n", kOptions);
    for (const auto& [macro, definition] : definitions)
      text += fmt::format("#undef {}\n#define {} {}\n", macro.substr(0, macro.find('(')), macro,
                          definition.second);
    text += fmt::format("#line 1 {}\n", quoted(request.source.name));
  }
  std::string_view source = request.source.text;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (source.starts_with(kByteOrderMark)) source.remove_prefix(kByteOrderMark.size());
  text += source;
  text += fmt::format("\n#line 1 \"{}\"\n#pragma nv_diag_error 47\n", kOptions);
  for (const auto& [macro, definition] : definitions)
    text += fmt::format("#define {} {}\n", macro, definition.second);
  return text;
}

class NvrtcProgram {
 public:
  NvrtcProgram(const KernelSource& source, const std::string& text) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const NamedHeader& header : standard_headers()) {
      const auto& own = source.own_headers;
      if (std::find(own.begin(), own.end(), header.name) != own.end()) continue;
      names.push_back(header.name);
      texts.push_back(header.text.c_str());
    }
    check(nvrtc().create(&program_, text.c_str(), source.name.c_str(), static_cast<int>(names.size()),
                         texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  ~NvrtcProgram() { nvrtc().destroy(&program_); }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  void add_name(const std::string& expression) {
    check(nvrtc().add_name(program_, expression.c_str()), "nvrtcAddNameExpression");
  }

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    return nvrtc().compile(program_, static_cast<int>(words.size()), words.data());
  }

  /// None when the program has no such kernel.
  std::optional<std::string> lowered_name(const std::string& expression) const {
    const char* name = nullptr;
    check(nvrtc().lowered_name(program_, expression.c_str(), &name), "nvrtcGetLoweredName");
    if (name == nullptr) return std::nullopt;
    return name;
  }

  std::string log() const {
    std::size_t size = 0;
    check(nvrtc().log_size(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    if (size > 0) check(nvrtc().log(program_, text.data()), "nvrtcGetProgramLog");
    return text.substr(0, text.find('\0'));
  }

  std::string cubin() const {
    std::size_t size = 0;
    check(nvrtc().cubin_size(program_, &size), "nvrtcGetCUBINSize");
    std::string image(size, '\0');
    check(nvrtc().cubin(program_, image.data()), "nvrtcGetCUBIN");
    return image;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

/// The request's options but its macros, which checked_text() defines, and the folders that hold headers.
std::vector<std::string> options_with_headers(const CompileRequest& request) {
  std::vector<std::string> options;
  std::copy_if(request.options.begin(), request.options.end(), std::back_inserter(options),
               [](const std::string& option) { return !is_definition(option); });
  options.push_back(std::string("--pre-include=") + kPrelude);
  const auto search = [&](const std::string& folder) { options.push_back("--include-path=" + folder); };
  for (const std::string& folder : request.source.search_before) search(folder);
  if (const auto toolkit = cuda_include_folder()) {
    search(toolkit->string());
    if (is_folder(*toolkit / "cccl")) search((*toolkit / "cccl").string());
  }
  for (const std::string& folder : request.source.search_behind) search(folder);
  return options;
}

/// The front end says so in the log; ptxas says it on standard error and only gives up in the log, but leaves
/// the errno of the refused allocation. LLVM, between them, aborts.
bool ran_out_of_memory(nvrtcResult result, const std::string& log, int error_number) {
  if (result == NVRTC_SUCCESS) return false;
  return result == NVRTC_ERROR_OUT_OF_MEMORY || error_number == ENOMEM ||
         log.find("catastrophic error: out of memory") != std::string::npos;
}

/// What NVRTC compiled without finding the kernel in it.
Compiled no_kernel(const CompileRequest& request, const std::string& expression,
                   const IncludedFiles& included) {
  std::string reason = "the compiler found no kernel named " + expression;
  const std::string start = request.source.text.substr(0, 2);
  if (start == "\xff\xfe" || start == "\xfe\xff") {
    reason += fmt::format("; {} begins like UTF-16: save it as UTF-8", request.source.name);
  }
  return {Outcome::compile_failed, reason, nullptr, included.dependencies()};
}

/// "kernel.cu(3)" of a message about a macro: where it was defined, if that is said, else where the message
/// is about.
std::string place_of_definition(std::string_view message) {
  const std::string_view start = " (declared at line ";
  const std::string_view between = " of ";
  const std::size_t declared = message.find(start);
  const std::size_t file = message.find(between, declared);
  if (file == std::string_view::npos) return std::string(message.substr(0, message.find(": ")));
  const std::string_view line = message.substr(declared + start.size(), file - declared - start.size());
  const std::string_view before = message;
  message.remove_prefix(file + between.size());
  const std::string_view name = message.substr(0, message.rfind(')'));
  // The source redefines what the lines before it define.
  if (name == kOptions) return std::string(before.substr(0, before.find(": ")));
  return fmt::format("{}({})", name, line);
}

/// A macro of the options that the source defines again with another value: the option has no effect then.
/// NVRTC says so where the source does it, and in the lines that checked_text() has added:
/// `kernel.cu(3): warning #47-D: incompatible redefinition of macro "BM"`,
/// `options(2): error: incompatible redefinition of macro "BM" (declared at line 3 of kernel.cu)`.
std::optional<std::string> overridden_option(const std::string& log, const CompileRequest& request) {
  const Definitions definitions = definitions_of(request.options);
  const std::string words = ": incompatible redefinition of macro \"";
  for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) {
    const std::size_t start = at + words.size();
    const auto definition = definitions.find(log.substr(start, log.find('"', start) - start));
    if (definition == definitions.end()) continue;
    const std::size_t line = log.rfind('\n', at) + 1;  // 0 where there is none before
    const std::string message = log.substr(line, log.find('\n', at) - line);
    return fmt::format(
        "{0}: #define {1} overrides the option {2}. Remove it, or put it between #ifndef {1} and #endif.",
        place_of_definition(message), definition->first, definition->second.first);
  }
  return std::nullopt;
}

Compiled failure(nvrtcResult result, const std::string& log, const CompileRequest& request,
                 const IncludedFiles& included) {
  return {Outcome::compile_failed,
          reason_of_failure(log, nvrtc().error_string(result), request, included.refused()), nullptr,
          included.dependencies()};
}

Compiled too_large(const Binary& binary, const IncludedFiles& included) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  return {
      Outcome::compile_failed,
      fmt::format("the compiled kernel takes {} MiB, of at most {} MiB: it may hold large initialised arrays",
                  binary.cubin.size() / kMebibyte, kMostCubinBytes / kMebibyte),
      nullptr, included.dependencies()};
}

}  // namespace

std::optional<fs::path> cuda_include_folder() {
  if (const char* named = std::getenv("TILETUNE_CUDA_INCLUDE"); named != nullptr && *named != '\0') {
    if (is_folder(named)) {
      const fs::path folder = fs::absolute(named).lexically_normal();
      return folder.has_filename() ? folder : folder.parent_path();  // without a slash at its end
    }
    throw UserError("TILETUNE_CUDA_INCLUDE names a folder that does not exist", Where{named, ""},
                    "Name the include folder of a CUDA toolkit, or unset the variable.");
  }
  if (is_folder(TILETUNE_CUDA_INCLUDE)) return TILETUNE_CUDA_INCLUDE;
  const fs::path library_folder = nvrtc().file.parent_path();
  for (const fs::path& folder : {library_folder / "../include", library_folder / "../../include",
                                 fs::path("/usr/local/cuda/include")}) {
    std::error_code ignored;
    if (fs::exists(folder / "cuda_fp16.h", ignored)) return fs::canonical(folder);
  }
  return std::nullopt;
}

double process_cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

const std::vector<int>& supported_architectures() {
  static const std::vector<int> architectures = [] {
    int count = 0;
    check(nvrtc().architecture_count(&count), "nvrtcGetNumSupportedArchs");
    std::vector<int> list(static_cast<std::size_t>(count));
    check(nvrtc().architectures(list.data()), "nvrtcGetSupportedArchs");
    return list;
  }();
  return architectures;
}

std::string nvrtc_version() {
  int major = 0;
  int minor = 0;
  check(nvrtc().version(&major, &minor), "nvrtcVersion");
  return fmt::format("{}.{}", major, minor);
}

bool notices_includes() {
  constexpr const char* kMissing = "tiletune_missing_header.h";
  KernelSource source;
  source.name = "probe.cu";
  source.text = fmt::format("#include \"{}\"\n", kMissing);
  const IncludedFiles included(source, std::nullopt);
  NvrtcProgram(source, source.text).compile({});
  // Without a folder of its own every name leads out.
  return included.refused().contains(kMissing);
}

Compiled compile_here(const CompileRequest& request) {
  if (is_compiled(request.source.name)) return load_compiled_file(request);
  const double started_ms = process_cpu_ms();
  const std::vector<std::string> options = options_with_headers(request);
  IncludedFiles included(request.source, cuda_include_folder());
  NvrtcProgram program(request.source, checked_text(request));
  for (const std::string& expression : request.kernel_expressions) program.add_name(expression);
  errno = 0;
  const nvrtcResult result = program.compile(options);
  const int error_number = errno;
  const std::string log = program.log();
  if (ran_out_of_memory(result, log, error_number)) throw std::bad_alloc();
  if (const auto overridden = overridden_option(log, request))
    return {Outcome::compile_failed, reason_of_log(*overridden), nullptr, included.dependencies()};
  // nvrtcGetCUBIN succeeds after a failed compilation too, with nothing in it.
  if (result != NVRTC_SUCCESS) return failure(result, log, request, included);
  auto binary = std::make_shared<Binary>();
  for (const std::string& expression : request.kernel_expressions) {
    const auto symbol = program.lowered_name(expression);
    if (!symbol) return no_kernel(request, expression, included);
    binary->kernel_symbols.push_back(*symbol);
  }
  binary->key = request.key();
  binary->cubin = program.cubin();
  if (binary->cubin.size() > kMostCubinBytes) return too_large(*binary, included);
  binary->compile_ms = process_cpu_ms() - started_ms;
  return {Outcome::ok, "", std::move(binary), included.dependencies()};
}

}  // namespace tiletune
