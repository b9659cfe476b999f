"""Checks of baselines that are kernels: those that operations come with, and one that ends the GPU's context."""

import json

from .common import query, verdict

# A template of each operation, and a small problem of it.
SHIPPED = {
    "softmax": ("softmax_warp", "4096x1024"), "transpose": ("transpose_padded", "2048x1000"),
    "rmsnorm": ("rmsnorm_warp", "4096x1024"), "bias_activation": ("bias_activation_vector", "2048x1024"),
    "reduction": ("reduction_atomic", "1000000"), "conv2d": ("conv2d_direct", "1024x1024x5x5"),
    "stencil3d": ("stencil3d_direct", "256x128x128"), "attention": ("attention_mma", "1x8x512x64"),
    "batched_gemm": ("batched_gemm_shared", "16x128x128x64"),
}
EVALUATIONS = 8

OPERATION = {
    "name": "twice", "summary": "out = 2 * in", "dimensions": ["n"],
    "buffers": [{"name": "in", "type": "f32", "elements": "n", "role": "in"}, {"name": "out", "type": "f32", "elements": "n", "role": "out"}],
    "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
    "reference": {"source": "reference.cu", "kernel": "reference", "grid": ["ceil_div(n, 256)"], "block": [256]},
}
ARGUMENTS = [{"buffer": "in"}, {"buffer": "out"}, {"scalar": "n", "type": "i32"}]
TEMPLATE = {
    "name": "twice", "summary": "a thread per element", "source": "kernel.cu", "kernel": "twice", "macros": {"THREADS": "THREADS"},
    "parameters": [{"name": "THREADS", "values": [64, 128, 256]}],
    "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]}, "arguments": ARGUMENTS,
}
SOURCE = """extern "C" __global__ void {name}(const {type}* in, {type}* out, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  {fault}
  if (i < n) out[i] = {factor} * in[i];
}}
"""
FAULTS = {"traps": ("__trap();", 2), "out_of_bounds": ("out[1ll << 40] = 0;", 2), "wrong": ("", 3)}


def compared(database):
    """Kernels that ran, those with a percentage of a baseline, and the baselines."""
    kernels, with_percent = query(database, "SELECT count(*), count(percent_of_baseline) FROM trial WHERE kind = 'kernel' AND outcome = 'ok'")[0]
    baselines = [name for name, in query(database, "SELECT template FROM trial WHERE kind = 'baseline' AND outcome = 'ok'")]
    return kernels, with_percent, baselines


def check_shipped(bench, operation, template, problem):
    config = bench.out / f"baselines_{operation}.json"
    config.write_text(json.dumps({"templates": [template], "problems": [problem], "budget": {"evaluations": EVALUATIONS}}))
    _, _, text, database = bench.sweep(f"baselines_{operation}", config, "--quiet")
    kernels, with_percent, baselines = compared(database)
    passed = kernels > 0 and with_percent == kernels and baselines
    verdict(passed, f"baselines: {operation}: {with_percent} of {kernels} configurations are compared with {', '.join(baselines) or 'nothing'}")
    if not passed:
        print(text)


def check_faulty(bench):
    """Beside three faulty baselines, the sweep measures every configuration, and compares it with the one that is right."""
    folder = bench.out / "baselines_faulty" / "twice"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.cu").write_text(SOURCE.format(name="twice", type="float", fault="", factor=2))
    (folder / "reference.cu").write_text(SOURCE.format(name="reference", type="double", fault="", factor=2))
    baselines = []
    for name, (fault, factor) in {**FAULTS, "right": ("", 2)}.items():
        (folder / f"{name}.cu").write_text(SOURCE.format(name=name, type="float", fault=fault, factor=factor))
        baselines.append({"name": name, "source": f"{name}.cu", "kernel": name, "grid": ["ceil_div(n, 256)"], "block": [256],
                          "arguments": ARGUMENTS})
    (folder / "template.json").write_text(json.dumps({**TEMPLATE, "operation": {**OPERATION, "baselines": baselines}}))
    config = folder.parent / "faulty.json"
    config.write_text(json.dumps({"templates": ["twice"], "problems": ["1000000"]}))
    code, _, text, database = bench.sweep("baselines_faulty", config, "--screening", "off")
    kernels, with_percent, found = compared(database)
    noted = [name for name in FAULTS if f"{name} is left out as a baseline" in text]
    verdict(code == 0 and kernels == with_percent == 3 and found == ["right"] and len(noted) == len(FAULTS),
            f"baselines: {', '.join(noted)} are left out; {with_percent} of 3 configurations are compared with {', '.join(found)}")


def check_baselines(bench):
    for operation, (template, problem) in SHIPPED.items():
        check_shipped(bench, operation, template, problem)
    check_faulty(bench)
