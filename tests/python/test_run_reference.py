import io
import unittest

import fixture  # noqa: F401: sets the path

import run_reference

try:
    import numpy
except ImportError:
    numpy = None


class Short(io.BytesIO):
    """A file that takes at most so many bytes at a time, as Linux takes at most 2 GiB."""

    def write(self, data):
        return super().write(bytes(data)[:5])


class Files(unittest.TestCase):
    @unittest.skipUnless(numpy, "needs NumPy")
    def test_outputs_are_written_to_their_end(self):
        for array in (numpy.arange(7, dtype="f8").reshape(1, 7), numpy.zeros(0), numpy.array([True, False, True])):
            file = Short()
            run_reference.write_all(file, array)
            self.assertEqual(file.getvalue(), array.tobytes())

    def test_what_does_not_fit_into_a_pipe_is_dropped(self):
        import os

        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        os.set_blocking(writer, False)
        stream = io.TextIOWrapper(run_reference.Bounded(writer), "utf-8", "backslashreplace", write_through=True)
        print("first", "\ud800", file=stream)
        print("x" * 1000000, file=stream)
        self.assertTrue(os.read(reader, 1 << 20).startswith(b"first \\ud800\nxx"))
        stream.detach()
