"""Conversions between all types: rounding directions, saturation, NaN; half and bfloat16 arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .case import Case, Tolerance
from .floating import F32, F64, doubles, least, most, nan_wins, singles
from .integer import I32, I64, words
from .rounding import ADD, BFLOAT16, DIV, FMA, FORMATS, MUL, SUB, exactly, flushed, from_bfloat16, rounded, to_bfloat16
from .table import Row, crossed, table

INF, NAN = np.inf, np.nan
EDGES = [
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.99999994,
    127.5,
    128.0,
    -129.0,
    255.5,
    65535.5,
    2.0**31,
    -(2.0**31),
    2147483520.0,
    2.0**32,
    4294967040.0,
    2.0**63,
    -(2.0**63),
    2.0**64,
    1e30,
]
ROUND = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}


def to_integer(dtype, mode, nan=0):
    """float → integer: rounded, then held within the type; NaN gives `nan`, a subnormal float32 counts as zero (-ftz=true)."""
    info = np.iinfo(dtype)

    def one(v):
        if np.isnan(v):
            return nan
        if np.isinf(v):
            return info.max if v > 0 else info.min
        return max(info.min, min(info.max, int(ROUND[mode](v))))

    def row(a):
        return np.array([one(float(v)) for v in (flushed(a) if a.dtype == np.float32 else a)], dtype)

    return row


def to_floating(dtype, mode, shape=None):
    """Integer or wider float → float, rounded once in the direction of `mode`."""
    shape = shape or FORMATS[np.dtype(dtype)]

    def one(v):
        if isinstance(v, float | np.floating) and (not np.isfinite(v) or v == 0):
            return float(v)
        value = rounded(Fraction(v.item() if isinstance(v, np.generic) else v), shape, mode)
        return np.copysign(value, float(v)) if value == 0 else value

    def row(a):
        with np.errstate(all="ignore"):
            return np.array([one(v) for v in a], np.float64).astype(dtype)

    return row


def c(label, code, numpy, tolerance=None):
    return Row(label, code, numpy, tolerance or Tolerance())


SATURATE = """
__device__ int s8(int a) { int r; asm("{ .reg .s8 t; cvt.sat.s8.s32 t, %1; cvt.s32.s8 %0, t; }" : "=r"(r) : "r"(a)); return r; }
__device__ int u8(int a) { int r; asm("{ .reg .u8 t; cvt.sat.u8.s32 t, %1; cvt.s32.u8 %0, t; }" : "=r"(r) : "r"(a)); return r; }
__device__ int s16(int a) { short t; asm("cvt.sat.s16.s32 %0, %1;" : "=h"(t) : "r"(a)); return t; }
__device__ int u16(int a) { unsigned short t; asm("cvt.sat.u16.s32 %0, %1;" : "=h"(t) : "r"(a)); return t; }
__device__ int u32(int a) { int r; asm("cvt.sat.u32.s32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
__device__ int pack(int a, int b, int c) { int r; asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
"""


def held(a, low, high):
    return np.clip(a.astype(np.int64), low, high).astype(np.int32)


def floats():
    rng = np.random.default_rng(21)
    return (
        np.concatenate(
            [F32, np.array(EDGES, np.float32), (rng.standard_normal(100) * 10.0 ** rng.integers(-2, 11, 100)).astype(np.float32), singles(rng, 118)]
        ),
    )


def doubles_():
    rng = np.random.default_rng(22)
    ties = np.array(
        [1 + 2.0**-24, 1 + 3 * 2.0**-24, 3.4028235677973366e38, 2.0**-150, 2.0**-149 * 1.5, 65519.99, 65520.0, 2.0**-25, 2.0**-24 * 1.5], np.float64
    )
    return (np.concatenate([F64, EDGES, ties, rng.standard_normal(100) * 10.0 ** rng.integers(-8, 20, 100), doubles(rng, 111)]),)


def integers(special, seed):
    def make():
        rng = np.random.default_rng(seed)
        near = np.array([2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**30 + 64, 2**30 + 65, 2049, 65519, 65520], special.dtype)
        return (np.concatenate([special, near, words(special.dtype)(rng, 128)]),)

    return make


def three_integers():
    return crossed(I32, 3, 64, 25, lambda rng, n: rng.integers(-400, 400, n, dtype=np.int32))


HALF = "#include <cuda_fp16.h>\n"
BF16 = "#include <cuda_bf16.h>\n"
F16 = np.array([0.0, -0.0, 1.0, -1.0, 1.5, 1 / 3, -2.5, 6e-8, -3e-5, 6.1035e-05, 65504.0, -65504.0, INF, -INF, NAN, 2048.0], np.float16)
B16 = to_bfloat16([0.0, -0.0, 1.0, -1.0, 1.5, 1 / 3, -2.5, 1e-40, 3e-39, 1e38, 3.3895e38, -3e38, INF, -INF, NAN, 256.0])


def halves(rng, n):
    moderate = (rng.standard_normal(n) * 4).astype(np.float16)
    return np.where(np.arange(n) % 2 == 0, moderate, rng.integers(0, 2**16, n, dtype=np.uint16).view(np.float16))


def brains(rng, n):
    """Finite bfloat16 bit patterns: half moderate, half of any exponent."""
    moderate = to_bfloat16(rng.standard_normal(n) * 4)
    anything = rng.integers(0, 2**16, n, dtype=np.uint16)
    return np.where(np.arange(n) % 2 == 0, moderate, np.where((anything & 0x7F80) == 0x7F80, anything & 0xBFFF, anything))


def exact16(operation, mode="rn"):
    return lambda a, b, c: exactly(operation, np.float16, mode)(a, b, c) if operation is FMA else exactly(operation, np.float16, mode)(a, b)


def half_rows() -> list[Row]:
    def flag(function):
        return lambda a, b, c: function(a, b, c).astype(np.float16)

    return [
        c("hadd", "__hadd(a, b)", exact16(ADD)),
        c("hsub", "__hsub(a, b)", exact16(SUB)),
        c("hmul", "__hmul(a, b)", exact16(MUL)),
        c("hfma", "__hfma(a, b, c)", exact16(FMA)),
        c("hdiv", "__hdiv(a, b)", exact16(DIV), Tolerance(ulp=1)),
        c("operators", "a * b - c", lambda a, b, c: exactly(FMA, np.float16)(a, b, -c)),
        c("hneg", "__hneg(a)", lambda a, b, c: -a),
        c("habs", "__habs(a)", lambda a, b, c: np.abs(a)),
        c("hmin", "__hmin(a, b)", least),
        c("hmax", "__hmax(a, b)", most),
        c("hmax nan", "__hmax_nan(a, b)", nan_wins(most)),
        c("hadd sat", "__hadd_sat(a, b)", lambda a, b, c: saturated(exact16(ADD)(a, b, c))),
        c("hfma relu", "__hfma_relu(a, b, c)", lambda a, b, c: relu(exact16(FMA)(a, b, c))),
        c("hfma sat", "__hfma_sat(a, b, c)", lambda a, b, c: saturated(exact16(FMA)(a, b, c))),
        c("hlt", "__hlt(a, b)", flag(lambda a, b, c: a < b)),
        c("hle", "__hle(a, b)", flag(lambda a, b, c: a <= b)),
        c("heq", "__heq(a, b)", flag(lambda a, b, c: a == b)),
        c("hne unordered", "__hneu(a, b)", flag(lambda a, b, c: a != b)),
        c("hgt", "a > b ? __float2half(1.0f) : __float2half(0.0f)", flag(lambda a, b, c: a > b)),
        c("hisnan", "__hisnan(a)", flag(lambda a, b, c: np.isnan(a))),
        c("hfloor", "hfloor(a)", lambda a, b, c: np.floor(a)),
        c("hrint", "hrint(a)", lambda a, b, c: np.rint(a)),
        c("htrunc", "htrunc(a)", lambda a, b, c: np.trunc(a)),
        c("through float", "__float2half(__half2float(a) * 2.0f)", lambda a, b, c: (a.astype(np.float32) * 2).astype(np.float16)),
        c("hsqrt", "hsqrt(__habs(a))", lambda a, b, c: np.sqrt(np.abs(a).astype(np.float64)).astype(np.float16), Tolerance(ulp=1)),
        c("low of halves", "__low2half(__hadd2(__halves2half2(a, b), __halves2half2(c, a)))", lambda a, b, c: exact16(ADD)(a, c, c)),
        c(
            "high of halves",
            "__high2half(__hfma2(__halves2half2(a, b), __halves2half2(b, c), __half2half2(a)))",
            lambda a, b, c: exactly(FMA, np.float16)(b, c, a),
        ),
        c("hmul2", "__low2half(__hmul2(__halves2half2(a, b), __halves2half2(b, c)))", lambda a, b, c: exact16(MUL)(a, b, c)),
        c("hmin2", "__high2half(__hmin2(__halves2half2(a, b), __halves2half2(c, a)))", lambda a, b, c: least(b, a)),
        c("swap", "__low2half(__lowhigh2highlow(__halves2half2(a, b)))", lambda a, b, c: b),
        c(
            "hadd2 relu",
            "__low2half(__hmax2(__hadd2(__half2half2(a), __half2half2(b)), __float2half2_rn(0.0f)))",
            lambda a, b, c: most(exact16(ADD)(a, b, c), np.zeros_like(a)),
        ),
        c("heq2", "__low2half(__heq2(__halves2half2(a, b), __halves2half2(b, a)))", flag(lambda a, b, c: a == b)),
        c("hlt2", "__high2half(__hlt2(__halves2half2(a, b), __halves2half2(b, c)))", flag(lambda a, b, c: b < c)),
    ]


def saturated(a):
    return np.where(np.isnan(a) | (a <= 0), a.dtype.type(0), np.minimum(a, a.dtype.type(1)))


def relu(a):
    """NaN stays, what is below zero becomes +0."""
    return np.where(np.isnan(a), a, np.where(a > 0, a, a.dtype.type(0)))


def half_function(function):
    return lambda a: function(a.astype(np.float64))


# Errors of the half functions: PTX ISA ex2.approx.f16 2^-9.9, tanh.approx.f16 2^-10.987; the others go through float: one unit.
HALF_FUNCTIONS = [
    c("hexp2", "hexp2(a)", half_function(np.exp2), Tolerance(relative=2**-9.9, ulp=1)),
    c("hexp", "hexp(a)", half_function(np.exp), Tolerance(ulp=2)),
    c("hlog", "hlog(__habs(a) + __float2half(0.25f))", lambda a: np.log((np.abs(a) + np.float16(0.25)).astype(np.float64)), Tolerance(ulp=2, absolute=2**-10)),
    c("hrcp", "hrcp(a)", half_function(lambda a: 1 / a), Tolerance(ulp=1)),
    c("hrsqrt", "hrsqrt(__habs(a))", half_function(lambda a: np.abs(a) ** -0.5), Tolerance(ulp=1)),
    c("htanh approx", "htanh_approx(a)", half_function(np.tanh), Tolerance(absolute=2**-10.987, ulp=1)),
    c("hsin", "hsin(a)", half_function(np.sin), Tolerance(ulp=2, absolute=2**-11)),
    c("h2exp2", "__low2half(h2exp2(__half2half2(a)))", half_function(np.exp2), Tolerance(relative=2**-9.9, ulp=1)),
]


def brain(operation, mode="rn"):
    """A bfloat16 operation rounded once, over bits."""

    def one(*operands):
        with np.errstate(all="ignore"):
            plain_value = operation(*(np.float64(v) for v in operands))
        if not all(np.isfinite(v) for v in operands) or not np.isfinite(plain_value):
            return float(plain_value)
        exact = operation(*(Fraction(float(v)) for v in operands))
        value = rounded(exact, BFLOAT16, mode)
        return value if exact else float(plain_value)

    def row(*columns):
        values = [one(*row) for row in zip(*(from_bfloat16(column) for column in columns), strict=True)]
        return to_bfloat16(values)

    return row


def brain_rows() -> list[Row]:
    return [
        c("hadd", "__hadd(a, b)", lambda a, b, c: brain(ADD)(a, b)),
        c("hsub", "__hsub(a, b)", lambda a, b, c: brain(SUB)(a, b)),
        c("hmul", "__hmul(a, b)", lambda a, b, c: brain(MUL)(a, b)),
        c("hfma", "__hfma(a, b, c)", lambda a, b, c: brain(FMA)(a, b, c)),
        c("hneg", "__hneg(a)", lambda a, b, c: a ^ 0x8000),
        c("habs", "__habs(a)", lambda a, b, c: a & 0x7FFF),
        c("hmin", "__hmin(a, b)", lambda a, b, c: to_bfloat16(least(from_bfloat16(a), from_bfloat16(b)))),
        c("hmax", "__hmax(a, b)", lambda a, b, c: to_bfloat16(most(from_bfloat16(a), from_bfloat16(b)))),
        c("hlt", "__hlt(a, b) ? __float2bfloat16(1.0f) : __float2bfloat16(0.0f)", lambda a, b, c: to_bfloat16(from_bfloat16(a) < from_bfloat16(b))),
        c("through float", "__float2bfloat16(__bfloat162float(a) * 1.25f)", lambda a, b, c: to_bfloat16(flushed(from_bfloat16(a)).astype(np.float64) * 1.25)),
        c("low of pair", "__low2bfloat16(__hadd2(__halves2bfloat162(a, b), __halves2bfloat162(c, a)))", lambda a, b, c: brain(ADD)(a, c)),
        c(
            "high of pair",
            "__high2bfloat16(__hfma2(__halves2bfloat162(a, b), __halves2bfloat162(b, c), __bfloat162bfloat162(a)))",
            lambda a, b, c: brain(FMA)(b, c, a),
        ),
        c("hmul2", "__low2bfloat16(__hmul2(__halves2bfloat162(a, b), __halves2bfloat162(b, c)))", lambda a, b, c: brain(MUL)(a, b)),
    ]


def finite_brains():
    """NaN bits are the hardware's own for bfloat16, and its bits are compared as integers: pairs that give NaN stay out."""
    finite = B16[np.isfinite(from_bfloat16(B16))]
    a, b, c_ = crossed(finite, 3, 87, 27, brains)
    with np.errstate(all="ignore"):
        values = [from_bfloat16(v).astype(np.float32) for v in (a, b, c_)]
        keep = np.isfinite(values[0]) & np.isfinite(values[1]) & np.isfinite(values[2])
    return a[keep], b[keep], c_[keep]


def small_halves():
    rng = np.random.default_rng(28)
    return (np.concatenate([np.array([1.0, -1.0, 0.5, 2.0, 4.0], np.float16), (rng.uniform(0.05, 8, 251) * rng.choice([-1, 1], 251)).astype(np.float16)]),)


def by_modes(code, numpy):
    """The four directions of one conversion: `code` holds MODE."""
    return [c(f"{code.split('(')[0].strip('_')} {mode}".replace("MODE", mode), code.replace("MODE", mode), numpy(mode)) for mode in ("rn", "rz", "ru", "rd")]


def narrow_floats(least_value, most_value, n=192, seed=29):
    return lambda: (np.random.default_rng(seed).uniform(least_value, most_value, n).astype(np.float32),)


MSB64, MSB32 = -(2**63), -(2**31)
CASES: list[Case] = [
    table(
        "convert.float_int",
        ("float",),
        "int",
        [
            *by_modes("__float2int_MODE(a)", lambda m: to_integer(np.int32, m)),
            *by_modes("(int)__float2uint_MODE(a)", lambda m: lambda a: to_integer(np.uint32, m)(a).view(np.int32)),
            c("cast", "(int)a", to_integer(np.int32, "rz")),
            c("lrint", "(int)rintf(a)", to_integer(np.int32, "rn")),
            c("bits", "__float_as_int(a) & 0x7f800000", lambda a: a.view(np.int32) & 0x7F800000),
            c(
                "half bits",
                "(int)__half_as_ushort(__float2half(fabsf(a) < 1e30f ? a : 0.0f))",
                lambda a: to_floating(np.float16, "rn")(np.where(np.abs(a) < 1e30, a, np.float32(0))).view(np.uint16).astype(np.int32),
            ),
        ],
        floats,
        HALF,
    ),
    table(
        "convert.float_long",
        ("float",),
        "long long",
        [
            *by_modes("__float2ll_MODE(a)", lambda m: to_integer(np.int64, m, MSB64)),
            *by_modes("(long long)__float2ull_MODE(a)", lambda m: lambda a: to_integer(np.uint64, m, 2**63)(a).view(np.int64)),
        ],
        floats,
    ),
    table(
        "convert.double_int",
        ("double",),
        "int",
        [
            *by_modes("__double2int_MODE(a)", lambda m: to_integer(np.int32, m, MSB32)),
            *by_modes("(int)__double2uint_MODE(a)", lambda m: lambda a: to_integer(np.uint32, m, 2**31)(a).view(np.int32)),
            c("high word", "__double2hiint(a)", lambda a: (a.view(np.int64) >> 32).astype(np.int32)),
            c("low word", "__double2loint(a)", lambda a: (a.view(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)),
        ],
        doubles_,
    ),
    table(
        "convert.double_long",
        ("double",),
        "long long",
        [
            *by_modes("__double2ll_MODE(a)", lambda m: to_integer(np.int64, m, MSB64)),
            *by_modes("(long long)__double2ull_MODE(a)", lambda m: lambda a: to_integer(np.uint64, m, 2**63)(a).view(np.int64)),
        ],
        doubles_,
    ),
    table(
        "convert.double_float", ("double",), "float", by_modes("__double2float_MODE(a)", lambda m: lambda a: flushed(to_floating(np.float32, m)(a))), doubles_
    ),
    table(
        "convert.float_double",
        ("float",),
        "double",
        [c("widen", "(double)a", lambda a: flushed(a).astype(np.float64)), c("mixed", "a * 2.0", lambda a: flushed(a).astype(np.float64) * 2)],
        floats,
    ),
    table(
        "convert.float_half",
        ("float",),
        "__half",
        [
            *by_modes("__float2half_MODE(a)", lambda m: to_floating(np.float16, m)),
            c("pair", "__high2half(__floats2half2_rn(0.0f, a))", to_floating(np.float16, "rn")),
        ],
        floats,
        HALF,
    ),
    table("convert.double_half", ("double",), "__half", [c("narrow", "__double2half(a)", to_floating(np.float16, "rn"))], doubles_, HALF),
    table(
        "convert.int_float",
        ("int",),
        "float",
        [
            *by_modes("__int2float_MODE(a)", lambda m: to_floating(np.float32, m)),
            *by_modes("__uint2float_MODE((unsigned)a)", lambda m: lambda a: to_floating(np.float32, m)(a.view(np.uint32))),
            c("char", "(float)(signed char)a", lambda a: a.astype(np.int8).astype(np.float32)),
            c("unsigned short", "(float)(unsigned short)a", lambda a: a.astype(np.uint16).astype(np.float32)),
            c("bits", "__int_as_float((a & 0x007fffff) | 0x3f800000)", lambda a: ((a & 0x7FFFFF) | 0x3F800000).view(np.float32)),
        ],
        integers(I32, 23),
    ),
    table(
        "convert.long_float",
        ("long long",),
        "float",
        [
            *by_modes("__ll2float_MODE(a)", lambda m: to_floating(np.float32, m)),
            *by_modes("__ull2float_MODE((unsigned long long)a)", lambda m: lambda a: to_floating(np.float32, m)(a.view(np.uint64))),
        ],
        integers(I64, 24),
    ),
    table(
        "convert.long_double",
        ("long long",),
        "double",
        [
            *by_modes("__ll2double_MODE(a)", lambda m: to_floating(np.float64, m)),
            *by_modes("__ull2double_MODE((unsigned long long)a)", lambda m: lambda a: to_floating(np.float64, m)(a.view(np.uint64))),
            c("int", "(double)(int)a", lambda a: a.astype(np.int32).astype(np.float64)),
            c("bits", "__longlong_as_double(a & 0x7fefffffffffffffLL)", lambda a: (a & 0x7FEFFFFFFFFFFFFF).view(np.float64)),
        ],
        integers(I64, 26),
    ),
    table(
        "convert.int_half",
        ("int",),
        "__half",
        [
            *by_modes("__int2half_MODE(a)", lambda m: to_floating(np.float16, m)),
            c("short", "__short2half_rn((short)a)", lambda a: to_floating(np.float16, "rn")(a.astype(np.int16))),
        ],
        integers(I32, 30),
        HALF,
    ),
    table(
        "convert.half_int",
        ("__half",),
        "int",
        [
            *by_modes("__half2int_MODE(a)", lambda m: to_integer(np.int32, m)),
            c("short", "__half2short_rz(a)", lambda a: to_integer(np.int16, "rz")(a).astype(np.int32)),
            c("ushort", "__half2ushort_rn(a)", lambda a: to_integer(np.uint16, "rn")(a).astype(np.int32)),
        ],
        lambda: (np.concatenate([F16, halves(np.random.default_rng(31), 112)]),),
        HALF,
    ),
    table(
        "convert.half_float",
        ("__half",),
        "float",
        [c("widen", "__half2float(a)", lambda a: a.astype(np.float32))],
        lambda: (np.arange(65536, dtype=np.uint16).view(np.float16)[::13].copy(),),
        HALF,
    ),
    table(
        "convert.float_narrow",
        ("float",),
        "int",
        [
            c("signed char", "(int)(signed char)a", lambda a: np.trunc(a).astype(np.int32)),
            c("unsigned char", "(int)(unsigned char)fabsf(a)", lambda a: np.trunc(np.abs(a)).astype(np.int32)),
            c("short", "(int)(short)(a * 100.0f)", lambda a: np.trunc(a * np.float32(100)).astype(np.int32)),
        ],
        narrow_floats(-127, 127),
    ),
    table(
        "convert.saturate",
        ("int", "int", "int"),
        "int",
        [
            c("s8", "s8(a)", lambda a, b, c: held(a, -128, 127)),
            c("u8", "u8(a)", lambda a, b, c: held(a, 0, 255)),
            c("s16", "s16(a)", lambda a, b, c: held(a, -32768, 32767)),
            c("u16", "u16(a)", lambda a, b, c: held(a, 0, 65535)),
            c("u32", "u32(a)", lambda a, b, c: held(a, 0, 2**31 - 1)),
            c("pack", "pack(a, b, c)", lambda a, b, c: held(a, 0, 255) << 8 | held(b, 0, 255) | (c & 0xFFFF) << 16),
        ],
        three_integers,
        SATURATE,
    ),
    table("half.arithmetic", ("__half",) * 3, "__half", half_rows(), lambda: crossed(F16, 3, 128, 32, halves), HALF),
    table("half.functions", ("__half",), "__half", HALF_FUNCTIONS, small_halves, HALF),
    table("bfloat16.arithmetic", ("__nv_bfloat16",) * 3, "__nv_bfloat16", brain_rows(), finite_brains, BF16),
    table(
        "bfloat16.from_float",
        ("float",),
        "__nv_bfloat16",
        by_modes("__float2bfloat16_MODE(a)", lambda m: lambda a: to_bfloat16(a, m)),
        lambda: (np.nan_to_num(floats()[0], nan=1.0),),
        BF16,
    ),
    table(
        "bfloat16.to_float",
        ("__nv_bfloat16",),
        "float",
        [c("widen", "__bfloat162float(a)", from_bfloat16)],
        lambda: (np.arange(0, 65536, 17, dtype=np.uint16),),
        BF16,
    ),
]
