"""Device arrays: the twin answers as CuPy does. On a machine with a GPU every test here also runs on CuPy itself."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from lanewise import cp, twin

IMPLEMENTATIONS = ["twin", "cupy"] if cp.find_device().backend == "gpu" else ["twin"]


@pytest.fixture(params=IMPLEMENTATIONS)
def xp(request):
    return twin if request.param == "twin" else cp


def host(array) -> np.ndarray:
    """As a NumPy array, after a check that it was a device array."""
    assert type(array).__name__ == "ndarray" and not isinstance(array, np.ndarray), type(array)
    return array.get()


MATRIX = np.array([[3.0, -1.5, 2.25, 0.5], [0.0, 7.0, -4.0, 1.0], [9.0, 8.0, -0.25, 6.0]], np.float32)
ROW = np.array([2.0, 4.0, -1.0, 0.5], np.float32)
INTS = np.array([[5, -3, 7, 0], [2, 2, 9, -8], [1, 6, 4, 3]], np.int32)
BOOLS = MATRIX > 1

# One line a function: called with NumPy arrays on NumPy and with device arrays on the device, the values must be equal.
CALLS = {
    "empty_sum": lambda x, a, i, b: x.sum(a[:0]),
    "sum_axis": lambda x, a, i, b: x.sum(a, axis=1),
    "sum_keepdims": lambda x, a, i, b: a.sum(axis=0, keepdims=True),
    "sum_int32_is_int64": lambda x, a, i, b: i.sum(),
    "sum_bool": lambda x, a, i, b: b.sum(),
    "sum_dtype": lambda x, a, i, b: a.sum(dtype=x.float64),
    "prod": lambda x, a, i, b: a[:2, :2].prod(),
    "max": lambda x, a, i, b: a.max(axis=-1),
    "min": lambda x, a, i, b: x.min(i),
    "amax": lambda x, a, i, b: x.amax(a, axis=0),
    "mean": lambda x, a, i, b: a.mean(axis=1),
    "mean_int": lambda x, a, i, b: i.mean(),
    "argmax": lambda x, a, i, b: a.argmax(axis=1),
    "argmin": lambda x, a, i, b: x.argmin(a),
    "all": lambda x, a, i, b: b.all(axis=0),
    "any": lambda x, a, i, b: x.any(b),
    "cumsum": lambda x, a, i, b: x.cumsum(i, axis=1),
    "cumprod": lambda x, a, i, b: i.cumprod(),
    "count_nonzero": lambda x, a, i, b: x.asarray(x.count_nonzero(b)),
    "maximum": lambda x, a, i, b: x.maximum(a, 0),
    "minimum": lambda x, a, i, b: x.minimum(a, a[::-1]),
    "abs": lambda x, a, i, b: x.abs(i),
    "sign": lambda x, a, i, b: x.sign(a),
    "sqrt": lambda x, a, i, b: x.sqrt(x.abs(a)),
    "floor": lambda x, a, i, b: x.floor(a),
    "where": lambda x, a, i, b: x.where(b, a, -a),
    "where_scalar": lambda x, a, i, b: x.where(b, a, 0),
    "isnan": lambda x, a, i, b: x.isnan(a / 0 * 0),
    "isfinite": lambda x, a, i, b: x.isfinite(a / 0),
    "clip": lambda x, a, i, b: x.clip(a, -1, 2),
    "clip_method": lambda x, a, i, b: a.clip(0, 1),
    "round": lambda x, a, i, b: a.round(),
    "matmul": lambda x, a, i, b: a @ a.T,
    "matmul_int": lambda x, a, i, b: x.matmul(i, i.T),
    "dot": lambda x, a, i, b: a.dot(a[0]),
    "dot_function": lambda x, a, i, b: x.dot(a[0], a[1]),
    "outer": lambda x, a, i, b: x.outer(a[0], a[1]),
    "einsum": lambda x, a, i, b: x.einsum("ij,kj->ik", a, a),
    "tensordot": lambda x, a, i, b: x.tensordot(a, a, axes=((0, 1), (0, 1))),
    "transpose": lambda x, a, i, b: x.transpose(a),
    "transpose_axes": lambda x, a, i, b: a.reshape(3, 2, 2).transpose(2, 0, 1),
    "swapaxes": lambda x, a, i, b: a.reshape(3, 2, 2).swapaxes(0, 2),
    "moveaxis": lambda x, a, i, b: x.moveaxis(a.reshape(3, 2, 2), 0, -1),
    "reshape_minus_one": lambda x, a, i, b: a.reshape(2, -1),
    "reshape_function": lambda x, a, i, b: x.reshape(a, (4, 3)),
    "ravel": lambda x, a, i, b: a.T.ravel(),
    "flatten": lambda x, a, i, b: a.flatten(),
    "squeeze": lambda x, a, i, b: a[:, :1].squeeze(),
    "expand_dims": lambda x, a, i, b: x.expand_dims(a, 1),
    "broadcast_to": lambda x, a, i, b: x.broadcast_to(a[0], (3, 4)),
    "concatenate": lambda x, a, i, b: x.concatenate([a, a[:1]], axis=0),
    "concatenate_tuple": lambda x, a, i, b: x.concatenate((a, a), axis=1),
    "stack": lambda x, a, i, b: x.stack([a, -a], axis=1),
    "vstack": lambda x, a, i, b: x.vstack([a, a]),
    "hstack": lambda x, a, i, b: x.hstack((a, a)),
    "tile": lambda x, a, i, b: x.tile(a, (2, 1)),
    "repeat": lambda x, a, i, b: x.repeat(a, 2, axis=1),
    "flip": lambda x, a, i, b: x.flip(a, 1),
    "roll": lambda x, a, i, b: x.roll(a, 1, axis=1),
    "pad": lambda x, a, i, b: x.pad(a, ((1, 0), (0, 2))),
    "sort": lambda x, a, i, b: x.sort(a, axis=1),
    "argsort": lambda x, a, i, b: x.argsort(a, axis=1),
    "unique": lambda x, a, i, b: x.unique(i),
    "bincount": lambda x, a, i, b: x.bincount(x.abs(i).ravel()),
    "take": lambda x, a, i, b: a.take(x.asarray([0, 2]), axis=1),
    "tril": lambda x, a, i, b: x.tril(a),
    "triu": lambda x, a, i, b: x.triu(a, 1),
    "diag": lambda x, a, i, b: x.diag(a),
    "trace": lambda x, a, i, b: a.trace(),
    "nonzero": lambda x, a, i, b: i.nonzero()[1],
    "allclose": lambda x, a, i, b: x.allclose(a, a),
    "array_equal": lambda x, a, i, b: x.array_equal(a, -a),
    "isclose": lambda x, a, i, b: x.isclose(a, a + 1),
    "logical_and": lambda x, a, i, b: x.logical_and(b, ~b),
    "astype": lambda x, a, i, b: a.astype(x.int32),
    "astype_half": lambda x, a, i, b: a.astype(x.float16),
    "view": lambda x, a, i, b: a.view(x.int32),
    "left_shift": lambda x, a, i, b: x.left_shift(i, 2),
    "integer_division": lambda x, a, i, b: i // 3,
    "remainder": lambda x, a, i, b: i % 4,
    "power": lambda x, a, i, b: i**2,
    "true_divide_int": lambda x, a, i, b: i / 2,
    "python_float_keeps_float32": lambda x, a, i, b: a * 2.5,
    "python_float_on_int": lambda x, a, i, b: i * 2.5,
    "numpy_scalar": lambda x, a, i, b: np.float32(3) * a + np.float32(1),
    "numpy_float64_scalar": lambda x, a, i, b: a * np.float64(2),
    "reflected": lambda x, a, i, b: 1 - a,
    "reflected_divide": lambda x, a, i, b: 1 / (a + 10),
    "compare": lambda x, a, i, b: a >= 1,
    "equal": lambda x, a, i, b: i == 2,
    "negative": lambda x, a, i, b: -a,
    "bitwise": lambda x, a, i, b: (i & 3) | (i ^ 5),
    "invert": lambda x, a, i, b: ~i,
    "numpy_sum": lambda x, a, i, b: np.sum(a, axis=0),
    "numpy_exp": lambda x, a, i, b: np.abs(a),
    "numpy_concatenate": lambda x, a, i, b: np.concatenate([a, a]),
    "linalg_norm": lambda x, a, i, b: x.linalg.norm(x.asarray([[3.0], [4.0]]), axis=0),
    "numpy_linalg_norm": lambda x, a, i, b: np.linalg.norm(x.asarray([3.0, 4.0])),
    "numpy_reduce": lambda x, a, i, b: np.add.reduce(i),
    "arange": lambda x, a, i, b: x.arange(3, 12, 2, dtype=x.float32),
    "arange_int": lambda x, a, i, b: x.arange(5),
    "linspace": lambda x, a, i, b: x.linspace(0, 1, 5),
    "eye": lambda x, a, i, b: x.eye(3, dtype=x.float32),
    "full": lambda x, a, i, b: x.full((2, 3), 7, dtype=x.int32),
    "full_infers": lambda x, a, i, b: x.full(3, 1.5),
    "ones": lambda x, a, i, b: x.ones((2, 2), x.float16),
    "zeros_like": lambda x, a, i, b: x.zeros_like(a),
    "ones_like": lambda x, a, i, b: x.ones_like(i, dtype=x.float64),
    "full_like": lambda x, a, i, b: x.full_like(a, 3),
    "array_nested": lambda x, a, i, b: x.array([[1, 2], [3, 4]], dtype=x.float32),
    "ascontiguousarray": lambda x, a, i, b: x.ascontiguousarray(a.T),
    "index_int": lambda x, a, i, b: a[1],
    "index_element": lambda x, a, i, b: x.asarray(a[1, 2]),
    "index_negative": lambda x, a, i, b: a[-1, ::-1],
    "index_step": lambda x, a, i, b: a[::2, 1:4:2],
    "index_ellipsis": lambda x, a, i, b: a.reshape(3, 2, 2)[..., 1],
    "index_newaxis": lambda x, a, i, b: a[:, x.newaxis, :],
    "index_mask": lambda x, a, i, b: a[b],
    "index_mask_row": lambda x, a, i, b: a[b[:, 0]],
    "index_list": lambda x, a, i, b: a[[2, 0]],
    "index_array": lambda x, a, i, b: a[x.asarray([0, 2, 1]), x.asarray([3, 0, 1])],
    "index_array_and_slice": lambda x, a, i, b: a[:, x.asarray([3, 1])],
    "index_two_dimensional": lambda x, a, i, b: a[x.asarray([[0, 1], [2, 0]])],
}


@pytest.mark.parametrize("name", CALLS)
def test_same_value_type_and_shape_as_numpy(xp, name):
    call = CALLS[name]
    with np.errstate(all="ignore"):
        wanted = np.asarray(call(np, MATRIX.copy(), INTS.copy(), BOOLS.copy()))
    got = host(call(xp, xp.asarray(MATRIX), xp.asarray(INTS), xp.asarray(BOOLS)))
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)


# Functions a GPU approximates, or sums in another order: within a few units in the last place of float32.
APPROXIMATE = ["exp", "log1p", "sin", "cos", "tanh", "sinh", "arctan", "exp2", "expm1", "cbrt", "square"]


@pytest.mark.parametrize("name", APPROXIMATE)
def test_elementwise_functions_near_numpy(xp, name):
    x = np.linspace(0.1, 3, 50, dtype=np.float32)
    got = host(getattr(xp, name)(xp.asarray(x)))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, getattr(np, name)(x.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("name", ["std", "var", "median"])
def test_statistics_near_numpy(xp, name):
    np.testing.assert_allclose(host(getattr(xp, name)(xp.asarray(MATRIX), axis=1)), getattr(np, name)(MATRIX.astype(np.float64), axis=1), rtol=1e-6)


def test_round_trip_copies_both_ways(xp):
    source = MATRIX.copy()
    device = xp.asarray(source)
    source[...] = 0
    back = xp.asnumpy(device)
    np.testing.assert_array_equal(back, MATRIX)
    back[...] = 0
    np.testing.assert_array_equal(device.get(), MATRIX)
    out = np.empty_like(MATRIX)
    assert device.get(out=out) is out and (out == MATRIX).all()
    assert xp.asnumpy(MATRIX) is MATRIX


def test_asarray_returns_device_arrays_as_they_are_and_array_copies(xp):
    a = xp.asarray(MATRIX)
    assert xp.asarray(a) is a and xp.ascontiguousarray(a) is a
    b = xp.array(a)
    b[0, 0] = 99
    assert float(a[0, 0]) == 3.0
    assert xp.asarray(a, dtype=xp.float64).dtype == np.float64


def test_array_from_lists_that_hold_device_arrays(xp):
    a = xp.asarray(ROW)
    np.testing.assert_array_equal(host(xp.array([a, a + 1])), np.array([ROW, ROW + 1]))


def test_set_copies_and_is_strict(xp):
    a = xp.zeros((3, 4), xp.float32)
    a.set(MATRIX)
    np.testing.assert_array_equal(a.get(), MATRIX)
    with pytest.raises(TypeError, match="float64 array cannot be set to float32 array"):
        a.set(MATRIX.astype(np.float64))
    with pytest.raises(ValueError, match=r"Shape mismatch"):
        a.set(MATRIX[:2])
    with pytest.raises(TypeError, match="Only numpy.ndarray can be set to cupy.ndarray"):
        a.set(MATRIX.tolist())
    with pytest.raises(RuntimeError, match="Cannot set to non-contiguous array"):
        a[:, ::2].set(MATRIX[:, ::2])


def test_views_share_memory(xp):
    a = xp.arange(12, dtype=xp.float32)
    matrix = a.reshape(3, 4)
    matrix[1:, ::2][...] = -1
    matrix.T[3, 0] = 50
    matrix[2].fill(7)
    np.testing.assert_array_equal(a.get(), [0, 1, 2, 50, -1, 5, -1, 7, 7, 7, 7, 7])
    assert matrix.base is not None and a.base is None
    assert matrix[1].data.ptr == a.data.ptr + 16
    element = a[5]
    element[...] = 3
    assert int(a[5]) == 3


def test_fancy_indexing_copies(xp):
    a = xp.arange(6)
    picked = a[[1, 2]]
    picked[...] = 9
    np.testing.assert_array_equal(a.get(), np.arange(6))


def test_index_arrays_wrap_around_where_numpy_raises(xp):
    a = xp.arange(3)
    np.testing.assert_array_equal(host(a[[1, 3]]), [1, 0])
    np.testing.assert_array_equal(host(a[xp.asarray([-1, 5])]), [2, 2])
    a[[4]] = 10
    np.testing.assert_array_equal(a.get(), [0, 10, 2])


def test_assignment(xp):
    a, wanted = xp.zeros((3, 4), xp.float32), np.zeros((3, 4), np.float32)
    for target, ns in ((a, xp), (wanted, np)):
        target[0] = 1.5
        target[1:, 1] = ns.asarray([2.0, 3.0])
        target[ns.asarray([0, 2]), ns.asarray([3, 3])] = 8
        target[target > 7] = -1
        target[1, 2:] = ns.asarray(ROW[:2])
    np.testing.assert_array_equal(a.get(), wanted)


def test_assignment_from_the_host_is_refused(xp):
    a = xp.zeros((3, 4), xp.float32)
    for target, value in ((0, ROW), (0, ROW.tolist()), (slice(None), MATRIX)):
        with pytest.raises(ValueError, match="non-scalar numpy.ndarray cannot be used for fill"):
            a[target] = value
    a[1] = np.array(5.0)  # one value is no array
    assert a.get()[1].tolist() == [5.0] * 4


@pytest.mark.parametrize("call", [np.asarray, np.array, lambda a: np.asarray(a, dtype=np.float64)])
def test_no_implicit_conversion(xp, call):
    with pytest.raises(TypeError, match=r"Implicit conversion to a NumPy array is not allowed. Please use `.get\(\)` to construct a NumPy array explicitly."):
        call(xp.asarray(MATRIX))


MIXED = {
    "add": lambda xp, d, h: d + h,
    "reflected": lambda xp, d, h: h + d,
    "compare": lambda xp, d, h: d < h,
    "in_place": lambda xp, d, h: d.__iadd__(h),
    "matmul": lambda xp, d, h: d @ h,
    "maximum": lambda xp, d, h: xp.maximum(d, h),
    "exp": lambda xp, d, h: xp.exp(h),
    "where": lambda xp, d, h: xp.where(d > 0, d, h),
    "numpy_add": lambda xp, d, h: np.add(d, h),
}


@pytest.mark.parametrize("name", MIXED)
def test_numpy_arrays_do_not_mix(xp, name):
    with pytest.raises(TypeError, match=r"Unsupported type <class 'numpy.ndarray'>|got numpy.ndarray"):
        MIXED[name](xp, xp.ones((4, 4), xp.float32), np.ones((4, 4), np.float32))


def test_allclose_compares_with_the_host(xp):
    assert bool(xp.allclose(xp.asarray(ROW), ROW)) and not bool(xp.allclose(xp.asarray(ROW), ROW + 1))
    assert xp.isclose(xp.asarray(ROW), ROW).get().all()


def test_lists_do_not_mix(xp):
    with pytest.raises(TypeError, match=r"Unsupported type <class 'list'>"):
        xp.exp([1.0, 2.0])


def test_host_array_cannot_be_changed_by_device_values(xp):
    target = np.zeros(4, np.float32)
    with pytest.raises(TypeError):
        target += xp.ones(4, xp.float32)
    assert not target.any()


def test_comparisons_with_what_is_no_array(xp):
    a = xp.asarray(ROW)
    assert (a < np.array(1.0)).get().tolist() == [False, False, True, True]
    assert (a == None).get().tolist() == [False] * 4 and (a != None).get().all()  # noqa: E711
    with pytest.raises(TypeError):
        a == "x"  # noqa: B015
    with pytest.raises(TypeError):
        a + np.array(1.0, np.float32)


def test_in_place_operators(xp):
    a = xp.asarray(MATRIX)
    view = a[1]
    a += 1
    a *= xp.asarray(ROW)
    a -= xp.float32(2)
    a /= 4
    np.testing.assert_array_equal(a.get(), ((MATRIX + 1) * ROW - 2) / 4)
    np.testing.assert_array_equal(view.get(), a.get()[1])
    i = xp.asarray(INTS)
    i <<= 2
    i |= 1
    i //= 2
    i %= 5
    np.testing.assert_array_equal(i.get(), ((INTS << 2) | 1) // 2 % 5)
    with pytest.raises(TypeError):
        i += 1.5


def test_out_argument(xp):
    a, out = xp.asarray(MATRIX), xp.empty((3, 4), xp.float32)
    assert xp.add(a, 1, out=out) is out
    np.testing.assert_array_equal(out.get(), MATRIX + 1)
    total = xp.zeros((), xp.float32)
    a.sum(out=total)
    assert float(total) == MATRIX.sum()


def test_scalars(xp):
    a = xp.asarray(MATRIX)
    total = a.sum()
    assert total.shape == () and total.dtype == np.float32
    assert float(total) == MATRIX.sum() and int(a[1, 1]) == 7 and total.item() == MATRIX.sum()
    assert bool(xp.asarray(INTS).any()) is True
    assert xp.arange(3).tolist() == [0, 1, 2]
    assert f"{total:.2f}" == f"{MATRIX.sum():.2f}"
    assert [int(v) for v in xp.arange(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="can only convert an array of size 1 to a Python scalar"):
        a.item()
    with pytest.raises(ValueError, match=r"The truth value of an array with more than one element is ambiguous. Use a.any\(\) or a.all\(\)"):
        bool(a)
    with pytest.raises(TypeError, match="list indices must be integers or slices"):
        [1, 2][xp.asarray(0)]
    with pytest.warns(DeprecationWarning, match="The truth value of an empty array is ambiguous"):
        assert bool(xp.zeros(0)) is False
    with pytest.raises(TypeError, match=r"len\(\) of unsized object"):
        len(total)
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(total)


def test_what_it_says_about_itself(xp):
    a = xp.asarray(MATRIX)
    assert (a.shape, a.ndim, a.size, a.dtype, a.itemsize, a.nbytes, a.strides) == ((3, 4), 2, 12, np.dtype("f4"), 4, 48, (16, 4))
    assert a.flags.c_contiguous and not a.flags.f_contiguous and a.T.flags.f_contiguous and a.flags["C_CONTIGUOUS"]
    assert not a[:, ::2].flags.c_contiguous and a.T.strides == (4, 16)
    assert len(a) == 3 and a.device.id == 0
    assert repr(a) == repr(MATRIX) and str(a) == str(MATRIX)
    assert isinstance(a.data.ptr, int) and a.data.ptr % 256 == 0
    assert xp.ndim(a) == 2 and xp.shape(a) == (3, 4) and xp.size(a) == 12
    a.shape = (2, 6)
    assert a.shape == (2, 6)
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_copies_are_independent(xp):
    a = xp.asarray(MATRIX)
    for other in (a.copy(), copy.copy(a), copy.deepcopy(a), a.astype(xp.float32), pickle.loads(pickle.dumps(a))):
        other.fill(0)
        np.testing.assert_array_equal(a.get(), MATRIX)
    assert a.astype(xp.float32, copy=False) is a


def test_unsupported_types(xp):
    with pytest.raises(ValueError, match="Unsupported dtype"):
        xp.array(["a", "b"])
    with pytest.raises(ValueError, match="Unsupported dtype"):
        xp.zeros(3, dtype=object)
    with pytest.raises(ValueError, match="Negative dimensions are not allowed"):
        xp.empty((2, -1))


def test_index_errors(xp):
    a = xp.asarray(MATRIX)
    with pytest.raises(IndexError, match="Index 3 is out of bounds for axis 0 with size 3"):
        a[3]
    with pytest.raises(IndexError, match="too many indices for array"):
        a[0, 0, 0]
    with pytest.raises(ValueError, match="invalid literal for int"):
        a["x"]
    with pytest.raises(IndexError, match="arrays used as indices must be of integer or boolean type"):
        a[xp.asarray([0.5])]
    with pytest.raises(ValueError):
        a.reshape(5, 5)
    with pytest.raises(ValueError):
        a + xp.ones((2, 2))


def test_empty_arrays(xp):
    a = xp.empty((0, 4), xp.float32)
    assert a.get().shape == (0, 4) and float(a.sum()) == 0.0 and (a + 1).shape == (0, 4)
    assert xp.asarray(np.empty(0, np.int32)).size == 0


def test_array_module_and_type(xp):
    a = xp.asarray(ROW)
    assert isinstance(a, xp.ndarray) and not isinstance(ROW, xp.ndarray)
    assert xp.get_array_module(ROW) is np


def test_constants_and_type_names(xp):
    assert (xp.float32, xp.int64, xp.bool_, xp.newaxis) == (np.float32, np.int64, np.bool_, None)
    assert xp.inf == np.inf and np.isnan(xp.nan) and xp.pi == np.pi
    assert xp.finfo(xp.float32).max == np.finfo(np.float32).max and xp.dtype("f4") == np.float32
    assert xp.result_type(xp.asarray(ROW), xp.float64) == np.float64


def test_testing_compares_device_and_host(xp):
    xp.testing.assert_allclose(xp.asarray(MATRIX), MATRIX)
    xp.testing.assert_array_equal(xp.asarray(INTS), INTS)
    with pytest.raises(AssertionError):
        xp.testing.assert_allclose(xp.asarray(MATRIX), MATRIX + 1)


def test_copyto_and_divmod(xp):
    a = xp.zeros(4, xp.float32)
    xp.copyto(a, xp.asarray(ROW))
    np.testing.assert_array_equal(a.get(), ROW)
    quotient, rest = divmod(xp.asarray(INTS), 4)
    np.testing.assert_array_equal(quotient.get(), INTS // 4)
    np.testing.assert_array_equal(rest.get(), INTS % 4)
