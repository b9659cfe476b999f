# tries: a reference in Python where the kernel has no Landlock
# must not: run it, with --quiet or not
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
without_landlock=$REPOSITORY/tests/attacks/confinement/without_landlock
"$without_landlock" true || not_here "no filter of system calls can be set"
python_reference <<'END'
open("it_ran", "w")
def copy(inputs, problem):
    return inputs["in"]
END
for quiet in "" --quiet; do
  # shellcheck disable=SC2086
  attempt "$without_landlock" "$TILETUNE" check config.json $quiet
  ((status == 1)) && [[ $output == *"copy() is not run"*"this kernel has no Landlock"*".npy"* ]] || broken "check says: $output"
  [[ ! -e it_ran ]] || broken "it ran"
done
attempt "$TILETUNE" check config.json
((status == 1)) && [[ $output == *"PermissionError"*"it_ran"* && ! -e it_ran ]] || broken "it is not confined: $output"
