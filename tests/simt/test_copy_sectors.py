"""The copy engine's requests and their sectors, as Nsight Compute has read them on an H200."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gpu"))

from counted import clusters, copies, pieces  # noqa: E402
from families.launch import launch  # noqa: E402

from lanewise.simt.instructions.copy_sectors import requests  # noqa: E402

CASES = {case.name.removeprefix("copies."): case for case in (*copies.CASES, *pieces.CASES, *clusters.CASES)}


@pytest.mark.parametrize(
    ("size", "address", "place", "sectors"),
    [
        (128, 0, 0, [4]),
        (128, 32, 0, [3, 1]),  # a line of global memory ends
        (128, 0, 32, [3, 1]),  # a line of shared memory ends
        (128, 0, 16, [4, 1]),  # within a sector: it goes twice
        (128, 64, 0, [2, 2]),
        (144, 16, 0, [4, 1, 1]),
        (48, 16, 112, [1, 1]),
        (128, 48, 0, [3, 2]),
        (256, 16, 16, [4, 4, 1]),
        (16, 16, 0, [1]),
        (4, 0, 112, [1]),
        (0, 0, 0, []),
    ],
)
def test_where_requests_end(size: int, address: int, place: int, sectors: list[int]) -> None:
    """The sizes of multicasts' requests are a metric of their own: 32, 64, 96 or 128 bytes."""
    assert requests(np.array([1 << 20 | address]), np.array([place]), size)[0].tolist() == sectors


def test_every_row_has_requests_of_its_own() -> None:
    rows = np.arange(3)
    sectors, last = requests(256 * rows + 16, 48 * rows, 48)
    assert (sectors.tolist(), last.tolist()) == ([2, 2, 2, 1], [0, 1, 3])  # the third lies across a line of shared memory
    assert requests(48 * rows, 48 * rows, 48)[0].tolist() == [2, 2, 1, 1]  # 96 to 144: the lines end together


@pytest.mark.parametrize(
    ("name", "loaded", "stored"),
    [
        ("load_48_bytes_apart", 1248, 0), ("load_runs_shifted", 320, 0), ("store_runs_shifted", 0, 320), ("add_runs_shifted", 0, 320),
        ("run_load_2048_0_0", 64, 0), ("run_load_2048_16_0", 80, 0), ("run_load_2048_32_0", 64, 0), ("run_load_2048_0_16", 80, 0),
        ("run_load_2048_16_16", 65, 0), ("run_load_2048_48_16", 65, 0),
        ("run_load_2048_16_0_to_two", 192, 0), ("run_load_2048_16_0_to_two_mask_2", 96, 0), ("run_load_2048_16_0_to_four_mask_6", 192, 0),
        ("run_load_144_16_0_to_two", 16, 0), ("run_load_2048_32_0_to_two", 160, 0), ("run_load_16_0_0_to_two", 4, 0),
        ("run_store_2048_0_16", 0, 80), ("run_store_2048_16_16", 0, 65),
        ("box_load_8x80_of_16x256_at_3x16_l2_256B", 26, 0), ("box_load_8x80_of_16x256_at_3x16_to_two", 58, 0),
        ("box_load_8x48_of_16x272_at_3x240", 20, 0), ("box_load_8x48_of_16x272_at_3x240_64B", 20, 0),
        ("box_load_8x48_of_16x272_at_3x240_to_two", 84, 0), ("box_load_8x48_of_16x272_at_3x240_to_two_mask_1", 42, 0),
        ("box_load_8x128_of_16x256_at_3x16_128B_to_two", 96, 0), ("box_load_8x48_of_6x256_at_20x16", 16, 0),
        ("box_load_1x48_of_16x272_at_20x16_to_two", 6, 0), ("box_load_1x128_of_16x272_at_20x16_to_two", 8, 0),
        ("box_load_48_of_148_at_112", 2, 0), ("box_load_64_of_148_at_128", 2, 0), ("box_load_16_of_100_at_96_uint8", 1, 0),
        ("box_load_48_of_148_at_112_to_two", 10, 0), ("box_load_64_of_148_at_128_to_two", 12, 0), ("box_store_64_of_100_at_48_uint8", 0, 3),
    ],
)  # fmt: skip
def test_sectors_as_measured(name: str, loaded: int, stored: int) -> None:
    c = launch(CASES[name]).report.counters
    assert (c.tma_load_sectors, c.tma_store_sectors) == (loaded, stored)


@pytest.mark.parametrize("name", ["run_sent_between_2048_16_32", "run_add_between_2048_16_32"])
def test_from_block_to_block_is_no_request(name: str) -> None:
    c = launch(CASES[name]).report.counters
    assert (c.tma_requests, c.tma_load_bytes, c.tma_load_sectors, c.tma_store_bytes, c.tma_store_sectors) == (0, 0, 0, 0, 0)


def test_requested_bytes_count_each_sector_once() -> None:
    """global_bytes has no sector twice that one copy touches once."""
    c = launch(CASES["run_load_2048_16_0"]).report.counters
    assert c.global_bytes == 32 * (65 + 64)  # read from the middle of a sector, written out by threads
