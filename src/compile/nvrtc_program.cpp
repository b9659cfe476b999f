#include "compile/nvrtc_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "compile/included_files.h"
#include "compile/nvrtc_api.h"
#include "compile/pool.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

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

class Program {
 public:
  explicit Program(const KernelSource& source) {
    check(nvrtc().create(&program_, source.text.c_str(), source.name.c_str(), 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  }
  ~Program() { nvrtc().destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

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

/// The request's options and the folders that hold headers.
std::vector<std::string> options_with_headers(const CompileRequest& request) {
  std::vector<std::string> options = request.options;
  const auto search = [&](const std::string& folder) { options.push_back("--include-path=" + folder); };
  for (const std::string& folder : request.source.search_before) search(folder);
  if (const auto toolkit = cuda_include_folder()) {
    search(toolkit->string());
    if (is_folder(*toolkit / "cccl")) search((*toolkit / "cccl").string());
  }
  for (const std::string& folder : request.source.search_behind) search(folder);
  return options;
}

/// The log quotes source lines, which may be in any encoding; what is stored and exported must be UTF-8.
std::string as_utf8(const std::string& text) {
  const nlohmann::json quoted(text);
  return nlohmann::json::parse(quoted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// The front end says so in the log; ptxas says it on standard error and only gives up in the log, but leaves
/// the errno of the refused allocation. LLVM, between them, aborts.
bool ran_out_of_memory(nvrtcResult result, const std::string& log, int error_number) {
  if (result == NVRTC_SUCCESS) return false;
  return result == NVRTC_ERROR_OUT_OF_MEMORY || error_number == ENOMEM ||
         log.find("catastrophic error: out of memory") != std::string::npos;
}

/// What NVRTC compiled without finding the kernel in it.
Compiled no_kernel(const CompileRequest& request, const IncludedFiles& included) {
  std::string reason = "the compiler found no kernel named " + request.kernel_expression;
  const std::string start = request.source.text.substr(0, 2);
  if (start == "\xff\xfe" || start == "\xfe\xff") {
    reason += fmt::format("; {} begins like UTF-16: save it as UTF-8", request.source.name);
  }
  return {Outcome::compile_failed, reason, nullptr, included.dependencies()};
}

/// What a person needs to know where a file was not found.
std::string advice_on_includes(const std::string& log, const KernelSource& source,
                               const std::set<std::string>& refused) {
  const std::string words = "cannot open source file \"";
  const std::size_t place = log.find(words);
  if (place == std::string::npos || source.roots.empty()) return "";
  const std::size_t start = place + words.size();
  const std::string name = log.substr(start, log.find('"', start) - start);
  if (!refused.contains(name)) return fmt::format("\nIt was looked for in: {}.", source.folders_text());
  return fmt::format(
      "\n{} leads out of the kernel's folders ({}). Copy the file into one of them, or pass "
      "--allow-outside-paths.",
      name, source.folders_text());
}

/// NVRTC looks the kernel up in lines of its own behind the source. Their errors also follow from errors of
/// the source, which stand first.
bool only_the_name_is_wrong(const std::string& log) {
  const std::size_t error = std::min(log.find(": error"), log.find(": catastrophic error"));
  if (error == std::string::npos) return false;
  const std::size_t newline = log.rfind('\n', error);
  return log.compare(newline == std::string::npos ? 0 : newline + 1, 14, "__nv_name_map(") == 0;
}

Compiled failure(nvrtcResult result, const std::string& log, const CompileRequest& request,
                 const IncludedFiles& included) {
  constexpr std::size_t kLongestReason = std::size_t{16} << 10;
  std::string reason(trim(log));
  if (reason.empty()) reason = nvrtc().error_string(result);
  if (only_the_name_is_wrong(log)) {
    reason = fmt::format("{} has no kernel {}, as the manifest's \"kernel\" names it:\n{}",
                         request.source.name, request.kernel_expression, reason);
  }
  if (reason.size() > kLongestReason) {
    const std::size_t kept = std::min(reason.rfind('\n', kLongestReason), kLongestReason);
    const std::size_t left_out = reason.size() - kept;
    reason.resize(kept);
    reason += fmt::format("\n[{} more bytes of the compiler's log left out]", left_out);
  }
  reason += advice_on_includes(log, request.source, included.refused());
  return {Outcome::compile_failed, as_utf8(reason), nullptr, included.dependencies()};
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
  Program(source).compile({});
  // Without a folder of its own every name leads out.
  return included.refused().contains(kMissing);
}

Compiled compile_here(const CompileRequest& request) {
  const double started_ms = process_cpu_ms();
  const std::vector<std::string> options = options_with_headers(request);
  IncludedFiles included(request.source, cuda_include_folder());
  Program program(request.source);
  program.add_name(request.kernel_expression);
  errno = 0;
  const nvrtcResult result = program.compile(options);
  const int error_number = errno;
  const std::string log = program.log();
  if (ran_out_of_memory(result, log, error_number)) throw std::bad_alloc();
  // nvrtcGetCUBIN succeeds after a failed compilation too, with nothing in it.
  if (result != NVRTC_SUCCESS) return failure(result, log, request, included);
  const auto symbol = program.lowered_name(request.kernel_expression);
  if (!symbol) return no_kernel(request, included);
  auto binary = std::make_shared<Binary>();
  binary->key = request.key();
  binary->kernel_symbol = *symbol;
  binary->cubin = program.cubin();
  if (binary->cubin.size() > kMostCubinBytes) return too_large(*binary, included);
  binary->compile_ms = process_cpu_ms() - started_ms;
  return {Outcome::ok, "", std::move(binary), included.dependencies()};
}

}  // namespace tiletune
