// Files of the kernel cache that are not what they were: each is compiled anew, and the numbers stay the
// same.

#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace altered_cache_test {

namespace fs = std::filesystem;
using Files = std::vector<fs::path>;

Files cubins(const Sandbox& sandbox) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(sandbox.folder() / "cache")) {
    if (entry.path().extension() == ".cubin") files.push_back(entry.path());
  }
  return files;
}

void shorten(const Files& files, std::uintmax_t divisor) {
  for (const fs::path& file : files) fs::resize_file(file, fs::file_size(file) / divisor);
}
void cut_off(const Files& files) { shorten(files, 2); }
void empty(const Files& files) { shorten(files, UINTMAX_MAX); }

void flip(const fs::path& file, std::size_t offset) {
  std::string content = read_file(file);
  content.at(offset) = static_cast<char>(content.at(offset) ^ 4);
  write_file_atomically(file, content);
}
void flip_in_the_header(const Files& files) {
  for (const fs::path& file : files) flip(file, 12);
}
void flip_in_the_cubin(const Files& files) {
  for (const fs::path& file : files) flip(file, fs::file_size(file) * 3 / 4);
}

/// Everyone gets the next one's content, and so, some of them, another architecture's.
void exchange(const Files& files) {
  const std::string first = read_file(files.front());
  for (std::size_t i = 0; i + 1 < files.size(); ++i) write_file_atomically(files[i], read_file(files[i + 1]));
  write_file_atomically(files.back(), first);
}

void replace_by_folders(const Files& files) {
  for (const fs::path& file : files) {
    fs::remove(file);
    fs::create_directory(file);
  }
}

struct Alteration {
  const char* name;
  void (*alter)(const Files&);
};
std::ostream& operator<<(std::ostream& out, const Alteration& alteration) { return out << alteration.name; }

class AlteredCache : public testing::TestWithParam<Alteration> {};

TEST_P(AlteredCache, LeadsToARecompileAndTheSameNumbers) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(4);
  // Times of the fake worker follow from the cubin's bytes: a wrong cubin would give a wrong time.
  EXPECT_EQ(sandbox.run(measured_sweep(config, "none")).code, 0);
  fs::rename(sandbox.folder() / "results.db", sandbox.folder() / "good.db");
  EXPECT_EQ(sandbox.run({"sweep", config, "--gpu", "A100 40GB", "--db", "a100.db", "--quiet"}).code, 0);
  const Files files = cubins(sandbox);
  ASSERT_EQ(files.size(), 10U) << "four kernels, and the types of one, for two architectures";
  GetParam().alter(files);
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  expect_complete(sandbox, 4);
  const Database database(sandbox.folder() / "results.db", Database::Mode::read_only);
  for (const Trial& row : rows_of(sandbox, "good.db")) {
    EXPECT_EQ(database.find(row.key)->median_us, row.median_us) << row.parameters;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AlteredCache,
                         testing::Values(Alteration{"CutOff", cut_off}, Alteration{"Emptied", empty},
                                         Alteration{"FlippedInTheHeader", flip_in_the_header},
                                         Alteration{"FlippedInTheCubin", flip_in_the_cubin},
                                         Alteration{"OfAnotherKeyOrArchitecture", exchange},
                                         Alteration{"FoldersInTheirPlace", replace_by_folders}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace altered_cache_test
}  // namespace tiletune
