#include "rank/time_model.h"

#include <algorithm>
#include <cmath>
#include <map>
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
  std::vector<Term> terms;
  const auto add = [&](std::optional<std::size_t> launch, bool pairs) {
    terms.push_back({1, launch, {}});
    for (std::size_t i = 0; i < sizes; ++i) terms.push_back({1, launch, {i}});
    for (std::size_t i = 0; pairs && i < sizes; ++i)
      for (std::size_t j = i + 1; j < sizes; ++j) terms.push_back({1, launch, {i, j}});
  };
  constexpr std::size_t kOfAMatrixProduct = 3;
  add({}, true);
  for (std::size_t launch = 0; launch < launches; ++launch) add(launch, sizes > kOfAMatrixProduct);
  if (launches == 0 && sizes > 2) {
    std::vector<std::size_t> all(sizes);
    std::iota(all.begin(), all.end(), std::size_t{0});
    terms.push_back({1, {}, std::move(all)});
  }
  return terms;
}

/// A row for each observation: what each term has of its time.
Matrix shares_of(const std::vector<Observation>& observations, const std::vector<Term>& terms) {
  Matrix shares;
  for (const Observation& observation : observations) {
    std::vector<double>& row = shares.emplace_back();
    for (const Term& term : terms)
      row.push_back(term.time_us(observation.sizes, observation.waves) / observation.time_us);
  }
  return shares;
}

/// The root of the mean square of each column; 1 where it is 0 or not finite.
std::vector<double> scales_of(const Matrix& shares) {
  std::vector<double> scales(shares.front().size(), 0);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    for (const std::vector<double>& row : shares) scales[i] += row[i] * row[i];
    scales[i] = std::sqrt(scales[i] / static_cast<double>(shares.size()));
    if (scales[i] == 0 || !std::isfinite(scales[i])) scales[i] = 1;
  }
  return scales;
}

/// Minimises sum((shares * x - 1)^2) / rows + kPenalty * sum(((x - x0) * scale)^2) over x >= 0, one
/// coordinate after another.
std::vector<double> solve(Matrix shares, const std::vector<double>& x0) {
  const std::size_t count = x0.size();
  const auto rows = static_cast<double>(shares.size());
  const std::vector<double> scales = scales_of(shares);
  Matrix products(count, std::vector<double>(count, 0));
  std::vector<double> sums(count, 0);
  for (std::vector<double>& row : shares) {
    for (std::size_t i = 0; i < count; ++i) row[i] /= scales[i];
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += row[i] / rows;
      for (std::size_t j = 0; j < count; ++j) products[i][j] += row[i] * row[j] / rows;
    }
  }
  std::vector<double> x(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = x0[i] * scales[i];
    sums[i] += kPenalty * x[i];
    products[i][i] += kPenalty;
  }
  constexpr int kMostRounds = 2000;
  constexpr double kConverged = 1e-9;
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
  for (std::size_t i = 0; i < count; ++i) x[i] /= scales[i];
  return x;
}

TimeModel model_of(std::vector<Term> terms, const std::vector<double>& coefficients) {
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i].us = coefficients[i];
  std::erase_if(terms, [](const Term& term) { return !(term.us > 0); });
  return TimeModel(std::move(terms));
}

}  // namespace

double TimeModel::Term::time_us(const std::vector<std::int64_t>& all_sizes, const Waves& waves) const {
  double value = launch ? us * waves[*launch] : us;
  for (const std::size_t size : sizes) value *= static_cast<double>(all_sizes[size]);
  return value;
}

double TimeModel::time_us(const std::vector<std::int64_t>& sizes, const Waves& waves) const {
  double sum = terms_.empty() ? INFINITY : 0;
  for (const Term& term : terms_)
    sum += term.launch && *term.launch >= waves.size() ? INFINITY : term.time_us(sizes, waves);
  return sum;
}

std::vector<TimeModel> fit_time_models(const std::vector<std::vector<Observation>>& kernels) {
  // Kernels with as many launches have the same terms.
  std::map<std::size_t, std::vector<Observation>> together;
  for (const std::vector<Observation>& kernel : kernels) {
    std::vector<Observation>& all = together[kernel.front().waves.size()];
    all.insert(all.end(), kernel.begin(), kernel.end());
  }
  std::map<std::size_t, std::vector<double>> of_all;
  for (const auto& [launches, observations] : together) {
    const std::vector<Term> terms = candidates(observations.front());
    of_all[launches] = solve(shares_of(observations, terms), std::vector<double>(terms.size(), 0));
  }
  std::vector<TimeModel> models;
  for (const std::vector<Observation>& kernel : kernels) {
    std::vector<Term> terms = candidates(kernel.front());
    const std::vector<double> x = solve(shares_of(kernel, terms), of_all[kernel.front().waves.size()]);
    models.push_back(model_of(std::move(terms), x));
  }
  return models;
}

}  // namespace tiletune
