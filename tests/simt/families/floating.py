"""float and double: arithmetic in every rounding direction, special values, subnormals, the approximate instructions and the math library.

CuPy compiles every kernel with -ftz=true, and so does the simulator: float32 arithmetic in CUDA C takes subnormal operands for zero and
gives zero for subnormal results. Inline PTX without .ftz keeps them; double always does.
"""

from __future__ import annotations

import math

import numpy as np

from .case import Case, Tolerance
from .rounding import ADD, DIV, FMA, MUL, SUB, exactly, flushed, root
from .table import Row, crossed, table

INF, NAN = np.inf, np.nan
F32 = np.array(
    [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 3.0, 1 / 3, 1e-38, -1e-45, 1.1754942e-38, 1.17549435e-38, 3.4028235e38, -3.4e38, INF, -INF, NAN, 16777216.0], np.float32
)
NORMAL = F32[(F32 == 0) | ~(np.abs(F32) < 1.17549435e-38)]  # −0 and NaN stay
F64 = np.array(
    [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 1 / 3, 5e-324, -1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, -1e300, INF, -INF, NAN, 2.0**53], np.float64
)


def singles(rng, n):
    """Random signs, exponents and fractions; half of them of moderate size."""
    bits = rng.integers(0, 2**32, n, dtype=np.uint32)
    moderate = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(np.float32)
    return np.where(np.arange(n) % 2 == 0, moderate, bits.view(np.float32))


def normal_singles(rng, n):
    return flushed(singles(rng, n))


def doubles(rng, n):
    bits = rng.integers(0, 2**64, n, dtype=np.uint64)
    return np.where(np.arange(n) % 2 == 0, rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n), bits.view(np.float64))


def least(a, b, *_):
    """fmin: a NaN loses against a number, −0 is less than +0."""
    both = np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), np.where(a < b, a, b))
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, both))


def most(a, b, *_):
    return -least(-a, -b)


def nan_wins(function):
    return lambda a, b, *_: np.where(np.isnan(a) | np.isnan(b), np.array(np.nan, a.dtype), function(a, b))


def saturate(a, *_):
    """To [0, 1]; NaN and −0 become +0."""
    return np.where(np.isnan(a) | (a <= 0), a.dtype.type(0), np.minimum(a, a.dtype.type(1)))


def half_away(a, *_):
    wide = a.astype(np.float64)
    return np.where(np.isfinite(a), np.copysign(np.floor(np.abs(wide) + 0.5), wide), wide)


def remainder_toward_zero(a, b, *_):
    return np.fmod(a, b)


def remainder_nearest(a, b, *_):
    def one(x, y):
        return math.nan if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0 else math.remainder(x, y)

    return np.array([one(float(x), float(y)) for x, y in zip(a, b, strict=True)], a.dtype)


def fraction(a, *_):
    return np.frexp(a)[0]


def scaled(a, b, *_):
    """ldexp(a, 3·(1 + (b > 0)))."""
    return np.ldexp(a, np.where(b > 0, 6, 3).astype(np.int32))


def assembly(**instructions: str) -> str:
    """Device functions of float around one instruction each; the number of operands follows from its name."""
    lines = []
    for name, instruction in instructions.items():
        count = 3 if instruction.startswith("fma") else 1 if instruction.split(".")[0] in ONE_OPERAND else 2
        letters = "abc"[:count]
        slots = ", ".join(f"%{k}" for k in range(count + 1))
        inputs = ", ".join(f'"f"({letter})' for letter in letters)
        parameters = ", ".join(f"float {letter}" for letter in letters)
        lines.append(f'__device__ float {name}({parameters}) {{ float r; asm("{instruction} {slots};" : "=f"(r) : {inputs}); return r; }}\n')
    return "".join(lines)


