#include "space/option_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tiletune {
namespace {

TemplateSpec spec_with(std::vector<std::string> options) {
  TemplateSpec spec;
  spec.compile_options = std::move(options);
  spec.parameters.push_back({"LEVEL", {Value{std::int64_t{0}}, Value{std::int64_t{6}}}, "", {}});
  spec.parameters.push_back({"CACHE", {Value{std::string("ca")}}, "", {}});
  return spec;
}

TEST(OptionText, BracesTakeTheConfigurationsValues) {
  EXPECT_EQ(options_with({"-a={LEVEL}", "--b", "-c={CACHE}", "-d={OTHER}"},
                         {{"LEVEL", Value{std::int64_t{6}}}, {"CACHE", Value{std::string("ca")}}}),
            (std::vector<std::string>{"-a=6", "--b", "-c=ca", "-d={OTHER}"}));
}

TEST(OptionText, AValueIsNotLookedThroughAgain) {
  EXPECT_EQ(options_with({"-a={NAME}"}, {{"NAME", Value{std::string("{NAME}")}}}),
            std::vector<std::string>{"-a={NAME}"});
}

TEST(OptionText, AllNamesOfAnOptionAreFilled) {
  EXPECT_EQ(options_with({"-D{CACHE}={LEVEL}{LEVEL}}"},
                         {{"LEVEL", Value{std::int64_t{6}}}, {"CACHE", Value{std::string("ca")}}}),
            std::vector<std::string>{"-Dca=66}"});
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
    EXPECT_NE(std::string(error.what()).find("'LEVLE' in the option -l={LEVLE} is no parameter"),
              std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("LEVEL, CACHE"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tiletune
