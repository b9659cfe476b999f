#include <sys/stat.h>

#include "fixture.h"

namespace tiletune {
namespace configurations_test {

using Positions = std::vector<std::uint32_t>;

class ConfigurationsTest : public SpecTest {
 protected:
  /// Sweeps what `list` lists of `templates`, a JSON list.
  TuneSpec load(const std::string& list, const std::string& templates = R"(["tile"])") const {
    write("configs/list.csv", list);
    return load_config(R"({"problems": [512], "configurations": "list.csv", "templates": )" + templates +
                       "}");
  }

  /// "line 2" and what the error says.
  void expect_error(const std::string& list, const std::string& place, const std::vector<std::string>& parts,
                    const std::string& templates = R"(["tile"])") const {
    const UserError error = user_error_of([&] { load(list, templates); });
    EXPECT_EQ(error.where().file, (root_ / "configs/list.csv").string()) << list;
    EXPECT_EQ(error.where().pointer, place) << list;
    EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), parts)) << list;
    EXPECT_FALSE(error.remedy().empty()) << list;
  }
};

TEST_F(ConfigurationsTest, HoldsThePositionsOfTheValues) {
  EXPECT_EQ(load("BM,PAD\n128,false\n32,true\n").templates.at(0).listed, (Positions{2, 1, 0, 0}));
  EXPECT_FALSE(load_config(R"({"templates": ["tile"], "problems": [512]})").templates.at(0).listed);
}

TEST_F(ConfigurationsTest, TakesColumnsInAnyOrderAndWhatSpreadsheetsWrite) {
  EXPECT_EQ(load("\xEF\xBB\xBFPAD,BM\r\n\"True\",64\r\nFalse,32.0").templates.at(0).listed,
            (Positions{1, 0, 0, 1}));
  EXPECT_EQ(load("PAD, BM\n true , 64\nfalse,\t32 \n").templates.at(0).listed, (Positions{1, 0, 0, 1}));
}

TEST_F(ConfigurationsTest, BlanksBetweenQuotationMarksBelongToTheValue) {
  Json manifest = tile();
  manifest["parameters"] = Json::parse(R"([{"name": "T", "values": ["a", " a"]}])");
  write("kernel_templates/tile/template.json", manifest.dump());
  EXPECT_EQ(load("T\n \" a\" \n a\n").templates.at(0).listed, (Positions{1, 0}));
}

TEST_F(ConfigurationsTest, ComparesValuesAfterParsing) {
  Json manifest = tile();
  manifest["parameters"] = Json::parse(
      R"([{"name": "BM", "values": [1, 2.5, 1e3]}, {"name": "T", "values": ["float", "a, \"b\"", ""]}])");
  write("kernel_templates/tile/template.json", manifest.dump());
  EXPECT_EQ(load("BM,T\n1.0,float\n2.50,\"a, \"\"b\"\"\"\n1000,\n").templates.at(0).listed,
            (Positions{0, 0, 1, 1, 2, 2}));
}

TEST_F(ConfigurationsTest, AppliesToWhatTheConfigLeavesOfAParameter) {
  const char* const narrowed = R"([{"template": "tile", "parameters": {"BM": [128, 64]}}])";
  EXPECT_EQ(load("BM,PAD\n64,true\n", narrowed).templates.at(0).listed, (Positions{1, 0}));
  expect_error("BM,PAD\n32,true\n", "line 2", {"BM = 32", "128, 64"}, narrowed);
}

TEST_F(ConfigurationsTest, SeveralTemplatesTakeTheirOwnRows) {
  Json other = tile();
  other["name"] = "other";
  other["parameters"] = Json::parse(R"([{"name": "BM", "values": [8, 32]}])");
  write("kernel_templates/other/kernel.cuh", "");
  write("kernel_templates/other/template.json", other.dump());
  const char* const both = R"(["tile", "other"])";
  const TuneSpec spec = load("template,BM,PAD\nother,32,\ntile,32,false\nother,8,\n", both);
  EXPECT_EQ(spec.templates.at(0).listed, (Positions{0, 1}));
  EXPECT_EQ(spec.templates.at(1).listed, (Positions{1, 0}));
  expect_error("BM,PAD\n32,true\n", "line 1", {"2 templates", "'template'"}, both);
  expect_error("template,BM,PAD\nothre,32,\n", "line 2", {"'othre'", "'other'"}, both);
  expect_error("template,BM,PAD\nother,32,true\n", "line 2", {"'PAD'", "empty"}, both);
  expect_error("template,BM,PAD\ntile,32,true\n", "line 2", {"other"}, both);
}

TEST_F(ConfigurationsTest, RefusesWhatIsNoListOfConfigurations) {
  expect_error("", "", {"empty", "header"});
  expect_error("BM,PAD\n", "line 1", {"tile"});
  expect_error("BM;PAD\n32;true\n", "line 1", {"semicolons", "commas"});
  expect_error("BM\n32\n", "line 1", {"'PAD'"});
  expect_error("BM,PDA,PAD\n32,true,true\n", "line 1", {"'PDA'", "'PAD'"});
  expect_error("BM,PAD,BM\n32,true,32\n", "line 1", {"'BM'"});
  expect_error("BM,PAD\n32,true\n32\n", "line 3", {"1 cell", "2"});
  expect_error("BM,PAD\n32,true\n\n", "line 3", {"1 cell", "2"});
  expect_error("BM,PAD\n33,true\n", "line 2", {"BM = 33", "32, 64, 128"});
  expect_error("BM,PAD\n1e999,true\n", "line 2", {"BM", "1e999", "an integer"});
  expect_error("BM,PAD\n32,1\n", "line 2", {"PAD", "true or false"});
  expect_error("BM,PAD\n32,\"true\n", "line 2", {"quotation mark"});
  expect_error("BM,PAD\n32,true\n64,true\n32.0,true\n", "line 4", {"twice", "line 2"});
}

TEST_F(ConfigurationsTest, RefusesFilesThatAreNotToBeRead) {
  const auto pointer_of = [&](const std::string& file) {
    return user_error_of([&] {
             load_config(R"({"problems": [512], "templates": ["tile"], "configurations": ")" + file + "\"}");
           })
        .where()
        .pointer;
  };
  std::filesystem::create_directories(root_ / "configs");
  ASSERT_EQ(mkfifo((root_ / "configs/fifo.csv").c_str(), 0600), 0);
  write("outside.csv", "BM,PAD\n32,true\n");
  EXPECT_EQ(pointer_of("fifo.csv"), "/configurations");
  EXPECT_EQ(pointer_of("missing.csv"), "/configurations");
  EXPECT_EQ(pointer_of("../outside.csv"), "/configurations");
  write("configs/large.csv", "");
  std::filesystem::resize_file(root_ / "configs/large.csv", (std::uintmax_t{64} << 20) + 1);
  const UserError error = user_error_of(
      [&] { load_config(R"({"problems": [512], "templates": ["tile"], "configurations": "large.csv"})"); });
  EXPECT_TRUE(carries(error.what(), {"large.csv", "67108864 bytes"})) << error.what();
}

}  // namespace configurations_test
}  // namespace tiletune