ONE_OPERAND = {"rcp", "sqrt", "rsqrt", "abs", "neg", "cvt", "ex2", "lg2", "sin", "cos", "tanh"}
ASSEMBLY = assembly(
    add="add.f32",
    mul="mul.f32",
    div="div.rn.f32",
    min_="min.f32",
    max_="max.f32",
    copysign_="copysign.f32",
    add_ftz="add.ftz.f32",
    mul_ftz="mul.ftz.f32",
    div_ftz="div.rn.ftz.f32",
    add_sat="add.sat.f32",
    min_nan="min.NaN.f32",
    max_nan="max.NaN.f32",
    min_ftz="min.ftz.f32",
    less="set.lt.f32.f32",
    less_ftz="set.lt.ftz.f32.f32",
    mul_rz="mul.rz.f32",
    add_rd="add.rm.f32",
    rcp="rcp.rn.f32",
    sqrt_="sqrt.rn.f32",
    sqrt_ru="sqrt.rp.f32",
    abs_="abs.f32",
    abs_ftz="abs.ftz.f32",
    neg_="neg.f32",
    floor_="cvt.rmi.f32.f32",
    ceil_ftz="cvt.rpi.ftz.f32.f32",
    saturate_="cvt.sat.f32.f32",
    fma_="fma.rn.f32",
    fma_rz="fma.rz.f32",
    fma_ftz="fma.rn.ftz.f32",
    fma_sat="fma.rn.sat.f32",
)


def r(label, code, numpy, tolerance=None):
    return Row(label, code, numpy, tolerance or Tolerance())


def flushing(function):
    """What `function` gives under -ftz=true."""
    return lambda *columns: flushed(function(*(flushed(column) for column in columns)))


def directed(letter_to_type: str, dtype) -> list[Row]:
    """add, mul, fma, div in the four directions, through the intrinsics of float (f) or double (d)."""
    prefix = {"f": "__f", "d": "__d"}[letter_to_type]
    fma = {"f": "__fmaf", "d": "__fma"}[letter_to_type]
    rows = []
    for mode in ("rn", "rz", "ru", "rd"):
        rows += [
            r(f"add.{mode}", f"{prefix}add_{mode}(a, b)", lambda a, b, c, m=mode: exactly(ADD, dtype, m)(a, b)),
            r(f"sub.{mode}", f"{prefix}sub_{mode}(a, b)", lambda a, b, c, m=mode: exactly(SUB, dtype, m)(a, b)),
            r(f"mul.{mode}", f"{prefix}mul_{mode}(a, b)", lambda a, b, c, m=mode: exactly(MUL, dtype, m)(a, b)),
            r(f"fma.{mode}", f"{fma}_{mode}(a, b, c)", lambda a, b, c, m=mode: exactly(FMA, dtype, m)(a, b, c)),
            r(f"div.{mode}", f"{prefix}div_{mode}(a, b)", lambda a, b, c, m=mode: exactly(DIV, dtype, m)(a, b)),
        ]
    return [Row(row.label, row.code, flushing(row.numpy)) for row in rows] if letter_to_type == "f" else rows


