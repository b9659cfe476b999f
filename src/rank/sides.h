#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/outcome.h"
#include "base/spelling.h"
#include "rank/rows.h"

namespace tiletune {

/// What a GPU's model is called, whatever a driver or another tuner calls the GPU.
using GpuAlias = std::function<std::string(const std::string&)>;

/// Maps every recorded GPU name to driver names. The name of a model maps to the recorded GPUs of that model,
/// if there are any; any other name maps to itself. `recorded` has the sources of each name's rows. Two
/// driver names of one model (SXM4 and PCIE) stay two GPUs. Rows with the model's own name, such as
/// predictions, are compared beside each of them, unless both have rows of one source.
std::map<std::string, std::vector<std::string>> meant_gpus(
    const std::map<std::string, std::set<Source>>& recorded, const GpuAlias& alias);

/// What the sides of a comparison differ in.
enum class CompareBy { gpu, driver, date, sweep, source, database };

template <>
inline constexpr std::array<Named<CompareBy>, 6> kSpellings<CompareBy>{{{CompareBy::gpu, "gpu"},
                                                                        {CompareBy::driver, "driver"},
                                                                        {CompareBy::date, "date"},
                                                                        {CompareBy::sweep, "sweep"},
                                                                        {CompareBy::source, "source"},
                                                                        {CompareBy::database, "database"}}};

/// One side of a comparison: all rows of one GPU, driver, day, sweep, source or database.
struct Side {
  std::string name;   ///< "NVIDIA H200", "580.159.04", "2026-11-21", "3", "measured", "results/a.db"
  std::string alias;  ///< of a GPU: what its model is called; otherwise the name
  std::vector<RankingRows> rows;                 ///< of a GPU those of each name that it has; otherwise one
  std::map<std::string, std::set<Source>> gpus;  ///< and the sources of their rows
  std::set<std::string> drivers;
};

/// Deals rows out to sides as they come.
class SideRows {
 public:
  SideRows(CompareBy by, std::vector<std::string> databases, GpuAlias alias);

  /// Rows come with the columns of compare_columns() and with growing ids. A row that was given up as slow
  /// counts as one that ran, with the time of its few samples. Rows that say nothing of what sides differ in
  /// are left out.
  void add(std::size_t database, std::int64_t id, Trial& trial);

  /// The sides that are asked for, in that order, or all: days, sweeps and drivers ascending, sources as they
  /// can be trusted, the others in order of appearance. A GPU is asked for by its name, that of its model or
  /// a part of either, in which case there may be several; sweeps by their number, databases by a part, the
  /// others by the beginning. Throws UserError for a name that no row has.
  std::vector<Side> take(const std::vector<std::string>& names);
  /// After that, the names of all sides, in the order of take() without names.
  const std::vector<std::string>& recorded() const { return recorded_; }

 private:
  std::string name_of(std::size_t database, const Trial& trial) const;
  Side& side_of(const std::string& name);
  void unite_names_of_one_gpu();
  std::vector<std::size_t> asked_for(const std::string& name) const;

  CompareBy by_;
  std::vector<std::string> databases_;
  GpuAlias alias_;
  std::vector<Side> sides_;
  std::vector<std::string> recorded_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// What a comparison needs of a row.
std::span<const char* const> compare_columns();

}  // namespace tiletune
