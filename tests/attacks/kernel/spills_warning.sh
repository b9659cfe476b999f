# tries: hide a kernel's spills behind a #warning that reads like the assembler's report
# must not: let the kernel pass a config that allows no spills
. "$REPOSITORY/tests/attacks/common.sh"
. "$REPOSITORY/tests/attacks/kernel/spills.bash"

must_be_refused '#warning Function properties for k' ''
