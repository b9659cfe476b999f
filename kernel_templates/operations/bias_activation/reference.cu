// One thread per element. activation: 0 is ReLU, 1 is GELU (the exact one, with the error function), 2 is
// SiLU.
extern "C" __global__ void bias_activation_reference(int rows, int columns, int activation, const double* in,
                                                     const double* bias, double* out) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<long long>(rows) * columns) return;
  const double x = in[i] + bias[i % columns];
  if (activation == 0)
    out[i] = fmax(x, 0.0);
  else if (activation == 1)
    out[i] = x * normcdf(x);
  else
    out[i] = x / (1 + exp(-x));
}
