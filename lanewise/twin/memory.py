"""Device memory of the simulator: blocks of host memory that know which of their bytes nobody has set yet."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ALIGNMENT = 256  # bytes: what cudaMalloc promises
CHECK_FROM = 1 << 28  # bytes: smaller allocations are not worth asking the system about free memory
INTEGER_POISON = 0xCD  # every byte of an unset integer; floats are NaN

_next_address = 0x7F00_0000_0000  # device addresses are made up: the host's would differ from run to run


class OutOfMemoryError(MemoryError):
    """This computer has too little free memory for the array; the message says how much there is."""


class Memory:
    """One allocation. `root` is the NumPy array that owns the bytes; views of it share this object.

    `unset` is None when every byte was written, True when none was, else a bool array with one flag a byte.
    """

    __slots__ = ("address", "root", "unset")

    def __init__(self, root: np.ndarray, unset: bool = False):
        global _next_address
        self.root = root
        self.unset: Any = True if unset and root.size else None
        self.address = _next_address
        _next_address += -(-max(root.nbytes, 1) // ALIGNMENT) * ALIGNMENT

    def offset(self, view: np.ndarray) -> int:
        """Bytes from the start of the allocation to the first element of `view`."""
        return host_address(view) - host_address(self.root) if view.size else 0

    def mask(self, view: np.ndarray) -> np.ndarray | None:
        """Which elements of `view` nobody has set: a bool array of its shape, or None when all are set."""
        if self.unset is None or view.size == 0:
            return None
        if self.unset is True:
            return np.ones(view.shape, bool)
        flags = np.ndarray(view.shape, bool, self.unset, self.offset(view), view.strides)
        return flags.copy() if flags.any() else None

    def unset_bytes(self, view: np.ndarray) -> np.ndarray | None:
        """One flag for each byte of a C-contiguous `view`, flat: True where nobody has set it. None when all are set."""
        if self.unset is None or view.size == 0:
            return None
        if self.unset is True:
            return np.ones(view.nbytes, bool)
        start = self.offset(view)
        flags = self.unset[start : start + view.nbytes]
        return flags.copy() if flags.any() else None

    def mark_bytes(self, view: np.ndarray, unset: np.ndarray) -> None:
        """The bytes of a C-contiguous `view` whose flag is False are set now."""
        if self.unset is None:
            return
        if self.unset is True:
            self.unset = np.ones(self.root.nbytes, bool)
        start = self.offset(view)
        self.unset[start : start + view.nbytes] &= unset
        if not self.unset.any():
            self.unset = None

    def mark(self, view: np.ndarray, unset: np.ndarray | None = None) -> None:
        """The elements of `view` are set now, but for those where `unset` is True (they stay what they were)."""
        if self.unset is None or view.size == 0 or (unset is not None and unset.all()):
            return
        if unset is None and view.nbytes == self.root.nbytes:
            self.unset = None
            return
        if self.unset is True:
            self.unset = np.ones(self.root.nbytes, bool)
        flags = np.ndarray(view.shape + (view.itemsize,), bool, self.unset, self.offset(view), view.strides + (1,))
        if unset is None:
            flags[...] = False
        else:
            flags[~unset] = False
        if not self.unset.any():
            self.unset = None


@dataclass(slots=True)
class MemoryPointer:
    """Where an array's first element lies: `ptr` is its device address, `mem` its allocation. `+` moves it by bytes."""

    mem: Memory
    offset: int = 0

    @property
    def ptr(self) -> int:
        return self.mem.address + self.offset

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, count: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.offset + count)

    def __sub__(self, count: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.offset - count)

    def bytes(self, count: int) -> np.ndarray:
        """The `count` bytes from here on, as a uint8 view; ValueError when the allocation has fewer."""
        if not 0 <= self.offset <= self.mem.root.nbytes - count:
            raise ValueError(f"{count} bytes from byte {self.offset} on don't fit an allocation of {self.mem.root.nbytes} bytes: ask for fewer.")
        return np.ndarray((count,), np.uint8, self.mem.root, self.offset)

    def copy_from_host(self, address: int, count: int) -> None:
        """Copies `count` bytes from the host address (`array.ctypes.data`) to here."""
        view = self.bytes(count)
        view[...] = host_bytes(address, count)
        self.mem.mark(view)

    def copy_to_host(self, address: int, count: int) -> None:
        """Copies `count` bytes from here to the host address (`array.ctypes.data`)."""
        host_bytes(address, count)[...] = self.bytes(count)

    def copy_from_device(self, source: MemoryPointer, count: int) -> None:
        """Copies `count` bytes from another device address to here."""
        view = self.bytes(count)
        view[...] = source.bytes(count)
        self.mem.mark(view)

    def memset(self, value: int, count: int) -> None:
        """Sets `count` bytes to `value` (0 to 255)."""
        view = self.bytes(count)
        view[...] = value
        self.mem.mark(view)

    def copy_from_host_async(self, address: int, count: int, stream=None) -> None:
        self.copy_from_host(address, count)

    def copy_to_host_async(self, address: int, count: int, stream=None) -> None:
        self.copy_to_host(address, count)

    def memset_async(self, value: int, count: int, stream=None) -> None:
        self.memset(value, count)


class MemoryPool:
    """The methods of CuPy's pool; the simulator keeps nothing back, so there is nothing to free."""

    def free_all_blocks(self, stream=None) -> None:
        """Nothing is kept: arrays are freed when their last name goes."""

    def free_all_free(self) -> None:
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        return 0

    def used_bytes(self) -> int:
        return 0

    def free_bytes(self) -> int:
        return 0

    def total_bytes(self) -> int:
        return 0

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Taken and ignored."""

    def get_limit(self) -> int:
        return 0


def host_address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def host_bytes(address: int, count: int) -> np.ndarray:
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address)) if count else np.empty(0, np.uint8)


def poison(array: np.ndarray) -> np.ndarray:
    """Fills fresh memory with what nobody takes for a result: NaN, or 0xCD in every byte of an integer. Returns `array`."""
    if array.dtype.kind in "fc":
        array.fill(np.nan)
    elif array.dtype.kind in "iu":
        array.view(np.uint8).fill(INTEGER_POISON) if array.ndim else array.reshape(1).view(np.uint8).fill(INTEGER_POISON)
    else:
        array.fill(0) if array.dtype.kind != "V" else None
    return array


def require(shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raises OutOfMemoryError if an array of this shape and type would not fit this computer's free memory."""
    count = dtype.itemsize
    for size in shape:
        count *= size
    if count < CHECK_FROM:
        return
    free = free_bytes()
    if count > free:
        raise OutOfMemoryError(
            f"An array of {count / 1e9:.1f} GB was asked for, but the simulator keeps device memory in this computer's own, "
            f"where {free / 1e9:.1f} GB are free: take smaller sizes."
        )


def free_bytes() -> int:
    """Bytes of host memory that can be had: the least of what the system and the container's limit leave."""
    limits = [total_bytes()]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits.append(next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")))
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            limits.append(int(limit) - int((group / "memory.current").read_text()))
    except (OSError, StopIteration, ValueError):
        pass  # not Linux, or no such limit: the total stands
    return max(0, min(limits))


def total_bytes() -> int:
    """Bytes of host memory in all."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 33  # Windows has no sysconf; 8 GB is a fair guess
