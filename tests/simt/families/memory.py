"""Spaces and accesses: constant memory, local arrays, shared arrays, vectors, structs, caches, generic pointers."""

from __future__ import annotations

import numpy as np

from .case import Case

N = 256


def rng(seed):
    return np.random.default_rng(seed)


def floats(n, seed=1):
    return rng(seed).standard_normal(n).astype(np.float32)


def ints(n, seed=1, low=-(2**31), high=2**31):
    return rng(seed).integers(low, high, n, dtype=np.int64).astype(np.int32)


def case(entry, source, inputs, output, expect, **more) -> Case:
    """A case of one output: the kernel takes the inputs, then the output array."""
    arrays = inputs()
    expected_type = output
    return Case(
        name=f"memory.{entry}",
        source=source,
        entry=entry,
        args=lambda: [*inputs(), np.zeros_like(expected_type)],
        outputs=(len(arrays),),
        expect=lambda *args: [expect(*args[:-1])],
        **more,
    )


POINT = np.dtype([("x", np.float32), ("n", np.int32), ("w", np.float64)])


def constant_expected(x):
    table = np.array([1.0, 2.5, -3.0, 0.25, 7.0, 1e-3, -0.5, 42.0], np.float32)
    steps = np.array([[1, 2, 3], [-4, 5, -6]], np.float32)
    i = np.arange(N)
    product = x.astype(np.float64) * table[(i + 3) & 7].astype(np.float64) + np.float64(table[2])  # exact enough: 48 + 2 bits
    return product.astype(np.float32) + steps[i & 1, i % 3]


def local_expected(x, i):
    seen = [k * k for k in range(16)]
    for k in range(16):
        seen[(x + k) & 15] += k + (seen[(x >> 4) & 15] & 7)
    return seen[i & 15]


def digits_expected(x):
    total = 0
    for digit in str(x):
        total = total * 3 + ord(digit)
    return (total + 2**31) % 2**32 - 2**31


def shared_expected(x, block):
    i = np.arange(128)
    return x[(i + block + 1) & 127] + (x * 2)[127 - (i ^ 5)] + np.float32(block)


def carved_expected(x):
    j = (np.arange(96) * 7 + 3) % 96
    return (x.astype(np.int64) + x.astype(np.int16).astype(np.int64) * 3 + x.astype(np.uint8)).astype(np.int32)[j]


def vectors_expected(x, k, d, b, s):
    one = np.float32
    return np.stack(
        [
            x[:, 3] + k[:, 0].astype(one),
            x[:, 2] + d[:, 1].astype(one),
            x[:, 1] + b[:, 3].astype(one) + s[:, 2].astype(one),
            x[:, 0] + k[:, 1].astype(one) - b[:, 0].astype(one) + s[:, 3].astype(one),
        ],
        axis=1,
    )


def reinterpreted_expected(x):
    v, w = x.reshape(64, 4), x.reshape(128, 2)[:64]
    return np.stack([v[:, 0] + w[:, 1], v[:, 3] - w[:, 0], v[:, 1], v[:, 2]], axis=1).reshape(-1)


def points(n):
    array = np.zeros(n, POINT)
    array["x"], array["n"], array["w"] = floats(n, 18), np.arange(n), rng(19).standard_normal(n)
    return array


def structs_expected(p):
    out, inside = p.copy(), np.arange(64) < 40
    out["x"] = np.where(inside, p["x"] * np.float32(1.5), p["x"])
    out["n"] = np.where(inside, p["n"] + 5, p["n"])
    out["w"] = p["w"] + out["n"]
    return out


def hints_expected(x):
    i = np.arange(256)
    v = x[i] + x[255 - i]
    for flip in (1, 2, 4, 8):
        v = v + x[i ^ flip]
    v = v + ((x[i ^ 16] + x[i ^ 32]) + x[i ^ 64])
    q = x.reshape(64, 4)[i & 63]
    return v + (q[:, 0] + q[:, 3])


