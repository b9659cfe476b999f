#include "search/lesson_error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/coordinates.h"
#include "search/gaussian_process.h"

namespace tiletune::search {

namespace {

/// From 0; equal values share the mean of their ranks.
Eigen::VectorXd ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  Eigen::VectorXd ranks(static_cast<Eigen::Index>(values.size()));
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i)
      ranks[static_cast<Eigen::Index>(order[i])] = static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return ranks;
}

/// 0 where one of the two does not vary.
double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  Eigen::VectorXd x = ranks_of(a);
  Eigen::VectorXd y = ranks_of(b);
  x.array() -= x.mean();
  y.array() -= y.mean();
  const double norms = x.norm() * y.norm();
  return norms > 0 ? x.dot(y) / norms : 0;
}

}  // namespace

void keep_lessons(std::vector<Lesson>& lessons, std::size_t most, RandomSource& random) {
  if (lessons.size() <= most) return;
  const auto faster = [](const Lesson& a, const Lesson& b) {
    return a.relative_time * (1 + a.distance) < b.relative_time * (1 + b.distance);
  };
  std::sort(lessons.begin(), lessons.end(), faster);
  for (std::size_t i = most / 2; i < most; ++i)
    std::swap(lessons[i], lessons[i + random.below(lessons.size() - i)]);
  lessons.resize(most);
}

std::optional<double> rank_correlation(const std::vector<SearchedSpace>& spaces, std::vector<Lesson> lessons,
                                       const std::vector<Lesson>& left_out) {
  constexpr std::size_t kLeast = 3;
  if (lessons.empty() || left_out.size() < kLeast) return std::nullopt;
  RandomSource random(1);
  keep_lessons(lessons, kMostLessons, random);
  const Coordinates coordinates(spaces);
  GaussianProcess process(coordinates.log_scales());
  const auto columns = static_cast<Eigen::Index>(coordinates.count());
  Eigen::MatrixXf known(static_cast<Eigen::Index>(lessons.size()), columns);
  Eigen::VectorXd values(known.rows());
  for (Eigen::Index i = 0; i < known.rows(); ++i) {
    const Lesson& lesson = lessons[static_cast<std::size_t>(i)];
    known.row(i) = coordinates.point(lesson.space, lesson.positions, lesson.distance);
    values[i] = std::log(lesson.relative_time);
  }
  process.observe(known, values, true, random);
  Eigen::MatrixXf asked(static_cast<Eigen::Index>(left_out.size()), columns);
  for (Eigen::Index i = 0; i < asked.rows(); ++i) {
    const Lesson& lesson = left_out[static_cast<std::size_t>(i)];
    asked.row(i) = coordinates.point(lesson.space, lesson.positions, 0);
  }
  process.predict(asked, 0);
  std::vector<double> predicted;
  std::vector<double> times;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    predicted.push_back(process.mean(i));
    times.push_back(left_out[i].relative_time);
  }
  return spearman(predicted, times);
}

}  // namespace tiletune::search
