"""Where data lives: allocations of global, constant and parameter memory, the shared memory of a batch, the local memory of its threads.

Every global allocation has its own range of 2**40 addresses, the array in the middle: an index that runs away, even a negative or a wrapped one,
still tells which array it was meant for. The arrays' own memory is used in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .values import Split, Value, i64, ndarray, u8, u16, u32, u64

RANGE = 40  # bits of an allocation's address range
MIDDLE = 1 << (RANGE - 1)
CUT = 0x7A << 24  # so that the lower 32 bits of a generic address are no shared address: on a GPU they aren't, either
SHARED_WINDOW = (0x6000 << RANGE) + CUT  # generic addresses of shared memory start here
LOCAL_WINDOW = 0x6001 << RANGE
WINDOWS = {SHARED_WINDOW >> RANGE: SHARED_WINDOW, LOCAL_WINDOW >> RANGE: LOCAL_WINDOW}  # by their numbers, the upper bits of an address
SHARED_BASE = 1024  # the first shared variable's offset: NULL + small stays out of bounds
GUARD = 256  # unused bytes between shared variables


@dataclass(eq=False, slots=True)
class Allocation:
    """A piece of global, constant or parameter memory. `data` is the live memory, as bytes."""

    name: str
    base: int
    data: ndarray
    element: int = 4  # bytes of an element, for messages
    shape: tuple[int, ...] | None = None
    space: str = "global"
    writable: bool = True  # a kernel may write it: races are possible, so accesses are recorded
    unset: ndarray | None = None  # True for bytes nobody has set (poisoned outputs), else None
    must_write: bool = False
    written: ndarray | None = None  # True for bytes of an output that a kernel wrote
    region: Region | None = None
    region_offset: int = 0  # bytes
    read_sectors: ndarray | None = None
    write_sectors: ndarray | None = None
    views: dict = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.base + len(self.data)

    def view(self, dtype: Any) -> ndarray:
        view = self.views.get(dtype)
        if view is None:
            size = np.dtype(dtype).itemsize
            view = self.views[dtype] = self.data[: len(self.data) // size * size].view(dtype)
        return view


@dataclass(eq=False, slots=True)
class Region:
    """Memory that one or more allocations (views of one array) share. Holds what the race check remembers of its words."""

    size: int
    writer: ndarray | None = None
    plain: ndarray | None = None  # the last writer that wasn't atomic, where the kernel has atomics
    reader: ndarray | None = None
    reader2: ndarray | None = None
    landing: ndarray | None = None  # the bulk store under way to each word (0: none): its number among `stores`; see checks.landing
    stores: list[list[int]] = field(default_factory=list)  # instruction of each, and whether its thread has waited for its reads


class Where:
    """The places of one access in one allocation, aligned and in bounds; gathers from and scatters to it and the records kept beside it."""

    __slots__ = ("kind", "start", "offsets", "split", "steps", "shape", "distinct", "_index")

    # offsets: one a lane; split: those of threads and of blocks, to be added; steps: between threads and between blocks. None: not of that form.
    def __init__(self, kind: str, start: int, offsets: Any, split: Any, steps: Any, shape: tuple[int, ...], distinct: bool):
        self.kind, self.start, self.offsets, self.split, self.steps, self.shape, self.distinct = kind, start, offsets, split, steps, shape, distinct
        self._index: dict = {}

    def index(self, shift: int) -> Value:
        """Element numbers for elements of 2**shift bytes."""
        got = self._index.get(shift)
        if got is None:
            if self.kind == "uniform":
                got = self.start >> shift
            elif self.offsets is not None:
                got = self.offsets >> shift
            else:
                t, b = self.split
                got = (t >> shift) + (b >> shift) if not ((int(b[0, 0]) | int(t[0, 0])) & ((1 << shift) - 1)) and self.kind == "aligned" else (t + b) >> shift
            self._index[shift] = got
        return got

    def get(self, array: ndarray, shift: int, j: int = 0) -> Value:
        """array[place + j] as a scalar or an array of the access's shape."""
        if self.kind == "uniform":
            return array[(self.start >> shift) + j]
        if self.steps is not None:
            return self._strided(array, shift, j).copy()
        index = self.index(shift)
        return array.take(index + j if j else index, mode="clip")

    def put(self, array: ndarray, shift: int, value: Value, j: int = 0) -> None:
        """array[place + j] = value; where several lanes name one place, the last one wins."""
        if self.kind == "uniform":
            if value.__class__ is ndarray:
                value = value[-1, -1]
            array[(self.start >> shift) + j] = value
        elif self.steps is not None:
            self._strided(array, shift, j)[...] = value
        else:
            index = self.index(shift)
            array[index + j if j else index] = value

    def _strided(self, array: ndarray, shift: int, j: int) -> ndarray:
        size = array.itemsize
        st, sb = self.steps
        return np.ndarray(self.shape, array.dtype, array, ((self.start >> shift) + j) * size, ((st >> shift) * size, (sb >> shift) * size))


