# shellcheck shell=bash
# Sourced by the commands in this folder: where the repository is, and how a step of work is shown.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs

# microseconds since some fixed time
now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

# seconds_since START_US -> "12.3"
seconds_since() {
  local tenths=$((($(now_us) - $1) / 100000))
  echo "$((tenths / 10)).$((tenths % 10))"
}

log_of() { echo "$logs/${1//[^A-Za-z0-9]/_}.log"; }

# show_progress LABEL START_US: of what a build prints, "[12/345]" and the time so far, on one line that goes when it is over.
show_progress() {
  local line
  while IFS= read -r line; do
    [[ ! $line =~ ^\[([0-9]+/[0-9]+)\] ]] ||
      printf '\r  %-44s %7s s  %s\e[K' "$1" "$(seconds_since "$2")" "${BASH_REMATCH[1]}" >&2
  done
  printf '\r\e[K' >&2
}

# step LABEL COMMAND...: runs an external command with its output in build/logs, shows one line with the time it took,
# and the end of its output when it fails. Returns the command's status. With shown_progress=1, and where stderr is a
# terminal, a build shows how far it is.
step() {
  local label=$1 start status=0 log
  shift
  log=$(log_of "$label")
  mkdir -p "$logs"
  start=$(now_us)
  if [[ -n ${shown_progress:-} && -t 2 ]]; then
    "$@" 2>&1 </dev/null | tee "$log" | show_progress "$label" "$start" || status=$?
  else
    "$@" >"$log" 2>&1 </dev/null || status=$?
  fi
  if ((status == 0)); then
    printf '  %-44s %7s s\n' "$label" "$(seconds_since "$start")"
  else
    printf '  %-44s %7s s  FAILED; the end of %s:\n' "$label" "$(seconds_since "$start")" "$log"
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating)' "$log" | tail -n 100 | sed 's/^/    /' || true
  fi
  return "$status"
}

# has_header COMPILER NAME: whether the compiler is there and finds <NAME>.
has_header() {
  "$1" -E -x c++ - <<<"#if !__has_include(<$2>)
#error
#endif" >/dev/null 2>&1
}

# stop MESSAGE...: one line each on stderr, then exit 1.
stop() {
  printf '%s\n' "$@" >&2
  exit 1
}
