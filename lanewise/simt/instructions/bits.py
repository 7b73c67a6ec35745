"""Bit operations, logic and shifts (PTX ISA 9.7.1, 9.7.8). Values are unsigned; see `values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import arithmetic
from ..codegen import Emitter, width_of
from ..ptx import Imm, Instruction
from ..values import MASK, SIGNED, UNSIGNED, Value, full, i64, signed, u32, u64
from .integer import lift, one, signed_type


def popc(a: Value, width: int) -> Value:
    return a.bit_count() if a.__class__ is int else np.bitwise_count(full(a)).astype(u32)


def brev(a: Value, width: int) -> Value:
    if a.__class__ is int:
        return int(f"{a:0{width}b}"[::-1], 2)
    a = full(a)
    octets = np.ascontiguousarray(a).view(np.uint8).reshape(*a.shape, width // 8)
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(bits, axis=-1, bitorder="little").view(UNSIGNED[width]).reshape(a.shape)


def bfind(a: Value, width: int, is_signed: bool, shift_amount: bool) -> Value:
    """Position of the highest bit that differs from the sign (0xffffffff if none)."""
    scalar = a.__class__ is int
    a = lift(a, width)
    if is_signed:
        a = np.where(a.view(SIGNED[width]) < 0, ~a, a)
    x = np.asarray(a).astype(u64)
    position = np.full(x.shape, 0xFFFFFFFF, u32)
    found = x != 0
    length = np.zeros(x.shape, u32)
    for step in (32, 16, 8, 4, 2, 1):
        big = x >> u64(step) != 0
        length += np.where(big, u32(step), u32(0))
        x = np.where(big, x >> u64(step), x)
    position = np.where(found, u32(width - 1) - length if shift_amount else length, position)
    return int(position) if scalar else position


def clz(a: Value, width: int) -> Value:
    if a.__class__ is int:
        return width - a.bit_length()
    position = bfind(a, width, False, False)
    return np.where(position == u32(0xFFFFFFFF), u32(width), u32(width - 1) - position)


def bfe(a: Value, start: Value, length: Value, width: int, is_signed: bool) -> Value:
    if a.__class__ is int and start.__class__ is int and length.__class__ is int:
        start, length = start & 0xFF, length & 0xFF
        if length == 0:
            return 0
        whole = signed(a, width) if is_signed else a
        if is_signed and start + length > width:
            return (whole >> min(start, width)) & MASK[width]
        field = whole >> start & (1 << length) - 1
        if is_signed and length < width and field >> (length - 1) & 1:
            field -= 1 << length
        return field & MASK[width]
    a = lift(a, width)
    start, length = (np.asarray(full(x)).astype(np.int64) & 0xFF for x in (start, length))
    value: Any = np.asarray(a).view(SIGNED[width]).astype(i64) if is_signed else np.asarray(a).astype(u64)
    kind: Any = i64 if is_signed else u64
    low = value >> np.minimum(start, 63).astype(kind)
    if not is_signed:
        low = np.where(start > 63, kind(0), low)
        mask = np.where(length >= 64, u64(MASK[64]), (u64(1) << np.minimum(length, 63).astype(u64)) - u64(1))
        return (low & mask).astype(UNSIGNED[width])
    spare = np.clip(64 - length, 0, 63).astype(i64)
    cut = np.where(start + length >= width, low, (low << spare) >> spare)
    return np.where(length == 0, i64(0), cut).astype(SIGNED[width]).view(UNSIGNED[width])


def bfi(a: Value, b: Value, start: Value, length: Value, width: int) -> Value:
    start, length = (np.asarray(full(x)).astype(np.int64) & 0xFF for x in (start, length))
    scalar = a.__class__ is int and b.__class__ is int and start.ndim == 0 and length.ndim == 0
    ones = np.where(length >= width, MASK[width], (1 << np.minimum(length, 62)) - 1).astype(u64)
    if width == 64:
        ones = np.where(length >= 64, u64(MASK[64]), (u64(1) << np.minimum(length, 63).astype(u64)) - u64(1))
    mask = np.where(start >= width, u64(0), (ones << np.minimum(start, 63).astype(u64)) & u64(MASK[width]))
    x, y = (np.asarray(lift(p, width)).astype(u64) for p in (a, b))
    out = (np.where(start >= width, u64(0), x << np.minimum(start, 63).astype(u64)) & mask) | (y & ~mask)
    out = (out & u64(MASK[width])).astype(UNSIGNED[width])
    return int(out) if scalar else out


def prmt(a: Value, b: Value, selector: Value, mode: str) -> Value:
    """Byte permute of the eight bytes b:a."""
    scalar = a.__class__ is int and b.__class__ is int and selector.__class__ is int
    both = np.asarray(lift(a, 32)).astype(u64) | np.asarray(lift(b, 32)).astype(u64) << u64(32)
    s = np.asarray(lift(selector, 32)).astype(np.int64)
    out = np.zeros(np.broadcast_shapes(both.shape, s.shape), u32)
    for k in range(4):
        sign: Any = 0
        pick: Any
        if mode == "f4e":
            pick = (s & 3) + k
        elif mode == "b4e":
            pick = (s & 3) + (8 - k) & 7
        elif mode == "rc8":
            pick = s & 3
        elif mode == "ecl":
            pick = np.maximum(s & 3, k)
        elif mode == "ecr":
            pick = np.minimum(s & 3, k)
        elif mode == "rc16":
            pick = (s & 1) * 2 + (k & 1)
        else:
            nibble = s >> 4 * k
            pick, sign = nibble & 7, nibble & 8
        byte = (both >> (pick * 8).astype(u64)) & u64(0xFF)
        if sign.__class__ is not int:
            byte = np.where(sign != 0, np.where(byte >> u64(7) != 0, u64(0xFF), u64(0)), byte)
        out |= byte.astype(u32) << u32(8 * k)
    return int(out) if scalar else out


def funnel(a: Value, b: Value, c: Value, left: bool, wrap: bool) -> Value:
    """shf: the 64-bit value b:a shifted, its high (left) or low (right) word."""
    scalar = all(x.__class__ is int for x in (a, b, c))
    x = np.asarray(lift(a, 32)).astype(u64) | np.asarray(lift(b, 32)).astype(u64) << u64(32)
    n = np.asarray(lift(c, 32))
    n = (n & u32(31) if wrap else np.minimum(n, u32(32))).astype(u64)
    out = ((x << n) >> u64(32)).astype(u32) if left else (x >> n).astype(u32)
    return int(out) if scalar else out


def logic(op: str) -> Callable:
    def apply(a: Value, b: Value) -> Value:
        if a.__class__ is int and b.__class__ is int:
            return a & b if op == "and" else a | b if op == "or" else a ^ b
        a, b = full(a), full(b)
        return a & b if op == "and" else a | b if op == "or" else a ^ b

    return apply


def lop3(a: Value, b: Value, c: Value, table: int) -> Value:
    scalar = all(x.__class__ is int for x in (a, b, c))
    a, b, c = (lift(x, 32) for x in (a, b, c))
    out = u32(0)
    for k in range(8):
        if table >> k & 1:
            out = out | (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
    return int(out) if scalar else out


def invert(a: Value, width: int) -> Value:
    return ~a & MASK[width] if a.__class__ is int else ~full(a)


def extended(a: Value, n: Value, is_signed: bool, wrap: bool) -> Value:
    """szext: the low n bits of a, extended by sign or zero; n is taken modulo 32 (wrap) or clamped to 32."""
    scalar = a.__class__ is int and n.__class__ is int
    x, k = np.asarray(lift(a, 32)), np.asarray(lift(n, 32))
    k = (k & u32(31)).astype(i64) if wrap else np.minimum(k, u32(32)).astype(i64)
    spare = np.clip(64 - k, 0, 63)
    wide = x.astype(u64) << spare.astype(u64)
    out = (wide.view(i64) >> spare).astype(i64).view(u64) if is_signed else wide >> spare.astype(u64)
    out = np.where(k == 0, u64(0), out).astype(u32)
    return int(out) if scalar else out


def bit_mask(start: Value, length: Value, clamp: bool) -> Value:
    """bmsk: `length` ones from bit `start` on."""
    scalar = start.__class__ is int and length.__class__ is int
    s, n = (np.asarray(lift(x, 32)).astype(i64) for x in (start, length))
    s, n = (np.minimum(s, 32), np.minimum(n, 32)) if clamp else (s & 31, n & 31)
    out = ((((i64(1) << n) - 1) << s) & 0xFFFFFFFF).astype(u32)
    return int(out) if scalar else out


def nth_set(mask: Value, base: Value, offset: Value) -> Value:
    """fns: position of the n-th set bit of the mask from bit `base` upwards (offset > 0) or downwards (< 0), or `base` itself (0); 0xffffffff: none."""
    scalar = all(x.__class__ is int for x in (mask, base, offset))
    m, b, n = np.broadcast_arrays(*(np.asarray(u32(x) if x.__class__ is int else full(x)) for x in (mask, base, offset)))
    n = n.view(np.int32).astype(np.int64)
    found = np.full(m.shape, 0xFFFFFFFF, u32)
    left = np.where(n == 0, 1, np.abs(n))
    for step in range(32):
        at = np.where(n < 0, b.astype(np.int64) - step, b.astype(np.int64) + step)
        set_here = (at >= 0) & (at < 32) & (m >> np.clip(at, 0, 31).astype(u32) & u32(1) != 0) & ((n != 0) | (step == 0))
        left = left - set_here
        found = np.where(set_here & (left == 0), at.astype(u32), found)
    return int(found) if scalar else found


NAMES = {
    "SHL": arithmetic.shl, "SHR": arithmetic.shr, "POPC": popc, "BREV": brev, "CLZ": clz, "BFIND": bfind, "BFE": bfe, "BFI": bfi, "PRMT": prmt, "SHF": funnel,
    "AND": logic("and"), "OR": logic("or"), "XOR": logic("xor"), "LOP3": lop3, "INV": invert, "SZEXT": extended, "BMSK": bit_mask, "FNS": nth_set,
}  # fmt: skip


def emit_szext(e: Emitter, i: Instruction) -> None:
    d, a, n = i.operands
    e.define(d, "b32", f"SZEXT({e.use(a, 'b32')},{e.use(n, 'u32')},{i.modifiers[-1] == 's32'},{'wrap' in i.modifiers})")


def emit_bmsk(e: Emitter, i: Instruction) -> None:
    d, b, c = i.operands
    e.define(d, "b32", f"BMSK({e.use(b, 'u32')},{e.use(c, 'u32')},{'wrap' not in i.modifiers})")


def emit_shift(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b = i.operands
    tail = f",{width_of(type)}" + (f",{signed_type(type)}" if i.opcode == "shr" else "")
    e.define(d, type, f"{'SHR' if i.opcode == 'shr' else 'SHL'}({e.use(a, type)},{e.use(b, 'u32')}{tail})")


def emit_logic(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b = i.operands
    x, y = e.use(a, type), e.use(b, type)
    if type == "pred":
        e.define(d, type, f"({x}{dict(zip(('and', 'or', 'xor'), '&|^', strict=True))[i.opcode]}{y})")
    else:
        e.define(d, type, f"{i.opcode.upper()}({x},{y})")


def emit_not(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a = i.operands
    e.define(d, type, f"NOT({e.use(a, type)})" if type == "pred" else f"INV({e.use(a, type)},{width_of(type)})")


def emit_cnot(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a = i.operands
    e.define(d, type, f"SELI(tidy({e.use(a, type)}==0),1,0,{width_of(type)})")


def emit_fns(e: Emitter, i: Instruction) -> None:
    d, mask, base, offset = i.operands
    e.define(d, "b32", f"FNS({e.use(mask, 'b32')},{e.use(base, 'b32')},{e.use(offset, 'b32')})")


def emit_bfind(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a = i.operands
    e.define(d, "u32", f"BFIND({e.use(a, type)},{width_of(type)},{signed_type(type)},{'shiftamt' in i.modifiers})")


def emit_bfe(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b, c = i.operands
    e.define(d, type, f"BFE({e.use(a, type)},{e.use(b, 'u32')},{e.use(c, 'u32')},{width_of(type)},{signed_type(type)})")


def emit_bfi(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b, c, f = i.operands
    e.define(d, type, f"BFI({e.use(a, type)},{e.use(b, type)},{e.use(c, 'u32')},{e.use(f, 'u32')},{width_of(type)})")


def emit_prmt(e: Emitter, i: Instruction) -> None:
    d, a, b, c = i.operands
    mode = next((m for m in i.modifiers if m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")), "")
    e.define(d, "b32", f"PRMT({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{mode!r})")


def emit_shf(e: Emitter, i: Instruction) -> None:
    d, a, b, c = i.operands
    e.define(d, "b32", f"SHF({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'u32')},{'l' in i.modifiers},{'wrap' in i.modifiers})")


def emit_lop3(e: Emitter, i: Instruction) -> None:
    d, a, b, c, table = i.operands[:5]
    if len(i.operands) > 5:
        raise e.unsupported("with a predicate result")
    assert isinstance(table, Imm)
    e.define(d, "b32", f"LOP3({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{table.value & 0xFF})")


EMIT = {
    "shl": emit_shift, "shr": emit_shift, "and": emit_logic, "or": emit_logic, "xor": emit_logic, "not": emit_not, "cnot": emit_cnot,
    "popc": one("POPC", "u32"), "clz": one("CLZ", "u32"), "brev": one("BREV"), "bfind": emit_bfind, "bfe": emit_bfe, "bfi": emit_bfi,
    "prmt": emit_prmt, "shf": emit_shf, "lop3": emit_lop3, "szext": emit_szext, "bmsk": emit_bmsk, "fns": emit_fns,
}  # fmt: skip
