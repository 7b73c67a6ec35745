"""Property tests: whatever arithmetic, slice or assignment NumPy does, the twin does too, with the same values and the same views."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanewise import twin

DTYPES = st.sampled_from([np.bool_, np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float16, np.float32, np.float64])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
SCALARS = st.one_of(
    st.booleans(), st.integers(-100, 100), st.floats(-100, 100), st.builds(np.float32, st.floats(-8, 8, width=32)), st.builds(np.int8, st.integers(-9, 9))
)
BINARY = st.sampled_from(
    [
        "add",
        "subtract",
        "multiply",
        "true_divide",
        "floor_divide",
        "remainder",
        "maximum",
        "minimum",
        "less",
        "equal",
        "bitwise_and",
        "bitwise_xor",
        "logical_or",
    ]
)


def outcome(call):
    """The value, or the type of the error."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            return type(error)


def assert_same(got, wanted) -> None:
    if isinstance(wanted, type):
        assert isinstance(got, type) and (issubclass(got, wanted) or issubclass(wanted, got)), (got, wanted)
        return
    assert isinstance(got, twin.ndarray), got
    wanted = np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got.get(), wanted)


@settings(max_examples=150, deadline=None)
@given(BINARY, st.tuples(ARRAYS, ARRAYS) | st.tuples(ARRAYS, SCALARS) | st.tuples(SCALARS, ARRAYS))
def test_binary_operations(name, operands):
    wanted = outcome(lambda: getattr(np, name)(*operands))
    device = [twin.asarray(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]
    assert_same(outcome(lambda: getattr(twin, name)(*device)), wanted)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["__add__", "__rsub__", "__mul__", "__lt__", "__ne__", "__floordiv__"]), ARRAYS, SCALARS)
def test_operators_with_scalars(name, array, scalar):
    assert_same(outcome(lambda: getattr(twin.asarray(array), name)(scalar)), outcome(lambda: getattr(array, name)(scalar)))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["sum", "max", "min", "mean", "prod", "any", "all", "argmax", "cumsum"]), ARRAYS, st.sampled_from([None, 0, -1, 2]))
def test_reductions(name, array, axis):
    wanted = outcome(lambda: getattr(array, name)(axis=axis))
    assert_same(outcome(lambda: getattr(twin.asarray(array), name)(axis=axis)), wanted)


@st.composite
def arrays_and_indices(draw):
    array = draw(DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))))
    return array, draw(hnp.basic_indices(array.shape, allow_newaxis=True, allow_ellipsis=True))


@settings(max_examples=150, deadline=None)
@given(arrays_and_indices(), st.integers(0, 1))
def test_basic_indexing_reads_and_writes_the_same_elements(case, value):
    array, index = case
    device = twin.asarray(array)
    view = device[index]
    assert_same(view, array[index])
    if view.size:
        view[...] = value
        array[index] = value
        np.testing.assert_array_equal(device.get(), array)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_index_arrays_and_masks(data):
    array = data.draw(hnp.arrays(np.int32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)))
    index = data.draw(
        hnp.arrays(np.bool_, array.shape)
        | hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, max_side=3), elements=st.integers(-array.shape[0], array.shape[0] - 1))
    )
    device = twin.asarray(array)
    assert_same(device[twin.asarray(index)], array[index])
    device[twin.asarray(index)] = 7
    array[index] = 7
    np.testing.assert_array_equal(device.get(), array)


@settings(max_examples=100, deadline=None)
@given(arrays_and_indices(), st.integers(0, 1))
def test_exactly_the_written_elements_of_an_empty_array_are_set(case, value):
    array, index = case
    device = twin.empty(array.shape, array.dtype)
    written = np.zeros(array.shape, bool)
    written[index] = True
    device[index] = value
    mask = device._memory.mask(device._host)
    np.testing.assert_array_equal(~written if mask is None else mask, ~written)
    assert (mask is None) == bool(written.all())
    np.testing.assert_array_equal(device.get()[written], np.full(array.shape, value, array.dtype)[written])
