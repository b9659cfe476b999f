// The scanner of includes against the compiler itself: whatever NVRTC opens, the scanner has named or
// refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compile/include_scan.h"
#include "compile/test_support.h"

namespace tiletune {
namespace {

using testing::Contains;
using testing::Field;

/// Pieces that begin or end comments, literals, lines and directives; %s stands for an include.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> list{
      "\n%s\n",     "\n%s\n",       "\n%s\n", "\n%s\n",  "'",    "\"", "R\"(",      ")\"",        "R\"x(",
      ")x\"",       "/*",           "*/",     "//",      "\\\n", "\n", "\n#if 0\n", "\n#endif\n", "1'0",
      "u8",         "\\",           "a",      ".",       "e+",   "%:", "#",         "include",    "\r\n",
      "export",     "\n#define X ", "##",     "\\u00e9", "$",    "\f", "'a'",       "\"s\"",      "_",
      "\n#line 1 ", "\n#error ",    "(",      "?\?/"};
  return list;
}

constexpr std::size_t kMostIncludes = 13;

std::string sign_of(std::size_t header) { return "FILE_" + std::to_string(header) + "_WAS_OPENED"; }

/// Headers that show in the compiler's log when they are opened.
std::vector<std::string> write_headers(const TemporaryFolder& home) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kMostIncludes; ++i) {
    const std::string name = "opened_" + std::to_string(i) + ".h";
    names.push_back(home.write(name, "#warning " + sign_of(i) + "\n").string());
  }
  return names;
}

/// Every include is of another header.
std::string soup(std::mt19937& random, const std::vector<std::string>& headers) {
  auto header = headers.begin();
  std::string text;
  const std::size_t count = 3 + random() % (kMostIncludes - 3);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& piece = pieces()[random() % pieces().size()];
    const std::size_t mark = piece.find("%s");
    text += mark == std::string::npos ? piece
                                      : std::string(piece).replace(mark, 2, "#include <" + *header++ + ">");
  }
  return text + "\n#include <" + *header + ">\n";
}

/// The names found in the text; none when it is refused.
std::optional<std::vector<Include>> scanned(const std::string& text) {
  try {
    return scan_includes(text, "soup.cu");
  } catch (const UserError&) {
    return std::nullopt;
  }
}

TEST(ScanIncludes, NamesWhateverTheCompilerOpens) {
  const TemporaryFolder home;
  const std::vector<std::string> headers = write_headers(home);
  std::mt19937 random(1);
  int opened = 0;
  for (int i = 0; i < 150; ++i) {
    CompileRequest request;
    request.sources.main = {"soup.cu", soup(random, headers)};
    const auto found = scanned(request.sources.main.text);
    if (!found) continue;
    request.options = {"--gpu-architecture=sm_80", i % 2 == 0 ? "--std=c++17" : "--std=c++20"};
    request.kernel_expression = "k";
    const std::string log = compile_here(request).reason;
    for (std::size_t header = 0; header < headers.size(); ++header) {
      if (log.find("directive: " + sign_of(header)) == std::string::npos) continue;
      ++opened;
      EXPECT_THAT(*found, Contains(Field(&Include::name, headers[header]))) << request.sources.main.text;
    }
  }
  EXPECT_GT(opened, 50);
}

}  // namespace
}  // namespace tiletune
