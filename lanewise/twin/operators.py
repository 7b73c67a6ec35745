"""The operators of device arrays, and the methods that are NumPy's functions under the same name."""

from __future__ import annotations

import numpy as np

METHODS = "sum prod max min mean std var all any argmax argmin argsort cumsum cumprod clip round trace nonzero searchsorted ptp conj conjugate"
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "matmul": "matmul",
}  # fmt: skip
COMPARISONS = {"lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal"}
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def install(array: type) -> None:
    """Gives the class its operators and reductions."""
    for name in METHODS.split():
        setattr(array, name, _method(name))
    for name, ufunc in BINARY.items():
        setattr(array, f"__{name}__", _operator(ufunc))
        setattr(array, f"__r{name}__", _operator(ufunc, reflected=True))
        setattr(array, f"__i{name}__", _operator(ufunc, in_place=True))
    for name, ufunc in COMPARISONS.items():
        setattr(array, f"__{name}__", _comparison(ufunc))
    setattr(array, "__divmod__", _operator("divmod"))  # noqa: B010  as the lines above
    setattr(array, "__rdivmod__", _operator("divmod", reflected=True))  # noqa: B010
    for name, ufunc in UNARY.items():
        setattr(array, f"__{name}__", _method(ufunc))


def _method(name: str):
    function = getattr(np, name)

    def method(self, *args, **kwargs):
        return self._call(function, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"numpy.{name} of this array: the same arguments; a device array, 0-d for a single value."
    return method


def _comparison(ufunc: str):
    """As in CuPy: a 0-d NumPy array counts as its scalar, and nothing equals None."""

    def method(self, other):
        from lanewise import twin

        if other is None and ufunc in ("equal", "not_equal"):
            return twin.full(self.shape, ufunc == "not_equal", bool)
        if isinstance(other, np.ndarray) and other.ndim == 0:
            other = other.item()
        return getattr(twin, ufunc)(self, other)

    return method


def _operator(ufunc: str, reflected: bool = False, in_place: bool = False):
    def method(self, other):
        from lanewise import twin

        function = getattr(twin, ufunc)
        if not isinstance(other, type(self)) and getattr(other, "__array_ufunc__", False) is None:
            return NotImplemented  # the other type asked to be called instead
        if in_place:
            return function(self, other, out=self)
        return function(other, self) if reflected else function(self, other)

    return method
