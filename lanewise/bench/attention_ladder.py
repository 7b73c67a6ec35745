"""The tensor-core rungs beside the libraries, forward, one run: results/<gpu>.json, tables attention_ladder and attention_references.

Random inputs of one layout and dtype for all (16,384 tokens, heads · d = 2048; each of q, k, v, o is 67 MB, so that a launch's inputs have left the L2
when it begins), log-sum-exp written by all that can. Turns taken (A B B A, 50 pairs after 2 s of warm-up), the median of the ratios with its 95 % interval.
FLOP/s by 4·heads·Nq·Nk·d, for causal masks by the pairs that aren't masked (bottom-right aligned; equal to PyTorch's top-left for Nq = Nk). Beside them:
PyTorch's FlashAttention-2 and cuDNN, and the flash-attn-4 package where it is installed; in the second table, in fewer turns with the last rung,
PyTorch's memory-efficient and math backends and its FlexAttention (Triton), each where it runs. Before it is timed, every rung is compared with float64
on poisoned outputs, ragged, causal and with rows without a key, and its error at N = 2048 must be at most 1.1 times PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lanewise import results
from lanewise.bench import layer
from lanewise.bench.duel import clocks, duel
from lanewise.bench.layer import exact, flops, poisoned, random, relative
from lanewise.bench.libraries import APART, TURN_MS, first, rivals, running, started
from lanewise.bench.record import options, record, rounded, sizes
from lanewise.rungs import FLASH2, FLASH3, Rung

COMMAND = "python -m lanewise.bench.attention_ladder"
SIZES = (512, 1024, 2048, 4096, 8192, 16384)
AGAIN_S = 0.2  # of warm-up for each pair of a point but the first: the GPU is warm
RAGGED = (*layer.RAGGED, (777, 1000))


def rungs(capability: int) -> list[Rung]:
    return [rung for rung in (FLASH2, FLASH3) if rung.fits(capability, "float16", 64)]


def check(cp: Any, rung: Rung) -> None:
    """Raises AssertionError where the rung is wrong: ragged sizes, masks, grouped heads, both head sizes."""
    for d in rung.head_sizes:
        for nq, nk in RAGGED:
            for causal in (False, True):
                for heads, group in ((2, 1), (4, 2)):
                    q, k, v = random(cp, (heads, nq, d), nq), random(cp, (heads // group, nk, d), nk), random(cp, (heads // group, nk, d), nq + nk)
                    o, lse = poisoned(cp, q)
                    rung.prepare(q, k, v, o, lse, causal, 1 / math.sqrt(d))()
                    right, sums = exact(cp, q, k, v, causal)
                    none = cp.isinf(sums)
                    apart = float(cp.abs(cp.where(none, 0, lse - sums)).max())
                    if not relative(cp, o, right) <= 1e-3 or not apart <= 1e-4 or not bool((lse[none] == -cp.inf).all()):
                        raise AssertionError(f"{rung.name} is wrong for d = {d}, Nq = {nq}, Nk = {nk}, causal = {causal}: {relative(cp, o, right)}, {apart}")


def compare_errors(cp: Any, rung: Rung, n: int = 2048) -> None:
    """The rung's error against float64 is at most 1.1 times PyTorch's on the same inputs."""
    import torch

    for d in rung.head_sizes:
        for causal in (False, True):
            q, k, v = (random(cp, (2, n, d), seed) for seed in range(3))
            o, lse = poisoned(cp, q)
            rung.prepare(q, k, v, o, lse, causal, 1 / math.sqrt(d))()
            right, _ = exact(cp, q, k, v, causal)
            theirs = first(cp, rivals(q, k, v, causal)["FlashAttention-2"])
            ours, other = relative(cp, o, right), relative(cp, theirs, right)
            print(f"{rung.name} d={d} N={n} causal={causal}: relative error {ours:.3e}, PyTorch's {other:.3e}", flush=True)
            if not ours <= 1.1 * other:
                raise AssertionError(f"{rung.name}'s error {ours} is more than 1.1 times PyTorch's {other} (d = {d}, causal = {causal})")
            torch.cuda.synchronize()


def measure_point(cp: Any, all_rungs: list[Rung], d: int, n: int, causal: bool, warm_up_s: float, gone: set[str]) -> tuple[results.Row, list[results.Row]]:
    """TFLOP/s of every rung and rival, and the ratios; and a row for each reference, beside the last rung. `gone`: libraries that aren't there."""
    heads = layer.heads(n, d)
    work = flops(heads, n, d, causal)
    q, k, v = (random(cp, (heads, n, d), n + d + i) for i in range(3))
    o, lse = poisoned(cp, q)
    others = started(rivals(q, k, v, causal), f"for d = {d}, N = {n}, causal = {causal}", gone)
    shape: results.Row = {"d": d, "N": n, "heads": heads, "causal": causal}
    row, references = dict(shape), []
    for rung in all_rungs:
        mine = rung.prepare(q, k, v, o, lse, causal, 1 / math.sqrt(d))
        o.fill(cp.nan)
        mine()
        for name, other in others.items():
            apart = float(cp.abs(o - first(cp, other)).max())
            if not apart <= APART:
                raise AssertionError(f"{rung.name} and {name} differ by {apart} for d = {d}, N = {n}, causal = {causal}")
            fought = duel(cp, mine, other, warm_up_s=warm_up_s)
            warm_up_s = min(warm_up_s, AGAIN_S)
            row[rung.name] = max(row.get(rung.name, 0.0), work / fought.ms / 1e9)
            row[name] = max(row.get(name, 0.0), work / fought.other_ms / 1e9)
            row[f"{rung.name} / {name}"] = fought.ratio
            row[f"{rung.name} / {name} low"], row[f"{rung.name} / {name} high"] = fought.low, fought.high
    row |= clocks()
    for reference, other in running(cp, q, k, v, o, causal, gone):
        fought = duel(cp, mine, other, reference.pairs, warm_up_s, TURN_MS)
        references.append(
            {"library": reference.name, **shape, "ms": fought.other_ms, "TFLOPs": work / fought.other_ms / 1e9, "rung": rung.name, "ratio": fought.ratio,
             "low": fought.low, "high": fought.high, "pairs": reference.pairs}
        )  # fmt: skip
    return row, references


