"""Integer arithmetic, logic, shifts and comparisons (PTX ISA 9.7.1, 9.7.8). Values are unsigned; see `values`."""

from __future__ import annotations

import numpy as np

from .. import values as v
from ..codegen import Emitter, width_of
from ..ptx import Instruction
from ..values import MASK, SIGNED, UNSIGNED, as_signed, full, i64, ndarray, signed, u32, u64

ADD = {16: "ADD16", 32: "ADD32", 64: "ADD64"}
SUB = {16: "SUB16", 32: "SUB32", 64: "SUB64"}
MUL = {16: "MUL16", 32: "MUL32", 64: "MUL64"}


def _lift(x, width: int):
    """An array or a NumPy scalar of the register's dtype."""
    return UNSIGNED[width](x) if x.__class__ is int else full(x)


def _back(x):
    """A NumPy integer scalar → int."""
    return x if x.__class__ is ndarray else int(x)


def min_int(a, b, width: int, is_signed: bool):
    if a.__class__ is int and b.__class__ is int:
        return min(a, b, key=lambda x: signed(x, width)) if is_signed else min(a, b)
    a, b = _lift(a, width), _lift(b, width)
    if is_signed:
        return np.minimum(a.view(SIGNED[width]), b.view(SIGNED[width])).view(UNSIGNED[width])
    return np.minimum(a, b)


def max_int(a, b, width: int, is_signed: bool):
    if a.__class__ is int and b.__class__ is int:
        return max(a, b, key=lambda x: signed(x, width)) if is_signed else max(a, b)
    a, b = _lift(a, width), _lift(b, width)
    if is_signed:
        return np.maximum(a.view(SIGNED[width]), b.view(SIGNED[width])).view(UNSIGNED[width])
    return np.maximum(a, b)


def mul_hi(a, b, width: int, is_signed: bool):
    if a.__class__ is int and b.__class__ is int:
        return (signed(a, width) * signed(b, width) >> width) & MASK[width] if is_signed else a * b >> width
    if width == 32:
        if is_signed:
            product = (v.widen(a, True) if a.__class__ is not int else signed(a, 32)), (v.widen(b, True) if b.__class__ is not int else signed(b, 32))
            x, y = (full(p).view(i64) if p.__class__ is not int else i64(p) for p in product)
            return (x * y >> i64(32)).astype(np.int32).view(u32)
        x, y = (u64(p) if p.__class__ is int else full(p).astype(u64) for p in (a, b))
        return (x * y >> u64(32)).astype(u32)
    if width == 16:
        x, y = (as_signed(p, 16) if is_signed else full(p) for p in (a, b))
        x, y = (np.asarray(p).astype(np.int64) for p in (x, y))
        return _two_d((x * y >> 16).astype(np.uint16))
    x, y = _lift(a, 64), _lift(b, 64)
    low = u64(0xFFFFFFFF)
    x0, x1, y0, y1 = x & low, x >> u64(32), y & low, y >> u64(32)
    middle = x1 * y0 + (x0 * y0 >> u64(32))
    high = x1 * y1 + (middle >> u64(32)) + ((x0 * y1 + (middle & low)) >> u64(32))
    if is_signed:
        high = high - np.where(x.view(i64) < 0, y, u64(0)) - np.where(y.view(i64) < 0, x, u64(0))
    return high


def _two_d(x):
    return x if x.ndim == 2 else int(x)


