# tries: triggers in a database that change the times that are written to it, or never end
# must not: run them, in whatever writes rows
source "$REPOSITORY/tests/attacks/common.sh"
recorded plain.db
endless='INSERT INTO mine WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;'
lying='UPDATE trial SET median_us = 0.001, predicted_us = 0.001;'
for body in "$endless" "$lying"; do
  cp plain.db a.db
  changes="CREATE TABLE mine (n); DELETE FROM sweep_trial; DELETE FROM trial WHERE id > 3;"
  for event in INSERT UPDATE; do
    for table in trial sweep sweep_trial calibration; do
      changes+="CREATE TRIGGER $table$event AFTER $event ON $table BEGIN $body END;"
    done
  done
  edit a.db "$changes"
  for command in "sweep $REPOSITORY/configs/quick.json --gpu A100-40GB --budget 1 --quiet --db a.db" \
    "import $REPOSITORY/tests/data/benchmark_hub/A4000.json.gz --db a.db" "merge plain.db -o a.db" "rank --db a.db --format csv"; do
    # shellcheck disable=SC2086
    attempt "$TILETUNE" $command
    [[ $status == 0 ]] || broken "$command: $output"
  done
  must_not_show 0.001
  rm -f a.db*
done
