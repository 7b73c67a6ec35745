"""Arithmetic and comparisons of f16, f16x2, bf16 and bf16x2 (PTX ISA 9.7.4, 9.7.6, "half precision").

A register holds bits. Sums and products are computed in a wider format, in which they are exact or whose rounding can't be seen, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..blocks import Block, reads, writes
from ..codegen import Emitter
from ..ptx import Instruction, Reg, Vector
from ..values import UNSIGNED, f16, f32, f64, full, i16, ndarray, u16, u32
from .floating import compare_float
from .formats import NAN16, bf16_to_double, bf16_to_float, float_to_bf16, float_to_half, relu16, saturated16, to_odd
from .rounded_once import two_sum

SIGN, SIZE = u16(0x8000), u16(0x7FFF)


@dataclass(frozen=True, slots=True)
class Format:
    """`narrow`: bits → float, exact, for sums, products and comparisons; `wide`: → float64; `bits` rounds once."""

    narrow: Callable
    wide: Callable
    bits: Callable
    infinity: np.uint16
    one: np.uint16


FORMATS = {
    "f16": Format(lambda x: x.view(f16).astype(f32), lambda x: x.view(f16).astype(f64), float_to_half, u16(0x7C00), u16(0x3C00)),
    "bf16": Format(bf16_to_double, bf16_to_double, float_to_bf16, u16(0x7F80), u16(0x3F80)),
}


def is_nan(x: ndarray, infinity: np.uint16) -> ndarray:
    return x & SIZE > infinity


def _fma(form: Format, a: ndarray, b: ndarray, c: ndarray) -> ndarray:
    """The product is exact in float64. So is an f16 sum, unless an addend is too small to matter; a bf16 sum may fall on a tie, so it is rounded to odd."""
    product, c = form.wide(a) * form.wide(b), form.wide(c)
    if form is FORMATS["f16"]:
        return form.bits(product + c)
    s, error = two_sum(product, c)
    return form.bits(to_odd(s, np.where(np.isfinite(error), error, 0.0)))


def _ordered(x: ndarray) -> ndarray:
    """Bits as integers in the order of the numbers, −0 below +0; its own inverse."""
    x = x.view(i16)
    return (x ^ (x >> i16(15) & i16(0x7FFF))).view(i16)


def _extreme(pick: Callable, keeps_nan: bool) -> Callable:
    def extreme(form: Format, *operands: ndarray) -> ndarray:
        a = operands[0]
        for b in operands[1:]:
            out = _ordered(pick(_ordered(a), _ordered(b))).view(u16)
            left, right = is_nan(a, form.infinity), is_nan(b, form.infinity)
            if left.any() or right.any():
                out = np.where(left | right, NAN16, out) if keeps_nan else np.where(left, np.where(right, NAN16, b), np.where(right, a, out))
            a = out
        return a

    return extreme


def _rounded(f: Callable) -> Callable:
    def two(form: Format, a: ndarray, b: ndarray) -> ndarray:
        if form is FORMATS["bf16"]:  # float32 will do, unless subnormals occur, which the processor may drop
            s = f(bf16_to_float(a), bf16_to_float(b))
            if not (_subnormal(a).any() or _subnormal(b).any() or (np.abs(s) < SMALL).any()):
                return form.bits(s)
        return form.bits(f(form.narrow(a), form.narrow(b)))

    return two


SMALL = f32(2.0**-125)


def _subnormal(x: ndarray) -> ndarray:
    return (x & SIZE) - u16(1) < u16(0x7F)


def _in_double(f: Callable) -> Callable:
    return lambda form, x: form.bits(f(form.wide(x)))


# f(form, bits…) → bits
OPERATIONS: dict[str, Callable] = {
    "add": _rounded(np.add), "sub": _rounded(np.subtract), "mul": _rounded(np.multiply), "fma": _fma, "mad": _fma,
    "neg": lambda form, x: x ^ SIGN, "abs": lambda form, x: x & SIZE,
    "min": _extreme(np.minimum, False), "max": _extreme(np.maximum, False), "min.NaN": _extreme(np.minimum, True), "max.NaN": _extreme(np.maximum, True),
    "ex2": _in_double(np.exp2), "tanh": _in_double(np.tanh),
}  # fmt: skip


def _flushed(form: Format, x: ndarray) -> ndarray:
    """Subnormals become zeros of their sign."""
    return np.where(x & form.infinity == 0, x & SIGN, x)


def _xorsign(x: ndarray, operands: tuple) -> ndarray:
    sign = operands[0]
    for other in operands[1:]:
        sign = sign ^ other
    return x & SIZE | sign & SIGN


# ------------------------------------------------------------------------------------------------ registers


def halves(x, packed: bool) -> ndarray:
    """A register's bits as u16; the two halves of a packed one along a last axis of their own, the low one first."""
    dtype = u32 if packed else u16
    if x.__class__ is int:
        x = np.full((1, 1), x & (0xFFFFFFFF if packed else 0xFFFF), dtype)
    else:
        x = full(x)
        x = np.ascontiguousarray(x if x.dtype == dtype else x.astype(dtype))
    return x[..., None].view(u16) if packed else x


