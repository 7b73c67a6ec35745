"""Tensor maps: what a TMA copy knows of an array in global memory (PTX ISA 5.5, "Tensors"; CUDA driver API, cuTensorMapEncodeTiled).

The rules checked here are those of cuTensorMapEncodeTiled. A GPU reads 128 bytes that the driver makes; the simulator's map has 128 bytes of its own
that name it, so that it can also lie in global memory.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .launch_types import Output, Unset

BYTES = 128
ALIGNMENT = 64
MAGIC = b"lanewise tma map"
SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
FILLS = ("zero", "nan")
_KINDS = {"u1": "u8", "u2": "u16", "u4": "u32", "i4": "s32", "u8": "u64", "i8": "s64", "f2": "f16", "f4": "f32", "f8": "f64"}
_NUMBERS = itertools.count(1)
_MAPS: weakref.WeakValueDictionary[int, TensorMap] = weakref.WeakValueDictionary()


@dataclass(eq=False, frozen=True)
class TensorMap:
    """A tensor map; make it with `tensor_map`. Tuples are in the order of the array's axes, the contiguous one last.

    `passed` is the array as it was given (NumPy's, CuPy's or the simulator's), `array` the host's view of its memory (None on a GPU).
    `swizzle` is the span in bytes (0 for none), `element` the PTX type of an element: what reductions and the NaN fill go by.
    """

    passed: Any
    array: np.ndarray | None
    box: tuple[int, ...]
    swizzle: int
    steps: tuple[int, ...]
    fill: str
    element: str
    output: bool = False
    l2: str = "none"
    number: int = field(default_factory=lambda: next(_NUMBERS))

    def __post_init__(self) -> None:
        _MAPS[self.number] = self

    def __bytes__(self) -> bytes:
        """The 128 bytes that stand for it in the simulator's memory: `np.frombuffer(bytes(map), np.uint8)`."""
        return (MAGIC + self.number.to_bytes(8, "little")).ljust(BYTES, b"\0")

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements that a copy brings along each axis: a step of 2 takes every second of the box."""
        return tuple(-(-n // step) for n, step in zip(self.box, self.steps, strict=True))

    @property
    def itemsize(self) -> int:
        return int(self.passed.dtype.itemsize)

    @property
    def inner_bytes(self) -> int:
        """Bytes of a row of the box."""
        return self.counts[-1] * self.itemsize

    @property
    def pitch(self) -> int:
        """Bytes from one row to the next in shared memory: with a swizzle its whole span."""
        return self.swizzle or self.inner_bytes

    @property
    def rows(self) -> int:
        return int(np.prod(self.counts[:-1], dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes that a copy of the box reports to its mbarrier, whatever part of it lies outside of the array."""
        return self.rows * self.inner_bytes

    def of(self, array: Any) -> TensorMap:
        """The same map of another array, of the same dtype. Raises ValueError where the driver would refuse."""
        output = isinstance(array, Output)
        passed = array.array if isinstance(array, Output | Unset) else array
        _check_layout(tuple(passed.shape), tuple(passed.strides), int(passed.dtype.itemsize))
        return replace(self, passed=passed, array=_host(passed), output=output or self.output, number=next(_NUMBERS))

    def __repr__(self) -> str:
        return f"tensor_map(shape={tuple(self.passed.shape)}, box={self.box}, swizzle={self.swizzle or 'none'})"


def of_bytes(raw: bytes) -> TensorMap | None:
    """The map whose bytes these are; None if they are none."""
    if len(raw) < BYTES or raw[: len(MAGIC)] != MAGIC:
        return None
    return _MAPS.get(int.from_bytes(raw[len(MAGIC) : len(MAGIC) + 8], "little"))


def tensor_map(
    array: Any,
    box: Sequence[int],
    swizzle: str = "none",
    *,
    element_strides: Sequence[int] | None = None,
    fill: str = "zero",
    dtype: str | None = None,
    interleave: str = "none",
    l2: str = "none",
) -> TensorMap:
    """The argument for a `const __grid_constant__` parameter of 128 bytes, aligned to 64, through which TMA copies boxes of `array`.

    `array`: 1 to 5 axes (simt.Output around it marks it as for a plain argument); it counts as passed to the kernel. `box`: elements of a box along
    each axis, in the order of the array's axes, so `box[-1]` elements are contiguous. The coordinates in PTX come the other way round: for a
    matrix {column, row}. `swizzle`: "none", "32B", "64B" or "128B". `element_strides`: a step along each axis (1 along the last). `fill`: what lies
    outside of the array reads as "zero" or "nan". `dtype`: "bfloat16" for an array of uint16 that holds such numbers.
    `l2`: "none", "64B", "128B", "256B", how much the L2 fetches at once; it changes no value. Raises ValueError where the driver would refuse.
    """
    output = isinstance(array, Output)
    passed = array.array if isinstance(array, Output | Unset) else array
    if interleave != "none":
        raise ValueError(f"interleave={interleave!r} is for images in channel blocks: only 'none' is supported.")
    if not all(hasattr(passed, name) for name in ("dtype", "shape", "strides", "flags")):
        raise ValueError(f"a tensor map is made of an array, not of {type(passed).__name__}: pass the array itself.")
    shape, strides, size = tuple(passed.shape), tuple(passed.strides), int(passed.dtype.itemsize)
    rank = len(shape)
    if not 1 <= rank <= 5:
        raise ValueError(f"the array has {rank} axes: a tensor map takes 1 to 5, reshape it.")
    element = _element(passed.dtype, dtype)
    box = tuple(int(n) for n in (box if isinstance(box, Sequence) else (box,)))
    steps = (1,) * rank if element_strides is None else tuple(int(n) for n in element_strides)
    if len(box) != rank or len(steps) != rank:
        raise ValueError(f"box={box} and element_strides={steps} must have one entry for each of the array's {rank} axes.")
    if swizzle not in SWIZZLES:
        raise ValueError(f"swizzle={swizzle!r}: take one of {', '.join(SWIZZLES)}.")
    if fill not in FILLS:
        raise ValueError(f"fill={fill!r}: take 'zero' or 'nan'.")
    if fill == "nan" and element[0] in "us":
        raise ValueError(f"fill='nan' is for floating-point elements, and the array's are {element}: take 'zero'.")
    if l2 not in ("none", "64B", "128B", "256B"):
        raise ValueError(f"l2={l2!r}: take 'none', '64B', '128B' or '256B'.")
    _check_layout(shape, strides, size)
    _check_box(box, steps, size, SWIZZLES[swizzle], swizzle)
    return TensorMap(passed, _host(passed), box, SWIZZLES[swizzle], steps, fill, element, output, l2)


def _host(passed: Any) -> np.ndarray | None:
    """The array's memory as the simulator sees it; None for an array on a GPU."""
    host = getattr(passed, "device_array", passed)
    return host if isinstance(host, np.ndarray) else None


def _element(dtype: Any, wanted: str | None) -> str:
    name = getattr(dtype, "name", str(dtype))
    key = f"{dtype.kind}{dtype.itemsize}"
    if wanted is not None:
        if wanted != "bfloat16" or dtype.itemsize != 2:
            raise ValueError(f"dtype={wanted!r} for an array of {name}: only 'bfloat16' can be said, for elements of 2 bytes.")
        return "bf16"
    if name == "bfloat16":
        return "bf16"
    if key in ("b1", "i1"):
        key = "u1"
    if key == "i2":
        key = "u2"
    if key not in _KINDS:
        raise ValueError(f"a tensor map holds integers of 1 to 8 bytes or floats of 2 to 8, not {name}: pass a view of another dtype.")
    return _KINDS[key]


def _check_layout(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> None:
    if 0 in shape:
        raise ValueError(f"the array of shape {shape} has no elements: a tensor map needs at least one along each axis.")
    if strides[-1] != size and shape[-1] > 1:
        raise ValueError("the last axis of the array isn't contiguous: pass an array whose last axis is (ascontiguousarray makes one).")
    for axis, stride in enumerate(strides[:-1]):
        if shape[axis] > 1 and (stride <= 0 or stride % 16):
            raise ValueError(
                f"axis {axis} has a stride of {stride} bytes, and a tensor map needs multiples of 16: "
                f"pad the last axis to a multiple of {max(16 // size, 1)} elements."
            )


def _check_box(box: tuple[int, ...], steps: tuple[int, ...], size: int, span: int, swizzle: str) -> None:
    for axis, (n, step) in enumerate(zip(box, steps, strict=True)):
        if not 1 <= n <= 256:
            raise ValueError(f"box[{axis}] is {n}: a box has 1 to 256 elements along each axis.")
        if not 1 <= step <= 8:
            raise ValueError(f"element_strides[{axis}] is {step}: steps are 1 to 8.")
    if steps[-1] != 1:
        raise ValueError("element_strides of the last axis must be 1: TMA takes its elements as they lie.")
    inner = box[-1] * size
    if inner % 16:
        raise ValueError(f"a row of the box has {box[-1]} elements, {inner} bytes: it must be a multiple of 16 bytes.")
    if span and inner > span:
        raise ValueError(f"a row of the box has {inner} bytes, and the swizzle {swizzle} allows {span}: take at most {span // size} elements.")
