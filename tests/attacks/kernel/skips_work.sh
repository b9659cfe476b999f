# tries: a kernel that does nothing where its output looks as if it had been written
# must not: be ranked with the time of doing nothing
source "$REPOSITORY/tests/attacks/common.sh"

ls /dev/nvidia[0-9]* >/dev/null 2>&1 || not_here "there is no NVIDIA GPU"
attempt "$TILETUNE" sweep "$REPOSITORY/tests/faults/faults.json" --template skips_work --db rows.db --quiet
attempt "$TILETUNE" rank --db rows.db --outcome unstable --format json
[[ $output == *"were not written"* ]] || broken "it was not found: $output"
attempt "$TILETUNE" rank --db rows.db --outcome ok
must_not_show skips_work
