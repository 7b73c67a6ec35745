"""Two launches timed against each other on one GPU, by turns; and what the GPU's clocks and power were meanwhile."""

from __future__ import annotations

import math
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lanewise.bench.fp32_ladder import interval

WARM_UP_S = 2.0
TURN_MS = 1.0  # a turn repeats a launch until it takes about so long: starting and stopping the clock then costs little


@dataclass(frozen=True)
class Duel:
    """Milliseconds a launch of both (medians), and how many times faster the first is: the median of the turns' ratios with its 95 % interval."""

    ms: float
    other_ms: float
    ratio: float
    low: float
    high: float


def duel(cp: Any, mine: Callable[[], Any], other: Callable[[], Any], pairs: int = 50, warm_up_s: float = WARM_UP_S) -> Duel:
    """Both on CuPy's current stream, A B B A …; `pairs` turns each."""
    start, stop = cp.cuda.Event(), cp.cuda.Event()

    def turn(launch: Callable[[], Any], times: int) -> float:
        start.record()
        for _ in range(times):
            launch()
        stop.record()
        stop.synchronize()
        return cp.cuda.get_elapsed_time(start, stop) / times

    mine(), other()
    until = time.perf_counter() + warm_up_s
    times, length = {}, 0.0
    while True:
        for launch in (mine, other):
            length = turn(launch, 3)
            times[launch] = max(1, math.ceil(TURN_MS / length))
        if time.perf_counter() >= until:
            break
    a, b = [], []
    for k in range(pairs):
        order = (mine, other) if k % 2 == 0 else (other, mine)
        took = {launch: turn(launch, times[launch]) for launch in order}
        a.append(took[mine])
        b.append(took[other])
    ratios = [y / x for x, y in zip(a, b, strict=True)]
    low, high = interval(ratios)
    return Duel(statistics.median(a), statistics.median(b), statistics.median(ratios), low, high)


def clocks() -> dict[str, float | str]:
    """SM clock (MHz), power (W) and the reasons for throttling that nvidia-smi names; empty where it can't be asked."""
    asked = "clocks.sm,power.draw,clocks_event_reasons.active"
    try:
        answer = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=20).stdout
        clock, power, reasons = (part.strip() for part in answer.splitlines()[0].split(","))
        return {"MHz": float(clock), "W": float(power), "throttle": reasons}
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return {}
