import numpy
from kernel_tuner import run_kernel, tune_kernel
from kernel_tuner.util import get_config_string

source = """
__global__ void scale(float *y, const float *x, float factor, int n) {
  int first = (blockIdx.x * block_size_x + threadIdx.x) * per_thread;
  for (int i = first; i < first + per_thread && i < n; ++i) y[i] = factor * x[i];
}
"""
n = 1 << 20
x = numpy.random.rand(n).astype(numpy.float32)
arguments = [numpy.zeros_like(x), x, numpy.float32(2.5), numpy.int32(n)]
tune_params = {"block_size_x": [64, 128, 256], "per_thread": [1, 2, 4]}
shape = {"grid_div_x": ["block_size_x", "per_thread"]}

results, env = tune_kernel("scale", source, n, arguments, tune_params, **shape, restrictions=["block_size_x * per_thread <= 512"],
                           answer=[2.5 * x, None, None, None], metrics={"GB/s": lambda p: 8 * n / p["time"] / 1e6},
                           cache="scale.json")
print(len(results), "configurations on", env["device_name"])
print(get_config_string(min(results, key=lambda result: result["time"])))
y = run_kernel("scale", source, n, arguments, {"block_size_x": 64, "per_thread": 1}, **shape)[0]
