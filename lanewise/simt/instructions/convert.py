"""cvt: conversions between integer widths and floating-point formats (PTX ISA 9.7.9, "cvt")."""

from __future__ import annotations

import numpy as np

from ..arithmetic import as_signed, shl, widen
from ..codegen import Emitter, width_of
from ..ptx import Instruction
from ..values import MASK, SIGNED, UNSIGNED, Split, f32, f64, full, i64, ndarray, signed, u16, u32, u64
from .floating import finish, read
from .formats import (
    bf16_to_double,
    bf16_to_float,
    float_to_bf16,
    float_to_half,
    float_to_tf32,
    fp8_pair,
    fp8_part,
    half_to_float,
    relu16,
    saturated16,
    wide_integer,
)
from .rounded_once import directed

ROUND_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def resize(x, src: int, src_signed: bool, dst: int):
    """An integer of `src` bits as one of `dst` bits, extended by its sign if `src_signed`."""
    if x.__class__ is int:
        x &= MASK[src]
        return (signed(x, src) if src_signed else x) & MASK[dst]
    if src == 32 and dst == 64:
        if x.dtype != u32 if x.__class__ is ndarray else x.width != 32:
            x = full(x).astype(u32)
        return widen(x, src_signed)
    if x.__class__ is Split:
        if src == 64 and dst == 32 and x.width == 64:
            return Split(x.t, x.b, 32, x._range)
        x = x.full()
    if x.dtype != UNSIGNED[src]:  # cvt may read a wider register
        x = x.astype(UNSIGNED[src])
    return (x.view(SIGNED[src]) if src_signed else x).astype(SIGNED[dst] if src_signed else UNSIGNED[dst]).view(UNSIGNED[dst])


def saturated(x, src: int, src_signed: bool, dst: int, dst_signed: bool):
    """An integer clamped to the range of the destination."""
    low, high = (-(1 << dst - 1), (1 << dst - 1) - 1) if dst_signed else (0, MASK[dst])
    if x.__class__ is int:
        x &= MASK[src]
        return min(max(signed(x, src) if src_signed else x, low), high) & MASK[dst]
    value = full(x).astype(UNSIGNED[src])
    value = as_signed(value, src) if src_signed else value
    info = np.iinfo(value.dtype)
    out = np.clip(value, max(low, info.min), min(high, info.max))
    return out.astype(SIGNED[dst] if dst_signed else UNSIGNED[dst]).view(UNSIGNED[dst])


def int_to_float(x, width: int, is_signed: bool, type):
    if x.__class__ is int:
        x &= MASK[width]
        return (np.int64(signed(x, width)) if is_signed else u64(x)).astype(type)
    x = full(x)
    if x.dtype != UNSIGNED[width]:
        x = x.astype(UNSIGNED[width])
    return (x.view(SIGNED[width]) if is_signed else x).astype(type)


def int_to_float_directed(x, width: int, is_signed: bool, type, how: str):
    """Rounding rz, rm or rp."""
    scalar = x.__class__ is int
    exact = np.asarray(signed(x & MASK[width], width) if is_signed and scalar else x & MASK[width] if scalar else as_signed(x, width) if is_signed else full(x))
    near = exact.astype(type)
    big = exact.astype(object)
    error = np.vectorize(lambda e, n: (int(e) > int(n)) - (int(e) < int(n)), otypes=[np.int64])(big, near.astype(f64))
    down = (error < 0) & ((how == "rm") | ((how == "rz") & (near > 0)))
    up = (error > 0) & ((how == "rp") | ((how == "rz") & (near < 0)))
    out = np.where(down, np.nextafter(near, type(-np.inf)), np.where(up, np.nextafter(near, type(np.inf)), near)).astype(type)
    return out[()] if scalar else out


def float_to_int(x, how: str, width: int, is_signed: bool, nan_bits: int):
    """Rounded, clamped to the range; a NaN gives `nan_bits`."""
    scalar = x.__class__ is not ndarray
    x = np.asarray(x)
    wide = ROUND_TO_INTEGER[how](x.astype(f64))
    low, high = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if is_signed else (0.0, 2.0**width)
    nan = np.isnan(wide)
    inside = np.where(nan | (wide < low) | (wide >= high), 0.0, wide)
    out = inside.astype(i64).view(u64) if is_signed or width < 64 else inside.astype(u64)
    out = np.where(wide >= high, u64((1 << width - 1) - 1 if is_signed else MASK[width]), out)
    out = np.where(wide < low, u64(MASK[64] ^ ((1 << width - 1) - 1)) if is_signed else u64(0), out)
    if nan_bits:
        out = np.where(nan, u64(nan_bits), out)
    out = out.astype(UNSIGNED[width])
    return int(out) if scalar else out


