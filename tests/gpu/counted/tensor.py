"""ldmatrix, stmatrix, cp.async and mma: what they ask of shared and global memory."""

from __future__ import annotations

import numpy as np
from families.case import Case, Tolerance
from families.tensor import fragment

ADDRESS = "__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }\n"
LAYOUTS = {  # row r (of 8·count), chunk 0 of a row of `pitch` 16-byte chunks
    "dense": (1, "r"),
    "pitch_64": (8, "r * 8"),
    "pitch_64_swizzled": (8, "r * 8 + (r & 7)"),
    "pitch_72": (9, "r * 9"),
    "pitch_32": (4, "r * 4"),
    "pitch_32_swizzled": (4, "r * 4 + (r >> 1 & 3)"),
    "same_row": (1, "0"),
}


def load_matrix(count, trans, layout):
    pitch, place = LAYOUTS[layout]
    entry = f"ldmatrix_x{count}{'_trans' if trans else ''}_{layout}"
    registers = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"=r"(r{i})' for i in range(count))
    chunks = 32 * pitch
    return Case(
        name=f"tensor.{entry}",
        source=f"""{ADDRESS}
extern "C" __global__ void {entry}(const uint4* x, unsigned* y) {{
    __shared__ uint4 s[{chunks}];
    int lane = threadIdx.x;
    for (int i = lane; i < {chunks}; i += 32) s[i] = x[i];
    __syncwarp();
    int r = lane % {8 * count};
    unsigned at = address(s + {place}), {", ".join(f"r{i}" for i in range(count))};
    asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{".trans" if trans else ""}.shared.b16 {{{registers}}}, [%{count}];" : {outputs} : "r"(at));
    {" ".join(f"y[{32 * i} + lane] = r{i};" for i in range(count))}
}}""",
        entry=entry,
        args=lambda: [np.random.default_rng(1).integers(0, 2**32, 4 * chunks, dtype=np.uint32), np.zeros(32 * count, np.uint32)],
        outputs=(1,),
        expect=lambda x, y: [loaded(x, count, trans, layout)],
        block=32,
    )


def rows_of(layout):
    _, place = LAYOUTS[layout]
    return [eval(place, {"r": r}) for r in range(32)]  # the C expression is Python too


def loaded(x, count, trans, layout):
    rows = x.reshape(-1, 4)[rows_of(layout)[: 8 * count]]
    matrices = np.ascontiguousarray(rows).view(np.uint16).reshape(count, 8, 8)
    return np.concatenate([np.ascontiguousarray(fragment(m, trans)).view(np.uint32).reshape(-1) for m in matrices])


def store_matrix(count, trans, layout):
    pitch, place = LAYOUTS[layout]
    entry = f"stmatrix_x{count}{'_trans' if trans else ''}_{layout}"
    registers = ", ".join(f"%{i + 1}" for i in range(count))
    inputs = ", ".join(f'"r"(r{i})' for i in range(count))

    def expect(x, y):
        out = np.zeros((32 * pitch, 8), np.uint16)
        parts = x.view(np.uint16).reshape(count, 8, 8)
        rows = np.concatenate([p.T if trans else p for p in parts])
        out[rows_of(layout)[: 8 * count]] = rows
        return [out.reshape(-1)[: len(y)]]

    return Case(
        name=f"tensor.{entry}",
        source=f"""{ADDRESS}
extern "C" __global__ void {entry}(const unsigned* x, unsigned short* y) {{
    __shared__ uint4 s[{32 * pitch}];
    int lane = threadIdx.x, r = lane % {8 * count};
    for (int i = lane; i < {32 * pitch}; i += 32) s[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    unsigned {", ".join(f"r{i} = x[{32 * i} + lane]" for i in range(count))};
    asm volatile("stmatrix.sync.aligned.m8n8.x{count}{".trans" if trans else ""}.shared.b16 [%0], {{{registers}}};"
                 :: "r"(address(s + {place})), {inputs} : "memory");
    __syncwarp();
    for (int i = lane; i < {32 * pitch}; i += 32) reinterpret_cast<uint4*>(y)[i] = s[i];
}}""",
        entry=entry,
        args=lambda: [np.random.default_rng(2).integers(0, 2**32, 32 * count, dtype=np.uint32), np.zeros(32 * pitch * 8, np.uint16)],
        outputs=(1,),
        expect=expect,
        block=32,
    )


