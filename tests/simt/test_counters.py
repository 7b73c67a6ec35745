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
from counters import METRICS, differences, numbers, table  # noqa: E402
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
        missing = [counter for counter in METRICS if counter not in reading]
        assert missing == [], f"{name}: no reading of {missing}"


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


def test_machine_code_is_measured() -> None:
    small = 'extern "C" __global__ void k(int* y) { y[threadIdx.x] = 1; }'
    large = small.replace("= 1", "= y[7] / 3 % 5 + y[1] / y[2] * y[3] / y[4]")
    assert 128 <= code_bytes(small, ()) < code_bytes(large, ()) < 8192
    for name in ("attention.flash", "access.copy_4", "compute.tiled_16"):
        assert code_bytes(CASES[name].source, CASES[name].options) == CODE_BYTES[name], "run `python tests/gpu/store.py`"


def test_the_table_of_nsight_compute_is_read() -> None:
    metrics = ",".join(f'"{metric}"' for metric in METRICS.values())
    text = (
        f'==PROF== Connected\n"ID","Kernel Name",{metrics}\n"","",{",".join(["sector"] * 10)}\n"0","copy_4",'
        + ",".join(f'"1,0{k}2.00"' for k in range(10))
        + "\n"
    )
    rows = table(text.replace("sector", '"sector"'))
    assert len(rows) == 1
    counters, aside = numbers(rows[0])
    assert counters["global_load_requests"] == 1002 and counters["dram_write_bytes"] == 1092 and aside == {}
