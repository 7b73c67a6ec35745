"""Register values of all lanes of a group at once.

A group holds `n` threads of each of `B` blocks. The value of a register is one of

* a Python int, bool or NumPy float scalar: the same in every lane;
* an array of shape (n, 1), (1, B) or (n, B): broadcasting gives scalar work where threads or blocks agree;
* a `Split`: an integer that is the sum of a per-thread and a per-block part, kept apart.
  Addresses are nearly always of this form, and everything about them (range, sectors, conflicts) then needs n + B numbers, not n · B.

Integers are unsigned (`uint32`, `uint64`, `uint16` arrays, Python ints below 2**width); signed operations take views.
"""

from __future__ import annotations

import numpy as np

ndarray = np.ndarray
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
i8, i16, i32, i64 = np.int8, np.int16, np.int32, np.int64
f16, f32, f64 = np.float16, np.float32, np.float64

M16, M32, M64 = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
MASK = {8: 0xFF, 16: M16, 32: M32, 64: M64}
UNSIGNED = {8: u8, 16: u16, 32: u32, 64: u64}
SIGNED = {8: i8, 16: i16, 32: i32, 64: i64}
_WIDE = 1 << 61  # beyond this the exact sums of a Split could leave int64


def signed(value: int, width: int) -> int:
    """The Python int of `width` bits read as two's complement."""
    return value - (1 << width) if value >> (width - 1) else value


class Split:
    """t + b modulo 2**width, with t of shape (n, 1) and b of shape (1, B), both int64 and exact (never wrapped)."""

    __slots__ = ("t", "b", "width", "_range", "_full")

    def __init__(self, t: ndarray, b: ndarray, width: int, bounds: tuple[int, int, int, int] | None = None):
        self.t, self.b, self.width, self._range, self._full = t, b, width, bounds, None

    @property
    def parts(self) -> tuple[int, int, int, int]:
        """Least and largest value of t, then of b."""
        if self._range is None:
            t, b = self.t, self.b
            self._range = (int(t.min()), int(t.max()), int(b.min()), int(b.max()))
        return self._range

    @property
    def bounds(self) -> tuple[int, int]:
        t0, t1, b0, b1 = self.parts
        return t0 + b0, t1 + b1

    def full(self) -> ndarray:
        if self._full is None:
            if self.width == 32:
                self._full = self.t.astype(u32) + self.b.astype(u32)
            else:
                self._full = (self.t + self.b).view(u64)
        return self._full

    def plus(self, k: int) -> Split | ndarray:
        r = self._range
        if r is not None:
            r = (r[0], r[1], r[2] + k, r[3] + k)
            if r[3] > _WIDE or r[2] < -_WIDE:
                return self.full() + UNSIGNED[self.width](k & MASK[self.width])
        return Split(self.t, self.b + k, self.width, r)

    def times(self, k: int) -> Split | ndarray | int:
        if k == 0:
            return 0
        t0, t1, b0, b1 = self.parts
        if max(abs(t0), abs(t1), abs(b0), abs(b1)) * abs(k) > _WIDE:
            return self.full() * UNSIGNED[self.width](k & MASK[self.width])
        r = (t0 * k, t1 * k, b0 * k, b1 * k) if k > 0 else (t1 * k, t0 * k, b1 * k, b0 * k)
        return Split(self.t * k, self.b * k, self.width, r)

    def widened(self, is_signed: bool) -> Split | ndarray:
        """The 32-bit value extended to 64 bits."""
        lo, hi = self.bounds
        if (-(1 << 31) <= lo and hi < 1 << 31) if is_signed else (lo >= 0 and hi < 1 << 32):
            return Split(self.t, self.b, 64, self._range)
        full = self.full()
        return full.view(i32).astype(i64).view(u64) if is_signed else full.astype(u64)

    def taken(self, rows) -> Split:
        return Split(self.t[rows], self.b, self.width)


def full(value):
    """`value` as an array or scalar: a Split is summed up."""
    return value.full() if value.__class__ is Split else value


def _exact(a: ndarray) -> ndarray:
    """An unsigned array as int64, small negative numbers kept small."""
    return a.view(i32).astype(i64) if a.dtype == u32 else a.view(i64)


