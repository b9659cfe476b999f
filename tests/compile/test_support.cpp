#include "compile/test_support.h"

#include "compile/pool.h"

namespace tiletune {

namespace fs = std::filesystem;

CompileRequest scale_request(int factor, const std::string& extra, const std::string& architecture) {
  const std::string kernel =
      "template <int FACTOR> __global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }\n";
  CompileRequest request;
  request.source.name = "scale.cuh";
  request.source.text = extra + "\n" + kernel;
  request.options = {"--gpu-architecture=" + architecture, "--modify-stack-limit=false",
                     "--device-as-default-execution-space"};
  request.kernel_expressions = {"scale<" + std::to_string(factor) + ">"};
  return request;
}

std::map<std::uint64_t, Compiled> drain(TicketPool& pool) {
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
