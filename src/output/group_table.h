#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/fields.h"
#include "output/table.h"
#include "store/trial.h"

namespace tiletune {

/// The rows shown of a group, and lines that say what the table leaves out.
struct GroupTable {
  TextTable table;
  std::vector<std::string> legend;
  std::size_t unverified = 0;  ///< rows whose results were compared with nothing
};

/// "unverified", "verified", or nothing of a row that no GPU has timed.
std::string verified_text(const Trial& trial);
/// A line about so many rows; none of 0.
std::vector<std::string> unverified_lines(std::size_t rows);

/// Which rate says how good rows are: that of device memory where it bounds them all, else that of
/// arithmetic.
class Throughput {
 public:
  void add(const Trial& trial);
  bool is_of_memory() const { return of_memory_ && !of_arithmetic_; }
  /// gbs or tflops.
  std::string column() const { return is_of_memory() ? "gbs" : "tflops"; }

 private:
  bool of_memory_ = false;
  bool of_arithmetic_ = false;
};

/// The standard columns in which some row has a value.
GroupTable standard_table(const Database& database, const std::vector<RankedRow>& rows, Source source);

/// The columns that rankings leave out where a terminal is too narrow, the first one first.
std::span<const std::string_view> dropped_columns();
/// The place of a column among these, from 1; 0: it is always shown.
int drop_order(std::string_view column, std::span<const std::string_view> dropped = dropped_columns());

/// Name and meaning of every column that --columns can name.
TextTable table_of_columns();

/// The parameters of rows shown together, without those that all rows of a template have alike: they would
/// make a table wide and tell nothing. A template's only row keeps all of its own.
class VaryingParameters {
 public:
  /// Where all rows of a template agree in all parameters, and nothing would be left of them.
  enum class AllAlike { in_the_legend, in_rows };

  explicit VaryingParameters(AllAlike all_alike = AllAlike::in_the_legend) : all_alike_(all_alike) {}
  void add(const Trial& trial);

  /// "BM=128 BN=64" of a row that was among them.
  std::string of(const Trial& trial) const;
  /// What was left out: "in every sgemm_warptile row shown: TN=8 WN_ITER=2", a line per template.
  std::vector<std::string> legend() const;

 private:
  struct Alike {
    nlohmann::ordered_json values;
    std::size_t rows = 0;
    bool all = true;  ///< no parameter differs
  };
  bool is_left_out(const Alike& alike) const;

  AllAlike all_alike_;
  std::map<std::string, Alike> alike_;
};

}  // namespace tiletune
