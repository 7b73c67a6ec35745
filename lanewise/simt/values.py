"""Register values of all lanes of a group at once.

A group holds `n` threads of each of `B` blocks. The value of a register is one of

* a Python int, bool or NumPy float scalar: the same in every lane;
* an array of shape (n, 1), (1, B) or (n, B): broadcasting gives scalar work where threads or blocks agree;
* a `Split`: an integer that is the sum of a per-thread and a per-block part, kept apart.
  Addresses are nearly always of this form, and everything about them (range, sectors, conflicts) then needs n + B numbers, not n · B.

Integers are unsigned (`uint32`, `uint64`, `uint16` arrays, Python ints below 2**width); signed operations take views.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ndarray = np.ndarray
Value = Any  # what a register holds, or an address: one of the forms above; functions ask for its class
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
i8, i16, i32, i64 = np.int8, np.int16, np.int32, np.int64
f16, f32, f64 = np.float16, np.float32, np.float64

M16, M32, M64 = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
MASK: dict[int, int] = {8: 0xFF, 16: M16, 32: M32, 64: M64}
UNSIGNED: dict[int, Any] = {8: u8, 16: u16, 32: u32, 64: u64}
SIGNED: dict[int, Any] = {8: i8, 16: i16, 32: i32, 64: i64}
WIDE = 1 << 61  # beyond this the exact sums of a Split could leave int64


def signed(value: int, width: int) -> int:
    """The Python int of `width` bits read as two's complement."""
    return value - (1 << width) if value >> (width - 1) else value


class Split:
    """t + b modulo 2**width, with t of shape (n, 1) and b of shape (1, B), both int64 and exact (never wrapped)."""

    __slots__ = ("t", "b", "width", "_range", "_full")

    def __init__(self, t: ndarray, b: ndarray, width: int, bounds: tuple[int, int, int, int] | None = None):
        self.t, self.b, self.width, self._range = t, b, width, bounds
        self._full: ndarray | None = None

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
            if r[3] > WIDE or r[2] < -WIDE:
                return self.full() + UNSIGNED[self.width](k & MASK[self.width])
        return Split(self.t, self.b + k, self.width, r)

    def times(self, k: int) -> Split | ndarray | int:
        if k == 0:
            return 0
        t0, t1, b0, b1 = self.parts
        if max(abs(t0), abs(t1), abs(b0), abs(b1)) * abs(k) > WIDE:
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

    def taken(self, rows: ndarray) -> Split:
        return Split(self.t[rows], self.b, self.width)


def full(value: Value) -> Value:
    """`value` as an array or scalar: a Split is summed up."""
    return value.full() if value.__class__ is Split else value


def select_int(p: Value, a: Value, b: Value, width: int) -> Value:
    """`select` for integer registers: the result has the register's dtype."""
    if p.__class__ is bool:
        return a if p else b
    a, b = full(a), full(b)
    dtype = UNSIGNED[width]
    return np.where(p, dtype(a) if a.__class__ is int else a, dtype(b) if b.__class__ is int else b)


def lnot(p: Value) -> Value:
    return (not p) if p.__class__ is bool else ~p


def tidy(p: Value) -> Value:
    """A predicate with NumPy's bool scalars turned into Python's."""
    return p if p.__class__ is ndarray else bool(p)


def bits32(x: Value) -> Value:
    """float32 → its bits."""
    return x.view(u32) if x.__class__ is ndarray else int(x.view(u32))


def float32(x: Value) -> Value:
    """The bits of a 32-bit register → float32."""
    x = full(x)
    return u32(x).view(f32) if x.__class__ is int else x.view(f32)


def bits64(x: Value) -> Value:
    return x.view(u64) if x.__class__ is ndarray else int(x.view(u64))


def float64(x: Value) -> Value:
    x = full(x)
    return u64(x).view(f64) if x.__class__ is int else x.view(f64)


def to_array(x: Value, width: int) -> ndarray:
    """An integer value as a 2-D array of the register's dtype."""
    x = full(x)
    return np.full((1, 1), x, UNSIGNED[width]) if x.__class__ is int else x


def same(a: Value, b: Value) -> bool:
    """Cheaply known to be equal in every lane."""
    if a is b:
        return True
    if a.__class__ in (ndarray, Split) or b.__class__ in (ndarray, Split):
        return False
    return a == b or (a != a and b != b)