def async_copy(words, kind):
    entry = f"cp_async_{4 * words}_{kind}"
    return Case(
        name=f"tensor.{entry}",
        source=f"""{ADDRESS}
extern "C" __global__ void {entry}(const float* x, float* y) {{
    __shared__ __align__(16) float s[128 * {words}];
    int t = threadIdx.x, first = blockIdx.x * 128 * {words};
    asm volatile("cp.async.{kind}.shared.global [%0], [%1], {4 * words};" :: "r"(address(s + {words} * t)), "l"(x + first + {words} * t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int i = t; i < 128 * {words}; i += 128) y[first + i] = s[i] * 2.0f;
}}""",
        entry=entry,
        args=lambda: [np.random.default_rng(3).standard_normal(4 * 128 * words).astype(np.float32), np.zeros(4 * 128 * words, np.float32)],
        outputs=(1,),
        expect=lambda x, y: [x * 2],
        grid=4,
    )


def async_rows(chunks, global_pitch, shared_pitch, kind="cg"):
    """A warp copies rows of `chunks` 16-byte pieces; pitches in pieces. Its stores to shared memory may meet in a bank."""
    entry = f"cp_async_rows_{kind}_{chunks}_of_{global_pitch}_to_{shared_pitch}"
    rows = 32 // chunks
    return Case(
        name=f"tensor.{entry}",
        source=f"""{ADDRESS}
extern "C" __global__ void {entry}(const uint4* x, uint4* y) {{
    __shared__ uint4 s[{rows * shared_pitch}];
    int lane = threadIdx.x, row = lane / {chunks}, piece = lane % {chunks};
    unsigned to = address(s + row * {shared_pitch} + piece);
    asm volatile("cp.async.{kind}.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + row * {global_pitch} + piece) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    y[lane] = s[row * {shared_pitch} + piece];
}}""",
        entry=entry,
        args=lambda: [np.random.default_rng(4).integers(0, 2**32, rows * global_pitch * 4, dtype=np.uint32), np.zeros(128, np.uint32)],
        outputs=(1,),
        expect=lambda x, y: [np.ascontiguousarray(x.reshape(rows, global_pitch, 4)[:, :chunks]).reshape(-1)],
        block=32,
    )


MATMUL = (
    ADDRESS
    + """
__device__ void fetch(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address(to)), "l"(from) : "memory");
}
// C[64][64] = A[64][K] · B[K][64]; 128 threads, 4 warps of 16 rows; tiles of 32 along K, two buffers, rows of 40 halves.
extern "C" __global__ void tensor_matmul(const unsigned short* A, const unsigned short* B, float* C, int K) {
    __shared__ __align__(16) unsigned short As[2][64][40], Bs[2][32][72];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    float c[8][4] = {};
    int tiles = K / 32;
    for (int step = -1; step < tiles; ++step) {
        if (step + 1 < tiles) {
            int k0 = (step + 1) * 32, to = (step + 1) & 1;
            for (int i = t; i < 256; i += 128) {
                fetch(&As[to][i / 4][i % 4 * 8], A + i / 4 * K + k0 + i % 4 * 8);
                fetch(&Bs[to][i / 8][i % 8 * 8], B + (k0 + i / 8) * 64 + i % 8 * 8);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (step < 0) continue;
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        int now = step & 1;
        for (int k = 0; k < 32; k += 16) {
            unsigned a[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address(&As[now][warp * 16 + lane % 16][k + lane / 16 * 8])));
            for (int n = 0; n < 8; ++n) {
                unsigned b[2];
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                             : "=r"(b[0]), "=r"(b[1]) : "r"(address(&Bs[now][k + lane % 16][n * 8])));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
            }
        }
        __syncthreads();
    }
    for (int n = 0; n < 8; ++n)
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<float2*>(&C[(warp * 16 + lane / 4 + 8 * h) * 64 + n * 8 + lane % 4 * 2]) = make_float2(c[n][2 * h], c[n][2 * h + 1]);
}"""
)


