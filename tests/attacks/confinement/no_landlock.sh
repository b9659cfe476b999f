# tries: to run where the kernel has no Landlock
# must not: run without a warning, read files outside, or run with --confined
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cat >without_landlock <<'END'
#!/usr/bin/env python3
"""Runs a command whose landlock_create_ruleset() fails with ENOSYS, as in a kernel that has none."""
import ctypes, os, struct, sys
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
LANDLOCK_CREATE_RULESET, ENOSYS = 444, 38
code = b"".join(struct.pack("HBBI", *step) for step in [
    (LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, LANDLOCK_CREATE_RULESET), (RETURN, 0, 0, 0x00050000 | ENOSYS), (RETURN, 0, 0, 0x7FFF0000)])
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(4, code)), 0, 0):
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
END
chmod +x without_landlock
./without_landlock true || not_here "no filter of system calls can be set"
echo "secret_7f3a" >../secret.txt
printf '%s\n' '#include "../../secret.txt"' "$copies" | kernel copy
attempt ./without_landlock "$TILETUNE" sweep config.json --gpu H100 --db out.db
[[ $output == *"kernels are not confined here: this kernel has no Landlock"* ]] || broken "nothing is said: $output"
must_not_show secret_7f3a out.db
attempt ./without_landlock "$TILETUNE" inspect config.json --gpu H100
[[ $output == *"kernels are not confined here: this kernel has no Landlock"* ]] || broken "inspect says nothing: $output"
attempt ./without_landlock "$TILETUNE" bench ./copy --set THREADS=128 --problem 1048576 --gpu H100 --db out.db
[[ $output == *"kernels are not confined here: this kernel has no Landlock"* ]] || broken "bench says nothing: $output"
attempt ./without_landlock "$TILETUNE" doctor
[[ $output == *"kernels are not confined here"* ]] || broken "doctor does not say so: $output"
attempt ./without_landlock "$TILETUNE" sweep config.json --gpu H100 --db out.db --confined
((status == 2)) && [[ $output == *"kernels cannot be confined here"* ]] || broken "--confined goes on: $output"
