#include "compile/test_support.h"

#include <cstdlib>

#include "base/file.h"
#include "compile/wait.h"

namespace tiletune {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "tiletune-compile-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = fs::canonical(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TemporaryFolder::write(const std::string& name, const std::string& text) const {
  write_file_atomically(path_ / name, text);
  return path_ / name;
}

CompileRequest scale_request(int factor, const std::string& extra, const std::string& architecture) {
  const std::string kernel =
      "template <int FACTOR> __global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }\n";
  CompileRequest request;
  request.source.name = "scale.cuh";
  request.source.text = extra + "\n" + kernel;
  request.options = {"--gpu-architecture=" + architecture, "--modify-stack-limit=false",
                     "--device-as-default-execution-space"};
  request.kernel_expression = "scale<" + std::to_string(factor) + ">";
  return request;
}

std::map<std::uint64_t, Compiled> drain(CompilePool& pool) {
  std::map<std::uint64_t, Compiled> results;
  while (true) {
    for (auto& [ticket, compiled] : pool.take_finished()) results[ticket] = std::move(compiled);
    if (pool.pending() == 0) return results;
    wait_for_work(pool);
  }
}

CompilePoolOptions pool_options(const fs::path& cache_folder, int workers,
                                const std::vector<std::string>& arguments) {
  CompilePoolOptions options;
  options.workers = workers;
  options.cache_folder = cache_folder;
  options.arguments = arguments;
  return options;
}

}  // namespace tiletune
