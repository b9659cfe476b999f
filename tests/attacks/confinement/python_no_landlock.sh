# tries: a reference in Python where the kernel has no Landlock
# must not: run it, with --quiet or not
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
without_landlock=$REPOSITORY/tests/attacks/confinement/without_landlock
"$without_landlock" true || not_here "no filter of system calls can be set"
python3 -c 'import numpy' || not_here "python3 has no NumPy"
echo "$copies" | kernel copy
cat >copy/reference.py <<'END'
open("it_ran", "w")
def copy(inputs, problem):
    return inputs["in"]
END
cat >copy/template.json <<'END'
{
  "name": "copy", "summary": "a copy",
  "operation": {
    "dimensions": ["n"], "flops": "0", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
    "buffers": [
      {"name": "in", "type": "f32", "elements": "n", "role": "in"},
      {"name": "out", "type": "f32", "elements": "n", "role": "out"}
    ],
    "reference": {"python": "reference.py", "function": "copy"}
  },
  "source": "kernel.cu", "kernel": "k",
  "parameters": [{"name": "THREADS", "values": [128], "meaning": "threads per block"}],
  "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]},
  "arguments": [{"buffer": "in"}, {"buffer": "out"}, {"scalar": "n", "type": "i32"}]
}
END
for quiet in "" --quiet; do
  # shellcheck disable=SC2086
  attempt "$without_landlock" "$TILETUNE" check config.json $quiet
  ((status == 1)) && [[ $output == *"copy() is not run"*"this kernel has no Landlock"*".npy"* ]] || broken "check says: $output"
  [[ ! -e it_ran ]] || broken "it ran"
done
attempt "$TILETUNE" check config.json
((status == 1)) && [[ $output == *"PermissionError"*"it_ran"* && ! -e it_ran ]] || broken "it is not confined: $output"
