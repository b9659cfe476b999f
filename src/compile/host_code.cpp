#include "compile/host_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "compile/tokens.h"

namespace tiletune {

namespace {

/// What kernels and other device code name, directly or through what they name.
std::set<std::string> names_in_use(const TokenizedSource& source,
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
  std::set<std::string> names;
  while (!reached.empty()) {
    const TokenRange range = reached.back();
    reached.pop_back();
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      if (!range.is_name(i) || !names.emplace(range.text(i)).second) continue;
      const auto [first, last] = meanings.equal_range(range.text(i));
      for (auto meaning = first; meaning != last; ++meaning) reached.push_back(meaning->second);
    }
  }
  return names;
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

HostCode::HostCode(std::string text, const std::set<std::string>& used) : text_(std::move(text)) {
  const TokenizedSource source = tokenize_source(text_);
  const auto place = [&](const SourceToken& token) {
    return static_cast<std::size_t>(token.text.data() - text_.data());
  };
  for (const SourceTokens& directive : source.directives) {
    const SourceToken& first = directive.front();
    if (!first.is("include")) continue;
    const std::size_t begin = text_.rfind('\n', place(first)) + 1;  // npos + 1 is 0
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const std::string_view rest = std::string_view(text_).substr(0, end).substr(place(first) + 7);
    const std::size_t open = rest.find_first_of("<\"");
    const std::size_t close = open == rest.npos ? open : rest.find_first_of(">\"", open + 1);
    if (close == rest.npos) continue;
    parts_.push_back(
        {begin, end, first.line, first.line, false, std::string(rest.substr(open, close + 1 - open))});
  }
  const std::vector<Declaration> declarations = read_declarations(source.code);
  used_ = names_in_use(source, declarations);
  used_.insert(used.begin(), used.end());
  for (const Declaration& one : declarations) {
    // Without a specialization the code would be another one.
    const bool is_special = TokenRange(source.code).fits(one.begin, {"template", "<", ">"});
    if (one.is_device || is_special) continue;
    const SourceToken& first = source.code[one.begin];
    const SourceToken& last = source.code[one.end - 1];
    parts_.push_back({place(first), place(last) + last.text.size(), first.line, last.line,
                      !one.is_function || used_.contains(std::string(one.name))});
  }
  std::ranges::sort(parts_, {}, &Part::begin);
}

bool HostCode::leave_out(const std::set<int>& lines, bool others) {
  bool any = false;
  for (Part& part : parts_) {
    const auto line = lines.lower_bound(part.first);
    // A certain file that is missing is a mistake: what it defines may choose between kernels.
    const bool is_file = part.header.starts_with('"') || part.header.starts_with("</") ||
                         part.header.find("..") != std::string::npos;
    const bool has_line = line != lines.end() && *line <= part.last;
    if (part.left_out || is_file || part.is_other != others || !has_line) continue;
    part.left_out = any = true;
  }
  return any;
}

bool HostCode::leave_out_headers(const std::function<bool(const std::string& header)>& is_readable) {
  bool any = false;
  for (Part& part : parts_)
    if (!part.left_out && !part.header.empty() && !is_readable(part.header)) part.left_out = any = true;
  return any;
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
  for (const Part& part : parts_)
    for (std::size_t i = part.begin; part.left_out && i < part.end; ++i)
      if (text[i] != '\n') text[i] = ' ';
  return text;
}

bool HostCodeOfKernel::leave_out(const std::string& log, std::string& log_before, const KernelSource& source,
                                 const Dependencies& files,
                                 const std::function<bool(const std::string& header)>& is_readable) {
  for (const auto& [name, hash] : files) {
    if (hash.empty() || hash == kUnreadable || headers_.contains(name)) continue;
    const Descriptor file = open_included(source, name);
    const auto text = file.is_open() ? source_content(file) : std::nullopt;
    if (text) headers_.emplace(name, HostCode(*text, source_.second.used()));
  }
  const auto leave_out_of_files = [&](bool others) {
    bool any = false;
    for (const auto& [file, lines] : error_lines(log, others)) {
      const auto header = headers_.find(std::filesystem::path(file).lexically_normal());
      if (file == source_.first) any |= source_.second.leave_out(lines, others);
      if (header != headers_.end()) any |= header->second.leave_out(lines, others);
    }
    return any;
  };
  if (leave_out_of_files(false)) {
    if (log.find("cannot open source file") != std::string::npos) missing_ += log;
    return true;
  }
  const bool is_elsewhere = std::ranges::any_of(error_lines(log), [&](const auto& one) {
    return one.first != source_.first &&
           !headers_.contains(std::filesystem::path(one.first).lexically_normal());
  });
  const auto may_stay = [&](const std::string& header) {
    const std::string name = header.substr(1, header.size() - 2);
    const auto is_it = [&](const auto& own) { return own.first == name || own.first.ends_with("/" + name); };
    return std::ranges::any_of(headers_, is_it) || is_readable(header);
  };
  bool any = is_elsewhere && source_.second.leave_out_headers(may_stay);
  for (auto& [name, header] : headers_) any |= is_elsewhere && header.leave_out_headers(may_stay);
  if (any) return true;
  // What else names something unknown is a mistake, unless a header that is left out may declare it.
  if (source_.second.lines().empty() && headers().empty()) return false;
  if (!leave_out_of_files(true)) return false;
  if (log_before.empty()) log_before = log;
  return true;
}

std::map<std::string, std::string> HostCodeOfKernel::headers() const {
  std::map<std::string, std::string> texts;
  for (const auto& [name, header] : headers_)
    if (!header.lines().empty()) texts.emplace(name, header.blanked());
  return texts;
}

std::string HostCodeOfKernel::explained(const std::string& log, const std::string& log_before) const {
  std::string text = (log_before.empty() ? log : log_before) + missing_;
  const auto add = [&](const std::string& name, const HostCode& host) {
    if (const std::string lines = host.lines(); !lines.empty())
      text += fmt::format("\nLeft out as host code: {} (lines {})\n", name, lines);
  };
  add(source_.first, source_.second);
  for (const auto& [name, header] : headers_) add(name, header);
  return text;
}

}  // namespace tiletune
