"""What a killed sweep leaves behind: rows, processes, GPU memory."""

import contextlib
import ctypes
import dataclasses
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

# What a second run tries again (tune/sweep.cpp); every other outcome of a kernel is final.
TRIED_AGAIN = {"dispatched", "refused", "compile_timeout", "compile_crashed"}
GPU_MEMORY_DEADLINE_S = 30
GPU_MEMORY_NOISE_MIB = 64


@dataclasses.dataclass(frozen=True)
class Row:
    kind: str
    template: str
    problem: str
    parameters: str
    outcome: str
    reason: str
    recorded_at: str
    median_us: float
    timed_in: str
    gpu_uuid: str
    sweep_id: int

    @property
    def configuration(self):
        if self.kind == "twin":
            return (self.kind, self.problem)  # of whichever kernel led, which on a GPU is not the same one every time
        return (self.kind, self.template, self.problem, self.parameters)

    @property
    def is_final(self):
        return self.kind == "kernel" and self.outcome not in TRIED_AGAIN

    def had_finals_since(self, before):
        """Whether the row was written anew because its configuration was measured again in turns with the other best."""
        return self.timed_in == "final" and before.timed_in != "final"


@dataclasses.dataclass
class Snapshot:
    rows: dict = dataclasses.field(default_factory=dict)  # by key
    last_sweep: int = 0
    damage: list = dataclasses.field(default_factory=list)

    def of_kind(self, kind):
        return [row for row in self.rows.values() if row.kind == kind]


def take_snapshot(database, copy):
    """What a copy of the database and its write-ahead log holds: the files themselves are left for tiletune to recover."""
    for suffix in ("", "-wal", "-shm"):
        pathlib.Path(f"{copy}{suffix}").unlink(missing_ok=True)
    snapshot = Snapshot()
    if not database.exists():
        return snapshot
    for suffix in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        try:
            read_snapshot(connection, snapshot)
        except sqlite3.Error as error:
            snapshot.damage.append(str(error))
    return snapshot


def read_snapshot(connection, snapshot):
    snapshot.damage += [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
    snapshot.damage += [f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        return  # killed before the schema was committed
    snapshot.last_sweep = connection.execute("SELECT coalesce(max(id), 0) FROM sweep").fetchone()[0]
    columns = ", ".join(f'"{field.name}"' for field in dataclasses.fields(Row))
    for key, *values in connection.execute(f'SELECT "key", {columns} FROM trial'):
        snapshot.rows[key] = Row(*values)


def committed_keys(database):
    """Keys that another process sees at this moment, while the sweep is running."""
    try:
        # A read-only connection leaves the write-ahead log alone, also when it is the last to close.
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=0)) as connection:
            return {key for (key,) in connection.execute('SELECT "key" FROM trial')}
    except sqlite3.Error:
        return set()


def has_begun(database, last_sweep=0):
    """Whether there is the record of a later sweep: its GPU is open, and it compiles."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=0)) as connection:
            return connection.execute("SELECT coalesce(max(id), 0) FROM sweep").fetchone()[0] > last_sweep
    except sqlite3.Error:
        return False


def children_of(parent):
    """Living child processes: [(pid, command line)]."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, ppid = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:2]
            if int(ppid) == parent and state != "Z":
                found.append((int(entry), pathlib.Path(f"/proc/{entry}/cmdline").read_text().replace("\0", " ")))
        except (OSError, ValueError):
            pass  # it has ended meanwhile
    return found


def adopt_orphans():
    """From now on descendants whose parent dies become children of this process, so that none can hide."""
    set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0) != 0:
        raise SystemExit("kill_series: cannot become the reaper of orphans")


def living_orphans(deadline_s):
    """Reaps what a dead sweep left, and returns (after killing it) what is still alive after the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if pid == 0 and time.monotonic() > end:
            break
        if pid == 0:
            time.sleep(0.001)
    orphans = children_of(os.getpid())
    for pid, _ in orphans:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return orphans


class GpuMemory:
    """What nvidia-smi says of memory in use, in MiB; nothing where there is no GPU."""

    def __init__(self, wanted):
        self.tool = shutil.which("nvidia-smi") if wanted else None
        self.before = self.in_use()

    def ask(self, query):
        output = subprocess.run([self.tool, query, "--format=csv,noheader,nounits"], capture_output=True, text=True)
        return [line.strip() for line in output.stdout.splitlines() if line.strip()]

    def in_use(self):
        return sum(map(int, self.ask("--query-gpu=memory.used"))) if self.tool else 0

    def left_over(self):
        """Why the GPU is not as it was before the series; empty when it is, at the latest at the deadline."""
        if not self.tool:
            return ""
        end = time.monotonic() + GPU_MEMORY_DEADLINE_S
        while True:
            processes, grown = self.ask("--query-compute-apps=pid"), self.in_use() - self.before
            if not processes and grown <= GPU_MEMORY_NOISE_MIB:
                return ""
            if time.monotonic() > end:
                return f"{len(processes)} compute processes and {grown} MiB more in use than before"
