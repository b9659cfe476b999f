#include "cli/fake_sweep.h"

#include <algorithm>

namespace tiletune {

std::vector<std::string> sweep_with(const std::string& config, const std::string& mode, int strikes_at) {
  std::vector<std::string> arguments{"sweep", config, "--db", "results.db", "-j", "2"};
  for (const std::string& word : {std::string(TILETUNE_BINARY_DIR) + "/fake_gpu_worker", std::string("{gpu}"),
                                  mode, std::to_string(strikes_at)}) {
    arguments.insert(arguments.end(), {"--gpu-worker", word});
  }
  return arguments;
}

std::vector<std::string> measured_sweep(const std::string& config, const std::string& mode, int strikes_at,
                                        const std::vector<std::string>& more) {
  std::vector<std::string> arguments = sweep_with(config, mode, strikes_at);
  arguments.emplace_back("--quiet");
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<Trial> rows_of(const Sandbox& sandbox) {
  return Database(sandbox.folder() / "results.db", Database::Mode::read_only).trials({});
}

std::int64_t kernels_with(const std::vector<Trial>& rows, Outcome outcome) {
  return std::count_if(rows.begin(), rows.end(),
                       [&](const Trial& row) { return row.kind == "kernel" && row.outcome == outcome; });
}

}  // namespace tiletune
