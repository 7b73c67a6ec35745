"""Tensor cores: mma.sync, wmma, and the matrix moves ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14 "Warp Level Matrix Multiply-Accumulate").

A fragment is a matrix dealt out to the 32 lanes of a warp. `Layout` says which element each lane holds where; one pair of functions, `gather` and
`scatter`, goes between registers and matrices for every shape. The product is a float64 matmul, rounded once: the ISA leaves order and rounding of
the sum open, and tensor cores differ from one generation to the next.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np

from .. import access
from ..codegen import Emitter, vector, width_of
from ..group import Group, take_rows
from ..memory import RANGE, SHARED_WINDOW
from ..ptx import Instruction, Reg
from ..values import add32, add64, f16, f32, f64, full, i8, i64, ndarray, u8, u16, u32, u64
from .memory import address_text, define_where, space_of
from .warp import warps

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "s32": 32}
_HOLD = {8: u8, 16: u16, 32: u32, 64: u64}
LANE = np.arange(32)
REMEMBERED = 48  # fragments whose matrices a group keeps: an accumulator is asked for again at once, an operand a few times

# ------------------------------------------------------------------------------------------------ layouts


@dataclass(frozen=True, eq=False)
class Layout:
    """A rows × cols matrix in registers. Elements are numbered lane by lane, in a lane by register, in a register from the low bits up."""

    rows: int
    cols: int
    type: str
    place: ndarray  # element → its position in the matrix, row · cols + col
    source: ndarray  # position in the matrix → (the first) element that holds it

    @property
    def per_lane(self) -> int:
        return len(self.place) // 32


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


def _ordered(g) -> bool:
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
    return x.reshape(-1, 32, x.shape[1]) if _ordered(g) else warps(g).spread(x, hold(0))


def to_lanes(g, x: ndarray) -> ndarray:
    """(warps, 32, columns) → a register's (n, columns)."""
    return x.reshape(g.n, x.shape[2]) if _ordered(g) else warps(g).back(x)


def _remembered(g) -> dict:
    got = g._cache.get("fragments")
    if got is None:
        got = g._cache["fragments"] = {}
    return got


def _remember(g, registers: tuple, of: Layout, matrix: ndarray) -> None:
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
    return packed.reshape(*packed.shape[:2], -1).view(_HOLD[BITS[of.type]]).take(of.source, axis=2)


def gather(g, registers: tuple, of: Layout) -> ndarray:
    """A fragment's matrix as numbers, (warps, columns, rows, cols)."""
    known = _remembered(g).get((tuple(map(id, registers)), of))
    if known is not None:
        return known[1]
    matrix = decode(elements(g, registers, of), of.type).reshape(-1, full_columns(g, registers), of.rows, of.cols)
    _remember(g, registers, of, matrix)
    return matrix


def full_columns(g, registers: tuple) -> int:
    return max(x.shape[1] if x.__class__ is ndarray else full(x).shape[1] if hasattr(x, "t") else 1 for x in registers)


def scatter(g, bits: ndarray, of: Layout) -> tuple:
    """Raw bits of a matrix, (warps, columns, rows · cols), as registers."""
    hold = u64 if BITS[of.type] == 64 else u32
    dealt = bits.take(of.place, axis=2).view(hold)
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
    if type == "u8":
        return bits.astype(f64)
    if type == "s32":
        return bits.view(np.int32).astype(i64)
    return bits.view(f32 if type == "f32" else f64)


# ------------------------------------------------------------------------------------------------ products


@dataclass(frozen=True, eq=False)
class Product:
    """D = A · B + C of one instruction."""

    a: Layout
    b: Layout
    c: Layout
    d: Layout
    saturate: bool


