#include "rank/time_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tiletune {

namespace {

using Term = TimeModel::Term;
using Observation = TimeModel::Observation;
using Matrix = std::vector<std::vector<double>>;

/// More make a model that nobody can read.
constexpr std::size_t kMostDimensions = 8;
constexpr std::size_t kMostLaunches = 4;
/// Beside the mean square of a term's values, which is 1.
constexpr double kPenalty = 1e-3;

std::vector<Term> candidates(const Observation& example) {
  const std::size_t sizes = std::min(example.sizes.size(), kMostDimensions);
  const std::size_t launches = std::min(example.waves.size(), kMostLaunches);
  std::vector<Term> terms{{1}};
  for (std::size_t i = 0; i < sizes; ++i) terms.push_back({1, {}, {i}});
  for (std::size_t i = 0; i < sizes; ++i) {
    for (std::size_t j = i + 1; j < sizes; ++j) terms.push_back({1, {}, {i, j}});
  }
  for (std::size_t launch = 0; launch < launches; ++launch) {
    terms.push_back({1, launch, {}});
    for (std::size_t i = 0; i < sizes; ++i) terms.push_back({1, launch, {i}});
  }
  if (launches == 0 && sizes > 2) {
    std::vector<std::size_t> all(sizes);
    std::iota(all.begin(), all.end(), std::size_t{0});
    terms.push_back({1, {}, std::move(all)});
  }
  return terms;
}

/// Minimises sum((design * x - 1)^2) / rows + kPenalty * sum(x^2) over x >= 0, one coordinate after another.
/// The columns have a mean square of 1.
std::vector<double> solve(const Matrix& design) {
  const std::size_t count = design.front().size();
  const auto rows = static_cast<double>(design.size());
  Matrix products(count, std::vector<double>(count, 0));
  std::vector<double> sums(count, 0);
  for (const std::vector<double>& row : design) {
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += row[i] / rows;
      for (std::size_t j = 0; j < count; ++j) products[i][j] += row[i] * row[j] / rows;
    }
  }
  for (std::size_t i = 0; i < count; ++i) products[i][i] += kPenalty;
  constexpr int kMostRounds = 2000;
  constexpr double kConverged = 1e-9;
  std::vector<double> x(count, 0);
  double change = 1;
  for (int round = 0; round < kMostRounds && change > kConverged; ++round) {
    change = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double gradient = sums[i] - std::inner_product(x.begin(), x.end(), products[i].begin(), 0.0);
      const double next = std::max(0.0, x[i] + gradient / products[i][i]);
      change = std::max(change, std::abs(next - x[i]));
      x[i] = next;
    }
  }
  return x;
}

}  // namespace

double TimeModel::Term::of(const std::vector<std::int64_t>& all_sizes, const Waves& waves) const {
  double value = launch ? us * waves[*launch] : us;
  for (const std::size_t size : sizes) value *= static_cast<double>(all_sizes[size]);
  return value;
}

TimeModel::TimeModel(const std::vector<Observation>& observations)
    : terms_(candidates(observations.front())) {
  Matrix design;
  for (const Observation& observation : observations) {
    std::vector<double>& row = design.emplace_back();
    for (const Term& term : terms_)
      row.push_back(term.of(observation.sizes, observation.waves) / observation.time_us);
  }
  std::vector<double> scale(terms_.size(), 0);
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    for (const std::vector<double>& row : design) scale[i] += row[i] * row[i];
    scale[i] = std::sqrt(scale[i] / static_cast<double>(design.size()));
    if (scale[i] == 0 || !std::isfinite(scale[i])) scale[i] = 1;
    for (std::vector<double>& row : design) row[i] /= scale[i];
  }
  const std::vector<double> coefficients = solve(design);
  for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i].us = coefficients[i] / scale[i];
  std::erase_if(terms_, [](const Term& term) { return !(term.us > 0); });
}

double TimeModel::time_us(const std::vector<std::int64_t>& sizes, const Waves& waves) const {
  double sum = terms_.empty() ? INFINITY : 0;
  for (const Term& term : terms_)
    sum += term.launch && *term.launch >= waves.size() ? INFINITY : term.of(sizes, waves);
  return sum;
}

}  // namespace tiletune
