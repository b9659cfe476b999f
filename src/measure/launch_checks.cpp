#include "measure/launch_checks.h"

#include <fmt/format.h>

#include "measure/guards.h"

namespace tiletune {

namespace {

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
  // Also where one is not a number.
  return !(relative_error <= bound) || !(largest_error <= kLargestErrorFactor * bound * reference_rms);
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
      checks_(DeviceBuffer::apart(std::max<std::size_t>(kMostQueued * outputs_.size(), 1) *
                                  sizeof(LaunchCheck))) {}

void CheckQueue::reserve(std::size_t launches) {
  const std::size_t needed = used_ + launches * outputs_.size();
  if (needed > kMostQueued * outputs_.size()) settle();
}

void CheckQueue::queue(std::size_t launches, std::vector<CheckedOutput> where, std::uint32_t filled_with,
                       std::shared_ptr<LaunchTally> tally) {
  // What a kernel may have written there is gone.
  const DeviceAddress first = checks_.address() + used_ * sizeof(LaunchCheck);
  gpu_.fill8(first, 0, launches * outputs_.size() * sizeof(LaunchCheck));
  for (std::size_t output = 0; output < outputs_.size(); ++output) {
    const CheckedOutput& checked = where[output];
    DeviceAddress checks = first + output * sizeof(LaunchCheck);
    for (std::size_t part = 0; part < checked.copies.size(); ++part) {
      const BufferCopies& copies = checked.copies.at(part);
      kernels_.check_rows(outputs_[output].type, copies, checked.first_reference, checked.choices.at(part),
                          rows_of(outputs_[output]), filled_with, checked.limits.of_element(), checks,
                          outputs_.size());
      checks += copies.count * outputs_.size() * sizeof(LaunchCheck);
    }
  }
  queued_.push_back({std::move(tally), std::move(where), used_, launches});
  used_ += launches * outputs_.size();
}

void CheckQueue::settle() {
  if (queued_.empty()) return;
  std::vector<LaunchCheck> checks(used_);
  gpu_.copy_to_host(checks.data(), checks_.address(), checks.size() * sizeof(LaunchCheck));
  for (const Queued& queued : std::exchange(queued_, {})) {
    LaunchTally& tally = *queued.tally;
    for (std::size_t launch = 0; launch < queued.launches; ++launch) {
      const LaunchCheck* const of_launch = &checks[queued.first + launch * outputs_.size()];
      ++tally.checked;
      for (std::size_t output = 0; output < outputs_.size(); ++output) {
        const ErrorLimits& limits = queued.where[output].limits;
        if (!is_wrong(outputs_[output], of_launch[output], limits)) continue;
        if (tally.wrong++ == 0) tally.first_fault = describe(outputs_[output], of_launch[output], limits);
        break;
      }
    }
  }
  used_ = 0;
}

}  // namespace tiletune
