"""Shared memory: every width against every pattern of addresses, strides, padding, swizzles."""

from __future__ import annotations

import numpy as np
from families.case import Case

LANES = np.arange(32)


def random_numbers(count, seed=2):
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


STRIDED = """
extern "C" __global__ void strided(const float* x, float* y, int stride) {
    __shared__ float s[1056];
    int t = threadIdx.x;
    for (int i = t; i < 1056; i += 64) s[i] = x[i];
    __syncthreads();
    y[t] = s[t % 32 * stride] + 1.0f;
}"""
STRIDED_STORE = """
extern "C" __global__ void strided_store(const float* x, float* y, int stride) {
    __shared__ float s[1056];
    int t = threadIdx.x;
    s[t * stride] = x[t];
    __syncthreads();
    y[t] = s[t * stride];
}"""


def strided_case(stride):
    return Case(
        name=f"banks.load_stride_{stride:02}",
        source=STRIDED,
        entry="strided",
        args=lambda: [random_numbers(1056), np.zeros(64, np.float32), np.int32(stride)],
        outputs=(1,),
        expect=lambda x, y, stride: [np.tile(x[LANES * stride] + np.float32(1), 2)],
        block=64,
    )


def store_case(stride):
    return Case(
        name=f"banks.store_stride_{stride:02}",
        source=STRIDED_STORE,
        entry="strided_store",
        args=lambda: [random_numbers(32), np.zeros(32, np.float32), np.int32(stride)],
        outputs=(1,),
        expect=lambda x, y, stride: [x],
        block=32,
    )


