"""Whole kernels: reductions, histograms, scans, matmuls, stencils."""

from __future__ import annotations

import numpy as np
from families.case import Case, Tolerance


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def whole(seed, *shape):
    """Small integers as float32: sums are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def block_sums(name, body, block=256, grid=6, before=""):
    return Case(
        name=f"compute.{name}",
        source=f"""{before}
extern "C" __global__ void {name}(const float* x, float* y) {{
    __shared__ float s[{block}];
    int t = threadIdx.x;
    float v = x[blockIdx.x * {block} + t];
    {body}
}}""",
        entry=name,
        args=lambda: [whole(1, grid * block), np.zeros(grid, np.float32)],
        outputs=(1,),
        expect=lambda x, y: [x.reshape(grid, block).sum(1)],
        grid=grid,
        block=block,
    )


def matmul(name, source, grid, block, m=64, n=64, k=64, exact=True):
    return Case(
        name=f"compute.{name}",
        source=source,
        entry=name,
        args=lambda: [whole(2, m, k), whole(3, k, n), np.zeros((m, n), np.float32), np.int32(m), np.int32(n), np.int32(k)],
        outputs=(2,),
        expect=lambda a, b, c, *_: [a @ b],
        grid=grid,
        block=block,
    )


HEAD = "(const float* A, const float* B, float* C, int M, int N, int K)"
WARP_SUM = "__device__ float warp_sum(float v) { for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o); return v; }"


def tiled(name, tile, before_inner="", pitch=0):
    pitch = pitch or tile
    return f"""
extern "C" __global__ void {name}{HEAD} {{
    __shared__ float As[{tile}][{pitch}], Bs[{tile}][{pitch}];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * {tile} + ty, col = blockIdx.x * {tile} + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += {tile}) {{
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.0f;
        __syncthreads();
        {before_inner}
        for (int k = 0; k < {tile}; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }}
    if (row < M && col < N) C[row * N + col] = sum;
}}"""


REGISTERS = f"""
extern "C" __global__ void register_tiled{HEAD} {{
    __shared__ float As[16][64 + 4], Bs[16][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    float sum[4][4] = {{}};
    for (int k0 = 0; k0 < K; k0 += 16) {{
        for (int i = t; i < 64 * 16; i += 256) As[i % 16][i / 16] = A[(blockIdx.y * 64 + i / 16) * K + k0 + i % 16];
        for (int i = t; i < 16 * 64; i += 256) Bs[i / 64][i % 64] = B[(k0 + i / 64) * N + blockIdx.x * 64 + i % 64];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {{
            float4 a = *reinterpret_cast<float4*>(&As[k][4 * ty]), b = *reinterpret_cast<float4*>(&Bs[k][4 * tx]);
            float av[4] = {{a.x, a.y, a.z, a.w}}, bv[4] = {{b.x, b.y, b.z, b.w}};
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += av[i] * bv[j];
        }}
        __syncthreads();
    }}
    for (int i = 0; i < 4; ++i)
        *reinterpret_cast<float4*>(&C[(blockIdx.y * 64 + 4 * ty + i) * N + blockIdx.x * 64 + 4 * tx]) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}}"""
ROWS = f"""
extern "C" __global__ void row_tiled{HEAD} {{
    __shared__ float As[32][32], Bs[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;  // 32 × 8 threads, 4 rows each
    float sum[4] = {{}};
    for (int k0 = 0; k0 < K; k0 += 32) {{
        for (int r = ty; r < 32; r += 8) {{
            As[r][tx] = A[(blockIdx.y * 32 + r) * K + k0 + tx];
            Bs[r][tx] = B[(k0 + r) * N + blockIdx.x * 32 + tx];
        }}
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) {{
            float b = Bs[k][tx];
#pragma unroll
            for (int r = 0; r < 4; ++r) sum[r] += As[ty + 8 * r][k] * b;
        }}
        __syncthreads();
    }}
    for (int r = 0; r < 4; ++r) C[(blockIdx.y * 32 + ty + 8 * r) * N + blockIdx.x * 32 + tx] = sum[r];
}}"""
NAIVE = f"""
extern "C" __global__ void naive{HEAD} {{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}}"""

CASES: list[Case] = [
    block_sums(
        "interleaved_tree",
        """s[t] = v;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        if (t % (2 * step) == 0) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];""",
    ),
    block_sums(
        "strided_tree",
        """s[t] = v;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        int i = 2 * step * t;
        if (i < 256) s[i] += s[i + step];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];""",
    ),
    block_sums(
        "sequential_tree",
        """s[t] = v;
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];""",
    ),
    block_sums(
        "shuffled_sum",
        """v = warp_sum(v);
    if (t % 32 == 0) s[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = t < 8 ? s[t] : 0.0f;
        v = warp_sum(v);
        if (t == 0) y[blockIdx.x] = v;
    }""",
        before=WARP_SUM,
    ),
    Case(
        name="compute.shared_histogram",
        source="""
