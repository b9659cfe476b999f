# tries: a kernel that is wrong in one launch out of eleven
# must not: be ranked
source "$REPOSITORY/tests/attacks/common.sh"

ls /dev/nvidia[0-9]* >/dev/null 2>&1 || not_here "there is no NVIDIA GPU"
attempt "$TILETUNE" sweep "$REPOSITORY/tests/faults/faults.json" --template wrong_sometimes --db rows.db --quiet
attempt "$TILETUNE" rank --db rows.db --outcome unstable --format json
[[ $output == *"timed launches that were checked"* ]] || broken "it was not found: $output"
attempt "$TILETUNE" rank --db rows.db --outcome ok
must_not_show wrong_sometimes
