# tries: merging databases, and into databases, of which pages were overwritten with other pages or with zeros
# must not: drop rows silently, leave an output, or change an input
source "$REPOSITORY/tests/attacks/common.sh"
recorded plain.db
rows=$(python3 -c 'import sqlite3; print(*sqlite3.connect("plain.db").execute("SELECT count(*) FROM trial").fetchone())')
pages=$(($(stat -c %s plain.db) / 4096))
for ((page = 2; page <= pages; page += 2)); do
  for from in 0 2 4 16; do
    cp plain.db input.db
    source=plain.db
    ((from > 0)) || source=/dev/zero
    dd if=$source of=input.db bs=4096 count=1 skip=$((from > 0 ? from - 1 : 0)) seek=$((page - 1)) conv=notrunc status=none
    sha256sum input.db >before
    attempt "$TILETUNE" merge input.db -o merged.db
    [[ $status == 2 || $output == *"merged.db now has $rows rows"* ]] || broken "$from over $page: $status, $output"
    [[ $status == 0 || ! -e merged.db ]] || broken "$from over $page: the output is left"
    sha256sum --check --quiet before || broken "$from over $page: the input was changed"
    rm -f merged.db
  done
done
