"""Making device arrays, and getting them back: the twin's empty, asarray, asnumpy …"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.twin.array import SUPPORTED_KINDS, ndarray
from lanewise.twin.memory import Memory, poison, require
from lanewise.twin.wrap import call, refuse, wrap

__all__ = [
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "asnumpy", "copy", "empty", "empty_like", "eye",
    "frombuffer", "full", "full_like", "get_array_module", "identity", "linspace", "logspace", "ones", "ones_like", "tri", "zeros",
    "zeros_like",
]  # fmt: skip


def checked_dtype(dtype: Any) -> np.dtype:
    """The dtype; ValueError for what a device array can't hold (objects, text, dates)."""
    dtype = np.dtype(dtype)
    if dtype.char not in SUPPORTED_KINDS and dtype.kind != "V" and dtype.name != "bfloat16":
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype


def checked_shape(shape: Any) -> tuple[int, ...]:
    """The shape as a tuple of ints; ValueError for negative sizes."""
    shape = tuple(int(size) for size in shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    if any(size < 0 for size in shape):
        raise ValueError("Negative dimensions are not allowed")
    return shape


def unset(shape: Any, dtype: Any, order: str | None = "C") -> ndarray:
    """New memory that counts as unset until a launch or the host writes it."""
    shape, dtype = checked_shape(shape), checked_dtype(dtype)
    require(shape, dtype)
    host = poison(np.empty(shape, dtype, "F" if order == "F" else "C"))
    return ndarray._of(host, Memory(host, unset=True))


def _like(a: ndarray, dtype, order, shape) -> tuple:
    if not isinstance(a, (ndarray, np.ndarray)):
        refuse(a)
    order = {"K": "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C", "A": "C", None: "C"}.get(order, order)
    return (a.shape if shape is None else shape), (a.dtype if dtype is None else dtype), order


def _filled(shape, dtype, order, value) -> ndarray:
    shape, dtype = checked_shape(shape), checked_dtype(dtype)
    require(shape, dtype)
    if value == 0 and isinstance(value, (int, float)):
        return ndarray._of(np.zeros(shape, dtype, order or "C"))
    host = np.empty(shape, dtype, order or "C")
    host[...] = value
    return ndarray._of(host)


def empty(shape, dtype=float, order="C") -> ndarray:
    """An array nobody has set. On the simulator it holds NaN (or a bit pattern), and a kernel that reads it is told so."""
    return unset(shape, dtype, order)


def empty_like(prototype, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    """`empty` with the shape and type of another device array."""
    shape, dtype, order = _like(prototype, dtype, order, shape)
    return unset(shape, dtype, order)


def zeros(shape, dtype=float, order="C") -> ndarray:
    return _filled(shape, dtype, order, 0)


def zeros_like(a, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    shape, dtype, order = _like(a, dtype, order, shape)
    return _filled(shape, dtype, order, 0)


def ones(shape, dtype=float, order="C") -> ndarray:
    return _filled(shape, dtype, order, 1)


def ones_like(a, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    shape, dtype, order = _like(a, dtype, order, shape)
    return _filled(shape, dtype, order, 1)


def full(shape, fill_value, dtype=None, order="C") -> ndarray:
    """Every element is `fill_value`, a scalar or a 0-d device array."""
    value = _scalar(fill_value)
    return _filled(shape, np.asarray(value).dtype if dtype is None else dtype, order, value)


def full_like(a, fill_value, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    shape, dtype, order = _like(a, dtype, order, shape)
    return _filled(shape, dtype, order, _scalar(fill_value))


def _scalar(value: Any) -> Any:
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray) and value.ndim:
        raise ValueError("non-scalar numpy.ndarray cannot be used for copyto: pass a scalar.")
    return value


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False) -> ndarray:
    """A device array from a NumPy array, a device array, a scalar or nested lists of them; always a copy unless copy=False."""
    if isinstance(obj, ndarray):
        host = obj._host
        same = dtype is None or np.dtype(dtype) == host.dtype
        if not copy and same and host.ndim >= ndmin and (order in ("K", None, "A") or (host.flags.c_contiguous if order == "C" else host.flags.f_contiguous)):
            return obj
        with np.errstate(all="ignore"):
            return ndarray._of(np.array(host, dtype, order=order or "K", ndmin=ndmin))
    host = _nested(obj)
    source = np.asarray(host) if dtype is None else None
    wanted = checked_dtype(source.dtype if source is not None else dtype)
    with np.errstate(all="ignore"):
        return ndarray._of(np.array(host, wanted, order=order or "K", ndmin=ndmin))


def _nested(obj: Any) -> Any:
    """Lists of lists with the device arrays in them as NumPy arrays."""
    if isinstance(obj, ndarray):
        return obj._host
    return [_nested(item) for item in obj] if isinstance(obj, (list, tuple)) else obj


def asarray(a, dtype=None, order=None, *, blocking=False) -> ndarray:
    """To the device: a NumPy array is copied, a device array of that type is returned as it is."""
    return array(a, dtype, copy=False, order=order)


def asanyarray(a, dtype=None, order=None, *, blocking=False) -> ndarray:
    return array(a, dtype, copy=False, order=order)


def ascontiguousarray(a, dtype=None) -> ndarray:
    """A C-contiguous array, as a kernel wants it: `a` itself if it is one."""
    return array(a, dtype, copy=False, order="C", ndmin=1)


def asfortranarray(a, dtype=None) -> ndarray:
    return array(a, dtype, copy=False, order="F")


def copy(a, order="K") -> ndarray:
    if not isinstance(a, ndarray):
        a = asarray(a)
    return a.copy(order)


def frombuffer(*args, **kwargs) -> ndarray:
    """numpy.frombuffer, copied to the device."""
    return ndarray._of(np.frombuffer(*args, **kwargs).copy())


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True) -> np.ndarray:
    """To the host: a NumPy array; what is one already is returned as it is."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out)
    host = np.asarray(_nested(a), order=order)
    if out is None:
        return host
    out[...] = host
    return out


def get_array_module(*args):
    """`lanewise.cp` if one of the arguments is a device array, else NumPy."""
    if any(isinstance(arg, ndarray) for arg in args):
        from lanewise import cp

        return cp
    return np


def arange(start, stop=None, step=1, dtype=None) -> ndarray:
    start, stop, step = (_item(value) for value in (start, stop, step))
    return wrap(np.arange(start, dtype=dtype) if stop is None else np.arange(start, stop, step, dtype=dtype))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    return call(np.linspace, (start, stop, num), dict(endpoint=endpoint, retstep=retstep, dtype=dtype, axis=axis))


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0) -> ndarray:
    return call(np.logspace, (start, stop, num), dict(endpoint=endpoint, base=base, dtype=dtype, axis=axis))


def eye(N, M=None, k=0, dtype=float, order="C") -> ndarray:
    return wrap(np.eye(N, M, k, checked_dtype(dtype), order))


def identity(n, dtype=float) -> ndarray:
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=float) -> ndarray:
    return wrap(np.tri(N, M, k, checked_dtype(dtype)))


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, ndarray) else value
