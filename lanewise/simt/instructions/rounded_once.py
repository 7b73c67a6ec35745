"""fma, and operations rounded towards zero, down or up, from float64's own operations and the errors these leave behind."""

from __future__ import annotations

import numpy as np

from ..values import Value, f32, f64, i64, ndarray
from .exact import beyond
from .formats import to_odd

_TIE = -(1 << 63)


def fma32(a: Value, b: Value, c: Value) -> Value:
    """a·b + c rounded once. The product of two float32 is exact in float64; a sum that lands half way between two float32 there is looked at again."""
    if a.__class__ is not ndarray and b.__class__ is not ndarray and c.__class__ is not ndarray:
        return fma32(np.full((1, 1), a), b, c)[0, 0]
    wide = np.multiply(a, b, dtype=f64)
    if wide.__class__ is not ndarray or (c.__class__ is ndarray and c.shape != wide.shape):
        wide = np.add(wide, c, dtype=f64)
    else:
        np.add(wide, c, out=wide)
    out = wide.astype(f32)
    bits = wide.view(i64)
    np.left_shift(bits, 35, out=bits)  # what float32 has no room for: 29 bits, a tie if only the first of them is set
    if bits.min() == _TIE:
        lanes = bits == _TIE
        x, y, z = (np.broadcast_to(v, out.shape)[lanes].astype(f64) for v in (a, b, c))
        out[lanes] = to_odd(*two_sum(x * y, z)).astype(f32)
    return out


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _two_product(a: Value, b: Value) -> tuple[Value, Value]:
    split = f64(134217729.0)
    x, y = a * split, b * split
    ah, bh = x - (x - a), y - (y - b)
    al, bl = a - ah, b - bh
    p = a * b
    e = ((ah * bh - p) + ah * bl + al * bh) + al * bl
    return p, np.where(np.isfinite(e), e, 0.0)


def _fma_parts(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """a·b + c in float64 as a number and what is left, rounded to odd: their sum, rounded once, is the fma (Boldo and Melquiond, 2008)."""
    p, e = _two_product(np.asarray(a, f64), np.asarray(b, f64))
    t, rest = two_sum(np.asarray(c, f64), e)
    s, more = two_sum(p, t)
    left = to_odd(*two_sum(rest, more))
    whole = np.isfinite(s) & np.isfinite(left)
    plain = ~whole | ((s == 0) & (left == 0))  # an exact zero has the sign of p + c
    near = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, p + c)  # a product too large for float64 is still finite
    return np.where(plain, near, s), np.where(plain, 0.0, left)


def fma64(a: Value, b: Value, c: Value) -> Value:
    """a·b + c in float64, rounded once."""
    scalar = not any(x.__class__ is ndarray for x in (a, b, c))
    s, left = _fma_parts(a, b, c)
    out = beyond("fma", "rn", np.where(left != 0, s + left, s), a, b, c)  # adding 0 would lose the sign of −0
    return f64(out) if scalar else out


def directed(s: Value, err: Value, how: str) -> Value:
    """float64 s + err → float32 in one rounding towards zero, down or up."""
    y = np.asarray(s).astype(f32)
    low, high = f32(-np.inf), f32(np.inf)
    over = (y > s) | ((y == s) & (err < 0))
    under = (y < s) | ((y == s) & (err > 0))
    down = over if how == "rm" else over & (np.asarray(s) > 0)
    up = under if how == "rp" else under & (np.asarray(s) < 0)
    if how == "rm":
        up = np.False_
    if how == "rp":
        down = np.False_
    y = np.where(down, np.nextafter(y, low), y)
    return np.where(up, np.nextafter(y, high), y)


def directed32(op: str, how: str, a: Value, b: Value, c: Value = None) -> Value:
    """add, mul, fma, div, sqrt or rcp of float32 with rounding rz, rm or rp."""
    scalar = not any(x.__class__ is ndarray for x in (a, b, c))
    x, y = np.asarray(a, f64), np.asarray(b, f64)
    if op == "add":
        s, err = two_sum(x, y)
    elif op == "mul":
        s, err = x * y, np.float64(0)
    elif op == "fma":
        s, err = two_sum(x * y, np.asarray(c, f64))
    elif op == "div":
        s = x / y
        p, e = _two_product(s, y)
        err = ((x - p) - e) * np.sign(y)
    else:
        s = np.sqrt(x)
        p, e = _two_product(s, s)
        err = (x - p) - e
    err = np.where(np.isfinite(err), err, 0.0)
    out = np.where(np.isfinite(s), directed(s, err, how), np.asarray(s).astype(f32)).astype(f32)
    if how == "rm" and op in ("add", "fma"):
        out = np.where(_minus_zero(s, err, x if op == "add" else x * y, y if op == "add" else c), f32(-0.0), out)
    return out[()] if scalar else out


def _minus_zero(s: Value, err: Value, a: Value, b: Value) -> ndarray:
    """Rounded down, an exact sum of zero is −0 unless both parts are +0."""
    return (s == 0) & (err == 0) & (np.signbit(a) | np.signbit(b) | (np.asarray(a) != 0))


def directed64(op: str, how: str, a: Value, b: Value, c: Value = None) -> Value:
    """The same in float64, from the error of the nearest result."""
    scalar = not any(x.__class__ is ndarray for x in (a, b, c))
    if op == "add":
        s, err = two_sum(a, b)
    elif op == "mul":
        s, err = _two_product(np.asarray(a, f64), np.asarray(b, f64))
    elif op == "fma":
        whole, left = _fma_parts(a, b, c)
        s, err = two_sum(whole, left)
        s, err = np.where(left == 0, whole, s), np.where(left == 0, 0.0, err)
    else:
        s = np.asarray(a / b if op == "div" else np.sqrt(a), f64)
        p, e = _two_product(s, np.asarray(b if op == "div" else s, f64))
        err = ((a - p) - e) * (np.sign(b) if op == "div" else 1)
    s = np.asarray(s)
    toward = {"rm": err < 0, "rp": err > 0, "rz": np.where(s > 0, err < 0, err > 0)}[how]
    limit = {"rm": np.full(s.shape, -np.inf), "rp": np.full(s.shape, np.inf), "rz": np.zeros(s.shape)}[how]
    out = np.where(toward & np.isfinite(s), np.nextafter(s, limit), s)
    out = beyond(op, how, out, *((a,) if op == "sqrt" else (a, b) if c is None else (a, b, c)))
    if how == "rm" and op in ("add", "fma"):
        out = np.where(_minus_zero(s, err, np.asarray(a, f64) if op == "add" else np.asarray(a, f64) * b, b if op == "add" else c), -0.0, out)
    return out[()] if scalar else out
