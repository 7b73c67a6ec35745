"""Atomics: what every lane sees and what is left, against a loop over the lanes; findings, counters, masks, spaces."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise import simt
from lanewise.simt.instructions.half import FORMATS, arithmetic
from lanewise.simt.instructions.read_modify_write import NEW, update

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")  # integers wrap, floats overflow: no faults on a GPU
HEADERS = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"


def compiled(source: str, name: str = "k") -> simt.Kernel:
    return simt.compile(HEADERS + source).kernel(name)


def quiet(report) -> None:
    assert report.ok and not report.findings, str(report)


# ------------------------------------------------------------------------------------------------ the algorithm


def one_by_one(cells: np.ndarray, index, op: str, operands: tuple, count: int) -> np.ndarray:
    """The definition: lane after lane."""
    seen = np.empty(count, cells.dtype)
    for lane in range(count):
        at = index if isinstance(index, int) else int(index[lane])
        mine = [np.asarray(b)[()] if np.ndim(b) == 0 else b[lane] for b in operands]
        x = seen[lane] = cells[at]
        cells[at] = DEFINED[op](x, *mine)
    return seen


def halved(op: str, type: str, x: int, b: int) -> int:
    return arithmetic(op, type, frozenset(), int(x), int(b))


DEFINED: dict[str, Callable] = {
    "add": lambda x, b: x + b,
    "min": min,
    "max": max,
    "and": lambda x, b: x & b,
    "or": lambda x, b: x | b,
    "xor": lambda x, b: x ^ b,
    "inc": lambda x, b: 0 if x >= b else x + 1,
    "dec": lambda x, b: b if x == 0 or x > b else x - 1,
    "exch": lambda x, b: b,
    "cas": lambda x, expected, b: b if x == expected else x,
    **{f"{op}.{type}": partial(halved, op, type) for op in ("add", "min", "max") for type in FORMATS},
}


def test_every_operation_has_a_definition() -> None:
    assert DEFINED.keys() == NEW.keys()


@pytest.mark.parametrize("op", NEW)
@pytest.mark.parametrize("places", [1, 2, 5, 300])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_lanes_take_effect_one_after_the_other(op: str, places: int, count: int) -> None:
    """Few cells and many lanes, many cells and few lanes; operands that differ or not; a result wanted or not."""
    rng = np.random.default_rng(places * 1000 + count)
    dtypes = (
        [np.uint16]
        if "." in op
        else [np.uint32]
        if op in ("inc", "dec")
        else [np.uint32, np.int32, np.uint64, np.float32, np.float64][: 5 if op == "add" else 3]
    )
    for dtype in dtypes:
        top = 6 if op in ("inc", "dec", "cas") else 1 << 16

        def draw(size=None, dtype=dtype, top=top):
            drawn = rng.integers(0, top, size)
            return dtype(drawn) if size is None else (drawn / 3 if np.dtype(dtype).kind == "f" else drawn).astype(dtype)

        for index in (0, rng.integers(0, places, count), np.sort(rng.permutation(max(places, count))[:count])):
            for operands in ((draw(),), (draw(count),)):
                operands = (draw(count), *operands) if op == "cas" else operands
                start = draw(max(places, count))
                for wanted in (True, False):
                    got, want = start.copy(), start.copy()
                    seen = update(got, index, op, operands, count, wanted)
                    expected = one_by_one(want, index, op, operands, count)
                    assert got.tobytes() == want.tobytes()
                    if wanted:
                        assert seen is not None and seen.tobytes() == expected.tobytes()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_chains_of_swaps(lanes: list[tuple[int, int, int]]) -> None:
    """Each lane: cell, expected value, new value, so few of each that swaps follow each other."""
    index, expected, new = (np.array(column) for column in zip(*lanes, strict=True))
    operands = (expected.astype(np.uint32), new.astype(np.uint32))
    got, want = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
    seen = update(got, index, "cas", operands, len(lanes), True)
    assert seen is not None
    assert seen.tolist() == one_by_one(want, index, "cas", operands, len(lanes)).tolist()
    assert got.tolist() == want.tolist()


# ------------------------------------------------------------------------------------------------ kernels: what is left, what was seen


def test_returned_ranks_are_in_the_order_of_blocks_and_threads() -> None:
    kernel = compiled('extern "C" __global__ void k(int* counter, int* rank) { rank[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1); }')
    counter, rank = np.zeros(1, np.int32), np.zeros(6 * 96, np.int32)
    report = kernel.launch(6, 96, [counter, rank])
    quiet(report)
    assert counter[0] == 6 * 96
    assert rank.tolist() == list(range(6 * 96))
    assert report.counters.atomics == 6 * 96


@pytest.mark.parametrize("schedule", [0, 1, 2])
def test_ranks_are_a_permutation_under_every_schedule(schedule: int) -> None:
    kernel = compiled('extern "C" __global__ void k(int* counter, int* rank) { rank[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1); }')
    counter, rank = np.zeros(1, np.int32), np.zeros(5 * 64, np.int32)
    quiet(kernel.launch(5, 64, [counter, rank], schedule=schedule))
    assert sorted(rank.tolist()) == list(range(5 * 64))
    assert (rank.tolist() == list(range(5 * 64))) == (schedule == 0)


def test_one_counter_for_two_to_the_sixteen_lanes() -> None:
    """Closed forms, not loops: 65536 lanes on one cell take milliseconds. A loop over the lanes takes seconds."""
    import time

    source = """
