"""float32 and float64 arithmetic (PTX ISA 9.7.3, 9.7.8). `.ftz` is done by the processor: see `fpmode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import arithmetic, values
from ..codegen import Emitter, width_of
from ..ptx import Instruction, Operand
from ..values import Value, f32, f64, ndarray, u32
from .rounded_once import directed32, directed64, fma32, fma64

ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")


def tidy_float(x: Value, type: Any) -> Value:
    return x if x.__class__ is ndarray else type(x)


def saturate(x: Value) -> Value:
    """[0, 1], NaN becomes +0."""
    out = np.where(x > 0, np.minimum(x, 1), 0).astype(x.dtype)
    return out if x.__class__ is ndarray else x.__class__(out)


def _zeros_in_order(pick: Callable, a: Value, b: Value, out: Value) -> Value:
    """−0 counts as less than +0: where both are zero the sign decides."""
    zero = (a == 0) & (b == 0)
    if not np.any(zero):
        return out
    sign = np.signbit(a) | np.signbit(b) if pick is np.fmin or pick is np.minimum else np.signbit(a) & np.signbit(b)
    return np.where(zero, np.where(sign, out.dtype.type(-0.0), out.dtype.type(0.0)), out)


def fmin(a: Value, b: Value) -> Value:
    return _canonical(np.fmin(a, b), a, b, np.fmin)


def fmax(a: Value, b: Value) -> Value:
    return _canonical(np.fmax(a, b), a, b, np.fmax)


def fmin_nan(a: Value, b: Value) -> Value:
    return _canonical(np.minimum(a, b), a, b, np.minimum)


def fmax_nan(a: Value, b: Value) -> Value:
    return _canonical(np.maximum(a, b), a, b, np.maximum)


def _canonical(out: Value, a: Value, b: Value, pick: Callable) -> Value:
    """Canonical NaN, zeros in order; a result without zeros and NaN (nearly all) costs one pass more."""
    if out.__class__ is not ndarray:
        if out != out:
            return CANONICAL[out.__class__]
        return out.__class__(_zeros_in_order(pick, a, b, out)) if out == 0 else out
    if (out == 0).any():
        out = _zeros_in_order(pick, a, b, out)
    return out


CANONICAL = {f32: u32(0x7FFFFFFF).view(f32), f64: np.uint64(0x7FF8000000000000).view(f64)}


def compare_float(op: str) -> Callable:
    """Comparison with NaN as PTX has it: `lt` … are false with a NaN, `ltu` … true."""
    ordered = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal}
    if op in ordered:
        f = ordered[op]
        return lambda a, b: values.tidy(f(a, b))
    if op == "ne":
        return lambda a, b: values.tidy((a < b) | (a > b))
    if op == "neu":
        return lambda a, b: values.tidy(a != b)
    opposite = {"ltu": np.greater_equal, "leu": np.greater, "gtu": np.less_equal, "geu": np.less}
    if op in opposite:
        f = opposite[op]
        return lambda a, b: values.tidy(np.logical_not(f(a, b)))
    if op == "equ":
        return lambda a, b: values.tidy(~((a < b) | (a > b)))
    if op == "num":
        return lambda a, b: values.tidy((a == a) & (b == b))
    return lambda a, b: values.tidy((a != a) | (b != b))


def approx(f: Callable, type: Any = f32) -> Callable:
    """A function evaluated in float64 and rounded once: closer than the hardware's approximation."""
    return lambda x: f(np.asarray(x, f64)).astype(type) if x.__class__ is ndarray else type(f(f64(x)))


def _ex2(x: Value) -> Value:
    return np.exp2(x)


def copysign(sign: Value, x: Value) -> Value:
    return tidy_float(np.copysign(x, sign), x.dtype.type)


def negative(x: Value) -> Value:
    return np.negative(x)


