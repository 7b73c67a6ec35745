"""Properties of the instruction families: operands drawn at random (and at the edges), the same tables, NumPy's answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from families.case import equal
from families.everything import CASES
from families.integer import extracted, funnel, inserted, permuted
from families.launch import launch
from families.rounding import FMA, FORMATS, exactly, from_bfloat16, rounded, to_bfloat16
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

TABLES = {case.name: case for case in CASES if case.drawn}
LANES = 48  # of a launch: one and a half warps
# No shrinking: the message names the operands of the wrong element, and an example is a launch.
FEW = settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
KIND = {
    "integer.signed32": (np.int32, 3),
    "integer.unsigned32": (np.uint32, 3),
    "integer.signed64": (np.int64, 3),
    "integer.signed16": (np.int16, 2),
    "integer.bytes": (np.int8, 2),
    "float.directed": (np.float32, 3),
    "float.single": (np.float32, 3),
    "double.directed": (np.float64, 3),
    "double.plain": (np.float64, 3),
    "convert.float_int": (np.float32, 1),
    "convert.float_long": (np.float32, 1),
    "convert.double_int": (np.float64, 1),
    "convert.double_long": (np.float64, 1),
    "convert.double_float": (np.float64, 1),
    "convert.float_half": (np.float32, 1),
    "convert.int_float": (np.int32, 1),
    "convert.long_float": (np.int64, 1),
    "convert.long_double": (np.int64, 1),
    "convert.half_int": (np.float16, 1),
    "half.arithmetic": (np.float16, 3),
}


def elements(dtype):
    """Any value of the type: for floats every bit pattern (subnormals, infinities and NaN are likely, too)."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return st.one_of(st.floats(width=dtype.itemsize * 8), st.floats(-100, 100, width=dtype.itemsize * 8))
    info = np.iinfo(dtype)
    return st.one_of(st.integers(int(info.min), int(info.max)), st.integers(max(int(info.min), -70), 70))


@pytest.mark.parametrize("name", KIND)
def test_drawn_operands(name: str) -> None:
    case = TABLES[name]
    dtype, operands = KIND[name]
    columns = st.tuples(*[arrays.arrays(dtype, LANES, elements=elements(dtype)) for _ in range(operands)])

    @FEW
    @given(columns)
    def holds(drawn):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = launch(case, case.drawn(*drawn), check=False)
            expected = case.expect(*run.arguments)[0]
        got = run.outputs[0]
        for row, label in enumerate(case.rows):
            good = equal(got[row], expected[row], case.tolerance(row))
            at = int(np.argmin(good))
            assert good.all(), f"{label} of {[column[at] for column in drawn]}: {got[row, at]!r} instead of {expected[row, at]!r}"

    holds()


words = st.integers(0, 2**32 - 1)


@given(words, st.integers(0, 40))
def test_a_funnel_shift_of_one_word_twice_is_a_rotation(a, shift):
    rotated = (a << shift % 32 | a >> (32 - shift % 32)) % 2**32 if shift % 32 else a
    assert funnel(a, a, shift, True, False) % 2**32 == rotated


@given(words, words, st.integers(0, 31), st.integers(0, 31))
def test_what_was_inserted_is_extracted(a, b, position, length):
    length = min(length, 32 - position)
    assert extracted(inserted(a, b, position, length), position, length, False) == a & ((1 << length) - 1)


@given(words, words)
def test_the_identity_permutation(a, b):
    assert permuted(a, b, 0x3210) == a and permuted(a, b, 0x7654) == b


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["rz", "ru", "rd", "rn"]))
def test_rounding_a_double_to_itself_changes_nothing(value, mode):
    from fractions import Fraction

    assert rounded(Fraction(value), FORMATS[np.dtype(np.float64)], mode) == value


@given(st.floats(width=64, allow_nan=False, allow_infinity=False))
def test_rounding_to_float32_is_numpys(value):
    from fractions import Fraction

    with np.errstate(all="ignore"):
        assert np.float32(rounded(Fraction(value), FORMATS[np.dtype(np.float32)])) == np.float32(value)


@given(st.floats(width=32), st.floats(width=32))
def test_fma_with_one_is_addition(a, b):
    with np.errstate(all="ignore"):
        got = exactly(FMA, np.float32)([np.float32(a)], [np.float32(1)], [np.float32(b)])
        assert equal(got, np.array([np.float32(a) + np.float32(b)], np.float32)).all()


@given(st.integers(0, 2**16 - 1).filter(lambda bits: bits & 0x7F80 != 0x7F80))
def test_bfloat16_goes_to_float32_and_back(bits):
    assert int(to_bfloat16(from_bfloat16([bits]))[0]) == bits
