"""What the reductions of bulk and tensor copies compute (PTX ISA 9.7.9.25.5, "cp.reduce.async.bulk"): one operation an element, rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..values import f16, f32, f64, i32, i64, ndarray, u16, u32, u64

_TYPES = {"u32": u32, "s32": i32, "u64": u64, "s64": i64, "f16": f16, "f32": f32, "f64": f64, "b32": u32, "b64": u64}


def _inc(old: ndarray, new: ndarray) -> ndarray:
    return np.where(old >= new, old.dtype.type(0), old + old.dtype.type(1))


def _dec(old: ndarray, new: ndarray) -> ndarray:
    return np.where((old == 0) | (old > new), new, old - old.dtype.type(1))


_OPERATIONS: dict[str, Callable] = {
    "add": np.add, "min": np.fmin, "max": np.fmax, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "inc": _inc, "dec": _dec,
}  # fmt: skip


def reduced(operation: str, type: str, old: ndarray, new: ndarray) -> ndarray:
    """`old` and `new` combined, elements of PTX type `type` in arrays of any dtype; the result has the dtype and shape of `old`."""
    function = _OPERATIONS[operation]
    if type == "bf16":
        # float32 has more than twice bfloat16's digits and two more: rounding twice gives what rounding once does
        wide = function(*((x.view(u16).astype(u32) << u32(16)).view(f32) for x in (old, new)))
        return _to_bf16(wide).view(old.dtype)
    if type == "f16":
        return function(old.view(f16).astype(f32), new.view(f16).astype(f32)).astype(f16).view(old.dtype)
    dtype = _TYPES[type]
    return function(old.view(dtype), new.view(dtype)).view(old.dtype)


def _to_bf16(x: ndarray) -> ndarray:
    bits = x.view(u32)
    rounded = (bits + u32(0x7FFF) + (bits >> u32(16) & u32(1))) >> u32(16)
    return np.where(np.isnan(x), u32(0x7FFF), rounded).astype(u16)
