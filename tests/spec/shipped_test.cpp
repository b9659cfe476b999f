#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "spec/load.h"
#include "spec/paths.h"

namespace tiletune {
namespace shipped_test {

const std::filesystem::path kHome = TILETUNE_SOURCE_DIR;

void expect_variants_load(const std::filesystem::path& manifest, const Operation& offered) {
  for (const Choices& types : offered.offered_types) {
    for (const Choices& options : offered.offered_options) {
      const Variant variant{types, options};
      EXPECT_NO_THROW(load_template(manifest, {}, &variant)) << manifest;
    }
  }
}

TEST(Shipped, EveryManifestLoadsInEveryVariant) {
  std::error_code error;
  int manifests = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kHome / "kernel_templates", error)) {
    const auto manifest = entry.path() / "template.json";
    if (!std::filesystem::exists(manifest)) continue;  // Headers that templates share.
    ++manifests;
    std::optional<Operation> offered;
    EXPECT_NO_THROW(offered = load_template(manifest, {}).operation) << manifest;
    if (offered) expect_variants_load(manifest, *offered);
  }
  if (manifests == 0) GTEST_SKIP() << "no templates in " << kHome;
}

TEST(Shipped, EveryConfigLoads) {
  LoadOptions options;
  options.template_folders = {kHome / "kernel_templates"};
  const auto configs = file_names(kHome / "configs", ".json");
  for (const auto& name : configs) EXPECT_NO_THROW(load_tune_spec(kHome / "configs" / name, options)) << name;
  if (configs.empty()) GTEST_SKIP() << "no configs in " << kHome;
}

}  // namespace shipped_test
}  // namespace tiletune