def measure(sizes: Sequence[int], warm_up_s: float) -> tuple[list[results.Row], list[results.Row]]:
    """The rows of both tables; raises AssertionError when a rung is wrong."""
    from lanewise.cp import real_cupy

    cp = real_cupy()
    climbed = rungs(int(cp.cuda.Device().compute_capability))
    for rung in climbed:
        check(cp, rung)
        compare_errors(cp, rung)
    rows: list[results.Row] = []
    references: list[results.Row] = []
    gone: set[str] = set()
    for d in (64, 128):
        for n in sizes:
            for causal in (False, True):
                row, others = measure_point(cp, climbed, d, n, causal, warm_up_s, gone)
                rows += rounded([row])
                references += rounded(others)
                print(", ".join(f"{key} {x:.3f}" if isinstance(x, float) and x < 10 else f"{key} {x:.0f}" if isinstance(x, float) else f"{key} {x}"
                                for key, x in row.items() if "low" not in key and "high" not in key), flush=True)  # fmt: skip
                print("; ".join(f"{each['library']} {each['TFLOPs']:.0f}, {each['rung']} {each['ratio']:.2f} x that" for each in others), flush=True)
            cp.get_default_memory_pool().free_all_blocks()
    return rows, references


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(x) for x in values) / len(values))


def summary(rows: list[results.Row]) -> list[str]:
    """The targets' figures: flash2 against FlashAttention-2 everywhere, flash3 against the best library from N = 2048 on."""
    lines = []
    twos = [row["flash2 / FlashAttention-2"] for row in rows]
    lines.append(f"flash2 / PyTorch's FlashAttention-2: lowest {min(twos):.3f}, geometric mean {geometric_mean(twos):.3f} of {len(twos)} points")
    long = [row for row in rows if row["N"] >= 2048]
    names = [name for name in ("cuDNN", "FlashAttention-4") if all(f"flash3 / {name}" in row for row in long)]
    if long and names:
        threes = [min(row[f"flash3 / {name}"] for name in names) for row in long]
        spread = f"lowest {min(threes):.3f}, geometric mean {geometric_mean(threes):.3f} of {len(threes)} points"
        lines.append(f"flash3 / the better of {' and '.join(names)}, N >= 2048: {spread}")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(COMMAND, __doc__)
    parser.add_argument("--sizes", type=sizes, default=",".join(str(n) for n in SIZES), help="sequence lengths, separated by commas")
    parser.add_argument("--warm-up", type=float, default=2.0, help="seconds before each point is timed")
    asked = parser.parse_args(argv)
    import torch

    from lanewise.cp import real_cupy

    cp = real_cupy()
    cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()  # one stream for all
    rows, references = measure(asked.sizes, asked.warm_up)
    for name, table in (("attention_ladder", rows), ("attention_references", references)):
        record(cp, name, COMMAND, table, asked.out, torch=torch.__version__, cudnn=str(torch.backends.cudnn.version()))
    for line in summary(rows):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