def patterns() -> dict[str, np.ndarray]:
    """Which of 64 elements each lane touches."""
    rng = np.random.default_rng(3)
    pairs, quads = rng.integers(0, 64, 32), rng.integers(0, 64, 32)
    return {
        "identity": LANES,
        "reversed": 31 - LANES,
        "stride_2": LANES * 2,
        "stride_3": LANES * 3 % 64,
        "pairs": LANES // 2,
        "quads": LANES // 4,
        "by_8": LANES // 8,
        "in_8": LANES % 8,
        "in_16": LANES % 16,
        "in_4_wide": LANES % 4 * 8,
        "one": LANES * 0 + 5,
        "halves_apart": LANES % 16 + 32 * (LANES // 16),
        "swapped_1": LANES ^ 1,
        "swapped_17": LANES ^ 17,
        "random": rng.integers(0, 64, 32),
        "random_pairs": pairs[LANES // 2],
        "random_by_2": quads[LANES & ~2],
        "random_both": pairs[LANES // 4],
        "permuted": rng.permutation(32),
        "pairs_in_one_half": np.where(LANES < 16, LANES // 2, LANES),
        "columns": LANES % 8 * 8 + LANES // 8,
    }


WIDTHS = {
    "byte": ("unsigned char", np.uint8, 1),
    "short": ("unsigned short", np.uint16, 1),
    "float": ("float", np.float32, 1),
    "double": ("double", np.float64, 1),
    "float2": ("float2", np.float32, 2),
    "float4": ("float4", np.float32, 4),
}


def width_values(dtype, count):
    if np.dtype(dtype).kind == "f":
        return np.random.default_rng(4).standard_normal(count).astype(dtype)
    return np.random.default_rng(4).integers(0, np.iinfo(dtype).max, count).astype(dtype)


def pattern_load(width, pattern):
    ctype, dtype, words = WIDTHS[width]
    at = patterns()[pattern].astype(np.int32)
    return Case(
        name=f"banks.load_{width}_{pattern}",
        source=f"""
extern "C" __global__ void load_{width}(const {ctype}* x, const int* at, {ctype}* y) {{
    __shared__ {ctype} s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    s[t + 32] = x[t + 32];
    __syncthreads();
    y[t] = s[at[t]];
}}""",
        entry=f"load_{width}",
        args=lambda: [width_values(dtype, 64 * words), at.copy(), np.zeros(32 * words, dtype)],
        outputs=(2,),
        expect=lambda x, at, y: [x.reshape(64, words)[at].reshape(-1)],
        block=32,
    )


def pattern_store(width, pattern):
    ctype, dtype, words = WIDTHS[width]
    at = patterns()[pattern].astype(np.int32)
    return Case(
        name=f"banks.store_{width}_{pattern}",
        source=f"""
extern "C" __global__ void store_{width}(const {ctype}* x, const int* at, {ctype}* y) {{
    __shared__ {ctype} s[64];
    int t = threadIdx.x;
    s[at[t]] = x[t];
    __syncthreads();
    y[t] = s[at[t]];
}}""",
        entry=f"store_{width}",
        args=lambda: [width_values(dtype, 32 * words), at.copy(), np.zeros(32 * words, dtype)],
        outputs=(2,),
        expect=lambda x, at, y: [x],
        block=32,
    )


ONE_TO_ONE = ("identity", "reversed", "stride_2", "halves_apart", "swapped_1", "swapped_17", "permuted", "columns")
FEW = ("identity", "stride_2", "random", "columns", "pairs", "one", "in_4_wide")


def transposed(entry, pitch, index):
    return Case(
        name=f"banks.{entry}",
        source=f"""
extern "C" __global__ void {entry}(const float* x, float* y, int n) {{
    __shared__ float s[32 * {pitch}];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = ty; k < 32; k += 8) s[{index("k", "tx")}] = x[(blockIdx.y * 32 + k) * n + blockIdx.x * 32 + tx];
    __syncthreads();
    for (int k = ty; k < 32; k += 8) y[(blockIdx.x * 32 + k) * n + blockIdx.y * 32 + tx] = s[{index("tx", "k")}];
}}""",
        entry=entry,
        args=lambda: [random_numbers(64 * 64), np.zeros(64 * 64, np.float32), np.int32(64)],
        outputs=(1,),
        expect=lambda x, y, n: [np.ascontiguousarray(x.reshape(64, 64).T).reshape(-1)],
        grid=(2, 2),
        block=(32, 8),
    )


CASES: list[Case] = [strided_case(stride) for stride in range(1, 34)]
CASES += [store_case(stride) for stride in (1, 2, 3, 4, 6, 8, 16, 17, 31, 32, 33)]
CASES += [pattern_load(width, pattern) for width in ("float", "float2", "float4") for pattern in patterns()]
CASES += [pattern_load(width, pattern) for width in ("byte", "short", "double") for pattern in FEW]
CASES += [pattern_store(width, pattern) for width in ("float", "float2", "float4") for pattern in ONE_TO_ONE]
CASES += [pattern_store(width, pattern) for width in ("byte", "short", "double") for pattern in ("identity", "stride_2", "columns")]
CASES += [
    transposed("transpose_conflicted", 32, lambda row, col: f"{row} * 32 + {col}"),
    transposed("transpose_padded", 33, lambda row, col: f"{row} * 33 + {col}"),
    transposed("transpose_swizzled", 32, lambda row, col: f"{row} * 32 + ({col} ^ {row})"),
    Case(
        name="banks.predicated",
        source="""
extern "C" __global__ void predicated(const float* x, float* y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    if (t < n) s[t * 2] = x[t];
    __syncthreads();
    float v = 0.0f;
    if (t % 3 == 0 && t < n) v = s[t * 2];
    y[t] = v;
}""",
        entry="predicated",
        args=lambda: [random_numbers(128), np.zeros(128, np.float32), np.int32(70)],
        outputs=(1,),
        expect=lambda x, y, n: [np.where((np.arange(128) % 3 == 0) & (np.arange(128) < 70), x, 0).astype(np.float32)],
    ),
    Case(
        name="banks.half2_rows",
        source="""
#include <cuda_fp16.h>
extern "C" __global__ void half2_rows(const __half2* x, __half2* y) {
    __shared__ __half2 s[32][17];
    int t = threadIdx.x;
    for (int k = 0; k < 16; ++k) s[k * 2 + t / 16][t % 16] = x[k * 32 + t];
    __syncthreads();
    __half2 sum = s[t][0];
    for (int k = 1; k < 16; ++k) sum = __hadd2(sum, s[t][k]);
    y[t] = sum;
}""",
        entry="half2_rows",
        args=lambda: [np.random.default_rng(5).integers(-8, 9, (32, 32)).astype(np.float16), np.zeros((32, 2), np.float16)],
        outputs=(1,),
        expect=lambda x, y: [x.reshape(32, 16, 2).sum(1).astype(np.float16)],
        block=32,
    ),
]
