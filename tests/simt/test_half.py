"""f16, bf16 and fp8: every bit pattern where one operand is all there is, exact fractions where there are more."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from families.rounding import BFLOAT16, FORMATS, rounded
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lanewise import simt
from lanewise.simt.instructions import formats
from lanewise.simt.instructions.half import arithmetic

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"),  # no faults on a GPU
]

ALL = np.arange(1 << 16, dtype=np.uint16)
SHAPES = {"f16": FORMATS[np.dtype(np.float16)], "bf16": BFLOAT16}
TYPES = {"f16": "__half", "bf16": "__nv_bfloat16"}
NONE: frozenset[str] = frozenset()
FEW = settings(max_examples=25, deadline=None, derandomize=True)
HEADERS = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"


def value(bits: np.ndarray, type: str) -> np.ndarray:
    """The numbers as float64: NumPy's own float16, and bf16 as the upper half of a float32."""
    bits = np.asarray(bits, np.uint16)
    return bits.view(np.float16).astype(float) if type == "f16" else (bits.astype(np.uint32) << 16).view(np.float32).astype(float)


def bits_of(exact: Fraction | float, type: str, mode: str = "rn") -> int:
    """The bits of `exact` rounded once; a float stands for an infinity, a NaN or a signed zero."""
    if isinstance(exact, Fraction):
        number, negative = rounded(exact, SHAPES[type], mode), exact < 0
    else:
        number, negative = exact, bool(np.signbit(exact))
    if np.isnan(number):
        return 0x7FFF
    size = np.float64(abs(number))
    made = int(np.float16(size).view(np.uint16)) if type == "f16" else int(np.float32(size).view(np.uint32) >> 16)
    return made | negative << 15


