#include "compile/include_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "compile/source_cursor.h"

namespace tiletune {

namespace {

constexpr const char* kPlainInclude = "Write #include \"file\" with the file's name.";

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 2> kConditions{"if", "elif"};
constexpr std::array<std::string_view, 4> kDefinedness{"ifdef", "ifndef", "elifdef", "elifndef"};
constexpr std::array<std::string_view, 4> kOpensFiles{"include_next", "import", "embed", "using"};
constexpr std::array<std::string_view, 3> kAsksForFiles{"__has_include", "__has_include_next", "__has_embed"};

/// Whether every compiler reads the name of a file alike.
bool is_plain_name(const std::string& name) {
  constexpr std::string_view kSpecial = "\\\"'<>*?:|";
  const auto is_odd = [&](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || kSpecial.find(c) != std::string_view::npos;
  };
  return !name.empty() && name.front() != ' ' && name.back() != ' ' &&
         std::none_of(name.begin(), name.end(), is_odd);
}

/// The text with "\n" alone as line break. Compilers disagree on other carriage returns, and on trigraphs,
/// which can form a # or join lines.
std::string with_plain_line_breaks(std::string_view text, const std::string& file) {
  std::string plain;
  plain.reserve(text.size());
  std::size_t line = 1;
  const auto refuse = [&](const char* what, const char* remedy) {
    throw UserError(what, Where{file, fmt::format("line {}", line)}, remedy);
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view next = text.substr(i + 1, 2);
    if (c == '\r' && next.starts_with('\n')) continue;
    if (c == '\r') refuse("a carriage return stands alone", "End lines with a line feed.");
    if (c == '?' && (next == "?=" || next == "?/" || next == "?'"))
      refuse("a trigraph, which some C++ standards replace and others do not", "Remove a question mark.");
    if (c == '\n') ++line;
    plain += c;
  }
  return plain;
}

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file) : cursor_(text, file) {}

  std::vector<Include> run() {
    while (!cursor_.at_end()) scan_line();
    return std::move(includes_);
  }

 private:
  enum class Part { text, condition, line_number };

  void scan_line() {
    cursor_.skip_space();
    if (cursor_.take_if("#") || cursor_.take_if("%:")) {
      scan_directive();
    } else {
      refuse_module_import();
    }
    scan_rest_of_line(Part::text);
  }

  void scan_directive() {
    cursor_.skip_space();
    const std::string directive = cursor_.take_identifier();
    if (directive == "include") {
      cursor_.skip_space();
      const std::size_t line = cursor_.line();
      if (!take_header_name(line, false))
        cursor_.refuse("the file of an #include is computed by a macro", kPlainInclude);
    } else if (is_one_of(kOpensFiles, directive)) {
      cursor_.refuse(fmt::format("#{} cannot be followed", directive), kPlainInclude);
    } else if (is_one_of(kConditions, directive)) {
      scan_rest_of_line(Part::condition);
    } else if (directive == "line" || directive.empty()) {
      scan_rest_of_line(Part::line_number);
    } else if (is_one_of(kDefinedness, directive)) {
      cursor_.skip_space();
      skip_plain_identifier();
    } else {
      cursor_.skip_prefixed_literal(directive);
    }
  }

  /// In C++20 a line that begins with `import` names a header or a module.
  void refuse_module_import() {
    std::string word = cursor_.take_identifier();
    if (word == "export") {
      cursor_.skip_space();
      word = cursor_.take_identifier();
    }
    if (word == "import") {
      cursor_.skip_space();
      const char next = cursor_.peek();
      if (next == '<' || next == '"' || begins_identifier(next))
        cursor_.refuse("an import of a module or a header cannot be followed", kPlainInclude);
    } else {
      scan_identifier(word, false);
    }
  }

  void scan_rest_of_line(Part part) {
    while (true) {
      cursor_.skip_space();
      if (cursor_.at_end()) return;
      if (cursor_.peek() == '\n') {
        if (part == Part::text) cursor_.take();
        return;
      }
      if (part == Part::condition && cursor_.take_if("(")) {
        refuse_header_name();
        continue;
      }
      const std::string identifier = cursor_.take_identifier();
      if (identifier.empty()) {
        // Compilers read the number of a #line without separators.
        if (cursor_.skip_token() && part == Part::line_number)
          cursor_.refuse("an apostrophe stands in the number of a line", "Remove it.");
      } else {
        scan_identifier(identifier, part == Part::condition);
      }
    }
  }

  void scan_identifier(const std::string& identifier, bool condition) {
    if (is_one_of(kAsksForFiles, identifier)) {
      scan_question(identifier, condition);
    } else if (identifier == "defined") {
      skip_operand_of_defined();
    } else {
      cursor_.skip_prefixed_literal(identifier);
    }
  }

  /// Where a condition holds a header's name, a macro stands for __has_include.
  void refuse_header_name() {
    cursor_.skip_space();
    if (cursor_.peek() == '<' || cursor_.peek() == '"')
      cursor_.refuse("a macro may stand for __has_include", "Write it out: #if __has_include(\"file\").");
  }

  void skip_operand_of_defined() {
    cursor_.skip_space();
    if (cursor_.take_if("(")) cursor_.skip_space();
    skip_plain_identifier();
  }

  /// Whatever it is called, it is not evaluated here.
  void skip_plain_identifier() { cursor_.skip_prefixed_literal(cursor_.take_identifier()); }

  /// `__has_include(<file>)` where the preprocessor evaluates it; elsewhere its operand may come from a
  /// macro.
  void scan_question(const std::string& identifier, bool condition) {
    const std::size_t line = cursor_.line();
    bool understood = condition && identifier == "__has_include";
    cursor_.skip_space();
    understood = understood && cursor_.take_if("(");
    cursor_.skip_space();
    understood = understood && take_header_name(line, true);
    cursor_.skip_space();
    if (understood && cursor_.take_if(")")) return;
    cursor_.refuse(fmt::format("the file that {} asks for cannot be read off its text", identifier),
                   "Write it out in the condition: #if __has_include(\"file\").");
  }

  bool take_header_name(std::size_t line, bool only_asked) {
    const bool quoted = cursor_.take_if("\"");
    if (!quoted && !cursor_.take_if("<")) return false;
    Include include{"", quoted ? Include::Form::quoted : Include::Form::angled, line, only_asked};
    // Without its end the name is an error that opens no file.
    if (!cursor_.take_until(quoted ? '"' : '>', include.name)) return !only_asked;
    if (!is_plain_name(include.name))
      cursor_.refuse("an include names a file in characters that compilers read differently",
                     "Rename the file: letters, digits, '_', '-', '.' and '/' are safe.");
    includes_.push_back(std::move(include));
    return true;
  }

  SourceCursor cursor_;
  std::vector<Include> includes_;
};

}  // namespace

std::string Include::text() const {
  const std::string quoted = form == Form::quoted ? fmt::format("\"{}\"", name) : fmt::format("<{}>", name);
  return only_asked ? fmt::format("__has_include({})", quoted) : "#include " + quoted;
}

std::vector<Include> scan_includes(std::string_view text, const std::string& file) {
  const std::string plain = with_plain_line_breaks(text, file);
  return Scanner(plain, file).run();
}

}  // namespace tiletune
