"""What scripts import from kernel_tuner.util: error markers and the text of a configuration."""


class ErrorConfig(str):
    """Why a configuration has no time: result["__error__"]. As text, the name of its class."""

    def __new__(cls, *_):
        return super().__new__(cls, cls.__name__)


class InvalidConfig(ErrorConfig):
    """It cannot run on the GPU: tiletune refused it, before or after compiling."""


class CompilationFailedConfig(ErrorConfig):
    """It does not compile."""


class RuntimeFailedConfig(ErrorConfig):
    """It failed when it ran, or its result is wrong."""


def get_config_string(params, keys=None, units=None):
    """"block_size_x=64, time=1.234ms": floats with three digits. `keys`: only these; `units` by key."""
    units = units if isinstance(units, dict) else {}
    texts = []
    for key, value in params.items():
        if keys and key not in keys:
            continue
        text = f"{value:.3f}" if isinstance(value, float) else str(value)
        texts.append(f"{key}={text}" + ("" if isinstance(value, ErrorConfig) else units.get(key, "")))
    return ", ".join(texts)
