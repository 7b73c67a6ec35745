"""From device arrays to NumPy's and back: every function of the twin is a NumPy function called through here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lanewise.twin import array as device


def refuse(value: Any) -> None:
    """CuPy never moves data between host and device unasked: raises its TypeError, with what to do."""
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}: move it to the device with cp.asarray first.")
    raise TypeError(f"Unsupported type {type(value)}")


def unwrap(value: Any, sources: list, sequences: bool) -> Any:
    """The NumPy value behind `value`; device arrays met on the way are appended to `sources`.

    With `sequences` lists and tuples may hold arrays (concatenate); without, a list is refused as CuPy does.
    """
    if isinstance(value, device.ndarray):
        sources.append(value)
        return value._host
    if isinstance(value, np.ndarray):
        refuse(value)
    if isinstance(value, (list, tuple)) and sequences:
        return type(value)(unwrap(item, sources, True) for item in value)
    return value


def wrap(value: Any, sources: Iterable = ()) -> Any:
    """Results as CuPy gives them: arrays and NumPy scalars become device arrays; a view stays a view of its source."""
    if isinstance(value, np.ndarray):
        root = value
        while isinstance(root.base, np.ndarray):
            root = root.base
        for source in sources:
            if source._memory.root is root:
                return device.ndarray._of(value, source._memory, source)
        return device.ndarray._of(value)
    if isinstance(value, np.generic):
        return device.ndarray._of(np.asarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(wrap(item, sources) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(wrap(item, sources) for item in value)
    return value


def call(function: Callable, args: tuple, kwargs: dict, sequences: bool = True) -> Any:
    """Calls a NumPy function on device arrays. `out=` is written in place and returned; NumPy's warnings about values are silenced, as a GPU has none."""
    sources: list = []
    out = kwargs.pop("out", None)
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if out is not None:
        if not isinstance(out, device.ndarray):
            refuse(out)
        kwargs["out"] = out._host
    host_args = [unwrap(arg, sources, sequences) for arg in args]
    host_kwargs = {name: unwrap(arg, sources, sequences) for name, arg in kwargs.items() if name != "out"}
    if out is not None:
        host_kwargs["out"] = out._host
    with np.errstate(all="ignore"):
        result = function(*host_args, **host_kwargs)
    if out is not None:
        out._memory.mark(out._host)
        return out
    if isinstance(result, (bool, int, float)):  # allclose, count_nonzero: a device value in CuPy
        result = np.asarray(result)
    return wrap(result, sources)


def device_function(function: Callable, name: str) -> Callable:
    """The twin of a NumPy function that takes arrays, or sequences of arrays."""

    @functools.wraps(function, assigned=("__name__",), updated=())
    def twin(*args, **kwargs):
        return call(function, args, kwargs)

    del twin.__wrapped__  # its signature would promise NumPy arrays
    twin.__name__ = twin.__qualname__ = name
    twin.__module__ = "lanewise.cp"
    twin.__doc__ = f"numpy.{name} for device arrays: same arguments; results are device arrays (0-d ones for a single value)."
    return twin


def device_ufunc(function: np.ufunc, name: str) -> Callable:
    """The twin of an elementwise function: arrays and scalars, no lists."""

    def twin(*args, **kwargs):
        for arg in args:
            if not isinstance(arg, (device.ndarray, bool, int, float, complex, np.generic)):
                if arg is None and len(args) > function.nin:
                    continue  # CuPy too takes a positional out=None
                refuse(arg)
        if len(args) > function.nin:
            *args, kwargs["out"] = args
        return call(function, tuple(args), kwargs, sequences=False)

    twin.__name__ = twin.__qualname__ = name
    twin.__module__ = "lanewise.cp"
    twin.__doc__ = f"numpy.{name} on every element of device arrays (or scalars); the result is a device array."
    return twin
