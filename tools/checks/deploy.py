"""Sweeps some operations, exports them as one folder, builds it, and compares what it computes and how fast it is.

Random sizes: all right, none without a kernel. For some of them the space is swept at that very size: how much slower is the
kernel that the folder takes, timed by the same method? Then the operators of PyTorch, inside a compiled model.
"""

import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys

from .common import HOME, query, verdict

RANDOM = 300
TUNED = 24  # sizes per operation that the folder is tuned on, drawn as the random ones are
KERNELS = 16  # per operation
JUDGED = 6  # sizes per operation that are swept
# Function, config, seconds of its sweep, largest size, sizes in order, seconds of a sweep at one size.
OPERATIONS = [("layernorm_f32", "tests/deploy/layernorm.json", 8, 8192, ("rows", "columns"), 2),
              ("spmv_csr_i32_f32", "tests/deploy/spmv_csr.json", 10, 100000, ("rows", "columns", "nonzeros"), 2),
              ("softmax_f32", "configs/softmax.json", 25, 8192, ("rows", "columns"), 3),
              ("reduction_f32", "configs/reduction.json", 15, 4000000, ("n",), 2),
              ("conv2d_f32", "configs/conv2d.json", 30, 2048, ("width", "height", "filter_width=5", "filter_height=5"), 4),
              ("attention_bf16_f32_causal_yes", "configs/attention.json", 25, 1024, ("batch=1", "heads=8", "tokens", "head_size=128"), 3),
              ("gemm_f32", "configs/sgemm_dispatch.json", 60, 2048, ("M", "N", "K"), 5)]
LINE = re.compile(r"^(\S+) ([\d ]+): (right|WRONG)[^;]*; (\S+) ?([^;]*); ([\d.]+) us, host ([\d.]+) us$")
MODEL = """
import torch, tuned_torch

class Norm(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.rand(columns, device="cuda"))
        self.beta = torch.nn.Parameter(torch.rand(columns, device="cuda"))
        self.linear = torch.nn.Linear(columns, columns, device="cuda")

    def forward(self, x):
        out = torch.empty_like(x)
        torch.ops.tuned.layernorm_f32(x.shape[0], x.shape[1], x, self.gamma, self.beta, out)
        return torch.relu(self.linear(out))

with torch.no_grad():
    model = Norm(1023)
    compiled = torch.compile(model, fullgraph=True)
    x = torch.randn(777, 1023, device="cuda")
    right = torch.relu(model.linear(torch.nn.functional.layer_norm(x, (1023,), model.gamma, model.beta)))
    print("compiled", (compiled(x) - right).abs().max().item() < 1e-4 * right.abs().max().item())
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        model(x)
    with torch.cuda.graph(graph):
        captured = model(x)
    graph.replay()
    torch.cuda.synchronize()
    print("captured", (captured - right).abs().max().item() < 1e-4 * right.abs().max().item())
    for rows, columns in ((777, 1023), (4096, 1024), (16384, 512), (512, 8192)):
        x, gamma, beta = (torch.randn(rows, columns, device="cuda"), torch.rand(columns, device="cuda"), torch.rand(columns, device="cuda"))
        out = torch.empty_like(x)
        times = []
        for call in (lambda: torch.ops.tuned.layernorm_f32(rows, columns, x, gamma, beta, out),
                     lambda: torch.nn.functional.layer_norm(x, (columns,), gamma, beta)):
            from triton.testing import do_bench
            times.append(1000 * do_bench(call, return_mode="median"))
        print(f"layernorm {rows}x{columns}: {times[0]:.2f} us, PyTorch's own {times[1]:.2f} us")
"""


def check_path(bench):
    """The commands by which docs/use_the_winner.md goes from a .cu file to a program."""
    blocks = re.findall(r"```console (?:gpu toolkit|parsed)\n(.*?)```", (HOME / "docs/use_the_winner.md").read_text(), re.DOTALL)
    commands = [line[2:] for block in blocks[:2] for line in block.splitlines() if line.startswith("$ ")]
    folder = bench.out / "path"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "docs").symlink_to(HOME / "docs")
    environment = {**bench.environment, "PATH": f"{pathlib.Path(bench.executable).resolve().parent}:{os.environ['PATH']}"}
    for command in commands:
        run = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
        if run.returncode != 0:
            break
    verdict(run.returncode == 0 and len(commands) == 6, f"path: {len(commands)} commands from axpy.cu to a program: {run.stderr[-300:]}")


