"""Values when a group's lanes part, move or meet: rows and columns taken, flattened, joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from .values import UNSIGNED, Split, Value, f32, f64, ndarray, same


def scalar(v: ndarray) -> Value:
    """A (1, 1) array as the uniform value it is."""
    if v.dtype.kind == "f":
        return v[0, 0]
    return v.item()


def take_rows(v: Value, index: ndarray) -> Value:
    if v.__class__ is ndarray:
        if v.shape[0] > 1:
            v = v[index]
            return scalar(v) if v.shape == (1, 1) else v
        return v
    if v.__class__ is Split and v.t.shape[0] > 1:
        return v.taken(index)
    return v


def take_columns(v: Value, keep: ndarray) -> Value:
    if v.__class__ is ndarray:
        if v.shape[1] > 1:
            v = v[:, keep]
            return scalar(v) if v.shape == (1, 1) else v
        return v
    if v.__class__ is Split:
        b = v.b[:, keep] if v.b.shape[1] > 1 else v.b
        if b.shape[1] == 1:  # one block left: a plain array
            return Split(v.t, b, v.width).full()
        return Split(v.t, b, v.width)
    return v


def flatten(v: Value, n: int, B: int) -> Value:
    if v.__class__ is Split:
        v = v.full()
    if v.__class__ is ndarray and v.shape != (1, 1):
        return np.broadcast_to(v, (n, B)).reshape(-1, 1)
    return v


def _spread(v: Value, n: int, B: int, type: str) -> ndarray:
    """`v` as an array of n rows."""
    if v.__class__ is Split:
        v = v.full()
    if v.__class__ is ndarray:
        return v if v.shape[0] == n else np.broadcast_to(v, (n, v.shape[1]))
    if v is None:
        v = 0
    return np.full((n, 1), v, dtype_of(type))


def dtype_of(type: str) -> Any:
    """The dtype of a register: pred, f32, f64, b16, b32 or b64."""
    if type == "pred":
        return np.bool_
    if type == "f32":
        return f32
    if type == "f64":
        return f64
    return UNSIGNED[int(type[1:])]


def join_values(x: Value, y: Value, nx: int, ny: int, B: int, type: str, order: ndarray | None) -> Value:
    """The values of nx lanes above those of ny lanes, put in order."""
    if x is None:  # undefined on this path, so any value will do: a uniform one stays uniform
        x = 0 if y.__class__ in (ndarray, Split) else y
    if y is None:
        y = 0 if x.__class__ in (ndarray, Split) else x
    if same(x, y):
        return x
    if x.__class__ is Split and y.__class__ is Split and (x.b is y.b or np.array_equal(x.b, y.b)):
        tx = x.t if len(x.t) == nx else np.broadcast_to(x.t, (nx, 1))
        ty = y.t if len(y.t) == ny else np.broadcast_to(y.t, (ny, 1))
        t = np.concatenate([tx, ty])
        return Split(t if order is None else t[order], x.b, x.width)
    if x.__class__ is ndarray and y.__class__ is ndarray and x.shape[0] == 1 and y.shape == x.shape and nx > 1 and ny > 1 and (x == y).all():
        return x
    ax, ay = _spread(x, nx, B, type), _spread(y, ny, B, type)
    if ax.shape[1] != ay.shape[1]:
        ax, ay = (np.broadcast_to(a, (len(a), B)) for a in (ax, ay))
    out = np.concatenate([ax, ay])
    return out if order is None else out[order]
