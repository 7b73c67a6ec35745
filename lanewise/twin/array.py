"""The device array of the simulator: what cupy.ndarray does, over a NumPy array that nobody outside touches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from lanewise.twin import operators, wrap
from lanewise.twin.indexing import host_index
from lanewise.twin.memory import Memory, MemoryPointer

NO_IMPLICIT_COPY = "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
Order = Literal["K", "A", "C", "F"]
SUPPORTED_KINDS = "?bBhHiIlLqQefdFD"  # dtype characters


class Flags:
    """Memory layout: `c_contiguous`, `f_contiguous`, `owndata`, also by index in upper case."""

    __slots__ = ("c_contiguous", "f_contiguous", "owndata")

    def __init__(self, c_contiguous: bool, f_contiguous: bool, owndata: bool):
        self.c_contiguous, self.f_contiguous, self.owndata = c_contiguous, f_contiguous, owndata

    def __getitem__(self, name: str) -> bool:
        if name not in ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA"):
            raise KeyError(f"{name} is not defined for cupy.ndarray.flags")
        return getattr(self, name.lower())

    def __repr__(self) -> str:
        return f"  C_CONTIGUOUS : {self.c_contiguous}\n  F_CONTIGUOUS : {self.f_contiguous}\n  OWNDATA : {self.owndata}"


class ndarray:
    """An array in device memory. It never becomes a NumPy array unasked (`.get()` or `cp.asnumpy` do it), nor the other way round.

    Args:
        shape: int or tuple of ints.
        dtype: element type.
        memptr: where the first element lies (`module.get_global("name")`); None: new memory, unset until something writes it.
        strides: bytes from one element to the next in each axis; needs `memptr`.
        order: "C" or "F".
    """

    __slots__ = ("__weakref__", "_host", "_memory", "base")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape, dtype=float, memptr: MemoryPointer | None = None, strides=None, order: Order = "C"):
        from lanewise.twin.creation import checked_dtype, checked_shape, unset

        self.base: ndarray | None = None
        if memptr is not None:
            shape, dtype = checked_shape(shape), checked_dtype(dtype)
            if strides is None:
                memptr.bytes(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)  # one sentence if it doesn't fit
            self._host = np.ndarray(shape, dtype, memptr.mem.root, memptr.offset, strides, order)
            self._memory = memptr.mem
        elif strides is not None:
            raise ValueError("memptr is required if strides is given.")
        else:
            fresh = unset(shape, dtype, order)
            self._host, self._memory = fresh._host, fresh._memory

    @classmethod
    def _of(cls, host: np.ndarray, memory: Memory | None = None, base: ndarray | None = None) -> ndarray:
        """A device array over `host`; without `memory` it owns it and every element counts as set."""
        self = object.__new__(cls)
        if memory is None:
            root = host
            while isinstance(root.base, np.ndarray):
                root = root.base
            memory = Memory(root)
        self._host, self._memory, self.base = host, memory, base
        return self

    def _call(self, function, *args, **kwargs) -> Any:
        return wrap.call(function, (self, *args), kwargs)

    # --- what it is

    dtype = property(lambda self: self._host.dtype, doc="Element type.")
    ndim = property(lambda self: self._host.ndim, doc="Number of axes.")
    size = property(lambda self: self._host.size, doc="Number of elements.")
    itemsize = property(lambda self: self._host.itemsize, doc="Bytes of one element.")
    nbytes = property(lambda self: self._host.nbytes, doc="Bytes of all elements.")
    strides = property(lambda self: self._host.strides, doc="Bytes from one element to the next, for each axis.")
    T = property(lambda self: self if self.ndim < 2 else self.transpose(), doc="The array with its axes reversed; a view.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes. Setting it reshapes in place, without a copy."""
        return self._host.shape

    @shape.setter
    def shape(self, shape) -> None:
        self._host = np.reshape(self._host, shape, copy=False)

    @property
    def flags(self) -> Flags:
        """Memory layout."""
        return Flags(self._host.flags.c_contiguous, self._host.flags.f_contiguous, self.base is None)

    @property
    def data(self) -> MemoryPointer:
        """Where the first element lies; `.data.ptr` is the device address (made up on the simulator, 256-byte aligned for a new array)."""
        return MemoryPointer(self._memory, self._memory.offset(self._host))

    @property
    def device_array(self) -> np.ndarray:
        """The device's memory itself, for the simulator; `.get()` is the copy for everybody else."""
        return self._host

    @property
    def device(self):
        """The device that holds it."""
        from lanewise.twin.cuda import Device

        return Device(0)

    @property
    def real(self) -> ndarray:
        return wrap.wrap(self._host.real, [self])

    @property
    def imag(self) -> ndarray:
        return wrap.wrap(np.imag(self._host), [self])

    @property
    def flat(self):
        return wrap.wrap(self._host.reshape(-1), [self])

    # --- to and from the host

    def __array__(self, dtype=None, copy=None):
        raise TypeError(NO_IMPLICIT_COPY)

    def get(self, stream=None, order: Order = "C", out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        """A copy as a NumPy array, or into `out` (same shape and type)."""
        if out is None:
            return self._host.copy(order="C" if order == "K" else order)
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained from cupy.ndarray")
        if self.dtype != out.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
        if self.shape != out.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}")
        out[...] = self._host
        return out

    def set(self, arr: np.ndarray, stream=None) -> None:
        """Copies a NumPy array of the same shape and type to the device; this array must be contiguous."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if self.shape != arr.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        if not (self._host.flags.c_contiguous or self._host.flags.f_contiguous):
            raise RuntimeError("Cannot set to non-contiguous array")
        self._host[...] = arr
        self._memory.mark(self._host)

    def item(self):
        """The one element as a Python scalar."""
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._host.item()

    def tolist(self) -> Any:
        """A nested list of Python scalars."""
        return self._host.tolist()

    def tobytes(self, order="C") -> bytes:
        return self._host.tobytes(order)

    def __reduce__(self):
        from lanewise.twin.creation import array

        return array, (self.get(),)

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo) -> ndarray:
        return self.copy()

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self._host.reshape(()))
        if self.size == 0:
            warnings.warn("The truth value of an empty array is ambiguous: use `array.size > 0`.", DeprecationWarning, stacklevel=2)
            return False
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")

    def __int__(self) -> int:
        return int(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __complex__(self) -> complex:
        return complex(self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._host)

    def __format__(self, spec: str) -> str:
        return format(self._host[()] if self.ndim == 0 else self._host, spec)

    # --- elements

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, index) -> ndarray:
        """Slices and ints give views (0-d for one element); index arrays give copies, and wrap around where NumPy raises, as CuPy does."""
        return wrap.wrap(self._host[host_index(self, index)], [self])

    def __setitem__(self, index, value) -> None:
        if isinstance(value, (np.ndarray, list, tuple)) and np.ndim(value):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill: assign cp.asarray(values), or use .set for the whole array.")
        index = host_index(self, index)
        with np.errstate(all="ignore"):
            self._host[index] = value._host if isinstance(value, ndarray) else value
        if self._memory.unset is not None:
            written = np.ones(self.shape, bool)
            written[index] = False
            self._memory.mark(self._host, written)

    def fill(self, value) -> None:
        """Sets every element to a scalar."""
        self._host.fill(value.item() if isinstance(value, ndarray) else value)
        self._memory.mark(self._host)

    def take(self, indices, axis=None, out=None) -> ndarray:
        from lanewise.twin.creation import asarray

        return self._call(np.take, asarray(indices), axis=axis, out=out, mode="wrap")

    # --- NumPy functions called on it

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from lanewise import twin

        function = getattr(twin, ufunc.__name__, None)
        if function is None or method not in ("__call__", "reduce", "accumulate", "outer"):
            return NotImplemented
        if method != "__call__":
            return wrap.call(getattr(ufunc, method), inputs, kwargs, sequences=False)
        return function(*inputs, **kwargs)

    def __array_function__(self, func, types, args, kwargs):
        from lanewise import twin

        home: Any = twin
        for part in func.__module__.split(".")[1:]:
            home = getattr(home, part, None)
        function = getattr(home, func.__name__, None)
        if function is None or not all(issubclass(kind, (ndarray, np.ndarray)) for kind in types):
            return NotImplemented
        return function(*args, **kwargs)

    # --- copies and shapes

    def astype(self, dtype, order: Order = "K", casting=None, subok=None, copy: bool = True) -> ndarray:
        """Converted to `dtype`; with copy=False the array itself where nothing changes."""
        from lanewise.twin.creation import checked_dtype

        dtype = checked_dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        with np.errstate(all="ignore"):
            return ndarray._of(self._host.astype(dtype, order=order))

    def copy(self, order: Order = "C") -> ndarray:
        return ndarray._of(self._host.copy(order))

    def view(self, dtype=None) -> ndarray:
        """The same memory, read as another type."""
        return wrap.wrap(self._host.view() if dtype is None else self._host.view(dtype), [self])

    def reshape(self, *shape, order: Order = "C") -> ndarray:
        """A view where the layout allows it, else a copy."""
        return wrap.wrap(self._host.reshape(*shape, order=order), [self])  # type: ignore[arg-type]

    def ravel(self, order: Order = "C") -> ndarray:
        return wrap.wrap(self._host.ravel(order), [self])

    def flatten(self, order: Order = "C") -> ndarray:
        return ndarray._of(self._host.flatten(order))

    def transpose(self, *axes) -> ndarray:
        return wrap.wrap(self._host.transpose(*axes), [self])

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        return wrap.wrap(self._host.swapaxes(axis1, axis2), [self])

    def squeeze(self, axis=None) -> ndarray:
        return wrap.wrap(self._host.squeeze(axis), [self])

    def repeat(self, repeats, axis=None) -> ndarray:
        return self._call(np.repeat, repeats, axis=axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        return wrap.wrap(self._host.diagonal(offset, axis1, axis2), [self])

    def sort(self, axis: int = -1) -> None:
        """In place."""
        self._host.sort(axis)

    def dot(self, b: ndarray, out: ndarray | None = None) -> ndarray:
        return self._call(np.dot, b, out=out)


operators.install(ndarray)
