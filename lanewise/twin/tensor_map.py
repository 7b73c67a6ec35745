"""cp.tensor_map: the argument for TMA copies, on the simulator and on a GPU."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise import simt
from lanewise.simt.tensor_maps import ALIGNMENT, BYTES, FILLS, SWIZZLES, TensorMap

# The numbers of the driver's enumerations (CUDA driver API 6.30, "Tensor Map Object Management")
_TYPES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
_L2 = ("none", "64B", "128B", "256B")
_DESCRIPTORS: weakref.WeakKeyDictionary[TensorMap, np.void] = weakref.WeakKeyDictionary()


def tensor_map(array: Any, box: Sequence[int], swizzle: str = "none", **options: Any) -> TensorMap:
    """What `simt.tensor_map` makes, for an array on the device: pass it to a kernel's `const __grid_constant__` parameter of 128 bytes.

    `options` as there. Raises TypeError for an array in host memory, ValueError where the driver would refuse.
    """
    if isinstance(array, np.ndarray):
        raise TypeError("a NumPy array lies in host memory: move it to the device with cp.asarray first, then make its tensor map.")
    return simt.tensor_map(array, box, swizzle, **options)


def descriptor(tm: TensorMap) -> np.void:
    """The 128 bytes that a GPU reads, made by the driver. Raises RuntimeError if the driver refuses."""
    made = _DESCRIPTORS.get(tm)
    if made is None:
        made = _DESCRIPTORS[tm] = _encoded(tm)
    return made


def _encoded(tm: TensorMap) -> np.void:
    driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    array, rank = tm.passed, len(tm.box)
    room = np.zeros(BYTES + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    wide, narrow = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
    error = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(room.ctypes.data + start), _TYPES[tm.element], rank, ctypes.c_void_p(array.data.ptr),
        wide(*reversed(array.shape)), wide(*reversed(_strides(array)), 0) if rank > 1 else wide(0),
        narrow(*reversed(tm.box)), narrow(*reversed(tm.steps)), 0,
        list(SWIZZLES.values()).index(tm.swizzle), _L2.index(tm.l2), FILLS.index(tm.fill),
    )  # fmt: skip
    if error:
        raise RuntimeError(f"the driver refuses the tensor map of an array of shape {tuple(array.shape)} with box {tm.box} (error {error}): check both.")
    return room[start : start + BYTES].view(f"V{BYTES}")[0]


def _strides(array: Any) -> list[int]:
    """Bytes from one element to the next along each axis but the last. An axis of one element may have any stride: one that the driver takes is put there."""
    out: list[int] = []
    below = -(-array.shape[-1] * array.itemsize // 16) * 16
    for n, stride in zip(reversed(array.shape[:-1]), reversed(array.strides[:-1]), strict=True):
        out.insert(0, stride if n > 1 else below)
        below = max(below, n * out[0])
    return out
