#include "measure/launch_checks.h"

#include <fmt/format.h>

#include <numeric>

#include "measure/guards.h"

namespace tiletune {

namespace {

constexpr double kShare = 0.05;

/// Launches whose checks may be queued at a time.
constexpr std::size_t kMostQueued = kLongestSeries * kMostCopies;

/// Norm-wise; of a reference of zeros the error itself.
double relative_error(const Workload::SizedBuffer& buffer, const LaunchCheck& check, double reference_rms) {
  const double norm = reference_rms > 0 ? reference_rms * std::sqrt(static_cast<double>(buffer.values())) : 1;
  return std::sqrt(check.squared_error) / norm;
}

}  // namespace

double unit_roundoff(ElementType type) {
  return is_floating(type) ? std::ldexp(1, -facts_of(type).fraction_bits - 1) : 0;
}

bool exceeds(double bound, double relative_error, double largest_error, double reference_rms) {
  return relative_error > bound || largest_error > kLargestErrorFactor * bound * reference_rms;
}

double error_bound(ElementType output, double accumulation_roundoff, double accumulation_length,
                   double factor) {
  if (!is_floating(output)) return 0;
  return factor * (2 * unit_roundoff(output) +
                   2 * std::sqrt(std::max(accumulation_length, 1.0)) * accumulation_roundoff);
}

double error_bound(const PrepareRequest& problem, ElementType output, double tolerance_factor) {
  const double both = problem.candidates.empty() ? 1 : 2;
  double roundoff = unit_roundoff(problem.accumulator);
  if (const auto bits = problem.accumulation_bits) roundoff = std::max(roundoff, std::ldexp(1, -*bits));
  return error_bound(output, roundoff, problem.workload.accumulation, both * tolerance_factor);
}

std::string contradiction(const Accuracy& accuracy, const PrepareRequest& problem, double tolerance_factor) {
  if (problem.workload.tolerance) return "";
  double bound = 0;
  for (const Workload::SizedBuffer& buffer : problem.workload.buffers) {
    if (buffer.role != BufferRole::in && buffer.is_compared)
      bound = std::max(bound, error_bound(problem, buffer.type, tolerance_factor));
  }
  if (accuracy.relative_error <= bound) return "";
  return fmt::format("relative error {:.3g} (bound {:.3g}), although its worker found nothing wrong",
                     accuracy.relative_error, bound);
}

std::string LaunchTally::reason() const {
  return fmt::format("{} of {} timed launches that were checked {} wrong: {}", wrong, checked,
                     wrong == 1 ? "is" : "are", first_fault);
}

void LaunchTally::drop_checks() {
  checked = 0;
  wrong = 0;
  first_fault.clear();
}

std::vector<bool> CheckBudget::choose(int samples, double sample_us, const LaunchTally& tally) {
  const auto count = static_cast<std::size_t>(samples);
  std::vector<bool> chosen(count, false);
  chosen.back() = count > 1 || tally.queued == 0;
  if (tally.check_us <= 0) return chosen;
  const double left_us = kShare * (measured_us_ + samples * sample_us) - checked_us_;
  const double affordable = std::clamp(left_us / tally.check_us, 0.0, static_cast<double>(count));
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end() - (chosen.back() ? 1 : 0), random_);
  auto left = static_cast<std::size_t>(affordable);
  if (chosen.back() && left > 0) --left;
  for (std::size_t i = 0; i < std::min(left, count); ++i) chosen[order[i]] = true;
  return chosen;
}

void CheckBudget::spend(double series_us, double checks_us) {
  measured_us_ += series_us;
  checked_us_ += checks_us;
}

std::string describe_off(std::uint64_t off, const Workload::SizedBuffer& buffer, const Tolerance& tolerance) {
  return fmt::format("{} of {} elements of {} differ from the reference by more than {} + {} x |reference|",
                     off, buffer.values(), buffer.name, tolerance.absolute, tolerance.relative);
}

