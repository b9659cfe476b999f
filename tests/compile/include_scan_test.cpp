#include "compile/include_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/test_support.h"

namespace tiletune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> includes(const std::string& text) {
  std::vector<std::string> found;
  for (const Include& include : scan_includes(text, "k.cu"))
    found.push_back(std::to_string(include.line) + " " + include.text());
  return found;
}

UserError refusal(const std::string& text) {
  return user_error_of([&] { scan_includes(text, "k.cu"); });
}

TEST(ScanIncludes, FindsThemInOddSpellings) {
  EXPECT_THAT(includes("/* #include \"b\"\n"
                       "#include \"c\" */ #include \"d\" // \"e\"\n"
                       "  #  include\"f/g.cuh\"\r\n"
                       "#include <h>\n"
                       "%: /* a\n b */ include /* c */ <i>\n"
                       "#\\\ninc\\\r\nlude <j\\\nk>\n"
                       "\f\v#include<l>"),
              ElementsAre("2 #include \"d\"", "3 #include \"f/g.cuh\"", "4 #include <h>", "6 #include <i>",
                          "9 #include <jk>", "11 #include <l>"));
}

TEST(ScanIncludes, SkipsCommentsAndLiterals) {
  const std::string hidden = "\n#include <x>\n";
  EXPECT_THAT(includes("// a \\" + hidden), ElementsAre());
  EXPECT_THAT(includes("/\\\n* " + hidden + "*/"), ElementsAre());
  EXPECT_THAT(includes("auto s = R\"(" + hidden + ")\";"), ElementsAre());
  EXPECT_THAT(includes("auto s = u8R\"ab(" + hidden + ")a\"" + hidden + ")ab\";"), ElementsAre());
  EXPECT_THAT(includes("auto s = R\\\n\"(" + hidden + ")\\\n\"" + hidden + ")\";"), ElementsAre());
  EXPECT_THAT(includes("#define S R\"(" + hidden + ")\"\n"), ElementsAre());
  EXPECT_THAT(includes("int a = u'\"'; /* \" " + hidden + "*/"), ElementsAre());
  EXPECT_THAT(includes("int a = 1'000 /* ' " + hidden + "*/;"), ElementsAre());
}

TEST(ScanIncludes, IsNotFooledIntoSkipping) {
  const std::string shown = "\n#include <x>\n";
  for (const char* before : {"// a \\ ", "/* R\"( */", "const char* s = \"/*\";", "char c = '\"';",
                             "int million = 1'000'000; // '", "#if 0\ndon't /* x\n#endif", "#error don't /*",
                             "auto s = \"a\"R\"(b)\";", "auto s = 1R\"(b)\";", "auto s = FOOR\"(\";",
                             "auto s = R\"(a)\" \"/*\";", "#include \"y", "auto s = \\u00e9R\"(\";",
                             "/**\\\n/", "F(", "char c = .'0'; // '/*'", "auto s = R\"(\")\"; //"}) {
    EXPECT_THAT(includes(before + shown), testing::Contains(testing::EndsWith("#include <x>"))) << before;
  }
}

TEST(ScanIncludes, FollowsHasInclude) {
  EXPECT_THAT(includes("#ifdef __has_include\n#if defined(__has_include) && __has_include(<a>) || 0\n"
                       "#elif __has_include ( \"b\" )\n#endif\n#endif\n"),
              ElementsAre("2 __has_include(<a>)", "3 __has_include(\"b\")"));
  for (const char* text : {"#define H __has_include\n", "#if __has_include(X)\n", "#if __has_include\n",
                           "#if __has_include(<a\n", "#if __has_include_next(<a>)\n",
                           "#if __has_embed(<a>)\n", "-__has_include(<a>)\n"}) {
    EXPECT_THAT(refusal(text).message(), HasSubstr("cannot be read off")) << text;
    EXPECT_EQ(refusal(text).remedy(), "Write it out in the condition: #if __has_include(\"file\").");
  }
}

TEST(ScanIncludes, RefusesOtherNamesOfHasInclude) {
  for (const char* text : {"#if H(</etc/passwd>)\n", "#if 1 && CAT(__has_, include) /**/ ( \"a\")\n"})
    EXPECT_EQ(refusal(text).message(), "a macro may stand for __has_include") << text;
  EXPECT_THAT(includes("#if (A < B) && MIN(1, 2) > (1)\n"), ElementsAre());
}

TEST(ScanIncludes, RefusesWhatCannotBeFollowed) {
  const UserError computed = refusal("\n#define F \"/etc/passwd\"\n#include F\n");
  EXPECT_EQ(computed.where().text(), "k.cu: line 3");
  EXPECT_EQ(computed.message(), "the file of an #include is computed by a macro");
  EXPECT_EQ(computed.remedy(), "Write #include \"file\" with the file's name.");
  EXPECT_EQ(refusal("#include_next <a>").message(), "#include_next cannot be followed");
  EXPECT_EQ(refusal("#import <a>").message(), "#import cannot be followed");
  EXPECT_EQ(refusal("%:embed \"a\"").message(), "#embed cannot be followed");
  for (const char* text : {"import <a>;", "export /**/ import \"a\";", "import F;"}) {
    EXPECT_THAT(refusal(text).message(), HasSubstr("import of a module")) << text;
  }
  EXPECT_THAT(includes("import = 3; reimport(4);\nimport(5);"), ElementsAre());
  for (const char* name : {"<>", "\"\"", "\" a\"", "<a\\b>", "<a'b>", "<a\tb>", "<c:/b>"}) {
    EXPECT_THAT(refusal("#include " + std::string(name)).message(), HasSubstr("compilers read differently"))
        << name;
  }
}

TEST(ScanIncludes, RefusesTextThatCompilersSplitDifferently) {
  EXPECT_THAT(refusal("a\r\nb\rc").message(), HasSubstr("carriage return"));
  EXPECT_EQ(refusal("a\r\nb\rc").where().pointer, "line 2");
  for (const char* text : {"// a ?\?/\n", "?\?=include <a>", "char c = '?\?';"})
    EXPECT_THAT(refusal(text).message(), HasSubstr("trigraph")) << text;
  EXPECT_THAT(includes("// really?\? (yes?\?)"), ElementsAre());
  for (const char* text : {"R\"12345678901234567()12345678901234567\"", "R\"a b()a b\"", "R\"(", "R\"(a)x\""})
    EXPECT_THAT(refusal(text).message(), HasSubstr("raw string")) << text;
  for (const char* text : {"1_'0", "1e+'0'", "1.'0'", "1''0", "1'\xC3\xA9'"})
    EXPECT_THAT(refusal(text).message(), HasSubstr("apostrophe")) << text;
  EXPECT_THAT(refusal("#line 1'0 /*").message(), HasSubstr("number of a line"));
  EXPECT_THAT(refusal("$R\"(a)\"").message(), HasSubstr("raw string"));
}

}  // namespace
}  // namespace tiletune
