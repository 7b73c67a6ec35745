"""Attention forward from three naive kernels to flash3, every rung of the course at one shape; results/<gpu>.json, table every_rung.

N = 2048, d = 64, all keys; random numbers, 16,384 tokens, heads · d = 2048. Rungs in float32 get the fp16 ones' numbers in float32. All take turns in one run
(A B C C B A), the median of the rounds; `times` is how many times as fast as the first rung. FLOP/s by 4·heads·N²·d. Outputs start poisoned and are compared
with float64 in the same run, ragged shapes in whole, the timed one in two heads.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench import layer
from lanewise.bench.duel import in_turns, milliseconds, repeats
from lanewise.bench.layer import RAGGED, exact, flops, random, relative
from lanewise.bench.record import options, record, rounded
from lanewise.listing import source
from lanewise.rungs import FLASH2, FLASH3

COMMAND = "python -m lanewise.bench.every_rung"
N, D = 2048, 64
SCALE = np.float32(1 / math.sqrt(D))
ROUNDS, TURN_MS = 20, 5.0  # a turn repeats a launch until it takes about so long: the first one's way to the GPU is then small beside it
TOLERANCE = {"float32": 1e-5, "float16": 1e-3}  # relative, of a norm; P and O are rounded to fp16 on tensor cores


@dataclass(frozen=True)
class Step:
    """A rung: `prepare(q, k, v, o, lse)`, CuPy arrays (heads, N, 64) of its dtype, gives a function that launches it. `lse` stays as it is in ch09's."""

    name: str
    idea: str
    dtype: str
    prepare: Callable[..., Callable[[], Any]]
    capability: int = 0  # 80: from compute capability 8.0 on; 90: on exactly 9.0

    def runs(self, capability: int) -> bool:
        return capability == 90 if self.capability == 90 else capability >= self.capability


@functools.cache
def kernel(key: str, shared: int = 0) -> Any:
    """A kernel file's kernel, allowed so many bytes of dynamic shared memory."""
    from lanewise import cp

    found = cp.RawKernel(source(key), key.split("_", 1)[1], options=("--std=c++17",))
    if shared > 48 * 1024:
        found.max_dynamic_shared_size_bytes = shared
    return found


