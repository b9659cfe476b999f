#include "compile/host_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "compile/tokens.h"

namespace tiletune {

namespace {

// C++'s own headers have no suffix.
constexpr const char* kHeadersForHosts =
    "assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h "
    "stdarg.h "
    "stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h time.h wchar.h dirent.h dlfcn.h fcntl.h "
    "getopt.h "
    "libgen.h malloc.h memory.h poll.h pthread.h sched.h semaphore.h termios.h unistd.h windows.h "
    "immintrin.h "
    "emmintrin.h x86intrin.h omp.h mpi.h nccl.h Python.h "
    "helper_cuda.h helper_functions.h helper_image.h helper_string.h helper_timer.h";
constexpr const char* kFoldersForHosts =
    "sys bits arpa netinet linux thrust nvtx3 torch ATen c10 pybind11 opencv opencv2 boost Eigen gtest gmock "
    "benchmark "
    "glog gflags fmt spdlog GL GLFW SDL2";

bool is_listed(std::string_view name, const char* list) {
  const std::vector<std::string> names = split(list, ' ');
  return std::ranges::find(names, name) != names.end();
}

/// What a range of tokens mentions. What ends a macro may be called where the macro is.
std::set<std::string> mentions_in(const TokenRange& range, bool is_macro) {
  std::set<std::string> names;
  for (std::size_t i = range.begin(); i < range.end(); ++i) {
    if (!range.is_name(i)) continue;
    names.emplace(range.text(i));
    if (is_macro || range.is(i + 1, "( <")) names.insert(std::string(range.text(i)) + "(");
  }
  return names;
}

/// The names that a declaration makes: too many rather than too few.
std::vector<std::string> names_of(const TokenRange& code, const Declaration& one) {
  std::vector<std::string> names;
  const auto add = [&](std::size_t at) {
    if (code.is_name(at)) names.emplace_back(code.text(at));
  };
  std::size_t head = code.begin();
  while (code.fits(head, {"template", "<"})) head = code.behind_bracket(head + 1);
  if (code.fits(head, {"using", "namespace"})) return {};
  if (code.fits(head, {"using", "$", "="})) return {std::string(code.text(head + 1))};
  const bool is_class = code.is(head, "class struct union") && !one.is_function;
  for (std::size_t i = is_class ? code.find("{ : < ;", head) : head; i < code.end() && !one.is_function;
       ++i) {
    if (code.is(i, "= , ; : < [ ( {")) add(i - 1);
    if (code.fits(i, {"(", "*", "$"})) add(i + 2);
    if (code.is(i, "=")) i = code.find(", ;", i) - 1;
    if (code.is(i, "< [ ( {")) i = code.behind_bracket(i) - 1;
  }
  if (!one.name.empty()) names.push_back(std::string(one.name) + "(");
  if (names.empty() || code.is(head, "enum"))
    for (std::size_t i = head; i < code.end(); ++i) add(i);
  return names;
}

/// Behind the line, and a comment that begins in it.
std::size_t end_of_directive(const std::string& text, std::size_t begin) {
  std::size_t end = text.find('\n', begin);
  while (end != text.npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  end = std::min(end, text.size());
  const std::size_t comment = text.rfind("/*", end);
  if (comment == text.npos || comment < begin) return end;
  const std::size_t close = text.find("*/", comment);
  return close == text.npos ? end : std::max(end, close + 2);
}

/// "identifier "cublasHandle_t" is undefined", "namespace "std" has no member "vector"".
bool is_of_unknown_name(const std::string& message) {
  return std::ranges::any_of(
      std::array{"is undefined", "has no member", "must be a class or namespace name", "is not a template"},
      [&](const char* words) { return message.find(words) != std::string::npos; });
}

}  // namespace

ErrorLines error_lines(std::string_view log, bool of_unknown_names) {
  ErrorLines lines;
  for (const std::string& message : split(log, '\n')) {
    const bool is_left = of_unknown_names ? !is_of_unknown_name(message)
                                          : message.find("static assertion failed") != std::string::npos;
    if (is_left) continue;
    const std::size_t close = std::min(message.find("): error"), message.find("): catastrophic error"));
    if (close == std::string::npos) continue;
    const std::size_t open = message.rfind('(', close);
    int line = 0;
    if (open != std::string::npos &&
        std::from_chars(message.data() + open + 1, message.data() + close, line).ec == std::errc())
      lines[message.substr(0, open)].insert(line);
  }
  return lines;
}

bool is_for_hosts(std::string_view header) {
  if (!header.starts_with('<') || header.size() < 3) return false;
  const std::string_view name = header.substr(1, header.size() - 2);
  const std::size_t slash = name.find('/');
  if (slash != name.npos) return is_listed(name.substr(0, slash), kFoldersForHosts);
  const bool is_library = name.starts_with("cu") || name.starts_with("nv") || name.starts_with("npp");
  return name.find('.') == name.npos || is_library || is_listed(name, kHeadersForHosts);
}

HostCode::HostCode(std::string_view text) : text_(text) {
  const TokenizedSource source = tokenize_source(text_);
  const auto place = [&](const SourceToken& token) {
    return static_cast<std::size_t>(token.text.data() - text_.data());
  };
  for (const SourceTokens& directive : source.directives) {
    const SourceToken& first = directive.front();
    directives_.emplace_back(text_.rfind('#', place(first)), end_of_directive(text_, place(first)));
    if (TokenRange(directive).fits(0, {"define", "#"})) {
      meanings_.emplace(directive[1].text, mentions_.size());
      meanings_.emplace(std::string(directive[1].text) + "(", mentions_.size());
      mentions_.push_back(mentions_in(TokenRange(directive, 2, directive.size()), true));
    }
    if (!first.is("include")) continue;
    const std::size_t begin = place(first);
    const std::string_view rest = std::string_view(text_).substr(begin, text_.find('\n', begin) - begin);
    const std::size_t open = rest.find_first_of("<\"");
    const std::size_t close = open == rest.npos ? open : rest.find_first_of(">\"", open + 1);
    if (close == rest.npos) continue;
    // The compiler counts the lines of a comment behind it.
    const auto lines =
        std::ranges::count(std::string_view(text_).substr(begin, directives_.back().second - begin), '\n');
    parts_.push_back({begin, begin + close + 1, first.line, first.line + static_cast<int>(lines),
                      std::string(rest.substr(open, close + 1 - open))});
  }
  for (const Declaration& one : read_declarations(source.code)) {
    const TokenRange code(source.code, one.begin, one.end);
    std::vector<std::string> names{""};
    if (!one.is_device) names = names_of(code, one);
    for (const std::string& name : names) meanings_.emplace(name, mentions_.size());
    mentions_.push_back(mentions_in(code, false));
    // Which operators a kernel uses is not known, but for those of streams.
    const bool is_operator = one.name == "operator" && !code.has("ostream istream");
    const bool has_device_code = one.is_device || code.has("__global__ __device__ __constant__");
    if (is_operator || has_device_code || code.has("static_assert _Static_assert")) continue;
    const SourceToken& first = source.code[one.begin];
    const SourceToken& last = source.code[one.end - 1];
    parts_.push_back({place(first), place(last) + last.text.size(), first.line, last.line, "",
                      !one.is_function, std::move(names)});
  }
  std::ranges::sort(parts_, {}, &Part::begin);
}

void HostCode::add_used(std::set<std::string>& used) {
  std::vector<std::string> open(used.begin(), used.end());
  open.emplace_back();
  while (!open.empty()) {
    const auto [first, last] = meanings_.equal_range(open.back());
    open.pop_back();
    for (auto meaning = first; meaning != last; ++meaning)
      for (const std::string& name : std::exchange(mentions_[meaning->second], {}))
        if (used.insert(name).second) open.push_back(name);
  }
}

bool HostCode::leave_out(const std::set<int>& lines, const std::set<std::string>& used, bool others) {
  bool any = false;
  for (Part& part : parts_) {
    const auto line = lines.lower_bound(part.first);
    if (part.left_out || part.is_other != others || line == lines.end() || *line > part.last) continue;
    const auto is_used = [&](const std::string& name) { return used.contains(name); };
    if (part.header.empty() ? std::ranges::any_of(part.names, is_used) : !is_for_hosts(part.header)) continue;
    part.left_out = any = true;
  }
  return any;
}

bool HostCode::leave_out_headers(const std::function<bool(const std::string& header)>& is_for_host) {
  bool any = false;
  for (Part& part : parts_)
    if (!part.left_out && !part.header.empty() && is_for_host(part.header)) part.left_out = any = true;
  return any;
}

bool HostCode::take_back_headers() {
  bool any = false;
  for (Part& part : parts_) any |= part.left_out &= part.header.empty();
  return any;
}

bool HostCode::includes_for_hosts() const {
  return std::ranges::any_of(parts_, [](const Part& part) { return is_for_hosts(part.header); });
}

std::string HostCode::lines() const {
  std::vector<std::string> texts;
  for (const Part& part : parts_)
    if (part.left_out)
      texts.push_back(part.first == part.last ? std::to_string(part.first)
                                              : fmt::format("{}-{}", part.first, part.last));
  return join(texts, ", ");
}

std::string HostCode::blanked() const {
  std::string text = text_;
  const auto blank = [&](bool includes) {
    for (const Part& part : parts_)
      for (std::size_t i = part.begin; part.left_out && part.header.empty() != includes && i < part.end; ++i)
        if (text[i] != '\n') text[i] = ' ';
  };
  blank(false);
  for (const auto& [begin, end] : directives_) text.replace(begin, end - begin, text_, begin, end - begin);
  blank(true);
  return text;
}

bool HostCodeOfKernel::leave_out(const std::string& log, const KernelSource& source,
                                 const Dependencies& files,
                                 const std::function<bool(const std::string& header)>& is_missing,
                                 const std::function<bool(const std::string& header)>& is_unreadable) {
  for (const auto& [name, hash] : files) {
    if (hash.empty() || hash == kUnreadable || headers_.contains(name)) continue;
    const Descriptor file = open_included(source, name);
    const auto text = file.is_open() ? source_content(file) : std::nullopt;
    if (text) headers_.emplace(name, HostCode(*text));
  }
  std::size_t before = 0;
  do {
    before = used_.size();
    source_.second.add_used(used_);
    for (auto& [name, header] : headers_) header.add_used(used_);
  } while (used_.size() > before);
  const auto leave_out_of_files = [&](bool others) {
    bool any = false;
    for (const auto& [file, lines] : error_lines(log, others)) {
      const auto header = headers_.find(std::filesystem::path(file).lexically_normal());
      if (file == source_.first) any |= source_.second.leave_out(lines, used_, others);
      if (header != headers_.end()) any |= header->second.leave_out(lines, used_, others);
    }
    return any;
  };
  // What else names something unknown is a mistake, unless a header for hosts may declare it.
  bool may_be_host = source_.second.includes_for_hosts();
  for (const auto& [name, header] : headers_) may_be_host |= header.includes_for_hosts();
  bool any = leave_out_missing(is_missing);
  any |= leave_out_of_files(false);
  any |= may_be_host && leave_out_of_files(true);
  if (any) return true;
  const bool is_elsewhere = std::ranges::any_of(error_lines(log), [&](const auto& one) {
    return one.first != source_.first &&
           !headers_.contains(std::filesystem::path(one.first).lexically_normal());
  });
  const auto is_for_host = [&](const std::string& header) {
    const std::string name = header.substr(1, header.size() - 2);
    const auto is_it = [&](const auto& own) { return own.first == name || own.first.ends_with("/" + name); };
    return std::ranges::none_of(headers_, is_it) && is_unreadable(header);
  };
  any = is_elsewhere && source_.second.leave_out_headers(is_for_host);
  for (auto& [name, header] : headers_) any |= is_elsewhere && header.leave_out_headers(is_for_host);
  return any;
}

bool HostCodeOfKernel::leave_out_missing(const std::function<bool(const std::string& header)>& is_missing) {
  const auto is_it = [&](const std::string& header) { return is_for_hosts(header) && is_missing(header); };
  bool any = source_.second.leave_out_headers(is_it);
  for (auto& [name, header] : headers_) any |= header.leave_out_headers(is_it);
  return any;
}

bool HostCodeOfKernel::take_back_headers() {
  bool any = source_.second.take_back_headers();
  for (auto& [name, header] : headers_) any |= header.take_back_headers();
  return any;
}

std::map<std::string, std::string> HostCodeOfKernel::headers() const {
  std::map<std::string, std::string> texts;
  for (const auto& [name, header] : headers_)
    if (!header.lines().empty()) texts.emplace(name, header.blanked());
  return texts;
}

std::string HostCodeOfKernel::explained(const std::string& log) const {
  std::string text = log;
  const auto add = [&](const std::string& name, const HostCode& host) {
    if (const std::string lines = host.lines(); !lines.empty())
      text += fmt::format("\nLeft out as host code: {}({})\n", name, lines);
  };
  add(source_.first, source_.second);
  for (const auto& [name, header] : headers_) add(name, header);
  return text;
}

}  // namespace tiletune
