"""float64 operations on numbers so large or small that the parts they are computed from overflow or vanish: by fractions, a lane at a time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..values import f64, ndarray


def beyond(op: str, how: str, out: ndarray, *operands) -> ndarray:
    """`out`, with the lanes recomputed where an operand or the result lies outside 2±400. `how`: rn, rz, rm or rp."""
    columns = [np.broadcast_to(np.asarray(x, f64), np.shape(out)) for x in operands]
    extreme = np.zeros(np.shape(out), bool)
    for x in (*columns, out):
        size = np.abs(x)
        extreme |= (size > 2.0**400) | ((size < 2.0**-400) & (size > 0))
    extreme &= np.logical_and.reduce([np.isfinite(x) for x in columns])
    if not extreme.any():
        return out
    out = np.array(out)
    for index in zip(*np.nonzero(extreme), strict=True) if out.ndim else [()]:
        out[index] = rounded(op, how, float(out[index]), *(float(x[index]) for x in columns))
    return out


def rounded(op: str, how: str, plain: float, a: float, b: float = 0.0, c: float = 0.0) -> float:
    """One operation on finite numbers, rounded as `how` says; `plain` is the answer for zeros and divisions by zero."""
    if (op == "div" and b == 0) or (op == "sqrt" and a <= 0):
        return plain
    x, y, z = Fraction(a), Fraction(b), Fraction(c)
    if op == "sqrt":
        near = math.sqrt(a)
        over = Fraction(near) ** 2 - x
    else:
        exact = x + y if op == "add" else x * y if op == "mul" else x * y + z if op == "fma" else x / y
        if exact == 0:
            return plain
        try:
            near = exact.numerator / exact.denominator  # Python rounds a quotient of integers once, to nearest even
        except OverflowError:
            near = math.inf if exact > 0 else -math.inf
        over = Fraction(int(math.copysign(1, near))) if math.isinf(near) else Fraction(near) - exact
    negative = math.copysign(1, near) < 0
    if over > 0 and (how == "rm" or (how == "rz" and not negative)):
        return math.nextafter(near, -math.inf)
    if over < 0 and (how == "rp" or (how == "rz" and negative)):
        return math.nextafter(near, math.inf)
    return near