def flush(x: Value) -> Value:
    """Subnormal float32 → zero of the same sign."""
    small = np.abs(x) < TINY
    return np.where(small, np.copysign(f32(0), x), x).astype(f32) if x.__class__ is ndarray else np.copysign(f32(0), x) if small else x


TINY = np.finfo(f32).tiny


NAMES = {
    "FMA32": fma32, "FMA64": fma64, "DIR32": directed32, "DIR64": directed64, "SAT": saturate, "FMIN": fmin, "FMAX": fmax, "FMINN": fmin_nan, "FMAXN": fmax_nan,
    "SQRT": np.sqrt, "ABSF": np.abs, "NEGF": negative, "EX2": _ex2, "LG2": np.log2, "SIN": approx(np.sin), "COS": approx(np.cos), "TANH": approx(np.tanh),
    "RCP32": lambda x: f32(1) / x, "RCP64": lambda x: f64(1) / x, "RSQRT32": approx(lambda x: 1 / np.sqrt(x)), "RSQRT64": approx(lambda x: 1 / np.sqrt(x), f64),
    "FZ": flush, "ONE32": f32(1), "COPYSIGN": copysign, "TESTP": lambda how, x: values.tidy(_test(how, x)),
    **{f"FCMP_{op}": compare_float(op) for op in ("lt", "le", "gt", "ge", "eq", "ne", "ltu", "leu", "gtu", "geu", "equ", "neu", "num", "nan")},
    **{f"ICMP_{op}_{w}_{s}": arithmetic.comparison(op, w, s) for op in ("lt", "le", "gt", "ge", "eq", "ne") for w in (8, 16, 32, 64) for s in (True, False)},
}  # fmt: skip


def _test(how: str, x: Value) -> Value:
    tiny = np.finfo(x.dtype).tiny
    return {
        "finite": np.isfinite(x), "infinite": np.isinf(x), "number": x == x, "notanumber": x != x,
        "normal": np.isfinite(x) & (np.abs(x) >= tiny), "subnormal": (np.abs(x) < tiny) & (x != 0),
    }[how]  # fmt: skip


def rounding(i: Instruction) -> str:
    return next((m for m in i.modifiers if m in ROUNDINGS), "rn")


def finish(e: Emitter, i: Instruction, made: str, kept: bool = False, type: str = "") -> None:
    """Saturate and flush the result. `kept`: an operation that the processor's own flushing leaves alone (min, abs, directed rounding).

    `type`: of the result, where it isn't the last part of the mnemonic.
    """
    if "sat" in i.modifiers:
        made = f"SAT({made})"
    if "ftz" in i.modifiers and (kept or e.code.program.flush == "explicit"):
        made = f"FZ({made})" if e.code.program.flush == "explicit" else f"({made}*ONE32)"
    e.define(i.operands[0], type or i.modifiers[-1], made)


def read(e: Emitter, i: Instruction, operand: Operand, type: str) -> str:
    """An operand, flushed where the processor doesn't do it."""
    x = e.use(operand, type)
    return f"FZ({x})" if "ftz" in i.modifiers and type == "f32" and e.code.program.flush == "explicit" else x


def emit_two(e: Emitter, i: Instruction) -> None:
    """add, sub, mul."""
    type = i.modifiers[-1]
    how, op = rounding(i), i.opcode
    if op != "mul" and not any(m in ROUNDINGS for m in i.modifiers):
        fused = contracted(e, i, type)
        if fused:
            finish(e, i, fused)
            return
    a, b = (read(e, i, x, type) for x in i.operands[1:3])
    if how == "rn":
        made = f"({a}{ {'add': '+', 'sub': '-', 'mul': '*'}[op] }{b})"
    else:
        made = f"DIR{type[1:]}({'add' if op == 'sub' else op!r},{how!r},{a},{'-' if op == 'sub' else ''}{b})".replace("(add,", "('add',")
    finish(e, i, made, how != "rn")


