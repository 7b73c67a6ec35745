"""cupy.random on the simulator: device arrays from NumPy's generators. A seed gives the same numbers every time, but not those of a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.twin.array import ndarray
from lanewise.twin.wrap import wrap


def _host(value: Any) -> Any:
    return value._host if isinstance(value, ndarray) else value


def _device(value: Any, dtype: Any = None, out: ndarray | None = None) -> ndarray:
    """A 0-d device array for a single value, as CuPy gives."""
    host = np.asarray(value, dtype)
    if out is None:
        return wrap(host)
    if out.dtype != host.dtype:
        raise TypeError(f"Supplied output array has the wrong type. Expected {host.dtype.name}, got {out.dtype.name}")
    out._host[...] = host
    out._memory.mark(out._host)
    return out


def _float(dtype: Any) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.char not in "fd":
        raise TypeError(f"Unsupported dtype {dtype.name}: take cp.float32 or cp.float64, and .astype afterwards.")
    return dtype


class Generator:
    """Random numbers as device arrays. Floats are float64 unless `dtype=cp.float32` is given."""

    def __init__(self, bit_generator):
        self.bit_generator = bit_generator
        self._generator = bit_generator if isinstance(bit_generator, np.random.Generator) else np.random.Generator(bit_generator)

    def _size(self, size: Any, out: ndarray | None) -> Any:
        return out.shape if size is None and out is not None else size

    def random(self, size=None, dtype=np.float64, out=None) -> ndarray:
        """Uniform in [0, 1)."""
        return _device(self._generator.random(self._size(size, out), _float(dtype)), dtype, out)

    def uniform(self, low=0.0, high=1.0, size=None, dtype=np.float64) -> ndarray:
        """Uniform in [low, high)."""
        return _device(self._generator.uniform(_host(low), _host(high), size), _float(dtype))

    def standard_normal(self, size=None, dtype=np.float64, out=None) -> ndarray:
        return _device(self._generator.standard_normal(self._size(size, out), _float(dtype)), dtype, out)

    def standard_exponential(self, size=None, dtype=np.float64, method="inv", out=None) -> ndarray:
        return _device(self._generator.standard_exponential(self._size(size, out), _float(dtype)), dtype, out)

    def exponential(self, scale=1.0, size=None, dtype=np.float64, method="inv") -> ndarray:
        return _device(self._generator.exponential(_host(scale), size), _float(dtype))

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False) -> ndarray:
        """Integers in [low, high), or [0, low) with one bound; `endpoint` includes the upper one."""
        return _device(self._generator.integers(_host(low), _host(high), size, dtype, endpoint), dtype)

    def binomial(self, n, p, size=None, dtype=np.int64) -> ndarray:
        return _device(self._generator.binomial(_host(n), _host(p), size), dtype)

    def poisson(self, lam=1.0, size=None, dtype=np.int64) -> ndarray:
        return _device(self._generator.poisson(_host(lam), size), dtype)

    def beta(self, a, b, size=None, dtype=np.float64) -> ndarray:
        return _device(self._generator.beta(_host(a), _host(b), size), _float(dtype))

    def gamma(self, shape, scale=1.0, size=None) -> ndarray:
        return _device(self._generator.gamma(_host(shape), _host(scale), size))


def default_rng(seed=None) -> Generator:
    """A generator of its own; the same seed gives the same numbers."""
    return Generator(np.random.PCG64(seed))


XORWOW = MRG32k3a = Philox4x3210 = np.random.PCG64  # CuPy's bit generators; on the simulator they are one

_state = np.random.RandomState()


def seed(seed=None) -> None:
    """Seeds the functions of this module (not the generators of `default_rng`)."""
    _state.seed(seed)


def rand(*size, **kwarg) -> ndarray:
    """Uniform in [0, 1), one argument an axis."""
    return random_sample(size, kwarg.get("dtype", float))


def randn(*size, **kwarg) -> ndarray:
    """Standard normal, one argument an axis."""
    return standard_normal(size, kwarg.get("dtype", float))


def random_sample(size=None, dtype=float) -> ndarray:
    return _device(_state.random_sample(size), _float(dtype))


random = ranf = sample = random_sample


def standard_normal(size=None, dtype=float) -> ndarray:
    return _device(_state.standard_normal(size), _float(dtype))


def normal(loc=0.0, scale=1.0, size=None, dtype=float) -> ndarray:
    return _device(_state.normal(_host(loc), _host(scale), size), _float(dtype))


def uniform(low=0.0, high=1.0, size=None, dtype=float) -> ndarray:
    return _device(_state.uniform(_host(low), _host(high), size), _float(dtype))


def randint(low, high=None, size=None, dtype=int) -> ndarray:
    return _device(_state.randint(_host(low), _host(high), size, dtype), dtype)


def permutation(a) -> ndarray:
    return wrap(_state.permutation(_host(a)))


def shuffle(a: ndarray) -> None:
    """In place, along the first axis."""
    _state.shuffle(a._host)


def choice(a, size=None, replace=True, p=None) -> ndarray:
    return _device(_state.choice(_host(a), size, replace, _host(p)))
