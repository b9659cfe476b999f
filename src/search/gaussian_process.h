#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "search/random_source.h"

namespace tiletune::search {

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

  /// Predicts the values of candidates, a row each, with room for so many calls of believe().
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
  Eigen::VectorXd steps_;         ///< of the ascent, by the same
  Eigen::VectorXd slopes_;        ///< of its last step
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
