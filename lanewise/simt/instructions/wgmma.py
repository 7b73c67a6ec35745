"""wgmma: the four warps of a warpgroup multiply matrices that lie in shared memory (PTX ISA 9.7.15 "Asynchronous Warpgroup Level Matrix Multiply").

Each warp computes its 16 rows of the result when it issues the instruction; that nobody looks before the wait, or changes the matrices, is for
`checks.wgmma` to say. A product is a float32 matmul: products of the element types are exact in float32, the order of the sum is left open by the ISA.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np

from ..checks import wgmma as checks
from ..checks.wgmma_registers import Use
from ..codegen import Emitter, vector
from ..ptx import Imm, Instruction
from ..values import f16, f32, i8, i64, ndarray, u8, u16, u32, u64
from . import fragments, wgmma_state
from .fragments import Layout, by_warp, elements, gather, layout, remember, scatter
from .warp import warps
from .wgmma_layout import Descriptor, read_descriptor, words

_SHAPE = re.compile(r"m64n(\d+)k(\d+)")
_DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
_RESULT = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32"),
           "s8": ("s32",), "u8": ("s32",), "b1": ("s32",)}  # fmt: skip
_MIXED = ({"e4m3", "e5m2"}, {"s8", "u8"})  # types that A and B may have differently
_REGISTERS = 4  # of A, a lane


@dataclass(frozen=True, eq=False)
class Product:
    """One wgmma.mma_async: D = A · B + D, A 64 × k (16 rows a warp), B k × n."""

    n: int
    k: int
    a_type: str
    b_type: str
    d: Layout
    in_registers: bool  # A
    a_deep: int  # k where A (B) is MN-major, else 0
    b_deep: int
    sign: int
    saturate: bool
    unset: bool  # accumulators that nothing has written
    unfenced: bool  # others used its registers since the last wgmma.fence, on some path


# ------------------------------------------------------------------------------------------------ elements


@functools.cache
def _table(type: str) -> ndarray:
    return fragments._table(type).astype(f32)


def decode(raw: ndarray, type: str) -> ndarray:
    """Words (…, words of a line) as numbers (…, elements of a line), float32."""
    if type == "f16":
        return _table(type).take(raw.view(u16))
    if type == "bf16":
        return (raw.view(u16).astype(u32) << u32(16)).view(f32)
    if type == "tf32":  # the low 13 bits are not read
        return (raw & u32(0xFFFFE000)).view(f32)
    if type in ("e4m3", "e5m2"):
        return _table(type).take(raw.view(u8))
    if type == "b1":
        return np.unpackbits(raw.view(u8), axis=-1, bitorder="little").astype(f32)
    return raw.view(i8 if type == "s8" else u8).astype(f32)


def _tile(g, d: Descriptor, across: int, deep: int, type: str, columns: ndarray | None) -> ndarray:
    """A matrix of shared memory, (blocks, across, k); `columns`: of these blocks, None: of all."""
    memory = g.batch.shared.words
    index = words(d, across, deep)
    lines = deep or across
    if columns is None:
        raw = memory.take(index, axis=0, mode="clip")
    else:
        raw = memory[np.minimum(index, len(memory) - 1)[:, None], columns]
    raw = np.ascontiguousarray(raw.T).reshape(raw.shape[1], lines, -1)
    numbers = decode(raw, type)
    return numbers.swapaxes(1, 2) if deep else numbers


@functools.cache
def _words_of_a() -> Layout:
    """Fragment of A as 32-bit words: for every type 16 rows of 8 words."""
    return layout("a", 16, 8, "tf32", _REGISTERS)


def _rows(g, registers: tuple, type: str) -> ndarray:
    """A in registers as numbers, (warps, columns, 16, k)."""
    bits = elements(g, registers, _words_of_a())
    return decode(np.ascontiguousarray(bits).reshape(*bits.shape[:2], 16, 8), type)


# ------------------------------------------------------------------------------------------------ the product


def of_warps(g, site: int, x) -> ndarray:
    """A descriptor, which must be the same in all lanes: (warps, columns or 1)."""
    lanes = by_warp(g, x, u64)
    bits = lanes[:, 0]
    by_group = bits.reshape(-1, 4, bits.shape[1]) if len(bits) % 4 == 0 else bits
    if (lanes.shape[1] > 1 and (lanes != lanes[:, :1]).any()) or (by_group != by_group[:, :1]).any() and len(bits) % 4 == 0:
        checks.differ(g, site)
    return np.broadcast_to(bits, (len(warps(g).index), bits.shape[1]))


def warp_numbers(g) -> ndarray:
    """Each warp's number in its block."""
    got = g._cache.get("warp_numbers")
    if got is None:
        w = warps(g)
        got = g._cache["warp_numbers"] = g.rows[w.index.max(axis=1)] >> 5
    return got


