# tries: spill so often that the cubin's list of spilling instructions, whose size has 16 bits, is cut off
# must not: let the kernel pass a config that allows a tenth of its spills
. "$REPOSITORY/tests/attacks/common.sh"
. "$REPOSITORY/tests/attacks/kernel/spills.bash"

cat >kernel.cu <<'EOF'
extern "C" __global__ void __launch_bounds__(64, 16) k(float* out, const float* in, int n) {
  float values[160], factor = in[n], sum = 0;
#pragma unroll
  for (int i = 0; i < 160; ++i) values[i] = in[i * n];
#pragma unroll
  for (int j = 0; j < 25; ++j)
#pragma unroll
    for (int i = 0; i < 160; ++i) values[i] = fmaf(values[(i * 7) % 160], factor, values[i]);
#pragma unroll
  for (int i = 0; i < 160; ++i) sum += values[i];
  out[threadIdx.x] = sum;
}
EOF
sweep_without_spills 3000 --ptxas-options=-O0
