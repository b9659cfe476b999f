// Arrays in NumPy's files: what is read of them, and what is refused.

#include "spec/npy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "carries.h"
#include "temporary_folder.h"

namespace tiletune {
namespace npy_test {

/// A file of version 1.0 with a header that says this, as NumPy writes it, and so many zero bytes.
std::string npy(const std::string& header, std::size_t bytes) {
  std::string text("\x93NUMPY\x01\x00", 8);
  const std::string line = header + "\n";
  text += static_cast<char>(line.size() & 0xff);
  text += static_cast<char>(line.size() >> 8);
  return text + line + std::string(bytes, '\0');
}

std::string described(const std::string& type, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

class Npy : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& content) const {
    const auto path = folder_.path() / "x.npy";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  /// What is wrong with a file that is to hold `elements` of a type; "" when nothing is.
  std::string fault(const std::string& content, std::int64_t elements = 6,
                    ElementType type = ElementType::f32) {
    try {
      open_npy(write(content), elements, {type}, Where{"template.json", "/x"});
      return "";
    } catch (const UserError& error) {
      EXPECT_EQ(error.where().pointer, "/x");
      EXPECT_FALSE(error.remedy().empty());
      return error.message();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Npy, ReadsWhereTheNumbersBegin) {
  const std::string header = described("<f4", "(2, 3)");
  const ArrayFile file = open_npy(write(npy(header, 24)), 6, {ElementType::f32}, {});
  EXPECT_EQ(file.offset, 10 + header.size() + 1);
  EXPECT_EQ(file.type, ElementType::f32);
}

TEST_F(Npy, AFileThatWasChangedAfterTheCheckIsNotOpened) {
  const std::string content = npy(described("<f4", "(6,)"), 24);
  const auto path = write(content);
  const ArrayFile file = open_npy(path, 6, {ElementType::f32}, {});
  EXPECT_TRUE(open_array(file).is_open());
  const auto refusal = [&] {
    try {
      open_array(file);
      return std::string();
    } catch (const UserError& error) {
      EXPECT_EQ(error.where().file, path.string());
      EXPECT_FALSE(error.remedy().empty());
      return error.message();
    }
  };
  const auto when = std::filesystem::last_write_time(path);
  write(npy(described("<f4", "(6,)"), 28));
  std::filesystem::last_write_time(path, when);
  EXPECT_TRUE(carries(refusal(), {"changed"})) << "its size";
  write(content);
  std::filesystem::last_write_time(path, when + std::chrono::seconds(1));
  EXPECT_TRUE(carries(refusal(), {"changed"})) << "its time";
  std::filesystem::last_write_time(path, when);
  EXPECT_EQ(refusal(), "");
  const auto other = folder_.path() / "other.npy";
  std::filesystem::copy_file(path, other);
  std::filesystem::last_write_time(other, when);
  std::filesystem::rename(other, path);
  EXPECT_TRUE(carries(refusal(), {"changed"})) << "its inode";
}

TEST_F(Npy, NoLinkIsFollowed) {
  const auto path = write(npy(described("<f4", "(6,)"), 24));
  const ArrayFile file = open_npy(path, 6, {ElementType::f32}, {});
  std::filesystem::rename(path, folder_.path() / "moved.npy");
  std::filesystem::create_symlink("moved.npy", path);
  EXPECT_THROW(open_array(file), UserError);
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() / "link");
  EXPECT_THROW(open_npy(folder_.path() / "link" / "moved.npy", 6, {ElementType::f32}, {}), UserError);
}

TEST_F(Npy, ReadsWhatItWrites) {
  for (const auto& each : kSpellings<ElementType>) {
    const std::string header = npy_header(each.value, 6);
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(fault(header + std::string(6 * size_bytes(each.value), '\0'), 6, each.value), "") << each.name;
  }
}

TEST_F(Npy, TakesTheFirstOfTheTypesThatWillDo) {
  const auto path = write(npy(described("<f8", "(6,)"), 48));
  const ArrayFile file = open_npy(path, 6, {ElementType::f32, ElementType::f64, ElementType::f16}, {});
  EXPECT_EQ(file.type, ElementType::f64);
}

TEST_F(Npy, TakesRawBytesForTypesThatNumPyLacks) {
  EXPECT_EQ(fault(npy(described("<V2", "(6,)"), 12), 6, ElementType::bf16), "");
  EXPECT_EQ(fault(npy(described("|V1", "(6,)"), 6), 6, ElementType::e4m3), "");
  EXPECT_TRUE(carries(fault(npy(described("<V4", "(6,)"), 24)), {"<V4"}));
}

TEST_F(Npy, ASingleNumberHasOneElement) { EXPECT_EQ(fault(npy(described("<f4", "()"), 4), 1), ""); }

TEST_F(Npy, ColumnsMatterWithMoreThanOneDimension) {
  EXPECT_EQ(fault(npy(described("<f4", "(6,)", "True"), 24)), "");
  EXPECT_TRUE(carries(fault(npy(described("<f4", "(2, 3)", "True"), 24)), {"stored by columns"}));
}

TEST_F(Npy, SaysWhatIsWrong) {
  EXPECT_TRUE(carries(fault(npy(described("<f8", "(6,)"), 48)), {"<f8", "f32"}));
  EXPECT_TRUE(carries(fault(npy(described(">f4", "(6,)"), 24)), {">f4"}));
  EXPECT_TRUE(carries(fault(npy(described("<f4", "(7,)"), 28)), {"the shape 7", "6 elements"}));
  EXPECT_TRUE(carries(fault(npy(described("<f4", "(6,)"), 23)), {"cut off"}));
}

TEST_F(Npy, RefusesWhatNumPyDoesNotWriteForAnArrayOfNumbers) {
  for (const std::string& content :
       {std::string("no array"), std::string(), std::string("\x93NUMPY\x09\x00\x10\x00{}", 12),
        std::string("\x93NUMPY\x01\x00\xff\xff{}", 12),
        npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (6,)}", 24),
        npy("{'descr': '<f4'}", 24), npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", 24),
        npy(described("<f4", "(-6,)"), 24), npy(described("<f4", "(99999999999, 99999999999)"), 24),
        npy(described("<f4", "(99999999999999999999,)"), 24), npy("{'descr': '<f4", 24),
        npy("import os", 24)})
    EXPECT_TRUE(carries(fault(content), {"x.npy", "not an .npy file", "version 1 to 3"})) << content;
}

TEST_F(Npy, RefusesWhatIsNoRegularFile) {
  EXPECT_THROW(open_npy(folder_.path(), 6, {ElementType::f32}, {}), UserError);
  EXPECT_THROW(open_npy("/dev/zero", 6, {ElementType::f32}, {}), UserError);
  EXPECT_THROW(open_npy(folder_.path() / "none.npy", 6, {ElementType::f32}, {}), UserError);
}

}  // namespace npy_test
}  // namespace tiletune