def register(x: ndarray, packed: bool, scalar: bool):
    """The opposite."""
    if packed:
        x = np.ascontiguousarray(x).view(u32)[..., 0]
    return int(x[0, 0]) if scalar else x


def arithmetic(operation: str, type: str, modifiers: frozenset[str], *operands):
    form, packed = FORMATS[type.removesuffix("x2")], type.endswith("x2")
    parts = tuple(halves(x, packed) for x in operands)
    if "ftz" in modifiers:
        parts = tuple(_flushed(form, x) for x in parts)
    out = _xorsign(OPERATIONS[operation](form, *(x & SIZE for x in parts)), parts) if "abs" in modifiers else OPERATIONS[operation](form, *parts)
    if "ftz" in modifiers:
        out = _flushed(form, out)
    if "sat" in modifiers:
        out = saturated16(out, int(form.one))
    if "relu" in modifiers:
        out = relu16(out)
    return register(out, packed, all(x.__class__ is int for x in operands))


def compared(op: str, type: str, ftz: bool, a, b) -> ndarray:
    """Comparison of u16 bits: a bool array shaped like `halves`."""
    form, packed = FORMATS[type.removesuffix("x2")], type.endswith("x2")
    x, y = halves(a, packed), halves(b, packed)
    if ftz:
        x, y = _flushed(form, x), _flushed(form, y)
    return compare_float(op)(form.narrow(x), form.narrow(y))


def predicate(p: ndarray, scalar: bool):
    return bool(p[0, 0]) if scalar else p


def compare(op: str, type: str, ftz: bool, a, b):
    """A predicate; for packed halves one for each."""
    p = compared(op, type, ftz, a, b)
    scalar = a.__class__ is int and b.__class__ is int
    return (predicate(p[..., 0], scalar), predicate(p[..., 1], scalar)) if type.endswith("x2") else predicate(p, scalar)


def chosen(how: str, p, c):
    """A comparison's result combined with a predicate register."""
    return p & c if how == "and" else p | c if how == "or" else p ^ c


def set_half(op: str, to: str, type: str, ftz: bool, how: str, a, b, c):
    """1.0 or all ones where the comparison holds, 0 elsewhere, in a result of type `to`."""
    p = compared(op, type, ftz, a, b)
    if how:
        p = chosen(how, p, np.asarray(c).reshape(np.shape(c) or (1, 1))[..., None] if p.ndim == 3 else c)
    scalar = a.__class__ is int and b.__class__ is int and np.ndim(c) == 0
    p = np.asarray(p)
    if to in ("f16", "bf16", "f16x2", "bf16x2"):
        return register(np.where(p, FORMATS[to.removesuffix("x2")].one, u16(0)), to.endswith("x2"), scalar)
    if type.endswith("x2"):
        return register(np.where(p, u16(0xFFFF), u16(0)), True, scalar)
    if to == "f32":
        out = np.where(p, f32(1), f32(0))
        return out[0, 0] if scalar else out
    dtype = UNSIGNED[int(to[1:])]
    out = np.where(p, ~dtype(0), dtype(0))
    return int(out[0, 0]) if scalar else out


# ------------------------------------------------------------------------------------------------ generated code

NAMES = {"HALF": arithmetic, "HCMP": compare, "HSET": set_half, "CHOSEN": chosen}
_CHANGE = frozenset(("ftz", "sat", "relu", "abs"))


def _names(e: Emitter) -> None:
    e.code.program.names(NAMES)


