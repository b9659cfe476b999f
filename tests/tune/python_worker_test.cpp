#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/confinement.h"
#include "base/fields_json.h"
#include "base/folder.h"
#include "base/own_view.h"
#include "base/worker_process.h"
#include "carries.h"
#include "tune/python_run.h"

namespace tiletune {
namespace python_worker_test {

namespace fs = std::filesystem;

class PythonWorker : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_system_cannot_confine().empty()) GTEST_SKIP() << why_system_cannot_confine();
    fs::create_directory(scratch_.path() / "folder");
    std::ofstream(place("folder/x.npy")) << "inside";
    std::ofstream(place("secret")) << "outside";
  }

  std::string place(const char* name) const { return (scratch_.path() / name).string(); }

  /// What cat prints, which takes the place of Python; a failure begins with "failed: ".
  std::string shown(const PythonWork& work) const {
    WorkerProcess process(std::string(TILETUNE_BINARY_DIR) + "/tiletune", {"python-worker"});
    process.send(to_json(work));
    constexpr auto kPatience = std::chrono::seconds(30);
    const auto message = process.receive(kPatience);
    if (!message) return "failed: " + process.take_printed();
    const auto starts = from_json<PythonStarts>(*message);
    if (!starts.failure.empty()) return "failed: " + starts.failure;
    process.receive(kPatience);
    return process.take_printed();
  }
  PythonWork cat(const std::string& file) const {
    PythonWork work;
    work.command = {"/bin/cat", file};
    work.memory_bytes = std::uint64_t{1} << 30;
    return work;
  }

  ScratchFolder scratch_;
  /// What the system says of a file out of reach: without a view of its own, the worker sees that it is
  /// there.
  const std::string refusal_ = may_separate_mounts() ? "No such file" : "Permission denied";
};

TEST_F(PythonWorker, SeesNothingElse) {
  if (!may_separate_mounts()) GTEST_SKIP() << "this system allows no mounts in user namespaces";
  fs::create_directory_symlink(scratch_.path() / "folder", scratch_.path() / "link");
  fs::create_directories(scratch_.path() / "folder/deep/er");
  fs::create_symlink("../folder/deep", scratch_.path() / "folder/up");
  std::ofstream(place("folder/deep/er/y")) << "deeper";
  PythonWork work = cat(place("link/x.npy"));
  work.readable = {place("link")};
  EXPECT_EQ(shown(work), "inside") << "links on the way are there";
  work.readable = {place("folder/up/er/../er/y")};
  work.command = {"/bin/cat", place("folder/up/er/y")};
  EXPECT_EQ(shown(work), "deeper");
  work.command = {
      "/usr/bin/find", "/etc", "/proc", "/home",           "/root",  "/var", scratch_.path().parent_path(),
      "-type",         "f",    "-not",  "-name",           "ld.so*", "-not", "-name",
      "localtime",     "-not", "-path", "*/ld.so.conf.d/*"};
  const std::string found = shown(work);
  EXPECT_TRUE(carries(found, {"/proc", "No such file"})) << found;
  EXPECT_EQ(found.find("secret"), found.npos) << found;
  EXPECT_EQ(found.find("/etc/passwd"), found.npos) << found;
}

TEST_F(PythonWorker, ReadsWhatItWasGiven) {
  PythonWork work = cat(place("folder/x.npy"));
  EXPECT_TRUE(carries(shown(work), {refusal_}));
  work.readable_without_links = {place("folder/x.npy")};
  EXPECT_EQ(shown(work), "inside");
  work.readable_without_links = {place("folder")};
  EXPECT_EQ(shown(work), "inside");
}

TEST_F(PythonWorker, FollowsNoLinkThatWasPutInTheWay) {
  PythonWork work = cat(place("folder/x.npy"));
  work.readable_without_links = {place("folder/x.npy")};
  fs::remove(place("folder/x.npy"));
  fs::create_symlink(place("secret"), place("folder/x.npy"));
  EXPECT_TRUE(carries(shown(work), {"failed", "x.npy"}));
  work.readable_without_links = {place("folder")};
  EXPECT_TRUE(carries(shown(work), {refusal_}));
  fs::rename(place("folder"), place("other"));
  fs::create_symlink(scratch_.path(), place("folder"));
  EXPECT_TRUE(carries(shown(work), {"failed", "folder"}));
}

TEST_F(PythonWorker, MakesFilesAndSaysWhyItCannot) {
  PythonWork work = cat(place("folder/y.npy"));
  work.inputs = {{place("folder/y.npy"), {"y", ElementType::i8, 4, BufferRole::in}, 1}};
  work.inputs.front().buffer.input = Workload::Values{Distribution::constant, 'a', 0};
  work.outputs = {{place("folder/z.out"), 8}};
  work.readable_without_links = {place("folder")};
  const std::string bytes = shown(work);
  EXPECT_TRUE(bytes.ends_with("\naaaa")) << bytes;
  EXPECT_EQ(fs::file_size(place("folder/z.out")), 8U);
  work.outputs = {{place("nowhere/z.out"), 8}};
  EXPECT_TRUE(carries(shown(work), {"failed", "nowhere", "No such file"}));
}

}  // namespace python_worker_test
}  // namespace tiletune