extern "C" __global__ void shared_histogram(const int* x, int* bins, int n) {
    __shared__ int s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    for (; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}""",
        entry="shared_histogram",
        args=lambda: [np.random.default_rng(4).integers(0, 1000, 5000).astype(np.int32), np.zeros(64, np.int32), np.int32(5000)],
        outputs=(1,),
        expect=lambda x, *_: [np.bincount(x & 63, minlength=64).astype(np.int32)],
        grid=6,
        block=256,
    ),
    Case(
        name="compute.scan",
        source="""
extern "C" __global__ void scan(const int* x, int* y) {
    __shared__ int s[2][128];
    int t = threadIdx.x, now = 0;
    s[0][t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        s[1 - now][t] = t >= step ? s[now][t] + s[now][t - step] : s[now][t];
        now = 1 - now;
        __syncthreads();
    }
    y[blockIdx.x * 128 + t] = s[now][t];
}""",
        entry="scan",
        args=lambda: [np.random.default_rng(5).integers(0, 100, 512).astype(np.int32), np.zeros(512, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [x.reshape(4, 128).cumsum(1).astype(np.int32).reshape(-1)],
        grid=4,
    ),
    matmul("naive", NAIVE, (5, 4), (16, 16), 60, 70, 50),
    matmul("naive_64", NAIVE.replace("naive(", "naive_64("), (2, 8), (32, 8)),
    matmul("tiled_16", tiled("tiled_16", 16), (4, 4), (16, 16)),
    matmul("tiled_16_ragged", tiled("tiled_16_ragged", 16), (5, 4), (16, 16), 60, 70, 50),
    matmul("tiled_32", tiled("tiled_32", 32), (2, 2), (32, 32)),
    matmul("tiled_16_unrolled", tiled("tiled_16_unrolled", 16, "#pragma unroll"), (4, 4), (16, 16)),
    matmul("tiled_16_unrolled_4", tiled("tiled_16_unrolled_4", 16, "#pragma unroll 4"), (4, 4), (16, 16)),
    matmul("tiled_16_rolled", tiled("tiled_16_rolled", 16, "#pragma unroll 1"), (4, 4), (16, 16)),
    matmul("tiled_16_padded", tiled("tiled_16_padded", 16, "#pragma unroll", 17), (4, 4), (16, 16)),
    matmul("register_tiled", REGISTERS, (1, 1), 256),
    matmul("row_tiled", ROWS, (2, 2), (32, 8)),
    Case(
        name="compute.stencil_tile",
        source="""
extern "C" __global__ void stencil_tile(const float* x, float* y, int n) {
    __shared__ float s[128 + 4];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t + 2] = i < n ? x[i] : 0.0f;
    if (t < 2) {
        s[t] = i >= 2 ? x[i - 2] : 0.0f;
        s[t + 130] = i + 128 < n ? x[i + 128] : 0.0f;
    }
    __syncthreads();
    if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2] + s[t + 3] + s[t + 4];
}""",
        entry="stencil_tile",
        args=lambda: [whole(6, 1000), np.zeros(1000, np.float32), np.int32(1000)],
        outputs=(1,),
        expect=lambda x, *_: [np.convolve(np.pad(x, 2), np.ones(5, np.float32), "valid")],
        grid=8,
    ),
    Case(
        name="compute.layer_norm",
        source=WARP_SUM
        + """
extern "C" __global__ void layer_norm(const float* x, float* y, int cols) {
    __shared__ float part[4], mean, scale;
    int t = threadIdx.x;
    const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * cols);
    float4 v = row[t];
    float sum = warp_sum(v.x + v.y + v.z + v.w);
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t == 0) mean = (part[0] + part[1] + part[2] + part[3]) / cols;
    __syncthreads();
    float4 d = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
    float square = warp_sum(d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w);
    if (t % 32 == 0) part[t / 32] = square;
    __syncthreads();
    if (t == 0) scale = 1.0f / sqrtf((part[0] + part[1] + part[2] + part[3]) / cols + 1e-5f);
    __syncthreads();
    reinterpret_cast<float4*>(y + blockIdx.x * cols)[t] = make_float4(d.x * scale, d.y * scale, d.z * scale, d.w * scale);
}""",
        entry="layer_norm",
        args=lambda: [normal(7, 5, 512), np.zeros((5, 512), np.float32), np.int32(512)],
        outputs=(1,),
        expect=lambda x, *_: [normalised(x)],
        grid=5,
        tolerances=(Tolerance(absolute=4e-6),),
    ),
]


def normalised(x):
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    return (centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)).astype(np.float32)
