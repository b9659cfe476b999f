// A template's manifest, in a folder "tile" that holds kernel.cuh, reference.cu and a link that leads out of
// it.

#include "compile/request.h"
#include "fuzz/fuzz.h"
#include "space/instance.h"
#include "spec/load.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

std::filesystem::path prepared_folder() {
  write_scratch("tile/kernel.cuh", "");
  write_scratch("tile/reference.cu", "");
  std::filesystem::create_symlink("/etc", scratch_folder() / "tile" / "outside");
  return scratch_folder() / "tile";
}

void require_inside(const std::filesystem::path& file, const std::filesystem::path& folder) {
  require(file.string().rfind(folder.string() + "/", 0) == 0, "a template names files of its own folder");
}

void check(const TemplateSpec& spec, const std::filesystem::path& folder) {
  require(spec.name == "tile", "a template is named as its folder");
  require_inside(spec.source, folder);
  if (spec.operation.reference) require_inside(spec.operation.reference->source, folder);
  for (const OperationKernel& kernel : spec.operation.input_kernels) require_inside(kernel.source, folder);
  for (const Parameter& parameter : spec.parameters)
    require(!parameter.values.empty(), "a parameter has values");
  refused([&] {
    for (std::size_t i = 0; i < spec.compile_options.size(); ++i)
      check_compile_options(possible_texts(spec, i), spec.where);
  });
  Problem problem;
  for (const std::string& dimension : spec.operation.dimensions)
    problem.dimensions.emplace_back(dimension, 96);
  evaluate_template(spec, problem);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path folder = prepared_folder();
  const auto manifest = write_scratch("tile/template.json", text_of(data, size));
  LoadOptions options;
  options.template_folders = {std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
  refused([&] { check(load_template(manifest, options), folder); });
  return 0;
}
