#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rank/joined_rows.h"
#include "rank/parameter_table.h"

namespace tiletune {

/// Rows of a side that do not list some parameters of their template, and the values that these had: the only
/// ones with which all of their configurations are among the rows that list them.
struct CompletedRows {
  std::size_t side = 0;
  std::map<std::string, std::string> values;  ///< by parameter, as they are written in JSON
  std::size_t configurations = 0;
};

/// A template whose rows do not list the same parameters on these sides.
struct JoinedTemplate {
  std::string name;
  std::vector<std::size_t> sides;
  std::set<std::string> by;  ///< the parameters that tell its configurations apart
  /// Other parameters. Where there are some, each configuration stands for the fastest row of its side.
  std::set<std::string> ignored;
  std::vector<CompletedRows> completed;
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

/// How it is told which rows of some sides are of one configuration: by the values of their parameters, after
/// those are completed that a list lacks which not all of these sides have. Only where no list is left that
/// all have, the parameters in common decide. Rows of other sides have no say in it.
class RowJoins {
 public:
  RowJoins(const ParameterTable& table, const ListedRows& listed, std::vector<std::size_t> sides);

  Identity of(std::size_t side, const RankingRow& row) const;
  /// Each row stands for what it lists.
  bool is_plain() const { return joins_.empty(); }
  const std::vector<JoinedTemplate>& joined() const { return joined_; }

 private:
  /// A parameter's place and what stands for its value.
  using Values = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  struct Join {
    std::map<std::pair<std::size_t, std::uint32_t>, Values> completions;  ///< by side and list
    std::optional<std::set<std::uint32_t>> common;
  };

  /// What is to be decided about one template.
  struct Task;
  void join(std::uint32_t template_number, const ListedRows& listed);
  void complete(Task& task) const;
  void complete(Task& task, std::size_t side, const ListedRows::Rows& rows,
                const std::map<std::uint32_t, ListedRows::Rows>& all) const;
  void note_lists_of_all(Task& task) const;
  void join_by_common(Task& task) const;

  const ParameterTable& table_;
  std::vector<std::size_t> sides_;
  std::map<std::uint32_t, Join> joins_;  ///< by template
  std::vector<JoinedTemplate> joined_;
};

}  // namespace tiletune
