#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/fields.h"
#include "output/table.h"

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

/// Headed by the fields, without rows; a narrow terminal loses `dropped`, the first one first.
TextTable table_of(const std::vector<Field>& fields, std::span<const std::string_view> dropped);
void add_row(TextTable& table, const std::vector<Field>& fields, const RankedTrial& row);

/// Name and meaning of every column that --columns can name.
TextTable table_of_columns();

}  // namespace tiletune
