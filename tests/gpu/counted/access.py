"""Global memory: widths, strides, offsets, tails, gathers and layouts."""

from __future__ import annotations

import numpy as np
from families.case import Case

N = 1024  # threads of most launches: 8 blocks of 128


def numbers(count, dtype=np.float32, seed=1):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(count).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


def kernel(entry, body, element="float", extra="", before=""):
    """Thread i moves elements from x to y."""
    return (
        f'{before}\nextern "C" __global__ void {entry}(const {element}* x, {element}* y, {extra}int n) {{\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    {body}\n}}\n"
    )


def case(name, entry, source, source_count, result_count, expect, n=N, dtype=np.float32, more=(), grid=8, block=128):
    """`expect(x, y)` over flat arrays; `more` are arguments between y and n."""
    return Case(
        name=f"access.{name}",
        source=source,
        entry=entry,
        args=lambda: [numbers(source_count, dtype), np.zeros(result_count, dtype), *more, np.int32(n)],
        outputs=(1,),
        expect=lambda x, y, *_: [expect(x, y)],
        grid=grid,
        block=block,
    )


COPY = {words: kernel(f"copy_{4 * words}", "if (i < n) y[i] = x[i];", element) for words, element in ((1, "float"), (2, "float2"), (4, "float4"))}
NARROW = [("byte", "unsigned char", np.uint8), ("short", "unsigned short", np.uint16), ("double", "double", np.float64)]
STRIDED_LOAD = kernel("strided_load", "y[i] = x[i * stride];", extra="int stride, ")
STRIDED_STORE = kernel("strided_store", "y[i * stride] = x[i];", extra="int stride, ")
STRIDED_WIDE = {
    2: kernel("strided_pairs", "y[i] = x[i * stride];", "float2", "int stride, "),
    4: kernel("strided_quads", "y[i] = x[i * stride];", "float4", "int stride, "),
}
SHIFTED = kernel("shifted", "if (i < n) y[i] = x[i + by];", extra="int by, ")
SHIFTED_STORE = kernel("shifted_store", "if (i < n) y[i + by] = x[i];", extra="int by, ")
GATHER = kernel("gather", "if (i < n) y[i] = x[at[i]];", extra="const int* at, ")
GATHER_WIDE = kernel("gather_wide", "if (i < n) y[i] = x[at[i]];", "float4", extra="const int* at, ")
SCATTER = kernel("scatter", "if (i < n) y[at[i]] = x[i];", extra="const int* at, ")


def strided(x, stride, words=1):
    return x.reshape(-1, words)[: N * stride : stride][:N].reshape(-1)


def spread(x, y, stride):
    y = y.copy()
    y[: N * stride : stride] = x
    return y


def indices(pattern, seed=5):
    i = np.arange(N)
    return {
        "random": np.random.default_rng(seed).integers(0, 4096, N),
        "one_per_warp": i // 32 * 8,
        "pairs": i // 2,
        "reversed": N - 1 - i,
        "swapped": i ^ 5,
        "sorted": np.sort(np.random.default_rng(seed).integers(0, 4096, N)),
        "far": i * 64 % 4096,
    }[pattern].astype(np.int32)


