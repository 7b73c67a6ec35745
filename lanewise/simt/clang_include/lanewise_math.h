// Mathematical functions and intrinsics of device code. What a GPU has an instruction for is that instruction; the others
// are short series of our own, good to four units in the last place (measured by tests/simt/test_clang_values.py).
#pragma once

LW float __int_as_float(int i) { return __builtin_bit_cast(float, i); }
LW float __uint_as_float(unsigned i) { return __builtin_bit_cast(float, i); }
LW int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
LW unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
LW double __longlong_as_double(long long i) { return __builtin_bit_cast(double, i); }
LW long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }

// One instruction each.
LW float fabsf(float x) { return __builtin_fabsf(x); }
LW float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
LW float fminf(float x, float y) { return __builtin_fminf(x, y); }
LW float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
LW float floorf(float x) { return __builtin_floorf(x); }
LW float ceilf(float x) { return __builtin_ceilf(x); }
LW float truncf(float x) { return __builtin_truncf(x); }
LW float rintf(float x) { return __builtin_rintf(x); }
LW float nearbyintf(float x) { return __builtin_rintf(x); }
LW float roundf(float x) { return __builtin_roundf(x); }
LW float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
LW float fmodf(float x, float y) { return __builtin_fmodf(x, y); }
LW float sqrtf(float x) { return __nvvm_sqrt_rn_ftz_f(x); }
LW float rsqrtf(float x) { return __nvvm_rsqrt_approx_ftz_f(x); }
LW float exp2f(float x) { return __nvvm_ex2_approx_ftz_f(x); }
// x * 2^n, rounded once: in double nothing is lost, and beyond 2^400 every float has left the range.
LW float ldexpf(float x, int n) {
  n = n > 400 ? 400 : n < -400 ? -400 : n;
  return (float)((double)x * __longlong_as_double((long long)(1023 + n) << 52));
}
LW float scalbnf(float x, int n) { return ldexpf(x, n); }
LW float __expf(float x) { return __nvvm_ex2_approx_ftz_f(x * 1.4426950408889634f); }
LW float __exp10f(float x) { return __nvvm_ex2_approx_ftz_f(x * 3.3219280948873623f); }
LW float __log2f(float x) { return __nvvm_lg2_approx_ftz_f(x); }
LW float __logf(float x) { return __nvvm_lg2_approx_ftz_f(x) * 0.6931471805599453f; }
LW float __log10f(float x) { return __nvvm_lg2_approx_ftz_f(x) * 0.3010299956639812f; }
LW float __sinf(float x) { return __nvvm_sin_approx_ftz_f(x); }
LW float __cosf(float x) { return __nvvm_cos_approx_ftz_f(x); }
LW float __tanf(float x) { return __sinf(x) / __cosf(x); }
LW float __powf(float x, float y) { return __nvvm_ex2_approx_ftz_f(y * __nvvm_lg2_approx_ftz_f(x)); }
LW float __fdividef(float x, float y) { return __nvvm_div_approx_ftz_f(x, y); }
LW float __frcp_rn(float x) { return __nvvm_rcp_rn_ftz_f(x); }
LW float __fsqrt_rn(float x) { return __nvvm_sqrt_rn_ftz_f(x); }
LW float __fadd_rn(float x, float y) { return __nvvm_add_rn_ftz_f(x, y); }
LW float __fsub_rn(float x, float y) { return __nvvm_add_rn_ftz_f(x, -y); }
LW float __fmul_rn(float x, float y) { return __nvvm_mul_rn_ftz_f(x, y); }
LW float __fdiv_rn(float x, float y) { return __nvvm_div_rn_ftz_f(x, y); }
LW float __fmaf_rn(float x, float y, float z) { return __nvvm_fma_rn_ftz_f(x, y, z); }
LW float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
LW int __float2int_rn(float x) { return __nvvm_f2i_rn_ftz(x); }
LW int __float2int_rz(float x) { return __nvvm_f2i_rz_ftz(x); }
LW int __float2int_rd(float x) { return __nvvm_f2i_rm_ftz(x); }
LW int __float2int_ru(float x) { return __nvvm_f2i_rp_ftz(x); }
LW unsigned __float2uint_rn(float x) { return __nvvm_f2ui_rn_ftz(x); }
LW unsigned __float2uint_rz(float x) { return __nvvm_f2ui_rz_ftz(x); }
LW float __int2float_rn(int i) { return (float)i; }
LW float __uint2float_rn(unsigned i) { return (float)i; }
LW int isnan(float x) { return __builtin_isnan(x); }
LW int isnan(double x) { return __builtin_isnan(x); }
LW int isinf(float x) { return __builtin_isinf(x); }
LW int isinf(double x) { return __builtin_isinf(x); }
LW int isfinite(float x) { return __builtin_isfinite(x); }
LW int isfinite(double x) { return __builtin_isfinite(x); }
LW int signbit(float x) { return __float_as_int(x) < 0; }

