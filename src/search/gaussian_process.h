#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "search/explored_space.h"
#include "search/strategy.h"

namespace tiletune::search {

/// By which lessons are kept: the smallest first.
inline double lesson_weight(double relative_time, double distance) { return relative_time * (1 + distance); }
/// The places of `most` of the lessons with these weights: one half are the first, the others are drawn at
/// random. All lessons, in order, if there are no more than `most`.
std::vector<std::size_t> kept_lessons(const std::vector<double>& weights, std::size_t most,
                                      RandomSource& random);
/// Keeps only the lessons that kept_lessons() chooses.
void keep_lessons(std::vector<Lesson>& lessons, std::size_t most, RandomSource& random);

/// A lesson's configuration in the space of its template here; none where it is not valid.
std::optional<Choice> choice_of(const Lesson& lesson, const Space& space);

/// The most results of other problems that predictions follow from.
inline constexpr std::size_t kMostLessons = 150;

/// How well lessons order the times of a problem that they do not hold, as the strategy `surrogate` would
/// predict it before its first result: Spearman's rank correlation between predicted and known times, 1 for
/// the same order. `left_out` are of that problem. None for fewer than 3 of these, or without lessons.
std::optional<double> rank_correlation(const std::vector<SearchedSpace>& spaces, std::vector<Lesson> lessons,
                                       const std::vector<Lesson>& left_out);

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
  /// The point of a configuration of this problem.
  Eigen::RowVectorXf point(const Choice& choice) const;
  /// The point of one of another problem, at a distance from 0 to 1 from this one.
  Eigen::RowVectorXf point(std::size_t space, const std::vector<std::uint32_t>& positions,
                           double distance) const;
  /// Writes the points of lessons and the logarithms of their times to the first rows.
  void put(const std::vector<Lesson>& lessons, Eigen::MatrixXf& points, Eigen::VectorXd& values) const;

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

/// A Gaussian process over points whose coordinates each lie in [0, 1], or farther than 1 from all others
/// where they cannot be compared: two points are min(1, (a - b)^2) apart in a coordinate. Its kernel is
/// Matern's of order 5/2 with a length scale for each coordinate (Rasmussen and Williams, Gaussian Processes
/// for Machine Learning, 2006, sections 4.2 and 5.4).
class GaussianProcess {
 public:
  /// `log_scales`: where the logarithm of each coordinate's length scale is expected.
  explicit GaussianProcess(std::vector<double> log_scales);

  /// Takes observations: a row of `points` for each of `values`. With `adjusts`, length scales and noise are
  /// moved towards what makes them most likely, from where they are; of many observations the smallest and
  /// some others stand for all.
  void observe(const Eigen::MatrixXf& points, const Eigen::VectorXd& values, bool adjusts,
               RandomSource& random);

  /// Predicts the values of candidates, a row each; at most `beliefs` calls of believe() may follow.
  void predict(const Eigen::MatrixXf& candidates, std::size_t beliefs);
  /// As if a candidate had been observed to be what is predicted: others near it become more certain.
  void believe(std::size_t candidate);
  double mean(std::size_t candidate) const { return means_[static_cast<Eigen::Index>(candidate)]; }
  /// Standard deviation of the prediction.
  double deviation(std::size_t candidate) const;

 private:
  struct Terms;

  Eigen::VectorXf weights() const;
  void adjust(const Eigen::MatrixXf& points, const Eigen::VectorXd& values);
  void move_uphill(const Terms& terms, const Eigen::MatrixXf& points);

  std::vector<double> expected_;  ///< by coordinate; then that of the noise
  Eigen::VectorXd logs_;          ///< of length scales; then of the noise's variance
  Eigen::VectorXd steps_;         ///< steps of the ascent, in the order of logs_
  Eigen::VectorXd slopes_;        ///< slopes of the ascent's last step
  bool is_adjusted_ = false;

  Eigen::MatrixXf points_;
  Eigen::MatrixXd factor_;  ///< of the covariance of the observations, lower
  Eigen::VectorXd dual_;
  double offset_ = 0, scale_ = 1, signal_ = 1;

  Eigen::MatrixXf candidates_;
  Eigen::MatrixXf explained_;  ///< a column per candidate: its covariances, divided by the factor
  Eigen::VectorXf means_, variances_;
  Eigen::Index known_ = 0;  ///< rows of `explained_`
};

}  // namespace tiletune::search
