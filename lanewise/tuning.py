"""The best tile of flash2 for a shape and a GPU: measured once and remembered, or, without a GPU, the cost model's order.

    choice = tuning.tune(d=128, Nq=4096, heads=16)
    choice.tile, choice.why                           # what to launch, and the reasons in words

The times live in a JSON file in the user's cache folder, one entry a GPU, kernel text and shape; `cache` names another file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanewise.cost_model import SOURCE, Estimate, Tile, candidates, modelled, ranked
from lanewise.names import CourseError, find_course, write_atomically
from lanewise.rungs import fast

ROUNDS = 7  # launches of each tile, in turns; the median counts


@dataclass(frozen=True, slots=True)
class Shape:
    """A launch: head size, queries, keys, query heads in all (batch included), query heads a key head, mask."""

    d: int
    Nq: int
    Nk: int
    heads: int
    group: int = 1
    causal: bool = False

    def __str__(self) -> str:
        mask = ", causal" if self.causal else ""
        return f"d = {self.d}, {self.Nq:,} queries, {self.Nk:,} keys, {self.heads:,} heads{mask}"


@dataclass(frozen=True, slots=True)
class Choice:
    """`order`: all tiles, the best first, with the model's estimate. `ms`: their measured times, None where nothing was measured."""

    shape: Shape
    gpu: str
    order: tuple[Estimate, ...]
    ms: tuple[float, ...] | None

    @property
    def tile(self) -> Tile:
        return self.order[0].tile

    @property
    def why(self) -> str:
        """The choice in words: time or clocks, registers, spills, residency, the unit that is busiest by the model."""
        best = self.order[0]
        if self.ms is not None:
            second = f", {self.ms[1] / self.ms[0]:.2f} times faster than {self.order[1].tile}" if len(self.ms) > 1 else ""
            head = f"{best.tile}: {self.ms[0]:.3f} ms measured on {self.gpu}{second}."
        else:
            second = f", {self.order[1].launch / best.launch:.2f} times fewer than {self.order[1].tile}" if len(self.order) > 1 else ""
            head = f"{best.tile}: {best.launch:,.0f} clocks by the cost model for {self.gpu}, nothing was measured{second}."
        spilled = f"{best.spilled} bytes spilled" if best.spilled else "nothing spilled"
        room = best.resident
        holds = f"{room.blocks} block{'s' if room.blocks != 1 else ''} an SM of {room.gpu}, {room.warps} warps, limited by {room.limited_by}"
        waits = "too few blocks fill each other's waits to keep it busy" if best.waits else "the blocks beside each other keep it busy"
        return f"{head} {best.used.registers} registers a thread, {spilled}; {holds}. Busiest by the model: {best.busiest}; {waits}."

    def __str__(self) -> str:
        return f"{self.shape}: {self.why}"


def tune(
    d: int, Nq: int, heads: int, Nk: int | None = None, group: int = 1, causal: bool = False, *,
    gpu: str | None = None, cache: Path | None = None, again: bool = False,
) -> Choice:  # fmt: skip
    """The tiles of flash2 (float16) for a shape, the best first.

    With a GPU they are timed, on random data, at the first call for this shape; `again` times them anew. Without one, or with `gpu` naming one that
    the cost model has rates for, the model ranks them (for an H200 if not said). Raises ValueError for a size below 1, another d than 64 or 128, heads that
    aren't a multiple of group, or a GPU without rates.
    """
    shape = Shape(d, Nq, Nq if Nk is None else Nk, heads, group, causal)
    if min(shape.Nq, shape.Nk, heads, group) < 1 or heads % group:
        raise ValueError("tune needs at least one query, key and head, and heads that are a multiple of group.")
    if gpu is not None and gpu not in modelled():
        raise ValueError(f"The cost model has no rates for {gpu!r}: take one of {', '.join(modelled())}.")
    from lanewise import cp

    measures = gpu is None and cp.backend == "gpu"
    device = _device() if measures else gpu or "H200"
    near = device.removeprefix("NVIDIA ")
    model = near if near in modelled() else "H200"
    order = ranked(candidates(d, causal, model), shape.Nq, shape.Nk, heads, model)
    if not measures:
        return Choice(shape, model, tuple(order), None)
    path = cache or cache_file()
    times = None if again else _remembered(path, device, shape)
    if times is None or {str(each.tile) for each in order} - set(times):
        times = _measured(shape, [each.tile for each in order])
        _remember(path, device, shape, times)
    order.sort(key=lambda each: times[str(each.tile)])
    return Choice(shape, device, tuple(order), tuple(times[str(each.tile)] for each in order))