// e^x = 2^n e^r with r in two pieces of ln 2; 2^n by the exponent bits, in two factors so that the ends of the range work.
LW float expf(float x) {
    float n = __builtin_rintf(x * 1.4426950408889634f);
    n = __builtin_fmaxf(__builtin_fminf(n, 200.0f), -200.0f);
    float r = __builtin_fmaf(n, -0.693145751953125f, x);
    r = __builtin_fmaf(n, -1.428606765330187e-6f, r);
    float e = __nvvm_ex2_approx_ftz_f(r * 1.4426950408889634f);
    int half = (int)n / 2, rest = (int)n - half;
    float result = e * __int_as_float((half + 127) << 23) * __int_as_float((rest + 127) << 23);
    return x != x ? x : x > 89.0f ? __int_as_float(0x7f800000) : x < -104.0f ? 0.0f : result;
}
LW float exp10f(float x) {
    float n = __builtin_rintf(__builtin_fmaxf(__builtin_fminf(x, 60.0f), -60.0f) * 3.3219280948873623f);
    float r = __builtin_fmaf(n, -4.605038981195214e-6f, __builtin_fmaf(n, -0.301025390625f, x));
    int half = (int)n / 2, rest = (int)n - half;
    float result = __nvvm_ex2_approx_ftz_f(r * 3.3219280948873623f) * __int_as_float((half + 127) << 23) * __int_as_float((rest + 127) << 23);
    return x != x ? x : x > 39.0f ? __int_as_float(0x7f800000) : x < -46.0f ? 0.0f : result;
}
LW float expm1f(float x) {
    if (!(fabsf(x) <= 0.7f)) return expf(x) - 1.0f;
    float p = 1.0f / 362880;
    p = fmaf(p, x, 1.0f / 40320), p = fmaf(p, x, 1.0f / 5040), p = fmaf(p, x, 1.0f / 720), p = fmaf(p, x, 1.0f / 120);
    p = fmaf(p, x, 1.0f / 24), p = fmaf(p, x, 1.0f / 6), p = fmaf(p, x, 0.5f);
    return fmaf(p * x, x, x);
}
// log x = e ln 2 + 2 atanh((m - 1) / (m + 1)), m in [2/3, 4/3).
LW float logf(float x) {
    int bits = __float_as_int(x), e = (bits - 0x3f2aaaab) >> 23;
    float m = __int_as_float(bits - (e << 23)), s = __fdiv_rn(m - 1.0f, m + 1.0f), q = s * s;
    float p = fmaf(fmaf(fmaf(fmaf(q, 1.0f / 9, 1.0f / 7), q, 1.0f / 5), q, 1.0f / 3), q, 1.0f);
    float result = fmaf((float)e, 0.693145751953125f, fmaf((float)e, 1.428606765330187e-6f, 2.0f * s * p));
    return x != x || x < 0.0f ? __int_as_float(0x7fffffff) : __builtin_fabsf(x) < 1.17549435e-38f ? -__int_as_float(0x7f800000) : bits == 0x7f800000 ? x : result;
}
LW float log2f(float x) {
    int bits = __float_as_int(x), e = (bits - 0x3f2aaaab) >> 23;
    float m = logf(__int_as_float(bits - (e << 23)));  // powers of two come out exact
    return x > 1.17549435e-38f && bits != 0x7f800000 ? fmaf(m, 1.4426950408889634f, (float)e) : logf(x);
}
LW float log10f(float x) { return logf(x) * 0.4342944819032518f; }
LW float log1pf(float x) {
    float u = 1.0f + x;
    return u == 1.0f || u - 1.0f == u ? (u == 1.0f ? x : logf(u)) : logf(u) * (x / (u - 1.0f));
}
LW float tanhf(float x) {
    float t = expm1f(2.0f * __builtin_fminf(fabsf(x), 20.0f));
    return x != x ? x : copysignf(t / (t + 2.0f), x);
}
LW float sinhf(float x) { return fabsf(x) < 0.4f ? 0.5f * (expm1f(x) - expm1f(-x)) : 0.5f * (expf(x) - expf(-x)); }
LW float coshf(float x) { return 0.5f * (expf(x) + expf(-x)); }
LW float powf(float x, float y) {
    float a = fabsf(x), r = __builtin_rintf(y);
    double l = 0, m = (double)a;
    int e = (int)((__double_as_longlong(m) - 0x3fe5555555555555LL) >> 52);
    m = __longlong_as_double(__double_as_longlong(m) - ((long long)e << 52));
    double s = (m - 1) / (m + 1), q = s * s;
    for (int k = 15; k >= 1; k -= 2) l = l * q + 1.0 / k;
    double t = (double)y * (e + 2 * s * l * 1.4426950408889634), n = __builtin_rint(t);
    n = n > 1000 ? 1000 : n < -1000 ? -1000 : n;
    double f = (t - n) * 0.6931471805599453, p = 1;
    for (int k = 10; k >= 1; k--) p = 1 + p * f / k;
    float result = (float)(p * __longlong_as_double((long long)(n + 1023) << 52));
    if (y == 0.0f || x == 1.0f) return 1.0f;
    if (a == 0.0f) result = y > 0.0f ? 0.0f : __int_as_float(0x7f800000);
    if (x < 0.0f) result = r != y ? __int_as_float(0x7fffffff) : ((long long)r & 1) ? -result : result;
    return x != x || y != y ? __int_as_float(0x7fffffff) : result;
}
// Sine and cosine: the angle less a multiple of pi/2 in three pieces, then a series; good for angles up to about 1e5.
LW void sincosf(float x, float* s, float* c) {
    float n = __builtin_rintf(x * 0.6366197723675814f);
    float r = fmaf(n, -1.5707855224609375f, x);
    r = fmaf(n, -1.0804273188e-05f, r);
    r = fmaf(n, -6.0770999344e-11f, r);
    float q = r * r;
    float sine = fmaf(r * q, fmaf(q, fmaf(q, fmaf(q, 2.7557319e-6f, -1.9841270e-4f), 8.3333333e-3f), -0.16666667f), r);
    float cosine = fmaf(q, fmaf(q, fmaf(q, fmaf(q, 2.4801587e-5f, -1.3888889e-3f), 4.1666667e-2f), -0.5f), 1.0f);
    int k = (int)n;
    float a = k & 1 ? cosine : sine, b = k & 1 ? sine : cosine;
    *s = k & 2 ? -a : a;
    *c = (k + 1) & 2 ? -b : b;
}
LW float sinf(float x) { float s, c; sincosf(x, &s, &c); return s; }
LW float cosf(float x) { float s, c; sincosf(x, &s, &c); return c; }
LW float tanf(float x) { float s, c; sincosf(x, &s, &c); return s / c; }
// Abramowitz and Stegun 7.1.26 is too coarse: the series for small arguments, a continued fraction for large ones.
LW float erff(float x) {
    float a = fabsf(x);
    if (a > 4.0f) return x != x ? x : copysignf(1.0f, x);
    double q = (double)a * a, term = a, sum = a;
    for (int k = 1; k < 64; k++) { term *= -q / k; sum += term / (2 * k + 1); }
    return copysignf((float)(sum * 1.1283791670955126), x);
}
LW float erfcf(float x) { return 1.0f - erff(x); }

