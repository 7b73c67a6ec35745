"""Softmax and attention, naive and in one pass over key tiles."""

from __future__ import annotations

import numpy as np
from families.case import Case, Tolerance


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def softmax(x):
    wide = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return wide / wide.sum(-1, keepdims=True)


def attention(q, k, v):
    return (softmax((q.astype(np.float64) @ k.T) / np.sqrt(q.shape[1])) @ v).astype(np.float32)


NEAR = Tolerance(absolute=2e-5)
SMALL = Tolerance(absolute=1e-6, relative=2e-5)
FLASH = """
#define BR 32
#define BC 32
#define D 64
extern "C" __global__ void NAME(const float* Q, const float* K, const float* V, float* O, int N, float scale) {
    __shared__ float Qs[BR][D + PAD], Ks[BC][D + PAD], Vs[BC][D];
    int t = threadIdx.x, row = t / 4, part = t % 4;  // 128 threads, 4 threads a row, 16 columns of O each
    int first = blockIdx.x * BR;
    for (int i = t; i < BR * D; i += 128) Qs[i / D][i % D] = Q[(first + i / D) * D + i % D];
    float m = -1e30f, l = 0.0f, acc[D / 4];
    for (int c = 0; c < D / 4; ++c) acc[c] = 0.0f;
    for (int j = 0; j < N; j += BC) {
        __syncthreads();
        for (int i = t; i < BC * D; i += 128) {
            Ks[i / D][i % D] = K[(j + i / D) * D + i % D];
            Vs[i / D][i % D] = V[(j + i / D) * D + i % D];
        }
        __syncthreads();
        float s[BC / 4], top = m;
        for (int c = 0; c < BC / 4; ++c) {
            float dot = 0.0f;
            for (int d = 0; d < D; ++d) dot += Qs[row][d] * Ks[c * 4 + part][d];
            s[c] = dot * scale;
            top = fmaxf(top, s[c]);
        }
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        float shrink = __expf(m - top), sum = 0.0f;
        for (int c = 0; c < BC / 4; ++c) { s[c] = __expf(s[c] - top); sum += s[c]; }
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        l = l * shrink + sum;
        m = top;
        for (int c = 0; c < D / 4; ++c) acc[c] *= shrink;
        for (int c = 0; c < BC / 4; ++c)
            for (int p = 0; p < 4; ++p) {
                float weight = __shfl_sync(0xffffffffu, s[c], p, 4);
                for (int d = 0; d < D / 4; ++d) acc[d] += weight * Vs[c * 4 + p][d * 4 + part];
            }
    }
    for (int d = 0; d < D / 4; ++d) O[(first + row) * D + d * 4 + part] = acc[d] / l;
}
"""


def flash(name, pad):
    return Case(
        name=f"attention.{name}",
        source=FLASH.replace("NAME", name).replace("PAD", str(pad)),
        entry=name,
        args=lambda: [normal(1, 96, 64), normal(2, 96, 64), normal(3, 96, 64), np.zeros((96, 64), np.float32), np.int32(96), np.float32(0.125)],
        outputs=(3,),
        expect=lambda q, k, v, *_: [attention(q, k, v)],
        grid=3,
        tolerances=(NEAR,),
    )


CASES: list[Case] = [
    Case(
        name="attention.row_softmax",
        source="""
extern "C" __global__ void row_softmax(const float* x, float* y, int cols) {
    __shared__ float s[128];
    int t = threadIdx.x;
    const float* row = x + blockIdx.x * cols;
    float top = -1e30f;
    for (int c = t; c < cols; c += 128) top = fmaxf(top, row[c]);
    s[t] = top;
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) { if (t < half) s[t] = fmaxf(s[t], s[t + half]); __syncthreads(); }
    top = s[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = t; c < cols; c += 128) sum += __expf(row[c] - top);
    s[t] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) { if (t < half) s[t] += s[t + half]; __syncthreads(); }
    float scale = 1.0f / s[0];
    for (int c = t; c < cols; c += 128) y[blockIdx.x * cols + c] = __expf(row[c] - top) * scale;
}""",
        entry="row_softmax",
        args=lambda: [normal(4, 6, 300), np.zeros((6, 300), np.float32), np.int32(300)],
        outputs=(1,),
        expect=lambda x, *_: [softmax(x).astype(np.float32)],
        grid=6,
        tolerances=(SMALL,),
    ),
    Case(
        name="attention.warp_softmax",
        source="""
extern "C" __global__ void warp_softmax(const float* x, float* y, int rows) {
    int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    float4 v = reinterpret_cast<const float4*>(x + row * 128)[lane];
    float top = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
    for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
    v = make_float4(__expf(v.x - top), __expf(v.y - top), __expf(v.z - top), __expf(v.w - top));
    float sum = v.x + v.y + v.z + v.w;
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    reinterpret_cast<float4*>(y + row * 128)[lane] = make_float4(v.x / sum, v.y / sum, v.z / sum, v.w / sum);
}""",
        entry="warp_softmax",
        args=lambda: [normal(5, 10, 128), np.zeros((10, 128), np.float32), np.int32(10)],
        outputs=(1,),
        expect=lambda x, *_: [softmax(x).astype(np.float32)],
        grid=3,
        tolerances=(SMALL,),
    ),
    Case(
        name="attention.naive_scores",
        source="""
extern "C" __global__ void naive_scores(const float* Q, const float* K, float* S, int N, float scale) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= N || col >= N) return;
    float dot = 0.0f;
    for (int d = 0; d < 32; ++d) dot += Q[row * 32 + d] * K[col * 32 + d];
    S[row * N + col] = dot * scale;
}""",
        entry="naive_scores",
        args=lambda: [normal(6, 70, 32), normal(7, 70, 32), np.zeros((70, 70), np.float32), np.int32(70), np.float32(32**-0.5)],
        outputs=(2,),
        expect=lambda q, k, *_: [((q.astype(np.float64) @ k.T) * np.float32(32**-0.5)).astype(np.float32)],
        grid=(5, 5),
        block=(16, 16),
        tolerances=(NEAR,),
    ),
    Case(
        name="attention.row_per_thread",
        source="""
extern "C" __global__ void row_per_thread(const float* Q, const float* K, const float* V, float* O, int N, float scale) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float m = -1e30f, l = 0.0f, acc[16];
    for (int d = 0; d < 16; ++d) acc[d] = 0.0f;
    for (int j = 0; j < N; ++j) {
        float dot = 0.0f;
        for (int d = 0; d < 16; ++d) dot += Q[row * 16 + d] * K[j * 16 + d];
        dot *= scale;
        float top = fmaxf(m, dot), shrink = __expf(m - top), weight = __expf(dot - top);
        l = l * shrink + weight;
        for (int d = 0; d < 16; ++d) acc[d] = acc[d] * shrink + weight * V[j * 16 + d];
        m = top;
    }
    for (int d = 0; d < 16; ++d) O[row * 16 + d] = acc[d] / l;
}""",
        entry="row_per_thread",
        args=lambda: [normal(8, 80, 16), normal(9, 80, 16), normal(10, 80, 16), np.zeros((80, 16), np.float32), np.int32(80), np.float32(0.25)],
        outputs=(3,),
        expect=lambda q, k, v, *_: [attention(q, k, v)],
        grid=2,
        block=64,
        tolerances=(NEAR,),
    ),
    flash("flash", 0),
    flash("flash_padded", 1),
]
