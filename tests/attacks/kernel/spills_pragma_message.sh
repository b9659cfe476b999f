# tries: hide a kernel's spills behind a #pragma message that prints the assembler's report
# must not: let the kernel pass a config that allows no spills
. "$REPOSITORY/tests/attacks/common.sh"
. "$REPOSITORY/tests/attacks/kernel/spills.bash"

report='ptxas info    : Function properties for k\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
must_be_refused "#pragma message(\"\\n$report\\n\")" ''
