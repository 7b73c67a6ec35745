// bfloat16: conversions, and arithmetic by way of float, which rounds to the same value once.
#pragma once

struct __nv_bfloat16 {
    unsigned short lw_bits;
    __nv_bfloat16() = default;
    __device__ __forceinline__ __nv_bfloat16(float x) {
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(lw_bits) : "f"(x));
    }
    __device__ __forceinline__ operator float() const { return __uint_as_float((unsigned)lw_bits << 16); }
};
struct alignas(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

LW __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
LW __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
LW float __bfloat162float(__nv_bfloat16 h) { return (float)h; }
LW __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
LW float2 __bfloat1622float2(__nv_bfloat162 h) { return {(float)h.x, (float)h.y}; }
LW __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16((float)a + (float)b); }
LW __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16((float)a - (float)b); }
LW __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16((float)a * (float)b); }
