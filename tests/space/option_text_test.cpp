#include <gtest/gtest.h>

#include "base/error.h"
#include "carries.h"
#include "space/instance.h"

namespace tiletune {
namespace option_text_test {

TemplateSpec spec_with(std::vector<std::string> options) {
  TemplateSpec spec;
  spec.compile_options = std::move(options);
  spec.parameters.push_back({"LEVEL", {Value{std::int64_t{0}}, Value{std::int64_t{6}}}, "", {}});
  spec.parameters.push_back({"CACHE", {Value{std::string("ca")}}, "", {}});
  return spec;
}

TEST(OptionText, BracesTakeTheConfigurationsValues) {
  EXPECT_EQ(options_with({"-a={LEVEL}", "--b", "-c={CACHE}", "-d={OTHER}"},
                         {{"LEVEL", Value{std::int64_t{6}}}, {"CACHE", Value{std::string("ca")}}}, {}),
            (std::vector<std::string>{"-a=6", "--b", "-c=ca", "-d={OTHER}"}));
}

TEST(OptionText, AValueIsNotLookedThroughAgain) {
  EXPECT_EQ(options_with({"-a={NAME}"}, {{"NAME", Value{std::string("{NAME}")}}}, {}),
            std::vector<std::string>{"-a={NAME}"});
}

TEST(OptionText, AllNamesOfAnOptionAreFilled) {
  EXPECT_EQ(options_with({"-D{CACHE}={LEVEL}{LEVEL}}"},
                         {{"LEVEL", Value{std::int64_t{6}}}, {"CACHE", Value{std::string("ca")}}}, {}),
            std::vector<std::string>{"-Dca=66}"});
}

TEST(OptionText, PathsTakeTheConfigurationsValues) {
  const TemplateSpec spec = spec_with({});
  EXPECT_EQ(filled("k/{CACHE}_{LEVEL}.ptx",
                   {{"LEVEL", Value{std::int64_t{6}}}, {"CACHE", Value{std::string("ca")}}}, {}),
            "k/ca_6.ptx");
  EXPECT_NO_THROW(check_names(spec, "k/{CACHE}.ptx", {}));
  EXPECT_THROW(check_names(spec, "k/{CACH}.ptx", {}), UserError);
}

TEST(OptionText, EveryTextThatCanComeUpIsNamed) {
  const TemplateSpec spec = spec_with({"--fixed", "-l={LEVEL}", "-x={CACHE}:{LEVEL}"});
  EXPECT_EQ(possible_texts(spec, 0), std::vector<std::string>{"--fixed"});
  EXPECT_EQ(possible_texts(spec, 1), (std::vector<std::string>{"-l=0", "-l=6"}));
  EXPECT_EQ(possible_texts(spec, 2), (std::vector<std::string>{"-x=ca:0", "-x=ca:6"}));
  EXPECT_EQ(fixed_options(spec), std::vector<std::string>{"--fixed"});
}

TEST(OptionText, AnUnknownNameIsAMistake) {
  try {
    possible_texts(spec_with({"-l={LEVLE}"}), 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(std::string(error.what()), {"'LEVLE'", "-l", "{LEVLE}"}));
    EXPECT_NE(std::string(error.what()).find("LEVEL, CACHE"), std::string::npos) << error.what();
  }
}

std::string refusal(const TemplateSpec& spec) {
  try {
    possible_texts(spec, 0);
    return "none";
  } catch (const UserError& error) {
    EXPECT_EQ(error.where().pointer, "/compile_options/0");
    return error.message();
  }
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(OptionText, ANameThatIsRepeatedHasOneValue) {
  EXPECT_EQ(possible_texts(spec_with({"-D" + repeated("{LEVEL}", 48)}), 0),
            (std::vector<std::string>{"-D" + repeated("0", 48), "-D" + repeated("6", 48)}));
}

TEST(OptionText, TooManyTextsAreRefusedBeforeTheyAreMade) {
  TemplateSpec spec = spec_with({"-D{P0}{P1}{P2}{P3}{P4}{P5}{P6}{P7}{P8}{P9}"});
  spec.parameters.clear();
  for (int i = 0; i < 10; ++i) {
    Parameter& parameter = spec.parameters.emplace_back();
    parameter.name = "P" + std::to_string(i);
    for (std::int64_t value = 0; value < 1000; ++value) parameter.values.emplace_back(value);
  }
  EXPECT_TRUE(carries(refusal(spec),
                      {"'-D{P0}{P1}{P2}{P3}{P4}{P5}{P6}{P7}{P8}{P9}'", "more than", "100000", "'P1'"}));
}

TEST(OptionText, MakingTextsCanBeStopped) {
  int asked = 0;
  const auto stop = [&asked] { return ++asked == 2; };
  EXPECT_THROW(possible_texts(spec_with({"-l={LEVEL}"}), 0, stop), Stopped);
  EXPECT_EQ(asked, 2);
}

TEST(OptionText, TooLongATextIsRefused) {
  TemplateSpec spec = spec_with({"-D" + repeated("{LONG}", 100)});
  spec.parameters.push_back({"LONG", {Value{std::string(1000, 'x')}}, "", {}});
  const std::vector<std::string> expected{"'-D" + repeated("{LONG}", 9) + "{LON...'", "8192", "'LONG'"};
  EXPECT_TRUE(carries(refusal(spec), expected));
  try {
    options_with(spec.compile_options, {{"LONG", spec.parameters.back().values.front()}}, {"file", "/list"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.message(), expected));
    EXPECT_EQ(error.where().text(), "file: /list/0");
  }
}

TEST(OptionText, TooMuchTextIsRefused) {
  TemplateSpec spec = spec_with({"-D" + repeated("{LONG}", 8)});
  Parameter& parameter = spec.parameters.emplace_back();
  parameter.name = "LONG";
  for (int i = 0; i < 3000; ++i) parameter.values.emplace_back(std::string(1000, 'x') + std::to_string(i));
  EXPECT_TRUE(carries(refusal(spec), {"'-D" + repeated("{LONG}", 8) + "'", "16777216", "'LONG'"}));
}

}  // namespace option_text_test
}  // namespace tiletune