def plain(dtype, suffix: str) -> list[Row]:
    """What needs no rounding direction: the same rows for float (suffix f) and double (no suffix)."""
    one = np.dtype(dtype).type
    rows = [
        r("a + b", "a + b", lambda a, b, c: a + b),
        r("a * b + c fused", "a * b + c", lambda a, b, c: exactly(FMA, dtype)(a, b, c)),
        r("a - b * c fused", "a - b * c", lambda a, b, c: exactly(FMA, dtype)(-b, c, a)),
        r("a / b", "a / b", lambda a, b, c: a / b),
        r("1 / a", f"1.0{suffix} / a", lambda a, b, c: one(1) / a),
        r("sqrt", f"sqrt{suffix}(a)", root(dtype)),
        r("min", f"fmin{suffix}(a, b)", least),
        r("max", f"fmax{suffix}(a, b)", most),
        r("abs", f"fabs{suffix}(a)", lambda a, b, c: np.abs(a)),
        r("neg", "-a", lambda a, b, c: -a),
        r("floor", f"floor{suffix}(a)", lambda a, b, c: np.floor(a)),
        r("ceil", f"ceil{suffix}(a)", lambda a, b, c: np.ceil(a)),
        r("trunc", f"trunc{suffix}(a)", lambda a, b, c: np.trunc(a)),
        r("rint", f"rint{suffix}(a)", lambda a, b, c: np.rint(a)),
        r("round", f"round{suffix}(a)", half_away),
        r("copysign", f"copysign{suffix}(a, b)", lambda a, b, c: np.copysign(a, b)),
        r("fmod", f"fmod{suffix}(a, b)", remainder_toward_zero),
        r("remainder", f"remainder{suffix}(a, b)", remainder_nearest),
        r("ldexp", f"ldexp{suffix}(a, 3 * (1 + (b > 0)))", scaled),
        r("fdim", f"fdim{suffix}(a, b)", lambda a, b, c: np.where(np.isnan(a) | np.isnan(b), one(np.nan), np.where(a > b, a - b, one(0)))),
        r("lt", "a < b", lambda a, b, c: a < b),
        r("le", "a <= b", lambda a, b, c: a <= b),
        r("eq", "a == b", lambda a, b, c: a == b),
        r("ne", "a != b", lambda a, b, c: a != b),
        r("not less", "!(a < b)", lambda a, b, c: ~(a < b)),
        r("isnan", "isnan(a)", lambda a, b, c: np.isnan(a)),
        r("isinf", "isinf(a) ? 1 : 0", lambda a, b, c: np.isinf(a)),
        r("isfinite", "isfinite(a) ? 1 : 0", lambda a, b, c: np.isfinite(a)),
        r("signbit", "signbit(a) ? 1 : 0", lambda a, b, c: np.signbit(a)),
        r("unordered", "!(a <= b) && !(a > b)", lambda a, b, c: np.isnan(a) | np.isnan(b)),
        r("select", "a < b ? b : c", lambda a, b, c: np.where(a < b, b, c)),
    ]
    return [Row(row.label, row.code, flushing(row.numpy)) for row in rows] if suffix else rows


def single_rows() -> list[Row]:
    """Instructions of float32 alone, subnormals kept where the name doesn't say .ftz."""
    f32 = np.float32
    return [
        r("add", "add(a, b)", lambda a, b, c: a + b),
        r("mul", "mul(a, b)", lambda a, b, c: a * b),
        r("div", "div(a, b)", lambda a, b, c: a / b),
        r("fma", "fma_(a, b, c)", exactly(FMA, f32)),
        r("fma.rz", "fma_rz(a, b, c)", exactly(FMA, f32, "rz")),
        r("mul.rz", "mul_rz(a, b)", lambda a, b, c: exactly(MUL, f32, "rz")(a, b)),
        r("add.rd", "add_rd(a, b)", lambda a, b, c: exactly(ADD, f32, "rd")(a, b)),
        r("rcp.rn", "rcp(a)", lambda a, b, c: f32(1) / a),
        r("sqrt.rn", "sqrt_(a)", root(f32)),
        r("min", "min_(a, b)", least),
        r("max", "max_(a, b)", most),
        r("abs", "abs_(a)", lambda a, b, c: np.abs(a)),
        r("neg", "neg_(a)", lambda a, b, c: -a),
        r("floor", "floor_(a)", lambda a, b, c: np.floor(a)),
        r("saturate", "saturate_(a)", saturate),
        r("less", "less(a, b)", lambda a, b, c: a < b),
        r("copysign", "copysign_(a, b)", lambda a, b, c: np.copysign(b, a)),
        r("add.ftz", "add_ftz(a, b)", flushing(lambda a, b, c: a + b)),
        r("mul.ftz", "mul_ftz(a, b)", flushing(lambda a, b, c: a * b)),
        r("div.ftz", "div_ftz(a, b)", flushing(lambda a, b, c: a / b)),
        r("fma.ftz", "fma_ftz(a, b, c)", flushing(exactly(FMA, f32))),
        r("ceil.ftz", "ceil_ftz(a)", flushing(lambda a, b, c: np.ceil(a))),
        r("min.ftz", "min_ftz(a, b)", flushing(least)),
        r("abs.ftz", "abs_ftz(a)", flushing(lambda a, b, c: np.abs(a))),
        r("less.ftz", "less_ftz(a, b)", flushing(lambda a, b, c: a < b)),
        r("add.sat", "add_sat(a, b)", lambda a, b, c: saturate(a + b)),
        r("fma.sat", "fma_sat(a, b, c)", lambda a, b, c: saturate(exactly(FMA, f32)(a, b, c))),
        r("min.NaN", "min_nan(a, b)", nan_wins(least)),
        r("max.NaN", "max_nan(a, b)", nan_wins(most)),
        r("select", "a < 1.0f ? b : c", lambda a, b, c: np.where(a < 1, b, c)),
        r("bits", "__int_as_float(__float_as_int(a) ^ 0x80000000)", lambda a, b, c: -a),
    ]


