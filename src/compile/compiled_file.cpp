#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/library.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "compile/pool.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// The functions of nvJitLink that tiletune calls, loaded on first use; it makes cubins of PTX. Its header is
/// not needed: not all installations of a toolkit's libraries have it.
struct NvJitLinkApi {
  using Handle = void*;
  static constexpr int kPtx = 2;  ///< NVJITLINK_INPUT_PTX

  Library library;
  std::string version_text = {};  ///< "13.0"

  // Each returns 0 when it succeeds.
  int (*version)(unsigned* major, unsigned* minor) = library.load("nvJitLinkVersion");
  int (*create)(Handle* handle, std::uint32_t count, const char** options) = library.load("nvJitLinkCreate");
  int (*destroy)(Handle* handle) = library.load("nvJitLinkDestroy");
  int (*add_data)(Handle handle, int input, const void* data, std::size_t bytes,
                  const char* name) = library.load("nvJitLinkAddData");
  int (*complete)(Handle handle) = library.load("nvJitLinkComplete");
  int (*cubin_size)(Handle handle, std::size_t* bytes) = library.load("nvJitLinkGetLinkedCubinSize");
  int (*cubin)(Handle handle, void* cubin) = library.load("nvJitLinkGetLinkedCubin");
  int (*log_size)(Handle handle, std::size_t* bytes) = library.load("nvJitLinkGetErrorLogSize");
  int (*log)(Handle handle, char* log) = library.load("nvJitLinkGetErrorLog");
};

/// Loads nvJitLink once. None where there is none.
const std::optional<NvJitLinkApi>& find_nvjitlink() {
  static const std::optional<NvJitLinkApi> api = []() -> std::optional<NvJitLinkApi> {
    try {
      NvJitLinkApi loaded{Library(cuda_library_names("nvJitLink"))};
      unsigned major = 0;
      unsigned minor = 0;
      if (loaded.version(&major, &minor) != 0) return std::nullopt;
      loaded.version_text = fmt::format("{}.{}", major, minor);
      return loaded;
    } catch (const GpuError&) {
      return std::nullopt;
    }
  }();
  return api;
}

const NvJitLinkApi& nvjitlink() {
  if (const auto& api = find_nvjitlink()) return *api;
  throw UserError("nvJitLink, which assembles PTX, cannot be loaded",
                  "Install libnvJitLink of CUDA 12.4 or newer, or name its folder in LD_LIBRARY_PATH.");
}

/// The cubin of a text in PTX. None when it fails, or would be larger than a cubin that is read from a file
/// may be: `log` says why.
std::optional<std::string> assemble(const std::string& ptx, const CompileRequest& request, std::string& log) {
  const NvJitLinkApi& api = nvjitlink();
  std::vector<std::string> options;
  std::vector<const char*> words;
  for (const std::string& option : request.options) {
    // nvJitLink spells the options of NVRTC in its own way.
    const std::size_t equals = option.find('=');
    const std::string_view name = std::string_view(option).substr(0, equals);
    options.emplace_back(name == "--gpu-architecture"     ? "-arch="
                         : name.ends_with("maxrregcount") ? "-maxrregcount="
                                                          : "-Xptxas=");
    options.back() += option.substr(equals + 1);
  }
  for (const std::string& option : options) words.push_back(option.c_str());
  log = "nvJitLink has failed";
  NvJitLinkApi::Handle handle = nullptr;
  if (api.create(&handle, static_cast<std::uint32_t>(words.size()), words.data()) != 0) return std::nullopt;
  const auto destroy = [&](void* /*handle*/) { api.destroy(&handle); };
  const std::unique_ptr<void, decltype(destroy)> owner(handle, destroy);
  std::size_t size = 0;
  if (api.add_data(handle, NvJitLinkApi::kPtx, ptx.data(), ptx.size(), request.source.name.c_str()) == 0 &&
      api.complete(handle) == 0 && api.cubin_size(handle, &size) == 0) {
    if (size > kLargestSource) {
      log = fmt::format("its cubin has more than {} MiB", kLargestSource >> 20);
      return std::nullopt;
    }
    std::string cubin(size, '\0');
    if (api.cubin(handle, cubin.data()) == 0) return cubin;
  }
  if (api.log_size(handle, &size) == 0 && size > 0) {
    log.assign(size, '\0');
    api.log(handle, log.data());
    log.resize(std::min(log.find('\0'), size));
  }
  return std::nullopt;
}

/// Whether its first directive is .version, behind comments.
bool begins_as_ptx(std::string_view text) {
  while (true) {
    text = trim(text);
    if (text.starts_with("//"))
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    else if (text.starts_with("/*") && text.find("*/", 2) != std::string_view::npos)
      text.remove_prefix(text.find("*/", 2) + 2);
    else
      return text.starts_with(".version");
  }
}

}  // namespace

bool has_nvjitlink() { return find_nvjitlink().has_value(); }

const std::string& nvjitlink_version() { return nvjitlink().version_text; }

Compiled load_compiled_file(const CompileRequest& request) {
  const double started_ms = process_cpu_ms();
  const KernelSource& source = request.source;
  Compiled compiled{Outcome::compile_failed, "", nullptr, {}};
  const std::string place = fs::path(source.name).lexically_normal();
  const Descriptor file = open_included(source, place);
  const int error = errno;
  auto content = file.is_open() ? source_content(file) : std::nullopt;
  compiled.dependencies[place] = content ? hash_of_content(*content) : state_of(source, place);
  if (!content) {
    const std::string folder = source.folders_text();
    if (file.is_open() || compiled.dependencies[place] == kUnreadable)
      compiled.reason = fmt::format("{} is not a file of at most {} MiB that can be read", source.name,
                                    kLargestSource >> 20);
    else if (error == EXDEV)
      compiled.reason = fmt::format(
          "{} leads out of the template's folder {}: copy the file there, or pass --allow-outside-paths",
          source.name, folder);
    else
      compiled.reason = fmt::format("there is no file {} in {}", source.name, folder);
    return compiled;
  }
  if (is_ptx(source.name)) {
    const std::string text = *content;
    std::string log;
    content = assemble(text, request, log);
    if (!content) {
      const std::string fault = begins_as_ptx(text) ? "" : "not valid PTX, which begins with .version: ";
      compiled.reason = reason_of_log(fmt::format("{}: {}{}", source.name, fault, log));
      return compiled;
    }
  }
  auto binary = std::make_shared<Binary>();
  binary->key = request.key();
  binary->kernel_symbols = request.kernel_expressions;
  binary->cubin = *std::move(content);
  binary->compile_ms = process_cpu_ms() - started_ms;
  return {Outcome::ok, "", std::move(binary), std::move(compiled.dependencies)};
}

}  // namespace tiletune
