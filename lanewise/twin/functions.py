"""The names that the twin takes over from NumPy as they are: which ones, and how each is called."""

from __future__ import annotations

import numpy as np

from lanewise.twin.wrap import call, device_function, device_ufunc

_UFUNCS = """
    add subtract multiply divide true_divide floor_divide remainder mod fmod divmod power float_power negative positive
    absolute fabs sign signbit copysign reciprocal square sqrt cbrt exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2
    sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot deg2rad rad2deg degrees radians
    maximum minimum fmax fmin floor ceil rint trunc modf frexp ldexp nextafter gcd lcm isnan isinf isfinite
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not
    bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_invert invert left_shift right_shift bitwise_count conj conjugate
    matmul vecdot
"""

_FUNCTIONS = """
    sum prod max min amax amin mean std var median average percentile quantile ptp all any argmax argmin argsort argpartition
    partition cumsum cumprod nansum nanprod nanmax nanmin nanmean nanstd nanvar nanargmax nanargmin nancumsum diff count_nonzero
    where clip round around nan_to_num isclose array_equal allclose isin sort lexsort searchsorted digitize unique bincount
    histogram take take_along_axis choose compress extract diag diagonal diagflat trace tril triu dot vdot inner outer kron tensordot einsum
    cross interp reshape ravel transpose swapaxes moveaxis rollaxis squeeze expand_dims broadcast_to broadcast_arrays flip
    fliplr flipud rot90 roll repeat tile concatenate stack vstack hstack dstack column_stack split array_split hsplit vsplit
    dsplit append delete pad atleast_1d atleast_2d atleast_3d nonzero flatnonzero argwhere meshgrid indices packbits unpackbits
    real imag angle sinc convolve correlate isreal iscomplex resize trim_zeros ediff1d corrcoef cov tri
    array_repr permute_dims matrix_transpose unstack
"""

_HOST_VALUES = """
    ndim shape size result_type can_cast promote_types broadcast_shapes isscalar issubdtype iscomplexobj isrealobj
    min_scalar_type common_type finfo iinfo dtype newaxis inf nan pi e euler_gamma
    bool_ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 intp uintp intc uintc
    longlong ulonglong byte ubyte short ushort int_ uint half single double csingle cdouble
    number generic integer signedinteger unsignedinteger floating inexact complexfloating
    get_printoptions set_printoptions printoptions ndindex s_ r_ errstate format_float_positional format_float_scientific
"""

_LINALG = "norm det inv solve qr svd eigh eigvalsh cholesky matrix_rank lstsq pinv slogdet matrix_power"

UFUNCS, FUNCTIONS, HOST_VALUES, LINALG = (frozenset(names.split()) for names in (_UFUNCS, _FUNCTIONS, _HOST_VALUES, _LINALG))

_ALIASES = {"abs": "absolute", "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "concat": "concatenate", "pow": "power"}


def lookup(name: str):
    """The twin's function or value of this name; AttributeError if it has none."""
    source = _ALIASES.get(name, name)
    if source in HOST_TAKING:
        return HOST_TAKING[source]
    if source in UFUNCS and isinstance(getattr(np, source, None), np.ufunc):
        return device_ufunc(getattr(np, source), source)
    if source in FUNCTIONS and hasattr(np, source):
        return device_function(getattr(np, source), source)
    if source in HOST_VALUES and hasattr(np, source):
        return getattr(np, source)
    raise AttributeError(name)


def _host_shape(function):
    """ndim, shape, size: answers about a device array are plain Python values."""

    def of(a, *args):
        return function(a._host if hasattr(a, "_host") else a, *args)

    of.__name__, of.__doc__ = function.__name__, function.__doc__
    return of


def _result_type(*args):
    """numpy.result_type; device arrays count with their dtype."""
    return np.result_type(*(arg.dtype if hasattr(arg, "_host") else arg for arg in args))


def _can_cast(from_, to, casting="safe"):
    """numpy.can_cast; a device array counts with its dtype."""
    return np.can_cast(from_.dtype if hasattr(from_, "_host") else from_, to, casting)


def copyto(dst, src, casting="same_kind", where=None) -> None:
    """Copies `src` (a device array or a scalar) into the device array `dst`."""
    from lanewise.twin.array import ndarray
    from lanewise.twin.wrap import refuse

    if isinstance(src, np.ndarray) or not isinstance(dst, ndarray):
        refuse(src if isinstance(src, np.ndarray) else dst)
    mask = True if where is None else where._host
    np.copyto(dst._host, src._host if isinstance(src, ndarray) else src, casting=casting, where=mask)
    dst._memory.mark(dst._host, None if where is None else ~np.broadcast_to(mask, dst.shape))


def _comparison(function):
    """allclose and isclose: one of the two may be a NumPy array, as in CuPy."""

    def close(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
        from lanewise.twin.creation import asarray

        return call(function, (asarray(a), asarray(b), rtol, atol, equal_nan), {})

    close.__name__, close.__doc__ = function.__name__, f"numpy.{function.__name__} as a device array; NumPy arrays are taken, too."
    return close


HOST_TAKING = {
    "allclose": _comparison(np.allclose),
    "isclose": _comparison(np.isclose),
    "ndim": _host_shape(np.ndim), "shape": _host_shape(np.shape), "size": _host_shape(np.size),
    "result_type": _result_type, "can_cast": _can_cast, "copyto": copyto,
    "may_share_memory": lambda a, b: np.may_share_memory(a._host, b._host),
    "shares_memory": lambda a, b: np.shares_memory(a._host, b._host),
    "iscomplexobj": lambda x: x.dtype.kind == "c", "isrealobj": lambda x: x.dtype.kind != "c",
}  # fmt: skip