def intrinsic_rows() -> list[Row]:
    """Intrinsics of float32 on normal numbers."""
    return [
        r("rcp.rn", "__frcp_rn(a)", flushing(lambda a, b, c: np.float32(1) / a)),
        r("sqrt.rn", "__fsqrt_rn(a)", root(np.float32)),
        r("rsqrt.rn", "__frsqrt_rn(fabsf(a))", lambda a, b, c: inverse_root(np.abs(a))),
        r("saturate", "__saturatef(a)", saturate),
        r("frexp", "fraction(a)", fraction),
    ]


def inverse_root(a):
    """1/√a rounded once; float64's two roundings are told from a tie by squaring in exact integers (none occurs for float32)."""
    with np.errstate(all="ignore"):
        return (1 / np.sqrt(a.astype(np.float64))).astype(np.float32)


def finite_inputs(low, high, n, seed, *special):
    def make():
        rng = np.random.default_rng(seed)
        return (np.concatenate([np.array(special, np.float32), rng.uniform(low, high, n - len(special)).astype(np.float32)]),)

    return make


def of64(function):
    """The exact answer to float32 operands, as near as float64 has it."""

    def row(a, *_):
        with np.errstate(all="ignore"):
            return function(a.astype(np.float64))

    return row


UNARY = assembly(
    ex2="ex2.approx.f32",
    ex2_ftz="ex2.approx.ftz.f32",
    lg2="lg2.approx.f32",
    rcp="rcp.approx.f32",
    rsqrt_="rsqrt.approx.f32",
    sqrt_="sqrt.approx.f32",
    sin_="sin.approx.f32",
    cos_="cos.approx.f32",
    tanh_="tanh.approx.f32",
)