def multiply(g, p: Product, a: tuple, b: tuple, c: tuple) -> tuple:
    """The registers of D."""
    product = gather(g, a, p.a) @ gather(g, b, p.b)
    addend = gather(g, c, p.c)
    if p.d.type == "s32":
        total = product.astype(i64) + addend
        if p.saturate:
            total = total.clip(-(1 << 31), (1 << 31) - 1)
        result = total.astype(np.int32)  # wraps
        value, bits = result.astype(i64), result.view(u32)
    else:
        result = (product + addend).astype({"f16": f16, "f32": f32, "f64": f64}[p.d.type])
        value, bits = (result.astype(f64), result.view(u16)) if p.d.type == "f16" else (result, result.view(_HOLD[BITS[p.d.type]]))
    registers = scatter(g, bits.reshape(*bits.shape[:2], -1), p.d)
    if p.d.type == p.c.type:
        _remember(g, registers, p.d, value)  # the next product adds to this one
    return registers


def shape_of(i: Instruction) -> tuple[int, int, int]:
    found = next((m for m in map(_SHAPE.fullmatch, i.modifiers) if m), None)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def flops(i: Instruction) -> int:
    """Operations of one warp: a multiply and an add for each element of A · B."""
    if i.opcode == "wmma" and i.modifiers[0] != "mma":
        return 0
    m, n, k = shape_of(i)
    return 2 * m * n * k


_SMALL = {"f16", "bf16", "tf32", "e4m3", "e5m2"}
_MMA = {  # element types of A and B → shapes
    **dict.fromkeys(("f16", "bf16"), {(16, 8, 8), (16, 8, 16)}),
    "tf32": {(16, 8, 4), (16, 8, 8)},
    **dict.fromkeys(("e4m3", "e5m2"), {(16, 8, 16), (16, 8, 32)}),
    **dict.fromkeys(("s8", "u8"), {(8, 8, 16), (16, 8, 16), (16, 8, 32)}),
    "f64": {(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)},
}
_WMMA = {
    **dict.fromkeys(("f16", "bf16", "s8", "u8"), {(16, 16, 16), (32, 8, 16), (8, 32, 16)}),
    "tf32": {(16, 16, 8)},
    "f64": {(8, 8, 4)},
}
_RESULT = {"f16": {"f16", "f32"}, "bf16": {"f32"}, "tf32": {"f32"}, "e4m3": {"f16", "f32"}, "e5m2": {"f16", "f32"}, "s8": {"s32"}, "u8": {"s32"}, "f64": {"f64"}}


def _types(e: Emitter, i: Instruction) -> tuple[str, str, str, str]:
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
    if "sp" in i.modifiers or any(m.startswith(("sp::", "kind::", "block_scale")) for m in i.modifiers):
        raise e.unsupported("sparse and scaled products")
    d_type, a_type, b_type, c_type = _types(e, i)
    m, n, k = shape_of(i)
    shapes = (_MMA if i.opcode == "mma" else _WMMA).get(a_type, set())
    if (m, n, k) not in shapes or d_type not in _RESULT[a_type] or c_type not in _RESULT[a_type]:
        raise e.unsupported("this shape with these element types")
    if i.opcode == "mma" and not {"row", "col"} <= set(i.modifiers):
        raise e.unsupported("A in columns or B in rows")
    d, a, b, c = map(vector, i.operands[:4])
    product = Product(
        layout("a", m, k, a_type, _count(a, a_type)), layout("b", k, n, b_type, _count(b, b_type)),
        layout("c", m, n, c_type, _count(c, c_type)), layout("c", m, n, d_type, _count(d, d_type)), "satfinite" in i.modifiers,
    )  # fmt: skip
    parts = [",".join(e.use(x, _register(t)) for x in registers) for registers, t in ((a, a_type), (b, b_type), (c, c_type))]
    t = e.temporary()
    e.line(f"{t}=MMA(g,{e.constant(product)},({parts[0]},),({parts[1]},),({parts[2]},))")
    for j, register in enumerate(d):
        e.define(register, _register(d_type), f"{t}[{j}]")


def _register(type: str) -> str:
    """How a fragment's registers of this element type are held."""
    return type if type in ("f32", "f64") else "b32"


