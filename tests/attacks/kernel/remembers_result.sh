# tries: a kernel that copies the result of an earlier launch
# must not: be ranked, or lead
source "$REPOSITORY/tests/attacks/common.sh"

ls /dev/nvidia[0-9]* >/dev/null 2>&1 || not_here "there is no NVIDIA GPU"
attempt "$TILETUNE" sweep "$REPOSITORY/tests/faults/cheats.json" --template remembers_result --db rows.db --quiet
attempt "$TILETUNE" rank --db rows.db --outcome unstable --format json
[[ $output == *"timed launches"* ]] || broken "it was not found: $output"
attempt "$TILETUNE" rank --db rows.db --outcome ok
must_not_show remembers_result
