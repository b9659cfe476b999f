# tries: a database whose rollback journal names another file as its super-journal, for every command that opens one
# must not: delete or change that file, the database or its journal
source "$REPOSITORY/tests/attacks/common.sh"
recorded a.db
recorded b.db
python3 "$REPOSITORY/tests/attacks/database/hot_journal.py" a.db "$PWD/precious"
echo "a thesis" >precious
sha256sum a.db a.db-journal precious >before
expected=2 every_reader a.db
for command in "sweep $REPOSITORY/configs/quick.json --gpu A100-40GB --budget 1 --quiet --db a.db" \
  "import $REPOSITORY/tests/data/benchmark_hub/A4000.json.gz --db a.db" "merge b.db -o a.db"; do
  # shellcheck disable=SC2086
  attempt "$TILETUNE" $command
  [[ $status == 2 ]] || broken "$command took it: $output"
done
sha256sum --check --quiet before || broken "files were changed"
