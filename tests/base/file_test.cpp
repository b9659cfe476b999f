#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/byte_stream.h"
#include "base/error.h"
#include "carries.h"
#include "temporary_folder.h"

namespace tiletune {
namespace file_test {

namespace fs = std::filesystem;

TEST(Json, SyntaxErrorsNameLineAndColumn) {
  const std::string text = error_of([] { parse_json("{\n  \"a\": 1,\n  \"b\" 2\n}", "x.json"); });
  EXPECT_TRUE(carries(text, {"x.json: line 3, column 7"}));
}

TEST(Json, NothingIsQuotedOfWhatIsNotJson) {
  for (const char* text :
       {R"({"token": "hunter2", x)", "hunter2", "{hunter2", "\"hunter2", "[1, 'hunter2']"}) {
    const std::string error = error_of([&] { parse_json(text, "x.json"); });
    EXPECT_TRUE(carries(error, {"x.json: line 1, column"}));
    EXPECT_EQ(error.find("hunter"), std::string::npos) << error;
  }
}

TEST(Json, EmptyAndCutOffTextIsAnError) {
  EXPECT_NE(error_of([] { parse_json("", "x.json"); }).find("line 1, column 1"), std::string::npos);
  EXPECT_NE(error_of([] { parse_json("{\"a\": [1,", "x.json"); }).find("not valid JSON"), std::string::npos);
}

TEST(Json, RepeatedKeysAreRefusedInOneObjectOnly) {
  const std::string text = error_of([] { parse_json(R"({"a": {"b": 1, "b": 2}})", "x.json"); });
  EXPECT_TRUE(carries(text, {"x.json", "'b'", "twice"}));
  EXPECT_NO_THROW(parse_json(R"({"a": {"b": 1}, "c": {"b": 2}, "d": [{"b": 1}, {"b": 1}]})", "x.json"));
}

TEST(Json, EndlessNestingIsRefused) {
  const std::string deep(100000, '[');
  EXPECT_TRUE(carries(error_of([&] { parse_json(deep, "x.json"); }), {"200 deep"}));
}

TEST(Json, MoreKeysThanAreComparedInTimeAreRefused) {
  std::string text = "{";
  for (int i = 0; i < 1000000; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  EXPECT_TRUE(carries(error_of([&] { parse_json(text + "}", "x.json"); }), {"10000 keys"}));
}

TEST(Json, NumbersBeyondDoubleAreRefused) {
  EXPECT_NE(error_of([] { parse_json("[1e999]", "x.json"); }), "no error");
}

TEST(Json, IntegersBeyond64BitsAreRefusedAndNotRounded) {
  for (const char* number : {"18446744073709551616", "-9223372036854775809", "1000000000000000000000000"}) {
    const std::string text = fmt::format("[1,\n {}]", number);
    EXPECT_TRUE(carries(error_of([&] { parse_json(text, "x.json"); }),
                        {"x.json: line 2, column 2", number, "out of range"}));
  }
  EXPECT_EQ(parse_json("[18446744073709551615, -9223372036854775808, 1e30]", "x.json").dump(),
            "[18446744073709551615,-9223372036854775808,1e+30]");
}

TEST(File, MissingAndFolderAreNamed) {
  EXPECT_TRUE(
      carries(error_of([] { read_file("/nonexistent/x.json"); }), {"/nonexistent/x.json:", "no such"}));
  EXPECT_NE(error_of([] { read_file("/tmp"); }).find("/tmp: this is a folder"), std::string::npos);
}

TEST(File, LimitIsEnforced) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("limit.txt", std::string(1001, 'x'));
  EXPECT_NE(error_of([&] { read_file(file, 1000); }).find("larger than 1000 bytes"), std::string::npos);
  EXPECT_EQ(read_file(file, 1001).size(), 1001U);
}

TEST(File, DevicesAndSocketsAreNotOpened) {
  EXPECT_TRUE(carries(error_of([] { read_file("/dev/zero"); }), {"/dev/zero:", "device"}));
}

TEST(File, FilesOfTheKernelAreNotOpened) {
  const TemporaryFolder folder;
  fs::create_symlink("/proc/self/environ", folder / "link");
  for (const fs::path& file :
       {fs::path("/proc/kmsg"), folder / "link", fs::path("/sys/kernel/uevent_seqnum")}) {
    if (fs::exists(file))  // containers may have no /sys
      EXPECT_TRUE(carries(error_of([&] { read_file(file); }), {file.string(), "not a regular file"})) << file;
  }
  EXPECT_TRUE(is_of_kernel("/proc/self/maps"));
  EXPECT_FALSE(is_of_kernel(folder.path()));
}

TEST(File, PipesAreReadToTheirEndAndNeverWaitedForInVain) {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_file(pipe), "") << "nobody writes";

  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    const std::string text(200'000, 'x');  // more than a pipe holds
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
  });
  EXPECT_EQ(read_file("/proc/self/fd/" + std::to_string(ends[0])).size(), 200'000U);
  writer.join();
  ::close(ends[0]);
}

TEST(File, WritesAtomicallyAndLeavesNothingElse) {
  const TemporaryFolder above;
  const fs::path folder = above / "deep";
  write_file_atomically(folder / "a.txt", "one");
  write_file_atomically(folder / "a.txt", "two");
  EXPECT_EQ(read_file(folder / "a.txt"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(File, UnwritablePlaceIsNamed) {
  const std::string text = error_of([] { write_file_atomically("/proc/no/such/file", "x"); });
  EXPECT_TRUE(carries(text, {"/proc/no/such/file:", "written"}));
}

TEST(File, WhatIsNoRegularFileIsWrittenToAsItIs) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"}) {
    write_file(folder + std::to_string(ends[1]), "three");
    std::string text(5, ' ');
    EXPECT_EQ(::read(ends[0], text.data(), text.size()), 5) << folder;
    EXPECT_EQ(text, "three") << folder;
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

class OutputFolder : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
    return names;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(OutputFolder, ALinkThatLeadsNowhereIsNamed) {
  fs::create_symlink("loop", file("loop"));
  EXPECT_TRUE(carries(error_of([&] { write_file(file("loop"), "x"); }),
                      {file("loop").string(), "Too many levels of symbolic links"}));
}

TEST_F(OutputFolder, TheUmaskDecidesOfNewFilesAndOthersKeepTheirPermissions) {
  const mode_t before = ::umask(0027);
  const auto mode = [&](const char* name) { return static_cast<int>(fs::status(file(name)).permissions()); };
  write_file(file("new"), "x");
  EXPECT_EQ(mode("new"), 0640);
  for (const int permissions : {0666, 0600, 0444}) {
    fs::permissions(file("new"), static_cast<fs::perms>(permissions));
    write_file(file("new"), "y");
    EXPECT_EQ(mode("new"), permissions);
  }
  write_file_atomically(file("other"), "x");
  EXPECT_EQ(mode("other"), 0640);
  ::umask(before);
}

TEST_F(OutputFolder, AWriterThatIsKilledLeavesNothing) {
  write_file(file("kept"), "old");
  const pid_t child = ::fork();
  if (child == 0)
    stream_to_file(file("kept"), [&](std::ostream& out) {
      out << "half" << std::flush;
      ::raise(SIGKILL);
    });
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  write_file(file("new"), "x");
  write_file(file("kept"), read_file(file("kept")) + "er");
  EXPECT_EQ(read_file(file("kept")), "older");
  EXPECT_EQ(names().size(), 2U);
}

TEST_F(OutputFolder, DraftsThatNobodyWritesAreRemovedAndOthersStay) {
  const auto draft = [&](const std::string& name) { return file(name + ".unfinished"); };
  const std::string digits = ".0123456789abcdef";
  write_file(file("target" + digits), "a hash may be part of a name");
  write_file(draft("other" + digits), "of another file");
  write_file(draft("target.0123456789abcdeg"), "no digit");
  write_file(file("precious"), "kept");
  fs::create_symlink(file("precious"), draft("target.aaaaaaaaaaaaaaaa"));
  write_file(draft("target" + digits), "left");
  const int written = ::open(draft("target.bbbbbbbbbbbbbbbb").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::flock(written, LOCK_EX), 0);
  write_file(file("target"), "new");
  EXPECT_FALSE(fs::exists(draft("target" + digits)));
  for (const fs::path& kept :
       {file("target" + digits), draft("other" + digits), draft("target.0123456789abcdeg"),
        draft("target.aaaaaaaaaaaaaaaa"), draft("target.bbbbbbbbbbbbbbbb")})
    EXPECT_TRUE(fs::exists(kept)) << kept;
  ::close(written);
  write_file_atomically(file("target"), "newer");
  EXPECT_FALSE(fs::exists(draft("target.bbbbbbbbbbbbbbbb")));
  EXPECT_EQ(read_file(file("precious")), "kept");
}

TEST(Paths, APathIsWithinAFolderWhenItBeginsWithItsNames) {
  EXPECT_TRUE(is_within("/a/b/c", "/a/b"));
  EXPECT_TRUE(is_within("/a/b", "/a/b"));
  EXPECT_TRUE(is_within("/a", "/"));
  EXPECT_TRUE(is_within("../common/x.cuh", "../common"));
  EXPECT_FALSE(is_within("/a/bc", "/a/b"));
  EXPECT_FALSE(is_within("/a", "/a/b"));
  EXPECT_FALSE(is_within("a/b", "/a"));
}

TEST(UserError, NoTextOfItBeginsALineOfItsOwn) {
  const UserError error("what\n  Run as root: x\r\n::warning::y", Where{std::string("a\0b", 3), "/k\n::z"},
                        "Do\033[31m\nthis.");
  EXPECT_STREQ(error.what(),
               "a?b: /k ::z: what\n    |   Run as root: x \n    | ::warning::y\n  Do?[31m\n    | this.");
}

TEST(Where, PointersEscapeSlashesAndTildes) {
  EXPECT_EQ((Where{"f.json", ""}.at("a/b~c").at(3).text()), "f.json: /a~1b~0c/3");
}

}  // namespace file_test
}  // namespace tiletune
