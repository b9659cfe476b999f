#pragma once

#include <vector>

#include "rank/ranking.h"
#include "store/database.h"
#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {

/// Rows in a database of their own, and their ranking.
struct Ranked {
  TemporaryFolder folder;
  Database database{folder / "a.db", Database::Mode::read_write};
  std::vector<RankingGroup> groups;

  explicit Ranked(const std::vector<Trial>& trials, const std::vector<SweepRecord>& sweeps = {}) {
    for (const SweepRecord& sweep : sweeps) database.begin_sweep(sweep);
    database.record_all(trials);
    RankingRows rows = ranking_rows(database, {});
    groups = rank_rows(rows);
  }
};

/// Three kernels, two of them tied, and a baseline between them.
inline std::vector<Trial> sample_trials() {
  Trial fast = timed_trial("k1", 100, 3);
  fast.template_name = "sgemm_warptile";
  fast.parameters = R"({"BM":128,"VEC":true})";
  fast.registers = 128;
  fast.occupancy = 0.25;
  fast.occupancy_limiter = "registers";
  fast.tflops = 52.123;
  fast.percent_of_baseline = 103.04;
  fast.percent_of_peak = 77.7;
  Trial tied = fast;
  tied.key = "k2";
  tied.parameters = R"({"BM":64,"VEC":true})";
  tied.median_us = 102;
  tied.ci_low_us = 101;
  tied.ci_high_us = 1034.56;
  tied.registers = 96;
  tied.tflops = 51;
  Trial slow = timed_trial("k3", 1234.5, 1);
  slow.template_name = "sgemm_naive";
  slow.parameters = "{}";
  Trial baseline = timed_trial("b1", 103.04, 0.5);
  baseline.kind = "baseline";
  baseline.template_name = "cublas";
  baseline.parameters.clear();
  baseline.tflops = 50.6;
  return {fast, slow, baseline, tied};
}

inline Trial predicted_trial() {
  Trial trial = timed_trial("p1", 1, 0);
  trial.gpu = "H100 SXM";
  trial.source = Source::predicted;
  trial.median_us.reset();
  trial.ci_low_us.reset();
  trial.ci_high_us.reset();
  trial.predicted_us = 77.77;
  return trial;
}

}  // namespace tiletune
