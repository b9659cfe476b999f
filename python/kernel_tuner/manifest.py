"""Writes what tiletune reads: a template with its arrays, and a config."""
import json
import math
import re

import numpy

from kernel_tuner.arguments import Array
from kernel_tuner.expressions import Untranslatable, evaluator, translated, with_values, words_of
from kernel_tuner.source import split_arguments

DEFAULT_BLOCK_SIZE_NAMES = ["block_size_x", "block_size_y", "block_size_z"]
RELATIVE_TOLERANCE = 1e-5  # numpy.allclose()'s, which the original uses beside atol
AXES = "xyz"


class Manifest:
    def __init__(self, source, kernel_name, problem_size, arguments, configurations, options):
        self.source, self.arguments, self.configurations, self.options = source, arguments, configurations, options
        match = re.fullmatch(r"\s*([\w:]+)\s*(?:<(.*)>)?\s*", kernel_name, re.S)
        if match is None:
            raise ValueError(f"kernel_name: {kernel_name!r} is not the name of a kernel")
        self.kernel, self.name = match[1], re.sub(r"\W+", "_", match[1])
        self.template_arguments = [self._template_argument(a) for a in split_arguments(match[2] or "")]
        self.block = [self._block_size(axis) for axis in range(3)]
        self.grid = self._grid(problem_size)
        self.macros, self.compile_options, self.folders = {}, [], list(source.folders)
        self._add_defines(options["defines"])
        for option in options["compiler_options"] or []:
            self._add_option(str(option))

    # Values that depend on the configuration: an expression of tiletune, or a computed parameter.

    def _expression(self, value, what, name, as_integer=True):
        names = self.configurations.names
        if callable(value):
            return self.configurations.compute(name, lambda c: int(value(c)) if as_integer else value(c))
        if not isinstance(value, str):
            return repr(int(value))
        try:
            text = translated(value, self.configurations.plain_values, what)
        except Untranslatable:
            function, _ = evaluator(value, names, what)
            return self.configurations.compute(name, lambda c: int(function(c)))
        return text if text in names or text.isdigit() else f"int({text})"

    def _template_argument(self, text):
        names = self.configurations.names
        if not words_of(text, names):
            is_literal = re.fullmatch(r"-?[0-9.]+|true|false", text)
            return text if is_literal else f"'{text}'"
        try:
            return translated(text, self.configurations.plain_values, "kernel_name")
        except (Untranslatable, ValueError):
            return self.configurations.compute(f"template_argument_{len(names)}", lambda c: with_values(text, c))

    def _block_size(self, axis):
        name = self.options["block_size_names"][axis]
        return name if name in self.configurations.values else ("256", "1", "1")[axis]

    def _grid(self, problem_size):
        divisors = [self.options[f"grid_div_{axis}"] for axis in AXES]
        if callable(problem_size) or any(map(_has_function, divisors)):
            return [self.configurations.compute(f"blocks_{axis}", self._blocks(problem_size, divisors, number))
                    for number, axis in enumerate(AXES)]
        sizes = list(problem_size) if numpy.iterable(problem_size) and not isinstance(problem_size, str) else [problem_size]
        if not 1 <= len(sizes) <= 3:
            raise ValueError(f"problem_size has {len(sizes)} dimensions; a grid has one to three")
        for size in sizes:
            if not isinstance(size, (str, int, numpy.integer)):
                raise TypeError(f"problem_size: {size!r} is not supported; use integers, expressions as strings or a function")
        sizes += [1] * (3 - len(sizes))
        return [self._blocks_expression(*of_axis) for of_axis in zip(sizes, divisors, self._block_names(), AXES)]

    def _block_names(self):
        return [name if name in self.configurations.values else None for name in self.options["block_size_names"]]

    def _blocks_expression(self, size, divisor, block_name, axis):
        size = self._expression(size, "problem_size", f"problem_size_{axis}")
        parts = divisor if isinstance(divisor, (list, tuple)) else [block_name or 1] if divisor is None else [divisor]
        parts = [self._expression(part, f"grid_div_{axis}", f"grid_div_{axis}_{number}") for number, part in enumerate(parts)]
        parts = [part for part in parts if part != "1"]
        return f"ceil_div({size}, {' * '.join(parts)})" if parts else size

    def _blocks(self, problem_size, divisors, axis):
        """A function of the configuration: thread blocks along an axis, as the original counts them."""
        names = self.configurations.names

        def number(value, configuration, what):
            if callable(value):
                return value(configuration)
            return int(evaluator(value, names, what)[0](configuration)) if isinstance(value, str) else value

        def blocks(configuration):
            sizes = problem_size(configuration) if callable(problem_size) else problem_size
            sizes = list(sizes) if numpy.iterable(sizes) and not isinstance(sizes, str) else [sizes]
            size = number((sizes + [1, 1, 1])[axis], configuration, "problem_size")
            divisor = divisors[axis]
            if divisor is None:
                divisor = configuration.get(self.options["block_size_names"][axis], 1)
            parts = divisor if isinstance(divisor, (list, tuple)) else [divisor]
            product = math.prod(number(part, configuration, f"grid_div_{AXES[axis]}") for part in parts)
            return math.ceil(float(size) / float(product))

        return blocks

    # What the source is compiled with.

    def _define(self, name, expression):
        """A macro whose value is an expression, beside macros or template arguments."""
        if not self.template_arguments:
            self.macros[name] = expression
        elif expression in self.configurations.names or self.configurations.is_computed(expression):
            self.compile_options.append(f"-D{name}={{{expression}}}")
        elif expression.isdigit():
            self.compile_options.append(f"-D{name}={expression}")
        else:
            function, _ = evaluator(expression.replace("ceil_div", "_ceil_div"), [*self.configurations.names, "_ceil_div"],
                                    name)
            computed = self.configurations.compute(
                f"macro_{name}", lambda c: function({**c, "_ceil_div": lambda a, b: -(-a // b)}))
            self.compile_options.append(f"-D{name}={{{computed}}}")

    def _add_defines(self, defines):
        if defines is not None:
            for name, value in defines.items():
                if not name.isidentifier():
                    raise ValueError(f"defines: {name!r} is not an identifier")
                if callable(value):
                    value = f"{{{self.configurations.compute(f'define_{name}', lambda c, f=value: str(f(c)))}}}"
                else:
                    words = {word: f"{{{word}}}" for word in self.configurations.names}
                    value = with_values(str(value), words if isinstance(value, str) else {})
                self.compile_options.append(f"-D{name}={value}")
            return
        for name in self.configurations.names:
            self._define(name, name)
        for name, size in zip(self.options["block_size_names"], self.block):
            if name not in self.configurations.values:
                self._define(name, size)
        for axis, blocks in zip(AXES, self.grid):
            if self.source.mentions(f"grid_size_{axis}"):
                self._define(f"grid_size_{axis}", blocks)
        self._define("kernel_tuner", "1")

    def _add_option(self, option):
        include = re.fullmatch(r"(?:-I|--include-path)[= ]?(.+)", option)
        if include:
            self.folders.append(include[1])
        else:
            self.compile_options.append(option)

    # The files.

    def _shared_bytes(self):
        smem = self.options["smem_args"] or {}
        if set(smem) - {"size"}:
            raise ValueError(f"smem_args: {sorted(set(smem) - {'size'})[0]!r} is not supported, only 'size'")
        return self._expression(smem.get("size", 0), "smem_args", "shared_bytes")

    def _reference(self, folder):
        arguments = self.arguments
        if self.options["verify"] or all(answer is None for answer in arguments.answer):
            return {"reference": "none"}
        files = {array.name: array.save_answer(folder, answer) if answer is not None else None
                 for array, answer in zip(arguments.arrays, arguments.answer) if array is not None and array.is_written}
        return {"reference": {"npy": files},
                "tolerance": {"absolute": float(self.options["atol"]), "relative": RELATIVE_TOLERANCE}}

    def write(self, folder, config, with_values=True):
        """Writes the template and the config into a folder, arrays only `with_values`. Returns the config's path."""
        arguments = self.arguments
        if not with_values:
            self._launch_nothing()
        if not any(array is not None for array in arguments.arrays):
            raise ValueError("arguments: there is no array; a kernel without arrays has no result")
        home = folder / self.name
        home.mkdir()
        (home / "kernel.cu").write_text(self.source.text, encoding="utf-8")
        shared_bytes = self._shared_bytes()
        parameters, rows = self.configurations.written()
        compiled = {key: value for key, value in (("template_arguments", self.template_arguments), ("macros", self.macros),
                                                  ("compile_options", self.compile_options)) if value}
        if with_values:
            arguments.set_read_only(self.source.read_only(
                self.kernel, len(arguments.arrays), self.folders, parameters=parameters,
                constraints=self.configurations.constraints, **compiled))
        buffers = [array.described(home if with_values else None) for array in arguments.buffers]
        reference = self._reference(home) if with_values else {"reference": "none"}
        manifest = {
            "name": self.name, "summary": "from a script for Kernel Tuner",
            "operation": {"dimensions": [array.dimension for array in arguments.buffers], "buffers": buffers, "flops": "0",
                          "bytes": "0", "accumulation": "1", "bound": "copy", **reference},
            "source": "kernel.cu", "kernel": self.kernel, "parameters": parameters,
            "constraints": self.configurations.constraints,
            "launch": {"grid": self.grid, "block": self.block, "dynamic_shared_bytes": shared_bytes},
            "arguments": arguments.passed, **compiled}
        if arguments.constants:
            manifest["constants"] = {symbol: array.name for symbol, array in arguments.constants.items()}
        (home / "template.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
        config = {"templates": [self.name],
                  "problems": [{array.dimension: max(array.elements.size, 1) for array in arguments.buffers}], **config}
        if rows is not None:
            self.configurations.write_rows(folder / "configurations.csv", rows)
            config["configurations"] = "configurations.csv"
        (folder / "sweep.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
        return folder / "sweep.json"

    def _launch_nothing(self):
        """A replay needs the parameters and restrictions alone."""
        if not self.arguments.buffers:
            self.arguments.arrays = [Array("nothing", numpy.zeros(1, numpy.float32), True)]
            self.arguments.passed = [{"buffer": "nothing"}]
        self.configurations.forget_computed()
        self.grid = self.block = ["1"]
        self.template_arguments, self.macros, self.compile_options = [], {}, []
        self.options["smem_args"] = None

    def write_recording(self, folder, cache):
        """The cache, complete and under the names of the template and the problem, for a replay. Returns its path."""
        known, own = cache.get("tune_params_keys"), self.configurations.names
        if known != own:
            raise ValueError(f"cache: it has the parameters {known}, tune_params {own}; they must be the same, in one order")
        sizes = [max(array.elements.size, 1) for array in self.arguments.buffers]
        (folder / "cache.json").write_text(json.dumps({**cache, "kernel_name": self.name, "problem_size": sizes}),
                                           encoding="utf-8")
        return folder / "cache.json"


def _has_function(divisor):
    return callable(divisor) or (isinstance(divisor, (list, tuple)) and any(map(callable, divisor)))
