# tries: put kernels that spill nothing around the one that does, one of them opened within its inline assembly
# must not: let the kernel pass a config that allows no spills
. "$REPOSITORY/tests/attacks/common.sh"
. "$REPOSITORY/tests/attacks/kernel/spills.bash"

must_be_refused 'extern "C" __global__ void k_() {}' 'asm volatile("ret; } .visible .entry kk() { ret;");'
