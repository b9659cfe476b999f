// The scanner of includes against the compiler itself: whatever NVRTC opens, the scanner has named or
// refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compile/include_scan.h"
#include "compile/test_support.h"

namespace tiletune {
namespace {

/// Pieces that begin or end comments, literals, lines and directives; %s stands for an include of the file.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> list{
      "\n%s\n",     "\n%s\n",       "\n%s\n", "\n%s\n",  "'",    "\"", "R\"(",      ")\"",        "R\"x(",
      ")x\"",       "/*",           "*/",     "//",      "\\\n", "\n", "\n#if 0\n", "\n#endif\n", "1'0",
      "u8",         "\\",           "a",      ".",       "e+",   "%:", "#",         "include",    "\r\n",
      "export",     "\n#define X ", "##",     "\\u00e9", "$",    "\f", "'a'",       "\"s\"",      "_",
      "\n#line 1 ", "\n#error ",    "(",      "?\?/"};
  return list;
}

std::string soup(std::mt19937& random, const std::string& include) {
  std::string text;
  const std::size_t count = 3 + random() % 10;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& piece = pieces()[random() % pieces().size()];
    const std::size_t mark = piece.find("%s");
    text += mark == std::string::npos ? piece : std::string(piece).replace(mark, 2, include);
  }
  return text + "\n" + include + "\n";
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
  const std::string file = home.write("opened.h", "#error THE_FILE_WAS_OPENED\n").string();
  std::mt19937 random(1);
  int opened = 0;
  for (int i = 0; i < 150; ++i) {
    CompileRequest request;
    request.sources.main = {"soup.cu", soup(random, "#include <" + file + ">")};
    const auto found = scanned(request.sources.main.text);
    if (!found) continue;
    request.options = {"--gpu-architecture=sm_80", i % 2 == 0 ? "--std=c++17" : "--std=c++20"};
    request.kernel_expression = "k";
    if (compile_here(request).reason.find("directive: THE_FILE_WAS_OPENED") == std::string::npos) continue;
    ++opened;
    EXPECT_FALSE(found->empty()) << request.sources.main.text;
  }
  EXPECT_GT(opened, 10);
}

}  // namespace
}  // namespace tiletune