def place(offset_of_base: int, address: Value, size: int) -> Where:
    """The Where of addresses already known to lie in one allocation. `offset_of_base` is subtracted."""
    if address.__class__ is int:
        return Where("uniform", address - offset_of_base, None, None, None, (1, 1), False)
    if address.__class__ is Split:
        t, b = address.t, address.b
        st, sb = _step(t[:, 0]), _step(b[0])
        n, B = len(t), b.shape[1]
        if st is not None and sb is not None:
            start = int(t[0, 0]) + int(b[0, 0]) - offset_of_base
            distinct = abs(st) >= size and abs(sb) >= size and (abs(sb) >= n * abs(st) or abs(st) >= B * abs(sb))
            if (start | st | sb) & (size - 1) == 0:
                return Where("strided", start, None, (t, b), (st, sb), (n, B), distinct)
        b = b - offset_of_base
        aligned = not ((np.bitwise_or.reduce(t, axis=None) | np.bitwise_or.reduce(b, axis=None)) & (size - 1))
        return Where("aligned" if aligned else "split", 0, None, (t, b), None, (n, B), False)
    offsets = address.view(i64) - offset_of_base
    n, B = offsets.shape
    if B == 1 and n > 1:
        st = _step(offsets[:, 0])
        if st is not None and (int(offsets[0, 0]) | st) & (size - 1) == 0:
            return Where("strided", int(offsets[0, 0]), offsets, None, (st, 0), (n, 1), abs(st) >= size)
    return Where("array", 0, offsets, None, None, offsets.shape, False)


def _step(a: ndarray) -> int | None:
    """The common difference of a 1-D array, or None."""
    n = len(a)
    if n == 1:
        return 0
    step = int(a[1]) - int(a[0])
    if n > 2 and (int(a[-1]) - int(a[0]) != step * (n - 1) or not ((a[1:] - a[:-1]) == step).all()):
        return None
    return step


class GlobalMemory:
    """All allocations of a launch, found by address."""

    def __init__(self) -> None:
        self.ranges: dict[int, Allocation] = {}

    def add(self, allocation: Allocation) -> Allocation:
        self.ranges[allocation.base >> RANGE] = allocation
        return allocation

    def next_base(self) -> int:
        return ((len(self.ranges) + 1) << RANGE) + MIDDLE

    def at(self, address: int) -> Allocation | None:
        return self.ranges.get(address >> RANGE)


def address_bounds(address: Value) -> tuple[int, int]:
    """Least and largest address."""
    if address.__class__ is int:
        return address, address
    if address.__class__ is Split:
        return address.bounds
    a = address.view(i64) if address.dtype == u64 else address
    return int(a.min()), int(a.max())


POISON32 = 0xFFF5_A5A5  # a NaN as float32
POISON = {1: 0xA5, 2: 0xFDA5, 4: POISON32, 8: 0xFFF5_A5A5_FFF5_A5A5}  # NaN patterns of every float width


