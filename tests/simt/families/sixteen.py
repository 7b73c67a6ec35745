"""16-bit floats to and from integers of every width, in all directions; and what is done to pairs of them at a time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .case import Case
from .conversion import B16, BF16, F16, HALF, brain, brains, by_modes, c, finite_brains, halves, integers, relu, saturated, to_floating
from .floating import least, most, nan_wins
from .integer import I64
from .rounding import ADD, BFLOAT16, FMA, MUL, SUB, exactly, from_bfloat16, rounded, to_bfloat16
from .table import Row, crossed, table

ROUND = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
TYPES = {"int": np.int32, "uint": np.uint32, "short": np.int16, "ushort": np.uint16, "ll": np.int64, "ull": np.uint64}


def whole(dtype, mode):
    """16-bit float → integer as 64 bits: rounded, then held within the type; NaN gives 0, or the highest bit of 64 (PTX ISA 9.7.9.22, "cvt")."""
    info = np.iinfo(dtype)

    def one(v: float) -> int:
        if np.isnan(v):
            return 0 if info.bits < 64 else -(2**63)
        held = max(info.min, min(info.max, int(ROUND[mode](v)))) if np.isfinite(v) else info.max if v > 0 else info.min
        return held - (1 << 64) if held >> 63 == 1 else held

    def row(a):
        values = a.astype(np.float64) if a.dtype == np.float16 else from_bfloat16(a).astype(np.float64)
        return np.array([one(float(v)) for v in values], np.int64)

    return row


def to_integers(name: str) -> list[Row]:
    """`name` as in __half2int_rn."""
    rows = []
    for type, dtype in TYPES.items():
        rows += by_modes(f"__{name}2{type}_MODE(a)", lambda m, d=dtype: whole(d, m))
    return rows + [c(f"{name}2{t} rz", f"__{name}2{t}_rz(a)", whole(d, "rz")) for t, d in (("char", np.int8), ("uchar", np.uint8))]


def brain_of(mode):
    """Integer → bfloat16 bits, rounded once."""

    def row(a):
        return to_bfloat16(np.array([rounded(Fraction(int(v)), BFLOAT16, mode) for v in a], np.float64))

    return row


CASTS = {"int": "int", "uint": "unsigned", "short": "short", "ushort": "unsigned short", "ll": "long long", "ull": "unsigned long long"}


def from_integers(name: str, to) -> list[Row]:
    """`name` as in __int2half_rn; `to(mode)` makes the answer."""
    rows = []
    for type, dtype in TYPES.items():
        rows += by_modes(f"__{type}2{name}_MODE(({CASTS[type]})a)", lambda m, d=dtype: lambda a: to(m)(a.astype(d)))
    return rows


def pairs(letter: str) -> str:
    """A pair of type __half2 or __nv_bfloat162 whose high part is the operand `letter` and whose low part is the next."""
    return f"P({'abca'['abc'.index(letter) + 1]}, {letter})"


def pair_rows(exact, wins, low, high, relued, held) -> list[Row]:
    """One operation on two pairs, of which the high or the low result is looked at.

    `exact(operation)`, `low` and `high` (the minimum, the maximum) are functions of columns, `wins`, `relued` and `held` change what they give.
    """
    a, b, x = pairs("a"), pairs("b"), pairs("c")

    def row(label, code, function, part="HIGH"):
        return c(label, f"{part}({code})", function)

    return [
        row("hadd2", f"__hadd2({a}, {b})", lambda a, b, c: exact(ADD)(a, b)),
        row("hsub2 low", f"__hsub2({a}, {b})", lambda a, b, c: exact(SUB)(b, c), "LOW"),
        row("hmul2 low", f"__hmul2({a}, {b})", lambda a, b, c: exact(MUL)(b, c), "LOW"),
        row("hfma2", f"__hfma2({a}, {b}, {x})", lambda a, b, c: exact(FMA)(a, b, c)),
        row("hadd2 sat", f"__hadd2_sat({a}, {b})", lambda a, b, c: held(exact(ADD)(a, b))),
        row("hsub2 sat low", f"__hsub2_sat({a}, {b})", lambda a, b, c: held(exact(SUB)(b, c)), "LOW"),
        row("hmul2 sat", f"__hmul2_sat({a}, {b})", lambda a, b, c: held(exact(MUL)(a, b))),
        row("hfma2 sat", f"__hfma2_sat({a}, {b}, {x})", lambda a, b, c: held(exact(FMA)(a, b, c))),
        row("hfma2 relu", f"__hfma2_relu({a}, {b}, {x})", lambda a, b, c: relued(exact(FMA)(a, b, c))),
        row("hmin2", f"__hmin2({a}, {b})", lambda a, b, c: low(a, b)),
        row("hmax2 low", f"__hmax2({a}, {b})", lambda a, b, c: high(b, c), "LOW"),
        row("hmin2 nan", f"__hmin2_nan({a}, {b})", lambda a, b, c: wins(low)(a, b)),
        row("hmax2 nan low", f"__hmax2_nan({a}, {b})", lambda a, b, c: wins(high)(b, c), "LOW"),
        c("hmin nan", "__hmin_nan(a, b)", lambda a, b, c: wins(low)(a, b)),
        c("hmax nan", "__hmax_nan(a, b)", lambda a, b, c: wins(high)(a, b)),
        c("hsub sat", "__hsub_sat(a, b)", lambda a, b, c: held(exact(SUB)(a, b))),
        c("hmul sat", "__hmul_sat(a, b)", lambda a, b, c: held(exact(MUL)(a, b))),
        c("hadd rn", "__hadd_rn(a, b)", lambda a, b, c: exact(ADD)(a, b)),
        c("hsub rn", "__hsub_rn(a, b)", lambda a, b, c: exact(SUB)(a, b)),
        c("hmul rn", "__hmul_rn(a, b)", lambda a, b, c: exact(MUL)(a, b)),
    ]


def mask_rows(value) -> list[Row]:
    """Comparisons of pairs as masks and as one flag. `value`: operands as float64."""
    rows = []
    for name, holds in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}.items():

        def of(a, b, holds=holds, ordered=True):
            x, y = value(a), value(b)
            nan = np.isnan(x) | np.isnan(y)
            with np.errstate(all="ignore"):
                return holds(x, y) & ~nan if ordered else holds(x, y) | nan

        for end, ordered in (("", True), ("u", False)):
            made = lambda a, b, c, of=of, ordered=ordered: (of(a, b, ordered=ordered) * 0xFFFF0000 + of(b, c, ordered=ordered) * 0xFFFF).astype(np.uint32)  # noqa: E731
            both = lambda a, b, c, of=of, ordered=ordered: (of(a, b, ordered=ordered) & of(b, c, ordered=ordered)).astype(np.uint32)  # noqa: E731
            one = lambda a, b, c, of=of, ordered=ordered: of(a, c, ordered=ordered).astype(np.uint32)  # noqa: E731
            rows += [
                c(f"{name}{end} mask", f"__h{name}{end}2_mask(P(b, a), P(c, b))", made),
                c(f"both {name}{end}", f"__hb{name}{end}2(P(b, a), P(c, b))", both),
                c(f"{name}{end}", f"__h{name}{end}(a, c)", one),
            ]
    return rows


PAIR = HALF + "#define P(low, high) __halves2half2(low, high)\n#define LOW(x) __low2half(x)\n#define HIGH(x) __high2half(x)\n"
BRAIN_PAIR = BF16 + "#define P(low, high) __halves2bfloat162(low, high)\n#define LOW(x) __low2bfloat16(x)\n#define HIGH(x) __high2bfloat16(x)\n"


def some_halves():
    return (np.concatenate([F16, halves(np.random.default_rng(41), 240)]),)


def some_brains():
    rng = np.random.default_rng(42)
    near = to_bfloat16(np.array([0.5, 1.5, -2.5, 127.5, 254.0, 32640.0, 65280.0, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64]))
    return (np.concatenate([B16, near, brains(rng, 227)]),)


def brain_extreme(function):
    return lambda a, b: to_bfloat16(function(from_bfloat16(a).astype(np.float64), from_bfloat16(b).astype(np.float64)))


def of_brains(function):
    return lambda a: to_bfloat16(function(from_bfloat16(a).astype(np.float64)))


CASES: list[Case] = [
    table("convert.half_integers", ("__half",), "long long", to_integers("half"), some_halves, HALF),
    table("convert.integers_half", ("long long",), "__half", from_integers("half", lambda m: to_floating(np.float16, m)), integers(I64, 43), HALF),
    table("convert.bfloat16_integers", ("__nv_bfloat16",), "long long", to_integers("bfloat16"), some_brains, BF16),
    table("convert.integers_bfloat16", ("long long",), "__nv_bfloat16", from_integers("bfloat16", brain_of), integers(I64, 44), BF16),
    table(
        "half.pairs", ("__half",) * 3, "__half",
        pair_rows(lambda operation: exactly(operation, np.float16), nan_wins, least, most, relu, saturated),
        lambda: crossed(F16, 3, 128, 45, halves), PAIR,
    ),
    table(
        "bfloat16.pairs", ("__nv_bfloat16",) * 3, "__nv_bfloat16",
        pair_rows(brain, lambda f: f, brain_extreme(least), brain_extreme(most), of_brains(relu), of_brains(saturated)),
        finite_brains, BRAIN_PAIR,
    ),
    table("half.masks", ("__half",) * 3, "unsigned", mask_rows(lambda v: v.astype(np.float64)), lambda: crossed(F16, 3, 128, 46, halves), PAIR),
    table(
        "bfloat16.masks", ("__nv_bfloat16",) * 3, "unsigned", mask_rows(lambda v: from_bfloat16(v).astype(np.float64)),
        lambda: crossed(B16, 3, 128, 47, brains), BRAIN_PAIR,
    ),
]  # fmt: skip