def cache_file() -> Path:
    """tiles.json in the user's cache folder: LOCALAPPDATA on Windows, Library/Caches on a Mac, else XDG_CACHE_HOME or .cache."""
    if sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "lanewise" / "tiles.json"


def _entry(device: str, shape: Shape) -> str:
    """What the times belong to. The kernel's text is part of it: a changed kernel is measured anew."""
    folder = find_course().root / "kernels"
    text = b"".join((folder / name).read_bytes() for name in ("flash2.cuh", "tiles.cuh", "ptx.cuh"))
    return f"{device}; flash2 {hashlib.sha256(text).hexdigest()[:12]}; {shape}, group {shape.group}"


def _content(path: Path) -> dict[str, dict[str, float]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CourseError(f"The tile cache {path.name} can't be read ({error}): delete it, the tiles are then measured again.") from None
    if not isinstance(content, dict):
        raise CourseError(f"The tile cache {path.name} holds no table: delete it, the tiles are then measured again.")
    return content


def _remembered(path: Path, device: str, shape: Shape) -> dict[str, float] | None:
    return _content(path).get(_entry(device, shape))


def _remember(path: Path, device: str, shape: Shape, times: dict[str, float]) -> None:
    content = _content(path)
    content[_entry(device, shape)] = times
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content, indent=1) + "\n")


def _device() -> str:
    from lanewise.cp import real_cupy

    return str(real_cupy().cuda.runtime.getDeviceProperties(0)["name"].decode())


def _measured(shape: Shape, tiles: list[Tile]) -> dict[str, float]:
    """Milliseconds of each tile, median of ROUNDS launches in turns after two that don't count."""
    from lanewise import cp

    rng = np.random.default_rng(shape.Nq)
    keys = shape.heads // shape.group
    q, k, v = (
        cp.asarray(rng.standard_normal((h, n, shape.d), dtype=np.float32).astype(np.float16))
        for h, n in ((shape.heads, shape.Nq), (keys, shape.Nk), (keys, shape.Nk))
    )
    o, lse = cp.empty((shape.heads, shape.Nq, shape.d), dtype=cp.float16), cp.empty((shape.heads, shape.Nq), dtype=cp.float32)
    sizes = (np.int32(shape.Nq), np.int32(shape.Nk), np.int32(shape.group), np.float32(1 / math.sqrt(shape.d)))
    kernels: dict[Tile, Any] = {}
    for tile in tiles:
        kernels[tile] = cp.RawModule(code=SOURCE, name_expressions=(tile.name,)).get_function(tile.name)
        kernels[tile].max_dynamic_shared_size_bytes = tile.shared_bytes
        fast(kernels[tile])
    found: dict[str, list[float]] = {str(tile): [] for tile in tiles}
    for turn in range(ROUNDS + 2):
        for tile, kernel in kernels.items():
            start, stop = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            kernel((-(-shape.Nq // tile.Br), shape.heads), (tile.threads,), (q, k, v, o, lse, *sizes), shared_mem=tile.shared_bytes)
            stop.record()
            stop.synchronize()
            if turn >= 2:
                found[str(tile)].append(cp.cuda.get_elapsed_time(start, stop))
    return {name: statistics.median(times) for name, times in found.items()}
