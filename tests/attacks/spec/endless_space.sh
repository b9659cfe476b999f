# tries: a space that takes minutes to build
# must not: ignore --budget or Ctrl-C meanwhile
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

# Some 10^9 combinations, of which a constraint leaves none, which no range of values shows.
values=$(seq -s, 1 32)
parameters=
for name in A B C D E F; do
  parameters+="${parameters:+,}{\"name\": \"P$name\", \"values\": [$values], \"meaning\": \"m\"}"
done
write_tiny_sweep theirs "$parameters"
sed -i 's/"launch"/"constraints": [{"require": "(PA + PB + PC + PD + PE + PF) % 7 == 3 and (PA + PB + PC + PD + PE + PF) % 7 == 4", "why": "none"}], "launch"/' \
  theirs/tiny/template.json

start=$SECONDS
attempt "$TILETUNE" sweep theirs/tiny.json --gpu A100-40GB --db results.db --budget 1s
((status == 2)) && [[ $output == *"the space of tiny at 1x1x1"* ]] || broken "the budget led to $status: $output"
((SECONDS - start <= 5)) || broken "a budget of 1 s took $((SECONDS - start)) s"

interrupted() {
  start=$SECONDS
  status=0
  timeout --preserve-status --kill-after=20 --signal=INT 1 "$TILETUNE" "$@" >/dev/null 2>&1 || status=$?
  ((status == 130)) || broken "$* ended with $status after Ctrl-C"
  ((SECONDS - start <= 5)) || broken "$* took $((SECONDS - start)) s after Ctrl-C"
}
interrupted sweep theirs/tiny.json --gpu A100-40GB
interrupted inspect theirs/tiny.json --gpu A100-40GB
interrupted space theirs/tiny.json
write_tiny_sweep mine
attempt "$TILETUNE" sweep mine/tiny.json --gpu A100-40GB --db recorded.db --quiet
interrupted sweep theirs/tiny.json --replay recorded.db
