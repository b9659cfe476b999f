#pragma once

#include "spec/tune_spec.h"

namespace tiletune {

/// Largest norm-wise relative error a correct kernel may show: factor * (2 u_out + 2 sqrt(L) u_acc) with the
/// unit roundoffs u of the output's and the accumulator's type and L products summed per output: rounding
/// errors of random sign grow with sqrt(L) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
/// ed., 2.8). TF32's 3e-4 lies far above it for every length that fits a GPU.
double error_bound(ElementType output, ElementType accumulator, double accumulation_length, double factor);

}  // namespace tiletune
