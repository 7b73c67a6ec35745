"""Integer arithmetic of 8, 16, 32 and 64 bits, signed and unsigned."""

from __future__ import annotations

import numpy as np

from .case import Case
from .table import Row, crossed, table

I32 = np.array([0, 1, -1, 2, 7, 31, 32, 33, 255, -256, 65535, 0x12345678, -0x12345678, 2**31 - 1, -(2**31), -(2**31) + 1], np.int32)
I64 = np.array([0, 1, -1, 2, 31, 33, 63, 64, 65, 2**31 - 1, 2**31, 2**32, -(2**32) - 1, 0x123456789ABCDEF0, 2**63 - 1, -(2**63)], np.int64)
I16 = np.array([0, 1, -1, 2, 15, 16, 127, 128, 255, 256, 32767, -32768], np.int16)
I8 = np.array([0, 1, -1, 2, 7, 8, 100, 127, -128], np.int8)


def words(dtype):
    info = np.iinfo(dtype)
    return lambda rng, n: rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def wrap(values: list[int], dtype):
    """The low bits of Python integers of any size."""
    bits = np.iinfo(dtype).bits
    unsigned = np.array([int(v) & ((1 << bits) - 1) for v in values], dtype=f"u{bits // 8}")
    return unsigned.view(dtype) if np.iinfo(dtype).min else unsigned


def by_element(function, dtype):
    """A row whose answer is worked out on Python integers, one element at a time."""
    return lambda *columns: wrap([function(*(int(v) for v in row)) for row in zip(*columns, strict=True)], dtype)


def quotient(a, b):
    """C's division: towards zero; 0 where the table's guard skips it."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return 0 if b == 0 else a - b * quotient(a, b)


def bits_of(a, width=32):
    return a & ((1 << width) - 1)


def popcount(a, width=32):
    return bits_of(a, width).bit_count()


def leading_zeros(a, width=32):
    return width - bits_of(a, width).bit_length()


def first_set(a, width=32):
    a = bits_of(a, width)
    return (a & -a).bit_length()


def reversed_bits(a, width=32):
    return int(format(bits_of(a, width), f"0{width}b")[::-1], 2)


def permuted(a, b, c):
    pool = bits_of(a) | bits_of(b) << 32
    return sum(((pool >> 8 * (c >> 4 * i & 7)) & 0xFF) << 8 * i for i in range(4))


def dot4(a, b, c, signed):
    def parts(word):
        unsigned = [bits_of(word) >> 8 * i & 0xFF for i in range(4)]
        return [p - 256 if signed and p > 127 else p for p in unsigned]

    return c + sum(x * y for x, y in zip(parts(a), parts(b), strict=True))


def dot2(a, b, c, high):
    """dp2a: two signed 16-bit halves of a times the low or high two signed bytes of b."""
    halves = [(bits_of(a) >> 16 * i & 0xFFFF) for i in range(2)]
    octets = [(bits_of(b) >> 8 * (i + 2 * high) & 0xFF) for i in range(2)]
    return c + sum((h - 65536 if h > 32767 else h) * (o - 256 if o > 127 else o) for h, o in zip(halves, octets, strict=True))


def extracted(a, position, length, signed):
    """bfe: a field of a; beyond the word the sign bit (or 0) fills in."""
    position, length = position & 0xFF, length & 0xFF
    if length == 0:
        return 0
    value = a if signed else bits_of(a)
    field = (value >> min(position, 63)) & ((1 << length) - 1)
    last = min(position + length - 1, 31)
    sign = bits_of(a) >> last & 1 if signed else 0
    if length > 32:
        field &= (1 << 32) - 1
    kept = max(0, min(length, 32 - position))
    field &= (1 << kept) - 1
    return field | (-1 << kept if sign else 0)


def inserted(a, b, position, length):
    """bfi: the low `length` bits of a placed into b at `position`."""
    position, length = position & 0xFF, length & 0xFF
    mask = bits_of(((1 << length) - 1) << position) if position < 32 else 0
    return (bits_of(b) & ~mask) | (bits_of(a << position) & mask)


def funnel(a, b, shift, left, clamp):
    """__funnelshift_*(lo=a, hi=b): 64 bits moved, one word kept."""
    shift = min(bits_of(shift), 32) if clamp else shift & 31
    pool = bits_of(b) << 32 | bits_of(a)
    return (pool << shift) >> 32 if left else pool >> shift


def highest(a, signed=False):
    """bfind: position of the top bit that isn't the sign; 0xffffffff where there is none."""
    a = ~a if signed and a < 0 else bits_of(a)
    return bits_of(a).bit_length() - 1


