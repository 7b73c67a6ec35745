"""Bits of the small floating-point formats ↔ numbers: f16, bf16, tf32, e4m3, e5m2. Every rounding is done once, and by integer operations where the
processor may be told to take subnormals for zero (see `fpmode`)."""

from __future__ import annotations

import numpy as np

from ..values import f16, f32, f64, full, i64, ndarray, u8, u16, u32, u64

M16 = 0xFFFF
NAN16 = u16(0x7FFF)


def exact64(x: ndarray) -> ndarray:
    """float32 → float64, subnormals included."""
    wide = x.astype(f64)
    bits = x.view(u32)
    small = (bits & u32(0x7F800000) == 0) & (bits & u32(0x7FFFFFFF) != 0)
    if small.any():
        tiny = (bits & u32(0x7FFFFF)).astype(f64) * 2.0**-149
        wide = np.where(small, np.where(bits >> u32(31) != 0, -tiny, tiny), wide)
    return wide


def _wide(x) -> ndarray:
    x = np.asarray(x)
    return exact64(x) if x.dtype == f32 else x


def relu16(x):
    """Bits of an f16 or bf16, negative numbers as +0. A NaN is canonical here and has no sign."""
    return (0 if x >> 15 else x) if x.__class__ is int else np.where(x >> u16(15) != 0, u16(0), x)


def saturated16(x, one: int):
    """The same between 0 and 1 (whose bits are `one`); a NaN becomes +0."""
    if x.__class__ is int:
        return 0 if x >> 15 or x == 0x7FFF else min(x, one)
    return np.where((x >> u16(15) != 0) | (x == NAN16), u16(0), np.minimum(x, u16(one)))


# ------------------------------------------------------------------------------------------------ f16


def half_to_float(x, type=f32):
    """The bits of an fp16 → float."""
    if x.__class__ is int:
        return u16(x & M16).view(f16).astype(type)
    return np.ascontiguousarray(full(x).astype(u16)).view(f16).astype(type)


def float_to_half(x, how: str = "rn"):
    """float32/64 → the bits of an fp16, as b16. A NaN becomes 0x7fff."""
    scalar = x.__class__ is not ndarray
    near = np.asarray(x).astype(f16)
    if how != "rn":
        a, wide = _wide(x), near.astype(f64)
        down = (wide > a) & ((how == "rm") | ((how == "rz") & (a > 0)))
        up = (wide < a) & ((how == "rp") | ((how == "rz") & (a < 0)))
        near = np.where(down, np.nextafter(near, f16(-np.inf)), near)
        near = np.where(up, np.nextafter(near, f16(np.inf)), near)
    bits = np.where(np.isnan(near), NAN16, near.view(u16))
    return int(bits) if scalar else bits


# ------------------------------------------------------------------------------------------------ bf16


def bf16_to_float(x):
    return u32((x & M16) << 16).view(f32) if x.__class__ is int else (full(x).astype(u32) << u32(16)).view(f32)


def bf16_to_double(x):
    """The same in float64, subnormals included."""
    if x.__class__ is int:
        return f64(bf16_to_double(np.array([x & M16], u16))[0])
    x = full(x)
    wide = bf16_to_float(x).astype(f64)
    size = x.astype(u16) & NAN16
    small = size - u16(1) < u16(0x7F)
    if small.any():
        tiny = size * 2.0**-133
        wide = np.where(small, np.where(x >> x.dtype.type(15) & x.dtype.type(1) != 0, -tiny, tiny), wide)
    return wide


def float_to_bf16(x, how: str = "rn"):
    """float32/64 → the bits of a bf16. A NaN becomes 0x7fff."""
    scalar = x.__class__ is not ndarray
    x = np.asarray(x)
    bits = _from_double(x, how) if x.dtype == f64 else _cut(x.view(u32), 16, how).astype(u16)
    bits = np.where(np.isnan(x), NAN16, bits)
    return int(bits) if scalar else bits


def _cut(bits: ndarray, low: int, how: str) -> ndarray:
    """Drop the last `low` bits of a float's bits, rounding its magnitude or value as `how` says."""
    one = bits.dtype.type
    half, everything = one((1 << low - 1) - 1), one((1 << low) - 1)
    if how == "rn":
        bits = bits + (half + (bits >> one(low) & one(1)))
    elif how != "rz":
        negative = bits >> one(8 * bits.itemsize - 1) != 0
        bits = bits + np.where(negative == (how == "rm"), everything, one(0))
    return bits >> one(low)


