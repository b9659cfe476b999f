# tries: a reference in Python that uses files and folders which the shell had open when it started tiletune
# must not: read or write any of them
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
python_reference <<'END'
import os
def copy(inputs, problem):
    reached = []
    for number in range(9, 1024):  # Python has opened lower ones
        for action in (lambda: os.pread(number, 50, 0), lambda: os.pwrite(number, b"OWNED", 0), lambda: os.fstat(number),
                       lambda: os.open("secret", os.O_RDWR, dir_fd=number), lambda: open(f"/proc/self/fd/{number}"),
                       lambda: open(f"/proc/{os.getppid()}/fd/{number}")):
            try:
                reached.append((number, action()))
            except OSError:
                pass
    raise ValueError(f"reached {reached}")
END
echo TOPSECRET >secret
attempt bash -c 'exec 9<>secret 20<.. 63>>secret 300<secret 1000<>secret; exec "$@"' - "$TILETUNE" check config.json --gpu H100
[[ $output == *"ValueError: reached []"* ]] || broken "check says: $output"
[[ $(cat secret) == TOPSECRET ]] || broken "it wrote: $(cat secret)"
