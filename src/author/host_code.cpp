#include "author/host_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "author/tokens.h"
#include "base/text.h"

namespace tiletune {

namespace {

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

}  // namespace

std::string lines_text(const std::vector<Lines>& lines) {
  std::vector<std::string> texts;
  for (const Lines& one : lines)
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

std::vector<Lines> HostCode::lines() const {
  std::vector<Lines> lines;
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

}  // namespace tiletune
