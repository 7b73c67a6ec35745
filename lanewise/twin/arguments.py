"""The check that stands before every launch, on the simulator and in front of CuPy: the call's form, then the arguments' types."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_form(grid: Any, block: Any, args: Any) -> None:
    """Raises TypeError unless grid and block are tuples of 1 to 3 ints and args is a tuple (or list) without NumPy arrays."""
    for name, value in (("grid", grid), ("block", block)):
        if not isinstance(value, tuple):
            hint = f"({value},)" if isinstance(value, (int, np.integer)) else "(4, 1)"
            raise TypeError(f"{name} must be a tuple of one to three ints, not {type(value).__name__}: write {hint}.")
        if not 1 <= len(value) <= 3 or not all(isinstance(size, (int, np.integer)) and not isinstance(size, bool) for size in value):
            raise TypeError(f"{name} must be a tuple of one to three ints, but it is {value!r}: use // where you divided.")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple, not {type(args).__name__}: write (x,) for a single argument x.")
    for position, arg in enumerate(args, 1):
        if isinstance(arg, np.ndarray):
            raise TypeError(f"Unsupported type {type(arg)}: argument {position} lies in host memory; move it to the device with cp.asarray first.")
        if isinstance(arg, (list, tuple, str, bytes, dict, set)):
            raise TypeError(f"Unsupported type {type(arg)}: argument {position} must be a device array or a scalar such as cp.int32(5).")


def stand_in(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...]) -> np.ndarray:
    """A NumPy array of this form whose memory is only promised, never touched: enough for checking types and layout."""
    if 0 in shape:
        return np.empty(shape, dtype)
    steps = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    low = -sum(step for step in steps if step < 0)
    extent = low + sum(step for step in steps if step > 0) + dtype.itemsize
    return np.ndarray(shape, dtype, np.empty(extent, np.uint8), low, strides)


def check_constructor(**values: tuple[Any, type]) -> None:
    """Raises CuPy's TypeError for a code, name, options or backend of the wrong type."""
    for name, (value, wanted) in values.items():
        if not isinstance(value, wanted):
            raise TypeError(f"Argument '{name}' has incorrect type (expected {wanted.__name__}, got {type(value).__name__})")
