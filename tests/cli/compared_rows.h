#pragma once

#include <string>
#include <vector>

#include "cli/process.h"
#include "store/database.h"

namespace tiletune {

/// The template `tiny` with V=`v`, as write_tiny_space() has it.
inline Trial tiny(const std::string& gpu, int v, double median_us, const std::string& problem = "1x1x1") {
  Trial trial;
  trial.key = gpu + problem + std::to_string(v);
  trial.template_name = "tiny";
  trial.parameters = "{\"V\":" + std::to_string(v) + "}";
  trial.operation = "gemm";
  trial.element_types = "f32";
  trial.scalars = "alpha=1 beta=0";
  trial.cache = "warm";
  trial.problem = problem;
  trial.gpu = gpu;
  trial.outcome = Outcome::ok;
  trial.median_us = median_us;
  trial.recorded_at = "2026-11-21T10:00:00Z";
  return trial;
}

inline void record(const Sandbox& sandbox, const std::string& name, const std::vector<Trial>& rows) {
  Database(sandbox.folder() / name, Database::Mode::read_write).record_all(rows);
}

/// Two GPUs in two databases; each lacks the other's best of the first problem, and H100 the second problem.
inline void record_with_gaps(const Sandbox& sandbox) {
  record(sandbox, "a100.db",
         {tiny("NVIDIA A100-SXM4-40GB", 1, 10), tiny("NVIDIA A100-SXM4-40GB", 2, 20),
          tiny("NVIDIA A100-SXM4-40GB", 5, 20, "2x3x4")});
  record(sandbox, "h100.db", {tiny("NVIDIA H100 80GB HBM3", 2, 9), tiny("NVIDIA H100 80GB HBM3", 3, 5)});
}

inline const std::vector<std::string> kBoth{"compare", "A100", "H100", "--db", "a100.db", "--db", "h100.db"};

inline std::vector<std::string> with(std::vector<std::string> command, const std::vector<std::string>& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

}  // namespace tiletune
