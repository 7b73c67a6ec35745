"""The simulator's memory counters are Nsight Compute's, kernel by kernel, as read on an H200 (tests/gpu/data/ncu_h200.json)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from lanewise import simt

GPU = Path(__file__).resolve().parents[1] / "gpu"
sys.path.insert(0, str(GPU))

from all_cases import counted_cases  # noqa: E402
from code_size import code_bytes  # noqa: E402
from counters import METRICS, TENSOR_METRICS, differences, numbers, table  # noqa: E402
from families.case import Case, difference  # noqa: E402
from families.launch import launch  # noqa: E402
from known import KNOWN_BY_NAME, known, matches, parted  # noqa: E402
from stored import DIGESTS, Stored  # noqa: E402

FILE = GPU / "data" / "ncu_h200.json"
READINGS: dict[str, dict] = json.loads(FILE.read_text(encoding="utf-8"))["kernels"] if FILE.exists() else {}
CASES = {case.name: case for case in counted_cases()}
CODE_BYTES: dict[str, int] = json.loads(DIGESTS.read_text(encoding="utf-8"))["code_bytes"]
MEASURED = [case for case in CASES.values() if case.name in READINGS]
MOST_KNOWN = 0.06  # of all kernels


def unequal(case: Case) -> list[str]:
    run = launch(case)
    wrong = [difference(case, k, got, want) for k, got, want in zip(case.outputs, run.outputs, case.expect(*run.arguments), strict=True)]
    assert [line for line in wrong if line] == []
    return differences(READINGS[case.name], run.report.counters.as_dict(), CODE_BYTES[case.name], run.report.dram_fetch_bytes)


def test_the_readings_are_there() -> None:
    assert FILE.exists(), "tests/gpu/data/ncu_h200.json is missing: `make gpu ARGS=--keep` on an H200 writes it"
    assert len(MEASURED) >= 30, f"only {len(MEASURED)} kernels with readings; 30 are wanted"
    unknown = sorted(set(READINGS) - set(CASES))
    assert unknown == [], "readings of kernels that no longer exist: read them anew"
    for name, reading in READINGS.items():
        wanted = [counter for counter in METRICS if counter not in TENSOR_METRICS or name.split(".")[0] in ("products", "copies", "tma")]
        missing = [counter for counter in wanted if counter not in reading]
        assert missing == [], f"{name}: no reading of {missing}"


def test_tensor_cores_and_the_copy_engine_were_read() -> None:
    """Each of their counters on several kernels, not one number everywhere."""
    for counter in TENSOR_METRICS:
        read = [reading[counter] for reading in READINGS.values() if reading.get(counter)]
        assert len(read) >= 6 and len(set(read)) >= 2, f"{counter}: {read}"


@pytest.mark.parametrize("case", MEASURED, ids=lambda case: case.name)
def test_counters_equal_nsight_compute(case: Case) -> None:
    assert parted(case.name, unequal(case))[1] == []


@pytest.mark.parametrize("listed", [listed for listed in KNOWN_BY_NAME if not listed.startswith("course.")])
def test_known_differences_are_still_there(listed: str) -> None:
    """Only these few, and each for as long as it is true."""
    cases = [case for case in MEASURED if matches(case.name, listed)]
    assert any(unequal(case) for case in cases), f"{listed} is equal now: delete its line"


def test_few_differences_are_known() -> None:
    assert sum(known(case.name) is not None for case in MEASURED) <= MOST_KNOWN * len(MEASURED)


@pytest.mark.parametrize("name", ["compute.tiled_16", "attention.flash", "banks.load_float4_random", "access.tail_8"])
def test_counters_do_not_depend_on_diagnostics_or_schedule(name: str) -> None:
    plain = launch(CASES[name]).report.counters.as_dict()
    for options in ({"check": False}, {"schedule": 5}):
        other = launch(CASES[name], **options).report.counters.as_dict()
        assert {counter: other[counter] for counter in METRICS} == {counter: plain[counter] for counter in METRICS}


def test_stored_values_belong_to_these_kernels() -> None:
    known = Stored()
    assert sorted(known.digests) == sorted(case.name for case in all_right()), "run `python tests/gpu/store.py`"
    for name in ("integer.signed64", "tensor.tensor_matmul", "approximate.any", "warp.scan"):
        case = next(case for case in all_right() if case.name == name)
        assert known.difference(case, list(launch(case).outputs)) is None
    changed = next(case for case in all_right() if case.name == "integer.signed64")
    (output,) = launch(changed).outputs
    output[3, 5] ^= 1
    assert "bit for bit" in str(known.difference(changed, [output]))


def all_right() -> list[Case]:
    from all_cases import CASES as everything

    return [case for case in everything if not case.faulty]


def test_the_comparison_with_nsight_compute_is_strict() -> None:
    measured = dict.fromkeys(METRICS, 1000) | {"dram_read_bytes": 100_000}
    assert differences(measured, measured, 0) == []
    assert differences(measured, measured | {"shared_load_wavefronts": 1001}, 0) == ["shared_load_wavefronts 1001 instead of 1000"]
    assert differences(measured, measured | {"dram_read_bytes": 100_000 - 8192}, 0) == []
    assert differences(measured, measured | {"dram_read_bytes": 100_000 - 8193}, 0) != []
    assert differences(measured, measured | {"dram_read_bytes": 103_001}, 0) != []
    assert differences(measured, measured | {"dram_read_bytes": 70_000}, 25_000) == []
    assert differences(measured, measured | {"dram_read_bytes": 70_000}, 21_000) != []
    assert differences(measured, measured | {"dram_read_bytes": 80_000}, 25_000) != []
    assert differences(measured, {}, 0) != []
    assert differences(measured, measured | {"tma_load_sectors": 999}, 0) == ["tma_load_sectors 999 instead of 1000"]
    of_an_older_gpu = {name: number for name, number in measured.items() if name not in TENSOR_METRICS}
    assert differences(of_an_older_gpu, measured, 0) == []
    del of_an_older_gpu["shared_load_requests"]
    assert differences(of_an_older_gpu, measured, 0) == ["shared_load_requests 1000 instead of None"]


def test_machine_code_is_measured() -> None:
    small = 'extern "C" __global__ void k(int* y) { y[threadIdx.x] = 1; }'
    large = small.replace("= 1", "= y[7] / 3 % 5 + y[1] / y[2] * y[3] / y[4]")
    assert 128 <= code_bytes(small, ()) < code_bytes(large, ()) < 8192
    for name in ("attention.flash", "access.copy_4", "compute.tiled_16"):
        assert code_bytes(CASES[name].source, CASES[name].options) == CODE_BYTES[name], "run `python tests/gpu/store.py`"


def test_the_table_of_nsight_compute_is_read() -> None:
    names = [name for metric in METRICS.values() for name in metric.names]
    metrics, units = (",".join(f'"{word}"' for word in words) for words in (names, ["sector"] * len(names)))
    values = ",".join(f'"1,{k:03}.00"' for k in range(len(names)))
    rows = table(f'==PROF== Connected\n"ID","Kernel Name",{metrics}\n"","",{units}\n"0","copy_4",{values}\n')
    assert len(rows) == 1
    at = {name: 1000 + k for k, name in enumerate(names)}
    warps = "sm__inst_executed_pipe_tensor_op_gmma.sum"
    rows[0][warps] = "1,204.00"
    counters, aside = numbers(rows[0])
    assert counters["global_load_requests"] == 1000 and counters["dram_write_bytes"] == 1009 and aside == {}
    assert (
        counters["tma_requests"] == sum(at[f"smsp__sass_inst_executed_op_tma_{way}.sum"] for way in ("ld", "st", "red"))
        and counters["wgmma_instructions"] == 301
    )
    del rows[0]["sm__ops_path_tensor_src_fp8.sum"]
    assert "tensor_operations" not in numbers(rows[0])[0], "a GPU without one of the metrics"
    with pytest.raises(ValueError, match="is 1205, no multiple of 4"):
        numbers(rows[0] | {warps: "1,205.00"})


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
        (3, "0", 1 + 3),  # places 0 to 7, and 12 to 51: one word, two of 16 bytes, the last word
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


def test_what_a_kernel_asks_of_tensor_cores_and_the_copy_engine() -> None:
    """Worked out by hand."""
    c = launch(CASES["products.wgmma_f16_two_groups"]).report.counters  # 2 warpgroups, 2 steps of 64 x 128 x 16
    assert (c.wgmma_instructions, c.tensor_operations, c.wgmma_shared_wavefronts) == (4, 4 * 2 * 64 * 128 * 16, 4 * (64 + 128) * 32 // 128)
    c = launch(CASES["products.wgmma_tf32_registers"]).report.counters  # A comes from registers
    assert (c.wgmma_instructions, c.tensor_operations, c.wgmma_shared_wavefronts) == (2, 2 * 2 * 64 * 64 * 8, 2 * 64 * 32 // 128)
    c = launch(CASES["products.mma_e4m3_k32"]).report.counters
    assert (c.wgmma_instructions, c.tensor_operations, c.wgmma_shared_wavefronts) == (0, 2 * 16 * 8 * 32, 0)
    c = launch(CASES["copies.load_outside"]).report.counters  # 4 boxes of 16 rows of 128 bytes, one of them inside
    assert (c.tma_requests, c.tma_load_bytes, c.tma_load_sectors, c.tma_store_sectors) == (4, 2048, 4 * 16 * 4, 0)
    c = launch(CASES["copies.store_ragged"]).report.counters  # rows of 400 bytes: every second one begins in the middle of a sector
    assert (c.tma_requests, c.tma_store_bytes, c.tma_store_sectors, c.tma_load_sectors) == (16, 60 * 400, 30 * (3 * 4 + 1) + 30 * (3 * 5 + 1), 0)
    c = launch(CASES["copies.multicast_halves"]).report.counters  # 4 halves, each for two blocks
    assert (c.tma_requests, c.tma_load_bytes, c.tma_load_sectors) == (4, 4096, 2 * 4096 // 32)
    c = launch(CASES["copies.add_runs"]).report.counters
    assert (c.tma_requests, c.tma_store_bytes, c.tma_store_sectors, c.dram_read_bytes, c.dram_write_bytes) == (4, 8192, 256, 8192, 8192)