// --use_fast_math
#ifdef LANEWISE_FAST_MATH
#define expf __expf
#define exp10f __exp10f
#define logf __logf
#define log2f __log2f
#define log10f __log10f
#define sinf __sinf
#define cosf __cosf
#define tanf __tanf
#define powf __powf
#endif

// Doubles.
LW double fabs(double x) { return __builtin_fabs(x); }
LW double fmax(double x, double y) { return __builtin_fmax(x, y); }
LW double fmin(double x, double y) { return __builtin_fmin(x, y); }
LW double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
LW double floor(double x) { return __builtin_floor(x); }
LW double ceil(double x) { return __builtin_ceil(x); }
LW double trunc(double x) { return __builtin_trunc(x); }
LW double rint(double x) { return __builtin_rint(x); }
LW double round(double x) { return __builtin_round(x); }
LW double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
LW double rsqrt(double x) { return 1.0 / __nvvm_sqrt_rn_d(x); }
LW double exp(double x) {
    double n = __builtin_rint(x * 1.4426950408889634);
    n = n > 1100 ? 1100 : n < -1100 ? -1100 : n;
    double r = __builtin_fma(n, -1.9082149292705877e-10, __builtin_fma(n, -0.6931471803691238, x)), p = 1;
    for (int k = 14; k >= 1; k--) p = 1 + p * r / k;
    int half = (int)n / 2, rest = (int)n - half;
    double result = p * __longlong_as_double((long long)(half + 1023) << 52) * __longlong_as_double((long long)(rest + 1023) << 52);
    return x != x ? x : x > 709.8 ? __longlong_as_double(0x7ff0000000000000LL) : x < -745.2 ? 0.0 : result;
}
LW double log(double x) {
    long long bits = __double_as_longlong(x);
    int e = (int)((bits - 0x3fe5555555555555LL) >> 52);
    double m = __longlong_as_double(bits - ((long long)e << 52)), s = (m - 1) / (m + 1), q = s * s, p = 0;
    for (int k = 23; k >= 1; k -= 2) p = p * q + 1.0 / k;
    double result = e * 0.6931471805599453 + 2 * s * p;
    return x != x || x < 0 ? __longlong_as_double(0x7fffffffffffffffLL) : x == 0 ? -__longlong_as_double(0x7ff0000000000000LL) : bits == 0x7ff0000000000000LL ? x : result;
}

