#include "cli/fake_sweep.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace tiletune {

std::vector<std::string> fake_gpu_workers(const std::string& mode, int strikes_at) {
  std::vector<std::string> arguments;
  for (const std::string& word : {std::string(TILETUNE_BINARY_DIR) + "/fake_gpu_worker", std::string("{gpu}"),
                                  mode, std::to_string(strikes_at)}) {
    arguments.insert(arguments.end(), {"--gpu-worker", word});
  }
  return arguments;
}

std::vector<std::string> sweep_with(const std::string& config, const std::string& mode, int strikes_at) {
  std::vector<std::string> arguments = fake_gpu_workers(mode, strikes_at);
  arguments.insert(arguments.begin(), {"sweep", config, "--db", "results.db", "-j", "2"});
  return arguments;
}

std::vector<std::string> measured_sweep(const std::string& config, const std::string& mode, int strikes_at,
                                        const std::vector<std::string>& more) {
  std::vector<std::string> arguments = sweep_with(config, mode, strikes_at);
  arguments.emplace_back("--quiet");
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void warm_kernel_cache(const Sandbox& sandbox, const std::string& config) {
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::remove(sandbox.folder() / "results.db"));
}

std::vector<Trial> rows_of(const Sandbox& sandbox, const std::string& database) {
  return Database(sandbox.folder() / database, Database::Mode::read_only).trials({});
}

std::int64_t kernels_with(const std::vector<Trial>& rows, Outcome outcome) {
  return std::count_if(rows.begin(), rows.end(),
                       [&](const Trial& row) { return row.kind == "kernel" && row.outcome == outcome; });
}

void expect_complete(const Sandbox& sandbox, int configurations, const std::string& database) {
  SQLite::Database connection(sandbox.folder() / database, SQLite::OPEN_READWRITE);
  EXPECT_EQ(connection.execAndGet("PRAGMA integrity_check").getString(), "ok");
  const std::vector<Trial> rows = rows_of(sandbox, database);
  std::set<std::string> parameters;
  for (const Trial& row : rows) parameters.insert(row.parameters);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), configurations);
  EXPECT_EQ(parameters.size(), configurations + 1U) << "each configuration once, and the baseline";
  EXPECT_EQ(rows.size(), configurations + 2U);
  const auto in_finals = std::count_if(rows.begin(), rows.end(), [](const Trial& row) {
    return row.kind == "kernel" && row.timed_in == "final";
  });
  EXPECT_GE(in_finals, std::min(configurations, 10));
}

}  // namespace tiletune
