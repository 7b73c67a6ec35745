"""Matrices of wgmma in shared memory: what a descriptor says, and where each 16-byte chunk of the matrix lies.

Sources: PTX ISA 9.7.15.5.1 "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and "Matrix Descriptor Format". A matrix has *lines* in its
contiguous direction: along K ("K-major") one line a row of A or column of B, 32 bytes; along M or N ("MN-major", 16-bit elements) one line for each k.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ..values import i64, ndarray

CHUNK = 16  # bytes that a swizzle keeps together
SPAN = (0, 128, 64, 32)  # bits 62 and 63 of a descriptor → bytes that are permuted among each other, 0 for none
CORE = 8  # lines of a core matrix


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A matrix descriptor, offsets in bytes."""

    start: int
    leading: int
    stride: int
    base: int  # matrix base offset: the row of the swizzle pattern at which it begins
    span: int

    @property
    def swizzle(self) -> str:
        return f"{self.span}-byte swizzle" if self.span else "no swizzle"

    @property
    def late(self) -> int:
        """Bytes from the beginning of the swizzle pattern to the row in which the matrix starts: where not 0, `base` must say so."""
        if not self.span:
            return 0
        return self.start % (CORE * self.span) // self.span * self.span


def read_descriptor(bits: int) -> Descriptor:
    """The fields of a 64-bit descriptor."""
    field = lambda low, width: bits >> low & (1 << width) - 1  # noqa: E731
    return Descriptor(field(0, 14) * 16, field(16, 14) * 16, field(32, 14) * 16, field(49, 3), SPAN[field(62, 2)])


@functools.lru_cache(maxsize=4096)
def chunks(d: Descriptor, across: int, deep: int) -> ndarray:
    """Shared-memory address of every 16-byte chunk of a matrix, (lines, chunks of a line), int64.

    `across`: rows of A or columns of B. `deep`: 0 for K-major, else the number of k (MN-major, 16-bit elements).

    Without a swizzle the matrix is made of core matrices, 8 lines of 16 bytes one after the other. K-major: core matrices follow each other at the
    leading offset along K and at the stride offset across. MN-major: at the stride offset across, at the leading offset along K. With one, 8 lines of
    a whole span follow each other: K-major has them at the stride offset across; MN-major at the stride offset along K, at the leading offset across.
    """
    lines, width = (deep, across // 8) if deep else (across, 2)
    line, chunk = np.arange(lines, dtype=i64)[:, None], np.arange(width, dtype=i64)[None, :]
    group, within = line // CORE, line % CORE
    if not d.span:
        along, step = (d.stride, d.leading) if deep else (d.leading, d.stride)
        return d.start + chunk * along + group * step + within * CHUNK
    per = d.span // CHUNK
    panel = chunk // per * d.leading if deep else 0
    place = d.start + panel + group * d.stride + within * d.span + (chunk % per if deep else chunk) * CHUNK
    row = (place >> 7) - d.base  # the pattern goes by the address, less the base offset: so on an H200, for every row it may begin at
    return place ^ (row & per - 1) * CHUNK


@functools.lru_cache(maxsize=4096)
def words(d: Descriptor, across: int, deep: int) -> ndarray:
    """Word numbers of the matrix in shared memory, line by line, flat."""
    first = chunks(d, across, deep) >> 2
    return (first[:, :, None] + np.arange(CHUNK // 4)).reshape(-1)
