"""Runs scripts written for Kernel Tuner with tiletune: PYTHONPATH=$(tiletune python-path) python3 matmul.py"""
from kernel_tuner.interface import run_kernel, tune_kernel

__version__ = "1.5.0"  # the version of Kernel Tuner whose calls and results these are
__all__ = ["run_kernel", "tune_kernel", "__version__"]


def __getattr__(name):
    if name in ("tune_kernel_T1", "tune_cache", "store_results", "create_device_targets"):
        raise AttributeError(f"kernel_tuner.{name} is not part of tiletune's stand-in for Kernel Tuner; see "
                             "docs/from_kernel_tuner.md for the command that does the same")
    raise AttributeError(f"module 'kernel_tuner' has no attribute '{name}'")