def float_to_float(x, type):
    return x.astype(type) if x.__class__ is ndarray else type(x)


def narrowed(x, how: str):
    """float64 → float32 with rounding rz, rm or rp."""
    out = directed(np.asarray(x), np.zeros(np.shape(x)), how)
    return out if x.__class__ is ndarray else out[()]


def round_float(x, how: str):
    out = ROUND_TO_INTEGER[how](x)
    return out if out.__class__ is ndarray else x.__class__(out)


def pack2(high, low):
    """Two 16-bit halves as b32."""
    if high.__class__ is int and low.__class__ is int:
        return high << 16 | low
    high, low = (u32(x) if x.__class__ is int else x.astype(u32) for x in (high, low))
    return high << u32(16) | low


def join(width: int, a, b, high=0):
    """{high, a, b} in 32 bits, a and b of `width` bits."""
    out = resize(b, width, False, 32)
    for x, shift in ((resize(a, width, False, 32), width), (high, 2 * width)):
        out = out | (full(shl(x, shift, 32)) if shift < 32 else 0)
    return out


def finite16(x, largest: int):
    """`.satfinite`: an infinity as the largest finite number of its sign."""
    if x.__class__ is int:
        return x & 0x8000 | largest if x & 0x7FFF == largest + 1 else x
    return np.where(x & u16(0x7FFF) == largest + 1, x & u16(0x8000) | u16(largest), x)


NAMES = {
    "RESIZE": resize, "SATI": saturated, "ITOF": int_to_float, "ITOFD": int_to_float_directed, "FTOI": float_to_int, "FTOF": float_to_float, "NARROW": narrowed,
    "ROUNDF": round_float, "HTOF": half_to_float, "FTOH": float_to_half, "BTOF": bf16_to_float, "BTOD": bf16_to_double, "FTOB": float_to_bf16,
    "FTOTF": float_to_tf32,
    "ITOD": wide_integer, "PACK2": pack2, "RELU16": relu16, "SAT16": saturated16, "FINITE16": finite16, "JOIN": join, "FP8": fp8_pair, "FP8PART": fp8_part,
    "FP32": f32, "FP64": f64,
}  # fmt: skip

_FLOATS = ("f16", "bf16", "f32", "f64")
_PACKED = {"f16x2": "f16", "bf16x2": "bf16"}
_FP8 = {"e4m3x2": "e4m3", "e5m2x2": "e5m2"}


