# shellcheck shell=bash
# Sourced by every attack. $TILETUNE is the executable, $REPOSITORY the checkout; the working folder is new and empty, and
# HOME and XDG_CACHE_HOME lie in it. An attack exits with 0 when it was withstood, with 77 when it cannot be tried here.
set -euo pipefail

# broken MESSAGE...: the attack got through.
broken() {
  printf 'BROKEN: %s\n' "$*" >&2
  exit 1
}

# not_here REASON: cannot be tried on this system.
not_here() {
  printf 'SKIPPED: %s\n' "$*" >&2
  exit 77
}

# attempt COMMAND...: runs it for at most 60 seconds, with what it prints in $output; its exit status is in $status.
# A crash, and exit status 70 (an internal error), break every attack.
attempt() {
  status=0
  output=$(timeout 60 "$@" 2>&1 </dev/null) || status=$?
  ((status != 124)) || broken "$* did not end within 60 s"
  ((status < 128 && status != 70)) || broken "$* ended with $status: $output"
}

# must_not_show TEXT [FILE...]: neither in $output nor in the files.
must_not_show() {
  local text=$1
  shift
  [[ $output != *"$text"* ]] || broken "the output shows '$text': $output"
  (($# == 0)) || ! grep -qaF -- "$text" "$@" || broken "'$text' is in $*"
}

# kernel NAME: a template of that name whose kernel k() comes from standard input, and config.json, which sweeps it.
kernel() {
  mkdir -p "$1"
  cat >"$1/kernel.cu"
  cat >"$1/template.json" <<END
{
  "name": "$1", "summary": "a copy",
  "operation": {
    "dimensions": ["n"],
    "buffers": [
      {"name": "in", "type": "f32", "elements": "n", "role": "in"},
      {"name": "out", "type": "f32", "elements": "n", "role": "out"}
    ],
    "flops": "0", "bytes": "8 * n", "accumulation": "0", "bound": "ffma",
    "reference": {"source": "reference.cu", "kernel": "r", "grid": ["ceil_div(n, 256)"], "block": [256]}
  },
  "source": "kernel.cu", "kernel": "k", "macros": {"THREADS": "THREADS"},
  "parameters": [{"name": "THREADS", "values": [128, 256], "meaning": "threads per block"}],
  "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]},
  "arguments": [{"buffer": "in"}, {"buffer": "out"}, {"scalar": "n", "type": "i32"}]
}
END
  cat >"$1/reference.cu" <<'END'
extern "C" __global__ void r(const double* in, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
END
  echo "{\"templates\": [\"$1\"], \"problems\": [{\"n\": 1048576}]}" >config.json
}

# python_reference: a template 'copy' whose reference is the function copy() of the Python code on standard input, and
# config.json, which sweeps it.
python_reference() {
  "${TILETUNE_PYTHON:-python3}" -c 'import numpy' || not_here "Python has no NumPy"
  echo "$copies" | kernel copy
  cat >copy/reference.py
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
}

# sweep ARGUMENT...: compiles config.json for a GPU that is not here, into out.db; what became of it is in $rows.
sweep() {
  attempt "$TILETUNE" sweep config.json --gpu H100 --db out.db "$@"
  local swept=$output swept_status=$status
  attempt "$TILETUNE" rank --db out.db --format json --outcome ok --outcome refused --outcome compile_failed \
    --outcome compile_crashed --outcome compile_timeout
  rows=$output output=$swept status=$swept_status
}

# A copy, whatever else stands above it.
copies='extern "C" __global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}'

# recorded FILE: a database of this tiletune with rows of a recorded sweep.
recorded() {
  "$TILETUNE" merge "$REPOSITORY/results/h200/quick.db" -o "$1" >merged.txt 2>&1 || broken "merge: $(cat merged.txt)"
}

# edit FILE SQL...: what another program does to a database.
edit() {
  local file=$1
  shift
  python3 -c '
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode = DELETE")
for statement in sys.argv[2:]:
    database.executescript(statement)
' "$file" "$@"
}

# every_reader FILE: all commands that read rows of a database, one after the other, by attempt.
every_reader() {
  local command
  [[ -e other.db ]] || recorded other.db
  for command in "rank --db $1" "report --db $1 -o report.html" "export --db $1 -o export.json" "compare --db $1 --db other.db --by database" \
    "merge $1 -o merged.db" "sweep $REPOSITORY/configs/quick.json --quiet --cache dirty --replay $1"; do
    # shellcheck disable=SC2086
    attempt "$TILETUNE" $command
    if [[ ${expected:-} ]]; then
      [[ $status == "$expected" ]] || broken "$command ended with $status: $output"
    fi
    rm -f merged.db report.html export.json
  done
}