// C++ names for floats, and min, max, abs for every pair that CUDA has.
LW float fabs(float x) { return fabsf(x); }
LW float sqrt(float x) { return sqrtf(x); }
LW float rsqrt(float x) { return rsqrtf(x); }
LW float exp(float x) { return expf(x); }
LW float log(float x) { return logf(x); }
LW float tanh(float x) { return tanhf(x); }
LW float sin(float x) { return sinf(x); }
LW float cos(float x) { return cosf(x); }
LW float pow(float x, float y) { return powf(x, y); }
LW float floor(float x) { return floorf(x); }
LW float ceil(float x) { return ceilf(x); }
LW float round(float x) { return roundf(x); }
LW float abs(float x) { return fabsf(x); }
LW double abs(double x) { return fabs(x); }
LW int abs(int x) { return x < 0 ? -x : x; }
LW long long abs(long long x) { return x < 0 ? -x : x; }
#define LW_ORDER(T, A, B)                       \
    LW T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; } \
    LW T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }
LW_ORDER(int, int, int)
LW_ORDER(unsigned, unsigned, unsigned)
LW_ORDER(unsigned, int, unsigned)
LW_ORDER(unsigned, unsigned, int)
LW_ORDER(long, long, long)
LW_ORDER(unsigned long, unsigned long, unsigned long)
LW_ORDER(long long, long long, long long)
LW_ORDER(unsigned long long, unsigned long long, unsigned long long)
#undef LW_ORDER
LW float max(float a, float b) { return fmaxf(a, b); }
LW float min(float a, float b) { return fminf(a, b); }
LW double max(double a, double b) { return fmax(a, b); }
LW double min(double a, double b) { return fmin(a, b); }
LW double max(float a, double b) { return fmax(a, b); }
LW double min(float a, double b) { return fmin(a, b); }
LW double max(double a, float b) { return fmax(a, b); }
LW double min(double a, float b) { return fmin(a, b); }

// Bits.
LW int __popc(unsigned x) { return __builtin_popcount(x); }
LW int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
LW int __clz(int x) { return x ? __builtin_clz(x) : 32; }
LW int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
LW int __ffs(int x) { return __builtin_ffs(x); }
LW int __ffsll(long long x) { return __builtin_ffsll(x); }
LW unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
LW unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
LW int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
LW unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
LW int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
LW unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(s));
    return r;
}
LW unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) { return (unsigned)(((((unsigned long long)high << 32) | low) << (n & 31)) >> 32); }
LW unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) { return (unsigned)((((unsigned long long)high << 32) | low) >> (n & 31)); }
LW int __dp4a(int a, int b, int c) {
    int r;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
