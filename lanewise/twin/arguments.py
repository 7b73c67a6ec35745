"""The check that stands before every launch, on the simulator and in front of CuPy: the call's form, in CuPy's own error types."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_form(grid: Any, block: Any, args: Any) -> None:
    """Raises TypeError unless grid, block and args are tuples and no argument lies in host memory."""
    for name, value in (("grid", grid), ("block", block)):
        if not isinstance(value, tuple):
            hint = f"({value},)" if isinstance(value, (int, np.integer)) else "(4, 1)"
            raise TypeError(f"{name} must be a tuple of one to three ints, not {type(value).__name__}: write {hint}.")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple, not {type(args).__name__}: write (x,) for a single argument x.")
    for position, arg in enumerate(args, 1):
        if isinstance(arg, np.ndarray) and arg.size != 1:  # CuPy passes one element by value
            raise TypeError(
                f"You are trying to pass a numpy.ndarray of shape {arg.shape} as a kernel parameter: argument {position} lies in host memory, "
                f"move it to the device with cp.asarray first."
            )
        if isinstance(arg, (list, tuple, str, bytes, dict, set)):
            raise TypeError(f"Unsupported type {type(arg)}: argument {position} must be a device array or a scalar such as cp.int32(5).")


def check_constructor(**values: tuple[Any, type]) -> None:
    """Raises CuPy's TypeError for a code, name, options or backend of the wrong type."""
    for name, (value, wanted) in values.items():
        if not isinstance(value, wanted):
            raise TypeError(f"Argument '{name}' has incorrect type (expected {wanted.__name__}, got {type(value).__name__})")
