"""Fragments: matrices dealt out to the 32 lanes of a warp, in registers (PTX ISA 9.7.14, "Matrix Fragments for …").

`Layout` says which element each lane holds where; `gather` and `scatter` go between registers and matrices for every shape.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ..values import f16, f32, f64, full, i8, i64, ndarray, u8, u16, u32, u64
from .warp import warps

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "s32": 32, "s4": 4, "u4": 4, "b1": 1}
HOLD: dict[int, type] = {1: u8, 4: u8, 8: u8, 16: u16, 32: u32, 64: u64}  # unpacked, elements below a byte have a byte each
LANE = np.arange(32)
REMEMBERED = 48  # fragments whose matrices a group keeps: an accumulator is asked for again at once, an operand a few times


def register_of(type: str) -> str:
    """How a fragment's registers of this element type are held."""
    return type if type in ("f32", "f64") else "b32"


# ------------------------------------------------------------------------------------------------ layouts


@dataclass(frozen=True, eq=False)
class Layout:
    """A rows × cols matrix in registers. Elements are numbered lane by lane, in a lane by register, in a register from the low bits up."""

    rows: int
    cols: int
    type: str
    place: ndarray  # element → its position in the matrix, row · cols + col
    source: ndarray  # position in the matrix → (the first) element that holds it


