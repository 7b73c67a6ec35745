"""CuPy's interface on the simulator: what `lanewise.cp` gives where there is no GPU. Device memory is this computer's own."""

from __future__ import annotations

import importlib

from lanewise.twin import creation
from lanewise.twin.array import ndarray
from lanewise.twin.creation import *  # noqa: F403  its __all__ is CuPy's names

__all__ = ["ndarray", *creation.__all__]

_PARTS = {"cuda", "random", "linalg", "testing"}  # submodules of CuPy's name, loaded when asked for
_ELSEWHERE = {
    "RawKernel": "raw", "RawModule": "raw", "tensor_map": "tensor_map",
    "get_default_memory_pool": "cuda", "get_default_pinned_memory_pool": "cuda", "is_available": "cuda",
}  # fmt: skip


def __getattr__(name: str):
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _ELSEWHERE:
        value = getattr(importlib.import_module(f"{__name__}.{_ELSEWHERE[name]}"), name)
    elif name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        from lanewise.twin.functions import lookup

        try:
            value = lookup(name)
        except AttributeError:
            raise AttributeError(f"The simulator's cp has no {name!r}: do this step with NumPy (cp.asnumpy), or run it on a GPU, where cp is CuPy.") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from lanewise.twin.functions import FUNCTIONS, HOST_VALUES, UFUNCS

    return sorted({*__all__, *_PARTS, *_ELSEWHERE, *FUNCTIONS, *HOST_VALUES, *UFUNCS})
