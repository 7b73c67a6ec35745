"""The simulator's memory counters are Nsight Compute's, kernel by kernel, as read on an H200 (tests/gpu/data/ncu_h200.json)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

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


# Left out of `make fast`: large kernels, and hundreds about copies and what ptxas joins, for which test_copy_sectors and test_counted_accesses stand there.
MANY = ("attention", "copies", "joined", "products", "tma")
MARKED = [pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.name.split(".")[0] in MANY else []) for case in MEASURED]


@pytest.mark.parametrize("case", MARKED)
def test_counters_equal_nsight_compute(case: Case) -> None:
    assert parted(case.name, unequal(case))[1] == []


def test_known_differences_are_still_there() -> None:
    """Only these few, and each for as long as it is true. Readings of the course's own kernels aren't kept."""
    for listed in KNOWN_BY_NAME:
        cases = [case for case in CASES.values() if matches(case.name, listed)]
        assert cases, f"{listed} is no kernel: delete its line"
        measured = [case for case in cases if case in MEASURED]
        assert not measured or any(unequal(case) for case in measured), f"{listed} is equal now: delete its line"


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
    assert counters["global_load_requests"] == 1000 and counters["dram_write_bytes"] == 1009
    by_hardware = [f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum" for way in ("ld", "st")]
    assert aside == {name: at[name] for name in by_hardware}, "what the hardware counted stays beside what was chosen"
    assert (
        counters["tma_requests"] == sum(at[f"smsp__sass_inst_executed_op_tma_{way}.sum"] for way in ("ld", "st", "red"))
        and counters["wgmma_instructions"] == 301
    )
    del rows[0]["sm__ops_path_tensor_src_fp8.sum"]
    assert "tensor_operations" not in numbers(rows[0])[0], "a GPU without one of the metrics"
    with pytest.raises(ValueError, match="is 1205, no multiple of 4"):
        numbers(rows[0] | {warps: "1,205.00"})


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
