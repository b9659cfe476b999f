# tries: reading a database at every moment of its first writer's start
# must not: report that it belongs to another program
source "$REPOSITORY/tests/attacks/common.sh"
: >empty.db
attempt "$TILETUNE" rank --db empty.db
[[ $status == 2 && $output == *"still empty"* ]] || broken "$output"
recorded a.db
for _ in 1 2 3 4 5; do
  "$TILETUNE" merge a.db -o new.db >log 2>&1 &
  while kill -0 $! 2>/dev/null; do
    attempt "$TILETUNE" rank --db new.db
    must_not_show "not tiletune's"
  done
  wait $! || broken "$(cat log)"
  rm -f new.db*
done
