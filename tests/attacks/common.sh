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