def naive(q: Any, k: Any, v: Any, o: Any, lse: Any) -> Callable[[], None]:
    """Chapter 9's three kernels."""
    from lanewise import cp

    (heads, nq, _), nk = q.shape, k.shape[1]
    s, sizes = cp.full((heads, nq, nk), np.nan, np.float32), (np.int32(nq), np.int32(nk))

    def launch() -> None:
        kernel("ch09_scores")((-(-nk // 32), -(-nq // 8), heads), (32, 8), (q, k, s, *sizes, SCALE))
        kernel("ch09_softmax")((-(-nq // 4), heads), (128,), (s, *sizes))
        kernel("ch09_values")((-(-nq // 4), heads), (64, 4), (s, v, o, *sizes))

    return launch


def online(q: Any, k: Any, v: Any, o: Any, lse: Any) -> Callable[[], None]:
    """The same with chapter 10's softmax."""
    from lanewise import cp

    (heads, nq, _), nk = q.shape, k.shape[1]
    s, p = (cp.full((heads, nq, nk), np.nan, np.float32) for _ in range(2))
    sizes, rows = (np.int32(nq), np.int32(nk)), heads * nq

    def launch() -> None:
        kernel("ch09_scores")((-(-nk // 32), -(-nq // 8), heads), (32, 8), (q, k, s, *sizes, SCALE))
        kernel("ch10_online_warp")((-(-rows // 4),), (128,), (s, p, lse, np.int32(rows), np.int32(nk), np.uintp(0)))
        kernel("ch09_values")((-(-nq // 4), heads), (64, 4), (p, v, o, *sizes))

    return launch


def fused(key: str, rows: int, shared: int = 0, last: Any = None) -> Callable[..., Callable[[], None]]:
    """One kernel on pointers, 128 threads for so many query rows (0: a block a head); `last`: its parameter after scale, 0 if none is named."""

    def prepare(q: Any, k: Any, v: Any, o: Any, lse: Any) -> Callable[[], None]:
        heads, nq, _ = q.shape
        args = (q, k, v, o, lse, np.int32(nq), np.int32(k.shape[1]), SCALE, np.int32(0) if last is None else last)
        return lambda: kernel(key, shared)((-(-nq // rows) if rows else 1, heads), (128,), args, shared_mem=shared)

    return prepare


def by_tma(key: str, threads: int) -> Callable[..., Callable[[], None]]:
    """Chapter 27's kernels: tensor maps of q, k and v, 128 query rows a block."""

    def prepare(q: Any, k: Any, v: Any, o: Any, lse: Any) -> Callable[[], None]:
        from lanewise import cp

        heads, nq, _ = q.shape
        maps = [cp.tensor_map(x, (1, 64, 64), swizzle="128B") for x in (q, k, v)]
        args = (*maps, o, lse, np.int32(nq), np.int32(k.shape[1]), SCALE)
        return lambda: kernel(key, 65536)((-(-nq // 128), heads), (threads,), args, shared_mem=65536)

    return prepare


def top(rung: Any) -> Callable[..., Callable[[], None]]:
    """A rung of lanewise.attention."""
    return lambda q, k, v, o, lse: rung.prepare(q, k, v, o, lse, False, float(SCALE))


STEPS = (
    Step("ch09, three kernels", "all scores in memory; softmax reads them three times", "float32", naive),
    Step("ch10, online softmax", "softmax reads them twice", "float32", online),
    Step("ch12_flash_forward", "one kernel, no scores stored", "float32", fused("ch12_flash_forward", 32, last=np.uintp(0))),
    Step("ch12_flash_registers", "8 x 8 scores in a thread's registers", "float32", fused("ch12_flash_registers", 128, 107520)),
    Step("ch22_split_keys", "tensor cores; warps split the keys", "float16", fused("ch22_split_keys", 0, 45312), 80),
    Step("ch22_split_queries", "warps split the queries, a block a tile", "float16", fused("ch22_split_queries", 64, 24576), 80),
    Step("flash2", "tiles of 128 x 128 in place of 64 x 64", "float16", top(FLASH2), 80),
    Step("ch27_flash_equal", "TMA and wgmma, two blocks an SM", "float16", by_tma("ch27_flash_equal", 256), 90),
    Step("ch27_flash_specialised", "one warp loads, two warpgroups compute; one block an SM", "float16", by_tma("ch27_flash_specialised", 384), 90),
    Step("flash3", "three warpgroups take turns, overlap, a persistent grid", "float16", top(FLASH3), 90),
)


def check(cp: Any, step: Step, shapes: Sequence[tuple[int, int]] = RAGGED) -> None:
    """Raises AssertionError where the rung is wrong."""
    for nq, nk in shapes:
        q, k, v = (random(cp, (2, n, D), n + i).astype(step.dtype) for i, n in enumerate((nq, nk, nk)))
        o, lse = layer.poisoned(cp, q)
        step.prepare(q, k, v, o, lse)()
        believe(cp, step, o, q, k, v)


def believe(cp: Any, step: Step, o: Any, q: Any, k: Any, v: Any) -> None:
    """Raises AssertionError where o isn't the attention of q, k, v as far as the rung's dtype allows."""
    apart = relative(cp, o, exact(cp, q, k, v, False)[0])
    if not apart <= TOLERANCE[step.dtype]:
        raise AssertionError(f"{step.name} is wrong for Nq = {q.shape[1]}, Nk = {k.shape[1]}: {apart}")


def measure(cp: Any, steps: Sequence[Step], n: int = N, rounds: int = ROUNDS) -> list[results.Row]:
    """A row a rung. Raises AssertionError where one is wrong."""
    heads = layer.heads(n, D)
    inputs = [random(cp, (heads, n, D), n + i) for i in range(3)]
    by_type = {dtype: [x.astype(dtype) for x in inputs] for dtype in TOLERANCE}
    launches = []
    for step in steps:
        check(cp, step)
        q, k, v = by_type[step.dtype]
        o, lse = layer.poisoned(cp, q)
        launches.append(step.prepare(q, k, v, o, lse))
        launches[-1]()
        believe(cp, step, o[:2], q[:2], k[:2], v[:2])
    readings = [functools.partial(milliseconds, cp, launch, repeats(cp, launch, TURN_MS)) for launch in launches]
    times = [statistics.median(each) for each in in_turns(readings, rounds)]
    return [
        {"rung": step.name, "idea": step.idea, "type": step.dtype, "N": n, "heads": heads, "ms": ms, "TFLOPs": flops(heads, n, D, False) / ms / 1e9,
         "times": times[0] / ms}
        for step, ms in zip(steps, times, strict=True)
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    asked = options(COMMAND, __doc__).parse_args(argv)
    from lanewise import cp

    capability = int(cp.cuda.Device().compute_capability)
    rows = measure(cp, [step for step in STEPS if step.runs(capability)])
    print(record(cp, "every_rung", COMMAND, rounded(rows), asked.out))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