def ran(body: str, *arguments: np.ndarray, parameters: str, lanes: int = 1 << 16) -> None:
    """One launch of `body`, where `i` is the lane; nothing must be found."""
    module = simt.compile(f'{HEADERS}extern "C" __global__ void k({parameters}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}')
    report = module.kernel("k").launch(lanes // 256, 256, list(arguments))
    assert report.ok, str(report)


def same(got: np.ndarray, want: np.ndarray, type: str) -> None:
    """Equal bits, whatever the payload of a NaN."""
    nan = np.isnan(value(want, type))
    assert (np.isnan(value(got, type)) == nan).all()
    wrong = np.flatnonzero((got != want) & ~nan)
    assert not len(wrong), f"lane {wrong[0]}: {got[wrong[0]]:#06x} instead of {want[wrong[0]]:#06x}, {len(wrong)} in all"


def held(type: str, array: np.ndarray) -> np.ndarray:
    """As the launch takes it: bfloat16 has no NumPy type and travels as uint16."""
    return array.view(np.float16) if type == "f16" else array


# ------------------------------------------------------------------------------------------------ one operand: all there are


@pytest.mark.parametrize("type", TYPES)
def test_every_number_through_float_and_back(type: str) -> None:
    t = TYPES[type]
    wide, back = np.zeros(1 << 16, np.float32), np.zeros(1 << 16, np.uint16)
    to, fro = ("__half2float", "__float2half_rn") if type == "f16" else ("__bfloat162float", "__float2bfloat16_rn")
    ran(f"wide[i] = {to}(x[i]); back[i] = {fro}(wide[i]);", held(type, ALL.copy()), wide, held(type, back), parameters=f"const {t}* x, float* wide, {t}* back")
    want = value(ALL, type)
    nan = np.isnan(want)
    assert (wide.view(np.uint32)[~nan] == want.astype(np.float32).view(np.uint32)[~nan]).all()
    assert np.isnan(wide[nan]).all()
    same(back, np.where(nan, np.uint16(0x7FFF), ALL), type)
    assert (back[nan] == 0x7FFF).all()


ONE = {
    "-x": lambda v: -v,
    "__habs(x)": np.abs,
    "hfloor(x)": np.floor,
    "hceil(x)": np.ceil,
    "htrunc(x)": np.trunc,
    "hrint(x)": np.rint,
    "__hadd_sat(x, x)": lambda v: np.where(np.isnan(v) | (v <= 0), 0.0, np.minimum(2 * v, 1.0)),
    "__hfma_relu(x, T(1.0f), T(0.0f))": lambda v: np.where(np.isnan(v), v, np.where(v > 0, v, 0.0)),
    "__hmul(x, T(0.5f))": lambda v: v / 2,
    "__hadd(x, x)": lambda v: v + v,
}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("expression", ONE)
def test_every_number_through_one_function(type: str, expression: str) -> None:
    got = np.zeros(1 << 16, np.uint16)
    parameters = f"const {TYPES[type]}* in, {TYPES[type]}* out"
    ran(f"typedef {TYPES[type]} T; T x = in[i]; out[i] = {expression};", held(type, ALL.copy()), held(type, got), parameters=parameters)
    with np.errstate(all="ignore"):
        exact = ONE[expression](value(ALL, type))
    if type == "f16":
        want = exact.astype(np.float16).view(np.uint16)
    else:
        single = exact.astype(np.float32)
        want = (single.view(np.uint32) >> 16).astype(np.uint16)
        for k in np.flatnonzero((single.view(np.uint32) & 0xFFFF != 0) | (single != exact)):  # halved subnormals, doubled large ones, NaN
            want[k] = bits_of(Fraction(exact[k]) if np.isfinite(exact[k]) else exact[k], type)
    same(got, want, type)


TO_INTEGER = {
    "int_rn": (np.int32, np.rint),
    "int_rz": (np.int32, np.trunc),
    "uint_rd": (np.uint32, np.floor),
    "short_rn": (np.int16, np.rint),
    "ll_ru": (np.int64, np.ceil),
}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("to", TO_INTEGER)
def test_every_number_to_an_integer(type: str, to: str) -> None:
    """Numbers outside the range give its ends; NaN isn't asked for: it gives 0 or the lowest number, by the width."""
    dtype, rounding = TO_INTEGER[to]
    ctype = {"int32": "int", "uint32": "unsigned", "int16": "short", "int64": "long long"}[np.dtype(dtype).name]
    finite = ALL[~np.isnan(value(ALL, type))]
    x = np.resize(finite, 1 << 16)
    got = np.zeros(1 << 16, dtype)
    ran(f"out[i] = __{'half' if type == 'f16' else 'bfloat16'}2{to}(in[i]);", held(type, x), got, parameters=f"const {TYPES[type]}* in, {ctype}* out")
    info = np.iinfo(dtype)
    want = [info.min if v == -np.inf else info.max if v == np.inf else max(info.min, min(info.max, int(rounding(v)))) for v in value(x, type).tolist()]
    assert got.tolist() == want


# ------------------------------------------------------------------------------------------------ into the small formats


def edges(type: str) -> np.ndarray:
    """float32 numbers at, beside and between the format's numbers, where roundings are decided."""
    numbers = value(ALL[:0x8000], type)
    numbers = numbers[np.isfinite(numbers)]
    between = ((numbers[1:] + numbers[:-1]) / 2).astype(np.float32)
    some = np.concatenate([numbers.astype(np.float32), between])[::47]  # 47 is prime to every power of two: all mantissas come by
    around = np.concatenate(
        [some, np.nextafter(some, np.float32(np.inf)), np.nextafter(some, np.float32(0)), np.float32([np.inf, 3.4e38, 65519.996, 65520, 1e-45])]
    )
    return np.concatenate([around, -around, np.float32([np.nan])])


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
def test_float_to_half_in_every_direction(type: str, mode: str) -> None:
    x = edges(type)
    x = np.resize(x, -(-len(x) // 256) * 256)
    got = np.zeros(len(x), np.uint16)
    name = "half" if type == "f16" else "bfloat16"
    ran(f"out[i] = __float2{name}_{mode}(in[i]);", x, held(type, got), parameters=f"const float* in, {TYPES[type]}* out", lanes=len(x))
    want = [bits_of(Fraction(v) if np.isfinite(v) and v else v, type, mode) for v in x.astype(float).tolist()]
    same(got, np.array(want, np.uint16), type)


def test_two_floats_into_a_pair() -> None:
    x = edges("bf16")
    x = np.resize(x, -(-len(x) // 512) * 512)
    for type, pair, f in (("f16", "__half2", "__float22half2_rn"), ("bf16", "__nv_bfloat162", "__float22bfloat162_rn")):
        got = np.zeros(len(x), np.uint16)
        ran(f"out[i] = {f}(in[i]);", x, held(type, got), parameters=f"const float2* in, {pair}* out", lanes=len(x) // 2)
        same(got, np.array([bits_of(Fraction(v) if np.isfinite(v) and v else v, type) for v in x.astype(float).tolist()], np.uint16), type)


@given(st.integers(-(2**63), 2**64 - 1), st.sampled_from(["rn", "rz", "rm", "rp"]), st.sampled_from(list(TYPES)))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_long_integer_is_rounded_once(n: int, how: str, type: str) -> None:
    signed = n < 2**63
    to = formats.float_to_half if type == "f16" else formats.float_to_bf16
    want = bits_of(Fraction(n) if n else 0.0, type, {"rm": "rd", "rp": "ru"}.get(how, how))
    assert to(formats.wide_integer(n & 2**64 - 1, 64, signed), how) == want
    assert to(formats.wide_integer(np.array([[n & 2**64 - 1]], np.uint64), 64, signed), how).tolist() == [[want]]


def test_a_double_is_rounded_once() -> None:
    """1 + 2⁻⁸ is a tie of bf16, which goes to 1; a little more goes up, though float32 can't hold the little."""
    x = np.array([1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40], np.float64)
    b, h = np.zeros(256, np.uint16), np.zeros(256, np.float16)
    ran(
        "b[i] = __double2bfloat16(x[i]); h[i] = __double2half(x[i]);",
        np.resize(x, 256),
        b,
        h,
        parameters="const double* x, __nv_bfloat16* b, __half* h",
        lanes=256,
    )
    assert b[:2].tolist() == [0x3F80, 0x3F81]
    assert h.view(np.uint16)[2:4].tolist() == [0x3C00, 0x3C01]


# ------------------------------------------------------------------------------------------------ two and three operands

SPECIAL = {
    "f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3C01, 0x3555, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFFFF, 0x6400, 0x1400],
    "bf16": [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x3F80, 0xBF80, 0x3F81, 0x3EAB, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFFF, 0x4380, 0x0081],
}


def operands(type: str, count: int):
    """Arrays of bits: moderate numbers, special ones, any."""
    one = st.one_of(st.sampled_from(SPECIAL[type]), st.integers(0, 0xFFFF), st.integers(0x3000, 0x4800), st.integers(0xB000, 0xC800))
    return st.tuples(*(arrays.arrays(np.uint16, (6, 4), elements=one) for _ in range(count)))


def exact(operation, *numbers: float):
    """The result as a Fraction, or as a float where it is an infinity, a NaN or a zero."""
    with np.errstate(all="ignore"):
        plain = operation(*(np.float64(v) for v in numbers))
    if not all(np.isfinite(v) for v in numbers):
        return float(plain)
    result = operation(*(Fraction(v) for v in numbers))
    return result if result else float(plain)


def least(a: float, b: float) -> float:
    if np.isnan(a) or np.isnan(b):
        return b if np.isnan(a) else a
    return min(a, b, key=lambda v: (v, not np.signbit(v)))


def most(a: float, b: float) -> float:
    return -least(-a, -b)


WITH_NAN = lambda f: lambda a, b: np.nan if np.isnan(a) or np.isnan(b) else f(a, b)  # noqa: E731
TWO = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
CHOICE = {"min": least, "max": most, "min.NaN": WITH_NAN(least), "max.NaN": WITH_NAN(most)}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("operation", [*TWO, *CHOICE, "fma"])
def test_arithmetic_rounds_the_exact_result_once(type: str, operation: str) -> None:
    count = 3 if operation == "fma" else 2

    @given(operands(type, count))
    @FEW
    def check(columns) -> None:
        got = arithmetic(operation, type, NONE, *columns).ravel()
        numbers = zip(*(value(c, type).ravel().tolist() for c in columns), strict=True)
        if operation in CHOICE:
            want = [bits_of(CHOICE[operation](*row), type) for row in numbers]
        else:
            f = TWO.get(operation, lambda a, b, c: a * b + c)
            want = [bits_of(exact(f, *row), type) for row in numbers]
        same(got, np.array(want, np.uint16), type)

    check()


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("operation", ["add", "mul", "fma", "min", "max.NaN", "neg", "ex2"])
@pytest.mark.parametrize("change", [NONE, frozenset(["relu"]), frozenset(["sat"])])
def test_a_pair_is_two_halves(type: str, operation: str, change: frozenset[str]) -> None:
    """Packed operands of shapes (n, 1), (1, B) and (n, B), and scalars, give what each half gives alone."""
    count = {"fma": 3, "neg": 1, "ex2": 1}.get(operation, 2)
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, 1 << 32, shape, dtype=np.uint32) for shape in ((5, 1), (1, 3), (5, 3))][:count]
    pair = arithmetic(operation, f"{type}x2", change, *columns)
    low = arithmetic(operation, type, change, *((c & 0xFFFF).astype(np.uint16) for c in columns))
    high = arithmetic(operation, type, change, *((c >> 16).astype(np.uint16) for c in columns))
    assert (pair == (low.astype(np.uint32) | high.astype(np.uint32) << 16)).all()
    one = arithmetic(operation, f"{type}x2", change, *(int(c.ravel()[0]) for c in columns))
    assert isinstance(one, int) and one == pair[0, 0]


def test_a_bf16_fma_on_a_tie() -> None:
    """(1 + 2⁻⁷)² lies between two numbers; 1.5 · 1.0078125 is a tie that an addend far below float64's last bit decides."""
    a, b = 0x3FC0, 0x3F81  # 1.5, 1 + 2⁻⁷: the product 1.51171875 is half way between 1.5078125 and 1.515625
    tiny = 0x0080  # 2⁻¹²⁶
    assert arithmetic("fma", "bf16", NONE, a, b, 0) == 0x3FC2
    assert arithmetic("fma", "bf16", NONE, a, b, tiny) == 0x3FC2
    assert arithmetic("fma", "bf16", NONE, a, b, tiny | 0x8000) == 0x3FC1


COMPARED = {
    "__hlt": lambda a, b: a < b,
    "__hle": lambda a, b: a <= b,
    "__hgt": lambda a, b: a > b,
    "__hge": lambda a, b: a >= b,
    "__heq": lambda a, b: a == b,
    "__hne": lambda a, b: (a < b) | (a > b),
    "__hltu": lambda a, b: ~(a >= b),
    "__hleu": lambda a, b: ~(a > b),
    "__hgtu": lambda a, b: ~(a <= b),
    "__hgeu": lambda a, b: ~(a < b),
    "__hequ": lambda a, b: ~((a < b) | (a > b)),
    "__hneu": lambda a, b: a != b,
}


@pytest.mark.parametrize("type", TYPES)
def test_comparisons_of_all_special_pairs(type: str) -> None:
    x, y = (g.ravel() for g in np.meshgrid(np.array(SPECIAL[type], np.uint16), np.array(SPECIAL[type], np.uint16)))
    size = -(-len(x) // 256) * 256
    x, y = np.resize(x, size), np.resize(y, size)
    out = np.zeros((len(COMPARED), size), np.int32)
    body = " ".join(f"out[{k} * {size} + i] = {name}(x[i], y[i]);" for k, name in enumerate(COMPARED))
    ran(body, held(type, x), held(type, y), out, parameters=f"const {TYPES[type]}* x, const {TYPES[type]}* y, int* out", lanes=size)
    a, b = value(x, type), value(y, type)
    for row, (name, f) in zip(out, COMPARED.items(), strict=True):
        assert (row == f(a, b)).all(), name


@pytest.mark.parametrize("type", TYPES)
def test_comparisons_of_pairs(type: str) -> None:
    """Results as 1.0 in each half, as masks, and as one truth of both halves."""
    t2 = f"{TYPES[type]}2" if type == "f16" else "__nv_bfloat162"
    rng = np.random.default_rng(3)
    x = rng.choice(np.array(SPECIAL[type], np.uint16), (256, 2))
    y = np.where(rng.random((256, 2)) < 0.5, x, rng.choice(np.array(SPECIAL[type], np.uint16), (256, 2)))
    ones, masks, both = np.zeros((256, 2), np.uint16), np.zeros(256, np.uint32), np.zeros(256, np.int32)
    ran(
        "ones[i] = __hlt2(x[i], y[i]); masks[i] = __heq2_mask(x[i], y[i]); both[i] = __hbge2(x[i], y[i]) + 2 * __hbneu2(x[i], y[i]);",
        held(type, x), held(type, y), held(type, ones), masks, both,
        parameters=f"const {t2}* x, const {t2}* y, {t2}* ones, unsigned* masks, int* both", lanes=256,
    )  # fmt: skip
    a, b = value(x, type), value(y, type)
    assert (ones == np.where(a < b, 0x3C00 if type == "f16" else 0x3F80, 0)).all()
    equal = (a == b).astype(np.uint32) * 0xFFFF
    assert (masks == (equal[:, 0] | equal[:, 1] << 16)).all()
    assert (both == (a >= b).all(axis=1) + 2 * (a != b).all(axis=1)).all()


def test_a_product_joins_the_sum_that_alone_uses_it() -> None:
    """2¹⁰·2⁶ overflows, 2¹⁶ − 2⁵ does not; `_rn` functions and a product used twice are rounded by themselves."""
    a, b, c, out = (np.full(256, v, np.float16) for v in (1024, 64, 32, 0))
    ran(
        "out[i] = i == 0 ? a[i] * b[i] - c[i] : i == 1 ? __hsub(__hmul_rn(a[i], b[i]), c[i]) : a[i];",
        a,
        b,
        c,
        out,
        parameters="const __half* a, const __half* b, const __half* c, __half* out",
        lanes=256,
    )
    assert out[:3].tolist() == [65504.0, np.inf, 1024.0]
    twice = np.zeros((2, 256), np.float16)
    ran(
        "__half p = a[i] * b[i]; out[i] = p; out[256 + i] = p - c[i];",
        a,
        b,
        c,
        twice,
        parameters="const __half* a, const __half* b, const __half* c, __half* out",
        lanes=256,
    )
    assert (twice == np.inf).all()


def test_fast_functions() -> None:
    """ex2 and tanh in double and rounded once: nearer than the hardware's approximation, whose error PTX bounds by 2⁻⁹·⁹ and 2⁻¹⁰·⁹⁸⁷."""
    x = np.linspace(-8, 8, 256).astype(np.float16)
    e, t = np.zeros(256, np.float16), np.zeros(256, np.float16)
    ran("e[i] = hexp2(x[i]); t[i] = htanh_approx(x[i]);", x, e, t, parameters="const __half* x, __half* e, __half* t", lanes=256)
    wide = x.astype(float)
    assert np.abs(e / np.exp2(wide) - 1).max() <= 2.0**-9.9
    assert np.abs(t - np.tanh(wide)).max() <= 2.0**-10.987


# ------------------------------------------------------------------------------------------------ fp8


def fp8_value(code: int, name: str) -> float:
    exponent, mantissa, bias = (4, 3, 7) if name == "e4m3" else (5, 2, 15)
    sign, e, m = -1.0 if code >> 7 else 1.0, code >> mantissa & (1 << exponent) - 1, code & (1 << mantissa) - 1
    if name == "e4m3" and code & 0x7F == 0x7F:
        return np.nan
    if name == "e5m2" and e == 31:
        return np.nan if m else sign * np.inf
    return sign * (m * 2.0 ** (1 - bias - mantissa) if e == 0 else (1 + m * 2.0**-mantissa) * 2.0 ** (e - bias))


@cache
def fp8_numbers(name: str) -> list[Fraction]:
    """The finite numbers from 0 on; a number's place is its code."""
    return [Fraction(fp8_value(c, name)) for c in range(128) if np.isfinite(fp8_value(c, name))]


def fp8_code(x: float, name: str) -> int:
    """The nearest finite number's code, the even one of two equally near."""
    if np.isnan(x):
        return 0x7F
    numbers = fp8_numbers(name)
    size = numbers[-1] if np.isinf(x) else min(Fraction(abs(x)), numbers[-1])
    above = bisect_left(numbers, size)
    best = min((above, max(above - 1, 0)), key=lambda c: (abs(numbers[c] - size), c % 2))
    return best | (0x80 if np.signbit(x) else 0)


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_fp8_pairs(name: str) -> None:
    """All 256 codes to f16, and numbers at and between them back, from float and from f16."""
    codes = np.arange(256, dtype=np.uint16)
    pairs = (codes << 8 | codes[::-1]).astype(np.uint16)
    wide = np.zeros((256, 2), np.float16)
    numbers = np.array([fp8_value(c, name) for c in range(128)])
    numbers = numbers[np.isfinite(numbers)]
    x = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, np.nextafter(np.float32(numbers), np.float32(1e9)), [1e9, np.inf, np.nan]]).astype(
        np.float32
    )
    x = np.resize(np.concatenate([x, -x]), 1024)
    out, from_half = np.zeros(256, np.uint16), np.zeros(256, np.uint16)
    asm = f"""
    unsigned w; asm("cvt.rn.f16x2.{name}x2 %0, %1;" : "=r"(w) : "h"(pairs[i])); wide[i] = w;
    unsigned short p; asm("cvt.rn.satfinite.{name}x2.f32 %0, %1, %2;" : "=h"(p) : "f"(x[i]), "f"(x[i + 256])); out[i] = p;
    asm("cvt.rn.satfinite.{name}x2.f16x2 %0, %1;" : "=h"(p) : "r"(h[i])); from_half[i] = p;"""
    h = x[:512].astype(np.float16)
    ran(
        asm, pairs, wide.view(np.uint32), x, h.view(np.uint32), out, from_half,
        parameters="const unsigned short* pairs, unsigned* wide, const float* x, const unsigned* h, unsigned short* out, unsigned short* from_half", lanes=256,
    )  # fmt: skip
    want = np.array([[fp8_value(int(c), name) for c in (p & 0xFF, p >> 8)] for p in pairs])
    assert np.array_equal(wide.astype(float), want, equal_nan=True)
    assert (np.signbit(wide) == np.signbit(want))[~np.isnan(want)].all()
    assert out.tolist() == [fp8_code(float(a), name) << 8 | fp8_code(float(b), name) for a, b in zip(x[:256], x[256:512], strict=True)]
    assert from_half.tolist() == [fp8_code(float(b), name) << 8 | fp8_code(float(a), name) for a, b in h.reshape(256, 2)]
