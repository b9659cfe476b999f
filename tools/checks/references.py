"""References that are no kernels, on a GPU: files, a function of Python, configurations that agree."""

import json

from checks.common import outcomes, query, verdict

KERNEL = """
template <int THREADS, int WRONG>
__global__ void poly(const TYPE* x, TYPE* y, int rows, int columns, int stride) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= rows * columns) return;
  const float value = float(x[i / columns * stride + i % columns]);
#ifdef CRASH
  if (WRONG) __trap();
#endif
  y[i] = TYPE(3.0f * value * value + 1.0f + (WRONG ? float(THREADS) / 64 : 0.0f));
}
"""

PYTHON = """
import numpy

def poly(inputs, problem):
    x = inputs["x"].astype(numpy.float64)
    assert x.shape == (problem["rows"], problem["columns"])
    return 3 * x * x + 1
"""

ROWS, COLUMNS = 300, 77


def manifest(name, reference, values, more, options):
    buffers = [{"name": "x", "type": "f32", "rows": "rows", "columns": "columns", "pitch": "stride", "role": "in"},
               {"name": "y", "type": "f32", "rows": "rows", "columns": "columns", "role": "out"}]
    if values:
        buffers[0]["values"] = values
    return {
        "name": name, "summary": "a polynomial of each element",
        "operation": {"name": name, "dimensions": ["rows", "columns"], "buffers": buffers, "flops": "3 * rows * columns",
                      "bytes": "8 * rows * columns", "accumulation": "3", "bound": "copy", "reference": reference, **more},
        "source": "kernel.cu", "kernel": "poly", "template_arguments": ["THREADS", "WRONG"],
        "compile_options": ["-DTYPE=float", *options],
        "parameters": [{"name": "THREADS", "values": [64, 128, 256, 512]}, {"name": "WRONG", "values": [0, 1]}],
        "launch": {"grid": ["ceil_div(rows * columns, THREADS)"], "block": ["THREADS"]},
        "arguments": [{"buffer": "x"}, {"buffer": "y"}, {"scalar": "rows", "type": "i32"},
                      {"scalar": "columns", "type": "i32"}, {"scalar": "stride", "type": "i32"}]}


def write_space(folder, name, reference, values=None, more=None, options=()):
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "kernel.cu").write_text(KERNEL)
    (place / "reference.py").write_text(PYTHON)
    (place / "template.json").write_text(json.dumps(manifest(name, reference, values, more or {}, options)))
    config = folder / f"{name}.json"
    problems = [f"{ROWS}x{COLUMNS}", f"{ROWS}x{COLUMNS},stride=80"]
    config.write_text(json.dumps({"templates": [name], "problems": problems}))
    return config


def check(bench):
    import numpy

    folder = bench.out / "references"
    random = numpy.random.default_rng(1)
    x = random.uniform(-2, 2, (ROWS, COLUMNS)).astype(numpy.float32)
    expected = 3 * x.astype(numpy.float64) ** 2 + 1
    files = {"npy": {"y": "y_{rows}.npy"}}
    close = {"tolerance": {"absolute": 1e-5, "relative": 1e-5}}
    spaces = {
        "files": ((files, {"npy": "x.npy"}), {}),
        "files_tolerance": ((files, {"npy": "x.npy"}, close), {}),
        "python": (({"python": "reference.py", "function": "poly"}, "normal(0, 2)"), {}),
        "python_and_file": (({"python": "reference.py", "function": "poly"}, {"npy": "x.npy"}), {}),
        "consensus": (({"consensus": 3}, None), {}),
        "consensus_crash": (({"consensus": 3}, None), {"options": ["-DCRASH"]}),
    }
    for name, (arguments, more) in spaces.items():
        config = write_space(folder, name, *arguments, **more)
        numpy.save(folder / name / "x.npy", x)
        numpy.save(folder / name / f"y_{ROWS}.npy", expected)
        code, wall, _, database = bench.sweep(f"reference_{name}", config, "--quiet")
        wrong = "crashed" if name == "consensus_crash" else "wrong_result"
        found = query(database, "SELECT parameters, outcome, reason FROM trial WHERE kind = 'kernel'")
        right = [row for row in found if "WRONG=0" in row[0] or '"WRONG":0' in row[0].replace(" ", "")]
        others = [row for row in found if row not in right]
        good = len(right) == 8 and all(row[1] in ("ok", "screened_out") for row in right)
        bad = len(others) == 8 and all(row[1] == wrong for row in others)
        verdict(code == 0 and good and bad, f"reference {name}: {outcomes(database)}, {wall:.1f} s")
        if not (good and bad):
            print("     ", [row for row in found if row in others or row[1] != "ok"][:4])
    out = folder / "out"
    config = folder / "files.json"
    bench.sweep("reference_outputs", config, "--quiet", "--outputs", out)
    arrays = [numpy.load(path) for path in sorted(out.glob("*/y.npy"))]
    near = [numpy.allclose(array.reshape(ROWS, COLUMNS), expected, rtol=1e-5) for array in arrays]
    verdict(len(arrays) == 8 and all(near), f"outputs of {len(arrays)} configurations are kept, and are right")