def _contractible(i: Instruction, *opcodes: str) -> bool:
    return i.opcode in opcodes and i.predicate is None and not {"rn", "sat", "ftz"} & set(i.modifiers)


def _product(block: Block, index: int) -> int | None:
    """ptxas joins a product and the sum that alone uses it into one fma, unless `.rn` forbids it; the PTX still has both. Which mul joins add `index`?"""
    i = block.instructions[index]
    if not _contractible(i, "add", "sub"):
        return None
    for operand in i.operands[1:]:
        if not isinstance(operand, Reg) or operand.name in block.live_out:
            continue
        made = next((k for k in range(index - 1, -1, -1) if operand.name in writes(block.instructions[k])), None)
        if made is None:
            continue
        mul = block.instructions[made]
        if not _contractible(mul, "mul") or mul.modifiers[-1] != i.modifiers[-1]:
            continue
        names = {x.name for x in mul.operands[1:] if isinstance(x, Reg)}
        between = block.instructions[made + 1 : index]
        uses = sum(reads(x).count(operand.name) for x in block.instructions[made + 1 :])
        if uses == 1 and not any(names & set(writes(x)) for x in between):
            return made
    return None


def _joined(block: Block, index: int) -> bool:
    """Whether the product `index` is computed as a part of a later sum."""
    return _contractible(block.instructions[index], "mul") and any(_product(block, k) == index for k in range(index + 1, len(block.instructions)))


def emit_arithmetic(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    _names(e)
    if i.opcode not in OPERATIONS or "oob" in i.modifiers:
        raise e.unsupported()
    name = i.opcode + (".NaN" if "NaN" in i.modifiers else "")
    held = "b32" if type.endswith("x2") else "b16"
    at = e.index - e.block.start
    if _joined(e.block, at):
        return
    product = _product(e.block, at)
    if product is not None:
        mul = e.block.instructions[product]
        a, b = (e.use(x, held) for x in mul.operands[1:])
        first = i.operands[1] == mul.operands[0]
        c = e.use(i.operands[2 if first else 1], held)
        if i.opcode == "sub":
            sign = e.constant(frozenset())
            a, c = (a, f"HALF('neg',{type!r},{sign},{c})") if first else (f"HALF('neg',{type!r},{sign},{a})", c)
        e.define(i.operands[0], held, f"HALF('fma',{type!r},{e.constant(frozenset())},{a},{b},{c})")
        return
    operands = ",".join(e.use(x, held) for x in i.operands[1:])
    change = e.constant(_CHANGE & set(i.modifiers))
    e.define(i.operands[0], held, f"HALF({name!r},{type!r},{change},{operands})")


def emit_setp_half(e: Emitter, i: Instruction) -> None:
    """One comparison: `p` and, if asked for, its opposite. Two halves: a predicate for each."""
    op, type = i.modifiers[0], i.modifiers[-1]
    _names(e)
    packed = type.endswith("x2")
    held = "b32" if packed else "b16"
    a, b = (e.use(x, held) for x in i.operands[1:3])
    d = i.operands[0]
    first, second = d.items if isinstance(d, Vector) else (d, None)
    t = e.temporary()
    e.line(f"{t}=HCMP({op!r},{type!r},{'ftz' in i.modifiers},{a},{b})")
    results = [f"{t}[0]", f"{t}[1]"] if packed else [t, f"NOT({t})"]
    if len(i.operands) > 3:
        how = next(m for m in i.modifiers if m in ("and", "or", "xor"))
        results = [f"CHOSEN({how!r},{x},{e.use(i.operands[3], 'pred')})" for x in results]
    e.define(first, "pred", results[0])
    e.define(second, "pred", results[1])


def emit_set_half(e: Emitter, i: Instruction) -> None:
    op, to, type = i.modifiers[0], i.modifiers[-2], i.modifiers[-1]
    _names(e)
    held = "b32" if type.endswith("x2") else "b16"
    a, b = (e.use(x, held) for x in i.operands[1:3])
    how, c = "", "None"
    if len(i.operands) > 3:
        how, c = next(m for m in i.modifiers if m in ("and", "or", "xor")), e.use(i.operands[3], "pred")
    result = "f32" if to == "f32" else "b32" if to[-2:] in ("32", "x2") else "b16"
    e.define(i.operands[0], result, f"HSET({op!r},{to!r},{type!r},{'ftz' in i.modifiers},{how!r},{a},{b},{c})")