# Errors as PTX ISA 9.0 states them (section 9.7.3), plus half a unit for the rounding of the stored result.
APPROXIMATE_ANY = [
    r("ex2.approx", "ex2(a)", of64(np.exp2), Tolerance(relative=2**-22, ulp=0.5)),
    r("ex2.approx.ftz", "ex2_ftz(a)", of64(np.exp2), Tolerance(relative=2**-22, ulp=0.5)),
    r("tanh.approx", "tanh_(a)", of64(np.tanh), Tolerance(relative=2**-11, ulp=0.5)),
    r("rcp.approx", "rcp(a)", of64(lambda a: 1 / a), Tolerance(relative=2**-23, ulp=0.5)),
    r("expf", "expf(a)", of64(np.exp), Tolerance(ulp=2.5)),
    r("exp2f", "exp2f(a)", of64(np.exp2), Tolerance(ulp=2.5)),
    r("exp10f", "exp10f(a)", of64(lambda a: 10.0**a), Tolerance(ulp=2.5)),
    r("expm1f", "expm1f(a)", of64(np.expm1), Tolerance(ulp=1.5)),
    r("tanhf", "tanhf(a)", of64(np.tanh), Tolerance(ulp=2.5)),
    r("__expf", "__expf(a)", of64(np.exp), Tolerance(relative=2**-19)),
    r("sigmoid", "1.0f / (1.0f + __expf(-a))", of64(lambda a: 1 / (1 + np.exp(-a))), Tolerance(relative=2**-19)),
    r("erff", "erff(a)", of64(np.vectorize(math.erf)), Tolerance(ulp=2.5)),
    r("sinhf", "sinhf(a)", of64(np.sinh), Tolerance(ulp=3.5)),
    r("coshf", "coshf(a)", of64(np.cosh), Tolerance(ulp=2.5)),
    r("atanf", "atanf(a)", of64(np.arctan), Tolerance(ulp=2.5)),
    r("sinf", "sinf(a)", of64(np.sin), Tolerance(ulp=2.5)),
    r("cosf", "cosf(a)", of64(np.cos), Tolerance(ulp=2.5)),
    r("tanf", "tanf(a)", of64(np.tan), Tolerance(ulp=4.5)),
]
APPROXIMATE_POSITIVE = [
    r("lg2.approx", "lg2(a)", of64(np.log2), Tolerance(relative=2**-22, absolute=2**-22, ulp=0.5)),
    r("rsqrt.approx", "rsqrt_(a)", of64(lambda a: a**-0.5), Tolerance(relative=2**-22.9, ulp=0.5)),
    r("sqrt.approx", "sqrt_(a)", of64(np.sqrt), Tolerance(relative=2**-23, ulp=0.5)),
    r("rsqrtf", "rsqrtf(a)", of64(lambda a: a**-0.5), Tolerance(ulp=2.5)),
    r("logf", "logf(a)", of64(np.log), Tolerance(ulp=1.5)),
    r("log2f", "log2f(a)", of64(np.log2), Tolerance(ulp=1.5)),
    r("log10f", "log10f(a)", of64(np.log10), Tolerance(ulp=2.5)),
    r("log1pf", "log1pf(a)", of64(np.log1p), Tolerance(ulp=1.5)),
    r("__logf", "__logf(a)", of64(np.log), Tolerance(relative=2**-21, absolute=2**-21)),
    r("cbrtf", "cbrtf(a)", of64(np.cbrt), Tolerance(ulp=1.5)),
    r("powf", "powf(a, 1.7f)", of64(lambda a: a ** float(np.float32(1.7))), Tolerance(ulp=4.5)),
    r("__fdividef", "__fdividef(3.0f, a)", of64(lambda a: 3 / a), Tolerance(ulp=2.5)),
    r("hypotf", "hypotf(a, 2.0f)", of64(lambda a: np.hypot(a, 2.0)), Tolerance(ulp=3.5)),
]
APPROXIMATE_ANGLE = [
    r("sin.approx", "sin_(a)", of64(np.sin), Tolerance(absolute=2**-20.5)),
    r("cos.approx", "cos_(a)", of64(np.cos), Tolerance(absolute=2**-20.5)),
    r("__sinf", "__sinf(a)", of64(np.sin), Tolerance(absolute=2**-20.5)),
    r("sinpif", "sinpif(a)", of64(lambda a: np.sin(np.pi * a)), Tolerance(ulp=2.5, absolute=2**-40)),
]
DOUBLE_LIBRARY = [
    r("exp", "exp(a)", lambda a: np.exp(a), Tolerance(ulp=2)),
    r("log", "log(fabs(a) + 0.01)", lambda a: np.log(np.abs(a) + 0.01), Tolerance(ulp=2)),
    r("sin", "sin(a)", lambda a: np.sin(a), Tolerance(ulp=3)),
    r("tanh", "tanh(a)", lambda a: np.tanh(a), Tolerance(ulp=2)),
    r("pow", "pow(fabs(a), 1.3)", lambda a: np.abs(a) ** 1.3, Tolerance(ulp=3)),
    r("rsqrt", "rsqrt(fabs(a) + 0.5)", lambda a: (np.abs(a) + 0.5) ** -0.5, Tolerance(ulp=2)),
    r("cbrt", "cbrt(a)", lambda a: np.cbrt(a), Tolerance(ulp=2)),
    r("erf", "erf(a)", lambda a: np.vectorize(math.erf)(a), Tolerance(ulp=3)),
]