def contracted(e: Emitter, i: Instruction, type: str) -> str:
    """a·b ± c as one fma where ptxas makes one: an add or sub, and a mul that nothing else uses, both without a rounding modifier."""
    first, second = i.operands[1:3]
    minus = i.opcode == "sub"
    for product, other, second_place in ((second, first, True), (first, second, False)):
        factors = e.single_product(product, i)
        if factors is None:
            continue
        x, y, c = (read(e, i, o, type) for o in (*factors, other))
        if minus:
            x, c = (f"(-{x})", c) if second_place else (x, f"(-{c})")
        return f"FMA{type[1:]}({x},{y},{c})"
    return ""


def emit_fma(e: Emitter, i: Instruction) -> None:
    type, how = i.modifiers[-1], rounding(i)
    a, b, c = (read(e, i, x, type) for x in i.operands[1:4])
    finish(e, i, f"FMA{type[1:]}({a},{b},{c})" if how == "rn" else f"DIR{type[1:]}('fma',{how!r},{a},{b},{c})", how != "rn")


def emit_div(e: Emitter, i: Instruction) -> None:
    type, how = i.modifiers[-1], rounding(i)
    a, b = (read(e, i, x, type) for x in i.operands[1:3])
    finish(e, i, f"({a}/{b})" if how == "rn" else f"DIR{type[1:]}('div',{how!r},{a},{b})", how != "rn")


def emit_one(e: Emitter, i: Instruction) -> None:
    type, how = i.modifiers[-1], rounding(i)
    x = read(e, i, i.operands[1], type)
    name = {"sqrt": "SQRT", "abs": "ABSF", "neg": "NEGF", "ex2": "EX2", "lg2": "LG2", "sin": "SIN", "cos": "COS", "tanh": "TANH"}.get(i.opcode)
    if i.opcode in ("rcp", "rsqrt"):
        name = i.opcode.upper() + type[1:]
    if how != "rn":
        one = e.constant((f32 if type == "f32" else f64)(1))
        made = f"DIR{type[1:]}('div',{how!r},{one},{x})" if i.opcode == "rcp" else f"DIR{type[1:]}('sqrt',{how!r},{x},{x})"
    else:
        made = f"{name}({x})"
    finish(e, i, made, how != "rn" or i.opcode in ("abs", "neg"))


def emit_min(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    if "xorsign" in i.modifiers:
        raise e.unsupported()
    names = [read(e, i, x, type) for x in i.operands[1:]]
    f = ("FMIN" if i.opcode == "min" else "FMAX") + ("N" if "NaN" in i.modifiers else "")
    made = names[0]
    for other in names[1:]:
        made = f"{f}({made},{other})"
    if "abs" in i.modifiers:
        raise e.unsupported()
    finish(e, i, made, True)


def emit_copysign(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    e.define(i.operands[0], type, f"COPYSIGN({e.use(i.operands[1], type)},{e.use(i.operands[2], type)})")


def emit_testp(e: Emitter, i: Instruction) -> None:
    if i.modifiers[0] not in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        raise e.unsupported()
    e.define(i.operands[0], "pred", f"TESTP({i.modifiers[0]!r},{e.use(i.operands[1], i.modifiers[-1])})")


def comparison_text(e: Emitter, op: str, type: str, a: Operand, b: Operand) -> str:
    """An expression for `a op b`, a predicate."""
    assert e.instruction is not None
    x, y = read(e, e.instruction, a, type), read(e, e.instruction, b, type)
    if type in ("f32", "f64"):
        return f"FCMP_{op}({x},{y})"
    if type == "pred":
        raise e.unsupported()
    op = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(op, op)
    return f"ICMP_{op}_{width_of(type)}_{type[0] == 's'}({x},{y})"


EMIT = {"copysign": emit_copysign, "testp": emit_testp, "ex2": emit_one, "lg2": emit_one, "sin": emit_one, "cos": emit_one, "tanh": emit_one,
        "rcp": emit_one, "rsqrt": emit_one, "sqrt": emit_one, "fma": emit_fma}  # fmt: skip
