# tries: spill in a function that is not inlined, so that the kernel itself spills nothing
# must not: let the kernel pass a config that allows no spills
. "$REPOSITORY/tests/attacks/common.sh"
. "$REPOSITORY/tests/attacks/kernel/spills.bash"

function='__device__ __noinline__ float heavy(const float* in, int n) {
  float values[128], sum = 0;
#pragma unroll
  for (int i = 0; i < 128; ++i) values[i] = in[i * n];
#pragma unroll 1
  for (int j = 0; j < n; ++j)
#pragma unroll
    for (int i = 0; i < 128; ++i) values[i] += values[(i * 7) % 128] * in[j];
#pragma unroll
  for (int i = 0; i < 128; ++i) sum += values[i];
  return sum;
}'
cat >kernel.cu <<EOF
$function
extern "C" __global__ void __launch_bounds__(64, 16) k(float* out, const float* in, int n) { out[0] = heavy(in, n); }
EOF
sweep_without_spills
