#include "compile/cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "compile/test_support.h"

namespace tiletune {
namespace cache_test {

namespace fs = std::filesystem;

Compiled sample(const std::string& key) {
  auto binary = std::make_shared<Binary>();
  binary->key = key;
  binary->kernel_symbols = {"_Z1kv"};
  binary->cubin = std::string(
      "\x7f"
      "ELF\0\xff and the rest",
      19);
  binary->compile_ms = 12.5;
  return {Outcome::ok, "", binary, {{"own.cuh", "1234"}, {"missing.cuh", ""}}};
}

const std::string kKey(32, 'a');
const std::string kOtherKey(32, 'b');

TEST(CubinCache, ReturnsWhatWasStoredMarkedAsCached) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path() / "deep/cubin");
  EXPECT_FALSE(cache.load(kKey).has_value());
  cache.store(sample(kKey));
  const auto loaded = cache.load(kKey);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->outcome, Outcome::ok);
  EXPECT_EQ(loaded->dependencies, sample(kKey).dependencies);
  EXPECT_EQ(loaded->binary->key, kKey);
  EXPECT_EQ(loaded->binary->kernel_symbols[0], "_Z1kv");
  EXPECT_EQ(loaded->binary->cubin, sample(kKey).binary->cubin);
  EXPECT_EQ(loaded->binary->compile_ms, 12.5);
  EXPECT_TRUE(loaded->binary->from_cache);
  EXPECT_EQ(cache.path_of(kKey), folder.path() / "deep/cubin/aa" / (std::string(30, 'a') + ".cubin"));
}

TEST(CubinCache, EveryFlippedByteAndEveryTruncationReadsAsAbsentAndIsRemoved) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path());
  cache.store(sample(kKey));
  const fs::path path = cache.path_of(kKey);
  const std::string good = read_file(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    write_file_atomically(path, flipped);
    EXPECT_FALSE(cache.load(kKey).has_value()) << "byte " << i;
    EXPECT_FALSE(fs::exists(path)) << "byte " << i;
    write_file_atomically(path, good.substr(0, i));
    EXPECT_FALSE(cache.load(kKey).has_value()) << "cut at " << i;
  }
  write_file_atomically(path, good + "x");
  EXPECT_FALSE(cache.load(kKey).has_value());
  write_file_atomically(path, good);
  EXPECT_TRUE(cache.load(kKey).has_value());
}

TEST(CubinCache, WhatAKilledProcessLeftHalfWrittenGoesWhenItsKeyIsStored) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path());
  const fs::path left = cache.path_of(kKey).string() + ".0123456789abcdef.unfinished";
  const fs::path of_another_key =
      cache.path_of("aa" + std::string(30, 'c')).string() + ".0123456789abcdef.unfinished";
  write_file(left, "half");
  write_file(of_another_key, "half");
  cache.store(sample(kKey));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(of_another_key));
  EXPECT_TRUE(cache.load(kKey).has_value());
}

TEST(CubinCache, AFileUnderAnotherKeyIsNotBelieved) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path());
  cache.store(sample(kKey));
  fs::create_directories(cache.path_of(kOtherKey).parent_path());
  fs::copy_file(cache.path_of(kKey), cache.path_of(kOtherKey));
  EXPECT_FALSE(cache.load(kOtherKey).has_value());
  EXPECT_TRUE(cache.load(kKey).has_value());
}

/// Whoever can write the folder can make the checksum right.
TEST(CubinCache, AFileNestedWithoutEndReadsAsAbsent) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path());
  for (const char item : {'\x81', '\x5f', '\x7f'}) {
    const std::string payload(std::size_t{8} << 20, item);
    write_file_atomically(cache.path_of(kKey),
                          fmt::format("TTCUBIN2{:016x}{}", checksum64(payload), payload));
    EXPECT_FALSE(cache.load(kKey).has_value());
    EXPECT_FALSE(fs::exists(cache.path_of(kKey)));
  }
}

TEST(CubinCache, AFileThatOthersCouldHaveWrittenReadsAsAbsentAndIsRemoved) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path() / "cubin");
  const mode_t before = ::umask(0);
  cache.store(sample(kKey));
  ::umask(before);
  ASSERT_TRUE(cache.load(kKey).has_value());
  fs::permissions(cache.path_of(kKey), fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(cache.load(kKey).has_value());
  EXPECT_FALSE(fs::exists(cache.path_of(kKey)));
}

TEST(CubinCache, ALinkIsNotFollowed) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path() / "cubin");
  cache.store(sample(kKey));
  fs::rename(cache.path_of(kKey), folder.path() / "elsewhere");
  fs::create_symlink(folder.path() / "elsewhere", cache.path_of(kKey));
  EXPECT_FALSE(cache.load(kKey).has_value());
}

TEST(CubinCache, FailingToWriteIsNoErrorButAFolderThatCannotBeIsOne) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path() / "cubin");
  folder.write("cubin/aa", "a file where a folder should be");
  cache.store(sample(kKey));
  EXPECT_FALSE(cache.load(kKey).has_value());
  const fs::path blocked = folder.write("file", "") / "cubin";
  const UserError error = user_error_of([&] { CubinCache{blocked}; });
  EXPECT_EQ(error.where().file, blocked.string());
}

}  // namespace cache_test
}  // namespace tiletune
