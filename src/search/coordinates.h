#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "search/strategy.h"

namespace tiletune::search {

/// Configurations of all spaces of a search as points of one: a coordinate for each parameter that varies, by
/// name, one for how often 2 divides it where its values are not powers of two alone, and one for the space.
/// Numbers lie in [0, 1], by their logarithm where all are positive. Values that cannot be compared, such as
/// words, and the value where a space lacks the parameter, are far from each other. The last coordinate tells
/// other problems from this one.
class Coordinates {
 public:
  explicit Coordinates(const std::vector<SearchedSpace>& spaces);

  std::size_t count() const { return log_scales_.size(); }
  /// What GaussianProcess expects of the coordinates.
  const std::vector<double>& log_scales() const { return log_scales_; }
  /// Of a configuration of this problem.
  Eigen::RowVectorXf point(const Choice& choice) const;
  /// Of one of another problem, at a distance from 0 to 1 from this one.
  Eigen::RowVectorXf point(std::size_t space, const std::vector<std::uint32_t>& positions,
                           double distance) const;

 private:
  /// What one parameter of a space gives.
  struct Column {
    std::size_t coordinate;
    std::size_t parameter;      ///< in the space
    std::vector<float> places;  ///< by value
  };

  void add_parameter(const std::vector<SearchedSpace>& spaces, const std::string& name);

  std::vector<const Space*> spaces_;
  std::vector<std::vector<Column>> columns_;  ///< by space
  std::vector<double> log_scales_;
  bool has_several_spaces_;
};

}  // namespace tiletune::search
