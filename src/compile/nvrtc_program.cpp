#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/library.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "compile/host_code.h"
#include "compile/included_files.h"
#include "compile/pool.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// What a person needs to know where a file was not found.
std::string advice_on_includes(const std::string& log, const KernelSource& source,
                               const std::set<std::string>& refused) {
  const std::string words = "cannot open source file \"";
  const std::size_t place = log.find(words);
  if (place == std::string::npos) return "";
  const std::size_t start = place + words.size();
  const std::string name = log.substr(start, log.find('"', start) - start);
  if (source.roots.empty()) return "";
  if (!refused.contains(name))
    return fmt::format("\nIt was looked for in: {}. Name other folders of headers with --include.",
                       source.folders_text());
  return fmt::format(
      "\n{} leads out of the kernel's folders ({}). Name its folder with --include, copy the file into one "
      "of "
      "these, or pass --allow-outside-paths.",
      name, source.folders_text());
}

constexpr std::string_view kNameMap = "__nv_name_map(";

/// The log with what NVRTC says about the names of kernels behind all else: it follows from errors of the
/// source. Such a message goes on to the next one that has a place of its own.
std::string with_names_last(const std::string& log) {
  std::string others;
  std::string names;
  bool is_name = false;
  for (const std::string& line : split(log, '\n')) {
    const bool starts = line.find(": error") != std::string::npos ||
                        line.find(": catastrophic error") != std::string::npos ||
                        line.find(": warning") != std::string::npos;
    if (starts) is_name = line.starts_with(kNameMap);
    (is_name ? names : others) += line + "\n";
  }
  return others + names;
}

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
  TILETUNE_LOADED(ptx_size, nvrtcGetPTXSize);
  TILETUNE_LOADED(ptx, nvrtcGetPTX);
  TILETUNE_LOADED(error_string, nvrtcGetErrorString);
};

