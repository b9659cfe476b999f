#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "compile/compiler.h"

namespace tiletune {

namespace {

/// What a person needs to know where a file was not found.
std::string advice_on_includes(const std::string& log, const KernelSource& source,
                               const std::set<std::string>& refused) {
  const std::string words = "cannot open source file \"";
  const std::size_t place = log.find(words);
  if (place == std::string::npos) return "";
  const std::size_t start = place + words.size();
  const std::string name = log.substr(start, log.find('"', start) - start);
  // Headers of the C++ library alone have no ending.
  constexpr std::array<std::string_view, 20> kOfHosts{
      "time.h",     "errno.h",  "unistd.h",   "inttypes.h", "omp.h",   "signal.h",   "pthread.h",
      "locale.h",   "setjmp.h", "wchar.h",    "ctype.h",    "fcntl.h", "sys/time.h", "sys/types.h",
      "sys/stat.h", "getopt.h", "sys/mman.h", "windows.h",  "mpi.h",   "dirent.h"};
  const bool is_of_hosts = name.find_first_of("./") == std::string::npos ||
                           std::find(kOfHosts.begin(), kOfHosts.end(), name) != kOfHosts.end();
  if (is_of_hosts)
    return fmt::format(
        "\n<{0}> is for host code, which is not compiled here. Remove #include <{0}>, or put it and what "
        "needs it between "
        "#ifndef __CUDACC_RTC__ and #endif.",
        name);
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

}  // namespace tiletune
