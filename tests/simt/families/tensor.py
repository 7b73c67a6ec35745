"""Tensor cores: mma.sync, ldmatrix, stmatrix and wmma.h, on fragments laid out as PTX ISA 9.7.14 draws them."""

from __future__ import annotations

import numpy as np

from .case import Case, Tolerance
from .rounding import from_bfloat16, to_bfloat16


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def small(seed, *shape):
    return np.random.default_rng(seed).integers(-4, 5, shape)


PREAMBLE = """
typedef unsigned int u32;
__device__ __forceinline__ u32 word(const void* p) { return *reinterpret_cast<const u32*>(p); }
"""


def product_kernel(entry, shape, element, result, loads, statement, columns) -> str:
    """One warp multiplies A (m×k, rows) by B (given as n×k) and adds C; `columns` is the number of result columns."""
    return f"""{PREAMBLE}
extern "C" __global__ void {entry}(const {element}* A, const {element}* B, const {result}* C, {result}* D) {{
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3;  // group 0..7, thread of the group 0..3
    {loads}
    {result} d0, d1, d2, d3;
    {result} c0 = C[g * {columns} + 2 * t], c1 = C[g * {columns} + 2 * t + 1];
    {result} c2 = C[(g + 8) * {columns} + 2 * t], c3 = C[(g + 8) * {columns} + 2 * t + 1];
    {statement}
    D[g * {columns} + 2 * t] = d0; D[g * {columns} + 2 * t + 1] = d1;
    D[(g + 8) * {columns} + 2 * t] = d2; D[(g + 8) * {columns} + 2 * t + 1] = d3;
}}
"""


def mma(entry, k, element, result, instruction, a_type, exact, values, wide, tolerance, per_word):
    """An m16n8 product. `per_word`: elements in a 32-bit register; `values(seed, rows, k)` draws, `wide` brings back float64."""
    letter = "f" if result == "float" else "r"
    halves = 2 if k > 4 * per_word else 1  # registers along k
    step = 4 * per_word
    a = [f"word(A + ({row}) * {k} + {per_word} * t + {step * h})" for h in range(halves) for row in ("g", "g + 8")]
    b = [f"word(B + g * {k} + {per_word} * t + {step * h})" for h in range(halves)]
    loads = f"u32 a[{len(a)}] = {{{', '.join(a)}}}, b[{len(b)}] = {{{', '.join(b)}}};"
    numbers = list(range(4, 4 + len(a) + len(b) + 4))
    group = [numbers[: len(a)], numbers[len(a) : len(a) + len(b)], numbers[-4:]]
    names = ["{%0, %1, %2, %3}"] + ["{" + ", ".join(f"%{n}" for n in part) + "}" for part in group]
    inputs = ", ".join([f'"r"(a[{i}])' for i in range(len(a))] + [f'"r"(b[{i}])' for i in range(len(b))] + [f'"{letter}"(c{i})' for i in range(4)])
    outputs = ", ".join(f'"={letter}"(d{i})' for i in range(4))
    statement = f'asm volatile("{instruction} {", ".join(names)};" : {outputs} : {inputs});'
    dtype = np.float32 if result == "float" else np.int32
    return Case(
        name=f"tensor.{entry}",
        source=product_kernel(entry, (16, 8, k), element, result, loads, statement, 8),
        entry=entry,
        args=lambda: [values(1, 16, k), values(2, 8, k), (small(3, 16, 8) if exact else normal(3, 16, 8)).astype(dtype), np.zeros((16, 8), dtype)],
        outputs=(3,),
        expect=lambda a, b, c, d: [(wide(a) @ wide(b).T + c).astype(dtype)],
        block=32,
        tolerances=(tolerance,),
    )


def halves(seed, *shape):
    """The bits of float16: the kernels take them as unsigned short."""
    return normal(seed, *shape).astype(np.float16).view(np.uint16)