NvrtcApi load_nvrtc() try {
  NvrtcApi api{Library(cuda_library_names("nvrtc"))};
  // NVRTC opens its builtins by name, which the loader finds where they are loaded already. Where they are
  // missing NVRTC says so itself, with every compilation.
  int major = 0;
  int minor = 0;
  if (api.version(&major, &minor) == NVRTC_SUCCESS) {
    const auto builtins = api.file.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
    ::dlopen(builtins.c_str(), RTLD_NOW);
  }
  return api;
} catch (const GpuError& error) {
  throw UserError(fmt::format("CUDA's compiler for kernels (libnvrtc) cannot be loaded.\n{}", error.what()),
                  "Install CUDA 12.4 or newer, or name the folder of libnvrtc in LD_LIBRARY_PATH.");
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

/// What stands behind the first of the beginnings that the option has; none without any.
std::optional<std::string> behind(const std::string& option, std::initializer_list<std::string_view> starts) {
  for (const std::string_view start : starts)
    if (option.starts_with(start)) return option.substr(start.size());
  return std::nullopt;
}

std::optional<std::string> definition_in(const std::string& option) {
  return behind(option, {"-D", "--define-macro="});
}

Definitions definitions_of(const std::vector<std::string>& options) {
  Definitions definitions;
  for (const std::string& option : options) {
    if (const auto definition = definition_in(option)) {
      const std::size_t equals = definition->find('=');
      definitions[definition->substr(0, equals)] = {
          option, equals == std::string::npos ? "1" : definition->substr(equals + 1)};
    } else if (const auto macro = behind(option, {"-U", "--undefine-macro="})) {
      definitions.erase(*macro);
    }
  }
  return definitions;
}

/// What the compiler calls the lines that define the options' macros.
constexpr std::string_view kOptions = "options";

/// The source, as `source_text`, between the macros of the options. Those before it are defined here and not
/// by options, as NVRTC's own header would replace its parameters T, x or value by them, too. Those behind it
/// are as they were: NVRTC refuses that of one that the source has defined otherwise, also after an #undef.
/// The lines have a name of their own.
std::string checked_text(const CompileRequest& request, const std::string& source_text) {
  const Definitions definitions = definitions_of(request.options);
  std::string text;
  if (!definitions.empty()) {
    text = fmt::format("#line 1 \"{}\"\n", kOptions);
    for (const auto& [macro, definition] : definitions)
      text += fmt::format("#undef {}\n#define {} {}\n", macro.substr(0, macro.find('(')), macro,
                          definition.second);
    text += fmt::format("#line 1 {}\n", quoted(request.source.name));
  }
  std::string_view source = source_text;
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

  /// PTX where the architecture is a virtual one.
  std::string cubin() const {
    std::size_t size = 0;
    check(nvrtc().cubin_size(program_, &size), "nvrtcGetCUBINSize");
    std::string image(size, '\0');
    if (size == 0) {
      check(nvrtc().ptx_size(program_, &size), "nvrtcGetPTXSize");
      image.resize(size);
      check(nvrtc().ptx(program_, image.data()), "nvrtcGetPTX");
      return image;
    }
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
               [](const std::string& option) { return !definition_in(option); });
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

/// "kernel.cu(3)" of a message about a macro: where it was defined, if that is said, else where the message
/// is about.
std::string place_of_definition(std::string_view message) {
  const std::string_view start = " (declared at line ";
  const std::string_view between = " of ";
  std::string place(message.substr(0, message.find(": ")));
  const std::size_t declared = message.find(start);
  const std::size_t file = message.find(between, declared);
  if (file == std::string_view::npos) return place;
  const std::string_view line = message.substr(declared + start.size(), file - declared - start.size());
  message.remove_prefix(file + between.size());
  const std::string_view name = message.substr(0, message.rfind(')'));
  // The source redefines what the lines before it define.
  return name == kOptions ? place : fmt::format("{}({})", name, line);
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

}  // namespace

std::string reason_of_log(std::string log) {
  constexpr std::size_t kLongestReason = std::size_t{16} << 10;
  if (log.size() > kLongestReason) {
    const std::size_t kept = std::min(log.rfind('\n', kLongestReason), kLongestReason);
    const std::size_t left_out = log.size() - kept;
    log.resize(kept);
    log += fmt::format("\n[{} more bytes of the compiler's log left out]", left_out);
  }
  const nlohmann::json quoted(log);
  return nlohmann::json::parse(quoted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string reason_of_failure(const std::string& raw_log, const char* otherwise,
                              const CompileRequest& request, const std::set<std::string>& refused) {
  const std::string log = with_names_last(raw_log);
  // Warnings may stand before the first error.
  const std::size_t error = std::min(log.find(": error"), log.find(": catastrophic error"));
  const bool has_error = error != std::string::npos;
  const std::string_view errors = std::string_view(log).substr(has_error ? log.rfind('\n', error) + 1 : 0);
  std::string reason(trim(errors));
  if (reason.empty()) reason = otherwise;
  // NVRTC looks the kernel up in lines of its own behind the source. Their errors also follow from errors of
  // the source, which stand first.
  if (has_error && errors.starts_with(kNameMap))
    reason = fmt::format("{} has no kernel {}, as the manifest's \"kernel\" names it:\n{}",
                         request.source.name, join(request.kernel_expressions, " or "), reason);
  return reason_of_log(std::move(reason)) + advice_on_includes(log, request.source, refused);
}

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

namespace {

/// Whether a type of <cstdint> is not known, which the host's headers bring along for nvcc.
bool lacks_integers(const std::string& log) {
  constexpr std::array kTypes{"int8_t", "int16_t", "int32_t", "int64_t"};
  return std::ranges::any_of(kTypes, [&](const std::string& type) {
    return log.find(type + "\" is undefined") != std::string::npos;
  });
}

/// Whether NVRTC compiles such a text in place of the source, whatever macros a configuration has.
bool compiles(const std::string& text, const KernelSource& source, const std::vector<std::string>& options) {
  static std::map<std::vector<std::string>, bool> known;
  std::vector<std::string> key = options;
  key.insert(key.end(), source.own_headers.begin(), source.own_headers.end());
  for (const KernelSource::Root& root : source.roots) key.push_back(root.folder->path().string());
  key.push_back(text);
  const auto [result, is_new] = known.try_emplace(std::move(key), false);
  if (is_new) result->second = NvrtcProgram(source, text).compile(options) == NVRTC_SUCCESS;
  return result->second;
}

/// What was left out of a source, and the files that this rests on.
struct KnownHostCode {
  HostCodeOfKernel host;
  Dependencies files;
};
/// By the hash of the source: what no device code can mean need not be found again for the next
/// configuration.
std::map<std::string, KnownHostCode> known_host_code;

}  // namespace

Compiled compile_here(const CompileRequest& request) {
  if (is_compiled(request.source.name)) return load_compiled_file(request);
  const double started_ms = process_cpu_ms();
  std::vector<std::string> options = options_with_headers(request);
  bool has_integers = !cuda_include_folder();  // without the CUDA headers there are none
  HostCodeOfKernel host(request.source);
  Dependencies earlier;
  const auto known = known_host_code.find(request.source.hash());
  if (known != known_host_code.end() && DependencyCheck().holds(request.source, known->second.files)) {
    host = known->second.host;
    earlier = known->second.files;
  }
  IncludedFiles included(request.source, cuda_include_folder());
  const auto missing = [&](const std::string& header) {
    return !compiles("#if !__has_include(" + header + ")\n#error\n#endif\n", request.source, options);
  };
  const auto unreadable = [&](const std::string& header) {
    return !missing(header) && !compiles("#include " + header + "\n", request.source, options);
  };
  host.leave_out_missing(missing);
  const auto dependencies = [&] {
    Dependencies all = included.dependencies();
    all.insert(earlier.begin(), earlier.end());
    return all;
  };
  const auto failed = [&](std::string reason) {
    return Compiled{Outcome::compile_failed, std::move(reason), nullptr, dependencies()};
  };
  std::optional<NvrtcProgram> program;
  for (;;) {
    included.replace(host.headers());
    program.emplace(request.source, checked_text(request, host.text()));
    for (const std::string& expression : request.kernel_expressions) program->add_name(expression);
    errno = 0;
    const nvrtcResult result = program->compile(options);
    const int error_number = errno;
    const std::string log = program->log();
    // The front end says that memory ran out in the log; ptxas says it on standard error and only gives up in
    // the log, but leaves the errno of the refused allocation. LLVM, between them, aborts.
    if (result != NVRTC_SUCCESS && (result == NVRTC_ERROR_OUT_OF_MEMORY || error_number == ENOMEM ||
                                    log.find("catastrophic error: out of memory") != std::string::npos))
      throw std::bad_alloc();
    if (const auto overridden = overridden_option(log, request)) return failed(reason_of_log(*overridden));
    if (result == NVRTC_SUCCESS) break;
    if (!has_integers && lacks_integers(log)) {
      options.emplace_back("--pre-include=cstdint");
      has_integers = true;
      continue;
    }
    // nvrtcGetCUBIN succeeds after a failed compilation too, with nothing in it.
    if (!host.leave_out(log, request.source, dependencies(), missing, unreadable))
      return failed(
          reason_of_failure(host.explained(log), nvrtc().error_string(result), request, included.refused()));
  }
  if (host.take_back_headers())
    known_host_code.insert_or_assign(request.source.hash(), KnownHostCode{std::move(host), dependencies()});
  auto binary = std::make_shared<Binary>();
  for (const std::string& expression : request.kernel_expressions) {
    const auto symbol = program->lowered_name(expression);
    if (!symbol) {
      const std::string start = request.source.text.substr(0, 2);
      const bool is_utf_16 = start == "\xff\xfe" || start == "\xfe\xff";
      return failed(fmt::format(
          "the compiler found no kernel named {}{}", expression,
          is_utf_16 ? fmt::format("; {} begins like UTF-16: save it as UTF-8", request.source.name) : ""));
    }
    binary->kernel_symbols.push_back(*symbol);
  }
  binary->key = request.key();
  binary->cubin = program->cubin();
  if (binary->cubin.size() > kMostCubinBytes)
    return failed(fmt::format(
        "the compiled kernel takes {} MiB, of at most {} MiB: it may hold large initialised arrays",
        binary->cubin.size() >> 20, kMostCubinBytes >> 20));
  binary->compile_ms = process_cpu_ms() - started_ms;
  return {Outcome::ok, "", std::move(binary), dependencies()};
}

}  // namespace tiletune