def _join(a: ndarray, b: ndarray, width: int):
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
        if max(t1, b1) > _WIDE or min(t0, b0) < -_WIDE:
            return (t + b).view(u64)
        return Split(t, b, 64, bounds)
    return Split(t, b, width)


def _add(width: int):
    mask = MASK[width]

    def add(a, b):
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


def _neg(width: int):
    mask = MASK[width]

    def neg(a):
        if a.__class__ is int:
            return -a & mask
        if a.__class__ is Split:
            return a.times(-1)
        return UNSIGNED[width](0) - a

    return neg


add16 = lambda a, b: (a + b) & M16 if a.__class__ is int and b.__class__ is int else full(a) + full(b)  # noqa: E731
add32, add64 = _add(32), _add(64)
neg32, neg64 = _neg(32), _neg(64)


def sub32(a, b):
    if b.__class__ is int:
        return add32(a, -b & M32)
    if a.__class__ is int or (a.__class__ is ndarray and b.__class__ is ndarray and a.shape == b.shape):
        return (u32(a) - b if a.__class__ is int else a - b) if b.__class__ is ndarray else add32(a, neg32(b))
    return add32(a, neg32(b))


def sub64(a, b):
    if b.__class__ is int:
        return add64(a, -b & M64)
    return add64(a, neg64(b))


def sub16(a, b):
    return (a - b) & M16 if a.__class__ is int and b.__class__ is int else full(a) - full(b)


def _mul(width: int):
    mask = MASK[width]

    def mul(a, b):
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


def mad32(a, b, c):
    return add32(mul32(a, b), c)


def mad64(a, b, c):
    return add64(mul64(a, b), c)


def widen(a, is_signed: bool, width: int = 32):
    """A `width`-bit value extended to 64 bits."""
    ca = a.__class__
    if ca is int:
        return signed(a, width) & M64 if is_signed else a
    if ca is Split:
        return a.widened(is_signed)
    return a.view(SIGNED[width]).astype(i64).view(u64) if is_signed else a.astype(u64)


def mul_wide_s32(a, b):
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


def mul_wide_u32(a, b):
    if a.__class__ is int:
        a, b = b, a
    if b.__class__ is int:
        b &= M32
        if a.__class__ is int:
            return a * b
        a = widen(a, False)
        return a.times(b) if a.__class__ is Split else a * b
    return full(widen(a, False)) * full(widen(b, False))


def shl(a, k, width: int):
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


def shr(a, k, width: int, is_signed: bool):
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


def as_signed(a, width: int):
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


def comparison(op: str, width: int, is_signed: bool):
    """A function (a, b) -> bool or bool array for integer operands."""
    python, array, swapped = _PYTHON[op], _COMPARE[op], _SWAPPED[op]
    lowest, highest = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, MASK[width])

    def compare(a, b):
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


def select_int(p, a, b, width: int):
    """`select` for integer registers: the result has the register's dtype."""
    if p.__class__ is bool:
        return a if p else b
    a, b = full(a), full(b)
    dtype = UNSIGNED[width]
    return np.where(p, dtype(a) if a.__class__ is int else a, dtype(b) if b.__class__ is int else b)


def lnot(p):
    return (not p) if p.__class__ is bool else ~p


def tidy(p):
    """A predicate with NumPy's bool scalars turned into Python's."""
    return p if p.__class__ is ndarray else bool(p)


def bits32(x):
    """float32 → its bits."""
    return x.view(u32) if x.__class__ is ndarray else int(x.view(u32))


def float32(x):
    """The bits of a 32-bit register → float32."""
    x = full(x)
    return u32(x).view(f32) if x.__class__ is int else x.view(f32)


def bits64(x):
    return x.view(u64) if x.__class__ is ndarray else int(x.view(u64))


def float64(x):
    x = full(x)
    return u64(x).view(f64) if x.__class__ is int else x.view(f64)


def to_array(x, width: int) -> ndarray:
    """An integer value as a 2-D array of the register's dtype."""
    x = full(x)
    return np.full((1, 1), x, UNSIGNED[width]) if x.__class__ is int else x


def same(a, b) -> bool:
    """Cheaply known to be equal in every lane."""
    if a is b:
        return True
    if a.__class__ in (ndarray, Split) or b.__class__ in (ndarray, Split):
        return False
    return a == b or (a != a and b != b)
