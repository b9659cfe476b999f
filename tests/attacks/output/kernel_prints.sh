# tries: a kernel that prints escape sequences
# must not: reach the terminal or the output with them
source "$REPOSITORY/tests/attacks/common.sh"

ls /dev/nvidia[0-9]* >/dev/null 2>&1 || not_here "there is no NVIDIA GPU"
attempt "$TILETUNE" sweep "$REPOSITORY/tests/faults/faults.json" --template prints --db rows.db --format json
must_not_show $'\033'
must_not_show $'\007'
[[ $output == *"line 0"* ]] || broken "what it printed is not kept: $output"
