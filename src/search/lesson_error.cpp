#include "search/lesson_error.h"

#include <numeric>

#include "base/statistics.h"
#include "search/gaussian_process.h"

namespace tiletune::search {

std::vector<std::size_t> kept_lessons(const std::vector<double>& weights, std::size_t most,
                                      RandomSource& random) {
  std::vector<std::size_t> places(weights.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (places.size() <= most) return places;
  const auto before = [&](std::size_t a, std::size_t b) {
    return std::pair(weights[a], a) < std::pair(weights[b], b);
  };
  std::sort(places.begin(), places.end(), before);
  random.keep_some(places, most / 2, most);
  return places;
}

void keep_lessons(std::vector<Lesson>& lessons, std::size_t most, RandomSource& random) {
  if (lessons.size() <= most) return;
  std::vector<double> weights;
  for (const Lesson& lesson : lessons)
    weights.push_back(lesson_weight(lesson.relative_time, lesson.distance));
  std::vector<Lesson> kept;
  for (const std::size_t place : kept_lessons(weights, most, random))
    kept.push_back(std::move(lessons[place]));
  lessons = std::move(kept);
}

std::optional<Choice> choice_of(const Lesson& lesson, const Space& space) {
  const std::uint64_t index = space.index_at(lesson.positions);
  return index < space.size() ? std::optional(Choice{lesson.space, index}) : std::nullopt;
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
  coordinates.put(lessons, known, values);
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
  return spearman(predicted, times).value_or(0);  // where all are predicted the same
}

}  // namespace tiletune::search
