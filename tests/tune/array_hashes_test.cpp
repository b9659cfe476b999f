#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "temporary_folder.h"
#include "tune/task.h"

namespace tiletune {
namespace array_hashes_test {

TEST(ArrayHashes, AFileIsReadOnceUnlessItIsAnotherVersion) {
  const TemporaryFolder folder;
  const auto workload_with = [&](const std::string& numbers) {
    write_file(folder / "x.npy", npy_header(ElementType::u8, 4) + numbers);
    Workload workload;
    workload.buffers = {{"x", ElementType::u8, 4, BufferRole::in}};
    workload.buffers[0].file = open_npy(folder / "x.npy", 4, {ElementType::u8}, {});
    return workload;
  };
  ArrayHashes hashes;
  EXPECT_EQ(hashes.hash_of(Workload{}), "");
  const Workload first = workload_with("abcd");
  const std::string hash = hashes.hash_of(first);
  std::filesystem::remove(folder / "x.npy");
  EXPECT_EQ(hashes.hash_of(first), hash) << "known";
  EXPECT_THROW(ArrayHashes().hash_of(first), UserError);
  const Workload second = workload_with("abce and more");
  EXPECT_NE(hashes.hash_of(second), hash);
  EXPECT_EQ(hashes.hash_of(first), hash);
  EXPECT_THROW(ArrayHashes().hash_of(first), UserError) << "another file";
}

}  // namespace array_hashes_test
}  // namespace tiletune
