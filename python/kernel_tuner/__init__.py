"""Runs scripts written for Kernel Tuner with tiletune: PYTHONPATH=$(tiletune python-path) python3 matmul.py"""
import sys

from kernel_tuner.interface import run_kernel, tune_kernel

__version__ = "1.5.0"  # the version of Kernel Tuner whose calls and results these are
__all__ = ["run_kernel", "tune_kernel", "__version__"]

_REMEDIES = {"accuracy": "choose the type with a parameter such as TYPE = ['float', 'half'], and compare rows by relative_error",
             "energy": "each row has the power and the SM clock: tiletune sweep --sustained",
             "nvml": "each row has the power and the SM clock: tiletune sweep --sustained",
             "searchspace": "tiletune space lists the configurations of a space",
             "strategies": "name a strategy: tune_kernel(..., strategy='random_sample')"}


class _Missing:
    """Names a submodule of Kernel Tuner that the stand-in lacks; the last finder that is asked."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        parent, _, module = name.partition(".")
        if parent != __name__ or module.startswith("_"):
            return None
        remedy = _REMEDIES.get(module.partition(".")[0], "docs/from_kernel_tuner.md says what is there")
        raise ImportError(f"{name} is not part of tiletune's stand-in for Kernel Tuner: {remedy}", name=name)


if _Missing not in sys.meta_path:
    sys.meta_path.append(_Missing)


def __getattr__(name):
    if name in ("tune_kernel_T1", "tune_cache", "store_results", "create_device_targets"):
        raise AttributeError(f"kernel_tuner.{name} is not part of tiletune's stand-in for Kernel Tuner; see "
                             "docs/from_kernel_tuner.md for the command that does the same")
    raise AttributeError(f"module 'kernel_tuner' has no attribute '{name}'")