def each_byte(function):
    def whole(a, b):
        return sum((function(bits_of(a) >> 8 * i & 0xFF, bits_of(b) >> 8 * i & 0xFF) & 0xFF) << 8 * i for i in range(4))

    return whole


def each_half(function):
    def signed(v):
        return v - 65536 if v > 32767 else v

    def whole(a, b):
        return sum((function(signed(bits_of(a) >> 16 * i & 0xFFFF), signed(bits_of(b) >> 16 * i & 0xFFFF)) & 0xFFFF) << 16 * i for i in range(2))

    return whole


ASSEMBLY = """
__device__ int bfe_s(int a, int b, int c) { int r; asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int bfe_u(int a, int b, int c) { int r; asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int bfi(int a, int b, int c, int d) {
    int r; asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "r"(d)); return r;
}
__device__ int shl(int a, int b) { int r; asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ int shr_s(int a, int b) { int r; asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ int shr_u(int a, int b) { int r; asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ int lop3(int a, int b, int c) { int r; asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int bfind_s(int a) { int r; asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
__device__ int bfind_u(int a) { int r; asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
__device__ int add_sat(int a, int b) { int r; asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ int sub_sat(int a, int b) { int r; asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ int mad_hi(int a, int b, int c) { int r; asm("mad.hi.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int carry(int a, int b, int c) {
    int lo, hi;
    asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %4, 0;" : "=&r"(lo), "=r"(hi) : "r"(a), "r"(b), "r"(c));
    return lo ^ hi;
}
__device__ int borrow(int a, int b, int c) {
    int lo, hi;
    asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, %4, 0;" : "=&r"(lo), "=r"(hi) : "r"(a), "r"(b), "r"(c));
    return lo ^ hi;
}
__device__ int szext(int a, int b) { int r; asm("szext.wrap.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ int bmsk(int a, int b) { int r; asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ int prmt_f4e(int a, int b, int c) { int r; asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int slct(int a, int b, int c) { int r; asm("slct.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
"""


def saturated(v):
    return max(-(2**31), min(2**31 - 1, v))


