"""The Hopper forward on the simulator: hostile shapes, both types, both head sizes, grouped heads, masks, tiles drawn by few blocks; every wait is needed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from lanewise import rungs, simt
from lanewise.bench import flash3_switches
from tests.test_flash2 import LOG2_ERROR, attention

pytestmark = pytest.mark.slow  # seconds for all of them together

TEXT = (Path(__file__).parents[1] / "kernels" / "flash3.cuh").read_text(encoding="utf-8").replace("#pragma once\n", "")
TILE = rungs.Tile3(64, 2, 2, True)


def form(type: str, d: int, causal: bool, tile: rungs.Tile3) -> str:
    flags = ", ".join(str(x).lower() for x in (causal, tile.pingpong, tile.overlap, tile.longest_first, tile.own_tiles))
    return f"flash3<{type}, {d}, {tile.keys}, {tile.consumers}, {tile.stages}, {flags}>"


@lru_cache(maxsize=16)
def compiled(text: str, name: str) -> simt.Kernel:
    return simt.compile(text, names=(name,)).kernel(name)


def launch(
    heads: int, group: int, nq: int, nk: int, causal: bool = False, d: int = 64, tile: rungs.Tile3 = TILE, type: str = "__half", blocks: int = 2,
    schedule: int = 0, text: str = TEXT,
) -> simt.Report:  # fmt: skip
    """One launch; raises AssertionError where it reports nothing and its values are wrong."""
    name = form(type, d, causal, tile)
    kernel = compiled(text, name)
    kernel.max_dynamic_shared_size_bytes = shared = tile.shared_bytes(d)
    rng = np.random.default_rng(nq + nk)
    wide = [rng.standard_normal((h, n, d)).astype(np.float32) for h, n in ((heads, nq), (heads // group, nk), (heads // group, nk))]
    if type == "__half":
        q, k, v = (x.astype(np.float16) for x in wide)
        exact = [x.astype(np.float64) for x in (q, k, v)]
    else:
        q, k, v = ((x.view(np.uint32) >> 16).astype(np.uint16) for x in wide)
        exact = [(x.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for x in (q, k, v)]
    o, lse, ticket = np.empty_like(q), np.empty((heads, nq), np.float32), np.zeros(1, np.int32)
    maps = [simt.tensor_map(x, (1, rows, 64), swizzle="128B") for x, rows in ((q, 64), (k, tile.keys), (v, tile.keys), (simt.Output(o), 64))]
    args = [*maps, simt.Output(lse), ticket, *(np.int32(x) for x in (nq, nk, heads, group, 2)), np.float32(d**-0.5)]
    report = kernel.launch(blocks, 128 * (tile.consumers + 1), args, shared, schedule=schedule)
    if not report.ok:
        return report
    assert ticket[0] == 0
    right, right_lse = attention(exact[0], *(np.repeat(x, group, axis=0) for x in exact[1:]), d**-0.5, causal)
    got = o.astype(np.float64) if type == "__half" else (o.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    unit = 2.0**-11 if type == "__half" else 2.0**-8  # P and O are rounded to 16 bits
    assert not np.linalg.norm(got - right) > 2 * unit * np.linalg.norm(right) + 1e-30
    masked = np.isneginf(right_lse)
    assert (lse[masked] == -np.inf).all() and (got[masked] == 0).all()
    assert not np.abs(lse[~masked] - right_lse[~masked]).max(initial=0) > LOG2_ERROR * (1 + np.abs(right_lse[~masked]).max(initial=0))
    return report


@pytest.mark.parametrize(
    ("heads", "group", "nq", "nk", "causal"),
    [(1, 1, 1, 1, False), (1, 1, 127, 65, False), (2, 2, 129, 63, False), (3, 1, 130, 330, True), (2, 1, 200, 70, True), (4, 2, 1, 64, True)],
)
@pytest.mark.parametrize("type", ["__half", "__nv_bfloat16"])
def test_values(type: str, heads: int, group: int, nq: int, nk: int, causal: bool) -> None:
    report = launch(heads, group, nq, nk, causal, type=type)
    assert report.ok, str(report)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("d", "tile"),
    [(64, rungs.Tile3(128, 3, 2, True)), (128, rungs.Tile3(128, 2, 2, False)), (128, rungs.Tile3(160, 2, 2, False))],
    ids=["d64", "d128", "keys160"],
)
def test_the_tiles_in_use(d: int, tile: rungs.Tile3, causal: bool) -> None:
    for heads, nq, nk in ((1, 1, 1), (2, 64 * tile.consumers + 1, 2 * tile.keys + 17), (1, 90, 30)):
        report = launch(heads, 1, nq, nk, causal, d, tile)
        assert report.ok, str(report)


@pytest.mark.parametrize(
    "tile",
    [rungs.Tile3(64, 2, 2, False, False), rungs.Tile3(64, 2, 2, True, False), rungs.Tile3(64, 3, 3, True), rungs.Tile3(64, 2, 2, True, longest_first=False),
     rungs.Tile3(64, 3, 2, True, own_tiles=True), rungs.Tile3(64, 3, 3, False, False, own_tiles=True)],
    ids=["nothing", "pingpong alone", "three stages", "shortest first", "own tiles", "own tiles, nothing else"],
)
def test_ideas_switched_off(tile: rungs.Tile3) -> None:
    for heads, nq, nk, causal in ((2, 200, 330, True), (1, 330, 200, True), (1, 65, 129, False)):
        report = launch(heads, 1, nq, nk, causal, tile=tile)
        assert report.ok, str(report)


@pytest.mark.parametrize("schedule", [1, 2, 3])
def test_any_order_of_the_warps(schedule: int) -> None:
    report = launch(2, 1, 150, 200, True, schedule=schedule)
    assert report.ok, str(report)


@pytest.mark.parametrize("blocks", [1, 6])
def test_any_number_of_blocks(blocks: int) -> None:
    """One that takes all tiles, and as many as there are tiles."""
    report = launch(3, 1, 150, 130, True, blocks=blocks)
    assert report.ok, str(report)


DROPPED = {  # a wait: its text, the finding without it
    "K is there": ("\n                ptx::mbarrier_wait_parity(k_full + 8 * k.stage, k.parity);", "async-copy"),  # the one of begin_scores
    "Q is there": ("ptx::mbarrier_wait_parity(q_full + 8 * w, q_parity);", "uninitialised-read"),
    "K's stage is free": ("ptx::mbarrier_wait_parity(k_empty + 8 * k.stage, k.parity ^ 1);", "async-copy"),
    "V's stage is free": ("ptx::mbarrier_wait_parity(v_empty + 8 * v.stage, v.parity ^ 1);", "async-copy"),
    "Q's place is free": ("ptx::mbarrier_wait_parity(q_empty + 8 * w, q_parity ^ 1);", "race"),
    "the ticket is there": ("ptx::mbarrier_wait_parity(t_full + 8 * t.stage, t.parity);", "uninitialised-read"),
    "the ticket was read": ("ptx::mbarrier_wait_parity(t_empty + 8 * t.stage, t.parity ^ 1);", "race"),
    "O is visible to the copy engine": ("ptx::fence_proxy_async();", "async-copy"),
    "the copy engine has read O": ("if (threadIdx.x % 128 == 0) ptx::bulk_wait_read<0>();", "async-copy"),
    "S is here": ("ptx::wgmma_wait<1>();                    // S is here, O not yet", "async-copy"),
    "O's sums are here": ("ptx::wgmma_wait<0>();\n                    ptx::keep(o);", "async-copy"),
}


@pytest.mark.parametrize("wait", DROPPED)
def test_every_wait_is_needed(wait: str) -> None:
    line, kind = DROPPED[wait]
    assert TEXT.count(line) == 1
    nq, nk = (150, 260) if wait != "the ticket was read" else (400, 40)  # Q's place tells it, too, but for tiles that see no key
    report = launch(3, 1, nq, nk, True, text=TEXT.replace(line, ";"), blocks=1)
    assert report.findings and report.findings[0].kind == kind, str(report)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 128])
def test_the_bench_asks_for_kernels_that_can_run(d: int, causal: bool) -> None:
    asked = list(flash3_switches.variants(d, causal, 2048))
    tiles = [tile for _, _, tile in asked]
    assert tiles[0] == rungs.tile3(d, causal, 2048) and len(set(tiles)) == len(tiles) > 8
    assert all(flash3_switches.fits(d, tile) for tile in tiles)
    named = {name: tile for series, name, tile in asked if series == "without"}
    assert not named["no overlap"].overlap and named["no overlap"].pingpong == tiles[0].pingpong
    assert not named["one block a tile"].persistent and ("shortest first" in named) == causal
