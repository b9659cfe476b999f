import csv
import json
import pathlib
import re
import tempfile
import unittest

import fixture
import numpy

from kernel_tuner.arguments import Array
from kernel_tuner.interface import _manifest
from kernel_tuner.source import Source

SOURCE = """
__constant__ float weights[4];
__global__ void scale(float *y, const float *x, int n) { int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) y[i] = weights[0] * x[i]; }
"""
OPTIONS = {"grid_div_x": None, "grid_div_y": None, "grid_div_z": None, "smem_args": None, "compiler_options": None,
           "defines": None, "block_size_names": None, "verify": None, "atol": 1e-6}


class Manifests(fixture.SandboxTest):
    def write(self, kernel_name="scale", source=SOURCE, problem_size=1000, arguments=None, tune_params=None,
              restrictions=None, answer=None, cmem_args=None, **options):
        if arguments is None:
            arguments = [numpy.zeros(1000, numpy.float32), numpy.ones(1000, numpy.float32), numpy.int32(1000)]
        made = _manifest(kernel_name, source, problem_size, arguments, tune_params or {"block_size_x": [32, 64]}, restrictions,
                         answer, None, cmem_args, {**OPTIONS, **options})
        place = self.folder / f"sweep{len(list(self.folder.iterdir()))}"
        place.mkdir()
        config = json.loads(made.write(place, {}).read_text())
        home = place / made.name
        manifest = json.loads((home / "template.json").read_text())
        rows = None
        if "configurations" in config:
            with open(place / config["configurations"], newline="") as file:
                rows = list(csv.DictReader(file))
        return manifest, config, home, rows

    def buffers(self, manifest):
        return {b["name"]: b for b in manifest["operation"]["buffers"]}

    def test_arrays_are_files_and_scalars_are_values(self):
        manifest, config, home, rows = self.write()
        self.assertEqual([a.get("buffer", a.get("value")) for a in manifest["arguments"]], ["argument_0", "argument_1", "1000"])
        self.assertEqual(manifest["arguments"][2]["type"], "i32")
        buffers = self.buffers(manifest)
        self.assertEqual((buffers["argument_0"]["role"], buffers["argument_1"]["role"]), ("inout", "in"))
        self.assertEqual(config["problems"], [{"elements_of_argument_0": 1000, "elements_of_argument_1": 1000}])
        self.assertTrue((numpy.load(home / buffers["argument_1"]["values"]["npy"]) == 1).all())
        self.assertEqual(manifest["operation"]["reference"], "none")
        self.assertIsNone(rows)

    def test_large_arrays_are_written_once(self):
        x = numpy.arange(1 << 22, dtype=numpy.float32)

        def written():
            return self.write(arguments=[numpy.zeros(1, numpy.float32), x, numpy.int32(1)])[2] / "argument_1.npy"

        first, second = written(), written()
        self.assertEqual(first.stat().st_ino, second.stat().st_ino)
        x[-1] = numpy.nan
        third = written()
        self.assertNotEqual(first.stat().st_ino, third.stat().st_ino)
        self.assertEqual(numpy.load(first)[-1], x.size - 1)
        self.assertTrue(numpy.isnan(numpy.load(third)[-1]))
        self.assertEqual(third.stat().st_ino, written().stat().st_ino)

    def test_an_array_without_elements_is_refused(self):
        with self.assertRaisesRegex(ValueError, "argument_1 is an array without elements"):
            self.write(arguments=[numpy.zeros(1, numpy.float32), numpy.zeros(0), numpy.int32(1)])

    def test_types(self):
        for dtype, name in ((numpy.float16, "f16"), (numpy.float64, "f64"), (numpy.int8, "i8"), (numpy.uint64, "u64"),
                            (numpy.bool_, "bool"), (">f4", "f32")):
            with self.subTest(name):
                manifest, _, home, _ = self.write(arguments=[numpy.ones((2, 3), dtype), numpy.zeros(1), numpy.int32(1)])
                self.assertEqual(self.buffers(manifest)["argument_0"]["type"], name)
                self.assertTrue((numpy.load(home / "argument_0.npy") == numpy.ones(6)).all())
        pairs = numpy.array([1 + 2j, 3 + 4j], numpy.complex64)
        manifest, _, home, _ = self.write(arguments=[pairs, numpy.zeros(1), numpy.int32(1)])
        self.assertEqual(numpy.load(home / "argument_0.npy").tolist(), [1, 2, 3, 4])
        records = numpy.zeros(2, [("a", "i4"), ("b", "f4")])
        manifest, config, _, _ = self.write(arguments=[records, numpy.zeros(1), numpy.int32(1)])
        self.assertEqual(self.buffers(manifest)["argument_0"]["type"], "u8")
        self.assertEqual(config["problems"][0]["elements_of_argument_0"], 16)

    def test_scalars_keep_their_value(self):
        arguments = [numpy.zeros(1), numpy.float32(0.1), numpy.bool_(True)]
        manifest = self.write(arguments=arguments)[0]
        self.assertEqual(numpy.float32(manifest["arguments"][1]["value"]), numpy.float32(0.1))
        self.assertEqual(manifest["arguments"][2], {"scalar": "argument_2", "type": "bool", "value": "true"})
        with self.assertRaisesRegex(TypeError, "position 1 is a int"):
            self.write(arguments=[numpy.zeros(1), 5, numpy.int32(1)])
        with self.assertRaisesRegex(TypeError, "position 1 has the type complex64"):
            self.write(arguments=[numpy.zeros(1), numpy.complex64(1), numpy.int32(1)])

    def test_odd_scalars_are_named(self):
        for value, words in ((numpy.float32("nan"), "is nan"), (numpy.float64("-inf"), "is -inf"),
                             (numpy.uint64(2**64 - 1), "is 18446744073709551615"), (numpy.int64(-2**63), "64 bits")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, f"position 1 .*{words}"):
                self.write(arguments=[numpy.zeros(1), value, numpy.int32(1)])
        manifest = self.write(arguments=[numpy.zeros(1), numpy.uint64(2**63 - 1), numpy.int32(1)])[0]
        self.assertEqual(manifest["arguments"][1]["value"], "9223372036854775807")

    def test_odd_arrays_keep_their_elements(self):
        table = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
        for array in (numpy.array(3.5), table.T, table[:, ::2], table.astype(">f4"), numpy.array([True, False]),
                      numpy.array([numpy.nan, numpy.inf]), numpy.array([1 + 2j], ">c8"), numpy.zeros(2, ">f2")):
            with self.subTest(array.dtype.str, shape=array.shape), tempfile.TemporaryDirectory() as folder:
                argument = Array("argument_0", array, True)
                argument.described(pathlib.Path(folder))
                after = argument.loaded(pathlib.Path(folder) / "argument_0.npy")
                self.assertEqual(after.dtype, array.dtype)
                numpy.testing.assert_array_equal(after, array)
        with self.assertRaisesRegex(TypeError, "argument_0 is an array of Python objects"):
            self.write(arguments=[numpy.array([None, 1]), numpy.zeros(1), numpy.int32(1)])

    def test_an_answer_becomes_a_reference(self):
        x = numpy.arange(1000, dtype=numpy.float64)
        manifest, _, home, _ = self.write(answer=[x, None, None], atol=1e-3)
        self.assertEqual(manifest["operation"]["reference"], {"npy": {"argument_0": "argument_0_answer.npy"}})
        self.assertEqual(manifest["operation"]["tolerance"], {"absolute": 1e-3, "relative": 1e-5})
        self.assertEqual(numpy.load(home / "argument_0_answer.npy").dtype, numpy.float32)
        with self.assertRaisesRegex(ValueError, "answer.* 3 elements.* 1000"):
            self.write(answer=[numpy.zeros(3, numpy.float32), None, None])
        with self.assertRaisesRegex(TypeError, "answer has 1 entries and arguments 3"):
            self.write(answer=[x])
        self.assertEqual(self.write(answer=[x, None, None], verify=lambda a, b: True)[0]["operation"]["reference"], "none")

    def test_grid_and_block_follow_the_conventions(self):
        both = {"block_size_x": [32], "block_size_y": [2], "tile": [1, 2]}
        launch = self.write(problem_size=(4096, numpy.int64(77)), tune_params=both)[0]["launch"]
        self.assertEqual(launch["grid"], ["ceil_div(4096, block_size_x)", "ceil_div(77, block_size_y)", "1"])
        self.assertEqual(launch["block"], ["block_size_x", "block_size_y", "1"])
        launch = self.write(problem_size="tile", tune_params=both, grid_div_x=[])[0]["launch"]
        self.assertEqual(launch["grid"][0], "tile")
        launch = self.write(problem_size=("tile*10", 3), tune_params=both, grid_div_x=["block_size_x/tile", "tile"],
                            grid_div_y=4)[0]["launch"]
        self.assertEqual(launch["grid"][:2], ["ceil_div(int(tile * 10), int(block_size_x / tile) * tile)", "ceil_div(3, 4)"])
        self.assertEqual(self.write(tune_params={"n": [1]})[0]["launch"]["block"], ["256", "1", "1"])
        launch = self.write(tune_params={"bx": [64], "by": [2]}, block_size_names=["bx", "by"])[0]["launch"]
        self.assertEqual(launch["block"], ["bx", "by", "1"])

    def test_macros_are_the_originals(self):
        text = SOURCE.replace("weights[0]", "grid_size_x")
        manifest = self.write(source=text)[0]
        self.assertEqual(manifest["macros"], {"block_size_x": "block_size_x", "block_size_y": "1", "block_size_z": "1",
                                              "grid_size_x": "ceil_div(1000, block_size_x)", "kernel_tuner": "1"})
        self.assertNotIn("grid_size_x", self.write()[0]["macros"])
        manifest, _, _, rows = self.write(defines={"A": "block_size_x*2", "B": 3, "C": lambda p: f"f{p['block_size_x']}"})
        self.assertEqual(manifest["compile_options"], ["-DA={block_size_x}*2", "-DB=3", "-DC={define_C}"])
        self.assertEqual([row["define_C"] for row in rows], ["f32", "f64"])
        self.assertNotIn("macros", self.write(defines={})[0])

    def test_template_arguments(self):
        source = SOURCE.replace("__global__", "template <typename T, int B> __global__")
        manifest = self.write("scale<float, block_size_x, block_size_x*2, true>", source)[0]
        self.assertEqual(manifest["template_arguments"], ["'float'", "block_size_x", "block_size_x * 2", "true"])
        self.assertIn("-Dblock_size_x={block_size_x}", manifest["compile_options"])
        manifest, _, _, rows = self.write("scale<V<block_size_x>>", source)
        computed = manifest["template_arguments"][0]
        self.assertEqual([row[computed] for row in rows], ["V<32>", "V<64>"])

    def test_restrictions(self):
        two = {"block_size_x": [32, 2048], "tile": [1, 2]}
        manifest, _, _, rows = self.write(tune_params=two, restrictions=["block_size_x % 32 == 0", "tile < 2"])
        self.assertEqual([c["require"] for c in manifest["constraints"]],
                         ["block_size_x % 32 == 0", "tile < 2", "block_size_x <= 1024"])
        self.assertIsNone(rows)
        for restriction in ("str(tile) in '2 4'", "(tile, block_size_x) >= (2, 0)"):
            rows = self.write(tune_params=two, restrictions=["tile > 1 or True", restriction])[3]
            self.assertEqual(rows, [{"block_size_x": "32", "tile": "2"}])
        for restriction in (lambda p: p["tile"] == 2, [lambda p: p["tile"] == 2], [lambda tile, block_size_x: tile == 2],
                            [(lambda tile: tile == 2, ["tile"])], "str(tile) == '2'"):
            rows = self.write(tune_params=two, restrictions=restriction)[3]
            self.assertEqual(rows, [{"block_size_x": "32", "tile": "2"}])
        with self.assertRaisesRegex(ValueError, "no configuration"):
            self.write(restrictions=lambda p: False)
        with self.assertRaisesRegex(ValueError, "'tiel'"):
            self.write(tune_params=two, restrictions=["tiel == 1"])

    def test_functions_of_the_configuration_are_listed(self):
        manifest, _, _, rows = self.write(problem_size=lambda p: (10 * p["block_size_x"], 3), grid_div_y=[lambda p: 2],
                                          smem_args={"size": lambda p: p["block_size_x"] * 4})
        self.assertEqual(manifest["launch"]["grid"], ["blocks_x", "blocks_y", "blocks_z"])
        self.assertEqual(rows[1], {"block_size_x": "64", "blocks_x": "10", "blocks_y": "2", "blocks_z": "1",
                                   "shared_bytes": "256"})
        self.assertEqual(manifest["parameters"][-1], {"name": "shared_bytes", "values": [128, 256]})

    def test_constant_memory(self):
        manifest, config, home, _ = self.write(cmem_args={"weights": numpy.arange(4, dtype=numpy.float32)})
        self.assertEqual(manifest["constants"], {"weights": "constant_weights"})
        self.assertEqual(self.buffers(manifest)["constant_weights"]["role"], "in")
        self.assertEqual(config["problems"][0]["elements_of_constant_weights"], 4)
        self.assertEqual(numpy.load(home / "constant_weights.npy").tolist(), [0, 1, 2, 3])

    def test_names_that_are_paths_are_refused(self):
        with self.assertRaisesRegex(ValueError, "cmem_args: '/../../w'"):
            self.write(cmem_args={"/../../w": numpy.zeros(4, numpy.float32)})
        for name in ("../scale", "/tmp/scale", "a/b<1>"):
            with self.assertRaisesRegex(ValueError, "kernel_name"):
                self.write(name)

    def test_compiler_options(self):
        options = ["-O3", "-arch=sm_80", "-std=c++11", "-use_fast_math", "-I/usr/include", "-lineinfo"]
        self.assertEqual(self.write(compiler_options=options)[0]["compile_options"],
                         ["-O3", "-arch=sm_80", "-std=c++11", "-use_fast_math", "-lineinfo"], "tiletune knows nvcc's options")

    def test_values_of_parameters(self):
        values = {"block_size_x": numpy.array([32, 64]), "f": [0.5, 1.0], "s": ["a", "b"], "b": [True], "twice": [1, 1, 2]}
        manifest = self.write(tune_params=values)[0]
        self.assertEqual([p["values"] for p in manifest["parameters"]], [[32, 64], [0.5, 1.0], ["a", "b"], [True], [1, 2]])
        for bad, what in (({"x": []}, "no values"), ({"a b": [1]}, "identifier"), ({"x": [1, "a"]}, "mixes"),
                          ({"x": [(1, 2)]}, "only numbers"), ({"time": [1]}, "meaning of its own")):
            with self.assertRaisesRegex(ValueError, what):
                self.write(tune_params=bad)