def _blocks(g) -> ndarray | None:
    """Column of each warp's block; None for a regular group, whose warps are in all."""
    return None if g.cols is None else g.cols[warps(g).index.max(axis=1)]


def _product(g, p: Product, a, where_a: ndarray | None, where_b: ndarray) -> ndarray:
    """A · B of every warp, (warps, columns, 16, n). A comes from registers where `where_a` is None."""
    count = len(warps(g).index)
    held = _rows(g, a, p.a_type) if where_a is None else None
    if where_a is None:
        where_a = np.zeros((count, 1), u64)
    within = (warp_numbers(g) & 3)[:, None] * 16 + np.arange(16)  # rows of A in its tile
    blocks = _blocks(g)
    if blocks is None and where_a.shape[1] == where_b.shape[1] == 1:
        out = np.empty((count, g.batch.B, 16, p.n), f32)
        pairs = np.concatenate([where_a, where_b], axis=1)
        for pair in np.unique(pairs, axis=0):
            chosen = np.flatnonzero((pairs == pair).all(axis=1))
            right = _tile(g, read_descriptor(int(pair[1])), p.n, p.b_deep, p.b_type, None).swapaxes(1, 2)
            if held is None:
                left = _tile(g, read_descriptor(int(pair[0])), 64, p.a_deep, p.a_type, None)[:, within[chosen].ravel()]
            else:
                left = held[chosen].transpose(1, 0, 2, 3).reshape(held.shape[1], -1, held.shape[3])
            made = left @ right
            out[chosen] = made.reshape(made.shape[0], len(chosen), 16, p.n).transpose(1, 0, 2, 3)
        return out
    columns = g.batch.B if blocks is None else 1
    warp, column = (x.ravel() for x in np.indices((count, columns)))
    if blocks is not None:
        column = blocks
    where_a, where_b = (np.broadcast_to(x, (count, columns)).ravel() for x in (where_a, where_b))
    out = np.empty((count * columns, 16, p.n), f32)
    for pair in np.unique(np.stack([where_a, where_b], axis=1), axis=0):
        chosen = np.flatnonzero((where_a == pair[0]) & (where_b == pair[1]))
        right = _tile(g, read_descriptor(int(pair[1])), p.n, p.b_deep, p.b_type, column[chosen]).swapaxes(1, 2)
        if held is None:
            tile = _tile(g, read_descriptor(int(pair[0])), 64, p.a_deep, p.a_type, column[chosen])
            left = np.take_along_axis(tile, within[warp[chosen]][:, :, None], axis=1)
        else:
            left = np.broadcast_to(held, (count, columns, *held.shape[2:])).reshape(-1, *held.shape[2:])[chosen]
        out[chosen] = left @ right
    return out.reshape(count, columns, 16, p.n)


def multiply(g, p: Product, a_site: int, b_site: int, d: tuple, a, b, add) -> tuple:
    """The registers of D. `add`: whether D counts, else it is overwritten."""
    where_a, where_b = None if p.in_registers else of_warps(g, a_site, a), of_warps(g, b_site, b)
    wgmma_state.state(g.batch).issue(g, p, a_site, b_site, where_a, where_b)
    if p.unset and add is not False and g.batch.machine.check:
        checks.unset_accumulators(g, b_site, add)
    total = _product(g, p, a, where_a, where_b)
    if p.sign < 0:
        total = -total
    if add is not False:
        old = gather(g, tuple(0 if x is None else x for x in d), p.d)
        if p.d.type == "s32":
            total = total.astype(i64)
        if add is not True:  # the same in all lanes of a warp
            add = by_warp(g, add.astype(u32), u32)[:, 0, :, None, None] != 0
            old = np.where(add, old, old.dtype.type(0))
        total = total + old
    return _deal(g, p, total)


def _deal(g, p: Product, total: ndarray) -> tuple:
    value = total
    if p.d.type == "s32":
        whole = total.astype(i64)
        if p.saturate:
            whole = whole.clip(-(1 << 31), (1 << 31) - 1)
        bits = whole.astype(np.int32)  # wraps
        value, bits = bits.astype(i64), bits.view(u32)
    elif p.d.type == "f16":
        half = total.astype(f16)
        value, bits = half.astype(f32), half.view(u16)
    else:
        value = total.astype(f32, copy=False)
        bits = value.view(u32)
    registers = scatter(g, bits.reshape(*bits.shape[:2], -1), p.d)
    remember(g, registers, p.d, value)  # the next product of the chain adds to this one
    return registers


