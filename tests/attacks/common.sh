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
    "merge $1 -o merged.db" "sweep $REPOSITORY/configs/quick.json --quiet --replay $1"; do
    # shellcheck disable=SC2086
    attempt "$TILETUNE" $command
    if [[ ${expected:-} ]]; then
      [[ $status == "$expected" ]] || broken "$command ended with $status: $output"
    fi
    rm -f merged.db report.html export.json
  done
}
