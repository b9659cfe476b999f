# tries: a kernel that copies the result of an earlier launch, faster than the GPU can multiply
# must not: be ranked, or lead
source "$REPOSITORY/tests/attacks/common.sh"

ls /dev/nvidia[0-9]* >/dev/null 2>&1 || not_here "there is no NVIDIA GPU"
attempt "$TILETUNE" sweep "$REPOSITORY/tests/faults/implausible.json" --template remembers_result --db rows.db --quiet
attempt "$TILETUNE" rank --db rows.db --outcome implausible --format json
[[ $output == *"FLOP/s, more than"* ]] || broken "it was not found: $output"
attempt "$TILETUNE" rank --db rows.db --outcome ok
must_not_show remembers_result
