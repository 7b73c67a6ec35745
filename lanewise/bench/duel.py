"""Launches timed against each other on one GPU, by turns: A B B A, medians, ratios with their interval; and the GPU's clocks and power meanwhile."""

from __future__ import annotations

import functools
import math
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

PAIRS = 50  # turns of two that are timed against each other
WARM_UP, WARM_UP_S = 3, 2.0  # launches, or seconds
TURN_MS = 1.0  # a turn repeats a launch until it takes about so long: starting and stopping the clock then costs little


def milliseconds(cp: Any, launch: Callable[[], Any], times: int = 1) -> float:
    """Of a launch on CuPy's current stream, between two events; of so many in a row."""
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    for _ in range(times):
        launch()
    stop.record()
    stop.synchronize()
    return cp.cuda.get_elapsed_time(start, stop) / times


def repeats(cp: Any, launch: Callable[[], Any], turn_ms: float) -> int:
    """How many of the launch take about `turn_ms`, by three of it."""
    return max(1, math.ceil(turn_ms / milliseconds(cp, launch, 3)))


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median, by order statistics."""
    ordered, n = sorted(ratios), len(ratios)
    reach = 0.98 * math.sqrt(n)
    return ordered[max(0, math.floor(n / 2 - reach))], ordered[min(n - 1, math.ceil(n / 2 + reach) - 1)]


@dataclass(frozen=True)
class Duel:
    """Milliseconds a launch of both (medians), and how many times faster the first is: the median of the turns' ratios with its 95 % interval."""

    ms: float
    other_ms: float
    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, mine: Sequence[float], others: Sequence[float]) -> Duel:
        """From the times of the turns."""
        ratios = [y / x for x, y in zip(mine, others, strict=True)]
        return cls(statistics.median(mine), statistics.median(others), statistics.median(ratios), *interval(ratios))


def duel(cp: Any, mine: Callable[[], Any], other: Callable[[], Any], pairs: int = PAIRS, warm_up_s: float = WARM_UP_S, turn_ms: float = TURN_MS) -> Duel:
    """Both on CuPy's current stream, A B B A …; `pairs` turns each, of at least about `turn_ms`."""
    mine(), other()
    until = time.perf_counter() + warm_up_s
    times: dict[Callable[[], Any], int] = {}
    while True:
        for launch in (mine, other):
            times[launch] = repeats(cp, launch, turn_ms)
        if time.perf_counter() >= until:
            break
    return Duel.of(*in_turns([functools.partial(milliseconds, cp, launch, times[launch]) for launch in (mine, other)], pairs))


def launch_times(cp: Any, launches: Sequence[Callable[[], Any]], rounds: int) -> list[list[float]]:
    """Milliseconds of each launch in each round, A B C C B A …, one launch at a time, after three of each."""
    for launch in launches:
        for _ in range(WARM_UP):
            launch()
    return in_turns([functools.partial(milliseconds, cp, launch) for launch in launches], rounds)


def in_turns(readings: Sequence[Callable[[], float]], rounds: int) -> list[list[float]]:
    """What each reading gave in each round; every second round goes backwards."""
    given: list[list[float]] = [[] for _ in readings]
    for turn in range(rounds):
        for read, found in list(zip(readings, given, strict=True))[:: -1 if turn % 2 else 1]:
            found.append(read())
    return given


def clocks() -> dict[str, float | str]:
    """SM clock (MHz), power (W) and the reasons for throttling that nvidia-smi names ("0x4": the power limit); empty where it can't be asked."""
    asked = "clocks.sm,power.draw,clocks_event_reasons.active"
    try:
        answer = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=20).stdout
        clock, power, reasons = (part.strip() for part in answer.splitlines()[0].split(","))
        return {"MHz": float(clock), "W": float(power), "throttle": hex(int(reasons, 16))}
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return {}
