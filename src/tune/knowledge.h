#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rank/rows.h"
#include "search/strategy.h"
#include "spec/tune_spec.h"
#include "tune/task.h"

namespace tiletune {

/// Finds where the values that a row states stand among those of a template's parameters.
class RowPositions {
 public:
  /// `kernel` outlives this.
  explicit RowPositions(const TemplateSpec& kernel);

  /// The positions of a row's `parameters`, in the template's order. None where a value is not among them, or
  /// a parameter of several values is not stated.
  std::optional<std::vector<std::uint32_t>> positions_of(const std::string& parameters) const;

 private:
  const TemplateSpec* kernel_;
  std::vector<WrittenAs> values_;
};

/// What a database says of the templates of a sweep on other problems and other GPUs, and on the same ones at
/// other times, for strategies that learn.
class Knowledge {
 public:
  /// Reads the rows of kernels that ran, of the templates of `tasks`. Throws UserError when the file is no
  /// database of tiletune, or has no such row, saying what it has instead. Of a folder all files *.db are
  /// read but the sweep's `own`; there may be none, nor any such row, and what cannot be read is left out:
  /// other shards are at work there.
  Knowledge(const std::filesystem::path& place, const std::vector<Task>& tasks,
            const std::filesystem::path& own = {});

  /// What a row says of one workload, without its values: there may be a million rows.
  struct Known {
    std::uint32_t row = 0;
    std::uint32_t space = 0;  ///< as Lesson has it
    float distance = 0;
  };
  /// For one workload, whose tasks follow each other, on a GPU. Rows whose values are none of a template's do
  /// not count.
  std::vector<Known> known_for(std::span<const Task> tasks, const std::string& gpu) const;
  double relative_time(const Known& known) const;
  Lesson lesson(const Known& known) const;
  /// How well the rows order the times of a problem that they do not hold: the median over the problems, left
  /// out in turn, of search::rank_correlation(). Of many problems those with the most rows count. None where
  /// it cannot be said. `tasks` as in the constructor.
  std::optional<double> rank_correlation(const std::vector<Task>& tasks) const;
  bool is_empty() const { return rows_.empty(); }
  /// "4201 configurations of 1 problem on 2 GPUs (hub.db)"
  std::string summary() const;

 private:
  struct Row {
    double time_us = 0;
    std::size_t values = 0;     ///< where its positions begin
    std::uint32_t group = 0;    ///< rows whose times may be compared
    std::uint32_t kernel = 0;   ///< which template
    bool is_of_variant = true;  ///< types and options are those of the template here
  };
  struct Group {
    std::string gpu;
    Problem problem;
    double best_us = 0;
  };

  struct Reading;
  void read(const std::filesystem::path& file, Reading& reading);
  std::vector<Lesson> lessons_of(const std::vector<Known>& known, std::size_t most) const;

  /// How far a group's problem is from that of another one on a GPU.
  static double distance(const Group& group, const Problem& problem, const std::string& gpu);

  std::string place_;
  std::vector<const TemplateSpec*> kernels_;
  std::vector<Group> groups_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> positions_;  ///< of the values of all rows
};

/// How unlike two problems are, from 0 to 1: by the dimension that differs most, where 64 times is all.
double problem_distance(const Problem& a, const Problem& b);

}  // namespace tiletune
