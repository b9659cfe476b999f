# tries: writers that are killed while they write, and other files whose names look like unfinished ones
# must not: leave anything that the next run does not remove, or remove files of others
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
recorded rows.db
mkdir out
for delay in 0.005 0.01 0.02 0.04 0.08; do
  "$TILETUNE" report --db rows.db -o out/report.html 2>/dev/null &
  sleep "$delay"
  kill -KILL $! 2>/dev/null || true
  wait $! 2>/dev/null || true
done
echo old >out/report.html.0123456789abcdef.unfinished
echo mine >out/report.html.0123456789abcdef
ln -s ../rows.db out/report.html.aaaaaaaaaaaaaaaa.unfinished
attempt "$TILETUNE" report --db rows.db -o out/report.html
[[ $status == 0 ]] || broken "report: $output"
[[ $(ls out) == $'report.html\nreport.html.0123456789abcdef\nreport.html.aaaaaaaaaaaaaaaa.unfinished' ]] ||
  broken "there are: $(ls out)"
[[ -f rows.db ]] || broken "what a link leads to is gone"
