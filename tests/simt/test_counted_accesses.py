"""How loads and stores are counted that ptxas joins, leaves out or makes otherwise than the PTX shows: as its machine code has them, or an H200 read."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

SUM = """extern "C" __global__ void k(const float* x, float* y) {
    __shared__ float before[%d], numbers[512];
    numbers[threadIdx.x] = before[threadIdx.x %% %d] = x[threadIdx.x];
    __syncthreads();
    const float* at = numbers + %s;
    float sum = before[0] + before[1];
    for (int i = 0; i < 10; ++i) sum = sum * 2 + at[i];
    y[threadIdx.x] = sum;
}"""


@pytest.mark.parametrize(
    ("words", "index", "loads"),
    [
        (2, "0", 3),  # places 0 to 47 of shared memory: 3 of 16 bytes, the first one of both arrays
        (2, "4 * threadIdx.x", 1 + 5),  # at 8 + 16 t: five of 8 bytes
        (4, "4 * threadIdx.x", 1 + 3),  # at 16 + 16 t: two of 16 bytes and one of 8
        (3, "0", 3 + 1),  # places 0 to 7, and 12 to 51: three of 16 bytes, of the first of which three words are wanted, and the last word
    ],
)
def test_neighbours_are_loaded_together_where_ptxas_knows_the_place(words: int, index: str, loads: int) -> None:
    """As the machine code has it."""
    report = simt.compile(SUM % (words, words, index)).kernel("k").launch(1, 32, (np.ones(32, np.float32), np.zeros(32, np.float32)))
    assert report.counters.shared_load_requests == loads


FOUR = """extern "C" __global__ void k(const float* x, float* y, int m) {
    __shared__ __align__(16) float numbers[512];
    numbers[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const float* at = numbers + 4 * (threadIdx.x %% 8);
    float s = at[0];
    %s asm volatile("" ::: "memory");
    s = s * 3 + at[%d];
    %s asm volatile("" ::: "memory");
    s = s * 5 + at[%d];
    %s asm volatile("" ::: "memory");
    y[threadIdx.x] = s * 7 + at[%d];
}"""
MANY = "".join(f"s = s * 1.5f + {k};" for k in range(20))


@pytest.mark.parametrize(
    ("between", "together"),
    [
        ("s += __shfl_xor_sync(~0u, s, 1);", True),
        ("y[threadIdx.x + 64] = s;", True),
        ("atomicAdd(y + 64, s);", True),
        (f"if (s > 3) {{ {MANY} }}", True),
        (f"if (s > 3) {{ {MANY} y[threadIdx.x + 64] = s; }} else {{ {MANY} }}", True),
        ("s += x[m];", True),
        ("__syncwarp();", False),
        ("__threadfence_block();", False),
        ("numbers[300] = s;", False),
        ("if (s > 3) numbers[300] = s;", False),
        ("atomicAdd((int*)numbers + 301, 3);", False),
        ("for (int i = 0; i < m; ++i) s = s * 1.5f + 2;", False),
    ],
)
def test_what_loads_of_shared_memory_are_joined_across(between: str, together: bool) -> None:
    """As the machine code has it: four neighbours in one load of 16 bytes, and four times the same number loaded once."""
    for indices in ((1, 2, 3), (0, 0, 0)):
        text = FOUR % tuple(part for index in indices for part in (between, index))
        c = simt.compile(text).kernel("k").launch(1, 32, (np.ones(512, np.float32), np.zeros(512, np.float32), np.int32(1)), check=False).counters
        assert c.shared_load_requests == (1 if together else 4), indices


@pytest.mark.parametrize(
    ("between", "together"),
    [("s += __shfl_xor_sync(~0u, s, 1);", True), ("y[threadIdx.x + 64] = s;", True), (f"if (s > 3) {{ {MANY} }}", False), ("s += numbers[m];", False)],
)
def test_what_stores_to_shared_memory_are_joined_across(between: str, together: bool) -> None:
    """As the machine code has it."""
    stores = f' {between} asm volatile("" ::: "memory"); '.join(f"numbers[4 * threadIdx.x + {k}] = s * {k + 2};" for k in range(4))
    text = f"""extern "C" __global__ void k(const float* x, float* y, int m) {{
    __shared__ __align__(16) float numbers[512];
    float s = x[threadIdx.x];
    {stores}
    __syncthreads();
    y[threadIdx.x] = numbers[threadIdx.x * m];
}}"""
    c = simt.compile(text).kernel("k").launch(1, 32, (np.ones(512, np.float32), np.zeros(512, np.float32), np.int32(1)), check=False).counters
    assert c.shared_store_requests == (1 if together else 4)


LOADED = """{between} asm volatile("" ::: "memory"); s = s * 3 + x[4 * threadIdx.x]; y[threadIdx.x] = s;"""
STORED = """y[threadIdx.x] = s; s = s * 3 + 1; {between} asm volatile("" ::: "memory"); y[threadIdx.x] = s;"""


@pytest.mark.parametrize(
    ("between", "load_left_out", "store_left_out"),
    [
        ("", True, True),
        ("numbers[m] = s;", True, True),
        ("s += numbers[m];", True, True),
        ("s ^= __shfl_xor_sync(~0u, s, 1);", True, True),
        ("atomicAdd(numbers, 3u);", True, True),
        ("s += z[m];", True, False),
        ("s += *(volatile unsigned*)(z + m);", True, False),
        (f"if (s & 1) {{ {' '.join(f's = (s * 5 + {k}) ^ (s >> 3);' for k in range(12))} }}", True, False),
        ("z[m] = s;", False, False),
        ("if (s) z[m] = s;", False, False),
        ("atomicAdd(z, 3u);", False, False),
        ("__syncwarp();", False, False),
        ("__threadfence();", False, False),
    ],
)
def test_what_of_global_memory_is_left_out(between: str, load_left_out: bool, store_left_out: bool) -> None:
    """As the machine code has it: a number that is loaded again, and one that is stored and then overwritten."""

    def counted(body: str) -> tuple[int, int]:
        text = f"""extern "C" __global__ void k(const unsigned* x, unsigned* y, unsigned* z, int m) {{
    __shared__ unsigned numbers[64];
    unsigned s = x[4 * threadIdx.x];
    {body}
    numbers[threadIdx.x] = s;
}}"""
        arguments = (np.ones(128, np.uint32), np.zeros(64, np.uint32), np.zeros(64, np.uint32), np.int32(40))
        c = simt.compile(text).kernel("k").launch(1, 32, arguments, check=False).counters
        return c.global_load_requests, c.global_store_requests

    one, two, alone = (counted(body.format(between=between)) for body in (LOADED, STORED, "{between} y[threadIdx.x] = s;"))
    assert one == (alone[0] + (not load_left_out), alone[1])
    assert two == (alone[0], alone[1] + (not store_left_out))


def test_what_is_left_out_is_still_checked_and_done() -> None:
    text = """extern "C" __global__ void k(unsigned* y) {
    y[threadIdx.x] = 1; asm volatile("" ::: "memory"); y[threadIdx.x] = 2;
}"""
    y = np.zeros(31, np.uint32)
    report = simt.compile(text).kernel("k").launch(1, 32, (y,))
    assert report.counters.global_store_requests == 1 and (y == 2).all()
    assert {f.line for f in report.findings if f.kind == "out-of-bounds"} == {2}


def test_ldmatrix_of_the_same_rows_is_left_out() -> None:
    """As the machine code has it; and not where a barrier lies between."""
    text = """#include <ptx.cuh>
extern "C" __global__ void k(const unsigned* x, unsigned* y) {
    __shared__ __align__(16) unsigned tile[128];
    for (int k = 0; k < 4; ++k) tile[threadIdx.x + 32 * k] = x[threadIdx.x + 32 * k];
    __syncwarp();
    unsigned a[4], b[4];
    const unsigned at = ptx::shared_address(tile) + threadIdx.x * 16;
    ptx::ldmatrix_x4(a, at);
    BETWEEN
    ptx::ldmatrix_x4(b, at);
    y[threadIdx.x] = a[0] + b[1];
}"""
    arguments = (np.ones(128, np.uint32), np.zeros(128, np.uint32))
    for between, wavefronts in (("y[threadIdx.x + 64] = a[2];", 4), ("__syncwarp();", 8)):
        assert simt.compile(text.replace("BETWEEN", between)).kernel("k").launch(1, 32, arguments).counters.shared_load_wavefronts == wavefronts


FAR = """#include <ptx_hopper.cuh>
extern "C" __global__ void __cluster_dims__(2) k(float* y) {
    __shared__ float numbers[32];
    const int lane = threadIdx.x;
    numbers[lane] = lane;
    ptx::cluster_arrive();
    ptx::cluster_wait();
    const unsigned there = ptx::map_to_rank(ptx::shared_address(numbers + lane), TO);
    float x = lane;
    if (ptx::cluster_rank() == 0) WHAT;
    ptx::cluster_arrive();
    ptx::cluster_wait();
    y[blockIdx.x * 32 + lane] = x + numbers[lane];
}"""
FAR_LOAD = 'asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(there) : "memory")'
FAR_STORE = 'asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(x) : "memory")'


@pytest.mark.parametrize(("to", "counted"), [("0", 1), ("1", 0), ("lane % 2", 1)])  # my block, the other one, half of the lanes each
@pytest.mark.parametrize(("what", "counter"), [(FAR_LOAD, "shared_load"), (FAR_STORE, "shared_store")], ids=["load", "store"])
def test_shared_memory_of_another_block_is_not_counted(what: str, counter: str, to: str, counted: int) -> None:
    """As read on an H200: such accesses are l1tex__t_requests_pipe_lsu_mem_dshared_*."""
    report = simt.compile(FAR.replace("TO", to).replace("WHAT", what)).kernel("k").launch(2, 32, (np.zeros(64, np.float32),))
    without = simt.compile(FAR.replace("TO", to).replace("WHAT", "x = 1")).kernel("k").launch(2, 32, (np.zeros(64, np.float32),))
    assert report.ok and without.ok
    for unit in ("requests", "wavefronts"):
        name = f"{counter}_{unit}"
        assert getattr(report.counters, name) - getattr(without.counters, name) == counted


GENERIC = """extern "C" __global__ void k(float* y) {
    __shared__ float numbers[32];
    float mine[2] = {1, 2}, x = 0;
    numbers[threadIdx.x] = threadIdx.x;
    const float* at = PLACE;
    asm volatile("ld.f32 %0, [%1];" : "=f"(x) : "l"(at) : "memory");
    y[threadIdx.x] = x;
}"""


@pytest.mark.parametrize(
    ("place", "of_global", "of_shared"),
    [
        ("numbers + threadIdx.x", (0, 0), (1, 1)),
        ("y + threadIdx.x", (1, 4), (0, 0)),
        ("threadIdx.x % 2 ? y + threadIdx.x : numbers + threadIdx.x", (1, 4), (1, 1)),
        ("mine + threadIdx.x % 2", (0, 0), (0, 0)),
    ],
)
def test_a_generic_access_counts_where_it_goes(place: str, of_global: tuple[int, int], of_shared: tuple[int, int]) -> None:
    """The first three as read on an H200."""
    c = simt.compile(GENERIC.replace("PLACE", place)).kernel("k").launch(1, 32, (np.zeros(32, np.float32),)).counters
    assert (c.global_load_requests, c.global_load_sectors) == of_global
    assert (c.shared_load_requests, c.shared_load_wavefronts) == of_shared


WMMA = """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const {type}* given, {type}* y) {{
    __shared__ __align__(128) {type} tile[2048];
    wmma::fragment<wmma::{use}, {shape}, {type}{operand}> f;
    for (int i = threadIdx.x; i < 2048; i += 32) tile[i] = given[i];
    __syncwarp();
    wmma::load_matrix_sync(f, {place}, {pitch}{accumulator});
    for (int i = 0; i < f.num_elements; ++i) y[threadIdx.x * f.num_elements + i] = f.x[i];
}}"""


def wmma_loads(use: str, shape: str, type: str, major: str, place: str, pitch: int) -> tuple[int, int, int]:
    """(requests of global memory, requests and wavefronts of shared memory) of one load_matrix_sync."""
    major = f", wmma::{'mem_' if use == 'accumulator' else ''}{major}_major"
    operand, accumulator = ("", major) if use == "accumulator" else (major, "")
    text = WMMA.format(use=use, shape=shape, type=type, operand=operand, accumulator=accumulator, place=place, pitch=pitch)
    kind = {"half": np.float16, "float": np.float32, "signed char": np.int8}[type]
    c = simt.compile(text).kernel("k").launch(1, 32, (np.ones(2048, kind), np.zeros(2048, kind))).counters
    return c.global_load_requests, c.shared_load_requests, c.shared_load_wavefronts


@pytest.mark.parametrize(
    ("use", "shape", "type", "major", "requests"),
    [
        ("accumulator", "16, 16, 16", "float", "row", 4),  # pairs
        ("accumulator", "16, 16, 16", "float", "col", 8),
        ("accumulator", "8, 32, 16", "float", "row", 8),  # dealt out as n32m8's, so pairs lie in columns
        ("accumulator", "8, 32, 16", "float", "col", 4),
        ("accumulator", "32, 8, 16", "float", "row", 4),
        ("accumulator", "32, 8, 16", "float", "col", 8),
        ("accumulator", "8, 32, 16", "half", "row", 4),
        ("matrix_a", "16, 16, 16", "half", "col", 4),
        ("matrix_b", "8, 32, 16", "half", "row", 8),
        ("matrix_a", "16, 16, 16", "signed char", "row", 2),
        ("matrix_a", "16, 16, 16", "signed char", "col", 8),  # bytes
        ("matrix_b", "8, 32, 16", "signed char", "row", 16),
        ("matrix_b", "8, 32, 16", "signed char", "col", 4),
    ],
)
def test_requests_of_wmma(use: str, shape: str, type: str, major: str, requests: int) -> None:
    """As the machine code has it, and an H200 counts it."""
    assert wmma_loads(use, shape, type, major, "given", 32)[0] == requests


@pytest.mark.parametrize(
    ("use", "shape", "type", "major", "pitch", "requests", "wavefronts"),
    [
        ("matrix_a", "16, 16, 16", "half", "row", 16, 0, 8),  # 4 matrices; rows of 32 bytes: 8 of them begin in 4 places, two at a time in each
        ("matrix_a", "16, 16, 16", "half", "col", 24, 0, 4),  # rows of 48 bytes begin in 8 places
        ("matrix_b", "8, 32, 16", "half", "row", 40, 0, 8),  # 8 matrices
        ("matrix_a", "8, 32, 16", "signed char", "row", 16, 0, 1),
        ("matrix_a", "8, 32, 16", "signed char", "col", 32, 4, 4 * 4),  # bytes of 16 rows, four of which share a bank
        ("accumulator", "16, 16, 16", "float", "row", 24, 4, 4 * 2),  # 64 bits a lane: 2 wavefronts
        ("accumulator", "16, 16, 16", "float", "row", 16, 4, 4 * 4),  # every second row begins in the same bank
        ("accumulator", "16, 16, 16", "float", "col", 16, 8, 8 * 4),  # 8 rows of 4 columns, 32 words apart
    ],
)
def test_wmma_reads_shared_memory_as_ldmatrix_where_it_can(use: str, shape: str, type: str, major: str, pitch: int, requests: int, wavefronts: int) -> None:
    assert wmma_loads(use, shape, type, major, "tile", pitch)[1:] == (requests, wavefronts)