def emit_cvt(e: Emitter, i: Instruction) -> None:
    to, source = i.modifiers[-2:]
    how = next((m for m in i.modifiers if m in ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")), "")
    d, a = i.operands[:2]
    if to in _PACKED and source == "f32" and len(i.operands) == 3:
        high, low = (_to_half(e.use(x, "f32"), _PACKED[to], how, i.modifiers) for x in i.operands[1:])
        e.define(d, "b32", f"PACK2({high},{low})")
        return
    if to in _FP8 or source in _FP8:
        _fp8(e, i, to, source)
        return
    if "pack" in i.modifiers:
        _pack(e, i)
        return
    if to == "tf32":
        if not {"relu", "satfinite"}.isdisjoint(i.modifiers):
            raise e.unsupported()
        e.define(d, "b32", f"FTOTF({e.use(a, 'f32')},{how!r})")
        return
    if to in _FLOATS and source in _FLOATS:
        _float_to_float(e, i, to, source, how)
    elif to in _FLOATS:
        if source not in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
            raise e.unsupported()
        width, is_signed = width_of(source), source[0] == "s"
        x = e.use(a, source if width >= 16 else "u32")
        if to in ("f16", "bf16"):
            made = _to_half(f"ITOD({x},{width},{is_signed})", to, how, i.modifiers)
        elif how in ("", "rn"):
            made = f"ITOF({x},{width},{is_signed},FP{to[1:]})"
        else:
            made = f"ITOFD({x},{width},{is_signed},FP{to[1:]},{how!r})"
        if "sat" in i.modifiers and to in ("f32", "f64"):
            made = f"SAT({made})"
        e.define(d, to if to in ("f32", "f64") else "b16", made)
    elif source in _FLOATS:
        x = _read_float(e, i, a, source)
        width = width_of(to)
        nan = 1 << width - 1 if width == 64 or (width == 32 and source == "f64") else 0  # as an H200 gives
        made = f"FTOI({x},{how or 'rzi'!r},{width},{to[0] == 's'},{nan})"
        e.define(d, "b" + str(max(width, 16)), _into(e, d, made, width, to[0] == "s"))
    else:
        if to[0] not in "usb" or source[0] not in "usb":
            raise e.unsupported()
        src, dst = width_of(source), width_of(to)
        x = e.use(a, source if src >= 16 else "b32")
        made = f"SATI({x},{src},{source[0] == 's'},{dst},{to[0] == 's'})" if "sat" in i.modifiers else f"RESIZE({x},{src},{source[0] == 's'},{dst})"
        e.define(d, "b" + str(max(dst, 16)), _into(e, d, made, dst, to[0] == "s"))


def _into(e: Emitter, d, made: str, width: int, is_signed: bool) -> str:
    """The destination register may be wider than the type."""
    held = width_of(d.type)
    return f"RESIZE({made},{width},{is_signed},{held})" if held > width else made


def _read_float(e: Emitter, i: Instruction, a, source: str) -> str:
    if source == "f16":
        return f"HTOF({e.use(a, 'b16')})"
    if source == "bf16":
        return f"BTOD({e.use(a, 'b16')})"
    return read(e, i, a, source)


def _to_half(x: str, to: str, how: str, modifiers: tuple[str, ...]) -> str:
    """The bits of an f16 or bf16 from a float."""
    made = f"{'FTOH' if to == 'f16' else 'FTOB'}({x},{how if how in ('rz', 'rm', 'rp') else 'rn'!r})"
    if "satfinite" in modifiers:
        made = f"FINITE16({made},{0x7BFF if to == 'f16' else 0x7F7F})"
    if "relu" in modifiers:
        made = f"RELU16({made})"
    if "sat" in modifiers:
        made = f"SAT16({made},{0x3C00 if to == 'f16' else 0x3F80})"
    return made


def _float_to_float(e: Emitter, i: Instruction, to: str, source: str, how: str) -> None:
    d, a = i.operands[:2]
    if to == "f32" and source == "bf16":
        x = f"BTOF({e.use(a, 'b16')})"
        e.define(d, to, f"SAT({x})" if "sat" in i.modifiers else x)
        return
    x = _read_float(e, i, a, source)
    if how in ROUND_TO_INTEGER:
        x = f"ROUNDF({x},{how!r})"
    if to in ("f16", "bf16"):
        e.define(d, "b16", _to_half(x, to, how, i.modifiers))
        return
    directed = to == "f32" and source == "f64" and how not in ("", "rn")
    if directed:
        x = f"NARROW({x},{how!r})"
    elif to != source:
        x = f"FTOF({x},FP{to[1:]})"
    if to == "f32":
        finish(e, i, x, directed, to)
    else:
        e.define(d, to, f"SAT({x})" if "sat" in i.modifiers else x)


def _pack(e: Emitter, i: Instruction) -> None:
    """cvt.pack: two integers clamped to 8 or 16 bits, above them the low bits of a third."""
    to, source = i.modifiers[2:4]
    width = width_of(to)
    if width < 8 or source != "s32":
        raise e.unsupported()
    parts = [f"SATI({e.use(x, 's32')},32,True,{width},{to[0] == 's'})" for x in i.operands[1:3]]
    high = f",{e.use(i.operands[3], 'b32')}" if len(i.operands) > 3 else ""
    e.define(i.operands[0], "b32", f"JOIN({width},{parts[0]},{parts[1]}{high})")


def _fp8(e: Emitter, i: Instruction, to: str, source: str) -> None:
    """Pairs of 8-bit floats from f32 and f16x2, and back to f16x2."""
    d, operands = i.operands[0], i.operands[1:]
    if to in _FP8 and source == "f32" and len(operands) == 2:
        high, low = (e.use(x, "f32") for x in operands)
    elif to in _FP8 and source == "f16x2":
        x = e.use(operands[0], "b32")
        high, low = f"HTOF(UNPACK({x},1,16))", f"HTOF(UNPACK({x},0,16))"
    elif source in _FP8 and to == "f16x2":
        x = e.use(operands[0], "b16")
        high, low = (_to_half(f"FP8PART({_FP8[source]!r},{x},{k})", "f16", "rn", i.modifiers) for k in (1, 0))
        made = f"PACK2({high},{low})"
        e.define(d, "b32", made)
        return
    else:
        raise e.unsupported()
    e.define(d, "b16", f"FP8({_FP8[to]!r},{high},{low},{'relu' in i.modifiers})")


EMIT = {"cvt": emit_cvt}
