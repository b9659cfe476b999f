#include <gtest/gtest.h>

#include "compile/source.h"
#include "temporary_folder.h"

namespace tiletune {
namespace included_lists_test {

namespace fs = std::filesystem;

Dependencies many_files() {
  Dependencies files;
  for (int i = 0; i < 300; ++i) files["../library/header_" + std::to_string(i)] = "0123456789abcdef";
  return files;
}

class IncludedListsTest : public testing::Test {
 protected:
  IncludedLists lists() const { return IncludedLists(folder_ / "lists"); }
  fs::path only_file() const { return fs::directory_iterator(folder_ / "lists")->path(); }

  TemporaryFolder folder_;
};

TEST_F(IncludedListsTest, ShortOnesStandInTheRow) {
  const Dependencies files{{"a.cuh", "12"}, {"b.cuh", ""}};
  EXPECT_EQ(lists().text_of(files), R"({"a.cuh":"12","b.cuh":""})");
  EXPECT_EQ(lists().read(lists().text_of(files)), files);
  EXPECT_EQ(lists().text_of({}), "");
  EXPECT_EQ(lists().read(""), Dependencies());
  EXPECT_FALSE(fs::exists(folder_ / "lists"));
}

TEST_F(IncludedListsTest, LongOnesAreKeptOnce) {
  IncludedLists writer = lists();
  const std::string text = writer.text_of(many_files());
  EXPECT_LT(text.size(), 100U);
  EXPECT_EQ(writer.text_of(many_files()), text);
  EXPECT_EQ(lists().read(text), many_files());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "lists"), {}), 1);
  Dependencies changed = many_files();
  changed.begin()->second = "changed";
  EXPECT_NE(writer.text_of(changed), text);
  EXPECT_EQ(writer.read(text), many_files());
}

TEST_F(IncludedListsTest, WhatIsGoneOrAlteredIsNone) {
  const std::string text = lists().text_of(many_files());
  folder_.write("lists/" + only_file().filename().string(), R"({"a.cuh":"12"})");
  EXPECT_EQ(lists().read(text), std::nullopt);
  fs::remove(only_file());
  EXPECT_EQ(lists().read(text), std::nullopt);
}

TEST_F(IncludedListsTest, UntrustedRowsNameNoFiles) {
  folder_.write("secret", "{}");
  const std::string text = lists().text_of(many_files());
  const std::string hash = only_file().filename();
  for (const std::string& name : {std::string("../secret"), std::string(""), std::string("/etc/hostname")}) {
    std::string hostile = text;
    hostile.replace(hostile.find(hash), hash.size(), name);
    EXPECT_EQ(lists().read(hostile), std::nullopt) << hostile;
  }
  for (const char* no_list : {"[", "[]", "1", R"({"a":1})"}) EXPECT_EQ(lists().read(no_list), std::nullopt);
}

}  // namespace included_lists_test
}  // namespace tiletune
