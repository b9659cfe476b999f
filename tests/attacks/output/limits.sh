# tries: low limits on memory, file size, descriptors and processes, and a closed standard output
# must not: end with an internal error, by a signal, or without a remedy
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
recorded rows.db
echo "$copies" | kernel copy
for limit in "-v 20000" "-v 30000" "-v 60000" "-v 120000" "-f 1" "-f 40" "-n 4" "-n 7" "-n 12" "-u 1"; do
  for command in "rank --db rows.db" "export --db rows.db -o e.json" "merge rows.db -o m.db" "space config.json" \
    "import $REPOSITORY/tests/data/benchmark_hub/A4000.json.gz --db i.db" "sweep config.json --gpu H100 --db s.db --quiet"; do
    # Where the limit keeps the program itself from being loaded, the loader says so.
    attempt bash -c "ulimit $limit || exit 0; exec $TILETUNE $command"
    [[ $output != *"shared object"* && $output != *"shared libraries"* ]] || continue
    [[ $status != 2 || $output == *$'\n  '* ]] || broken "ulimit $limit; $command: no remedy: $output"
    rm -f e.json m.db* i.db* s.db*
  done
done
for command in "rank --db rows.db" "space config.json" "--version"; do
  attempt bash -c "$TILETUNE $command >&-"
  attempt bash -c "$TILETUNE $command >/dev/full"
  [[ $status == 2 && $output == *"standard output"* ]] || broken "$command to a full disk: $status $output"
done