def _from_double(x: ndarray, how: str) -> ndarray:
    cut = _cut(x.view(u64), 45, how)
    sign = (cut >> u64(18) << u64(15)).astype(u16)
    size = (cut & u64(0x3FFFF)).astype(i64) - (896 << 7)  # float64's exponent bias is larger by 896
    over = size >= 0x7F80
    if over.any():
        largest = np.where((sign != 0) == (how == "rm"), 0x7F80, 0x7F7F) if how in ("rm", "rp") else 0x7F7F if how == "rz" else 0x7F80
        size = np.where(over, np.where(np.isinf(x), 0x7F80, largest), size)
    tiny = np.abs(x) < 2.0**-126
    if tiny.any():
        rounded = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}[how]
        size = np.where(tiny, np.abs(rounded(np.where(tiny, x, 0.0) * 2.0**133)).astype(i64), size)
    return size.astype(u16) | sign


def to_odd(s: ndarray, error: ndarray) -> ndarray:
    """float64 s + error rounded to odd: rounding that once more, to far fewer bits, gives what one rounding of the exact sum gives."""
    bits = s.view(i64)
    step = np.where((error > 0) == (s > 0), 1, -1)
    inexact = (error != 0) & (bits & 1 == 0) & np.isfinite(s)
    return np.where(inexact, bits + step, bits).view(f64)


def wide_integer(x, width: int, is_signed: bool):
    """An integer as a float64 that rounds to a small format as the integer itself would: bits that don't fit leave a trace."""
    from ..values import MASK, UNSIGNED, signed

    if x.__class__ is int:
        value = signed(x & MASK[width], width) if is_signed else x & MASK[width]
        return f64((value >> 11 | int(value & 0x7FF != 0)) << 11) if abs(value) >= 1 << 53 else f64(value)
    x = full(x)
    x = x if x.dtype == UNSIGNED[width] else x.astype(UNSIGNED[width])
    x = x.view(f"i{width // 8}") if is_signed else x
    if width < 64:
        return x.astype(f64)
    one = x.dtype.type
    traced = (x >> one(11) | (x & one(0x7FF) != 0)) << one(11)
    return np.where((x >= one(1 << 53)) | ((x <= one(-(1 << 53))) if is_signed else False), traced, x).astype(f64)


# ------------------------------------------------------------------------------------------------ tf32


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


# ------------------------------------------------------------------------------------------------ fp8


class Fp8:
    """An 8-bit format by its table of values. Overflow saturates: `.satfinite` is the only way there is to convert to it."""

    def __init__(self, exponent: int, mantissa: int, last: int, infinity: bool):
        """`last`: the code of the largest finite value."""
        codes = np.arange(128)
        bias = (1 << exponent - 1) - 1
        e, m = codes >> mantissa, codes & ((1 << mantissa) - 1)
        values = np.where(e == 0, m * 2.0 ** (1 - bias - mantissa), (1 + m / (1 << mantissa)) * 2.0 ** (e - bias))
        self.finite = values[: last + 1]
        values[last + 1 :] = np.nan
        if infinity:
            values[last + 1] = np.inf
        self.values = np.concatenate((values, -values))
        self.between = (self.finite[1:] + self.finite[:-1]) / 2

    def decode(self, bits):
        """8-bit codes → float32, exact."""
        out = self.values[np.asarray(bits) & 0xFF].astype(f32)
        return f32(out) if bits.__class__ is int else out

    def encode(self, x):
        """float → codes, to nearest even; a NaN becomes 0x7f."""
        scalar = x.__class__ is not ndarray
        wide = np.asarray(x).astype(f64)
        size = np.abs(wide)
        code = np.searchsorted(self.between, size)
        tie = (code & 1 == 1) & (self.between[np.minimum(code, len(self.between) - 1)] == size)
        code = (code + tie).astype(u8) | np.where(np.signbit(wide), u8(0x80), u8(0))
        out = np.where(np.isnan(wide), u8(0x7F), code)
        return int(out) if scalar else out


FP8 = {"e4m3": Fp8(4, 3, 0x7E, False), "e5m2": Fp8(5, 2, 0x7B, True)}


def fp8_pair(name: str, high, low, relu: bool = False):
    """Two numbers as e4m3x2 or e5m2x2, a b16; with `relu` negative ones become +0."""
    high, low = FP8[name].encode(high), FP8[name].encode(low)
    if high.__class__ is int and low.__class__ is int:
        pair = high << 8 | low
    else:
        high, low = (u16(x) if x.__class__ is int else x.astype(u16) for x in (high, low))
        pair = high << u16(8) | low
    if relu:
        pair &= ~((pair >> 7 & 0x101) * 0xFF)
    return pair


def fp8_part(name: str, x, k: int):
    """Number k (0: the low one) of a pair, as float32."""
    return FP8[name].decode(x >> 8 * k & 0xFF if x.__class__ is int else full(x) >> u16(8 * k) & u16(0xFF))
