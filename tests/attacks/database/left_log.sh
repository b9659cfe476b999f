# tries: a database with the log of a writer that was killed, alone and with its -shm, read by every command
# must not: write the log into the file, remove or change it, leave a further file, or lose rows that are only in the log
source "$REPOSITORY/tests/attacks/common.sh"
recorded whole.db
mkdir left
python3 - <<'END'
import shutil
import sqlite3
shutil.copyfile("whole.db", "writer.db")
writer = sqlite3.connect("writer.db", isolation_level=None)
writer.executescript("PRAGMA journal_mode = WAL; UPDATE trial SET reason = 'only in the log';")
for ending in ("", "-wal", "-shm"):
    shutil.copyfile("writer.db" + ending, "left/a.db" + ending)
writer.close()
END
sha256sum left/a.db left/a.db-wal >before

# is_read: by every command; the files stay as they are.
is_read() {
  local files
  files=$(ls left)
  expected=0 every_reader left/a.db
  attempt "$TILETUNE" export --db left/a.db
  [[ $output == *"only in the log"* ]] || broken "what is in the log was not read"
  sha256sum --check --quiet before || broken "the database or its log was changed by reading it"
  [[ $(ls left) == "$files" ]] || broken "reading left $(ls left) of $files"
}

is_read
rm left/a.db-shm
is_read
attempt "$TILETUNE" merge whole.db -o left/a.db
((status == 0)) || broken "it cannot be written any more: $output"
