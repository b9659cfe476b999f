# tries: a database of tiletune's tables whose text is UTF-16
# must not: end as an internal error, or change it
source "$REPOSITORY/tests/attacks/common.sh"
recorded a.db
python3 - <<'PY'
import sqlite3
before = sqlite3.connect("a.db")
after = sqlite3.connect("utf16.db", isolation_level=None)
after.execute("PRAGMA encoding = 'UTF-16le'")
for line in before.iterdump():
    if "sqlite_sequence" not in line:
        after.execute(line)
for pragma in ("application_id", "user_version"):
    after.execute(f"PRAGMA {pragma} = {before.execute('PRAGMA ' + pragma).fetchone()[0]}")
PY
sha256sum utf16.db >before
expected=2 every_reader utf16.db
attempt "$TILETUNE" merge a.db -o utf16.db
[[ $status == 2 && $output == *UTF-16* ]] || broken "merge into it: $output"
sha256sum --check --quiet before || broken "it was changed"
