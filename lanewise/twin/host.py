"""A launch's arrays in host memory and back: the simulator works on NumPy copies, whoever owns the originals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise import cp, simt


def array_of(arg: Any) -> Any:
    """The array behind a tensor map; anything else as it is."""
    return arg.passed if isinstance(arg, simt.TensorMap) else arg


def host_copies(args: Sequence) -> list:
    """The arguments with every array as a NumPy copy. Whole allocations are copied, so that views still overlap, and lie as
    well or badly aligned, as the originals do."""
    blocks: dict[Any, np.ndarray] = {}
    copies = []
    for arg in map(array_of, args):
        if hasattr(arg, "_memory"):  # the twin's
            copies.append(_view(arg._host, arg._memory.root, blocks))
        elif isinstance(arg, np.ndarray):
            root = arg
            while isinstance(root.base, np.ndarray):
                root = root.base
            copies.append(_view(arg, root, blocks))
        elif hasattr(arg, "__cuda_array_interface__"):  # CuPy's
            if not whole(arg):
                copies.append(arg.get())
                continue
            if arg.data.mem.ptr not in blocks:
                blocks[arg.data.mem.ptr] = chunk(arg).get()
            copies.append(np.ndarray(arg.shape, arg.dtype, blocks[arg.data.mem.ptr], arg.data.ptr - arg.data.mem.ptr, arg.strides))
        else:
            copies.append(arg)
    return [arg.of(copy) if isinstance(arg, simt.TensorMap) else copy for arg, copy in zip(args, copies, strict=True)]


def _view(host: np.ndarray, root: np.ndarray, blocks: dict[Any, np.ndarray]) -> np.ndarray:
    """`host`, a view of `root`, as the same view of a copy of `root`."""
    if not (root.flags.c_contiguous or root.flags.f_contiguous) or root.dtype.hasobject or not host.size:
        return host.copy()
    if id(root) not in blocks:
        blocks[id(root)] = np.frombuffer(root.tobytes("A"), np.uint8).copy()
    return np.ndarray(host.shape, host.dtype, blocks[id(root)], _address(host) - _address(root), host.strides)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def whole(array: Any) -> bool:
    """Whether a CuPy array's allocation is known: not for empty arrays and for memory that isn't CuPy's own."""
    return array.size > 0 and array.data.mem.size > 0


def chunk(array: Any) -> Any:
    """All bytes of the allocation in which a CuPy array lies."""
    memory = array.data.mem
    return cp.ndarray((memory.size,), np.uint8, cp.cuda.MemoryPointer(memory, 0))


def write_back(args: Sequence, copies: Sequence) -> None:
    """The values of `copies`, which `host_copies` made of `args`, into CuPy's arrays among `args`."""
    for arg, copy in zip(map(array_of, args), map(array_of, copies), strict=True):
        if hasattr(arg, "__cuda_array_interface__"):
            arg[...] = cp.asarray(copy)
