"""`lanewise tour`: attention written straight down and as FlashAttention, run on the simulator and measured, in twenty seconds.

The kernels are the course's own: ch09's three of the naive way, ch12's of the other. No GPU and no clock takes part: every number is a count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.names import Course, find_course

WIDTH = 80
HEADS, N, D = 2, 512, 64  # the tour's shape: large enough that the N × N matrix dominates, small enough for seconds
NAIVE = ("ch09_scores", "ch09_softmax", "ch09_values")
FLASH = "ch12_flash_forward"


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: what it asked of the memories. Bytes are bytes, `conflicts` counts requests that met a bank conflict."""

    name: str
    global_bytes: int
    dram_bytes: int
    global_requests: int
    global_sectors: int
    conflicts: int
    flops: int
    faults: int

    @classmethod
    def of(cls, name: str, report: Any) -> Step:
        """From a simt.Report."""
        c = report.counters
        return cls(
            name=name,
            global_bytes=c.global_bytes,
            dram_bytes=c.dram_read_bytes + c.dram_write_bytes,
            global_requests=c.global_load_requests + c.global_store_requests,
            global_sectors=c.global_load_sectors + c.global_store_sectors,
            conflicts=sum(finding.count for finding in report.findings if finding.kind == "bank-conflict"),
            flops=c.flops,
            faults=len(report.errors),
        )


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute attention: its launches, and the largest error against NumPy's float64."""

    title: str
    steps: tuple[Step, ...]
    error: float

    def total(self, field: str) -> int:
        return sum(getattr(step, field) for step in self.steps)

    @property
    def sectors_a_request(self) -> float:
        return self.total("global_sectors") / max(self.total("global_requests"), 1)


def attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """What both ways must compute, in float64. Q: (heads, Nq, d), K and V: (heads, Nk, d)."""
    Q, K, V = (a.astype(np.float64) for a in (Q, K, V))
    S = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[-1])
    P = np.exp(S - S.max(axis=-1, keepdims=True))
    return P / P.sum(axis=-1, keepdims=True) @ V


