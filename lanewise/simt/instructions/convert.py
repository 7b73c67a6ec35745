"""cvt: conversions between integer widths and floating-point formats (PTX ISA 9.7.9, "cvt")."""

from __future__ import annotations

import numpy as np

from ..codegen import Emitter, width_of
from ..ptx import Instruction
from ..values import MASK, SIGNED, UNSIGNED, Split, as_signed, f16, f32, f64, full, i64, ndarray, signed, u16, u32, u64, widen

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
    scalar = x.__class__ is int
    value = [signed(x & MASK[src], src) if src_signed else x & MASK[src]] if scalar else as_signed(full(x).astype(UNSIGNED[src]), src) if src_signed else full(x).astype(UNSIGNED[src])
    low, high = (-(1 << dst - 1), (1 << dst - 1) - 1) if dst_signed else (0, MASK[dst])
    if scalar:
        return min(max(value[0], low), high) & MASK[dst]
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


def float_to_int(x, how: str, width: int, is_signed: bool):
    """Rounded, clamped to the range; NaN gives 0 (0x8000… for 64 bits: what the hardware returns)."""
    scalar = x.__class__ is not ndarray
    x = np.asarray(x)
    wide = ROUND_TO_INTEGER[how](x.astype(f64))
    low, high = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if is_signed else (0.0, 2.0**width)
    nan = np.isnan(wide)
    inside = np.where(nan | (wide < low) | (wide >= high), 0.0, wide)
    out = inside.astype(i64).view(u64) if is_signed or width < 64 else inside.astype(u64)
    out = np.where(wide >= high, u64((1 << width - 1) - 1 if is_signed else MASK[width]), out)
    out = np.where(wide < low, u64(MASK[64] ^ ((1 << width - 1) - 1)) if is_signed else u64(0), out)
    if width == 64:
        out = np.where(nan, u64(1 << 63), out)
    out = out.astype(UNSIGNED[width])
    return int(out) if scalar else out


def float_to_float(x, type):
    return x.astype(type) if x.__class__ is ndarray else type(x)


def narrowed(x, how: str):
    """float64 → float32 with rounding rz, rm or rp."""
    from .floating import _directed

    out = _directed(np.asarray(x), np.zeros(np.shape(x)), how)
    return out if x.__class__ is ndarray else out[()]


def round_float(x, how: str):
    out = ROUND_TO_INTEGER[how](x)
    return out if out.__class__ is ndarray else x.__class__(out)


def half_to_float(x, type=f32):
    """The bits of an fp16 → float."""
    if x.__class__ is int:
        return u16(x & M16).view(f16).astype(type)
    return np.ascontiguousarray(full(x).astype(u16)).view(f16).astype(type)


M16 = 0xFFFF


def float_to_half(x, how: str = "rn"):
    """float32/64 → the bits of an fp16, as b16. A NaN becomes 0x7fff."""
    scalar = x.__class__ is not ndarray
    a = np.asarray(x)
    near = a.astype(f16)
    if how != "rn":
        wide = near.astype(f64)
        down = (wide > a) & ((how == "rm") | ((how == "rz") & (a > 0)))
        up = (wide < a) & ((how == "rp") | ((how == "rz") & (a < 0)))
        near = np.where(down & (near == np.inf), f16(65504), np.where(down, np.nextafter(near, f16(-np.inf)), near))
        near = np.where(up & (near == -np.inf), f16(-65504), np.where(up, np.nextafter(near, f16(np.inf)), near))
    bits = np.where(np.isnan(a), u16(0x7FFF), near.astype(f16).view(u16))
    return int(bits) if scalar else bits


def bf16_to_float(x):
    return u32((x & M16) << 16).view(f32) if x.__class__ is int else (full(x).astype(u32) << u32(16)).view(f32)


def float_to_bf16(x, how: str = "rn"):
    """float32 → the bits of a bf16, to nearest even or towards zero. A NaN becomes 0x7fff."""
    scalar = x.__class__ is not ndarray
    bits = np.asarray(x, f32).view(u32)
    nan = np.isnan(x)
    up = bits if how == "rz" else bits + (u32(0x7FFF) + ((bits >> u32(16)) & u32(1)))
    out = np.where(nan, u16(0x7FFF), (up >> u32(16)).astype(u16))
    return int(out) if scalar else out


def float_to_tf32(x, how: str):
    """float32 → tf32 (10 bits of mantissa), as b32."""
    scalar = x.__class__ is not ndarray
    bits = np.asarray(x, f32).view(u32)
    if how == "rna":
        up = bits + u32(0x1000)
    elif how == "rn":
        up = bits + (u32(0xFFF) + ((bits >> u32(13)) & u32(1)))
    else:
        up = bits
    out = np.where(np.isfinite(x), up & u32(0xFFFFE000), bits)
    return int(out) if scalar else out


