#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "rank/ranking.h"
#include "store/database.h"
#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace views_test {

using Lines = std::multiset<std::string>;

/// Rows as sweeps, imports, replays and people with an SQLite shell leave them, in few groups, with few
/// configurations and times, so that they meet. Times of finals are dyadic multiples of earlier ones: their
/// mean is the same in whatever order it is taken.
class RandomRows {
 public:
  explicit RandomRows(unsigned seed) : random_(seed) {}

  void fill(const std::filesystem::path& file) {
    {
      Database database(file, Database::Mode::read_write);
      for (int i = 0; i < 5; ++i) {
        SweepRecord sweep;
        sweep.started_at = "2026-11-2" + std::to_string(below(4)) + "T10:00:00Z";
        sweeps_.push_back(database.begin_sweep(sweep));
      }
      std::vector<Trial> trials;
      for (int i = 0; i < 200; ++i) trials.push_back(trial(i));
      database.record_all(trials);
    }
    SQLite::Database shell(file.string(), SQLite::OPEN_READWRITE);
    for (const std::string column :
         {"median_us", "predicted_us", "first_median_us", "ci_high_us", "noise_floor_percent"})
      shell.exec("UPDATE trial SET " + column + " = 9e999 WHERE id % 50 = " + std::to_string(below(50)));
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  bool once_in(int times) { return below(times) == 0; }
  template <typename T>
  T mostly(T usual, T seldom) {
    return once_in(6) ? seldom : usual;
  }
  template <typename T>
  T any_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

  /// One value in the ways it can be written.
  std::string written(int value) {
    const std::string number = std::to_string(value);
    if (value <= 1 && once_in(3)) return value == 1 ? "true" : "false";
    if (value == 0 && once_in(3)) return any_of<std::string>({"-0", "-0.0"});
    return any_of<std::string>({number, number, number + ".0", number + "e0", number + ".00E+0"});
  }

  std::string parameters() {
    if (once_in(30)) return any_of<std::string>({"", "{}", "no JSON", "7", "[1]"});
    std::vector<std::string> members{
        R"("A":)" + written(below(3)), R"("V": )" + mostly<std::string>(written(1), "\"1\""),
        R"("F":)" + any_of<std::string>({"0.5", "5e-1", "0.50000000000000011", "9007199254740994",
                                         "9007199254740994.0", "20000000000000000", "20000000000000000.0"})};
    if (once_in(4)) members.pop_back();
    std::shuffle(members.begin(), members.end(), random_);
    std::string text;
    for (const std::string& member : members) text += (text.empty() ? "{" : ",") + member;
    return text + "}";
  }

  /// Of three rows two can be compared.
  void add_conditions(Trial& trial) {
    trial.operation = "gemm";
    trial.element_types = "f32";
    trial.cache = "cold";
    switch (below(24)) {
      case 0:
        trial.gpu = "NVIDIA T4";
        break;
      case 1:
        trial.problem = "1x1x1";
        break;
      case 2:
        trial.operation = "softmax";
        break;
      case 3:
        trial.options = "layout=nt";
        break;
      case 4:
        trial.element_types.clear();
        break;
      case 5:
        trial.scalars = "alpha=1 beta=1";
        break;
      case 6:
        trial.cache = "warm";
        break;
      case 7:
        trial.source = any_of<Source>({Source::imported, Source::replayed});
        break;
      default:
        if (once_in(4)) trial.source = Source::predicted;
    }
  }

  void add_time(Trial& trial) {
    const double us = 64 + 0.5 * below(32);
    trial.median_us = once_in(4) ? std::nextafter(us, any_of<double>({0, 1000})) : us;
    if (once_in(3)) {
      trial.timed_in = "final";
      trial.first_median_us = us;
      trial.median_us = us * any_of<double>({0.75, 1, 1, 1.125});
      if (once_in(10)) trial.first_median_us.reset();
    } else if (once_in(3)) {
      trial.timed_in = "sampling";
      trial.first_median_us = 1;
    }
    trial.ci_low_us.reset();
    trial.ci_high_us.reset();
    if (!once_in(5)) trial.ci_low_us = *trial.median_us - 0.25 * (below(12) - 1);
    if (!once_in(5)) trial.ci_high_us = *trial.median_us + 0.25 * (below(12) - 1);
    if (once_in(3)) trial.noise_floor_percent = any_of<double>({0, 0.5, 2, -50, 300});
    if (once_in(20)) trial.median_us = any_of<std::optional<double>>({std::nullopt, 0, -1});
    if (trial.source == Source::predicted && !once_in(4)) trial.predicted_us = 64 + 0.5 * below(8);
  }

  Trial trial(int number) {
    Trial trial = timed_trial(std::to_string(1000 + (number * 37) % 200), 0, 0);
    trial.kind = once_in(6) ? any_of<std::string>({"baseline", "twin"}) : "kernel";
    trial.template_name = mostly("tiled", "naive");
    trial.parameters = parameters();
    add_conditions(trial);
    trial.outcome = once_in(5)
                        ? any_of<Outcome>({Outcome::wrong_result, Outcome::timeout, Outcome::screened_out,
                                           Outcome::dispatched, Outcome::not_recorded})
                        : Outcome::ok;
    add_time(trial);
    if (!once_in(4)) trial.registers = 32 * below(3);
    if (!once_in(4)) trial.occupancy = 0.25 * below(3);
    trial.recorded_at = "2026-11-2" + std::to_string(below(3)) +
                        any_of<std::string>({"T10:00:00Z", "T10:00:00.5Z", "T10:00:00.7Z"});
    if (!once_in(3)) trial.sweep_id = any_of(sweeps_);
    if (!once_in(3)) trial.seen_in_sweep = any_of(sweeps_);
    return trial;
  }

  std::mt19937 random_;
  std::vector<std::int64_t> sweeps_;
};

std::string line_of(const std::string& key, std::int64_t order_by_time, bool tied_with_best) {
  return key + " " + std::to_string(order_by_time) + (tied_with_best ? " tied with best" : "");
}

struct Answers {
  Lines ranking;
  Lines best;
};

Answers of_views(const std::filesystem::path& file) {
  SQLite::Database reader(file.string(), SQLite::OPEN_READONLY);
  Answers answers;
  SQLite::Statement ranking(reader, "SELECT \"key\", order_by_time, tied_with_best FROM ranking");
  while (ranking.executeStep())
    answers.ranking.insert(line_of(ranking.getColumn(0).getString(), ranking.getColumn(1).getInt64(),
                                   ranking.getColumn(2).getInt() == 1));
  SQLite::Statement best(reader, "SELECT \"key\" FROM best");
  while (best.executeStep()) answers.best.insert(best.getColumn(0).getString());
  return answers;
}

Answers of_rule(const std::filesystem::path& file) {
  const Database database(file, Database::Mode::read_only);
  RankingRows rows = ranking_rows(database, {});
  std::set<std::int64_t> first;
  Answers answers;
  for (const RankingGroup& group : rank_rows(rows)) {
    const std::vector<RankedRow> leaders = leaders_of(group);
    for (const RankedRow& leader : leaders) first.insert(leader.id);
    answers.best.insert(database.row(leaders.front().id).key);
  }
  RankingRows timed = ranking_rows(database, {});
  for (const ComparableRows& group : timed.comparable()) {
    for (const RankingRow& kernel : group.kernels) {
      const auto faster =
          std::count_if(group.kernels.begin(), group.kernels.end(),
                        [&](const RankingRow& other) { return other.time_us < kernel.time_us; });
      answers.ranking.insert(line_of(database.row(kernel.id).key, faster + 1, first.contains(kernel.id)));
    }
  }
  return answers;
}

/// The lines that one has and the other does not.
std::vector<std::string> without(const Lines& lines, const Lines& others) {
  std::vector<std::string> rest;
  std::set_difference(lines.begin(), lines.end(), others.begin(), others.end(), std::back_inserter(rest));
  return rest;
}

/// So that a query and an export never contradict each other.
TEST(Views, SayTheSameAsTheRule) {
  std::size_t ranked = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const TemporaryFolder folder;
    RandomRows(seed).fill(folder / "a.db");
    const Answers rule = of_rule(folder / "a.db");
    const Answers views = of_views(folder / "a.db");
    ASSERT_EQ(without(views.ranking, rule.ranking), without(rule.ranking, views.ranking)) << "seed " << seed;
    ASSERT_EQ(without(views.best, rule.best), without(rule.best, views.best)) << "seed " << seed;
    ranked += rule.ranking.size();
  }
  EXPECT_GT(ranked, 3000U) << "most rows count";
}

}  // namespace views_test
}  // namespace tiletune
