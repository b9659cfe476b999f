#include "search/gaussian_process.h"

#include <Eigen/Cholesky>
#include <map>
#include <numeric>

#include "base/statistics.h"

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

namespace {

/// Where coordinates of values lie that cannot be compared: farther than 1 from each other and from [0, 1].
constexpr float kApart = 3;
constexpr float kAbsent = -kApart;
/// Where the logarithm of a length scale is expected: of a parameter, and of how often 2 divides it.
constexpr double kScale = 0.3, kDivisibilityScale = 0.8;

bool is_number(const Value& value) { return !std::holds_alternative<std::string>(value); }

double number(const Value& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>)
          return 0.0;
        else
          return static_cast<double>(held);
      },
      value);
}

/// All values that a parameter has in any space, each once.
std::vector<Value> values_of(const std::vector<SearchedSpace>& spaces, const std::string& name) {
  std::set<Value> values;
  for (const SearchedSpace& one : spaces) {
    for (const Parameter& parameter : one.space->parameters())
      if (parameter.name == name) values.insert(parameter.values.begin(), parameter.values.end());
  }
  return {values.begin(), values.end()};
}

using Places = std::map<Value, float>;

/// By their logarithm, or by their order where one is not positive.
Places places_of_numbers(std::vector<Value> values) {
  std::sort(values.begin(), values.end(),
            [](const Value& a, const Value& b) { return number(a) < number(b); });
  const bool is_positive = number(values.front()) > 0;
  const double low = is_positive ? std::log2(number(values.front())) : 0;
  const double high = is_positive ? std::log2(number(values.back())) : static_cast<double>(values.size() - 1);
  Places places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = is_positive ? std::log2(number(values[i])) : static_cast<double>(i);
    places.emplace(values[i], high > low ? static_cast<float>((at - low) / (high - low)) : 0);
  }
  return places;
}

Places places_of(const std::vector<Value>& values) {
  if (std::all_of(values.begin(), values.end(), is_number)) return places_of_numbers(values);
  Places places;
  for (std::size_t i = 0; i < values.size(); ++i)
    places.emplace(values[i],
                   values.size() == 2 ? static_cast<float>(i) : kApart * static_cast<float>(i + 1));
  return places;
}

/// How often 2 divides each value; none where that says nothing new: of words, of what is not a positive
/// integer, and of powers of two.
std::optional<Places> places_by_divisibility(const std::vector<Value>& values) {
  constexpr int kMostTwos = 5;
  if (values.size() < 3) return std::nullopt;
  Places places;
  bool are_powers = true;
  int least = kMostTwos, most = 0;
  std::vector<int> twos;
  for (const Value& value : values) {
    const auto* held = std::get_if<std::int64_t>(&value);
    if (held == nullptr || *held <= 0) return std::nullopt;
    are_powers &= (*held & (*held - 1)) == 0;
    const int count =
        std::min(kMostTwos, static_cast<int>(__builtin_ctzll(static_cast<std::uint64_t>(*held))));
    twos.push_back(count);
    least = std::min(least, count);
    most = std::max(most, count);
  }
  if (are_powers || least == most) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i)
    places.emplace(values[i], static_cast<float>(twos[i] - least) / static_cast<float>(most - least));
  return places;
}

/// Where the logarithm of the noise's variance is expected, and how far from there, as with the length
/// scales.
constexpr double kExpectedNoise = -5, kNoiseSpread = 1.5, kScaleSpread = 0.9;
constexpr double kFirstNoise = -4;
/// Length scales are adjusted by so many observations at most.
constexpr Eigen::Index kMostAdjusting = 100;
constexpr float kLeastVariance = 1e-6F;

/// Squared distances of all points to one, by the weight of each coordinate.
Eigen::ArrayXf distances(const Eigen::MatrixXf& points, const Eigen::Ref<const Eigen::RowVectorXf>& one,
                         const Eigen::VectorXf& weights) {
  Eigen::ArrayXf sum = Eigen::ArrayXf::Zero(points.rows());
  for (Eigen::Index j = 0; j < points.cols(); ++j)
    sum += weights[j] * (points.col(j).array() - one[j]).square().min(1.0F);
  return sum;
}

/// Matern's kernel of a squared distance.
Eigen::ArrayXf kernel(const Eigen::ArrayXf& squared) {
  const Eigen::ArrayXf r = (5.0F * squared).sqrt();
  return (1.0F + r + r.square() / 3.0F) * (-r).exp();
}

/// Covariances of all pairs of points, without noise.
Eigen::MatrixXd covariances(const Eigen::MatrixXf& points, const Eigen::VectorXf& weights) {
  Eigen::MatrixXd all(points.rows(), points.rows());
  for (Eigen::Index i = 0; i < points.rows(); ++i)
    all.col(i) = kernel(distances(points, points.row(i), weights)).cast<double>().matrix();
  return all;
}

}  // namespace

