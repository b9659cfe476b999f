"""The search space: parameters, restrictions, and values that only Python can compute."""
import csv
import inspect

import numpy

from kernel_tuner.expressions import Untranslatable, evaluator, translated

MOST_THREADS = 1024  # of a thread block, on every GPU that tiletune compiles for
MOST_CONFIGURATIONS = 5_000_000  # that are listed; the file has at most 64 MiB


def plain(value):
    """The value without NumPy's types."""
    return value.item() if isinstance(value, numpy.generic) else value


def _key(value):
    """Equal for values that tiletune holds for the same: 1 and 1.0, but not True."""
    return isinstance(value, bool), value


class Configurations:
    """What tiletune tries: `parameters`, `constraints`, and `listed`, the rows, where Python chooses them."""

    def __init__(self, tune_params, restrictions, block_size_names):
        self.values = {name: self._values(name, values) for name, values in dict(tune_params).items()}
        self.constraints = []
        self._computed = {}  # name: function of a configuration
        self._tests = []  # (function of a configuration, names or None for all)
        self.left_to_python = []  # restrictions that are not expressions of tiletune's
        self.plain_values = {name: list(map(plain, values)) for name, values in self.values.items()}
        self._originals = {name: {_key(plain(value)): value for value in values}
                           for name, values in self.values.items()}
        for restriction in self._restriction_list(restrictions):
            self._add_restriction(restriction)
        used = [name for name in block_size_names if name in self.values]
        if used:
            self._add_restriction(f"{' * '.join(used)} <= {MOST_THREADS}", "a thread block has at most 1024 threads")

    @property
    def names(self):
        return list(self.values)

    @staticmethod
    def _values(name, values):
        if not name.isidentifier():
            raise ValueError(f"tune_params: {name!r} is not an identifier; rename the parameter")
        if name in ("grid_size_x", "grid_size_y", "grid_size_z", "time"):
            raise ValueError(f"tune_params: the name {name!r} has a meaning of its own; rename the parameter")
        unique = list({_key(plain(value)): value for value in values}.values())
        if not unique:
            raise ValueError(f"tune_params: {name} has no values")
        for value in unique:
            if not isinstance(plain(value), (bool, int, float, str)):
                raise ValueError(f"tune_params: {name} has the value {value!r}; only numbers, booleans and strings are "
                                 "supported")
        kinds = {"boolean" if isinstance(v, bool) else "string" if isinstance(v, str) else "number"
                 for v in map(plain, unique)}
        if len(kinds) > 1:
            raise ValueError(f"tune_params: {name} mixes {' and '.join(sorted(kinds))} values; use one kind")
        return unique

    @staticmethod
    def _restriction_list(restrictions):
        if restrictions is None:
            return []
        return restrictions if isinstance(restrictions, list) else [restrictions]

    def _add_restriction(self, restriction, why="a restriction of the script"):
        if isinstance(restriction, str):
            self._tests.append(evaluator(restriction, self.names, "restriction"))
            try:
                self.constraints.append({"require": translated(restriction, self.plain_values, "restriction"), "why": why})
            except Untranslatable:
                self.left_to_python.append(restriction)
        elif isinstance(restriction, tuple) and len(restriction) == 2 and callable(restriction[0]):
            function, names = restriction
            self.left_to_python.append(f"a function of {', '.join(names)}")
            self._tests.append((lambda c: function(**{name: c[name] for name in names}), list(names)))
        elif callable(restriction):
            self.left_to_python.append("a function")
            self._tests.append((self._test_of(restriction), None))
        else:
            raise ValueError(f"restrictions: {restriction!r} is not supported; write an expression as a string, or a "
                             "function of a dictionary")

    def _test_of(self, function):
        parameters = inspect.signature(function).parameters.values()
        required = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(required) == 1 and required[0].name not in self.values:
            return function
        return lambda configuration: function(**configuration)

    def compute(self, name, function):
        """Adds a parameter whose value follows from the others; returns its name. Rows are then listed."""
        self._computed[name] = function
        return name

    def forget_computed(self):
        """Where nothing is launched, they determine nothing."""
        self._computed.clear()

    def original(self, name, value):
        """The script's own object for a value that came back from tiletune."""
        return self._originals[name].get(_key(value), value)

    def is_computed(self, name):
        return name in self._computed

    def written(self):
        """(parameters of the manifest, rows of their values or None for all combinations)"""
        rows = self._rows() if self.left_to_python or self._computed else None
        values = dict(self.plain_values)
        for column, name in enumerate(self._computed, len(self.values)):
            values[name] = list({_key(row[column]): row[column] for row in rows}.values())
        return [{"name": name, "values": listed} for name, listed in values.items()], rows

    def _rows(self):
        rows = []
        for configuration in self._walk(0, {}, self._tests_by_depth()):
            computed = [function(dict(configuration)) for function in self._computed.values()]
            rows.append(tuple(map(plain, [*configuration.values(), *computed])))
            if len(rows) > MOST_CONFIGURATIONS:
                raise ValueError(f"more than {MOST_CONFIGURATIONS} configurations, which functions restrict or compute: "
                                 "write restrictions and sizes as strings, which tiletune evaluates itself")
        if not rows:
            raise ValueError("restrictions: no configuration satisfies them")
        return rows

    def _walk(self, depth, chosen, tests):
        """Depth first; a restriction is tested as soon as its names have values."""
        if depth == len(self.values):
            yield chosen
            return
        name = self.names[depth]
        for value in self.values[name]:
            configuration = {**chosen, name: value}
            if all(self._holds(test, configuration) for test in tests[depth]):
                yield from self._walk(depth + 1, configuration, tests)

    def _tests_by_depth(self):
        tests = [[] for _ in self.values]
        for test, names in self._tests:
            positions = range(len(self.values)) if names is None else map(self.names.index, names)
            tests[max(positions, default=0)].append(test)
        return tests

    @staticmethod
    def _holds(test, configuration):
        try:
            return bool(test(configuration))
        except ZeroDivisionError:  # the original does not count it as a violation either
            return True

    def write_rows(self, path, rows):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*self.values, *self._computed])
            writer.writerows(rows)