extern "C" __global__ void k(unsigned* cells, unsigned* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = atomicAdd(cells, 3u) + atomicInc(cells + 1, 99u) + (atomicCAS(cells + 2, 0u, 1u + i) == 0u) + atomicExch(cells + 3, i) / 1000000u;
    atomicAdd(cells + 4, (unsigned)i); atomicMax(cells + 5, (unsigned)i);
}"""
    kernel = compiled(source)
    cells, out = np.zeros(6, np.uint32), np.zeros(1 << 16, np.uint32)
    kernel.launch(256, 256, [cells, out])
    cells[:] = 0
    began = time.process_time()
    quiet(kernel.launch(256, 256, [cells, out]))
    took = time.process_time() - began
    n = 1 << 16
    assert cells.tolist() == [3 * n, n % 100, 1, n - 1, n * (n - 1) // 2 & 0xFFFFFFFF, n - 1]
    assert (out == 3 * np.arange(n) + np.arange(n) % 100 + (np.arange(n) == 0)).all()
    assert took < 2.0


def test_a_histogram_in_shared_memory() -> None:
    kernel = compiled("""
extern "C" __global__ void k(const int* x, unsigned* h, int n) {
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&h[threadIdx.x], bins[threadIdx.x]);
}""")
    x = np.random.default_rng(1).integers(0, 64, 5000).astype(np.int32)
    h = np.zeros(64, np.uint32)
    report = kernel.launch(20, 256, [x, h, np.int32(5000)])
    assert report.ok, str(report)
    assert (h == np.bincount(x, minlength=64)).all()
    assert report.counters.atomics == 5000 + 20 * 64


WIDTHS = {
    "unsigned long long": (np.uint64, "atomicAdd(t, v)", lambda x, v: x + v),
    "double": (np.float64, "atomicAdd(t, v)", lambda x, v: x + v),
    "long long": (np.int64, "atomicMin(t, -v)", lambda x, v: np.minimum(x, -v)),
    "unsigned": (np.uint32, "atomicOr(t, v << 20)", lambda x, v: x | v << np.uint32(20)),
    "float": (np.float32, "atomicAdd(t, v)", lambda x, v: x + v),
}


@pytest.mark.parametrize("ctype", WIDTHS)
@pytest.mark.parametrize("space", ["global", "shared", "generic"])
def test_seen_values_in_every_space_and_width(ctype: str, space: str) -> None:
    """Every lane's old value is what the lanes before it left; blocks of shared memory are apart."""
    dtype, statement, f = WIDTHS[ctype]
    target = {"global": "cells + blockIdx.x * 4", "shared": "mine", "generic": "(threadIdx.x & 1 ? mine : cells + blockIdx.x * 4)"}[space]
    kernel = compiled(f"""
extern "C" __global__ void k({ctype}* cells, {ctype}* seen, {ctype}* left) {{
    __shared__ {ctype} mine[4];
    if (threadIdx.x < 4) mine[threadIdx.x] = 5;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {ctype}* t = {target} + threadIdx.x / 3 % 4;
    {ctype} v = i % 7 + 1;
    seen[i] = {statement};
    __syncthreads();
    if (threadIdx.x < 4) left[blockIdx.x * 4 + threadIdx.x] = mine[threadIdx.x];
}}""")
    cells, seen, left = np.full(12, 5, dtype), np.zeros(3 * 40, dtype), np.zeros(12, dtype)
    report = kernel.launch(3, 40, [cells, seen, left])
    assert report.ok, str(report)
    memory = {"cells": np.full((3, 4), 5, dtype), "mine": np.full((3, 4), 5, dtype)}
    for i in range(120):
        block, thread = divmod(i, 40)
        name = {"global": "cells", "shared": "mine", "generic": "mine" if thread & 1 else "cells"}[space]
        x = memory[name][block, thread // 3 % 4]
        assert seen[i] == x
        memory[name][block, thread // 3 % 4] = f(x, dtype(i % 7 + 1))
    assert (cells.reshape(3, 4) == memory["cells"]).all()
    assert (left.reshape(3, 4) == memory["mine"]).all()


@pytest.mark.parametrize("type", ["__half", "__half2", "__nv_bfloat16", "__nv_bfloat162"])
@pytest.mark.parametrize("used", [True, False])
def test_half_sums_are_rounded_after_every_lane(type: str, used: bool) -> None:
    pair, name = type.endswith("2"), "bf16" if "bf" in type else "f16"
    keep = "seen[threadIdx.x] = " if used else ""
    body = f"{keep}atomicAdd(sum, x[threadIdx.x]);"
    kernel = compiled(f'extern "C" __global__ void k({type}* sum, const {type}* x, {type}* seen) {{ {body} }}')
    values = np.random.default_rng(5).standard_normal(2 * 64).astype(np.float32)
    bits = values.astype(np.float16).view(np.uint16) if name == "f16" else (values.view(np.uint32) >> 16).astype(np.uint16)
    x = bits if pair else bits[:64].copy()
    total, seen = np.zeros(2 if pair else 1, np.uint16), np.zeros_like(x)
    give = (lambda a: a.view(np.float16)) if name == "f16" else (lambda a: a)
    quiet(kernel.launch(1, 64, [give(total), give(x), give(seen)]))
    for half in range(2 if pair else 1):
        now = 0
        for lane in range(64):
            position = 2 * lane + half if pair else lane
            assert seen[position] == (now if used else 0)
            now = arithmetic("add", name, frozenset(), now, int(x[position]))
        assert total[half] == now


def test_a_float_vector_is_added_element_by_element() -> None:
    kernel = compiled("""
extern "C" __global__ void k(float4* four, float2* two, float4* seen) {
    float v = threadIdx.x;
    seen[threadIdx.x] = atomicAdd(four, make_float4(v, 2 * v, 3 * v, 1));
    atomicAdd(two + threadIdx.x % 2, make_float2(v, -v));
}""")
    four, two, seen = np.zeros(4, np.float32), np.zeros(4, np.float32), np.zeros((32, 4), np.float32)
    quiet(kernel.launch(1, 32, [four, two, seen]))
    v = np.arange(32, dtype=np.float32)
    before = np.cumsum(v) - v
    assert four.tolist() == [496, 992, 1488, 32]
    assert (seen == np.stack([before, 2 * before, 3 * before, v], axis=1)).all()
    assert two.tolist() == [240, -240, 256, -256]


def test_lanes_that_take_no_part_keep_what_they_had() -> None:
    """A predicated atomic: the others' registers and cells stay."""
    kernel = compiled("""
extern "C" __global__ void k(int* cells, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, old = -7;
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p atom.global.add.s32 %0, [%1], 10; }" : "+r"(old) : "l"(cells + i % 5), "r"(i % 3));
    out[i] = old;
}""")
    cells, out = np.zeros(5, np.int32), np.zeros(120, np.int32)
    report = kernel.launch(4, 30, [cells, out])
    quiet(report)
    want, memory = [], [0] * 5
    for i in range(120):
        want.append(memory[i % 5] if i % 3 else -7)
        memory[i % 5] += 10 if i % 3 else 0
    assert out.tolist() == want
    assert cells.tolist() == memory
    assert report.counters.atomics == 80


def test_a_maximum_by_compare_and_swap() -> None:
    kernel = compiled("""
extern "C" __global__ void k(const float* x, int* most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, seen = atomicAdd(most, 0), old;
    do {
        old = seen;
        if (__int_as_float(old) >= x[i]) break;
        seen = atomicCAS(most, old, __float_as_int(x[i]));
    } while (seen != old);
}""")
    x = np.random.default_rng(2).random(2048).astype(np.float32)
    most = np.zeros(1, np.int32)
    quiet(kernel.launch(8, 256, [x, most]))
    assert most.view(np.float32)[0] == x.max()


def test_a_lock_by_exchange_and_fences() -> None:
    kernel = compiled("""
extern "C" __global__ void k(int* lock, int* sum) {
    if (threadIdx.x == 0) {
        while (atomicExch(lock, 1) != 0) { }
        __threadfence();
        *sum = *sum + blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}""")
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    quiet(kernel.launch(12, 32, [lock, total]))
    assert total[0] == 66 and lock[0] == 0


# ------------------------------------------------------------------------------------------------ findings and counters


def only(report, kind: str):
    assert [f.kind for f in report.findings] == [kind], str(report)
    return report.findings[0]


def test_an_atomic_outside_its_array() -> None:
    kernel = compiled('extern "C" __global__ void k(int* bins, int* old) {\n    old[threadIdx.x] = atomicAdd(&bins[threadIdx.x], 1);\n}')
    bins, old = np.zeros(30, np.int32), np.zeros(32, np.int32)
    finding = only(kernel.launch(1, 32, [bins, old]), "out-of-bounds")
    assert (finding.array, finding.index, finding.line, finding.count) == ("bins", 30, 4, 2)
    assert "updates atomically bins[30]" in finding.message
    assert (bins == 1).all()


def test_an_atomic_outside_shared_memory() -> None:
    kernel = compiled(
        'extern "C" __global__ void k(int* out) { __shared__ int bins[16]; bins[threadIdx.x % 16] = 0; '
        "__syncthreads();\n atomicAdd(&bins[threadIdx.x], 1);\n __syncthreads(); out[threadIdx.x] = bins[threadIdx.x % "
        "16]; }"
    )
    out = np.zeros(32, np.int32)
    report = kernel.launch(1, 32, [out])
    found = [f for f in report.findings if f.kind == "out-of-bounds"]
    assert [(f.array, f.index, f.line, f.count) for f in found] == [("bins", 16, 4, 16)]
    assert (out == 1).all()


def test_a_misaligned_atomic() -> None:
    kernel = compiled('extern "C" __global__ void k(char* x) { atomicAdd((int*)(x + 4 * threadIdx.x + 2), 1); }')
    finding = only(kernel.launch(1, 4, [np.zeros(32, np.int8)]), "misaligned")
    assert finding.array == "x"


def test_a_sum_into_an_output_that_nobody_set() -> None:
    kernel = compiled('extern "C" __global__ void k(float* sum) { atomicAdd(sum, 1.0f); }')
    finding = only(kernel.launch(1, 32, [simt.Output(np.zeros(1, np.float32))]), "uninitialised-read")
    assert finding.array == "sum" and finding.index == 0


def test_an_exchange_whose_result_is_dropped_sets() -> None:
    """So nothing unset is read, neither in an output nor in shared memory; with a used result it is."""
    drop = compiled("""
extern "C" __global__ void k(int* out) {
    __shared__ int s[32];
    atomicExch(&s[threadIdx.x], 3);
    __syncthreads();
    atomicExch(&out[threadIdx.x], s[31 - threadIdx.x]);
}""")
    out = np.zeros(32, np.int32)
    quiet(drop.launch(1, 32, [simt.Output(out)]))
    assert (out == 3).all()
    use = compiled('extern "C" __global__ void k(int* x, int* out) { out[threadIdx.x] = atomicExch(&x[threadIdx.x], 3); }')
    assert only(use.launch(1, 32, [simt.Output(np.zeros(32, np.int32)), out]), "uninitialised-read").array == "x"


def test_shared_bins_that_nobody_cleared() -> None:
    kernel = compiled(
        'extern "C" __global__ void k(const int* x, int* out) { __shared__ int bins[8]; '
        "atomicAdd(&bins[x[threadIdx.x]], 1); __syncthreads(); if (threadIdx.x < 8) out[threadIdx.x] = "
        "bins[threadIdx.x]; }"
    )
    report = kernel.launch(1, 32, [np.arange(32, dtype=np.int32) % 8, np.zeros(8, np.int32)])
    assert {(f.kind, f.array) for f in report.findings} == {("uninitialised-read", "bins")}


def test_atomics_never_race_with_each_other_but_with_plain_accesses() -> None:
    both = compiled('extern "C" __global__ void k(int* x) { atomicAdd(x, 1); atomicMax(x, 7); }')
    quiet(both.launch(4, 64, [np.zeros(1, np.int32)]))
    plain = compiled('extern "C" __global__ void k(int* x, int* out) {\n    atomicAdd(x, 1);\n    out[blockIdx.x * 64 + threadIdx.x] = *x;\n}')
    finding = only(plain.launch(4, 64, [np.zeros(1, np.int32), np.zeros(256, np.int32)]), "race")
    assert finding.array == "x" and finding.line == 5 and finding.other is not None
    assert (finding.other.line, finding.other.access) == (4, "atomic")


def test_a_shared_atomic_races_with_a_plain_read() -> None:
    source = (
        'extern "C" __global__ void k(int* out) {{ __shared__ int n; if (threadIdx.x == 0) n = 0; __syncthreads(); '
        "atomicAdd(&n, 1);\n{sync} out[threadIdx.x] = n; }}"
    )
    out = np.zeros(64, np.int32)
    finding = only(compiled(source.format(sync="")).launch(1, 64, [out]), "race")
    assert finding.array == "n"
    quiet(compiled(source.format(sync="__syncthreads();")).launch(1, 64, [out]))
    assert (out == 64).all()


def test_sectors_of_atomics_count_as_traffic() -> None:
    """32 neighbours are 4 sectors of 32 bytes; one cell for all is 1."""
    kernel = compiled('extern "C" __global__ void k(int* x, int stride) { atomicAdd(&x[threadIdx.x * stride], 1); }')
    for stride, sectors in ((1, 4), (0, 1), (8, 32)):
        c = kernel.launch(1, 32, [np.zeros(256, np.int32), np.int32(stride)]).counters
        assert (c.global_bytes, c.dram_read_bytes, c.dram_write_bytes) == (32 * sectors,) * 3
        assert (c.global_load_requests, c.global_store_requests, c.atomics) == (0, 0, 32)


def test_results_do_not_depend_on_the_checks() -> None:
    kernel = compiled(
        'extern "C" __global__ void k(int* c, int* o) { int i = blockIdx.x * 64 + threadIdx.x; o[i] = atomicXor(&c[i % 9], i) + atomicSub(&c[9 + i % 3], i); }'
    )
    results = []
    for check in (True, False):
        c, o = np.arange(12, dtype=np.int32), np.zeros(256, np.int32)
        kernel.launch(4, 64, [c, o], check=check)
        results.append((c.tolist(), o.tolist()))
    assert results[0] == results[1]
