"""8 × 8 matrices of 16-bit elements between shared memory and registers: ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14.5)."""

from __future__ import annotations

import numpy as np

from .. import shared_access
from ..codegen import Emitter, vector
from ..group import Group
from ..ptx import Instruction
from ..shapes import take_rows
from ..values import ndarray, u32
from .fragments import by_warp, ordered, to_lanes
from .mbarrier import offset_of
from .memory import address_text, define_where, space_of
from .warp import warps


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
    words = shared_access.load_shared(who, iid, offset_of(address) if generic else address, u32, 4, 4, rows=True)
    columns = max(x.shape[1] if x.__class__ is ndarray else 1 for x in words)
    w = warps(g)
    if ordered(g):
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
    if ordered(g):
        words = tuple(np.ascontiguousarray(rows[:, :, j]).reshape(who.n, -1) for j in range(4))
    else:
        words = tuple(rows[w.warp[index], w.lanes[index], j] for j in range(4))
    shared_access.store_shared(who, iid, offset_of(address) if generic else address, words, u32, 4)


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


EMIT = {"ldmatrix": emit_ldmatrix, "stmatrix": emit_stmatrix, "movmatrix": emit_movmatrix}
NAMES = {"LDMATRIX": load_matrices, "STMATRIX": store_matrices, "MOVMATRIX": transpose_matrix}
