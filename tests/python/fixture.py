"""Where the tests find the package, and a tiletune whose sweeps run on the fake GPU worker."""
import os
import pathlib
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TILETUNE_BUILD", ROOT / "build" / "release"))
sys.path.insert(0, str(ROOT / "python"))

WRAPPER = """#!/bin/sh
case "$1 $*" in
  *--replay*) ;;
  sweep*) set -- "$@" --gpu-worker "{build}/fake_gpu_worker" --gpu-worker "{{gpu}}" --gpu-worker {mode} --gpu-worker 0 ;;
esac
exec "{build}/tiletune" "$@"
"""


class SandboxTest(unittest.TestCase):
    """Runs in a folder of its own, with a kernel cache of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tiletune_python_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.use_worker("none")

    def use_worker(self, mode):
        """`mode`: how the fake GPU worker behaves (tests/measure/fake_gpu_worker.cpp)."""
        wrapper = self.folder / "tiletune"
        wrapper.write_text(WRAPPER.format(build=BUILD, mode=mode))
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        variables = {"TILETUNE": str(wrapper), "TILETUNE_HOME": str(ROOT), "XDG_CACHE_HOME": str(self.folder / "cache")}
        for name, value in variables.items():
            self.addCleanup(self._restore, name, os.environ.get(name))
            os.environ[name] = value

    @staticmethod
    def _restore(name, value):
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