def divide(a, b, width: int, is_signed: bool):
    """Truncating division; a divisor of 0 gives all ones (what the hardware's routine gives)."""
    if a.__class__ is int and b.__class__ is int:
        if b == 0:
            return MASK[width]
        if is_signed:
            x, y = signed(a, width), signed(b, width)
            q = abs(x) // abs(y)
            return (q if (x < 0) == (y < 0) else -q) & MASK[width]
        return a // b
    x, y = _lift(a, width), _lift(b, width)
    dtype = UNSIGNED[width]
    if not is_signed:
        return np.where(y == 0, dtype(MASK[width]), x // np.maximum(y, dtype(1)))
    sx, sy = x.view(SIGNED[width]), y.view(SIGNED[width])
    ax, ay = np.where(sx < 0, -x, x), np.where(sy < 0, dtype(0) - y, y)
    q = ax // np.maximum(ay, dtype(1))
    q = np.where((sx < 0) != (sy < 0), dtype(0) - q, q)
    return np.where(y == 0, dtype(MASK[width]), q)


def remainder(a, b, width: int, is_signed: bool):
    if a.__class__ is int and b.__class__ is int:
        if b == 0:
            return a
        if is_signed:
            x, y = signed(a, width), signed(b, width)
            r = abs(x) % abs(y)
            return (-r if x < 0 else r) & MASK[width]
        return a % b
    q = divide(a, b, width, is_signed)
    x, y = _lift(a, width), _lift(b, width)
    return np.where(y == 0, x, x - q * y)


def popc(a, width: int):
    return a.bit_count() if a.__class__ is int else np.bitwise_count(full(a)).astype(u32)


def brev(a, width: int):
    if a.__class__ is int:
        return int(f"{a:0{width}b}"[::-1], 2)
    a = full(a)
    octets = np.ascontiguousarray(a).view(np.uint8).reshape(*a.shape, width // 8)
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(bits, axis=-1, bitorder="little").view(UNSIGNED[width]).reshape(a.shape)


def bfind(a, width: int, is_signed: bool, shift_amount: bool):
    """Position of the highest bit that differs from the sign (0xffffffff if none)."""
    scalar = a.__class__ is int
    a = _lift(a, width)
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


def clz(a, width: int):
    if a.__class__ is int:
        return width - a.bit_length()
    position = bfind(a, width, False, False)
    return np.where(position == u32(0xFFFFFFFF), u32(width), u32(width - 1) - position)


def bfe(a, start, length, width: int, is_signed: bool):
    if a.__class__ is int and start.__class__ is int and length.__class__ is int:
        start, length = start & 0xFF, length & 0xFF
        if length == 0:
            return 0
        value = signed(a, width) if is_signed else a
        if is_signed and start + length > width:
            return (value >> min(start, width)) & MASK[width]
        field = value >> start & (1 << length) - 1
        if is_signed and length < width and field >> (length - 1) & 1:
            field -= 1 << length
        return field & MASK[width]
    a = _lift(a, width)
    start, length = (np.asarray(full(x)).astype(np.int64) & 0xFF for x in (start, length))
    value = np.asarray(a).view(SIGNED[width]).astype(i64) if is_signed else np.asarray(a).astype(u64)
    kind = i64 if is_signed else u64
    low = value >> np.minimum(start, 63).astype(kind)
    if not is_signed:
        low = np.where(start > 63, kind(0), low)
        mask = np.where(length >= 64, u64(MASK[64]), (u64(1) << np.minimum(length, 63).astype(u64)) - u64(1))
        return (low & mask).astype(UNSIGNED[width])
    spare = np.clip(64 - length, 0, 63).astype(i64)
    cut = np.where(start + length >= width, low, (low << spare) >> spare)
    return np.where(length == 0, i64(0), cut).astype(SIGNED[width]).view(UNSIGNED[width])


def bfi(a, b, start, length, width: int):
    start, length = (np.asarray(full(x)).astype(np.int64) & 0xFF for x in (start, length))
    scalar = a.__class__ is int and b.__class__ is int and start.ndim == 0 and length.ndim == 0
    ones = np.where(length >= width, MASK[width], (1 << np.minimum(length, 62)) - 1).astype(u64)
    if width == 64:
        ones = np.where(length >= 64, u64(MASK[64]), (u64(1) << np.minimum(length, 63).astype(u64)) - u64(1))
    mask = np.where(start >= width, u64(0), (ones << np.minimum(start, 63).astype(u64)) & u64(MASK[width]))
    x, y = (np.asarray(_lift(p, width)).astype(u64) for p in (a, b))
    out = (np.where(start >= width, u64(0), x << np.minimum(start, 63).astype(u64)) & mask) | (y & ~mask)
    out = (out & u64(MASK[width])).astype(UNSIGNED[width])
    return int(out) if scalar else out


def prmt(a, b, selector, mode: str):
    """Byte permute of the eight bytes b:a."""
    scalar = a.__class__ is int and b.__class__ is int and selector.__class__ is int
    both = np.asarray(_lift(a, 32)).astype(u64) | np.asarray(_lift(b, 32)).astype(u64) << u64(32)
    s = np.asarray(_lift(selector, 32)).astype(np.int64)
    out = np.zeros(np.broadcast_shapes(both.shape, s.shape), u32)
    for k in range(4):
        sign = 0
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


def funnel(a, b, c, left: bool, wrap: bool):
    """shf: the 64-bit value b:a shifted, its high (left) or low (right) word."""
    scalar = all(x.__class__ is int for x in (a, b, c))
    x = np.asarray(_lift(a, 32)).astype(u64) | np.asarray(_lift(b, 32)).astype(u64) << u64(32)
    n = np.asarray(_lift(c, 32))
    n = (n & u32(31) if wrap else np.minimum(n, u32(32))).astype(u64)
    out = ((x << n) >> u64(32)).astype(u32) if left else (x >> n).astype(u32)
    return int(out) if scalar else out


def sad(a, b, c, width: int, is_signed: bool):
    big, small = max_int(a, b, width, is_signed), min_int(a, b, width, is_signed)
    return {16: v.add16, 32: v.add32, 64: v.add64}[width](c, {16: v.sub16, 32: v.sub32, 64: v.sub64}[width](big, small))


def dot4(a, b, c, a_signed: bool, b_signed: bool):
    """dp4a: the sum of four byte products and c."""
    scalar = all(x.__class__ is int for x in (a, b, c))
    x, y, total = (np.asarray(_lift(p, 32)) for p in (a, b, c))
    total = total.astype(i64)
    for k in range(4):
        p, q = ((z >> u32(8 * k)) & u32(0xFF) for z in (x, y))
        p = p.astype(np.uint8).view(np.int8).astype(i64) if a_signed else p.astype(i64)
        q = q.astype(np.uint8).view(np.int8).astype(i64) if b_signed else q.astype(i64)
        total = total + p * q
    out = total.astype(u32)
    return int(out) if scalar else out


def dot2(a, b, c, a_signed: bool, b_signed: bool, high: bool):
    """dp2a: the two 16-bit halves of a times two bytes of b (the upper ones if `high`), plus c."""
    scalar = all(x.__class__ is int for x in (a, b, c))
    x, y, total = (np.asarray(_lift(p, 32)) for p in (a, b, c))
    total = total.astype(i64)
    for k in range(2):
        p = (x >> u32(16 * k)) & u32(0xFFFF)
        q = (y >> u32(8 * (k + 2 * high))) & u32(0xFF)
        p = p.astype(np.uint16).view(np.int16).astype(i64) if a_signed else p.astype(i64)
        q = q.astype(np.uint8).view(np.int8).astype(i64) if b_signed else q.astype(i64)
        total = total + p * q
    out = total.astype(u32)
    return int(out) if scalar else out


def logic(op: str):
    def apply(a, b):
        if a.__class__ is int and b.__class__ is int:
            return a & b if op == "and" else a | b if op == "or" else a ^ b
        a, b = full(a), full(b)
        return a & b if op == "and" else a | b if op == "or" else a ^ b

    return apply


def lop3(a, b, c, table: int):
    scalar = all(x.__class__ is int for x in (a, b, c))
    a, b, c = (_lift(x, 32) for x in (a, b, c))
    out = u32(0)
    for k in range(8):
        if table >> k & 1:
            out = out | (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
    return int(out) if scalar else out


def invert(a, width: int):
    return ~a & MASK[width] if a.__class__ is int else ~full(a)


def absolute(a, width: int):
    if a.__class__ is int:
        return abs(signed(a, width)) & MASK[width]
    a = full(a)
    return np.where(a.view(SIGNED[width]) < 0, UNSIGNED[width](0) - a, a)


NAMES = {
    "ADD16": v.add16, "ADD32": v.add32, "ADD64": v.add64, "SUB16": v.sub16, "SUB32": v.sub32, "SUB64": v.sub64,
    "MUL16": v.mul16, "MUL32": v.mul32, "MUL64": v.mul64, "MAD32": v.mad32, "MAD64": v.mad64, "NEG32": v.neg32, "NEG64": v.neg64,
    "MULW_S": v.mul_wide_s32, "MULW_U": v.mul_wide_u32, "SHL": v.shl, "SHR": v.shr, "MINI": min_int, "MAXI": max_int, "MULHI": mul_hi,
    "DIVI": divide, "REMI": remainder, "POPC": popc, "BREV": brev, "CLZ": clz, "BFIND": bfind, "BFE": bfe, "BFI": bfi, "PRMT": prmt, "SHF": funnel,
    "SAD": sad, "DP4A": dot4, "DP2A": dot2, "AND": logic("and"), "OR": logic("or"), "XOR": logic("xor"), "LOP3": lop3, "INV": invert, "ABSI": absolute,
    "WIDEN": v.widen,
}  # fmt: skip


def _is_signed(type: str) -> bool:
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


def with_carry(a, b, carry, width: int, minus: bool):
    """(a ± b ± carry, carry out)."""
    if all(x.__class__ in (int, bool) for x in (a, b, carry)):
        total = a - b - carry if minus else a + b + carry
        return total & MASK[width], not 0 <= total <= MASK[width]
    dtype = UNSIGNED[width]
    a, b = _lift(a, width), _lift(b, width)
    c = dtype(carry) if carry.__class__ is bool else carry.astype(dtype)
    if minus:
        first = a - b
        return first - c, (a < b) | (first < c)
    first = a + b
    total = first + c
    return total, (first < a) | (total < first)


def saturating(a, b, minus: bool):
    scalar = a.__class__ is int and b.__class__ is int
    x, y = (np.asarray(_lift(p, 32)).view(np.int32).astype(i64) for p in (a, b))
    out = np.clip(x - y if minus else x + y, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(u32)
    return int(out) if scalar else out


NAMES |= {"CARRY": with_carry, "SATS": saturating}


def emit_mul(e: Emitter, i: Instruction) -> None:
    type, how = i.modifiers[-1], i.modifiers[0]
    d, a, b = i.operands[:3]
    x, y, width = e.use(a, type), e.use(b, type), width_of(type)
    if e.index in e.code.products:
        e.line(f"WATCH(g,{x},{y},{e.index})")
    if how == "wide" and width == 32:
        made, result = f"MULW_{'S' if _is_signed(type) else 'U'}({x},{y})", type[0] + "64"
    elif how == "wide":
        made, result = f"WIDE16({x},{y},{_is_signed(type)})", type[0] + "32"
    elif how == "hi":
        made, result = f"MULHI({x},{y},{width},{_is_signed(type)})", type
    elif how == "lo" or i.opcode.endswith("24"):
        made, result = f"{MUL[width]}({x},{y})", type
    else:
        raise e.unsupported()
    if i.opcode == "mad":
        if "sat" in i.modifiers or "cc" in i.modifiers:
            raise e.unsupported()
        made = f"{ADD[width_of(result)]}({made},{e.use(i.operands[3], result)})"
    e.define(d, result, made)


def wide16(a, b, is_signed: bool):
    scalar = a.__class__ is int and b.__class__ is int
    x, y = (np.asarray(as_signed(p, 16) if is_signed else full(p)).astype(i64) for p in (a, b))
    out = (x * y).astype(u32)
    return int(out) if scalar else out


def extended(a, n, is_signed: bool, wrap: bool):
    """szext: the low n bits of a, extended by sign or zero; n is taken modulo 32 (wrap) or clamped to 32."""
    scalar = a.__class__ is int and n.__class__ is int
    x, k = np.asarray(_lift(a, 32)), np.asarray(_lift(n, 32))
    k = (k & u32(31)).astype(i64) if wrap else np.minimum(k, u32(32)).astype(i64)
    spare = np.clip(64 - k, 0, 63)
    wide = x.astype(u64) << spare.astype(u64)
    out = (wide.view(i64) >> spare).astype(i64).view(u64) if is_signed else wide >> spare.astype(u64)
    out = np.where(k == 0, u64(0), out).astype(u32)
    return int(out) if scalar else out


def bit_mask(start, length, clamp: bool):
    """bmsk: `length` ones from bit `start` on."""
    scalar = start.__class__ is int and length.__class__ is int
    s, n = (np.asarray(_lift(x, 32)).astype(i64) for x in (start, length))
    s, n = (np.minimum(s, 32), np.minimum(n, 32)) if clamp else (s & 31, n & 31)
    out = ((((i64(1) << n) - 1) << s) & 0xFFFFFFFF).astype(u32)
    return int(out) if scalar else out


NAMES |= {"WIDE16": wide16, "SZEXT": extended, "BMSK": bit_mask}


def emit_szext(e: Emitter, i: Instruction) -> None:
    d, a, n = i.operands
    e.define(d, "b32", f"SZEXT({e.use(a, 'b32')},{e.use(n, 'u32')},{i.modifiers[-1] == 's32'},{'wrap' in i.modifiers})")


def emit_bmsk(e: Emitter, i: Instruction) -> None:
    d, b, c = i.operands
    e.define(d, "b32", f"BMSK({e.use(b, 'u32')},{e.use(c, 'u32')},{'wrap' not in i.modifiers})")


def emit_madc(e: Emitter, i: Instruction) -> None:
    """mad.{lo,hi}.cc and madc: the product, then an addition with carry."""
    type, how = i.modifiers[-1], i.modifiers[0]
    d, a, b, c = i.operands
    x, y, width = e.use(a, type), e.use(b, type), width_of(type)
    product = f"MULHI({x},{y},{width},{_is_signed(type)})" if how == "hi" else f"{MUL[width]}({x},{y})"
    carry = e.variable("%cc") if i.opcode == "madc" else "False"
    t = e.temporary()
    e.line(f"{t}=CARRY({product},{e.use(c, type)},{carry},{width},False)")
    e.define(d, type, f"{t}[0]")
    if "cc" in i.modifiers:
        slot = e.slot("%cc")
        e.loaded.add(slot)
        e.written.add(slot)
        e.line(f"r{slot}={t}[1]")


def _two(name: str, extra: bool = True):
    def emit(e: Emitter, i: Instruction) -> None:
        type = i.modifiers[-1]
        d, a, b = i.operands
        tail = f",{width_of(type)},{_is_signed(type)}" if extra else ""
        e.define(d, type, f"{name}({e.use(a, type)},{e.use(b, type)}{tail})")

    return emit


def emit_shift(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b = i.operands
    tail = f",{width_of(type)}" + (f",{_is_signed(type)}" if i.opcode == "shr" else "")
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


def _one(name: str, result: str | None = None):
    def emit(e: Emitter, i: Instruction) -> None:
        type = i.modifiers[-1]
        d, a = i.operands
        e.define(d, result or type, f"{name}({e.use(a, type)},{width_of(type)})")

    return emit


def emit_bfind(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a = i.operands
    e.define(d, "u32", f"BFIND({e.use(a, type)},{width_of(type)},{_is_signed(type)},{'shiftamt' in i.modifiers})")


def emit_bfe(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b, c = i.operands
    e.define(d, type, f"BFE({e.use(a, type)},{e.use(b, 'u32')},{e.use(c, 'u32')},{width_of(type)},{_is_signed(type)})")


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


def emit_sad(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b, c = i.operands
    e.define(d, type, f"SAD({e.use(a, type)},{e.use(b, type)},{e.use(c, type)},{width_of(type)},{_is_signed(type)})")


def emit_dp4a(e: Emitter, i: Instruction) -> None:
    d, a, b, c = i.operands
    ta, tb = i.modifiers[-2:]
    e.define(d, "b32", f"DP4A({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{_is_signed(ta)},{_is_signed(tb)})")


def emit_dp2a(e: Emitter, i: Instruction) -> None:
    d, a, b, c = i.operands
    ta, tb = i.modifiers[-2:]
    e.define(d, "b32", f"DP2A({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{_is_signed(ta)},{_is_signed(tb)},{'hi' in i.modifiers})")


def emit_lop3(e: Emitter, i: Instruction) -> None:
    d, a, b, c, table = i.operands[:5]
    if len(i.operands) > 5:
        raise e.unsupported("with a predicate result")
    e.define(d, "b32", f"LOP3({e.use(a, 'b32')},{e.use(b, 'b32')},{e.use(c, 'b32')},{table.value & 0xFF})")  # type: ignore[union-attr]


EMIT = {
    "addc": emit_add, "subc": emit_add, "madc": emit_madc, "mul24": emit_mul, "mad24": emit_mul, "shl": emit_shift, "shr": emit_shift, "and": emit_logic, "or": emit_logic, "xor": emit_logic, "not": emit_not,
    "cnot": lambda e, i: e.define(i.operands[0], i.modifiers[-1], f"SELI(tidy({e.use(i.operands[1], i.modifiers[-1])}==0),1,0,{width_of(i.modifiers[-1])})"),
    "popc": _one("POPC", "u32"), "clz": _one("CLZ", "u32"), "brev": _one("BREV"), "bfind": emit_bfind, "bfe": emit_bfe, "bfi": emit_bfi,
    "prmt": emit_prmt, "shf": emit_shf, "sad": emit_sad, "dp4a": emit_dp4a, "dp2a": emit_dp2a, "lop3": emit_lop3, "szext": emit_szext, "bmsk": emit_bmsk, "rem": _two("REMI"),
}  # fmt: skip
