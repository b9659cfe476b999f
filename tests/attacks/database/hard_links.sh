# tries: another file's hard link in place of a database's journal, log or -shm, before it is opened and meanwhile
# must not: change the other file
source "$REPOSITORY/tests/attacks/common.sh"
sweep_here=(sweep "$REPOSITORY/configs/quick.json" --gpu A100-40GB --budget 1 --quiet --db a.db)
for beside in journal wal shm; do
  recorded a.db
  if [[ $beside == journal ]]; then
    python3 "$REPOSITORY/tests/attacks/database/hot_journal.py" a.db
    mv a.db-journal precious
  else
    head -c 40000 /dev/urandom >precious
  fi
  sha256sum precious >before
  ln precious "a.db-$beside"
  every_reader a.db
  attempt "$TILETUNE" "${sweep_here[@]}"
  [[ $status == 2 && $output == *"a.db: "* ]] || broken "a.db-$beside was taken by sweep: $status, $output"
  sha256sum --check --quiet before || broken "the other name of a.db-$beside was written to"
  rm -f a.db* precious
done
# Exchanged against the link, and back, while the database is opened.
head -c 40000 /dev/urandom >precious
sha256sum precious >before
recorded a.db
(while :; do
  ln -f precious a.db-shm || true  # tiletune can have made one meanwhile
  rm -f a.db-shm
done) 2>errors &
exchanger=$!
trap 'kill $exchanger; wait $exchanger || true' EXIT
for ((i = 0; i < 60; i++)); do
  attempt "$TILETUNE" rank --db a.db
done
sha256sum --check --quiet before || broken "a link that came meanwhile was written to"
