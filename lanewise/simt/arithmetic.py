"""Integer arithmetic on the values of all lanes: a `Split` stays one as long as it can; results wrap to their width."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .values import M16, M32, M64, MASK, SIGNED, UNSIGNED, WIDE, Split, Value, full, i32, i64, ndarray, signed, u32, u64


def _exact(a: ndarray) -> ndarray:
    """An unsigned array as int64, small negative numbers kept small."""
    return a.view(i32).astype(i64) if a.dtype == u32 else a.view(i64)


def _join(a: ndarray, b: ndarray, width: int) -> Split | ndarray:
    """a + b of two arrays; a (n, 1) and a (1, B) stay apart."""
    sa, sb = a.shape, b.shape
    if sa[1] == 1 and sb[0] == 1 and sa[0] > 1 and sb[1] > 1:
        t, b = _exact(a), _exact(b)
    elif sa[0] == 1 and sb[1] == 1 and sa[1] > 1 and sb[0] > 1:
        t, b = _exact(b), _exact(a)
    else:
        return a + b
    if width == 64:
        t0, t1, b0, b1 = bounds = int(t.min()), int(t.max()), int(b.min()), int(b.max())
        if max(t1, b1) > WIDE or min(t0, b0) < -WIDE:
            return (t + b).view(u64)
        return Split(t, b, 64, bounds)
    return Split(t, b, width)


def _add(width: int) -> Callable:
    mask = MASK[width]

    def add(a: Value, b: Value) -> Value:
        ca, cb = a.__class__, b.__class__
        if ca is int:
            if cb is int:
                return (a + b) & mask
            if cb is Split:
                return b.plus(signed(a, width))
            return b + a if a else b
        if cb is int:
            if ca is Split:
                return a.plus(signed(b, width))
            return a + b if b else a
        if ca is Split:
            if cb is Split:
                return Split(a.t + b.t, a.b + b.b, width)
            if b.shape[1] == 1 and b.shape[0] > 1:
                return Split(a.t + _exact(b), a.b, width)
            if b.shape[0] == 1 and b.shape[1] > 1:
                return Split(a.t, a.b + _exact(b), width)
            return a.full() + b
        if cb is Split:
            return add(b, a)
        return _join(a, b, width)

    return add


def _neg(width: int) -> Callable:
    mask = MASK[width]

    def neg(a: Value) -> Value:
        if a.__class__ is int:
            return -a & mask
        if a.__class__ is Split:
            return a.times(-1)
        return UNSIGNED[width](0) - a

    return neg


add32, add64 = _add(32), _add(64)
neg32, neg64 = _neg(32), _neg(64)


def sub32(a: Value, b: Value) -> Value:
    if b.__class__ is int:
        return add32(a, -b & M32)
    if a.__class__ is int or (a.__class__ is ndarray and b.__class__ is ndarray and a.shape == b.shape):
        return (u32(a) - b if a.__class__ is int else a - b) if b.__class__ is ndarray else add32(a, neg32(b))
    return add32(a, neg32(b))


def sub64(a: Value, b: Value) -> Value:
    if b.__class__ is int:
        return add64(a, -b & M64)
    return add64(a, neg64(b))


def add16(a: Value, b: Value) -> Value:
    return (a + b) & M16 if a.__class__ is int and b.__class__ is int else full(a) + full(b)


def sub16(a: Value, b: Value) -> Value:
    return (a - b) & M16 if a.__class__ is int and b.__class__ is int else full(a) - full(b)


def _mul(width: int) -> Callable:
    mask = MASK[width]

    def mul(a: Value, b: Value) -> Value:
        ca, cb = a.__class__, b.__class__
        if ca is int:
            if cb is int:
                return (a * b) & mask
            if cb is Split:
                return b.times(signed(a, width))
            return b if a == 1 else 0 if a == 0 else b * a
        if cb is int:
            return mul(b, a)
        return full(a) * full(b)

    return mul


mul16, mul32, mul64 = _mul(16), _mul(32), _mul(64)


def widen(a: Value, is_signed: bool, width: int = 32) -> Value:
    """A `width`-bit value extended to 64 bits."""
    ca = a.__class__
    if ca is int:
        return signed(a, width) & M64 if is_signed else a
    if ca is Split:
        return a.widened(is_signed)
    return a.view(SIGNED[width]).astype(i64).view(u64) if is_signed else a.astype(u64)


def mul24(a: Value, b: Value, high: bool, is_signed: bool) -> Value:
    """The low 32 bits of the product of the low 24 bits, or (`high`) its bits 16 to 47."""
    x, y = (np.asarray(v if v.__class__ is int else full(v)).astype(i64) << 40 for v in (a, b))  # bit 23 comes to the top: it is the sign, or none
    x, y = (v >> 40 if is_signed else v >> 40 & 0xFFFFFF for v in (x, y))
    product = (x * y >> (16 if high else 0)).astype(u32)
    return int(product) if product.ndim == 0 else product


def mul_wide_s32(a: Value, b: Value) -> Value:
    if a.__class__ is int:
        a, b = b, a
    if b.__class__ is int:
        k = signed(b, 32)
        if a.__class__ is int:
            return signed(a, 32) * k & M64
        a = widen(a, True)
        if a.__class__ is Split:
            return a.times(k)
        return (a.view(i64) * k).view(u64)
    return full(widen(a, True)) * full(widen(b, True))


def mul_wide_u32(a: Value, b: Value) -> Value:
    if a.__class__ is int:
        a, b = b, a
    if b.__class__ is int:
        b &= M32
        if a.__class__ is int:
            return a * b
        a = widen(a, False)
        return a.times(b) if a.__class__ is Split else a * b
    return full(widen(a, False)) * full(widen(b, False))


def shl(a: Value, k: Value, width: int) -> Value:
    """a << k, 0 for k >= width (PTX clamps)."""
    if k.__class__ is int:
        if k >= width:
            return 0
        if a.__class__ is int:
            return (a << k) & MASK[width]
        if a.__class__ is Split:
            return a.times(1 << k)
        return a << UNSIGNED[width](k)
    a, k = full(a), full(k)
    dtype = UNSIGNED[width]
    a = dtype(a) if a.__class__ is int else a
    return np.where(k < width, a << np.minimum(k, width - 1).astype(dtype), dtype(0))


def shr(a: Value, k: Value, width: int, is_signed: bool) -> Value:
    """a >> k; the shift amount is clamped to the width."""
    if k.__class__ is int:
        if a.__class__ is int:
            return (signed(a, width) >> min(k, width)) & MASK[width] if is_signed else a >> min(k, width + 1)
        a = full(a)
        if is_signed:
            return (a.view(SIGNED[width]) >> SIGNED[width](min(k, width - 1))).view(a.dtype)
        return a >> a.dtype.type(k) if k < width else 0
    a, k = full(a), full(k)
    dtype = (SIGNED if is_signed else UNSIGNED)[width]
    a = dtype(signed(a, width) if is_signed else a) if a.__class__ is int else a.view(dtype)
    shifted = a >> np.minimum(k, width - 1).astype(dtype)
    return shifted.view(UNSIGNED[width]) if is_signed else np.where(k < width, shifted, dtype(0))


def as_signed(a: Value, width: int) -> Value:
    """For comparison and division: a Python int, or an array with a signed dtype."""
    if a.__class__ is int:
        return signed(a, width)
    return full(a).view(SIGNED[width])


_COMPARE = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip

_PYTHON = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip

_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _decided(op: str, lo: int, hi: int, k: int) -> bool | None:
    """`x op k` for every x in lo..hi, if it is the same for all of them."""
    if op == "lt":
        return True if hi < k else False if lo >= k else None
    if op == "le":
        return True if hi <= k else False if lo > k else None
    if op == "gt":
        return True if lo > k else False if hi <= k else None
    if op == "ge":
        return True if lo >= k else False if hi < k else None
    if k < lo or k > hi:
        return op == "ne"
    return None


def comparison(op: str, width: int, is_signed: bool) -> Callable:
    """A function (a, b) -> bool or bool array for integer operands."""
    python, array, swapped = _PYTHON[op], _COMPARE[op], _SWAPPED[op]
    lowest, highest = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, MASK[width])

    def compare(a: Value, b: Value) -> Value:
        if a.__class__ is int and b.__class__ is int:
            return python(signed(a, width), signed(b, width)) if is_signed else python(a, b)
        for x, y, name in ((a, b, op), (b, a, swapped)):
            if x.__class__ is Split and y.__class__ is int:
                lo, hi = x.bounds
                if lowest <= lo and hi <= highest:
                    answer = _decided(name, lo, hi, signed(y, width) if is_signed else y)
                    if answer is not None:
                        return answer
        if is_signed:
            return array(as_signed(a, width), as_signed(b, width))
        return array(full(a), full(b))

    return compare
