#include "fuzz/fuzz.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "space/instance.h"
#include "space/space.h"

namespace tiletune::fuzz {

namespace fs = std::filesystem;

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

const fs::path& scratch_folder() {
  static const fs::path folder = [] {
    std::string name = (fs::temp_directory_path() / "tiletune_fuzz_XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "the folder for temporary files can be written");
    return fs::canonical(name);
  }();
  return folder;
}

fs::path write_scratch(const std::string& name, std::string_view content) {
  fs::path path = scratch_folder() / name;
  if (!fs::exists(path)) fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  require(file.good(), "a temporary file can be written");
  return path;
}

std::optional<std::size_t> raw_size(const TemplateSpec& spec, std::size_t most) {
  std::size_t product = 1;
  for (const Parameter& parameter : spec.parameters) {
    if (parameter.values.empty()) return 0;
    if (parameter.values.size() > most / product) return std::nullopt;
    product *= parameter.values.size();
  }
  return product;
}

void evaluate_template(const TemplateSpec& spec, const Problem& problem) {
  constexpr std::size_t kMostCombinations = 1024;
  constexpr std::uint64_t kInstances = 4;
  constexpr int kMultiprocessors = 132;
  const auto combinations = raw_size(spec, kMostCombinations);
  if (!combinations) return;
  refused([&] {
    const Space space(spec, problem);
    require(space.size() <= *combinations, "no more configurations are valid than there are");
    const Instantiator instantiator(spec, problem);
    for (std::uint64_t i = 0; i < std::min(space.size(), kInstances); ++i) {
      refused([&] {
        const Instance instance = instantiator.instantiate(space.at(i), kMultiprocessors);
        require(instance.launches[0].grid.count() > 0 && instance.launches[0].block.count() > 0,
                "a launch has blocks and threads");
        require(instance.launches[0].arguments.size() == spec.launches[0].arguments.size(),
                "every argument has its value");
      });
    }
  });
}

}  // namespace tiletune::fuzz
