# tries: a database with the journal of a transaction that was killed, read by every command
# must not: roll anything back in the file itself, show what was not committed, or refuse the rows
source "$REPOSITORY/tests/attacks/common.sh"
recorded a.db
python3 "$REPOSITORY/tests/attacks/database/hot_journal.py" a.db
sha256sum a.db a.db-journal >before
expected=0 every_reader a.db
attempt "$TILETUNE" export --db a.db
must_not_show torn
sha256sum --check --quiet before || broken "the database was changed by reading it"