class SharedMemory:
    """Shared memory of a batch of blocks: 32-bit words × blocks, so that an access whose address is the same in every block moves whole rows."""

    def __init__(self, size: int, B: int):
        words = (size + 3) // 4
        self.words = np.full((max(words, 1), B), POISON32, u32)
        self.B = B
        self._views: dict = {u32: self.words}

    def view(self, dtype: Any) -> ndarray:
        got = self._views.get(dtype)
        if got is None:
            got = self._views[dtype] = self.words.view(dtype)
        return got

    def columns(self, keep: ndarray) -> SharedMemory:
        other = SharedMemory.__new__(SharedMemory)
        other.words, other.B = np.ascontiguousarray(self.words[:, keep]), len(keep)
        other._views = {u32: other.words}
        return other

    # Addresses: int (uniform), (n,) byte offsets (the same in every block), or (n, B) / (n, 1) arrays with a column array.

    def load(self, address: Value, size: int, j: int, column: ndarray | None) -> Value:
        """The element of `size` bytes at address + j·size. column None: all blocks use the same addresses. Unsigned integers."""
        if size == 4:
            if address.__class__ is int:
                row = self.words[(address >> 2) + j]
                return int(row[0]) if self.B == 1 else row[None, :].copy()
            if column is None:
                return self.words.take((address >> 2) + j if j else address >> 2, axis=0)
            return self.words[(address >> 2) + j, column]
        if size == 8:
            low, high = self.load(address, 4, 2 * j, column), self.load(address, 4, 2 * j + 1, column)
            if low.__class__ is int:
                return low | high << 32
            return low.astype(u64) | high.astype(u64) << u64(32)
        dtype, per = (u16, 2) if size == 2 else (u8, 4)
        view = self.view(dtype).reshape(len(self.words), self.B, per)
        address = address + j * size
        if address.__class__ is int:
            row = view[address >> 2, :, (address & 3) // size]
            return int(row[0]) if self.B == 1 else row[None, :].copy()
        part = (address & 3) // size
        if column is None:
            return view[address >> 2, :, part]
        return view[address >> 2, column, part]

    def store(self, address: Value, size: int, j: int, column: ndarray | None, value: Value) -> None:
        if size == 4:
            if address.__class__ is int:
                self.words[(address >> 2) + j] = value[-1] if value.__class__ is ndarray and value.ndim == 2 else value
            elif column is None:
                self.words[(address >> 2) + j if j else address >> 2] = value
            else:
                self.words[(address >> 2) + j, column] = value
            return
        if size == 8:
            if value.__class__ is int:
                low, high = value & 0xFFFFFFFF, value >> 32
            else:
                low, high = value.astype(u32), (value >> u64(32)).astype(u32)
            self.store(address, 4, 2 * j, column, low)
            self.store(address, 4, 2 * j + 1, column, high)
            return
        dtype, per = (u16, 2) if size == 2 else (u8, 4)
        view = self.view(dtype).reshape(len(self.words), self.B, per)
        address = address + j * size
        if address.__class__ is int:
            view[address >> 2, :, (address & 3) // size] = value[-1] if value.__class__ is ndarray and value.ndim == 2 else value
        elif column is None:
            view[address >> 2, :, (address & 3) // size] = value
        else:
            view[address >> 2, column, (address & 3) // size] = value


class LocalMemory:
    """Local memory of a batch: words × threads × blocks; grows with the call depth."""

    LIMIT = 1 << 29  # bytes, for all threads of a batch together

    def __init__(self, T: int, B: int):
        self.T, self.B = T, B
        self.words = np.zeros((0, T, B), u32)

    def reserve(self, size: int) -> bool:
        """Make room for `size` bytes a thread; False if that is too much."""
        words = (size + 3) // 4
        if words > len(self.words):
            if words * self.T * self.B * 4 > self.LIMIT:
                return False
            grown = np.full((max(words, 2 * len(self.words)), self.T, self.B), POISON32, u32)
            grown[: len(self.words)] = self.words
            self.words = grown
        return True

    def columns(self, keep: ndarray) -> LocalMemory:
        other = LocalMemory(self.T, len(keep))
        other.words = np.ascontiguousarray(self.words[:, :, keep])
        return other
