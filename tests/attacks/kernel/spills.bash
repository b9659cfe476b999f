# shellcheck shell=bash
# Sourced by the attacks on limits.max_spill_bytes.

# must_be_refused BEFORE IN_KERNEL: a kernel that spills, with these lines before it and at its end, is refused by a config
# that allows no spills.
must_be_refused() {
  cat >kernel.cu <<EOF
$1
extern "C" __global__ void __launch_bounds__(64, 16) k(float* out, const float* in, int n) {
  float values[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) values[i] = in[i * n];
#pragma unroll 1
  for (int j = 0; j < n; ++j)
#pragma unroll
    for (int i = 0; i < 128; ++i) values[i] += values[(i * 7) % 128] * in[j];
#pragma unroll
  for (int i = 0; i < 128; ++i) out[threadIdx.x] += values[i];
  $2
}
EOF
  sweep_without_spills
}

# sweep_without_spills [LIMIT [OPTION]]: sweeps the kernel k of kernel.cu, which must be refused for its spills.
sweep_without_spills() {
  mkdir spilling
  mv kernel.cu spilling
  cat >spilling/template.json <<EOF
{
  "name": "spilling", "summary": "Spills",
  "operation": {
    "dimensions": ["n"],
    "buffers": [
      {"name": "in", "type": "f32", "elements": "128 * n", "role": "in"},
      {"name": "out", "type": "f32", "elements": "64", "role": "out"}
    ],
    "flops": "256 * n", "bytes": "512 * n", "accumulation": "2 * n", "bound": "ffma",
    "reference": {"source": "reference.cu", "kernel": "reference", "grid": ["1"], "block": ["64"]}
  },
  "source": "kernel.cu", "kernel": "k", "compile_options": [${2:+"\"$2\""}],
  "macros": {"P": "P"}, "parameters": [{"name": "P", "values": [1], "meaning": "nothing"}],
  "launch": {"grid": ["1"], "block": ["64"]},
  "arguments": [{"buffer": "out"}, {"buffer": "in"}, {"scalar": "n", "type": "i32"}]
}
EOF
  echo 'extern "C" __global__ void reference(double* out, const double* in, int n) {}' >spilling/reference.cu
  echo '{"templates": ["spilling"], "problems": ["64"], "limits": {"max_spill_bytes": '"${1:-0}"'}}' >config.json
  attempt "$TILETUNE" sweep config.json --gpu H100 --db rows.db
  attempt "$TILETUNE" rank --db rows.db --outcome refused
  [[ $output == *"of limits.max_spill_bytes"* ]] || broken "a kernel that spills was not refused: $output"
}
