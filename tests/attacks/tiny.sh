# shellcheck shell=bash
# Sourced by attacks that need a sweep: write_tiny_sweep FOLDER [PARAMETERS [OPTIONS]] makes the config
# FOLDER/tiny.json of one template. PARAMETERS are the members of the manifest's list of parameters, OPTIONS
# those of its compile_options.
write_tiny_sweep() {
  local folder=$1 parameters=${2:-'{"name": "V", "values": [1], "meaning": "what is added"}'} options=${3:-}
  mkdir -p "$folder/tiny"
  cat >"$folder/tiny/kernel.cu" <<'KERNEL'
extern "C" __global__ void tiny(const float* A, const float* B, float* C) { C[0] = A[0] * B[0]; }
KERNEL
  cat >"$folder/tiny/template.json" <<MANIFEST
{"name": "tiny", "summary": "one product", "operation": "gemm", "source": "kernel.cu", "kernel": "tiny",
 "parameters": [$parameters], "compile_options": [$options],
 "launch": {"grid": [1], "block": [32]},
 "arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"}]}
MANIFEST
  echo '{"templates": ["tiny"], "problems": ["1x1x1"]}' >"$folder/tiny.json"
}
