#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rank/joined_rows.h"
#include "rank/parameter_table.h"

namespace tiletune {

/// A template whose rows do not list the same parameters on these sides.
struct JoinedTemplate {
  std::string name;
  std::vector<std::size_t> sides;
  /// The parameters that tell its configurations apart. Empty where no parameter is in all rows: no row of
  /// one side is then compared with one of another, unless it lists the same.
  std::set<std::string> by;
  /// Of each side that leaves out others, these. Where there are some, each configuration stands for the
  /// fastest row of its side.
  std::map<std::size_t, std::set<std::string>> left_out;
  std::size_t apart = 0;  ///< rows that list something else still, so they are not compared
};

/// The rows of a problem by the parameters that they list: for each side, template and list of the table.
class ListedRows {
 public:
  using Rows = std::vector<const ParameterTable::Row*>;

  /// A side without the problem has a null.
  ListedRows(const ParameterTable& table, const std::vector<const ComparableRows*>& sides);

  /// By list.
  const std::map<std::uint32_t, Rows>& of(std::size_t side, std::uint32_t template_number) const;

 private:
  std::vector<std::map<std::uint32_t, std::map<std::uint32_t, Rows>>> by_side_;
};

/// How it is told which rows of some sides are of one configuration: by the values of their parameters. Where
/// there is no list of parameters that all of these sides have, those in common decide. Rows of other sides
/// have no say in it.
class RowJoins {
 public:
  RowJoins(const ParameterTable& table, const ListedRows& listed, std::vector<std::size_t> sides);

  Identity of(const RankingRow& row) const;
  /// Each row stands for what it lists.
  bool is_plain() const { return common_.empty(); }
  const std::vector<JoinedTemplate>& joined() const { return joined_; }

 private:
  /// Of a template, by side, its rows by list.
  using Lists = std::map<std::size_t, const std::map<std::uint32_t, ListedRows::Rows>*>;

  void join(std::uint32_t template_number, const ListedRows& listed);
  JoinedTemplate by_shared_lists(const ListedParameters& parameters, const Lists& lists,
                                 const std::set<std::uint32_t>& shared) const;
  JoinedTemplate by_common_parameters(std::uint32_t template_number, const Lists& lists);

  const ParameterTable& table_;
  std::vector<std::size_t> sides_;
  std::map<std::uint32_t, std::set<std::uint32_t>> common_;  ///< by template, the parameters that alone count
  std::vector<JoinedTemplate> joined_;
};

}  // namespace tiletune
