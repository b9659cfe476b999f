"""The kernel's arguments as tiletune's buffers and scalars."""
import os
import pathlib
import tempfile
import warnings

import numpy

TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool",
         **{f"{sign}int{bits}": f"{letter}{bits}" for bits in (8, 16, 32, 64) for sign, letter in (("", "i"), ("u", "u"))}}
PIECE_BYTES = 1 << 20


def _as_elements(array):
    """A row of elements of a type that tiletune has: complex numbers as pairs, others as their bytes."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    if flat.dtype.name in ("complex64", "complex128"):
        return flat.view(numpy.float32 if flat.dtype.name == "complex64" else numpy.float64)
    return flat if flat.dtype.name in TYPES else flat.view(numpy.uint8)


class LargeFiles:
    """Large arrays as .npy files until the script ends: several sweeps on one array write it once."""

    LEAST_BYTES = 1 << 24

    def __init__(self):
        self.folder = None

    def save(self, path, elements):
        if elements.nbytes < self.LEAST_BYTES:
            numpy.save(path, elements)
            return
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="tiletune_arrays_")
        known = pathlib.Path(self.folder.name) / f"{elements.dtype.name}_{elements.size}.npy"
        if not known.exists() or not _same_bytes(numpy.load(known, mmap_mode="r"), elements):
            known.unlink(missing_ok=True)  # earlier links to it keep what they have
            numpy.save(known, elements)
        os.link(known, path)


def _same_bytes(one, other):
    """Of rows of elements, by pieces that stay in a cache: no array of all comparisons is made."""
    if one.nbytes != other.nbytes:
        return False
    one, other = one.view(numpy.uint8), other.view(numpy.uint8)
    return all(numpy.array_equal(one[begin:begin + PIECE_BYTES], other[begin:begin + PIECE_BYTES])
               for begin in range(0, one.size, PIECE_BYTES))


_large_files = LargeFiles()


class Array:
    """One array in device memory: `name`, and the `elements` that it holds before a launch."""

    def __init__(self, name, array, is_written=True):
        if array.dtype.hasobject:
            raise TypeError(f"arguments: {name} is an array of Python objects; give it numbers, as with "
                            "astype(numpy.float32)")
        self.name, self.array, self.is_written = name, array, is_written
        self.elements = _as_elements(array)
        self.dimension = f"elements_of_{name}"

    def described(self, folder):
        """Its entry in the manifest; its numbers go into `folder`, or are left to tiletune."""
        buffer = {"name": self.name, "type": TYPES[self.elements.dtype.name], "elements": self.dimension,
                  "role": "inout" if self.is_written else "in"}
        if folder is not None:
            if self.array.size == 0:
                raise ValueError(f"arguments: {self.name} is an array without elements")
            _large_files.save(folder / f"{self.name}.npy", self.elements)
            buffer["values"] = {"npy": f"{self.name}.npy"}
        return buffer

    def save_answer(self, folder, answer):
        elements = _as_elements(numpy.asarray(answer).astype(self.array.dtype, copy=False))
        if elements.size != self.elements.size:
            raise ValueError(f"answer: the array for {self.name} has {numpy.size(answer)} elements, the argument "
                             f"{self.array.size}")
        numpy.save(folder / f"{self.name}_answer.npy", elements)
        return f"{self.name}_answer.npy"

    def loaded(self, file):
        """What a kernel left, in the shape and type of the argument."""
        dtype = self.array.dtype
        return numpy.load(file).reshape(-1).view(dtype.newbyteorder("=")).astype(dtype).reshape(self.array.shape)


def scalar(position, value):
    name = value.dtype.name
    if name not in TYPES:
        raise TypeError(f"arguments: the scalar at position {position} has the type {name}, which is not supported; pass "
                        "it in an array")
    if not numpy.isfinite(value):
        raise ValueError(f"arguments: the scalar at position {position} is {value}; pass it in an array")
    if numpy.issubdtype(value.dtype, numpy.integer) and abs(int(value)) >= 1 << 63:
        raise ValueError(f"arguments: the scalar at position {position} is {value}; expressions of a manifest have 64 bits "
                         "with a sign; pass it in an array")
    return {"scalar": f"argument_{position}", "type": TYPES[name], "value": repr(value.item()).lower()}


class Arguments:
    """`arrays` by position (None for scalars), `constants` in constant memory by symbol."""

    def __init__(self, arguments, cmem_args, answer):
        answer = list(answer) if answer is not None else [None] * len(arguments)
        if len(answer) != len(arguments):
            raise TypeError(f"answer has {len(answer)} entries and arguments {len(arguments)}; write None for each argument "
                            "that is not compared")
        self.values, self.answer, self.arrays, self.passed = list(arguments), answer, [], []
        for position, value in enumerate(arguments):
            if isinstance(value, numpy.ndarray):
                self.arrays.append(Array(f"argument_{position}", value))
                self.passed.append({"buffer": self.arrays[-1].name})
            elif isinstance(value, numpy.generic):
                self.arrays.append(None)
                self.passed.append(scalar(position, value))
                if answer[position] is not None:
                    raise TypeError(f"answer: the argument at position {position} is a scalar, which no kernel changes; "
                                    "write None")
            else:
                raise TypeError(f"arguments: the one at position {position} is a {type(value).__name__}; use NumPy arrays, "
                                "and scalars such as numpy.int32(5)")
        for symbol in cmem_args or {}:
            if not symbol.isidentifier():
                raise ValueError(f"cmem_args: {symbol!r} is not a name; use that of a __constant__ array")
        self.constants = {symbol: Array(f"constant_{symbol}", numpy.asarray(value), False)
                          for symbol, value in (cmem_args or {}).items()}

    def set_read_only(self, read_only):
        """Which positions a kernel does not write to. A kernel writes to something, and to what has an answer."""
        arrays = [(position, array) for position, array in enumerate(self.arrays) if array is not None]
        for position, array in arrays:
            array.is_written = not read_only[position] or self.answer[position] is not None
        if not any(array.is_written for _, array in arrays):
            for _, array in arrays:
                array.is_written = True
        for place, (first, one) in enumerate(arrays):
            for second, other in arrays[place + 1:]:
                if (one.is_written or other.is_written) and numpy.shares_memory(one.array, other.array):
                    # Each array has memory of its own on the GPU: what is written through one is not seen through another.
                    warnings.warn(f"arguments: the arrays at positions {first} and {second} overlap, and the kernel may "
                                  "write to one of them; on the GPU each is an array of its own", UserWarning)

    @property
    def buffers(self):
        return [array for array in self.arrays if array is not None] + list(self.constants.values())

    def after_launch(self, folder):
        """The arguments after a launch whose outputs lie in `folder`; what is only read, as it was passed."""
        return [array.loaded(folder / f"{array.name}.npy") if array is not None and array.is_written else value
                for value, array in zip(self.values, self.arrays)]