def measure(course: Course, heads: int = HEADS, n: int = N, say: Callable[[str], None] = lambda name: None) -> tuple[Way, Way]:
    """Run both ways on the simulator, with every diagnosis on. `say` is told each kernel before it runs. d is 64."""
    rng = np.random.default_rng(0)
    Q, K, V = (rng.standard_normal((heads, n, D), dtype=np.float32) for _ in range(3))
    S, O, O_flash = np.empty((heads, n, n), np.float32), np.empty_like(Q), np.empty_like(Q)  # noqa: E741
    LSE = np.empty((heads, n), np.float32)
    size, scale = np.int32(n), np.float32(D**-0.5)
    right = attention(Q, K, V)
    tile = -(-n // 32)

    def run(key: str, grid: tuple[int, ...], block: Any, *args: Any) -> Step:
        say(key)
        return Step.of(key, _launch(course, key, grid, block, args))

    naive = (
        run(NAIVE[0], (tile, -(-n // 8), heads), (32, 8), Q, K, S, size, size, scale),
        run(NAIVE[1], (-(-n // 4), heads), 128, S, size, size),
        run(NAIVE[2], (-(-n // 4), heads), (64, 4), S, V, O, size, size),
    )
    flash = (run(FLASH, (tile, heads), 128, Q, K, V, O_flash, LSE, size, size, scale, np.uintp(0)),)
    return Way("naive, 3 kernels", naive, _error(O, right)), Way("flash, 1 kernel", flash, _error(O_flash, right))


def _launch(course: Course, key: str, grid: Any, block: Any, args: Sequence[Any]) -> Any:
    from lanewise import simt  # here, so that --help answers at once

    kernel = course.any_kernel(key)
    return simt.compile(course.kernel(kernel).read_text(encoding="utf-8")).kernel(kernel.slug).launch(grid, block, tuple(args))


def _error(got: np.ndarray, right: np.ndarray) -> float:
    return float(np.abs(got - right).max())


def text(naive: Way, flash: Way, bar: str = "█") -> str:
    """The table, the bar chart and the way on, at most 80 columns wide. `bar` is the character that bars are made of."""
    rows = [
        ("kernels launched", *(str(len(way.steps)) for way in (naive, flash))),
        ("largest error against NumPy (float64)", *(f"{way.error:.1e}" for way in (naive, flash))),
        ("floating-point operations", *(_amount(way.total("flops")) for way in (naive, flash))),
        ("bytes asked of global memory", *(_amount(way.total("global_bytes"), "B") for way in (naive, flash))),
        ("bytes that must move to or from DRAM", *(_amount(way.total("dram_bytes"), "B") for way in (naive, flash))),
        ("32-byte sectors in a request of a warp", *(f"{way.sectors_a_request:.1f}" for way in (naive, flash))),
        ("requests that met a bank conflict", *(f"{way.total('conflicts'):,}" for way in (naive, flash))),
        ("faults found", *(str(way.total("faults")) for way in (naive, flash))),
    ]
    table = [f"{'':<40}{naive.title:>19}{flash.title:>19}", *(f"{name:<40}{one:>19}{other:>19}" for name, one, other in rows)]
    steps = naive.steps + flash.steps
    asked = chart([(step.name, step.global_bytes) for step in steps], bar)
    moved = chart([(step.name, step.dram_bytes) for step in steps], bar)
    less = naive.total("global_bytes") / max(flash.total("global_bytes"), 1)
    dram = naive.total("dram_bytes") / max(flash.total("dram_bytes"), 1)
    return "\n".join(
        [
            *table,
            "",
            "bytes asked of global memory, kernel by kernel",
            *asked,
            "",
            "bytes that must move to or from DRAM (each one once a kernel)",
            *moved,
            "",
            "A request for 32 neighbouring floats takes 4 sectors, for 32 float4 it takes 16.",
            "",
            f"The answer is the same. Flash asks for {less:.0f} times fewer bytes, since a block of 32",
            "queries shares each key and value that it loads; and it moves",
            f"{dram:.0f} times fewer to or from DRAM, since it never stores the N x N scores.",
        ]
    )


NEXT = """\
Where to go next
  make lab                the chapters, from the first kernel on
  lanewise start ch01a    your first exercise, as a file to edit
  lanewise grade ch01a    what is right, what is wrong, and where
  lanewise show ch12_flash_forward
                          the flash kernel that just ran"""


def chart(amounts: Sequence[tuple[str, int]], bar: str = "█") -> list[str]:
    """One line an amount: name, bar, number. The longest bar takes what 80 columns leave; a bar of something is never empty."""
    longest = max((len(name) for name, _ in amounts), default=0)
    room = WIDTH - longest - 14
    peak = max((amount for _, amount in amounts), default=0)
    lines = []
    for name, amount in amounts:
        cells = max(1, round(room * amount / peak)) if amount else 0
        lines.append(f"  {name:<{longest}} {bar * cells} {_amount(amount, 'B')}".rstrip())
    return lines


def _amount(value: float, unit: str = "") -> str:
    """Three digits with a decimal prefix: 4.46 MB, 268 M."""
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def bar_for(encoding: str | None) -> str:
    """A full block where the terminal can print it, else #."""
    try:
        "█".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"


def main(argv: Sequence[str] = ()) -> int:
    """`lanewise tour`. Exit status 0, or 1 when a kernel of the course is faulty (which the tests rule out)."""
    parser = argparse.ArgumentParser(prog="lanewise tour", description="Attention in two ways, run on the simulator and measured: about twenty seconds.")
    parser.parse_args(list(argv))
    course = find_course()
    print(f"Attention in two ways: {HEADS} heads, {N} queries and keys, d = {D}, float32, simulated")
    started = time.perf_counter()
    naive, flash = measure(course, HEADS, N, say=lambda key: print(f"  running {key} ...", flush=True))
    print(f"  done in {time.perf_counter() - started:.1f} s, every access checked\n")
    print(text(naive, flash, bar_for(sys.stdout.encoding)))
    print(f"\n{NEXT}")
    return 1 if naive.total("faults") + flash.total("faults") else 0
