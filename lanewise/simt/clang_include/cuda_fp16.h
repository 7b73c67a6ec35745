// half and half2: conversions, arithmetic, comparisons; the part of CUDA's header that the course's kernels use.
#pragma once

struct __half {
    _Float16 lw_value;
    __half() = default;
    __device__ __forceinline__ __half(float x) : lw_value((_Float16)x) {}
    __device__ __forceinline__ __half(double x) : lw_value((_Float16)x) {}
    __device__ __forceinline__ __half(int x) : lw_value((_Float16)x) {}
    __device__ __forceinline__ operator float() const { return (float)lw_value; }
};
struct alignas(4) __half2 { __half x, y; };
typedef __half half;
typedef __half2 half2;
struct __half_raw { unsigned short x; };

LW __half lw_half(_Float16 x) { __half h; h.lw_value = x; return h; }
LW __half __float2half(float x) { return lw_half((_Float16)x); }
LW __half __float2half_rn(float x) { return lw_half((_Float16)x); }
LW float __half2float(__half h) { return (float)h.lw_value; }
LW __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }
LW unsigned short __half_as_ushort(__half h) { return __builtin_bit_cast(unsigned short, h); }
LW __half2 __halves2half2(__half x, __half y) { return {x, y}; }
LW __half2 __half2half2(__half x) { return {x, x}; }
LW __half2 make_half2(__half x, __half y) { return {x, y}; }
LW __half2 __floats2half2_rn(float x, float y) { return {__float2half(x), __float2half(y)}; }
LW __half2 __float2half2_rn(float x) { return {__float2half(x), __float2half(x)}; }
LW __half2 __float22half2_rn(float2 v) { return {__float2half(v.x), __float2half(v.y)}; }
LW float2 __half22float2(__half2 h) { return {__half2float(h.x), __half2float(h.y)}; }
LW __half __low2half(__half2 h) { return h.x; }
LW __half __high2half(__half2 h) { return h.y; }
LW float __low2float(__half2 h) { return __half2float(h.x); }
LW float __high2float(__half2 h) { return __half2float(h.y); }
// Written as PTX: halves keep their subnormal numbers, whatever -ftz says of floats.
#define LW_HALF(NAME, PTX, OP)                                                                                             \
    LW __half NAME(__half a, __half b) {                                                                                   \
        unsigned short r;                                                                                                  \
        asm(PTX ".f16 %0, %1, %2;" : "=h"(r) : "h"(__half_as_ushort(a)), "h"(__half_as_ushort(b)));                        \
        return __ushort_as_half(r);                                                                                        \
    }                                                                                                                      \
    LW __half2 NAME##2(__half2 a, __half2 b) {                                                                             \
        unsigned r;                                                                                                        \
        asm(PTX ".f16x2 %0, %1, %2;" : "=r"(r) : "r"(__builtin_bit_cast(unsigned, a)), "r"(__builtin_bit_cast(unsigned, b))); \
        return __builtin_bit_cast(__half2, r);                                                                             \
    }                                                                                                                      \
    LW __half operator OP(__half a, __half b) { return NAME(a, b); }                                                       \
    LW __half2 operator OP(__half2 a, __half2 b) { return NAME##2(a, b); }                                                 \
    LW __half& operator OP##=(__half& a, __half b) { return a = NAME(a, b); }                                              \
    LW __half2& operator OP##=(__half2& a, __half2 b) { return a = NAME##2(a, b); }
LW_HALF(__hadd, "add", +)
LW_HALF(__hsub, "sub", -)
LW_HALF(__hmul, "mul", *)
#undef LW_HALF
LW __half __hfma(__half a, __half b, __half c) {
    unsigned short r;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r) : "h"(__half_as_ushort(a)), "h"(__half_as_ushort(b)), "h"(__half_as_ushort(c)));
    return __ushort_as_half(r);
}
LW __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    unsigned r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;"
        : "=r"(r)
        : "r"(__builtin_bit_cast(unsigned, a)), "r"(__builtin_bit_cast(unsigned, b)), "r"(__builtin_bit_cast(unsigned, c)));
    return __builtin_bit_cast(__half2, r);
}
LW __half __hdiv(__half a, __half b) { return __float2half(__half2float(a) / __half2float(b)); }
LW __half operator/(__half a, __half b) { return __hdiv(a, b); }
LW __half __hneg(__half a) { return __ushort_as_half(__half_as_ushort(a) ^ 0x8000); }
LW __half operator-(__half a) { return __hneg(a); }
LW __half __habs(__half a) { return __ushort_as_half(__half_as_ushort(a) & 0x7fff); }
LW __half __hmax(__half a, __half b) { return lw_half(__builtin_fmaxf16(a.lw_value, b.lw_value)); }
LW __half __hmin(__half a, __half b) { return lw_half(__builtin_fminf16(a.lw_value, b.lw_value)); }
LW bool __hgt(__half a, __half b) { return a.lw_value > b.lw_value; }
LW bool __hlt(__half a, __half b) { return a.lw_value < b.lw_value; }
LW bool __heq(__half a, __half b) { return a.lw_value == b.lw_value; }