Coordinates::Coordinates(const std::vector<SearchedSpace>& spaces)
    : columns_(spaces.size()), has_several_spaces_(spaces.size() > 1) {
  std::vector<std::string> names;
  for (const SearchedSpace& one : spaces) {
    spaces_.push_back(one.space);
    for (const Parameter& parameter : one.space->parameters())
      if (std::find(names.begin(), names.end(), parameter.name) == names.end())
        names.push_back(parameter.name);
  }
  for (const std::string& name : names) add_parameter(spaces, name);
  if (has_several_spaces_) log_scales_.push_back(kScale);
  log_scales_.push_back(kScale);
}

void Coordinates::add_parameter(const std::vector<SearchedSpace>& spaces, const std::string& name) {
  const std::vector<Value> values = values_of(spaces, name);
  if (values.size() < 2) return;
  const auto add = [&](const Places& places, double scale) {
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      const std::vector<Parameter>& parameters = spaces[i].space->parameters();
      const auto found = std::find_if(parameters.begin(), parameters.end(),
                                      [&](const Parameter& parameter) { return parameter.name == name; });
      if (found == parameters.end()) continue;
      Column column{log_scales_.size(), static_cast<std::size_t>(found - parameters.begin()), {}};
      for (const Value& value : found->values) column.places.push_back(places.at(value));
      columns_[i].push_back(std::move(column));
    }
    log_scales_.push_back(scale);
  };
  add(places_of(values), kScale);
  if (const auto places = places_by_divisibility(values)) add(*places, kDivisibilityScale);
}

Eigen::RowVectorXf Coordinates::point(const Choice& choice) const {
  return point(choice.space, spaces_[choice.space]->positions(choice.index), 0);
}

Eigen::RowVectorXf Coordinates::point(std::size_t space, const std::vector<std::uint32_t>& positions,
                                      double distance) const {
  Eigen::RowVectorXf point = Eigen::RowVectorXf::Constant(static_cast<Eigen::Index>(count()), kAbsent);
  for (const Column& column : columns_[space])
    point[static_cast<Eigen::Index>(column.coordinate)] = column.places[positions[column.parameter]];
  if (has_several_spaces_) point[point.size() - 2] = kApart * static_cast<float>(space);
  point[point.size() - 1] = static_cast<float>(distance);
  return point;
}

void Coordinates::put(const std::vector<Lesson>& lessons, Eigen::MatrixXf& points,
                      Eigen::VectorXd& values) const {
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    points.row(row) = point(lessons[i].space, lessons[i].positions, lessons[i].distance);
    values[row] = std::log(lessons[i].relative_time);
  }
}

/// What the likelihood's slopes follow from.
struct GaussianProcess::Terms {
  Eigen::MatrixXd inverse;  ///< of the covariance with noise
  Eigen::VectorXd dual;
  double signal = 1;
};

GaussianProcess::GaussianProcess(std::vector<double> log_scales) : expected_(std::move(log_scales)) {
  const auto scales = static_cast<Eigen::Index>(expected_.size());
  expected_.push_back(kExpectedNoise);
  logs_ = Eigen::Map<const Eigen::VectorXd>(expected_.data(), scales + 1);
  logs_[scales] = kFirstNoise;
  steps_ = Eigen::VectorXd::Constant(scales + 1, 0.2);
  slopes_ = Eigen::VectorXd::Zero(scales + 1);
}

Eigen::VectorXf GaussianProcess::weights() const {
  return (-2.0 * logs_.head(logs_.size() - 1).array()).exp().matrix().cast<float>();
}

void GaussianProcess::adjust(const Eigen::MatrixXf& points, const Eigen::VectorXd& values) {
  constexpr int kFirstRounds = 18, kLaterRounds = 6;
  constexpr double kLeastStep = 0.05;
  steps_ = steps_.cwiseMax(kLeastStep);
  const int rounds = is_adjusted_ ? kLaterRounds : kFirstRounds;
  is_adjusted_ = true;
  for (int round = 0; round < rounds; ++round) {
    Eigen::MatrixXd noisy = covariances(points, weights());
    noisy.diagonal().array() += std::exp(logs_[logs_.size() - 1]);
    const Eigen::LLT<Eigen::MatrixXd> factored(noisy);
    if (factored.info() != Eigen::Success) {
      logs_[logs_.size() - 1] += 1;
      continue;
    }
    Terms terms;
    terms.dual = factored.solve(values);
    terms.inverse = factored.solve(Eigen::MatrixXd::Identity(points.rows(), points.rows()));
    terms.signal = std::max(1e-9, values.dot(terms.dual) / static_cast<double>(points.rows()));
    move_uphill(terms, points);
  }
}