@functools.cache
def layout(use: str, rows: int, cols: int, type: str, count: int) -> Layout:
    """The fragment of operand `use` (a, b; c for c and d) with `count` elements a lane.

    All of them are built of tiles: 8 rows (columns for b) by 4 runs of consecutive elements, lane l holding run l mod 4 of row l div 4. A run is as many
    elements as a 32-bit register has room for, two in accumulators. Where a fragment has more room than elements (wmma's f16), the tiles repeat.
    """
    run = 2 if use == "c" else max(32 // BITS[type], 1)
    tile, within = np.divmod(np.arange(count), run)
    across, along = (cols, rows) if use == "b" else (rows, cols)
    bands, runs = across // 8, along // (4 * run)
    if use == "b":
        band, part = tile // runs % bands, tile % runs
    else:
        band, part = tile % bands, tile // bands % runs
    major = 8 * band + (LANE >> 2)[:, None]
    minor = 4 * run * part + (LANE & 3)[:, None] * run + within
    place = (minor * cols + major if use == "b" else major * cols + minor).ravel()
    source = np.empty(rows * cols, np.int64)
    source[place[::-1]] = np.arange(len(place))[::-1]
    return Layout(rows, cols, type, place, source)


# ------------------------------------------------------------------------------------------------ registers and matrices


def ordered(g) -> bool:
    """Are the group's lanes whole warps, in order?"""
    got = g._cache.get("ordered_warps")
    if got is None:
        w = warps(g)
        got = g._cache["ordered_warps"] = w.complete and bool((w.index.ravel() == np.arange(g.n)).all())
    return got


def by_warp(g, x, hold) -> ndarray:
    """A register as raw bits of shape (warps, 32, columns); (1, 1, columns) or less where lanes agree. Lanes that aren't there hold 0."""
    x = full(x)
    if x.__class__ is int:
        return np.full((1, 1, 1), x, hold)
    if x.__class__ is not ndarray:
        return np.full((1, 1, 1), x.view(hold), hold)
    x = x.view(hold) if x.dtype.kind == "f" else x
    if x.shape[0] == 1:
        return x[None]
    return x.reshape(-1, 32, x.shape[1]) if ordered(g) else warps(g).spread(x, hold(0))


def to_lanes(g, x: ndarray) -> ndarray:
    """(warps, 32, columns) → a register's (n, columns)."""
    return x.reshape(g.n, x.shape[2]) if ordered(g) else warps(g).back(x)


def _remembered(g) -> dict:
    got = g._cache.get("fragments")
    if got is None:
        got = g._cache["fragments"] = {}
    return got


def remember(g, registers: tuple, of: Layout, matrix: ndarray) -> None:
    known = _remembered(g)
    if len(known) >= REMEMBERED:
        del known[next(iter(known))]
    known[tuple(map(id, registers)), of] = (registers, matrix)  # the registers are kept too: their ids stay theirs


def elements(g, registers: tuple, of: Layout) -> ndarray:
    """The raw bits of a fragment's matrix, (warps, columns, rows · cols)."""
    hold = u64 if BITS[of.type] == 64 else u32
    parts = [by_warp(g, x, hold) for x in registers]
    shape = np.broadcast_shapes(*(p.shape for p in parts))
    packed = np.empty((len(warps(g).index), shape[2], 32, len(parts)), hold)
    for r, p in enumerate(parts):
        packed[..., r] = p.transpose(0, 2, 1)
    return unpacked(packed.reshape(*packed.shape[:2], -1), BITS[of.type]).take(of.source, axis=2)


def unpacked(words: ndarray, bits: int) -> ndarray:
    """Words as elements of so many bits along the last axis, the low ones first."""
    held: ndarray = words.view(HOLD[bits])
    if bits == 4:
        return np.stack([held & 15, held >> 4], axis=-1).reshape(*held.shape[:-1], -1)
    return np.unpackbits(held, axis=-1, bitorder="little") if bits == 1 else held


def packed(elements: ndarray, bits: int) -> ndarray:
    """The other way round: bytes, or the elements themselves where they are as wide."""
    if bits == 4:
        return elements[..., 0::2] | elements[..., 1::2] << 4
    return np.packbits(elements, axis=-1, bitorder="little") if bits == 1 else elements


def gather(g, registers: tuple, of: Layout) -> ndarray:
    """A fragment's matrix as numbers, (warps, columns, rows, cols)."""
    known = _remembered(g).get((tuple(map(id, registers)), of))
    if known is not None:
        return known[1]
    bits = elements(g, registers, of)
    matrix = decode(bits, of.type).reshape(*bits.shape[:2], of.rows, of.cols)
    remember(g, registers, of, matrix)
    return matrix


def scatter(g, bits: ndarray, of: Layout) -> tuple:
    """Raw bits of a matrix, (warps, columns, rows · cols), as registers."""
    hold = u64 if BITS[of.type] == 64 else u32
    dealt = packed(bits.take(of.place, axis=2), BITS[of.type]).view(hold)
    dealt = dealt.reshape(*dealt.shape[:2], 32, -1).transpose(3, 0, 2, 1)
    registers = np.ascontiguousarray(dealt)
    if of.type in ("f32", "f64"):
        registers = registers.view(f32 if of.type == "f32" else f64)
    return tuple(to_lanes(g, x) for x in registers)


@functools.cache
def _table(type: str) -> ndarray:
    """The value of every bit pattern of a small float type."""
    if type == "f16":
        return np.arange(1 << 16, dtype=u16).view(f16).astype(f64)
    if type == "e5m2":
        return (np.arange(256, dtype=u16) << u16(8)).view(f16).astype(f64)
    bits = np.arange(256)  # e4m3: bias 7, no infinities, one NaN a sign
    exponent, fraction = bits >> 3 & 15, bits & 7
    size = np.where(exponent > 0, np.ldexp(1 + fraction / 8, exponent - 7), np.ldexp(fraction / 8, -6))
    size[bits & 127 == 127] = np.nan
    return np.where(bits >> 7, -size, size)


def decode(bits: ndarray, type: str) -> ndarray:
    """Raw bits as numbers: float64 where they are to be multiplied, float32 or int64 for accumulators."""
    if type in ("f16", "e4m3", "e5m2"):
        return _table(type).take(bits)
    if type == "bf16":
        return (bits.astype(u32) << u32(16)).view(f32).astype(f64)
    if type == "tf32":  # the low 13 bits are not read
        return (bits & u32(0xFFFFE000)).view(f32).astype(f64)
    if type == "s8":
        return bits.view(i8).astype(f64)
    if type == "s4":
        return bits.astype(f64) - 16 * (bits >> 3)
    if type in ("u8", "u4", "b1"):
        return bits.astype(f64)
    if type == "s32":
        return bits.view(np.int32).astype(i64)
    return bits.view(f32 if type == "f32" else f64)
