# tries: hide a kernel's spills behind a pragma that the assembler does not know and quotes in its own report
# must not: let the kernel pass a config that allows no spills
. "$REPOSITORY/tests/attacks/common.sh"
. "$REPOSITORY/tests/attacks/kernel/spills.bash"

report='Function properties for k\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n'
must_be_refused '' "asm volatile(\".pragma \\\"$report\\\";\");"
