"""Integer arithmetic (PTX ISA 9.7.1). Values are unsigned; see `values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import arithmetic
from ..arithmetic import as_signed
from ..codegen import Emitter, width_of
from ..ptx import Instruction
from ..values import MASK, SIGNED, UNSIGNED, Value, full, i64, signed, u32, u64

ADD = {16: "ADD16", 32: "ADD32", 64: "ADD64"}
SUB = {16: "SUB16", 32: "SUB32", 64: "SUB64"}
MUL = {16: "MUL16", 32: "MUL32", 64: "MUL64"}


def lift(x: Value, width: int) -> Value:
    """An array or a NumPy scalar of the register's dtype."""
    return UNSIGNED[width](x) if x.__class__ is int else full(x)


def _two_d(x: Value) -> Value:
    return x if x.ndim == 2 else int(x)


def _extreme(of_ints: Callable, of_arrays: Callable) -> Callable:
    def extreme(a: Value, b: Value, width: int, is_signed: bool) -> Value:
        if a.__class__ is int and b.__class__ is int:
            return of_ints(a, b, key=lambda x: signed(x, width)) if is_signed else of_ints(a, b)
        a, b = lift(a, width), lift(b, width)
        if is_signed:
            return of_arrays(a.view(SIGNED[width]), b.view(SIGNED[width])).view(UNSIGNED[width])
        return of_arrays(a, b)

    return extreme


min_int, max_int = _extreme(min, np.minimum), _extreme(max, np.maximum)


def mul_hi(a: Value, b: Value, width: int, is_signed: bool) -> Value:
    if a.__class__ is int and b.__class__ is int:
        return (signed(a, width) * signed(b, width) >> width) & MASK[width] if is_signed else a * b >> width
    if width == 32:
        if is_signed:
            x, y = (i64(signed(p, 32)) if p.__class__ is int else full(arithmetic.widen(p, True)).view(i64) for p in (a, b))
            return (x * y >> i64(32)).astype(np.int32).view(u32)
        x, y = (u64(p) if p.__class__ is int else full(p).astype(u64) for p in (a, b))
        return (x * y >> u64(32)).astype(u32)
    if width == 16:
        x, y = (as_signed(p, 16) if is_signed else full(p) for p in (a, b))
        x, y = (np.asarray(p).astype(np.int64) for p in (x, y))
        return _two_d((x * y >> 16).astype(np.uint16))
    x, y = lift(a, 64), lift(b, 64)
    low = u64(0xFFFFFFFF)
    x0, x1, y0, y1 = x & low, x >> u64(32), y & low, y >> u64(32)
    middle = x1 * y0 + (x0 * y0 >> u64(32))
    high = x1 * y1 + (middle >> u64(32)) + ((x0 * y1 + (middle & low)) >> u64(32))
    if is_signed:
        high = high - np.where(x.view(i64) < 0, y, u64(0)) - np.where(y.view(i64) < 0, x, u64(0))
    return high


def wide16(a: Value, b: Value, is_signed: bool) -> Value:
    scalar = a.__class__ is int and b.__class__ is int
    x, y = (np.asarray(as_signed(p, 16) if is_signed else full(p)).astype(i64) for p in (a, b))
    out = (x * y).astype(u32)
    return int(out) if scalar else out


