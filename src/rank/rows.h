#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/spelling.h"
#include "base/value.h"
#include "store/database.h"
#include "store/trial.h"

namespace tiletune {

/// `visit` takes each member's name in their order, without its quotes, and its value as it is written. It is
/// quick, for a million rows: of text that is not JSON it makes something, too.
void for_each_member(std::string_view object,
                     const std::function<void(std::string_view name, std::string_view value)>& visit);

/// Equal for rows of one configuration.
using Identity = std::array<std::uint64_t, 2>;

/// Stands for a template and the values of its parameters, in whatever order, spacing and type they were
/// written: 1, 1.0 and true are one value, as they are to Python, which writes them as they come. No template
/// can list two of them for one parameter. Text that names no parameter stands for itself. As quick.
Identity identity_of(std::string_view template_name, std::string_view parameters);

/// Values that are found by how they are written.
class WrittenAs {
 public:
  /// `values` outlive it, where they are.
  explicit WrittenAs(const std::vector<Value>& values);
  /// The value that is written so in JSON, or is equal to it; null where it is none of them.
  const Value* find(std::string_view written) const;

 private:
  std::unordered_map<std::string, const Value*> values_;  ///< by how identities know them
};

/// The first `Size` bytes of a text, which order as the text does.
template <std::size_t Size>
struct ShortText {
  std::array<unsigned char, Size> bytes{};

  ShortText() = default;
  explicit ShortText(std::string_view text) {
    for (std::size_t i = 0; i < std::min(Size, text.size()); ++i)
      bytes[i] = static_cast<unsigned char>(text[i]);
  }
  auto operator<=>(const ShortText&) const = default;
};

/// Sweeps in the order in which they began. Their numbers need not grow with it: sweeps that came from
/// another database got theirs when they came.
class SweepOrder {
 public:
  /// Numbers are in order.
  SweepOrder() = default;
  explicit SweepOrder(const Database& database) : SweepOrder({&database}) {}
  /// Orders the sweeps of all databases. Sweeps that began at the same time are in the databases' order.
  explicit SweepOrder(const std::vector<const Database*>& databases);

  /// A number that grows with the sweep's start; 0 for 0 (no sweep). `database` is its place in the list.
  std::int64_t operator()(std::int64_t sweep, std::size_t database = 0) const;

 private:
  /// Sweep number to place, by database; empty: the numbers are in order.
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> places_;
};

/// What is asked of a row to tell which is the latest.
struct DatedRow {
  std::int64_t id = 0;        ///< trial.id of the database
  std::int64_t seen_in = 0;   ///< its latest sweep, by a number that grows with the time
  ShortText<20> recorded_at;  ///< "2026-11-21T10:00:00Z"

  DatedRow() = default;
  DatedRow(std::int64_t row, const Trial& trial, const SweepOrder& order)
      : id(row), seen_in(order(trial.seen_in_sweep)), recorded_at(trial.recorded_at) {}
};

inline bool is_newer(const DatedRow& a, const DatedRow& b) {
  const auto when = [](const DatedRow& row) { return std::tie(row.seen_in, row.recorded_at, row.id); };
  return when(b) < when(a);
}

/// Keeps the latest of the rows with an equal `configuration_of` (a tuple), in the order of these: point 3 of
/// the rule in rank/ranking.h.
template <typename Row, typename ConfigurationOf>
void keep_latest(std::vector<Row>& rows, const ConfigurationOf& configuration_of) {
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const auto order = configuration_of(a) <=> configuration_of(b);
    return std::is_neq(order) ? std::is_lt(order) : is_newer(a, b);
  });
  const auto same = [&](const Row& a, const Row& b) { return configuration_of(a) == configuration_of(b); };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

/// The time by which a row ranks, us: predicted_us of a predicted row (median_us where it has none),
/// otherwise median_us. None when it did not run.
std::optional<double> ranking_time_us(const Trial& trial);
/// What stands for the samples of a row.
enum class Statistic { median, mean, min };
template <>
inline constexpr std::array<Named<Statistic>, 3> kSpellings<Statistic>{
    {{Statistic::median, "median"}, {Statistic::mean, "mean"}, {Statistic::min, "min"}}};

/// Puts the mean or the fastest sample in place of the median. False where the row has a time, but not this
/// one, and stays as it is. Predicted times stand for each.
bool take_statistic(Statistic statistic, Trial& trial);

/// The time before any finals, us; 0 if it did not run.
double first_time_us(const Trial& trial);

/// A row's element types without the accumulator's where all buffers hold integers, which are summed as such.
std::string relevant_types(const std::string& element_types);

/// What else must be equal for times to be comparable: "gemm, layout=nt, A:f32 B:f32 C:f32 accumulator:f32,
/// alpha=1 beta=0, cold".
std::string conditions_of(const Trial& trial);

/// What rows that may be compared with each other have in common.
struct Comparable {
  std::string gpu;
  std::string problem;
  Source source = Source::measured;
  std::string conditions;  ///< operation, options, element types, scalars, state of the L2 cache
  std::string cache;       ///< the last of the conditions; empty where nothing was timed
  std::string definition;  ///< Trial::operation_hash