def halves(seed, *shape):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def bits(seed, *shape):
    return halves(seed, *shape).view(np.uint16)


WMMA = """
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_tiles(const half* A, const half* B, float* C, int K) {
    __shared__ half As[16 * 16], Bs[16 * 16];
    int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = lane; i < 256; i += 32) {
            As[i] = A[(row + i / 16) * K + k0 + i % 16];
            Bs[i] = B[(k0 + i / 16) * 32 + col + i % 16];
        }
        __syncwarp();
        wmma::load_matrix_sync(a, As, 16);
        wmma::load_matrix_sync(b, Bs, 16);
        wmma::mma_sync(c, a, b, c);
        __syncwarp();
    }
    wmma::store_matrix_sync(C + row * 32 + col, c, 32, wmma::mem_row_major);
}"""

CASES: list[Case] = [
    load_matrix(count, trans, layout)
    for count, trans, layout in [
        (1, False, "dense"),
        (1, False, "pitch_64"),
        (1, True, "pitch_64_swizzled"),
        (2, False, "dense"),
        (2, False, "pitch_72"),
        (2, True, "pitch_64"),
        (4, False, "dense"),
        (4, False, "pitch_64"),
        (4, False, "pitch_64_swizzled"),
        (4, False, "pitch_72"),
        (4, False, "pitch_32"),
        (4, False, "pitch_32_swizzled"),
        (4, False, "same_row"),
        (4, True, "pitch_64"),
        (4, True, "pitch_72"),
    ]
]
CASES += [
    store_matrix(count, trans, layout)
    for count, trans, layout in [
        (1, False, "dense"),
        (2, False, "pitch_64"),
        (4, False, "dense"),
        (4, False, "pitch_64"),
        (4, False, "pitch_64_swizzled"),
        (4, True, "pitch_72"),
    ]
]
CASES += [async_copy(words, kind) for words, kind in ((1, "ca"), (2, "ca"), (4, "ca"), (4, "cg"))]
CASES += [
    async_rows(*shape)
    for shape in [
        (4, 16, 4),
        (4, 16, 5),
        (4, 4, 5),
        (4, 4, 4),
        (4, 16, 8),
        (8, 8, 9),
        (8, 8, 8),
        (8, 16, 9),
        (2, 2, 3),
        (2, 16, 8),
        (1, 1, 8),
        (1, 2, 1),
        (1, 16, 1),
        (4, 16, 5, "ca"),
        (8, 8, 9, "ca"),
    ]
]
CASES += [
    Case(
        name="tensor.tensor_matmul",
        source=MATMUL,
        entry="tensor_matmul",
        args=lambda: [bits(4, 64, 128), bits(5, 128, 64), np.zeros((64, 64), np.float32), np.int32(128)],
        outputs=(2,),
        expect=lambda a, b, *_: [a.view(np.float16).astype(np.float32) @ b.view(np.float16).astype(np.float32)],
    ),
    Case(
        name="tensor.wmma_tiles",
        source=WMMA,
        entry="wmma_tiles",
        args=lambda: [halves(6, 32, 64), halves(7, 64, 32), np.zeros((32, 32), np.float32), np.int32(64)],
        outputs=(2,),
        expect=lambda a, b, *_: [a.astype(np.float32) @ b.astype(np.float32)],
        grid=(2, 2),
        block=32,
        tolerances=(Tolerance(),),
    ),
]
