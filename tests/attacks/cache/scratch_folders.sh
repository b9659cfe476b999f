# tries: the folder of a run that was killed, beside folders and links with similar names and the folder of a run that has not ended
# must not: keep the first, or remove any of the others
source "$REPOSITORY/tests/attacks/common.sh"
source "$REPOSITORY/tests/attacks/tiny.sh"

write_tiny_sweep mine
mkdir temporary precious temporary/tiletune_result
export TMPDIR=$PWD/temporary
touch precious/file temporary/tiletune_result/file
ln -s "$PWD/precious" temporary/tiletune_symbol
attempt "$TILETUNE" sweep mine/tiny.json --gpu A100-40GB --db recorded.db --quiet
((status == 0)) || broken "the sweep failed: $output"

trap 'kill -KILL $(jobs -p) 2>/dev/null || true' EXIT

marks() { find temporary -mindepth 2 -maxdepth 2 -name .tiletune_scratch | sort; }

# start_and_stop: a long replay, stopped once it has its folder; $run is its process, $mark lies in the folder.
start_and_stop() {
  local before
  before=$(marks)
  "$TILETUNE" sweep mine/tiny.json --replay recorded.db --strategy random --repeat 10000 --quiet >/dev/null 2>&1 &
  run=$!
  for ((i = 0; i < 200; ++i)); do
    mark=$(comm -13 <(echo "$before") <(marks) | head -1)
    [[ -z $mark ]] || break
    sleep 0.02
  done
  [[ -n $mark ]] || broken "a replay has no folder of its own"
  kill -STOP "$run"
}

start_and_stop
killed=$run left=$mark
{ kill -KILL "$killed" && wait "$killed"; } 2>/dev/null || true
[[ -e $left ]] || broken "the run was over before it was killed"
start_and_stop
[[ ! -e $left ]] || broken "what a killed run left is kept"
attempt "$TILETUNE" sweep mine/tiny.json --replay recorded.db --quiet
((status == 0)) || broken "the replay failed: $output"
at_work=$run in_use=$mark
[[ -e $in_use ]] || broken "the folder of a run at work was removed"
{ kill -KILL "$at_work" && wait "$at_work"; } 2>/dev/null || true

[[ -e precious/file && -e temporary/tiletune_result/file && -L temporary/tiletune_symbol ]] ||
  broken "something else was removed"
