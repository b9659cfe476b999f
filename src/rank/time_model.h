#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tiletune {

/// How often a launch fills all multiprocessors of a GPU before its last thread block is done, or the last of
/// the tiles that its blocks share; one number per launch. Empty: not known.
using Waves = std::vector<double>;

/// Predicts the time of a kernel on sizes that it was not measured on, as a sum of terms. Launches take a
/// constant time, waves a constant time and one for each step along a size, and what moves through memory
/// grows with products of two sizes.
class TimeModel {
 public:
  /// A coefficient times the waves of a launch, if any, times sizes.
  struct Term {
    double us = 0;                           ///< at least 0
    std::optional<std::size_t> launch = {};  ///< whose waves
    std::vector<std::size_t> sizes = {};     ///< places among the dimensions

    double time_us(const std::vector<std::int64_t>& all_sizes, const Waves& waves) const;
  };
  struct Observation {
    std::vector<std::int64_t> sizes;
    Waves waves;  ///< of as many launches as the others', or of none
    double time_us = 0;
  };

  TimeModel() = default;
  explicit TimeModel(std::vector<Term> terms) : terms_(std::move(terms)) {}
  const std::vector<Term>& terms() const { return terms_; }
  /// Infinite where nothing is known: of a model without terms, and without the waves that it asks for.
  double time_us(const std::vector<std::int64_t>& sizes, const Waves& waves) const;

 private:
  std::vector<Term> terms_;
};

/// The models of several kernels, from at least one observation of each. Terms: 1, each size and the product
/// of each two, and the waves of each launch alone and times each size; of more than three dimensions also
/// times each two. The product of all sizes stands for the waves where these are not known. Least squares of
/// the relative errors with coefficients that are not negative, by coordinate descent. A small penalty draws
/// them to those of all kernels together, which decide where a kernel has few observations. Terms with a
/// coefficient of 0 are left out.
std::vector<TimeModel> fit_time_models(const std::vector<std::vector<TimeModel::Observation>>& kernels);

/// The first of the kernels with the shortest predicted time, among those that can run.
class FastestKernel {
 public:
  void consider(std::size_t kernel, double time_us) {
    if (kernel_ && time_us >= time_us_) return;
    kernel_ = kernel;
    time_us_ = time_us;
  }
  std::optional<std::size_t> kernel() const { return kernel_; }

 private:
  std::optional<std::size_t> kernel_;
  double time_us_ = 0;
};

}  // namespace tiletune