def signed_rows() -> list[Row]:
    def row(label, code, function):
        return Row(label, code, lambda a, b, c: by_element(function, np.int32)(a, b, c))

    return [
        row("add", "a + b", lambda a, b, c: a + b),
        row("sub", "a - b", lambda a, b, c: a - b),
        row("mul", "a * b", lambda a, b, c: a * b),
        row("mad", "a * b + c", lambda a, b, c: a * b + c),
        row("mulhi", "__mulhi(a, b)", lambda a, b, c: a * b >> 32),
        row("mul24", "__mul24(a, b)", lambda a, b, c: ((a & 0xFFFFFF ^ 0x800000) - 0x800000) * ((b & 0xFFFFFF ^ 0x800000) - 0x800000)),
        row("mad.hi", "mad_hi(a, b, c)", lambda a, b, c: (a * b >> 32) + c),
        row("div", "b == 0 || (b == -1 && a == INT_LEAST) ? 0 : a / b", lambda a, b, c: 0 if b == -1 and a == -(2**31) else quotient(a, b)),
        row("rem", "b == 0 || (b == -1 && a == INT_LEAST) ? 0 : a % b", lambda a, b, c: 0 if b == -1 and a == -(2**31) else remainder(a, b)),
        row("div by 7", "a / 7", lambda a, b, c: quotient(a, 7)),
        row("rem by -5", "a % -5", lambda a, b, c: remainder(a, -5)),
        row("div by 16", "a / 16", lambda a, b, c: quotient(a, 16)),
        row("shl", "(int)((unsigned)a << (b & 31))", lambda a, b, c: a << (b & 31)),
        row("shr", "a >> (b & 31)", lambda a, b, c: a >> (b & 31)),
        row("shl clamps", "shl(a, b)", lambda a, b, c: a << bits_of(b) if bits_of(b) < 32 else 0),
        row("shr.s clamps", "shr_s(a, b)", lambda a, b, c: a >> min(bits_of(b), 31)),
        row("shr.u clamps", "shr_u(a, b)", lambda a, b, c: bits_of(a) >> min(bits_of(b), 32)),
        row("and", "a & b", lambda a, b, c: a & b),
        row("or", "a | b", lambda a, b, c: a | b),
        row("xor", "a ^ b", lambda a, b, c: a ^ b),
        row("not", "~a", lambda a, b, c: ~a),
        row("and or xor", "(a & b) ^ (b | ~c)", lambda a, b, c: (a & b) ^ (b | ~c)),
        row("lop3", "lop3(a, b, c)", lambda a, b, c: (a & b) ^ c),
        row("neg", "-a", lambda a, b, c: -a),
        row("abs", "abs(a)", lambda a, b, c: abs(a)),
        row("min", "min(a, b)", lambda a, b, c: min(a, b)),
        row("max", "max(a, b)", lambda a, b, c: max(a, b)),
        row("clamp", "min(max(a, -1000), b)", lambda a, b, c: min(max(a, -1000), b)),
        row("sad", "__sad(a, b, 7)", lambda a, b, c: abs(a - b) + 7),
        row("hadd", "__hadd(a, b)", lambda a, b, c: (a + b) >> 1),
        row("rhadd", "__rhadd(a, b)", lambda a, b, c: (a + b + 1) >> 1),
        row("popc", "__popc(a)", lambda a, b, c: popcount(a)),
        row("clz", "__clz(a)", lambda a, b, c: leading_zeros(a)),
        row("ffs", "__ffs(a)", lambda a, b, c: first_set(a)),
        row("brev", "__brev(a)", lambda a, b, c: reversed_bits(a)),
        row("bfind.s", "bfind_s(a)", lambda a, b, c: highest(a, True)),
        row("bfind.u", "bfind_u(a)", lambda a, b, c: highest(a)),
        row("prmt", "__byte_perm(a, b, c)", lambda a, b, c: permuted(a, b, c)),
        row("prmt constant", "__byte_perm(a, b, 0x5140)", lambda a, b, c: permuted(a, b, 0x5140)),
        row(
            "prmt f4e", "prmt_f4e(a, b, c)", lambda a, b, c: sum((((bits_of(b) << 32 | bits_of(a)) >> 8 * ((c & 3) + i & 7)) & 0xFF) << 8 * i for i in range(4))
        ),
        row("shf.l", "__funnelshift_l(a, b, c)", lambda a, b, c: funnel(a, b, c, True, False)),
        row("shf.r", "__funnelshift_r(a, b, c)", lambda a, b, c: funnel(a, b, c, False, False)),
        row("shf.l clamp", "__funnelshift_lc(a, b, c)", lambda a, b, c: funnel(a, b, c, True, True)),
        row("shf.r clamp", "__funnelshift_rc(a, b, c)", lambda a, b, c: funnel(a, b, c, False, True)),
        row("bfe.s", "bfe_s(a, b, c)", lambda a, b, c: extracted(a, b, c, True)),
        row("bfe.u", "bfe_u(a, b, c)", lambda a, b, c: extracted(a, b, c, False)),
        row("bfe short", "bfe_s(a, b & 31, c & 15)", lambda a, b, c: extracted(a, b & 31, c & 15, True)),
        row("bfi", "bfi(a, b, c, a)", lambda a, b, c: inserted(a, b, c, a)),
        row("bfi short", "bfi(a, b, c & 31, a & 15)", lambda a, b, c: inserted(a, b, c & 31, a & 15)),
        row("dp4a", "__dp4a(a, b, c)", lambda a, b, c: dot4(a, b, c, True)),
        row("dp4a.u", "__dp4a((unsigned)a, (unsigned)b, (unsigned)c)", lambda a, b, c: dot4(a, b, c, False)),
        row("dp2a.lo", "__dp2a_lo(a, b, c)", lambda a, b, c: dot2(a, b, c, 0)),
        row("dp2a.hi", "__dp2a_hi(a, b, c)", lambda a, b, c: dot2(a, b, c, 1)),
        row("add.sat", "add_sat(a, b)", lambda a, b, c: saturated(a + b)),
        row("sub.sat", "sub_sat(a, b)", lambda a, b, c: saturated(a - b)),
        row("addc", "carry(a, b, c)", lambda a, b, c: bits_of(a + b) ^ bits_of(c + (bits_of(a) + bits_of(b) >> 32))),
        row("subc", "borrow(a, b, c)", lambda a, b, c: bits_of(a - b) ^ bits_of(c - (bits_of(a) < bits_of(b)))),
        row("szext", "szext(a, b)", lambda a, b, c: (bits_of(a, b & 31) ^ (1 << (b & 31) - 1)) - (1 << (b & 31) - 1) if b & 31 else 0),
        row("bmsk", "bmsk(a, b)", lambda a, b, c: 0 if bits_of(a) >= 32 else ((1 << min(bits_of(b), 32)) - 1) << bits_of(a)),
        row("slct", "slct(a, b, c)", lambda a, b, c: a if c >= 0 else b),
        row("eq", "a == b", lambda a, b, c: a == b),
        row("lt", "a < b", lambda a, b, c: a < b),
        row("le", "a <= b", lambda a, b, c: a <= b),
        row("gt and ge", "(a > b) + 2 * (a >= c)", lambda a, b, c: (a > b) + 2 * (a >= c)),
        row("select", "a < b ? c : b", lambda a, b, c: c if a < b else b),
        row("logic", "(a < b && b < c) || !(a == c)", lambda a, b, c: (a < b < c) or a != c),
        row("add bytes", "__vadd4(a, b)", lambda a, b, c: each_byte(lambda x, y: x + y)(a, b)),
        row("max bytes", "__vmaxu4(a, b)", lambda a, b, c: each_byte(max)(a, b)),
        row("sad bytes", "__vsadu4(a, b)", lambda a, b, c: sum(abs((bits_of(a) >> 8 * i & 255) - (bits_of(b) >> 8 * i & 255)) for i in range(4))),
        row("min halves", "__vmins2(a, b)", lambda a, b, c: each_half(min)(a, b)),
        row("saturated halves", "__vaddss2(a, b)", lambda a, b, c: each_half(lambda x, y: max(-32768, min(32767, x + y)))(a, b)),
    ]