/// One step of resilient propagation (Riedmiller and Braun, 1993) on the logarithm of the posterior of length
/// scales and noise, where the signal's variance is the most likely one.
void GaussianProcess::move_uphill(const Terms& terms, const Eigen::MatrixXf& points) {
  const Eigen::Index scales = logs_.size() - 1;
  const Eigen::VectorXf weight = weights();
  Eigen::VectorXd slopes = Eigen::VectorXd::Zero(scales + 1);
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    const Eigen::ArrayXf r = (5.0F * distances(points, points.row(i), weight)).sqrt();
    const Eigen::ArrayXd pull = (terms.inverse.col(i) - terms.dual * (terms.dual[i] / terms.signal)).array() *
                                ((5.0F / 3.0F) * (1.0F + r) * (-r).exp()).cast<double>();
    for (Eigen::Index j = 0; j < scales; ++j) {
      const Eigen::ArrayXf apart = weight[j] * (points.col(j).array() - points(i, j)).square().min(1.0F);
      slopes[j] += 0.5 * (pull * apart.cast<double>()).sum();
    }
  }
  slopes[scales] = 0.5 * std::exp(logs_[scales]) *
                   (terms.inverse.diagonal().array() - terms.dual.array().square() / terms.signal).sum();
  constexpr double kFaster = 1.2, kSlower = 0.5, kShortest = 0.02, kLongest = 0.8;
  for (Eigen::Index k = 0; k <= scales; ++k) {
    const double spread = k < scales ? kScaleSpread : kNoiseSpread;
    double slope = slopes[k] + (logs_[k] - expected_[static_cast<std::size_t>(k)]) / (spread * spread);
    const double turn = slope * slopes_[k];
    if (turn > 0) steps_[k] = std::min(kLongest, steps_[k] * kFaster);
    if (turn < 0) {
      steps_[k] = std::max(kShortest, steps_[k] * kSlower);
      slope = 0;
    }
    slopes_[k] = slope;
    const double moved = logs_[k] - std::copysign(slope == 0 ? 0 : steps_[k], slope);
    logs_[k] = k < scales ? std::clamp(moved, -3.0, 4.0) : std::clamp(moved, -10.0, 0.5);
  }
}

void GaussianProcess::observe(const Eigen::MatrixXf& points, const Eigen::VectorXd& values, bool adjusts,
                              RandomSource& random) {
  points_ = points;
  offset_ = values.mean();
  scale_ = std::sqrt((values.array() - offset_).square().mean()) + 1e-9;
  const Eigen::VectorXd scaled = (values.array() - offset_) / scale_;
  if (adjusts && scaled.size() <= kMostAdjusting) {
    adjust(points, scaled);
  } else if (adjusts) {
    std::vector<Eigen::Index> order(static_cast<std::size_t>(scaled.size()));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scaled[a] < scaled[b]; });
    random.keep_some(order, kMostAdjusting / 2, kMostAdjusting);
    adjust(points(order, Eigen::all), scaled(order));
  }
  double& noise = logs_[logs_.size() - 1];
  const Eigen::MatrixXd covariance = covariances(points, weights());
  while (true) {
    Eigen::MatrixXd noisy = covariance;
    noisy.diagonal().array() += std::exp(noise);
    const Eigen::LLT<Eigen::MatrixXd> factored(noisy);
    if (factored.info() == Eigen::Success) {
      factor_ = factored.matrixL();
      dual_ = factored.solve(scaled);
      break;
    }
    noise += 1;
  }
  signal_ = std::max(1e-9, scaled.dot(dual_) / static_cast<double>(scaled.size()));
}

void GaussianProcess::predict(const Eigen::MatrixXf& candidates, std::size_t beliefs) {
  candidates_ = candidates;
  known_ = points_.rows();
  const Eigen::VectorXf weight = weights();
  Eigen::MatrixXf crossed(known_, candidates.rows());
  for (Eigen::Index i = 0; i < candidates.rows(); ++i)
    crossed.col(i) = kernel(distances(points_, candidates.row(i), weight)).matrix();
  means_ = crossed.transpose() * dual_.cast<float>();
  means_ = (means_.array() * static_cast<float>(scale_) + static_cast<float>(offset_)).matrix();
  factor_.cast<float>().eval().triangularView<Eigen::Lower>().solveInPlace(crossed);
  variances_ = (1.0F - crossed.colwise().squaredNorm().array()).max(kLeastVariance).matrix().transpose();
  explained_.resize(known_ + static_cast<Eigen::Index>(beliefs), candidates.rows());
  explained_.topRows(known_) = crossed;
}

void GaussianProcess::believe(std::size_t candidate) {
  const auto index = static_cast<Eigen::Index>(candidate);
  const float deviation =
      std::sqrt(variances_[index] + static_cast<float>(std::exp(logs_[logs_.size() - 1])));
  const Eigen::ArrayXf prior = kernel(distances(candidates_, candidates_.row(index), weights()));
  const Eigen::ArrayXf known =
      (explained_.topRows(known_).transpose() * explained_.col(index).head(known_)).array();
  const Eigen::ArrayXf added = (prior - known) / deviation;
  explained_.row(known_++) = added.matrix().transpose();
  variances_ = (variances_.array() - added.square()).max(kLeastVariance).matrix();
}

double GaussianProcess::deviation(std::size_t candidate) const {
  return scale_ * std::sqrt(signal_ * static_cast<double>(variances_[static_cast<Eigen::Index>(candidate)]));
}

}  // namespace tiletune::search
