"""Runs a function that computes the outputs of an operation with NumPy, for tiletune.

    python3 run_reference.py --facts        print as JSON which Python this is and where its modules lie
    python3 run_reference.py TASK.json      run the function that the task names on the arrays that it names

The function gets two dictionaries: the input arrays by name, and the sizes and scalars of the problem by name.
It returns the output array, or a dictionary of arrays where the operation has several outputs.
"""

import importlib.util
import io
import json
import os
import sys
import traceback


def places():
    """Files and folders that this Python reads, but no folder that holds the user's home."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path}
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.rstrip("\n").split(None, 5)
            if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
                found.add(os.path.dirname(fields[5]))
    home = os.path.join(os.path.realpath(os.path.expanduser("~")), "")
    folders = {os.path.realpath(place) for place in found if place}
    folders = {folder for folder in folders if not home.startswith(os.path.join(folder, ""))}
    return sorted(folders | {sys.executable, os.path.realpath(sys.executable)})


def facts():
    answer = {"executable": sys.executable, "error": ""}
    try:
        import numpy  # noqa: F401: loads its libraries

        answer["places"] = places()
    except ImportError as error:
        answer["error"] = str(error)
    print(json.dumps(answer))


REMEDY = "Correct the function."


class Refused(Exception):
    """What the function returned is not what the operation needs."""

    def __init__(self, reason, remedy=REMEDY):
        super().__init__(reason)
        self.remedy = remedy


class Bounded(io.RawIOBase):
    """A pipe that is read at the end: what does not fit into it is dropped."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def fileno(self):
        return self.descriptor

    def writable(self):
        return True

    def write(self, data):
        try:
            os.write(self.descriptor, data)
        except OSError:
            pass
        return len(data)


def bound_printing():
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = io.TextIOWrapper(Bounded(descriptor), "utf-8", "backslashreplace", write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def function_of(task):
    sys.path.append(os.path.dirname(task["source"]))
    spec = importlib.util.spec_from_file_location("tiletune_reference", task["source"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, task["function"], None)
    if not callable(function):
        defined = [name for name, value in vars(module).items()
                   if callable(value) and getattr(value, "__module__", "") == module.__name__]
        raise Refused(f"it has no function {task['function']}",
                      f"It defines {', '.join(defined[:12])}: correct /operation/reference/function."
                      if defined else "Define it.")
    return function


def float_of_bits(bits, name):
    """The numbers that bf16 or fp8 of these bits are, as float32."""
    import numpy

    bits = bits.view(f"<u{bits.itemsize}")
    if name == "bf16":
        return (bits.astype("u4") << 16).view("f4")
    mantissa_bits, bias = {"e4m3": (3, 7), "e5m2": (2, 15)}[name]
    codes = numpy.arange(256)
    exponents = (codes & 0x7F) >> mantissa_bits
    mantissas = codes & ((1 << mantissa_bits) - 1)
    numbers = numpy.where(exponents == 0, numpy.ldexp(1.0 * mantissas, 1 - bias - mantissa_bits),
                          numpy.ldexp(1.0 * mantissas + (1 << mantissa_bits), exponents - bias - mantissa_bits))
    if name == "e4m3":
        numbers[(codes & 0x7F) == 0x7F] = numpy.nan
    else:
        numbers[exponents == 31] = numpy.where(mantissas[exponents == 31] == 0, numpy.inf, numpy.nan)
    return numpy.where(codes < 0x80, numbers, -numbers).astype("f4")[bits]


def loaded(each):
    import numpy

    array = numpy.load(each["path"], mmap_mode="r")
    if each["bits"]:
        array = float_of_bits(numpy.asarray(array).reshape(-1), each["bits"])
    return array.reshape(each["shape"])


def checked(name, value, output):
    """The array as numbers of the output's type, in rows."""
    import numpy

    array = numpy.asarray(value)
    wanted = tuple(output["shape"])
    if array.shape != wanted and array.shape != (output["elements"],):
        raise Refused(f"{name} has shape {array.shape}, expected {wanted}")
    target = numpy.dtype(output["type"])
    allowed = "biuf" if target.kind == "f" else "biu"
    if array.dtype.kind not in allowed:
        raise Refused(f"{name} has elements of type {array.dtype}, expected numbers of type {target}")
    converted = array.astype(target)
    if target.kind == "f":
        if not numpy.isfinite(converted).all():
            raise Refused(f"{name} has elements that are infinite or not a number")
    elif (converted != array).any():
        raise Refused(f"{name} has elements that do not fit into {target}")
    return converted


def write_all(file, array):
    """One call writes 2 GiB at most."""
    import numpy

    left = numpy.ascontiguousarray(array).reshape(-1).view("u1")
    while left.size:
        left = left[file.write(left):]


def run(task):
    function = function_of(task)
    inputs = {name: loaded(each) for name, each in task["inputs"].items()}
    result = function(inputs, dict(task["problem"]))
    outputs = task["outputs"]
    if result is None:
        raise Refused("it returned None", "Does the function lack a return?")
    if not isinstance(result, dict):
        if len(outputs) > 1:
            raise Refused(f"it did not return a dictionary; expected the outputs {', '.join(outputs)}")
        result = {next(iter(outputs)): result}
    for name, output in outputs.items():
        if name not in result:
            raise Refused(f"it did not return '{name}'")
        array = checked(name, result[name], output)
        with open(output["path"], "r+b", buffering=0) as file:
            write_all(file, array)


def place_of(error, source):
    """Where in the file of the function it was raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
    return f"line {lines[-1]}: " if lines else ""


def remedy_of(error, task):
    """What to do about something that a function raised."""
    if isinstance(error, KeyError):
        return (f"The inputs are {', '.join(task['inputs']) or 'none'}, "
                f"and the problem has {', '.join(task['problem'])}.")
    if type(error).__name__ == "AxisError" or "too many indices" in str(error):
        return ('A buffer with "elements" is an array of 1 dimension, one with "rows" and "columns" of 2: '
                "reshape it, or describe it so.")
    return REMEDY


def as_text(words):
    return words[:2000].encode("utf-8", "replace").decode()


def main():
    if sys.argv[1:] == ["--facts"]:
        return facts()
    bound_printing()
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    reason = remedy = ""
    try:
        run(task)
    except Refused as error:
        reason, remedy = str(error), error.remedy
    except BaseException as error:  # whatever a stranger's function raises, sys.exit() too
        reason = f"{place_of(error, task['source'])}{type(error).__name__}: {error}"
        remedy = remedy_of(error, task)
    with open(task["answer"], "r+", encoding="utf-8") as file:
        json.dump({"reason": as_text(reason), "remedy": as_text(remedy)}, file)


if __name__ == "__main__":
    main()