def generic_expected(x):
    i = np.arange(64)
    value = np.where(i % 3 == 0, 2 * x, np.where(i % 3 == 1, x + (i & 3), np.array([10, 20, 30, 40])[i & 3]))
    kind = np.where(i % 3 == 0, 1000, np.where(i % 3 == 1, 3000, 2000))
    return (value + 100 + kind).astype(np.int32)


def blur_expected(x):
    wide = x.astype(np.int32)
    return ((np.concatenate([wide[:1], wide[:-1]]) + wide + np.concatenate([wide[1:], wide[-1:]])) // 3).astype(np.uint8)


def copies_expected(x):
    x = x.reshape(32, 6)
    out = np.full((32, 6), -1, np.int32)
    for row, line in enumerate(x):
        count = 4 + (int(line[0]) & 1)
        out[row, 1 : 1 + count] = line[:count]
    return out.reshape(-1)


CASES: list[Case] = [
    case(
        "constant",
        """
__constant__ float table[8] = {1.0f, 2.5f, -3.0f, 0.25f, 7.0f, 1e-3f, -0.5f, 42.0f};
__constant__ int shift = 3;
__constant__ short steps[2][3] = {{1, 2, 3}, {-4, 5, -6}};
extern "C" __global__ void constant(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = x[i] * table[(i + shift) & 7] + table[2] + steps[i & 1][i % 3];
}""",
        lambda: [floats(N)],
        np.zeros(N, np.float32),
        lambda x: constant_expected(x),
        block=N,
    ),
    case(
        "local_array",
        """
extern "C" __global__ void local_array(const int* x, int* y) {
    int i = threadIdx.x, seen[16];
    for (int k = 0; k < 16; ++k) seen[k] = k * k;
    for (int k = 0; k < 16; ++k) seen[(x[i] + k) & 15] += k + (seen[(x[i] >> 4) & 15] & 7);
    y[i] = seen[i & 15];
}""",
        lambda: [ints(N, 2, 0, 1000)],
        np.zeros(N, np.int32),
        lambda x: np.array([local_expected(int(v), i) for i, v in enumerate(x)], np.int32),
        block=N,
    ),
    case(
        "local_bytes",
        """
extern "C" __global__ void local_bytes(const int* x, int* y) {
    int i = threadIdx.x;
    unsigned char digits[12];
    int count = 0;
    unsigned v = (unsigned)x[i];
    do { digits[count++] = '0' + v % 10; v /= 10; } while (v);
    int sum = 0;
    for (int k = count - 1; k >= 0; --k) sum = sum * 3 + digits[k];
    y[i] = sum;
}""",
        lambda: [ints(N, 3, 0, 10**9)],
        np.zeros(N, np.int32),
        lambda x: np.array([digits_expected(int(v)) for v in x], np.int32),
        block=N,
    ),
    case(
        "shared_static_dynamic",
        """
extern "C" __global__ void shared_static_dynamic(const float* x, float* y) {
    __shared__ float fixed[128];
    __shared__ int turn[2];
    extern __shared__ float more[];
    int i = threadIdx.x, g = blockIdx.x * 128 + i;
    fixed[i] = x[g];
    more[127 - i] = x[g] * 2.0f;
    if (i < 2) turn[i] = blockIdx.x + i;
    __syncthreads();
    y[g] = fixed[(i + turn[1]) & 127] + more[i ^ 5] + turn[0];
}""",
        lambda: [floats(512, 4)],
        np.zeros(512, np.float32),
        lambda x: np.concatenate([shared_expected(part, b) for b, part in enumerate(x.reshape(4, 128))]),
        grid=4,
        shared_bytes=512,
    ),
    case(
        "shared_carved",
        """
extern "C" __global__ void shared_carved(const int* x, int* y) {
    extern __shared__ unsigned char raw[];
    int* words = reinterpret_cast<int*>(raw);
    short* halves = reinterpret_cast<short*>(raw + 4 * blockDim.x);
    unsigned char* bytes = raw + 6 * blockDim.x;
    int i = threadIdx.x;
    words[i] = x[i];
    halves[i] = (short)x[i];
    bytes[i] = (unsigned char)x[i];
    __syncthreads();
    int j = (i * 7 + 3) % blockDim.x;
    y[i] = words[j] + halves[j] * 3 + bytes[j];
}""",
        lambda: [ints(96, 5)],
        np.zeros(96, np.int32),
        lambda x: carved_expected(x),
        block=96,
        shared_bytes=7 * 96,
    ),
    case(
        "vectors",
        """
extern "C" __global__ void vectors(const float4* x, const int2* k, const double2* d, const uchar4* b, const short4* s, float4* y) {
    int i = threadIdx.x;
    float4 v = x[i];
    int2 j = k[i];
    double2 e = d[i];
    uchar4 c = b[i];
    short4 h = s[i];
    y[i] = make_float4(v.w + j.x, v.z + (float)e.y, v.y + c.w + h.z, v.x + j.y - c.x + h.w);
}""",
        lambda: [
            floats(4 * 64, 6).reshape(64, 4),
            ints(128, 7, -100, 100).reshape(64, 2),
            rng(8).standard_normal((64, 2)),
            rng(9).integers(0, 256, (64, 4)).astype(np.uint8),
            rng(10).integers(-99, 99, (64, 4)).astype(np.int16),
        ],
        np.zeros((64, 4), np.float32),
        lambda x, k, d, b, s: vectors_expected(x, k, d, b, s),
        block=64,
    ),
    case(
        "reinterpreted",
        """
extern "C" __global__ void reinterpreted(const float* x, float* y) {
    int i = threadIdx.x;
    float4 v = reinterpret_cast<const float4*>(x)[i];
    float2 w = *reinterpret_cast<const float2*>(&x[2 * i]);
    reinterpret_cast<float2*>(y)[2 * i] = make_float2(v.x + w.y, v.w - w.x);
    y[4 * i + 2] = v.y;
    y[4 * i + 3] = v.z;
}""",
        lambda: [floats(256, 11)],
        np.zeros(256, np.float32),
        lambda x: reinterpreted_expected(x),
        block=64,
    ),
    case(
        "structs",
        """
struct Point { float x; int n; double w; };
struct Range { int first, last; float scale; };
__device__ Point moved(Point p, Range r) { p.x = p.x * r.scale; p.n += r.first; return p; }
extern "C" __global__ void structs(const Point* in, Range range, Point* out) {
    int i = threadIdx.x;
    Point p = i < range.last ? moved(in[i], range) : in[i];
    p.w += p.n;
    out[i] = p;
}""",
        lambda: [points(64).view(np.uint8), np.array([(5, 40, 1.5)], [("first", np.int32), ("last", np.int32), ("scale", np.float32)])[0]],
        np.zeros(64, POINT).view(np.uint8),
        lambda p, r: structs_expected(p.view(POINT)).view(np.uint8),
        block=64,
    ),
    case(
        "cache_hints",
        """
__device__ float stream(const float* p) { float v; asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
__device__ float acquired(const float* p) { float v; asm volatile("ld.acquire.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
__device__ float wide(const float* p) { float v; asm volatile("ld.global.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
__device__ void released(float* p, float v) { asm volatile("st.release.gpu.global.f32 [%0], %1;" :: "l"(p), "f"(v)); }
extern "C" __global__ void cache_hints(const float* __restrict__ x, float* y) {
    int i = threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" :: "l"(x + i));
    float v = __ldg(&x[i]) + __ldcg(&x[255 - i]) + __ldcs(x + (i ^ 1)) + __ldca(x + (i ^ 2)) + __ldlu(x + (i ^ 4)) + __ldcv(x + (i ^ 8));
    v += stream(x + (i ^ 16)) + acquired(x + (i ^ 32)) + wide(x + (i ^ 64));
    float4 q = __ldg(reinterpret_cast<const float4*>(x) + (i & 63));
    v += q.x + q.w;
    if (i % 4 == 0) __stcs(&y[i], v);
    else if (i % 4 == 1) __stcg(&y[i], v);
    else if (i % 4 == 2) __stwt(&y[i], v);
    else released(&y[i], v);
}""",
        lambda: [floats(256, 12)],
        np.zeros(256, np.float32),
        lambda x: hints_expected(x),
        block=256,
    ),
    case(
        "generic_pointers",
        """
__device__ int counter = 100;
__device__ int shelf[4] = {10, 20, 30, 40};
__device__ int* where(int i, int* shared, int* local) { return i % 3 == 0 ? shared + i : i % 3 == 1 ? local + (i & 3) : shelf + (i & 3); }
extern "C" __global__ void generic_pointers(const int* x, int* y) {
    __shared__ int s[64];
    int i = threadIdx.x, mine[4];
    for (int k = 0; k < 4; ++k) mine[k] = x[i] + k;
    s[i] = 2 * x[i];
    __syncthreads();
    int* p = where(i, s, mine);
    y[i] = *p + counter + (__isShared(p) ? 1000 : __isGlobal(p) ? 2000 : 3000);
}""",
        lambda: [ints(64, 13, 0, 500)],
        np.zeros(64, np.int32),
        lambda x: generic_expected(x),
        block=64,
    ),
    case(
        "volatile_and_bytes",
        """
extern "C" __global__ void volatile_and_bytes(const unsigned char* x, unsigned char* y) {
    __shared__ volatile unsigned char s[128];
    int i = threadIdx.x;
    s[i] = x[i];
    __syncthreads();
    unsigned char left = s[i ? i - 1 : 0], right = s[i < 127 ? i + 1 : 127];
    y[i] = (left + s[i] + right) / 3;
}""",
        lambda: [rng(14).integers(0, 256, 128).astype(np.uint8)],
        np.zeros(128, np.uint8),
        lambda x: blur_expected(x),
        block=128,
    ),
    case(
        "pointer_table",
        """
__device__ float first[4] = {1.0f, 2.0f, 3.0f, 4.0f}, second[4] = {-1.0f, -2.0f, -3.0f, -4.0f};
__device__ float* const tables[2] = {first, second};
extern "C" __global__ void pointer_table(const int* x, float* y) {
    int i = threadIdx.x;
    y[i] = tables[x[i] & 1][x[i] >> 1 & 3];
}""",
        lambda: [ints(64, 15, 0, 8)],
        np.zeros(64, np.float32),
        lambda x: (((x >> 1 & 3) + 1) * np.where(x & 1, -1, 1)).astype(np.float32),
        block=64,
    ),
    case(
        "copies",
        """
extern "C" __global__ void copies(const int* x, int* y) {
    int i = threadIdx.x;
    int from[6], to[6];
    for (int k = 0; k < 6; ++k) from[k] = x[6 * i + k];
    memset(to, 0xff, sizeof(to));
    memcpy(to + 1, from, 16 + 4 * (x[6 * i] & 1));
    for (int k = 0; k < 6; ++k) y[6 * i + k] = to[k];
}""",
        lambda: [ints(6 * 32, 16)],
        np.zeros(6 * 32, np.int32),
        lambda x: copies_expected(x),
        block=32,
    ),
    case(
        "two_dimensional",
        """
extern "C" __global__ void two_dimensional(const int* x, int* y) {
    __shared__ int tile[4][8][3];
    int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    tile[threadIdx.z][threadIdx.y][threadIdx.x] = x[block * 96 + i];
    __syncthreads();
    y[block * 96 + i] = tile[3 - threadIdx.z][7 - threadIdx.y][2 - threadIdx.x] + 1000 * block;
}""",
        lambda: [ints(12 * 96, 17, 0, 1000)],
        np.zeros(12 * 96, np.int32),
        lambda x: (x.reshape(12, 96)[:, ::-1] + 1000 * np.arange(12)[:, None]).astype(np.int32).reshape(-1),
        grid=(2, 3, 2),
        block=(3, 8, 4),
    ),
    case(
        "scalars",
        """
extern "C" __global__ void scalars(float a, double b, int c, long long d, unsigned char e, short f, bool g, double* y) {
    y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = e; y[5] = f; y[6] = g;
}""",
        lambda: [np.float32(1.5), np.float64(1 / 3), np.int32(-7), np.int64(2**40), np.uint8(200), np.int16(-300), np.bool_(True)],
        np.zeros(7, np.float64),
        lambda *_: np.array([1.5, 1 / 3, -7, 2**40, 200, -300, 1]),
        block=1,
    ),
]
