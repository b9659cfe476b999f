#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rank/sides.h"

namespace tiletune {

/// Calls back for each row that may be of these templates, in order of id.
using ReadParameters =
    std::function<void(const std::vector<std::string>& templates,
                       const std::function<void(std::int64_t id, const Trial& trial)>& visit)>;

/// A template whose rows do not all list the same parameters.
struct ListedParameters {
  std::string name;
  std::vector<std::string> parameters;            ///< that some row lists, sorted
  std::vector<std::vector<std::uint32_t>> lists;  ///< the different lists: places in `parameters`, ascending
};

/// The parameters of rows, in few bytes, of those templates alone whose rows do not all list the same ones in
/// the same order.
class ParameterTable {
 public:
  /// Reads rows once more only if there is such a template.
  ParameterTable(const std::vector<Side>& sides, const ReadParameters& read);

  const std::vector<ListedParameters>& templates() const { return templates_; }

  struct Row {
    std::int64_t id = 0;
    std::uint32_t template_number = 0;  ///< place among templates()
    std::uint32_t list = 0;             ///< place among its lists
    std::uint64_t first_value = 0;
  };
  /// Null for a row of another template.
  const Row* find(std::int64_t id) const;
  /// What stands for the values, in the order of the row's list.
  std::span<const std::uint64_t> values(const Row& row) const;

 private:
  /// Where in a sorted list the parameters of a row go as they come.
  struct Order {
    std::uint32_t list = 0;
    std::vector<std::uint32_t> places;
  };

  void note_template(const std::string& kernel, const std::map<std::string, std::size_t>& lists);
  void add(std::int64_t id, const Trial& trial);

  std::vector<ListedParameters> templates_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;   ///< by name of the template
  std::vector<std::unordered_map<std::string, Order>> orders_;  ///< by template and names as written
  std::vector<Row> rows_;                                       ///< by id
  std::vector<std::uint64_t> values_;
  std::string scratch_;
};

}  // namespace tiletune