def operands(special, extra, seed, draw):
    return lambda: crossed(special, 3, extra, seed, draw)


def doubles_between(low, high, n, seed):
    return lambda: (np.random.default_rng(seed).uniform(low, high, n),)


FRACTION = "__device__ float fraction(float a) { int e; return frexpf(a, &e); }\n"
CASES: list[Case] = [
    table("float.directed", ("float",) * 3, "float", directed("f", np.float32), operands(F32, 188, 11, singles)),
    table("float.plain", ("float",) * 3, "float", plain(np.float32, "f"), operands(NORMAL, 188, 12, normal_singles)),
    table("float.single", ("float",) * 3, "float", single_rows(), operands(F32, 188, 13, singles), ASSEMBLY),
    table("float.intrinsics", ("float",) * 3, "float", intrinsic_rows(), operands(NORMAL, 188, 13, normal_singles), FRACTION),
    table("double.directed", ("double",) * 3, "double", directed("d", np.float64), operands(F64, 128, 14, doubles)),
    table("double.plain", ("double",) * 3, "double", plain(np.float64, ""), operands(F64, 128, 15, doubles)),
    table("approximate.any", ("float",), "float", APPROXIMATE_ANY, finite_inputs(-9, 9, 512, 16, 1.0, -1.0, 0.5, 8.0, 2.0**-20, -(2.0**-12)), UNARY),
    table("approximate.positive", ("float",), "float", APPROXIMATE_POSITIVE, finite_inputs(0.01, 1000, 512, 17, 1.0, 2.0, 0.5, 1e-6, 1e6, 0.99999994), UNARY),
    table("approximate.angle", ("float",), "float", APPROXIMATE_ANGLE, finite_inputs(-3.14159, 3.14159, 512, 18, 0.0, 1.0, 0.5), UNARY),
    table(
        "approximate.special",
        ("float",),
        "float",
        [
            r("ex2", "ex2(a)", of64(np.exp2), Tolerance(relative=2**-22, ulp=0.5)),
            r("lg2", "lg2(a)", of64(np.log2), Tolerance(relative=2**-22, ulp=0.5)),
            r("rcp", "rcp(a)", of64(lambda a: 1 / a), Tolerance(relative=2**-23, ulp=0.5)),
            r("rsqrt", "rsqrt_(a)", of64(lambda a: 1 / np.sqrt(a)), Tolerance(relative=2**-22.9, ulp=0.5)),
            r("expf", "expf(a)", of64(np.exp), Tolerance(ulp=2.5)),
            r("logf", "logf(a)", of64(np.log), Tolerance(ulp=1.5)),
            r("tanhf", "tanhf(a)", of64(np.tanh), Tolerance(ulp=2.5)),
            r("sinf", "sinf(a)", of64(np.sin), Tolerance(ulp=2.5)),
        ],
        lambda: (np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 128.0, -140.0, -200.0, 300.0, 3e38, 1.2e-38, 1e-10, 4.0, 65536.0], np.float32),),
        UNARY,
    ),
    table(
        "approximate.large_angle",
        ("float",),
        "float",
        [
            r("sinf", "sinf(a)", of64(np.sin), Tolerance(ulp=2.5)),
            r("cosf", "cosf(a)", of64(np.cos), Tolerance(ulp=2.5)),
        ],
        finite_inputs(-1e6, 1e6, 128, 19, 105615.0, 1e30, -3e38),
        UNARY,
    ),
    table("double.library", ("double",), "double", DOUBLE_LIBRARY, doubles_between(-20, 20, 256, 20)),
]