class ReadOnlyArguments(fixture.SandboxTest):
    """A kernel's parameters are p0, p1, ...; each statement does something with its own."""

    def read_only(self, statements, before="", kind="float *", **keys):
        parameters = ", ".join(f"{kind}p{number}" for number in range(len(statements)))
        body = " ".join(re.sub(r"\bp\b", f"p{number}", statement) for number, statement in enumerate(statements))
        text = f"{before}\n__global__ void k({parameters}, float *o, int i) {{ {body} o[i] = 1; }}"
        return Source(text, None).read_only("k", len(statements) + 2, **keys)

    def test_what_is_written_in_whatever_way(self):
        before = """#define W(x) x[i] = 1
typedef float row[3]; struct S { float a[2]; };
__device__ void f(float *x) { *x = 1; } __device__ void g(const float *x, float &y) { y = x[1]; }
__device__ __noinline__ void h(float *x) { x[0] = 2; }"""
        writes = ["p[0] = 1;", "(p[i]) += 1;", "W(p);", "f(p + i);", "g(o, p[1]);", "h(p);", "atomicAdd(&p[i], 1.f);", "++*p;",
                  "((row *)p)[i][2] = 1;", "((S *)p)[i].a[i & 1] = 1;", '(void)"http://x"; p[i] = 1;',
                  "{ float *q = i ? p : o; q[i] = 3; }", "{ auto &r = p[1]; r = 1; }", "for (float *q = p; q < p + i; ++q) *q = 0;"]
        self.assertEqual(self.read_only(writes, before), [False] * (len(writes) + 1) + [True])

    def test_what_is_only_read(self):
        reads = ["o[0] += p[i];", "if (p[1] == 0) o[1] = p[2];", "/* p[0] = 1 */ o[2] = ((float4 *)p)[i].x;", ""]
        self.assertEqual(self.read_only(reads), [True] * len(reads) + [False, True])

    def test_configurations_differ(self):
        keys = {"parameters": [{"name": "A", "values": [0, 1]}, {"name": "B", "values": list(range(5))}],
                "macros": {"A": "A", "B": "B"}}
        statements = ["if (A == 1 && B == 3) p[i] = 1;", "o[0] = p[B];"]
        self.assertEqual(self.read_only(statements, **keys), [False, True, False, True])
        keys["parameters"][1]["values"] = list(range(50))
        self.assertEqual(self.read_only(statements, **keys), [False, False, False, True], "not all were compiled")
        self.assertEqual(self.read_only(["o[0] = p[B];"], kind="const float *", **keys), [True, False, True])

    def test_what_does_not_compile_proves_nothing(self):
        self.assertEqual(self.read_only(["o[0] = p[NOWHERE];"]), [False] * 3)
        self.assertEqual(Source("__global__ void other(const float *x) {}", None).read_only("k", 1), [False])

