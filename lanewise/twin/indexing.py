"""Index expressions of device arrays, turned into NumPy's: views for single elements, wrap-around for index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def host_index(array, index: Any) -> tuple:
    """The NumPy index that reads what CuPy's `array[index]` reads. IndexError as NumPy's for ints, bools and shapes that don't fit.

    An Ellipsis is appended, so that one element comes as a 0-d view; index arrays are taken modulo the axis, since
    CuPy checks none of them on the device and wraps.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_host_part(part) for part in parts]
    consumed = [_axes(part) for part in parts]
    if sum(consumed) > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {sum(consumed)} were indexed")
    if sum(part is Ellipsis for part in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
        consumed.append(0)
    axis = 0
    for position, part in enumerate(parts):
        if part is Ellipsis:
            axis += array.ndim - sum(consumed)
            continue
        if isinstance(part, int):
            size = array.shape[axis]
            if not -size <= part < size:
                raise IndexError(f"Index {part} is out of bounds for axis {axis} with size {size}")
        elif isinstance(part, np.ndarray) and part.dtype.kind in "iu" and part.size:
            size = array.shape[axis]
            if size:
                parts[position] = part % size
        axis += consumed[position]
    return tuple(parts)


def _host_part(part: Any) -> Any:
    """One part of an index: int, slice, NumPy array, None or Ellipsis."""
    from lanewise.twin.array import ndarray

    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        return slice(*(int(edge) if isinstance(edge, ndarray) else edge for edge in (part.start, part.stop, part.step)))
    if isinstance(part, ndarray):
        part = part._host
    elif np.isscalar(part) and not isinstance(part, (bool, np.bool_)):
        number: Any = part
        return int(number)  # CuPy takes 1.0 as 1
    elif isinstance(part, (list, tuple)):
        part = np.asarray([item._host if isinstance(item, ndarray) else item for item in part])
        if part.size == 0:
            part = part.astype(np.int32)
    elif isinstance(part, (bool, np.bool_, np.ndarray)):
        part = np.asarray(part)  # CuPy moves a NumPy index to the device by itself
    else:
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices")
    if part.dtype.kind not in "biu":
        raise IndexError(f"arrays used as indices must be of integer or boolean type. (actual: {part.dtype.type})")
    return part


def _axes(part: Any) -> int:
    """How many axes of the array this part of the index takes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1