def export(bench, database):
    """The folder, built; None where that fails."""
    folder = bench.out / "deploy" / "tuned"
    bench.run("deploy_export", "export", "--format", "cuda", "--db", database, "--source", "measured", "--portfolio", str(KERNELS), "-o", folder)
    for words in (("-S", folder, "-B", folder / "build", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"),
                  ("--build", folder / "build", "-j", str(os.cpu_count()))):
        built = subprocess.run(["cmake", *words], capture_output=True, text=True)
        if built.returncode != 0:
            verdict(False, f"deploy: the folder is not built: {built.stdout[-800:]}{built.stderr[-800:]}")
            return None
    return folder


def slowdowns(bench, name, config, seconds, lines):
    """Of the kernels that were taken at some sizes, against the fastest of a sweep there, in percent."""
    found = []
    for line in random.Random(1).sample(lines, min(JUDGED, len(lines))):
        problem = "x".join(line[2].split())
        database = bench.out / f"deploy_{name}_{problem}.db"
        bench.run(f"deploy_{name}_{problem}", "sweep", config, "--problem", problem, "--budget", str(seconds), "--baseline", "none",
                  "--db", database, "--quiet")
        if not database.exists():  # the config tries nothing there
            continue
        words = [word for value in line[5].split() for word in ("--set", value)]
        bench.run(f"deploy_{name}_{problem}_taken", "bench", HOME / os.path.dirname(config) / line[4] if config.startswith("tests/") else line[4],
                  *words, "--problem", problem, "--db", database, "--baseline", "none", "--extend", "--quiet")
        best = query(database, "SELECT min(median_us) FROM trial WHERE kind = 'kernel' AND outcome = 'ok'")[0][0]
        taken = query(database, "SELECT median_us FROM trial WHERE kind = 'kernel' AND outcome = 'ok' ORDER BY id DESC LIMIT 1")
        if best and taken:
            found.append((100 * (taken[0][0] / best - 1), problem, line[4]))
    return sorted(found)


def check_pytorch(folder):
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"SKIP deploy with PyTorch: {error}")
        return
    run = subprocess.run([sys.executable, "-c", MODEL], capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=str(folder / "torch")))
    print("".join(f"     {line}\n" for line in run.stdout.splitlines()), end="")
    verdict("compiled True" in run.stdout and "captured True" in run.stdout, f"deploy: operators of PyTorch {run.stderr[-600:] if run.returncode else ''}")


def problems(largest, sizes):
    """Log-uniform, as tuned_test draws them: every second one a multiple of 8 in all sizes."""
    draw = random.Random(2)
    drawn = []
    for i in range(TUNED):
        free = [max(1, round(2 ** draw.uniform(0, math.log2(largest)))) for _ in sizes]
        even = [(size + 7) // 8 * 8 if i % 2 == 0 else size for size in free]
        drawn.append("x".join(size.partition("=")[2] or str(value) for size, value in zip(sizes, even)))
    return drawn


def check(bench):
    check_path(bench)
    database = bench.out / "deploy.db"
    database.unlink(missing_ok=True)
    for name, config, seconds, largest, sizes, _ in OPERATIONS:
        bench.run(f"deploy_{name}", "sweep", config, "--budget", str(seconds), "--baseline", "none", "--db", database, "--quiet",
                  "--problem", *problems(largest, sizes))
    folder = export(bench, database)
    if folder is None:
        return
    test = folder / "build" / "tuned_test"
    tuned = subprocess.run([test], capture_output=True, text=True, timeout=300)
    verdict(tuned.returncode == 0, f"deploy: sizes that were tuned: {tuned.stdout.splitlines()[-1] if tuned.stdout else tuned.stderr}")
    print("     operation                       right  wrong  without  host us (median)  slower than tuned: median, 90%, worst")
    for name, config, _, largest, sizes, seconds in OPERATIONS:
        fixed = [size for size in sizes if "=" in size]
        run = subprocess.run([test, "--random", str(RANDOM), "--largest", str(largest), "--time", *fixed, name], capture_output=True, text=True)
        (bench.out / f"deploy_{name}.txt").write_text(run.stdout + run.stderr)
        lines = [match for match in map(LINE.match, run.stdout.splitlines()) if match]
        counts = re.search(r"(\d+) right, (\d+) wrong, (\d+) without", run.stdout)
        if counts is None:
            verdict(False, f"deploy: {name}: {run.stderr[-400:]}")
            continue
        host = statistics.median(float(line[7]) for line in lines)
        slower = slowdowns(bench, name, config, seconds, lines) if JUDGED else []
        percent = [one[0] for one in slower] or [0]
        print(f"     {name:32}{counts[1]:>5}{counts[2]:>7}{counts[3]:>9}{host:>18.2f}  {statistics.median(percent):6.1f}% "
              f"{percent[int(0.9 * (len(percent) - 1) + 0.5)]:6.1f}% {percent[-1]:6.1f}% ({' at '.join(slower[-1][:0:-1]) if slower else '-'})")
        verdict(counts[2] == "0" and counts[3] == "0", f"deploy: {name}: {counts[0]}")
    check_pytorch(folder)