def brains(seed, *shape):
    return to_bfloat16(normal(seed, *shape).reshape(-1)).reshape(shape)


def tf32(seed, *shape):
    """float32 whose low 13 bits are zero: what the tensor core reads of it."""
    return (normal(seed, *shape).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def octets(seed, *shape):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def positive_octets(seed, *shape):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def whole_halves(seed, *shape):
    return small(seed, *shape).astype(np.float16).view(np.uint16)


def from_half(bits):
    return bits.view(np.float16).astype(np.float64)


def double(a):
    return a.astype(np.float64)


def long(a):
    return a.astype(np.int64)


# The ISA leaves the order and the rounding of the sum open: at least float32's precision for exact products.
# With |a|, |b| ≲ 4 and k ≤ 16 the terms sum to less than 128 in magnitude, so k roundings of 2^-24·128 are below 2^-13.
SUM = Tolerance(absolute=2**-13)
EXACT = Tolerance()
MMA = "mma.sync.aligned"
CASES: list[Case] = [
    mma("mma_f16_k16", 16, "unsigned short", "float", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", "f16", False, halves, from_half, SUM, 2),
    mma("mma_f16_k8", 8, "unsigned short", "float", f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32", "f16", False, halves, from_half, SUM, 2),
    mma("mma_f16_exact", 16, "unsigned short", "float", f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32", "f16", True, whole_halves, from_half, EXACT, 2),
    mma("mma_bf16_k16", 16, "unsigned short", "float", f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32", "bf16", False, brains, from_bfloat16, SUM, 2),
    mma("mma_bf16_k8", 8, "unsigned short", "float", f"{MMA}.m16n8k8.row.col.f32.bf16.bf16.f32", "bf16", False, brains, from_bfloat16, SUM, 2),
    mma("mma_tf32_k8", 8, "float", "float", f"{MMA}.m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", False, tf32, double, SUM, 1),
    mma("mma_tf32_k4", 4, "float", "float", f"{MMA}.m16n8k4.row.col.f32.tf32.tf32.f32", "tf32", False, tf32, double, SUM, 1),
    mma("mma_s8_k32", 32, "signed char", "int", f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", "s8", True, octets, long, EXACT, 4),
    mma("mma_s8_k16", 16, "signed char", "int", f"{MMA}.m16n8k16.row.col.s32.s8.s8.s32", "s8", True, octets, long, EXACT, 4),
    mma("mma_u8_k32", 32, "unsigned char", "int", f"{MMA}.m16n8k32.row.col.s32.u8.u8.s32", "u8", True, positive_octets, long, EXACT, 4),
    Case(
        name="tensor.mma_f16_result",
        source=PREAMBLE
        + """
extern "C" __global__ void mma_f16_result(const unsigned short* A, const unsigned short* B, const unsigned short* C, unsigned short* D) {
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
    u32 a0 = word(A + g * 16 + 2 * t), a1 = word(A + (g + 8) * 16 + 2 * t), a2 = word(A + g * 16 + 2 * t + 8), a3 = word(A + (g + 8) * 16 + 2 * t + 8);
    u32 b0 = word(B + g * 16 + 2 * t), b1 = word(B + g * 16 + 2 * t + 8), c0 = word(C + g * 8 + 2 * t), c1 = word(C + (g + 8) * 8 + 2 * t), d0, d1;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
                 : "=r"(d0), "=r"(d1) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(c0), "r"(c1));
    *reinterpret_cast<u32*>(D + g * 8 + 2 * t) = d0;
    *reinterpret_cast<u32*>(D + (g + 8) * 8 + 2 * t) = d1;
}""",
        entry="mma_f16_result",
        args=lambda: [whole_halves(1, 16, 16), whole_halves(2, 8, 16), whole_halves(3, 16, 8), np.zeros((16, 8), np.uint16)],
        outputs=(3,),
        expect=lambda a, b, c, d: [(from_half(a) @ from_half(b).T + from_half(c)).astype(np.float16).view(np.uint16)],
        block=32,
    ),
    Case(
        name="tensor.mma_f64",
        source="""
extern "C" __global__ void mma_f64(const double* A, const double* B, const double* C, double* D) {
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
    double d0, d1;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=d"(d0), "=d"(d1) : "d"(A[g * 4 + t]), "d"(B[g * 4 + t]), "d"(C[g * 8 + 2 * t]), "d"(C[g * 8 + 2 * t + 1]));
    D[g * 8 + 2 * t] = d0;
    D[g * 8 + 2 * t + 1] = d1;
}""",
        entry="mma_f64",
        args=lambda: [normal(1, 8, 4).astype(np.float64), normal(2, 8, 4).astype(np.float64), normal(3, 8, 8).astype(np.float64), np.zeros((8, 8))],
        outputs=(3,),
        expect=lambda a, b, c, d: [a @ b.T + c],
        block=32,
        tolerances=(Tolerance(absolute=2**-46),),
    ),
    Case(
        name="tensor.tf32_rounding",
        source="""
extern "C" __global__ void tf32_rounding(const float* x, unsigned* y) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x[threadIdx.x]));
    y[threadIdx.x] = r & 0xffffe000u;
}""",
        entry="tf32_rounding",
        args=lambda: [normal(4, 128), np.zeros(128, np.uint32)],
        outputs=(1,),
        expect=lambda x, y: [(x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)],
    ),
]


def fragment(matrix, transposed):
    """What 32 lanes receive of an 8×8 matrix: lane L the pair at row L/4, columns 2·(L mod 4) and one more (of the transpose)."""
    m = matrix.T if transposed else matrix
    return m.reshape(8, 4, 2).reshape(32, 2)


def load_matrices(count, transposed, pitch=8):
    """ldmatrix of `count` 8×8 matrices whose rows stand `pitch` elements apart."""
    entry = f"ldmatrix_x{count}{'_trans' if transposed else ''}{'_padded' if pitch != 8 else ''}"
    registers = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"=r"(r[{i}])' for i in range(count))
    trans = ".trans" if transposed else ""
    return Case(
        name=f"tensor.{entry}",
        source=f"""
extern "C" __global__ void {entry}(const unsigned short* x, unsigned* y) {{
    __shared__ __align__(16) unsigned short s[{count} * 8 * {pitch}];
    int lane = threadIdx.x;
    for (int i = lane; i < {count} * 64; i += 32) s[i / 8 * {pitch} + i % 8] = x[i];
    __syncwarp();
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(s + lane % {count * 8} * {pitch}));
    unsigned r[{count}];
    asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%{count}];" : {outputs} : "r"(at));
    for (int k = 0; k < {count}; ++k) y[k * 32 + lane] = r[k];
}}
""",
        entry=entry,
        args=lambda: [np.random.default_rng(count).integers(0, 65536, count * 64).astype(np.uint16), np.zeros(count * 32, np.uint32)],
        outputs=(1,),
        expect=lambda x, y: [np.concatenate([np.ascontiguousarray(fragment(m, transposed)).view(np.uint32).reshape(-1) for m in x.reshape(count, 8, 8)])],
        block=32,
    )


def store_matrices(count, transposed):
    entry = f"stmatrix_x{count}{'_trans' if transposed else ''}"
    registers = ", ".join(f"%{i + 1}" for i in range(count))
    inputs = ", ".join(f'"r"(x[{i} * 32 + lane])' for i in range(count))
    trans = ".trans" if transposed else ""

    def expect(x, y):
        pairs = x.view(np.uint16).reshape(count, 8, 8)
        return [np.concatenate([np.ascontiguousarray(p.T if transposed else p).reshape(-1) for p in pairs])]

    return Case(
        name=f"tensor.{entry}",
        source=f"""
extern "C" __global__ void {entry}(const unsigned* x, unsigned short* y) {{
    __shared__ __align__(16) unsigned short s[{count} * 64];
    int lane = threadIdx.x;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(s + lane % {count * 8} * 8));
    asm volatile("stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%0], {{{registers}}};" :: "r"(at), {inputs} : "memory");
    __syncwarp();
    for (int i = lane; i < {count} * 64; i += 32) y[i] = s[i];
}}
""",
        entry=entry,
        args=lambda: [np.random.default_rng(9 + count).integers(0, 2**32, count * 32, dtype=np.uint32), np.zeros(count * 64, np.uint16)],
        outputs=(1,),
        expect=expect,
        block=32,
    )


CASES += [load_matrices(n, trans) for n in (1, 2, 4) for trans in (False, True)] + [load_matrices(4, False, 24)]
CASES += [store_matrices(n, trans) for n in (1, 2, 4) for trans in (False, True)]


def wmma(entry, ctype, header, a_layout, b_layout, values, wide, mkn=(16, 16, 16), result="float", tolerance=SUM, store="mem_row_major"):
    m, k, n = mkn
    dtype = np.float32 if result == "float" else np.float16

    def expect(a, b, c, d):
        left = wide(a) if a_layout == "row" else wide(a).reshape(k, m).T
        right = wide(b) if b_layout == "row" else wide(b).reshape(n, k).T
        answer = (left.reshape(m, k) @ right.reshape(k, n) * 2 + c.reshape(m, n)).astype(dtype)
        return [answer]

    return Case(
        name=f"tensor.{entry}",
        source=f"""
#include <mma.h>
{header}
using namespace nvcuda;
extern "C" __global__ void {entry}(const {ctype}* A, const {ctype}* B, const {result}* C, {result}* D) {{
    wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {ctype}, wmma::{a_layout}_major> a;
    wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {ctype}, wmma::{b_layout}_major> b;
    wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {result}> acc, c;
    wmma::fill_fragment(acc, 0.0f);
    wmma::load_matrix_sync(a, A, {k if a_layout == "row" else m});
    wmma::load_matrix_sync(b, B, {n if b_layout == "row" else k});
    wmma::load_matrix_sync(c, C, {n}, wmma::mem_row_major);
    wmma::mma_sync(acc, a, b, acc);
    for (int i = 0; i < acc.num_elements; ++i) acc.x[i] = acc.x[i] * ({result})2.0f + c.x[i];
    wmma::store_matrix_sync(D, acc, {n}, wmma::mem_row_major);
}}
""",
        entry=entry,
        args=lambda: [
            values(1, m, k),
            values(2, k, n),
            normal(3, m, n).astype(dtype) if result == "float" else small(3, m, n).astype(dtype),
            np.zeros((m, n), dtype),
        ],
        outputs=(3,),
        expect=expect,
        block=32,
        tolerances=(tolerance,),
    )


TWICE = Tolerance(absolute=2**-12)


def floats16(seed, *shape):
    return normal(seed, *shape).astype(np.float16)


def whole_floats16(seed, *shape):
    return small(seed, *shape).astype(np.float16)


FP16, BF16 = "#include <cuda_fp16.h>", "#include <cuda_bf16.h>"
CASES += [
    wmma("wmma_f16", "half", FP16, "row", "row", floats16, double, tolerance=TWICE),
    wmma("wmma_f16_columns", "half", FP16, "col", "col", floats16, double, tolerance=TWICE),
    wmma("wmma_f16_wide", "half", FP16, "row", "col", floats16, double, (8, 16, 32), tolerance=TWICE),
    wmma("wmma_f16_tall", "half", FP16, "row", "row", floats16, double, (32, 16, 8), tolerance=TWICE),
    wmma("wmma_bf16", "__nv_bfloat16", BF16, "row", "col", brains, from_bfloat16, tolerance=TWICE),
    wmma("wmma_f16_result", "half", FP16, "row", "row", whole_floats16, double, result="half", tolerance=EXACT),
]
