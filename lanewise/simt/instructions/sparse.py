"""mma.sp: products whose A holds half of its elements, and says in metadata which (PTX ISA 9.7.14.6 "Sparse matrix storage").

A chunk of a row of A, 4 elements (8 of 4 bits, 2 of 32), keeps two halves of a quarter's width each; 4 bits of metadata say which quarters. A lane's
32-bit register of metadata serves two rows of 4 chunks (16-bit elements and tf32), or one row of 8 chunks (narrower ones).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..codegen import Emitter, vector
from ..ptx import Imm, Instruction
from ..values import f16, f32, f64, i64, ndarray, u32
from .fragments import BITS, HOLD, by_warp, gather, layout, register_of, remember, scatter
from .tensor import MIXED, Product, shape_of, types_of

_SHAPES = {
    **dict.fromkeys(("f16", "bf16"), {(16, 8, 16), (16, 8, 32)}),
    "tf32": {(16, 8, 8), (16, 8, 16)},
    **dict.fromkeys(("s8", "u8"), {(16, 8, 32), (16, 8, 64)}),
    **dict.fromkeys(("s4", "u4"), {(16, 8, 64), (16, 8, 128)}),
    **dict.fromkeys(("e4m3", "e5m2"), {(16, 8, 64)}),
}
_RESULT = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f32",), "e5m2": ("f32",)}
_CHUNK = {16: 4, 32: 2, 8: 4, 4: 8}  # bits of an element → elements of a chunk
QUARTERS = 4  # of a chunk


@dataclass(frozen=True, eq=False)
class SparseProduct:
    """D = A · B + C; `k` of B, which is twice A's. `selector`: which lanes of four hold the metadata."""

    product: Product
    k: int
    selector: int


def indices(g, p: SparseProduct, metadata) -> ndarray:
    """Which quarters the two halves of each chunk are: (warps, columns, 16 rows, chunks, 2)."""
    bits = by_warp(g, metadata, u32)
    bits = np.broadcast_to(bits, (bits.shape[0], 32, bits.shape[2])).transpose(0, 2, 1).reshape(bits.shape[0], bits.shape[2], 8, 4)
    element = BITS[p.product.a.type]
    chunks = p.k // _CHUNK[element]
    holders = chunks // 4  # lanes of four, each of which has 8 chunks
    held = bits[..., p.selector * holders : (p.selector + 1) * holders]
    codes = held[..., None] >> np.arange(0, 32, 4, dtype=u32) & u32(15)  # (warps, columns, 8, holders, 8 chunks)
    if element >= 16:  # four chunks of row r, then four of row r + 8; the next lane goes on along k
        codes = codes.reshape(*codes.shape[:3], holders, 2, 4).transpose(0, 1, 4, 2, 3, 5)
    else:  # eight chunks of row r; the next lane those of row r + 8
        codes = codes.reshape(*codes.shape[:3], holders // 2, 2, 8).transpose(0, 1, 4, 2, 3, 5)
    codes = codes.reshape(*codes.shape[:2], 16, chunks)
    return np.stack([codes & 3, codes >> 2], axis=-1).astype(i64)


def spread(kept: ndarray, which: ndarray, chunk: int) -> ndarray:
    """A with its zeros: (warps, columns, 16, k) of the kept elements (…, 16, k / 2)."""
    *lead, chunks, _ = which.shape
    shape = np.broadcast_shapes(tuple(lead), kept.shape[:3])
    width = max(chunk // QUARTERS, 1)  # elements of a quarter; of tf32, a quarter is half an element
    halves = kept.reshape(*kept.shape[:3], chunks, -1, width)
    out = np.zeros((*shape, chunks, chunk // width, width))
    if chunk == 2:  # the two quarters of one element: it is the one in which they lie
        place = which[..., :1] // 2
    else:
        place = which
    np.put_along_axis(out, np.broadcast_to(place[..., None], (*shape, *place.shape[-2:], width)), np.broadcast_to(halves, (*shape, *halves.shape[3:])), axis=-2)
    return out.reshape(*shape, -1)


def multiply_sparse(g, s: SparseProduct, a: tuple, b: tuple, c: tuple, metadata) -> tuple:
    """The registers of D."""
    p = s.product
    left = spread(gather(g, a, p.a), indices(g, s, metadata), _CHUNK[BITS[p.a.type]])
    product = left @ gather(g, b, p.b)
    addend = gather(g, c, p.c)
    if p.d.type == "s32":
        total = product.astype(i64) + addend
        result = (total.clip(-(1 << 31), (1 << 31) - 1) if p.saturate else total).astype(np.int32)
        value = result.astype(i64)
    else:
        result = (product + addend).astype(f16 if p.d.type == "f16" else f32)
        value = result.astype(f64) if p.d.type == "f16" else result
    registers = scatter(g, result.view(HOLD[BITS[p.d.type]]).reshape(*result.shape[:2], -1), p.d)
    remember(g, registers, p.d, value)
    return registers


def emit_sparse(e: Emitter, i: Instruction) -> None:
    """mma.sp{::ordered_metadata} d, a, b, c, metadata, selector."""
    d_type, a_type, b_type, c_type = types_of(e, i)
    m, n, k = shape_of(i)
    allowed = _RESULT.get(a_type, ("s32",))
    if (m, n, k) not in _SHAPES.get(a_type, ()) or d_type not in allowed or c_type != d_type or a_type != b_type and {a_type, b_type} not in MIXED:
        raise e.unsupported("this shape with these element types")
    d, a, b, c, (metadata,) = map(vector, i.operands[:5])
    chosen = i.operands[5]
    lanes = k // _CHUNK[BITS[a_type]] // 4
    if not isinstance(chosen, Imm) or not 0 <= chosen.value < 4 // lanes:
        raise e.unsupported(f"its sparsity selector must be a constant from 0 to {4 // lanes - 1}")
    per = {t: max(32 // BITS[t], 1) for t in (a_type, b_type, d_type)}
    of_c = layout("c", m, n, d_type, len(c) * per[d_type])
    product = Product(
        layout("a", m, k // 2, a_type, len(a) * per[a_type]), layout("b", k, n, b_type, len(b) * per[b_type]), of_c, of_c, "satfinite" in i.modifiers
    )
    parts = [",".join(e.use(x, register_of(t)) for x in registers) for registers, t in ((a, a_type), (b, b_type), (c, c_type))]
    t = e.temporary()
    sparse = e.constant(SparseProduct(product, k, chosen.value))
    e.line(f"{t}=MMASPARSE(g,{sparse},({parts[0]},),({parts[1]},),({parts[2]},),{e.use(metadata, 'b32')})")
    for j, register in enumerate(d):
        e.define(register, register_of(d_type), f"{t}[{j}]")


EMIT = {"mma": emit_sparse}
NAMES = {"MMASPARSE": multiply_sparse}