def unsigned_rows() -> list[Row]:
    def row(label, code, function):
        return Row(label, code, lambda a, b, c: by_element(function, np.uint32)(a, b, c))

    return [
        row("mad", "a * b + c", lambda a, b, c: a * b + c),
        row("mulhi", "__umulhi(a, b)", lambda a, b, c: a * b >> 32),
        row("umul24", "__umul24(a, b)", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
        row("div", "b ? a / b : 0", lambda a, b, c: quotient(a, b)),
        row("rem", "b ? a % b : 0", lambda a, b, c: remainder(a, b)),
        row("div by 10", "a / 10u", lambda a, b, c: a // 10),
        row("rem by 8", "a % 8u", lambda a, b, c: a % 8),
        row("shr", "a >> (b & 31)", lambda a, b, c: a >> (b & 31)),
        row("min", "min(a, b)", lambda a, b, c: min(a, b)),
        row("max", "max(a, b)", lambda a, b, c: max(a, b)),
        row("sad", "__usad(a, b, c)", lambda a, b, c: abs(a - b) + c),
        row("uhadd", "__uhadd(a, b)", lambda a, b, c: (a + b) >> 1),
        row("lt", "a < b", lambda a, b, c: a < b),
        row("ge", "a >= b", lambda a, b, c: a >= b),
        row("wrapped index", "(a - b) < c", lambda a, b, c: (a - b) % 2**32 < c),
        row("rotate", "(a << 7) | (a >> 25)", lambda a, b, c: a << 7 | a >> 25),
    ]


def long_rows() -> list[Row]:
    def row(label, code, function):
        return Row(label, code, lambda a, b, c: by_element(function, np.int64)(a, b, c))

    mask = 2**64 - 1
    return [
        row("add", "a + b", lambda a, b, c: a + b),
        row("sub", "a - b", lambda a, b, c: a - b),
        row("mul", "a * b", lambda a, b, c: a * b),
        row("mad", "a * b + c", lambda a, b, c: a * b + c),
        row("mulhi", "__mul64hi(a, b)", lambda a, b, c: a * b >> 64),
        row("umulhi", "(long long)__umul64hi(a, b)", lambda a, b, c: (a & mask) * (b & mask) >> 64),
        row("mul.wide", "(long long)(int)a * (int)b + c", lambda a, b, c: int(np.int64(a).astype(np.int32)) * int(np.int64(b).astype(np.int32)) + c),
        row("mul.wide.u", "(long long)((unsigned long long)(unsigned)a * (unsigned)b)", lambda a, b, c: bits_of(a) * bits_of(b)),
        row("mul.wide constant", "(unsigned long long)(unsigned)a * 0x80000001u", lambda a, b, c: bits_of(a) * 0x80000001),
        row("div", "b == 0 || b == -1 ? 0 : a / b", lambda a, b, c: 0 if b == -1 else quotient(a, b)),
        row("rem", "b == 0 || b == -1 ? 0 : a % b", lambda a, b, c: 0 if b == -1 else remainder(a, b)),
        row("udiv", "b ? (unsigned long long)a / (unsigned long long)b : 0", lambda a, b, c: quotient(a & mask, b & mask)),
        row("urem", "b ? (unsigned long long)a % (unsigned long long)b : 0", lambda a, b, c: remainder(a & mask, b & mask)),
        row("div by 1000", "a / 1000", lambda a, b, c: quotient(a, 1000)),
        row("shl", "(long long)((unsigned long long)a << (b & 63))", lambda a, b, c: a << (b & 63)),
        row("shr", "a >> (b & 63)", lambda a, b, c: a >> (b & 63)),
        row("shr.u", "(long long)((unsigned long long)a >> (b & 63))", lambda a, b, c: (a & mask) >> (b & 63)),
        row("and or xor", "(a & b) ^ (b | ~c)", lambda a, b, c: (a & b) ^ (b | ~c)),
        row("neg", "-a", lambda a, b, c: -a),
        row("abs", "llabs(a)", lambda a, b, c: abs(a)),
        row("min", "min(a, b)", lambda a, b, c: min(a, b)),
        row("max", "max(a, b)", lambda a, b, c: max(a, b)),
        row("umin", "(long long)min((unsigned long long)a, (unsigned long long)b)", lambda a, b, c: min(a & mask, b & mask)),
        row("popc", "__popcll(a)", lambda a, b, c: popcount(a, 64)),
        row("clz", "__clzll(a)", lambda a, b, c: leading_zeros(a, 64)),
        row("ffs", "__ffsll(a)", lambda a, b, c: first_set(a, 64)),
        row("brev", "(long long)__brevll(a)", lambda a, b, c: reversed_bits(a, 64)),
        row("lt", "a < b", lambda a, b, c: a < b),
        row("ult", "(unsigned long long)a < (unsigned long long)b", lambda a, b, c: (a & mask) < (b & mask)),
        row("select", "a > b ? b : c", lambda a, b, c: b if a > b else c),
        row("narrow", "(long long)(int)a + (long long)(unsigned)b", lambda a, b, c: (bits_of(a) ^ 2**31) - 2**31 + bits_of(b)),
        row("bytes", "(long long)(signed char)a + (long long)(unsigned short)b", lambda a, b, c: ((a & 255) ^ 128) - 128 + (b & 65535)),
    ]


def short_rows() -> list[Row]:
    def row(label, code, function):
        return Row(label, code, lambda a, b: by_element(function, np.int16)(a, b))

    return [
        row("add", "a + b", lambda a, b: a + b),
        row("sub", "a - b", lambda a, b: a - b),
        row("mul", "a * b", lambda a, b: a * b),
        row("div", "b ? a / b : 0", lambda a, b: quotient(a, b)),
        row("rem", "b ? a % b : 0", lambda a, b: remainder(a, b)),
        row("shl", "a << (b & 15)", lambda a, b: a << (b & 15)),
        row("shr", "a >> (b & 15)", lambda a, b: a >> (b & 15)),
        row("min", "min(a, b)", lambda a, b: min(a, b)),
        row("max", "max(a, b)", lambda a, b: max(a, b)),
        row("neg", "-a", lambda a, b: -a),
        row("abs", "abs(a)", lambda a, b: abs(a)),
        row("xor", "a ^ ~b", lambda a, b: a ^ ~b),
        row("lt", "a < b", lambda a, b: a < b),
        row("ult", "(unsigned short)a < (unsigned short)b", lambda a, b: (a & 65535) < (b & 65535)),
        row("to char", "(signed char)a", lambda a, b: ((a & 255) ^ 128) - 128),
    ]


def byte_rows() -> list[Row]:
    def row(label, code, function):
        return Row(label, code, lambda a, b: by_element(function, np.uint8)(a, b))

    return [
        row("add", "a + b", lambda a, b: a + b),
        row("mul", "a * b", lambda a, b: a * b),
        row("average", "(a + b) / 2", lambda a, b: quotient(a + b, 2)),
        row("shr", "a >> (b & 7)", lambda a, b: a >> (b & 7)),
        row("ushr", "(unsigned char)a >> (b & 7)", lambda a, b: (a & 255) >> (b & 7)),
        row("saturate", "min(max(a + b, 0), 127)", lambda a, b: min(max(a + b, 0), 127)),
        row("lt", "a < b", lambda a, b: a < b),
    ]


def operands(special, count, extra, seed):
    return lambda: crossed(special, count, extra, seed, words(special.dtype))


LEAST = "#define INT_LEAST (-2147483647 - 1)\n"
CASES: list[Case] = [
    table("integer.signed32", ("int", "int", "int"), "int", signed_rows(), operands(I32, 3, 128, 1), LEAST + ASSEMBLY),
    table("integer.unsigned32", ("unsigned",) * 3, "unsigned", unsigned_rows(), operands(I32.view(np.uint32), 3, 128, 2)),
    table("integer.signed64", ("long long",) * 3, "long long", long_rows(), operands(I64, 3, 128, 3)),
    table("integer.signed16", ("short", "short"), "short", short_rows(), operands(I16, 2, 112, 4)),
    table("integer.bytes", ("signed char", "signed char"), "unsigned char", byte_rows(), operands(I8, 2, 175, 5)),
]
