# tries: a database with rows that tiletune cannot read: samples that cannot be unpacked, an unknown outcome
# must not: be merged without --skip-bad, or keep the other rows from being read or merged with it
source "$REPOSITORY/tests/attacks/common.sh"
recorded mine.db
recorded other.db
# readers FILE [OPTION...]: all commands that read rows.
readers() {
  local db=$1
  shift
  for command in "rank --db $db" "export --db $db -o e.json" "report --db $db -o r.html" "portfolio $db" \
    "compare --db $db --db other.db --by database" \
    "sweep $REPOSITORY/configs/quick.json --quiet --cache dirty --replay $db"; do
    # shellcheck disable=SC2086
    attempt "$TILETUNE" $command "$@"
    printf '%s %s\n' "$status" "$output" >>all.txt
    [[ $status == 0 || ($status == 2 && $output == *"$db: row 3"*"--skip-bad"*) ]] || broken "$command $*: $status $output"
    [[ $# == 0 || ($status == 0 && $output == *"$db: 1 row that cannot be read is left out"*) ]] || broken "$command $*: $status $output"
  done
}
for change in "samples_us = x''" "clocks_mhz = x'09'" "outcome = 'splendid'" "source = 'dreamt'"; do
  cp other.db bad.db
  edit bad.db "UPDATE trial SET \"key\" = 'f' || substr(\"key\", 2), $change WHERE id = 3"
  rm -f all.txt
  readers bad.db
  grep -q '^2 ' all.txt || broken "no reader says that a row has $change"
  readers bad.db --skip-bad
  cp mine.db before.db
  attempt "$TILETUNE" merge bad.db -o mine.db
  [[ $status == 2 && $output == *"bad.db: row 3 of sweep 1"*"--skip-bad"* ]] || broken "merge of $change: $status $output"
  attempt "$TILETUNE" rank --db mine.db
  [[ $status == 0 ]] || broken "$change: $output"
  attempt "$TILETUNE" merge bad.db -o clean.db --skip-bad
  [[ $status == 0 && $output == *"25 rows"*"1 left out"* ]] || broken "merge --skip-bad of $change: $status $output"
  attempt "$TILETUNE" rank --db clean.db
  [[ $status == 0 ]] || broken "$change: $output"
  rm -f clean.db*
done