# ------------------------------------------------------------------------------------------------ emission


def shape_of(i: Instruction) -> tuple[int, int]:
    """(n, k) of a product, (0, 0) for the other instructions of the family."""
    found = next((m for m in map(_SHAPE.fullmatch, i.modifiers) if m), None)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def flops(i: Instruction) -> int:
    """Operations of one warp: a quarter of the warpgroup's."""
    n, k = shape_of(i)
    return 2 * 16 * n * k


def wavefronts(i: Instruction) -> int:
    """Of one instruction, which takes 32 bytes of every row of B, and of the 64 of A unless they lie in registers: 128 bytes each."""
    n, _ = shape_of(i)
    return (0 if len(vector(i.operands[1])) == _REGISTERS else 16) + n // 4


def _columns_allowed(n: int, whole: bool) -> bool:
    return 8 <= n <= 256 and n % (16 if whole and n > 32 else 8) == 0


def _product_of(e: Emitter, i: Instruction) -> Product:
    types = [m for m in i.modifiers if m in _DEPTH or m in ("f32", "s32")]
    n, k = shape_of(i)
    if len(types) != 3 or types[1] not in _DEPTH or "sp" in i.modifiers:
        raise e.unsupported("these element types, or a sparse A")
    d, a, b = types
    if a != b and {a, b} not in _MIXED or d not in _RESULT[a] or k != _DEPTH[a] or not _columns_allowed(n, d == "s32"):
        raise e.unsupported("this shape with these element types")
    in_registers = len(vector(i.operands[1])) == _REGISTERS
    registers = e.code.products_registers
    given = [x.value for x in i.operands[4:] if isinstance(x, Imm)]
    signs, turns = (given[:2], given[2:]) if d != "s32" else ([], [])
    turns = [0] * (2 - len(turns)) + turns
    one = 1
    for s in signs:
        one *= -1 if s == -1 else 1
    per = 2 if d == "f16" else 1
    accumulators = vector(i.operands[0])
    if len(accumulators) * per != n // 2:
        raise e.unsupported("another number of accumulators")
    return Product(n, k, a, b, layout("c", 16, n, d, n // 2), in_registers, k * (turns[0] != 0), k * (turns[1] != 0), one, "satfinite" in i.modifiers,
                   registers is not None and e.index in registers.unset, registers is not None and e.index in registers.unfenced)  # fmt: skip


def emit_wgmma(e: Emitter, i: Instruction) -> None:
    if i.predicate is not None:
        raise e.unsupported("under a predicate")
    what = i.modifiers[0]
    if what == "fence":
        e.line("WGFENCE(g)")
    elif what == "commit_group":
        e.line("WGCOMMIT(g)")
    elif what == "wait_group":
        e.line(f"WGWAIT(g,{e.use(i.operands[0], 'u32')})")
    elif what == "mma_async":
        _emit_product(e, i)
    else:
        raise e.unsupported()


def _emit_product(e: Emitter, i: Instruction) -> None:
    p = _product_of(e, i)
    held = "f32" if p.d.type == "f32" else "b32"
    d = vector(i.operands[0])
    a = f"({','.join(e.use(x, 'b32') for x in vector(i.operands[1]))},)" if p.in_registers else e.use(i.operands[1], "u64")
    b, add = e.use(i.operands[2], "u64"), e.use(i.operands[3], "pred")
    old = ",".join(e.use(x, held) for x in d)
    t = e.temporary()
    e.line(f"{t}=WGMMA(g,{e.constant(p)},{e.site('wgmma.a')},{e.site('wgmma.b', 1)},({old},),{a},{b},{add})")
    for j, register in enumerate(d):
        e.define(register, held, f"{t}[{j}]")


def emit_use(e: Emitter, i: Instruction, use: Use) -> None:
    """The line in front of an instruction that may use accumulators, or change registers of A, too early."""
    sites = tuple(e.code.program.add_site(e.code, k, "wgmma.b", 1) for k in sorted(use.products))
    lists = [[getattr(x, "name", "") for x in vector(e.code.graph.body[k].operands[use.changes])] for k in sorted(use.products)]
    number = next((names.index(use.register) for names in lists if use.register in names), None)
    p = e.use(i.predicate, "pred") if i.predicate is not None else "True"
    e.line(f"WGUSE(g,{sites!r},{number},{i.line},{use.adds},{p},{use.changes})")


EMIT = {"wgmma": emit_wgmma}
NAMES = {"WGMMA": multiply, "WGFENCE": wgmma_state.fence, "WGCOMMIT": wgmma_state.commit, "WGWAIT": wgmma_state.wait,
         "WGUSE": wgmma_state.use}  # fmt: skip