# ------------------------------------------------------------------------------------------------ wmma.load and wmma.store

_LOAD = {"global": access.load_global, "shared": access.load_shared, "generic": access.load_generic}
_STORE = {"global": access.store_global, "shared": access.store_shared, "generic": access.store_generic}


@dataclass(frozen=True, eq=False)
class Move:
    """How a warp goes over a matrix in memory: access t of lane l takes `run` elements at (major[t, l], minor[t, l]) of the lines in memory."""

    of: Layout
    columns: bool  # lines in memory are the matrix's columns
    run: int
    major: ndarray
    minor: ndarray

    @property
    def size(self) -> int:
        return BITS[self.of.type] // 8


@functools.cache
def _move(of: Layout, columns: bool, use: str) -> Move:
    lines, length = (of.cols, of.rows) if columns else (of.rows, of.cols)
    run = (1 if columns else 2) if use == "c" and BITS[of.type] >= 32 else max(4 // (BITS[of.type] // 8), 1)
    total = lines * length // run // 32
    step = np.arange(total)[:, None]
    if length % (4 * run) == 0 and lines % 8 == 0 and not (columns and run == 1):
        bands = lines // 8  # tiles of 8 lines by 4 runs, as in the fragments
        major, minor = 8 * (step % bands) + (LANE >> 2), 4 * run * (step // bands) + (LANE & 3) * run
    else:
        position = (step * 32 + LANE) * run
        major, minor = position // length, position % length
    return Move(of, columns, run, major, minor)


def _addresses(g, move: Move, address, stride, wide: bool):
    """Where each access of a lane starts."""
    stride = full(stride)
    lane = g.lanes[:, 0]
    for major, minor in zip(move.major, move.minor, strict=True):
        if stride.__class__ is int:
            offset = (major[lane] * stride + minor[lane])[:, None] * move.size
        else:
            offset = (major[lane][:, None] * stride.astype(i64) + minor[lane][:, None]) * move.size
        yield add64(address, offset.astype(u64)) if wide else add32(address, offset.astype(u32))


def _positions(move: Move) -> ndarray:
    """Position in the matrix of element e of access t of lane l: (accesses, 32, run)."""
    minor = move.minor[:, :, None] + np.arange(move.run)
    major = move.major[:, :, None]
    return minor * move.of.cols + major if move.columns else major * move.of.cols + minor


def load_fragment(g, iid: int, space: str, move: Move, address, stride, wide: bool) -> tuple:
    """The registers of a fragment loaded from memory."""
    bits = BITS[move.of.type]
    unit, count = (u32, 1) if bits < 32 else (_HOLD[bits], move.run)
    matrix = None
    place = _positions(move)
    for t, where in enumerate(_addresses(g, move, address, stride, wide)):
        got = _LOAD[space](g, iid, where, unit, unit().itemsize, count)
        words = [by_warp(g, x, unit) for x in (got if count > 1 else (got,))]
        columns = max(x.shape[2] for x in words)
        if matrix is None:
            matrix = np.zeros((len(warps(g).index), columns, move.of.rows * move.of.cols), _HOLD[bits])
        packed = np.empty((matrix.shape[0], columns, 32, count), unit)
        for r, x in enumerate(words):
            packed[..., r] = x.transpose(0, 2, 1)
        matrix[:, :, place[t].ravel()] = packed.reshape(*packed.shape[:2], -1).view(_HOLD[bits])
    return scatter(g, matrix, move.of)


def store_fragment(g, iid: int, space: str, move: Move, address, stride, wide: bool, registers: tuple) -> None:
    bits = BITS[move.of.type]
    unit = u32 if bits < 32 else _HOLD[bits]
    matrix = elements(g, registers, move.of)
    place = _positions(move)
    for t, where in enumerate(_addresses(g, move, address, stride, wide)):
        run = np.ascontiguousarray(matrix[:, :, place[t].ravel()]).view(unit)
        run = run.reshape(*run.shape[:2], 32, -1).transpose(3, 0, 2, 1)
        _STORE[space](g, iid, where, tuple(to_lanes(g, np.ascontiguousarray(x)) for x in run), unit, unit().itemsize)


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
    address = i.operands[what == "load"]
    registers = vector(i.operands[what != "load"])
    columns = "col" in i.modifiers
    move = _move(layout(use, rows, cols, type, _count(registers, type)), columns, use)
    stride = e.use(i.operands[2], "u32") if len(i.operands) > 2 else str(rows if columns else cols)
    space = space_of(i)
    wide = not isinstance(address.base, Reg) or width_of(address.base.type) == 64
    iid = e.site(f"{'ld' if what == 'load' else 'st'}.{space}")
    start = f"g,{iid},{space!r},{e.constant(move)},{address_text(e, address)},{stride},{wide}"
    if what == "store":
        held = ",".join(e.use(x, _register(type)) for x in registers)
        e.line(f"FRAGST({start},({held},))")
        return
    t = e.temporary()
    e.line(f"{t}=FRAGLD({start})")
    for j, register in enumerate(registers):
        e.define(register, _register(type), f"{t}[{j}]")


# ------------------------------------------------------------------------------------------------ ldmatrix, stmatrix, movmatrix


def suppliers(g, lanes: int):
    """(the group of the lanes below `lanes` of each warp, their numbers in g): those whose addresses count."""
    got = g._cache.get(("suppliers", lanes))
    if got is None:
        index = np.flatnonzero((g.rows & 31) < lanes)
        if lanes == 32 or len(index) == g.n:
            got = (g, index)
        else:
            child = Group(g.batch, g.rows[index], None if g.cols is None else g.cols[index], g.pc, [], g.code)
            got = (child, index)
        g._cache["suppliers", lanes] = got
    child, index = got
    child.frames, child.pc = g.frames, g.pc
    return got


def _own_window(address):
    """A generic address as one in shared memory."""
    window = SHARED_WINDOW >> RANGE
    if address.__class__ is int:
        return address - SHARED_WINDOW if address >> RANGE == window else address
    return add64(address, -SHARED_WINDOW & (1 << 64) - 1)


def _transposed(x: ndarray) -> ndarray:
    """8 × 8 matrices of 16-bit elements, (…, 8 rows, 4 words, columns), transposed."""
    low, high = x[..., 0::2, :, :], x[..., 1::2, :, :]
    out = np.empty_like(x)
    out[..., 0::2, :, :] = ((low & u32(0xFFFF)) | (high << u32(16))).swapaxes(-3, -2)
    out[..., 1::2, :, :] = ((low >> u32(16)) | (high & u32(0xFFFF0000))).swapaxes(-3, -2)
    return out


def load_matrices(g, iid: int, address, count: int, transposed: bool, generic: bool) -> tuple:
    """`count` registers: lane l gets word l mod 4 of row l div 4 of each matrix. Row r of matrix j is read by lane 8 j + r, which names its address."""
    lanes = 8 * count
    who, index = suppliers(g, lanes)
    address = take_rows(address, index) if who is not g else address
    words = access.load_shared(who, iid, _own_window(address) if generic else address, u32, 4, 4, rows=True)
    columns = max(x.shape[1] if x.__class__ is ndarray else 1 for x in words)
    w = warps(g)
    if _ordered(g):
        rows = np.empty((len(w.index), lanes, 4, columns), u32)
        for j, x in enumerate(words):
            rows[:, :, j] = x.reshape(-1, lanes, x.shape[1]) if x.__class__ is ndarray and x.shape[0] > 1 else x
    else:
        rows = np.zeros((len(w.index), lanes, 4, columns), u32)
        for j, x in enumerate(words):
            rows[w.warp[index], w.lanes[index], j] = x
    matrices = rows.reshape(-1, count, 8, 4, columns)
    if transposed:
        matrices = _transposed(matrices)
    return tuple(to_lanes(g, np.ascontiguousarray(matrices[:, j]).reshape(-1, 32, columns)) for j in range(count))


def _matrices(g, registers: tuple, transposed: bool) -> ndarray:
    """Registers as 8 × 8 matrices: (warps, count, 8 rows, 4 words, columns)."""
    parts = [by_warp(g, x, u32) for x in registers]
    columns = max(x.shape[2] for x in parts)
    out = np.empty((len(warps(g).index), len(parts), 32, columns), u32)
    for j, x in enumerate(parts):
        out[:, j] = x
    out = out.reshape(-1, len(parts), 8, 4, columns)
    return _transposed(out) if transposed else out


def store_matrices(g, iid: int, address, registers: tuple, transposed: bool, generic: bool) -> None:
    lanes = 8 * len(registers)
    who, index = suppliers(g, lanes)
    address = take_rows(address, index) if who is not g else address
    matrices = _matrices(g, registers, transposed)
    rows = matrices.reshape(matrices.shape[0], lanes, 4, -1)
    w = warps(g)
    if _ordered(g):
        words = tuple(np.ascontiguousarray(rows[:, :, j]).reshape(who.n, -1) for j in range(4))
    else:
        words = tuple(rows[w.warp[index], w.lanes[index], j] for j in range(4))
    access.store_shared(who, iid, _own_window(address) if generic else address, words, u32, 4)


def transpose_matrix(g, x):
    matrices = _matrices(g, (x,), True)
    return to_lanes(g, matrices.reshape(len(matrices), 32, -1))


def _matrix_count(e: Emitter, i: Instruction) -> int:
    if "m8n8" not in i.modifiers or i.modifiers[-1] != "b16":
        raise e.unsupported("matrices other than m8n8 of b16")
    return next(int(m[1:]) for m in i.modifiers if m in ("x1", "x2", "x4"))


def emit_ldmatrix(e: Emitter, i: Instruction) -> None:
    count = _matrix_count(e, i)
    gp, ix = e.masked()
    where = address_text(e, i.operands[1])  # type: ignore[arg-type]
    if ix != "None":
        where = f"PICK(g,{gp},{where},{ix})"
    t = e.temporary()
    call = f"LDMATRIX({gp},{e.site('ldmatrix.shared')},{where},{count},{'trans' in i.modifiers},{space_of(i) == 'generic'})"
    e.line(f"{t}={call}" if ix == "None" else f"{t}=None if {gp} is None else {call}")
    for j, target in enumerate(vector(i.operands[0])):
        if target is not None:
            define_where(e, target, "b32", f"{t}[{j}]", gp, ix)


def emit_stmatrix(e: Emitter, i: Instruction) -> None:
    _matrix_count(e, i)
    gp, ix = e.masked()
    where = address_text(e, i.operands[0])  # type: ignore[arg-type]
    values = [e.use(x, "b32") for x in vector(i.operands[1])]
    if ix != "None":
        where = f"PICK(g,{gp},{where},{ix})"
        values = [f"PICK(g,{gp},{x},{ix})" for x in values]
    call = f"STMATRIX({gp},{e.site('stmatrix.shared')},{where},({','.join(values)},),{'trans' in i.modifiers},{space_of(i) == 'generic'})"
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def emit_movmatrix(e: Emitter, i: Instruction) -> None:
    if i.modifiers[-3:] != ("m8n8", "trans", "b16"):
        raise e.unsupported()
    e.define(i.operands[0], "b32", f"MOVMATRIX(g,{e.use(i.operands[1], 'b32')})")


EMIT = {"mma": emit_mma, "wmma": emit_wmma, "ldmatrix": emit_ldmatrix, "stmatrix": emit_stmatrix, "movmatrix": emit_movmatrix}
NAMES = {"MMA": multiply, "FRAGLD": load_fragment, "FRAGST": store_fragment, "LDMATRIX": load_matrices, "STMATRIX": store_matrices, "MOVMATRIX": transpose_matrix}
