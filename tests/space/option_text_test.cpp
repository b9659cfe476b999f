#include "space/option_text.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(OptionText, EveryOptionThatCanComeUpIsNamed) {
  std::vector<std::string> possible = possible_options(spec_with({"--fixed", "-l={LEVEL}", "-x={CACHE}"}));
  std::sort(possible.begin(), possible.end());
  EXPECT_EQ(possible, (std::vector<std::string>{"--fixed", "-l=0", "-l=6", "-x=ca"}));
  EXPECT_EQ(fixed_options(spec_with({"--fixed", "-l={LEVEL}"})), std::vector<std::string>{"--fixed"});
}

TEST(OptionText, AnUnknownNameIsAMistake) {
  try {
    possible_options(spec_with({"-l={LEVLE}"}));
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
