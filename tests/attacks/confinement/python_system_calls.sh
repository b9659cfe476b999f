# tries: a reference in Python that slows, signals, traces or starts processes, makes sockets, queues, shared memory, timers or files, or runs another program
# must not: succeed with any of them, or change where another process runs
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
python_reference <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def copy(inputs, problem):
    room = ctypes.create_string_buffer(b"\1", 4096)
    out = os.open(os.path.join(os.path.dirname(sys.argv[1]), "out.out"), os.O_RDWR)
    source = os.open(__file__, os.O_RDONLY)
    parent, itself = os.getppid(), os.getpid()
    got_through = []
    for name, *arguments in [
            ("sched_setaffinity", 0, 128, room), ("sched_setaffinity", parent, 128, room), ("setpriority", 0, parent, 19),
            ("sched_setscheduler", parent, 3, ctypes.create_string_buffer(8)), ("prlimit", parent, 0, None, room),
            ("kill", parent, 0), ("killpg", itself, 0), ("ptrace", 16, parent, 0, 0),
            ("process_vm_readv", itself, None, 0, None, 0, 0), ("fork",), ("unshare", 0x20000), ("setsid",),
            ("socket", 1, 1, 0), ("socketpair", 1, 1, 0, room), ("pipe2", room, 0), ("eventfd", 0, 0), ("epoll_create1", 0),
            ("msgget", 0, 0o600), ("shmget", 0, 4096, 0o600), ("semget", 0, 1, 0o600), ("mq_open", b"/queue", 66, 0o600, None),
            ("inotify_init1", 0), ("fanotify_init", 0, 0), ("sendfile", out, source, None, 1),
            ("splice", source, None, out, None, 1, 0), ("copy_file_range", source, None, out, None, 1, 0),
            ("timer_create", 1, None, room), ("setitimer", 0, room, None), ("timerfd_create", 1, 0),
            ("mlockall", 1), ("memfd_create", b"x", 0), ("fallocate", out, 1, 0, ctypes.c_long(1 << 30)),
            ("fsync", out), ("flock", source, 1), ("mkdir", b"made", 0o700), ("unlink", __file__.encode()),
            ("prctl", 1, 0, 0, 0, 0), ("prctl", 4, 0, 0, 0, 0), ("fcntl", source, 8, parent), ("fcntl", source, 1026, 1)]:
        if getattr(libc, name)(*arguments) != -1:
            got_through.append(name)
    for program in ("/bin/true", sys.executable):
        try:
            os.execv(program, [program, "-c", ""])
        except PermissionError:
            pass
    raise ValueError(f"got through: {got_through}")
END
sleep 60 &
victim=$!
trap 'kill $victim' EXIT
before=$(grep Cpus_allowed: /proc/$victim/status /proc/$$/status)
attempt "$TILETUNE" check config.json --gpu H100
[[ $output == *"ValueError: got through: []"* ]] || broken "check says: $output"
[[ $(grep Cpus_allowed: /proc/$victim/status /proc/$$/status) == "$before" ]] || broken "another process was bound to a processor"