bool is_wrong(const Workload::SizedBuffer& buffer, const LaunchCheck& check, const ErrorLimits& limits) {
  if (limits.tolerance) return check.not_a_number + check.off > 0;
  const double error = relative_error(buffer, check, limits.reference_rms);
  return check.not_a_number > 0 ||
         exceeds(limits.error_bound, error, check.largest_error, limits.reference_rms);
}

std::string describe(const Workload::SizedBuffer& buffer, const LaunchCheck& check,
                     const ErrorLimits& limits) {
  const std::int64_t values = buffer.values();
  // Buffers of the role inout are not filled. Elsewhere, a few wrong elements hold the same bits by chance.
  const bool explains = check.untouched > 0 && 2 * check.untouched >= check.off + check.not_a_number;
  if (explains && buffer.role != BufferRole::inout)
    return fmt::format("{} of {} elements of {} were not written", check.untouched, values, buffer.name);
  if (check.not_a_number > 0)
    return fmt::format("{} of {} elements of {} are not a number", check.not_a_number, values, buffer.name);
  if (limits.tolerance)
    return describe_off(check.off, buffer, *limits.tolerance) +
           fmt::format(", largest error {:.3g}", check.largest_error);
  return fmt::format("relative error {:.3g} of {} (bound {:.3g}), largest error {:.3g}",
                     relative_error(buffer, check, limits.reference_rms), buffer.name, limits.error_bound,
                     check.largest_error);
}

CheckQueue::CheckQueue(Gpu& gpu, DeviceKernels& kernels, std::vector<Workload::SizedBuffer> outputs)
    : gpu_(gpu),
      kernels_(kernels),
      outputs_(std::move(outputs)),
      checks_(std::max<std::size_t>(kMostQueued * outputs_.size() * sizeof(LaunchCheck), 1)) {
  gpu_.fill8(checks_.address(), 0, checks_.bytes());
}

void CheckQueue::reserve(std::size_t launches) {
  const std::size_t needed = used_ + launches * outputs_.size();
  if (needed * sizeof(LaunchCheck) > checks_.bytes()) settle();
}

void CheckQueue::queue(std::size_t launches, const std::vector<CheckedOutput>& where,
                       std::shared_ptr<LaunchTally> tally) {
  tally->queued += launches;
  Queued queued{std::move(tally), {}, used_, launches};
  for (std::size_t output = 0; output < outputs_.size(); ++output) {
    const CheckedOutput& checked = where[output];
    DeviceAddress checks = checks_.address() + (used_ + output) * sizeof(LaunchCheck);
    for (const BufferCopies& copies : checked.copies) {
      kernels_.check_rows(outputs_[output].type, copies, checked.reference, rows_of(outputs_[output]),
                          kValidLookingWord, checked.limits.of_element(), checks, outputs_.size());
      checks += copies.count * outputs_.size() * sizeof(LaunchCheck);
    }
    queued.limits.push_back(checked.limits);
  }
  queued_.push_back(std::move(queued));
  used_ += launches * outputs_.size();
}

void CheckQueue::settle() {
  if (queued_.empty()) return;
  std::vector<LaunchCheck> checks(used_);
  const std::size_t bytes = checks.size() * sizeof(LaunchCheck);
  gpu_.copy_to_host(checks.data(), checks_.address(), bytes);
  gpu_.fill8(checks_.address(), 0, bytes);
  for (const Queued& queued : std::exchange(queued_, {})) {
    LaunchTally& tally = *queued.tally;
    for (std::size_t launch = 0; launch < queued.launches; ++launch) {
      const LaunchCheck* const of_launch = &checks[queued.first + launch * outputs_.size()];
      ++tally.checked;
      for (std::size_t output = 0; output < outputs_.size(); ++output) {
        const ErrorLimits& limits = queued.limits[output];
        if (!is_wrong(outputs_[output], of_launch[output], limits)) continue;
        if (tally.wrong++ == 0) tally.first_fault = describe(outputs_[output], of_launch[output], limits);
        break;
      }
    }
  }
  used_ = 0;
}

}  // namespace tiletune