def divide(a: Value, b: Value, width: int, is_signed: bool) -> Value:
    """Truncating division; a divisor of 0 gives all ones (what the hardware's routine gives)."""
    if a.__class__ is int and b.__class__ is int:
        if b == 0:
            return MASK[width]
        if is_signed:
            x, y = signed(a, width), signed(b, width)
            q = abs(x) // abs(y)
            return (q if (x < 0) == (y < 0) else -q) & MASK[width]
        return a // b
    x, y = lift(a, width), lift(b, width)
    dtype = UNSIGNED[width]
    if not is_signed:
        return np.where(y == 0, dtype(MASK[width]), x // np.maximum(y, dtype(1)))
    sx, sy = x.view(SIGNED[width]), y.view(SIGNED[width])
    ax, ay = np.where(sx < 0, -x, x), np.where(sy < 0, dtype(0) - y, y)
    q = ax // np.maximum(ay, dtype(1))
    q = np.where((sx < 0) != (sy < 0), dtype(0) - q, q)
    return np.where(y == 0, dtype(MASK[width]), q)


def remainder(a: Value, b: Value, width: int, is_signed: bool) -> Value:
    if a.__class__ is int and b.__class__ is int:
        if b == 0:
            return a
        if is_signed:
            x, y = signed(a, width), signed(b, width)
            r = abs(x) % abs(y)
            return (-r if x < 0 else r) & MASK[width]
        return a % b
    q = divide(a, b, width, is_signed)
    x, y = lift(a, width), lift(b, width)
    return np.where(y == 0, x, x - q * y)


def sad(a: Value, b: Value, c: Value, width: int, is_signed: bool) -> Value:
    big, small = max_int(a, b, width, is_signed), min_int(a, b, width, is_signed)
    return NAMES[ADD[width]](c, NAMES[SUB[width]](big, small))


def dot4(a: Value, b: Value, c: Value, a_signed: bool, b_signed: bool) -> Value:
    """dp4a: the sum of four byte products and c."""
    scalar = all(x.__class__ is int for x in (a, b, c))
    x, y, total = (np.asarray(lift(p, 32)) for p in (a, b, c))
    total = total.astype(i64)
    for k in range(4):
        p, q = ((z >> u32(8 * k)) & u32(0xFF) for z in (x, y))
        p = p.astype(np.uint8).view(np.int8).astype(i64) if a_signed else p.astype(i64)
        q = q.astype(np.uint8).view(np.int8).astype(i64) if b_signed else q.astype(i64)
        total = total + p * q
    out = total.astype(u32)
    return int(out) if scalar else out


def dot2(a: Value, b: Value, c: Value, a_signed: bool, b_signed: bool, high: bool) -> Value:
    """dp2a: the two 16-bit halves of a times two bytes of b (the upper ones if `high`), plus c."""
    scalar = all(x.__class__ is int for x in (a, b, c))
    x, y, total = (np.asarray(lift(p, 32)) for p in (a, b, c))
    total = total.astype(i64)
    for k in range(2):
        p = (x >> u32(16 * k)) & u32(0xFFFF)
        q = (y >> u32(8 * (k + 2 * high))) & u32(0xFF)
        p = p.astype(np.uint16).view(np.int16).astype(i64) if a_signed else p.astype(i64)
        q = q.astype(np.uint8).view(np.int8).astype(i64) if b_signed else q.astype(i64)
        total = total + p * q
    out = total.astype(u32)
    return int(out) if scalar else out


def absolute(a: Value, width: int) -> Value:
    if a.__class__ is int:
        return abs(signed(a, width)) & MASK[width]
    a = full(a)
    return np.where(a.view(SIGNED[width]) < 0, UNSIGNED[width](0) - a, a)


def with_carry(a: Value, b: Value, carry: Value, width: int, minus: bool) -> Value:
    """(a ± b ± carry, carry out)."""
    if all(x.__class__ in (int, bool) for x in (a, b, carry)):
        total = a - b - carry if minus else a + b + carry
        return total & MASK[width], not 0 <= total <= MASK[width]
    dtype = UNSIGNED[width]
    a, b = lift(a, width), lift(b, width)
    c = dtype(carry) if carry.__class__ is bool else carry.astype(dtype)
    if minus:
        first = a - b
        return first - c, (a < b) | (first < c)
    first = a + b
    total = first + c
    return total, (first < a) | (total < first)


def saturating(a: Value, b: Value, minus: bool) -> Value:
    scalar = a.__class__ is int and b.__class__ is int
    x, y = (np.asarray(lift(p, 32)).view(np.int32).astype(i64) for p in (a, b))
    out = np.clip(x - y if minus else x + y, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(u32)
    return int(out) if scalar else out


NAMES: dict[str, Any] = {
    "ADD16": arithmetic.add16, "ADD32": arithmetic.add32, "ADD64": arithmetic.add64, "SUB16": arithmetic.sub16, "SUB32": arithmetic.sub32,
    "SUB64": arithmetic.sub64, "MUL16": arithmetic.mul16, "MUL32": arithmetic.mul32, "MUL64": arithmetic.mul64,
    "MULW_S": arithmetic.mul_wide_s32, "MULW_U": arithmetic.mul_wide_u32, "WIDE16": wide16, "MULHI": mul_hi, "MINI": min_int, "MAXI": max_int, "DIVI": divide,
    "REMI": remainder, "SAD": sad, "DP4A": dot4, "DP2A": dot2, "ABSI": absolute, "WIDEN": arithmetic.widen, "CARRY": with_carry, "SATS": saturating,
    "MUL24": arithmetic.mul24,
}  # fmt: skip


def signed_type(type: str) -> bool:
    return type.startswith("s")


def emit_add(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b = i.operands
    width = width_of(type)
    table = ADD if i.opcode == "add" else SUB
    if "sat" in i.modifiers:
        e.define(d, type, f"SATS({e.use(a, type)},{e.use(b, type)},{i.opcode == 'sub'})")
        return
    if "cc" in i.modifiers or i.opcode in ("addc", "subc"):
        carry = e.variable("%cc") if i.opcode in ("addc", "subc") else "False"
        t = e.temporary()
        e.line(f"{t}=CARRY({e.use(a, type)},{e.use(b, type)},{carry},{width},{i.opcode.startswith('sub')})")
        e.define(d, type, f"{t}[0]")
        if "cc" in i.modifiers:
            slot = e.slot("%cc")
            e.loaded.add(slot)
            e.written.add(slot)
            e.line(f"r{slot}={t}[1]")
        return
    e.define(d, type, f"{table[width]}({e.use(a, type)},{e.use(b, type)})")


def emit_mul(e: Emitter, i: Instruction) -> None:
    type, how = i.modifiers[-1], i.modifiers[0]
    d, a, b = i.operands[:3]
    x, y, width = e.use(a, type), e.use(b, type), width_of(type)
    if e.index in e.code.products:
        e.line(f"WATCH(g,{x},{y},{e.index})")
    if how == "wide" and width == 32:
        made, result = f"MULW_{'S' if signed_type(type) else 'U'}({x},{y})", type[0] + "64"
    elif how == "wide":
        made, result = f"WIDE16({x},{y},{signed_type(type)})", type[0] + "32"
    elif how == "hi":
        made, result = f"MULHI({x},{y},{width},{signed_type(type)})", type
    elif how == "lo":
        made, result = f"{MUL[width]}({x},{y})", type
    else:
        raise e.unsupported()
    if i.opcode == "mad":
        if "sat" in i.modifiers or "cc" in i.modifiers:
            raise e.unsupported()
        made = f"{ADD[width_of(result)]}({made},{e.use(i.operands[3], result)})"
    e.define(d, result, made)


def emit_mul24(e: Emitter, i: Instruction) -> None:
    """mul24 and mad24."""
    type, how = i.modifiers[-1], i.modifiers[0]
    d, a, b = i.operands[:3]
    if how not in ("lo", "hi") or "sat" in i.modifiers:
        raise e.unsupported()
    made = f"MUL24({e.use(a, type)},{e.use(b, type)},{how == 'hi'},{signed_type(type)})"
    e.define(d, type, made if i.opcode == "mul24" else f"{ADD[32]}({made},{e.use(i.operands[3], type)})")


def emit_neg(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a = i.operands
    e.define(d, type, f"{SUB[width_of(type)]}(0,{e.use(a, type)})")


def emit_madc(e: Emitter, i: Instruction) -> None:
    """mad.{lo,hi}.cc and madc: the product, then an addition with carry."""
    type, how = i.modifiers[-1], i.modifiers[0]
    d, a, b, c = i.operands
    x, y, width = e.use(a, type), e.use(b, type), width_of(type)
    product = f"MULHI({x},{y},{width},{signed_type(type)})" if how == "hi" else f"{MUL[width]}({x},{y})"
    carry = e.variable("%cc") if i.opcode == "madc" else "False"
    t = e.temporary()
    e.line(f"{t}=CARRY({product},{e.use(c, type)},{carry},{width},False)")
    e.define(d, type, f"{t}[0]")
    if "cc" in i.modifiers:
        slot = e.slot("%cc")
        e.loaded.add(slot)
        e.written.add(slot)
        e.line(f"r{slot}={t}[1]")


def two(name: str, extra: bool = True) -> Callable:
    def emit(e: Emitter, i: Instruction) -> None:
        type = i.modifiers[-1]
        d, a, b = i.operands
        tail = f",{width_of(type)},{signed_type(type)}" if extra else ""
        e.define(d, type, f"{name}({e.use(a, type)},{e.use(b, type)}{tail})")

    return emit


def emit_extreme(e: Emitter, i: Instruction) -> None:
    """min and max; with `.relu` (s32 alone, sm_90) a negative result becomes 0."""
    type = i.modifiers[-1]
    d, a, b = i.operands
    made = f"{'MINI' if i.opcode == 'min' else 'MAXI'}({e.use(a, type)},{e.use(b, type)},{width_of(type)},{signed_type(type)})"
    if "relu" in i.modifiers:
        made = f"MAXI({made},0,{width_of(type)},{signed_type(type)})"
    e.define(d, type, made)


def one(name: str, result: str | None = None) -> Callable:
    def emit(e: Emitter, i: Instruction) -> None:
        type = i.modifiers[-1]
        d, a = i.operands
        e.define(d, result or type, f"{name}({e.use(a, type)},{width_of(type)})")

    return emit


def emit_sad(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b, c = i.operands
    e.define(d, type, f"SAD({e.use(a, type)},{e.use(b, type)},{e.use(c, type)},{width_of(type)},{signed_type(type)})")


def emit_dp4a(e: Emitter, i: Instruction) -> None:
    d, a, b, c = i.operands
    ta, tb = i.modifiers[-2:]
    e.define(d, "b32", f"DP4A({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{signed_type(ta)},{signed_type(tb)})")


def emit_dp2a(e: Emitter, i: Instruction) -> None:
    d, a, b, c = i.operands
    ta, tb = i.modifiers[-2:]
    e.define(d, "b32", f"DP2A({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{signed_type(ta)},{signed_type(tb)},{'hi' in i.modifiers})")


EMIT = {
    "addc": emit_add, "subc": emit_add, "madc": emit_madc, "mul24": emit_mul24, "mad24": emit_mul24, "sad": emit_sad, "dp4a": emit_dp4a,
    "dp2a": emit_dp2a, "rem": two("REMI"),
}  # fmt: skip
