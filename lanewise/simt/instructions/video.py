"""What the SIMD intrinsics of CUDA compile to: vabsdiff2, vabsdiff4 (PTX ISA 9.7.17) and add, min, max of pairs of 16-bit integers (9.7.1)."""

from __future__ import annotations

import numpy as np

from ..codegen import Emitter
from ..ptx import Instruction
from ..values import full, i64, u32


def absolute_differences(a, b, c, bits: int, a_signed: bool, b_signed: bool, summed: bool):
    """|a − b| of each part of `bits`, 8 or 16; packed (c is then the destination's former content, all parts replaced), or their sum plus c."""
    scalar = all(x.__class__ is int for x in (a, b, c))
    x, y, rest = (np.asarray(u32(v) if v.__class__ is int else full(v)) for v in (a, b, c))
    packed, total = np.zeros(np.broadcast_shapes(x.shape, y.shape), u32), rest.astype(i64)
    part, signed_part = (np.uint8, np.int8) if bits == 8 else (np.uint16, np.int16)
    for at in range(0, 32, bits):
        p, q = ((v >> u32(at) & u32((1 << bits) - 1)).astype(part) for v in (x, y))
        wide = (p.view(signed_part) if a_signed else p).astype(i64) - (q.view(signed_part) if b_signed else q).astype(i64)
        size = np.abs(wide)
        total = total + size
        packed = packed | (size & (1 << bits) - 1).astype(u32) << u32(at)
    out = total.astype(u32) if summed else packed
    return int(out) if scalar else out


def pairs(op: str, is_signed: bool, relu: bool, a, b):
    """add, min or max of both halves of two 32-bit registers; `relu`: not below 0."""
    scalar = a.__class__ is int and b.__class__ is int
    x, y = (np.asarray(u32(v) if v.__class__ is int else full(v)) for v in (a, b))
    out = np.zeros(np.broadcast_shapes(x.shape, y.shape), u32)
    for shift in (u32(0), u32(16)):
        p, q = ((v >> shift & u32(0xFFFF)).astype(np.uint16) for v in (x, y))
        if is_signed:
            p, q = p.view(np.int16), q.view(np.int16)
        half = p + q if op == "add" else np.minimum(p, q) if op == "min" else np.maximum(p, q)
        if relu:
            half = np.maximum(half, half.dtype.type(0))
        out = out | half.astype(np.uint16).astype(u32) << shift
    return int(out) if scalar else out


NAMES = {"VABSDIFF": absolute_differences, "PAIRS": pairs}


def emit_pairs(e: Emitter, i: Instruction) -> None:
    d, a, b = i.operands
    e.define(d, "b32", f"PAIRS({i.opcode!r},{i.modifiers[-1] == 's16x2'},{'relu' in i.modifiers},{e.use(a, 'b32')},{e.use(b, 'b32')})")


def emit_vabsdiff(e: Emitter, i: Instruction) -> None:
    types = [m for m in i.modifiers if m in ("u32", "s32")]
    if "sat" in i.modifiers or len(i.operands) < 4 or any(m.startswith("b") and m[1:].isdigit() for m in i.modifiers):
        raise e.unsupported("with saturation or a byte mask")
    d, a, b, c = i.operands
    bits = 32 // int(i.opcode[-1])
    made = f"VABSDIFF({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{bits},{types[1] == 's32'},{types[2] == 's32'},{'add' in i.modifiers})"
    e.define(d, "b32", made)


EMIT = {"vabsdiff2": emit_vabsdiff, "vabsdiff4": emit_vabsdiff}
