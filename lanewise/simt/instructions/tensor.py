"""Tensor cores: mma.sync and wmma (PTX ISA 9.7.14 "Warp Level Matrix Multiply-Accumulate Instructions").

The product is a float64 matmul, rounded once: the ISA leaves order and rounding of the sum open, and tensor cores differ from one generation to the
next. Integer products are exact, and so are the sums.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import global_access, shared_access
from ..arithmetic import add32, add64
from ..codegen import Emitter, vector, width_of
from ..ptx import Address, Instruction, Reg
from ..shapes import take_rows
from ..values import f16, f32, f64, full, i64, ndarray, u16, u32, u64
from . import matrix, quads
from .fragments import BITS, HOLD, LANE, Layout, by_warp, elements, gather, layout, register_of, remember, scatter, to_lanes, unpacked
from .memory import address_text, space_of
from .warp import warps

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")

# ------------------------------------------------------------------------------------------------ products


@dataclass(frozen=True, eq=False)
class Product:
    """D = A · B + C of one instruction."""

    a: Layout
    b: Layout
    c: Layout
    d: Layout
    saturate: bool
    differ: bool = False  # of single bits: count those that differ (.xor), not those that are both set (.and)


def multiply(g, p: Product, a: tuple, b: tuple, c: tuple) -> tuple:
    """The registers of D."""
    left, right = gather(g, a, p.a), gather(g, b, p.b)
    product = left @ right
    if p.differ:
        product = left.sum(axis=3)[..., None] + right.sum(axis=2)[..., None, :] - 2 * product
    addend = gather(g, c, p.c)
    if p.d.type == "s32":
        total = product.astype(i64) + addend
        if p.saturate:
            total = total.clip(-(1 << 31), (1 << 31) - 1)
        result = total.astype(np.int32)  # wraps
        value, bits = result.astype(i64), result.view(u32)
    else:
        result = (product + addend).astype({"f16": f16, "f32": f32, "f64": f64}[p.d.type])
        value, bits = (result.astype(f64), result.view(u16)) if p.d.type == "f16" else (result, result.view(HOLD[BITS[p.d.type]]))
    registers = scatter(g, bits.reshape(*bits.shape[:2], -1), p.d)
    if p.d.type == p.c.type:
        remember(g, registers, p.d, value)  # the next product adds to this one
    return registers


def shape_of(i: Instruction) -> tuple[int, int, int]:
    found = next((m for m in map(_SHAPE.fullmatch, i.modifiers) if m), None)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def flops(i: Instruction) -> int:
    """Operations of one warp: a multiply and an add for each element of A · B."""
    if i.opcode == "wmma" and i.modifiers[0] != "mma":
        return 0
    m, n, k = shape_of(i)
    products = quads.PRODUCTS if (m, n, k) == (8, 8, 4) and i.opcode == "mma" and "f64" not in i.modifiers else 1
    return 2 * m * n * k * products


_MMA = {  # element types of A and B → shapes
    **dict.fromkeys(("f16", "bf16"), {(16, 8, 8), (16, 8, 16)}),
    "tf32": {(16, 8, 4), (16, 8, 8)},
    **dict.fromkeys(("e4m3", "e5m2"), {(16, 8, 16), (16, 8, 32)}),
    **dict.fromkeys(("s8", "u8"), {(8, 8, 16), (16, 8, 16), (16, 8, 32)}),
    **dict.fromkeys(("s4", "u4"), {(8, 8, 32), (16, 8, 32), (16, 8, 64)}),
    "b1": {(8, 8, 128), (16, 8, 128), (16, 8, 256)},
    "f64": {(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)},
}
_WMMA = {
    **dict.fromkeys(("f16", "bf16", "s8", "u8"), {(16, 16, 16), (32, 8, 16), (8, 32, 16)}),
    **dict.fromkeys(("s4", "u4"), {(8, 8, 32)}),
    "b1": {(8, 8, 128)},
    "tf32": {(16, 16, 8)},
    "f64": {(8, 8, 4)},
}
_RESULT = {
    **dict.fromkeys(("f16", "e4m3", "e5m2"), {"f16", "f32"}),
    **dict.fromkeys(("bf16", "tf32"), {"f32"}),
    **dict.fromkeys(("s8", "u8", "s4", "u4", "b1"), {"s32"}),
    "f64": {"f64"},
}
MIXED = ({"s8", "u8"}, {"s4", "u4"}, {"e4m3", "e5m2"})  # types that A and B may have differently


def types_of(e: Emitter, i: Instruction) -> tuple[str, str, str, str]:
    """Types of D, A, B and C."""
    types = [t for t in i.modifiers if t in BITS]
    if i.opcode == "wmma" and len(types) == 2:  # d and c; A and B are f16
        types = [types[0], "f16", "f16", types[1]]
    if len(types) != 4:
        raise e.unsupported("these element types")
    return tuple(types)  # type: ignore[return-value]


def _count(registers: tuple, type: str) -> int:
    """Elements a lane holds in these registers."""
    return len(registers) * max(32 // BITS[type], 1)


def emit_mma(e: Emitter, i: Instruction) -> None:
    if any(m.startswith(("kind::", "block_scale")) for m in i.modifiers):
        raise e.unsupported("scaled products need sm_120")
    d_type, a_type, b_type, c_type = types_of(e, i)
    m, n, k = shape_of(i)
    d, a, b, c = map(vector, i.operands[:4])
    if i.opcode == "mma" and (m, n, k, a_type, b_type) == (8, 8, 4, "f16", "f16"):
        quads.emit_quads(e, i, d_type, c_type)
        return
    shapes = (_MMA if i.opcode == "mma" else _WMMA).get(a_type, set())
    if (m, n, k) not in shapes or d_type not in _RESULT[a_type] or c_type not in _RESULT[a_type] or a_type != b_type and {a_type, b_type} not in MIXED:
        raise e.unsupported("this shape with these element types")
    if i.opcode == "mma" and d_type != c_type:
        raise e.unsupported("C of another type than D")
    if i.opcode == "mma" and not {"row", "col"} <= set(i.modifiers):
        raise e.unsupported("A in columns or B in rows")
    product = Product(
        layout("a", m, k, a_type, _count(a, a_type)), layout("b", k, n, b_type, _count(b, b_type)),
        layout("c", m, n, c_type, _count(c, c_type)), layout("c", m, n, d_type, _count(d, d_type)), "satfinite" in i.modifiers,
        "xor" in i.modifiers,
    )  # fmt: skip
    parts = [",".join(e.use(x, register_of(t)) for x in registers) for registers, t in ((a, a_type), (b, b_type), (c, c_type))]
    t = e.temporary()
    e.line(f"{t}=MMA(g,{e.constant(product)},({parts[0]},),({parts[1]},),({parts[2]},))")
    for j, register in enumerate(d):
        e.define(register, register_of(d_type), f"{t}[{j}]")


# ------------------------------------------------------------------------------------------------ wmma.load and wmma.store

_LOAD: dict[str, Callable] = {"global": global_access.load_global, "shared": shared_access.load_shared, "generic": global_access.load_generic}
_STORE: dict[str, Callable] = {"global": global_access.store_global, "shared": shared_access.store_shared, "generic": global_access.store_generic}


@dataclass(frozen=True, eq=False)
class Move:
    """How a warp goes over a matrix in memory: access t of lane l takes `run` elements at (major[t, l], minor[t, l]) of the lines in memory."""

    of: Layout
    columns: bool  # lines in memory are the matrix's columns
    run: int
    major: ndarray
    minor: ndarray


@functools.cache
def _move(of: Layout, columns: bool, use: str, matrices: bool) -> Move:
    """As ptxas makes it, read off the machine code of every shape: lane l takes line l div 4 of a tile where lines in memory are the fragment's, else
    single elements of several lines. `matrices`: with ldmatrix, a row of 16 bytes for each of 8 lanes.
    """
    bits = BITS[of.type]
    lines, length = (of.cols, of.rows) if columns else (of.rows, of.cols)
    run = 2 if use == "c" else max(32 // bits, 1)
    if _straight(of, columns, use):
        run, lanes, runs = (128 // bits, LANE[:8], 1) if matrices else (run, LANE, 4)
        step, bands = np.arange(lines * length // run // len(lanes))[:, None], lines // 8
        return Move(of, columns, run, 8 * (step % bands) + lanes // runs, run * (runs * (step // bands) + lanes % runs))
    step, bands = np.arange(lines * length // 32)[:, None], length // 8
    step, element = step // run, step % run
    return Move(of, columns, 1, run * (4 * (step // bands) + LANE % 4) + element, 8 * (step % bands) + LANE // 4)


def _straight(of: Layout, columns: bool, use: str) -> bool:
    """Do the runs of a register lie in one line? Two elements of 16 bits are loaded together in any case, and exchanged."""
    turned = use == "b" if use != "c" else of.cols == 4 * of.rows  # the accumulator of m8n32 is dealt out as that of n32m8
    return columns == turned or BITS[of.type] == 16


def _addresses(g, move: Move, address, stride, wide: bool):
    """Where each access of a lane starts."""
    stride, bits = full(stride), BITS[move.of.type]
    lane = g.lanes[:, 0]
    for major, minor in zip(move.major, move.minor, strict=True):
        if stride.__class__ is int:
            offset = (major[lane] * stride + minor[lane])[:, None] * bits >> 3
        else:
            offset = (major[lane][:, None] * stride.astype(i64) + minor[lane][:, None]) * bits >> 3
        yield add64(address, offset.astype(u64)) if wide else add32(address, offset.astype(u32))


def _positions(move: Move) -> ndarray:
    """Position in the matrix of element e of access t of lane l: (accesses, 32, run)."""
    minor = move.minor[:, :, None] + np.arange(move.run)
    major = move.major[:, :, None]
    return minor * move.of.cols + major if move.columns else major * move.of.cols + minor


def _unit(move: Move) -> tuple[type, int]:
    """What a lane loads or stores at a time: words of several small elements, or `run` elements of 4 or 8 bytes; a byte of a turned matrix."""
    bits = BITS[move.of.type]
    return (u32, move.run * bits // 32) if 32 > bits != move.run * bits else (HOLD[bits], move.run)


def load_fragment(g, iid: int, space: str, move: Move, address, stride, wide: bool) -> tuple:
    """The registers of a fragment loaded from memory."""
    bits, lanes = BITS[move.of.type], move.major.shape[1]
    unit, count = _unit(move)
    who = g
    if lanes < 32:
        who, index = matrix.suppliers(g, lanes)
        if who is not g:
            address, stride = take_rows(address, index), take_rows(stride, index)
    loaded = []
    for where in _addresses(who, move, address, stride, wide):
        size = np.dtype(unit).itemsize
        got = shared_access.load_shared(who, iid, where, unit, size, count, rows=True) if lanes < 32 else _LOAD[space](g, iid, where, unit, size, count)
        loaded.append([by_warp(who, x, unit)[:, :lanes] for x in (got if count > 1 else (got,))])
    columns = max(x.shape[2] for words in loaded for x in words)
    whole = np.empty((len(warps(g).index), columns, move.of.rows * move.of.cols), HOLD[bits])
    packed = np.empty((*whole.shape[:2], lanes, count), unit)
    for place, words in zip(_positions(move), loaded, strict=True):
        for r, x in enumerate(words):
            packed[..., r] = x.transpose(0, 2, 1)
        whole[:, :, place.ravel()] = unpacked(packed.reshape(*packed.shape[:2], -1), bits)
    return scatter(g, whole, move.of)


def store_fragment(g, iid: int, space: str, move: Move, address, stride, wide: bool, registers: tuple) -> None:
    unit, _ = _unit(move)
    matrix = elements(g, registers, move.of)
    for place, where in zip(_positions(move), _addresses(g, move, address, stride, wide), strict=True):
        run: ndarray = np.ascontiguousarray(matrix[:, :, place.ravel()]).view(unit)
        words = run.reshape(*run.shape[:2], 32, -1).transpose(3, 0, 2, 1)
        _STORE[space](g, iid, where, tuple(to_lanes(g, np.ascontiguousarray(x)) for x in words), unit, np.dtype(unit).itemsize)


def emit_wmma(e: Emitter, i: Instruction) -> None:
    what = i.modifiers[0]
    if what == "mma":
        emit_mma(e, i)
        return
    m, n, k = shape_of(i)
    use, type = i.modifiers[1], i.modifiers[-1]
    if type not in BITS or (m, n, k) not in set().union(*_WMMA.values()):
        raise e.unsupported("this shape with this element type")
    rows, cols = {"a": (m, k), "b": (k, n)}.get(use, (m, n))
    use = use if use in ("a", "b") else "c"
    address: Address = i.operands[what == "load"]  # type: ignore[assignment]
    registers = vector(i.operands[what != "load"])
    columns = "col" in i.modifiers
    of, space = layout(use, rows, cols, type, _count(registers, type)), space_of(i)
    matrices = space == "shared" and use != "c" and BITS[type] < 32 and _straight(of, columns, use)
    move = _move(of, columns, use, matrices)
    stride = e.use(i.operands[2], "u32") if len(i.operands) > 2 else str(rows if columns else cols)
    wide = not isinstance(address.base, Reg) or width_of(address.base.type) == 64
    iid = e.site(f"{'ldmatrix' if matrices else 'ld' if what == 'load' else 'st'}.{space}")
    start = f"g,{iid},{space!r},{e.constant(move)},{address_text(e, address)},{stride},{wide}"
    if what == "store":
        held = ",".join(e.use(x, register_of(type)) for x in registers)
        e.line(f"FRAGST({start},({held},))")
        return
    t = e.temporary()
    e.line(f"{t}=FRAGLD({start})")
    for j, register in enumerate(registers):
        e.define(register, register_of(type), f"{t}[{j}]")


EMIT = {"mma": emit_mma, "wmma": emit_wmma, **matrix.EMIT}
NAMES = {"MMA": multiply, "MMAQUADS": quads.multiply_quads, "FRAGLD": load_fragment, "FRAGST": store_fragment, **matrix.NAMES}
