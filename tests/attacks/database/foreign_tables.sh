# tries: tables that look like tiletune's, with CHECKs, generated columns, collations, indices or keys of another program
# must not: evaluate or believe them; each is refused (exit 2), by readers and writers
source "$REPOSITORY/tests/attacks/common.sh"

# altered TABLE FROM TO: the text of a table in the schema.
altered() { echo "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '$2', '$3') WHERE name = '$1'"; }

changes=(
  "$(altered trial '"median_us" REAL' '"median_us" REAL CHECK (abs(median_us) > load_extension(0))')"
  "$(altered trial '"median_us" REAL' '"median_us" REAL AS (0.001)')"
  "$(altered trial '"gpu" TEXT NOT NULL' '"gpu" TEXT NOT NULL COLLATE unheard_of')"
  "$(altered trial '"reason" TEXT NOT NULL' '"reason" TEXT NOT NULL DEFAULT (randomblob(1))')"
  "$(altered trial ') STRICT' ')')"
  "$(altered trial 'key <>' '1 OR key <>')"
  "$(altered sweep ') STRICT' ', CHECK (host = unheard_of(1))) STRICT')"
  "$(altered sweep_trial 'PRIMARY KEY' 'CHECK (1), PRIMARY KEY')"
  "CREATE UNIQUE INDEX mine ON trial(gpu) WHERE id < 0"
  "CREATE INDEX mine ON trial(zeroblob(id))"
  "CREATE INDEX mine ON sweep(host COLLATE NOCASE)"
  "DROP VIEW best; DROP VIEW ranking; DROP TABLE calibration; CREATE VIEW calibration AS SELECT * FROM sweep"
  "DROP VIEW best; DROP VIEW ranking; ALTER TABLE calibration RENAME TO c; CREATE VIRTUAL TABLE calibration USING fts5(gpu)"
  "DROP VIEW best; DROP VIEW ranking; ALTER TABLE trial RENAME TO t; CREATE TABLE trial AS SELECT * FROM t"
  "DROP VIEW best; DROP VIEW ranking; ALTER TABLE trial ADD COLUMN mine TEXT"
)
recorded plain.db
for change in "${changes[@]}"; do
  cp plain.db a.db
  edit a.db "$change"
  for command in "rank --db a.db" "merge a.db -o merged.db" "merge plain.db -o a.db"; do
    # shellcheck disable=SC2086
    attempt "$TILETUNE" $command
    [[ $status == 2 && $output == *"a.db: "* ]] || broken "$command with $change: $output"
  done
done