  /// "#3fa21c7b"
  std::string mark() const { return "#" + definition.substr(0, 8); }
  /// Whether the conditions have that mark, because the operation's name stands for several.
  bool tells_definition() const {
    return !definition.empty() && conditions.find(mark()) != std::string::npos;
  }
  /// With the mark, behind the operation's name; without it.
  Comparable marked() const;
  Comparable unmarked() const;
  auto operator<=>(const Comparable&) const = default;
};

/// What a row has in common with others.
Comparable comparable_of(const Trial& trial);
/// Without the state of the L2 cache, which is the last of the conditions.
Comparable without_cache(const Comparable& what);

/// What ranking needs to know of a row, in few bytes: a sweep may leave millions of rows.
struct RankingRow : DatedRow {
  Identity identity{};                ///< of template and parameters
  std::uint32_t group = 0;            ///< place in the order of first appearance
  std::uint32_t template_number = 0;  ///< a kernel's place among RankingRows::kernel_templates()
  bool is_baseline = false;
  bool is_screened = false;       ///< given up as slow: its time is of few samples
  bool is_undecided = false;      ///< it did not run, which does not prove that it cannot
  bool is_unverified = false;     ///< it was timed and its results were compared with nothing
  std::int64_t finals_sweep = 0;  ///< the sweep whose finals timed it; 0: none
  bool in_finals = false;         ///< these are the finals that decide its group
  bool has_discards = false;      ///< samples were thrown away
  double first_us = 0;            ///< its time before any finals
  double time_us = 0;             ///< 0: it did not run; as compared in the end: see comparable()
  double low_us = 0;  ///< 95% interval, or the time where there is none, widened by half the noise floor
  double high_us = 0;
  std::int64_t registers = 0;  ///< the largest number where they are not known
  double occupancy = 0;
  ShortText<32> key;  ///< orders rows of equal time
  ShortText<20> chosen_at;
};

/// Rows that ran and may be compared with each other, fastest first (then by key, so that the order is
/// fixed).
struct ComparableRows {
  const Comparable* what;
  std::span<const RankingRow> kernels;  ///< at least one, unless groups without are asked for
  std::span<const RankingRow> baselines;
  std::span<const RankingRow> failed;  ///< kernels that did not run
};

enum class Groups {
  that_ran,  ///< with a kernel that ran
  all,       ///< with groups where every kernel failed
};

/// All rows of a ranking.
class RankingRows {
 public:
  /// `order` is that of the sweeps of the database that the rows are of.
  explicit RankingRows(SweepOrder order = {}) : order_(std::move(order)) {}
  RankingRows(RankingRows&&) = default;
  RankingRows& operator=(RankingRows&&) = default;

  /// Takes what ranking_columns() name of a row. Ids grow from row to row. Rows that are only dispatched
  /// yet do not count, nor do twins: they are there to measure the noise; nor what a recording lacked.
  void add(std::int64_t id, const Trial& trial);
  /// Takes one that was given up as slow for one that ran.
  void add_screened(std::int64_t id, Trial& trial);

  /// Names of templates of kernels, in order of first appearance.
  const std::vector<std::string>& kernel_templates() const { return kernel_templates_; }

  /// In order of first appearance, by default those without a kernel that ran left out; points 1 to 6 of the
  /// rule in rank/ranking.h. Where an operation's name stands for several, the conditions tell them apart by
  /// their hashes: "gemm#3fa21c7b, ...". What is returned holds until the next call of a member function.
  std::vector<ComparableRows> comparable(Groups groups = Groups::that_ran);

 private:
  void tell_definitions_apart();
  void bring_to_pace_of_finals();

  SweepOrder order_;
  std::vector<RankingRow> rows_;
  std::map<Comparable, std::uint32_t> group_numbers_;
  std::vector<Comparable> groups_;  ///< by number
  std::unordered_map<std::string, std::uint32_t> template_numbers_;
  std::vector<std::string> kernel_templates_;  ///< by number
};

/// The columns that ranking needs of a row.
std::span<const char* const> ranking_columns();
/// Reads them, row by row.
RankingRows ranking_rows(const Database& database, const TrialFilter& filter);
/// Reads the rows that have a figure with the name `time`, which takes the place of the median.
RankingRows ranking_rows_by(const std::string& time, const Database& database, const TrialFilter& filter);

/// Rows of several databases read as if they were in one: ids and numbers of sweeps are unique over all of
/// them, and seen_in_sweep grows in the order in which the sweeps began. The databases must outlive this.
class Databases {
 public:
  explicit Databases(std::vector<const Database*> databases)
      : databases_(std::move(databases)), order_(databases_) {}

  /// Row by row with some columns read, database after database, with growing ids. `visit` may change the
  /// row.
  void for_each(const TrialFilter& filter, std::span<const char* const> columns,
                const std::function<void(std::int64_t id, Trial& trial)>& visit) const;
  Trial row(std::int64_t id) const;

  std::size_t size() const { return databases_.size(); }
  const Database& operator[](std::size_t index) const { return *databases_.at(index); }
  /// The place of the database that a row is of.
  static std::size_t index_of(std::int64_t id);

 private:
  std::vector<const Database*> databases_;
  SweepOrder order_;
};

}  // namespace tiletune