def pack2(high, low):
    """Two 16-bit halves as b32."""
    if high.__class__ is int and low.__class__ is int:
        return high << 16 | low
    high, low = (u32(x) if x.__class__ is int else x.astype(u32) for x in (high, low))
    return high << u32(16) | low


NAMES = {
    "RESIZE": resize, "SATI": saturated, "ITOF": int_to_float, "ITOFD": int_to_float_directed, "FTOI": float_to_int, "FTOF": float_to_float, "NARROW": narrowed,
    "ROUNDF": round_float, "HTOF": half_to_float, "FTOH": float_to_half, "BTOF": bf16_to_float, "FTOB": float_to_bf16, "FTOTF": float_to_tf32, "PACK2": pack2,
    "FP32": f32, "FP64": f64, "relu": lambda x: np.where(x > 0, x, x.dtype.type(0)) if x.__class__ is ndarray else x.__class__(x if x > 0 else 0),
}  # fmt: skip

_FLOATS = ("f16", "bf16", "f32", "f64")
_PACKED = {"f16x2": "FTOH", "bf16x2": "FTOB"}


def emit_cvt(e: Emitter, i: Instruction) -> None:
    to, source = i.modifiers[-2:]
    how = next((m for m in i.modifiers if m in ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")), "")
    d, a = i.operands[:2]
    if to in _PACKED and source == "f32" and len(i.operands) == 3:
        halves = [e.use(x, "f32") for x in i.operands[1:]]
        if "relu" in i.modifiers:
            halves = [f"relu({x})" for x in halves]
        f = _PACKED[to]
        e.define(d, "b32", f"PACK2({f}({halves[0]},{how!r}),{f}({halves[1]},{how!r}))")
        return
    if to == "tf32":
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
            made = f"{'FTOH' if to == 'f16' else 'FTOB'}(FTOF(ITOF({x},{width},{is_signed},FP64),FP32),{how!r})" if to == "bf16" else f"FTOH(ITOF({x},{width},{is_signed},FP64),{how!r})"
        elif how in ("", "rn"):
            made = f"ITOF({x},{width},{is_signed},FP{to[1:]})"
        else:
            made = f"ITOFD({x},{width},{is_signed},FP{to[1:]},{how!r})"
        e.define(d, to if to in ("f32", "f64") else "b16", made)
    elif source in _FLOATS:
        x = _read_float(e, a, source)
        width = width_of(to)
        made = f"FTOI({x},{how or 'rzi'!r},{width},{to[0] == 's'})"
        e.define(d, "b" + str(max(width, 16)), _into(e, d, made, width, to[0] == "s"))
    else:
        if to[0] not in "usb" or source[0] not in "usb":
            raise e.unsupported()
        src, dst = width_of(source), width_of(to)
        x = e.use(a, source if src >= 16 else "b32")
        if "sat" in i.modifiers:
            made = f"SATI({x},{src},{source[0] == 's'},{dst},{to[0] == 's'})"
        else:
            made = f"RESIZE({x},{src},{source[0] == 's'},{dst})"
        e.define(d, "b" + str(max(dst, 16)), _into(e, d, made, dst, to[0] == "s"))


def _into(e: Emitter, d, made: str, width: int, is_signed: bool) -> str:
    """The destination register may be wider than the type."""
    held = width_of(d.type)
    return f"RESIZE({made},{width},{is_signed},{held})" if held > width else made


def _read_float(e: Emitter, a, source: str) -> str:
    if source == "f16":
        return f"HTOF({e.use(a, 'b16')})"
    if source == "bf16":
        return f"BTOF({e.use(a, 'b16')})"
    return e.use(a, source)


def _float_to_float(e: Emitter, i: Instruction, to: str, source: str, how: str) -> None:
    d, a = i.operands[:2]
    x = _read_float(e, a, source)
    if how in ROUND_TO_INTEGER:
        x = f"ROUNDF({x},{how!r})"
    if "relu" in i.modifiers:
        x = f"relu({x})"
    if "sat" in i.modifiers:
        x = f"SAT({x})"
    if to == "f16":
        e.define(d, "b16", f"FTOH({x},{how if how in ('rz', 'rm', 'rp') else 'rn'!r})")
    elif to == "bf16":
        e.define(d, "b16", f"FTOB({x},{how if how == 'rz' else 'rn'!r})")
    elif to == "f32" and source == "f64":
        e.define(d, to, f"FTOF({x},FP32)" if how in ("", "rn") else f"NARROW({x},{how!r})")
    elif to == "f64":
        e.define(d, to, f"FTOF({x},FP64)")
    else:
        e.define(d, to, x)


EMIT = {"cvt": emit_cvt}