def gather_case(name, entry, source, words, pattern):
    at = indices(pattern) % (4096 // words)
    return case(name, entry, source, 4096, N * words, lambda x, y: x.reshape(-1, words)[at].reshape(-1), more=(at,))


def permutation(seed=6):
    return np.random.default_rng(seed).permutation(N).astype(np.int32)


CASES: list[Case] = [case(f"copy_{4 * w}", f"copy_{4 * w}", COPY[w], N * w, N * w, lambda x, y: x) for w in (1, 2, 4)]
CASES += [
    case(f"tail_{4 * w}", f"copy_{4 * w}", COPY[w], N * w, N * w, lambda x, y, w=w: np.where(np.arange(N * w) < 777 * w, x, 0).astype(np.float32), n=777)
    for w in (1, 2, 4)
]
CASES += [
    case(f"copy_{name}", f"copy_{name}", kernel(f"copy_{name}", "if (i < n) y[i] = x[i];", element), N, N, lambda x, y: x, dtype=dtype)
    for name, element, dtype in NARROW
]
CASES += [case(f"load_stride_{s:02}", "strided_load", STRIDED_LOAD, N * 33, N, lambda x, y, s=s: strided(x, s), more=(np.int32(s),)) for s in range(1, 34)]
CASES += [
    case(f"store_stride_{s:02}", "strided_store", STRIDED_STORE, N, N * 33, lambda x, y, s=s: spread(x, y, s), more=(np.int32(s),))
    for s in (1, 2, 3, 5, 8, 9, 16, 31, 32, 33)
]
CASES += [
    case(f"load_{4 * w}_bytes_stride_{s:02}", entry, STRIDED_WIDE[w], N * w * 17, N * w, lambda x, y, s=s, w=w: strided(x, s, w), more=(np.int32(s),))
    for w, entry in ((2, "strided_pairs"), (4, "strided_quads"))
    for s in (1, 2, 3, 4, 8, 17)
]
CASES += [case(f"load_shift_{by}", "shifted", SHIFTED, N + 64, N, lambda x, y, by=by: x[by : by + N], more=(np.int32(by),)) for by in (1, 3, 7, 8, 13, 31)]
CASES += [
    case(f"store_shift_{by}", "shifted_store", SHIFTED_STORE, N, N + 64, lambda x, y, by=by: np.concatenate([y[:by], x, y[by + N :]]), more=(np.int32(by),))
    for by in (1, 5, 8)
]
CASES += [gather_case(f"gather_{p}", "gather", GATHER, 1, p) for p in ("random", "one_per_warp", "pairs", "reversed", "swapped", "sorted", "far")]
CASES += [gather_case(f"gather_16_{p}", "gather_wide", GATHER_WIDE, 4, p) for p in ("random", "pairs", "swapped")]
CASES += [case("scatter", "scatter", SCATTER, N, N, lambda x, y: scattered(x, permutation()), more=(permutation(),))]


def scattered(x, at):
    y = np.zeros_like(x)
    y[at] = x
    return y


def fields(x, y):
    parts = x.reshape(N, 3)
    return parts[:, 0] * 2 + parts[:, 2]


CASES += [
    case("partial_warps", "copy_4", COPY[1], 200, 200, lambda x, y: x, n=200, grid=5, block=40),
    case("block_of_one_warp_less", "copy_4", COPY[1], 93, 93, lambda x, y: x, n=93, grid=3, block=31),
    case("structs_of_3", "aos", kernel("aos", "y[i] = x[3 * i] * 2.0f + x[3 * i + 2];"), N * 3, N, fields),
    case("arrays_of_3", "soa", kernel("soa", "y[i] = x[i] * 2.0f + x[2 * n + i];"), N * 3, N, lambda x, y: x[:N] * 2 + x[2 * N :]),
    case(
        "struct_stores",
        "aos_out",
        kernel("aos_out", "y[3 * i] = x[i];\n    y[3 * i + 1] = -x[i];"),
        N,
        N * 3,
        lambda x, y: np.stack([x, -x, np.zeros_like(x)], 1).reshape(-1),
    ),
    case(
        "broadcast",
        "broadcast",
        kernel("broadcast", "y[i] = x[blockIdx.x] + x[threadIdx.x / 32];"),
        N,
        N,
        lambda x, y: np.repeat(x[:8], 128) + np.tile(np.repeat(x[:4], 32), 8),
    ),
    case(
        "odd_lanes",
        "odd_lanes",
        kernel("odd_lanes", "if (threadIdx.x & 1) y[i] = x[i]; else y[i] = x[N2 + i];", before=f"#define N2 {N}"),
        2 * N,
        N,
        lambda x, y: np.where(np.arange(N) & 1, x[:N], x[N:]),
    ),
    case(
        "few_lanes",
        "few_lanes",
        kernel("few_lanes", "if (threadIdx.x % 32 < 5 && threadIdx.x < 96) y[i] = x[i];"),
        N,
        N,
        lambda x, y: np.where((np.arange(N) % 32 < 5) & (np.arange(N) % 128 < 96), x, 0).astype(np.float32),
    ),
    case(
        "grid_stride",
        "grid_stride",
        kernel("grid_stride", "for (; i < n; i += gridDim.x * blockDim.x) y[i] = 3.0f * x[i];"),
        3000,
        3000,
        lambda x, y: x * 3,
        n=3000,
        grid=4,
    ),
    case(
        "in_two_halves",
        "in_halves",
        kernel("in_halves", "float2 v = *reinterpret_cast<const float2*>(x + 2 * i);\n    y[i] = v.x;\n    y[n + i] = v.y;"),
        2 * N,
        2 * N,
        lambda x, y: x.reshape(N, 2).T.reshape(-1),
    ),
    case(
        "read_only",
        "read_only",
        'extern "C" __global__ void read_only(const float* __restrict__ x, float* __restrict__ y, int n) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i] + x[i + 1];\n}\n",
        N,
        N,
        lambda x, y: stencil(x),
    ),
    Case(
        name="access.columns",
        source="""
extern "C" __global__ void columns(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
}""",
        entry="columns",
        args=lambda: [numbers(60 * 70), np.zeros(60 * 70, np.float32), np.int32(60), np.int32(70)],
        outputs=(1,),
        expect=lambda x, y, *_: [np.ascontiguousarray(x.reshape(60, 70).T).reshape(-1)],
        grid=(9, 4),
        block=(8, 16),
    ),
    Case(
        name="access.global_histogram",
        source="""
extern "C" __global__ void global_histogram(const int* x, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i] & 31], 1);
}""",
        entry="global_histogram",
        args=lambda: [numbers(1000, np.int32), np.zeros(32, np.int32), np.int32(1000)],
        outputs=(1,),
        expect=lambda x, *_: [np.bincount(x & 31, minlength=32).astype(np.int32)],
        grid=8,
    ),
]


def stencil(x):
    y = np.zeros_like(x)
    y[1:-1] = x[:-2] + x[1:-1] + x[2:]
    return y
