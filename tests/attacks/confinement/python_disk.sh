# tries: a reference in Python that takes disk space beyond its results, by fallocate, by ioctls that do the same, by other files
# must not: take it
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
python_reference <<'END'
import ctypes, fcntl, json, os, struct, sys, tempfile
def copy(inputs, problem):
    path = json.load(open(sys.argv[1]))["outputs"]["out"]["path"]
    folder, huge = os.path.dirname(path), 1 << 30
    libc = ctypes.CDLL(None, use_errno=True)
    out = os.open(path, os.O_RDWR)
    before = os.fstat(out).st_blocks
    def keeps_size(): assert libc.fallocate(out, 1, ctypes.c_long(0), ctypes.c_long(huge)) == 0
    def reserves(number): return lambda: fcntl.ioctl(out, number, struct.pack("hhqqiI4i", 0, 0, 0, huge, 0, 0, 0, 0, 0, 0))
    got_through = []
    for name, attack in {
            "fallocate": keeps_size, "FS_IOC_RESVSP": reserves(0x40305828), "FS_IOC_RESVSP64": reserves(0x4030582A),
            "FS_IOC_ZERO_RANGE": reserves(0x40305839), "truncate": lambda: os.ftruncate(out, huge),
            "posix_fallocate": lambda: os.posix_fallocate(out, 0, huge),
            "memfd": lambda: os.memfd_create("x"), "O_TMPFILE": lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR),
            "file": lambda: open(os.path.join(folder, "more"), "w"), "temporary file": tempfile.TemporaryFile,
            "folder": lambda: os.mkdir(os.path.join(folder, "more"))}.items():
        try:
            attack()
            got_through.append(name)
        except (OSError, AssertionError):
            pass
    raise ValueError(f"got through: {got_through} grew: {os.fstat(out).st_blocks > before}")
END
attempt "$TILETUNE" check config.json --gpu H100
[[ $output == *"got through: [] grew: False"* ]] || broken "check says: $output"
