"""Runs a function that computes the outputs of an operation with NumPy, for tiletune.

    python3 run_reference.py --facts        print as JSON which Python this is and where its modules lie
    python3 run_reference.py TASK.json      run the function that the task names on the arrays that it names

The function gets two dictionaries: the input arrays by name, and the sizes and scalars of the problem by name.
It returns the output array, or a dictionary of arrays where the operation has several outputs.
"""

import importlib.util
import json
import os
import sys
import traceback


def facts():
    answer = {"executable": sys.executable, "error": ""}
    try:
        import numpy

        places = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(sys.executable), *sys.path]
        places += [os.path.dirname(numpy.__file__)]
        answer["folders"] = sorted({os.path.realpath(place) for place in places if place})
    except ImportError as error:
        answer["error"] = str(error)
    print(json.dumps(answer))


REMEDY = "Correct the function."


class Refused(Exception):
    """What the function returned is not what the operation needs."""

    def __init__(self, reason, remedy=REMEDY):
        super().__init__(reason)
        self.remedy = remedy


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


def checked(name, value, output):
    """The array as numbers of the output's type, in rows."""
    import numpy

    array = numpy.asarray(value)
    wanted = tuple(output["shape"])
    if array.shape != wanted and array.shape != (output["elements"],):
        raise Refused(f"{name} has the shape {array.shape}, and {wanted} is needed")
    target = numpy.dtype(output["type"])
    allowed = "biuf" if target.kind == "f" else "biu"
    if array.dtype.kind not in allowed:
        raise Refused(f"{name} has elements of type {array.dtype}, and numbers of type {target} are needed")
    converted = array.astype(target)
    if target.kind == "f":
        if not numpy.isfinite(converted).all():
            raise Refused(f"{name} has elements that are infinite or not a number")
    elif (converted != array).any():
        raise Refused(f"{name} has elements that do not fit into {target}")
    return converted


def run(task):
    import numpy

    function = function_of(task)
    inputs = {name: numpy.load(each["path"], mmap_mode="r").reshape(each["shape"])
              for name, each in task["inputs"].items()}
    result = function(inputs, dict(task["problem"]))
    outputs = task["outputs"]
    if result is None:
        raise Refused("it returned None", "Does the function lack a return?")
    if not isinstance(result, dict):
        if len(outputs) > 1:
            raise Refused(f"it returned no dictionary, and the outputs {', '.join(outputs)} are needed")
        result = {next(iter(outputs)): result}
    for name, output in outputs.items():
        if name not in result:
            raise Refused(f"it returned no '{name}'")
        array = checked(name, result[name], output)
        with open(output["path"], "r+b", buffering=0) as file:
            file.write(memoryview(numpy.ascontiguousarray(array).reshape(-1)).cast("B"))


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


def main():
    if sys.argv[1:] == ["--facts"]:
        return facts()
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
        json.dump({"done": True, "reason": reason[:2000], "remedy": remedy[:2000]}, file)


if __name__ == "__main__":
    main()
