#pragma once

#include <string>

#include "measure/messages.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Largest single error allowed, as a multiple of the norm-wise bound times the reference's RMS: over 10^9
/// elements the largest of normally distributed errors stays below 6.5 standard deviations.
inline constexpr double kLargestErrorFactor = 16;

/// Whether an output differs too much from its reference: norm-wise by more than `bound`, or in its worst
/// element (absolute) by more than kLargestErrorFactor x bound x the reference's RMS.
bool exceeds(double bound, double relative_error, double largest_error, double reference_rms);

/// Half the distance from 1 to the next number; 0 for integers.
double unit_roundoff(ElementType type);

/// Largest norm-wise relative error a correct kernel may show: factor * (2 u_out + 2 sqrt(L) u_acc) with the
/// unit roundoff u_out of the output's type, u_acc of the sums, and L products summed per output: rounding
/// errors of random sign grow with sqrt(L) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
/// ed., 2.8). TF32's 3e-4 lies far above it for every length that fits a GPU.
double error_bound(ElementType output, double accumulation_roundoff, double accumulation_length,
                   double factor);
/// That of an output of a problem. A reference that other configurations computed errs as they do.
double error_bound(const PrepareRequest& problem, ElementType output, double tolerance_factor);

/// Why the figures of a configuration that its worker calls right say that it is wrong: its relative error is
/// larger than any output's bound. Empty when they do not, or where elements have a tolerance.
std::string contradiction(const Accuracy& accuracy, const PrepareRequest& problem, double tolerance_factor);

}  // namespace tiletune
