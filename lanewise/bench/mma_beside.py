"""Do mma.sync and the other instructions of a scheduler overlap, or do their times add? results/<gpu>.json, table mma_beside.

A step is 8 products (m16n8k16, fp16, independent accumulators) and n other instructions of one kind on 8 independent values: alone, in one warp by turns, or
in different warps of the same scheduler. Clocks are an SM's, from the first warp's begin to the last one's end, over what one scheduler did: one step.
Rows called "chain" are latencies: one instruction that waits for the one before it. A GPU of compute capability 8.0 or later; one block an SM.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench.record import options, record

COMMAND = "python -m lanewise.bench.mma_beside"
PRODUCTS = 8
STEPS, WARM, REPEATS = 1024, 24, 5  # steps that are timed and steps before (both even); launches, of which the median counts
KINDS = ("none", "fma", "add", "max", "power", "shuffle", "mixed", "ldmatrix", "barrier")  # the kernel's numbers
MIXED = ("max", "fma", "power", "add", "fma", "max", "add", "fma")  # what `mixed` does to value 0, 1 …: one power in eight

KERNEL = r"""
enum Kind { NONE, FMA, ADD, MAX, POWER, SHUFFLE, MIXED, LDMATRIX, BARRIER };

__device__ __forceinline__ long long now() { long long c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return c; }

__device__ __forceinline__ void product(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The k-th other instruction. A value is raised and lowered by turns, and matrices hold the addresses of the next ones, so that no compiler can
// leave out a repetition.
template <int kind>
__device__ __forceinline__ void other(int k, float& v, unsigned (&r)[4], float half, float one) {
    constexpr Kind each[8] = {MAX, FMA, POWER, ADD, FMA, MAX, ADD, FMA};
    const int what = kind == MIXED ? each[k % 8] : kind;
    if (what == FMA) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(half), "f"(one));
    if (what == ADD) asm volatile("add.f32 %0, %0, %1;" : "+f"(v) : "f"(one));
    if (what == MAX && (k / 8 + k) % 2) asm volatile("min.f32 %0, %0, %1;" : "+f"(v) : "f"(one));
    if (what == MAX && (k / 8 + k) % 2 == 0) asm volatile("max.f32 %0, %0, %1;" : "+f"(v) : "f"(half));
    if (what == POWER) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));
    if (what == SHUFFLE) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+f"(v));
    if (what == LDMATRIX)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%0];" : "+r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : : "memory");
    if (what == BARRIER) asm volatile("bar.sync 0;" ::: "memory");
}

// `of` independent accumulators, values and addresses: 8, or 1 for a chain.
template <int of>
struct State {
    float c[of][4] = {}, v[of];
    unsigned r[of][4], a[2][4], b[2][2];
    float half, one;
};

template <int products, int others, int kind, int of>
__device__ __forceinline__ void run(int steps, State<of>& s) {
    constexpr int slots = products ? products : 1;
#pragma unroll 4
    for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int g = 0; g < slots; ++g) {
            if (products) product(s.c[g % of], s.a[g / 2 % 2], s.b[g % 2]);
#pragma unroll
            for (int k = g * others / slots; k < (g + 1) * others / slots; ++k)
                other<kind>(k, s.v[k % of], s.r[k % of], s.half, s.one);
        }
}

// ends: a thread's sum of accumulators and of values; took: begin and end of each warp. apart: of a scheduler's warps every second one multiplies.
template <int products, int others, int kind, bool apart, int of>
__global__ void beside(int steps, int warm, float half, float one, const unsigned* pairs, float* ends, long long* took) {
    __shared__ __align__(16) unsigned rows[128];        // what ldmatrix gives a lane is its own address again
    State<of> s;
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const unsigned base = (unsigned)__cvta_generic_to_shared(rows);
    for (int i = thread; i < 128; i += blockDim.x) rows[i] = base + i % 32 * 16;
    s.half = half, s.one = one;
    for (int i = 0; i < of; ++i) {
        s.v[i] = kind == SHUFFLE ? lane : kind == MAX || (kind == MIXED && (i == 0 || i == 5)) ? 2.0f : 0.0f;
        for (int e = 0; e < 4; ++e) s.r[i][e] = e ? base : base + 16 * lane;
    }
    for (int i = 0; i < 8; ++i) s.a[i / 4][i % 4] = pairs[i], s.b[i / 2 % 2][i % 2] = pairs[8 + i % 4];
    __syncthreads();
    const bool odd = warp / 4 % 2;
    long long begin = 0;
    for (int round = 0;; ++round) {                     // the first one fetches the instructions
        const int n = round ? steps : warm;
        if (!apart) run<products, others, kind, of>(n, s);
        else if (odd) run<0, others, kind, of>(n, s);
        else run<products, 0, kind, of>(n, s);
        if (round) break;
        __syncthreads();
        begin = now();
    }
    const long long end = now();
    float sum = 0.0f, rest = 0.0f;
    for (int i = 0; i < of; ++i) {
        for (int e = 0; e < 4; ++e) {
            sum += s.c[i][e];
            if (kind == LDMATRIX) rest += (s.r[i][e] - base) / 16;
        }
        if (kind != LDMATRIX) rest += s.v[i];
    }
    const int mine = blockIdx.x * blockDim.x + thread, its = blockIdx.x * (blockDim.x / 32) + warp;
    ends[2 * mine] = sum;
    ends[2 * mine + 1] = rest;
    if (lane == 0) took[2 * its] = begin, took[2 * its + 1] = end;
}
"""


@dataclass(frozen=True, slots=True)
class Step:
    """`products` and `others` of a `kind`; `how`: alone, same warp, other warps or chain; `warps` a scheduler."""

    how: str
    kind: str
    warps: int
    products: int
    others: int

    @property
    def name(self) -> str:
        apart, of = "true" if self.how == "other warps" else "false", 1 if self.how == "chain" else 8
        return f"beside<{self.products}, {self.others}, {KINDS.index(self.kind)}, {apart}, {of}>"

    @property
    def done(self) -> int:
        """Steps of a scheduler while each of its warps does one; of a chain, instructions."""
        return max(self.products, self.others) if self.how == "chain" else self.warps // 2 if self.how == "other warps" else self.warps


def every() -> list[Step]:
    """All that is measured: what is alone first."""
    counts = {kind: (8, 16, 32, 48) for kind in KINDS[1:7]} | {"ldmatrix": (2, 4, 8, 16)}
    found = [Step("alone", "none", warps, PRODUCTS, 0) for warps in (1, 2, 4)]
    found += [Step("alone", kind, warps, 0, 32) for kind in KINDS[1:] for warps in (1, 2, 4)]
    for kind, several in counts.items():
        found += [Step("same warp", kind, warps, PRODUCTS, n) for n in several for warps in (1, 2, 4)]
        if kind != "shuffle":  # where warps part, the compiler surrounds each shuffle with instructions of its own
            found += [Step("other warps", kind, warps, PRODUCTS, n) for n in several for warps in (2, 4)]
    found.append(Step("chain", "none", 1, PRODUCTS, 0))
    return found + [Step("chain", kind, 1, 0, 32) for kind in KINDS[1:] if kind not in ("mixed", "barrier")]


def right(step: Step, steps: int) -> tuple[float, float, float]:
    """What threads must end with after so many steps: sum of the accumulators, sum of the values, and how many lanes the latter grows by a lane."""
    of = 1 if step.how == "chain" else 8
    sum_, rest = 4.0 * steps * step.products, 0.0
    visits = [steps * len(range(i, step.others, of)) for i in range(of)]
    for i, count in enumerate(visits):
        what = MIXED[i] if step.kind == "mixed" else step.kind
        lowered = step.others > of or i % 2  # a value that is only ever raised stays 2
        after = {"fma": 2.0, "add": float(count), "max": 1.0 if lowered else 2.0, "power": np.inf}
        before = 2.0 if what == "max" else 0.0
        rest += after.get(what, 0.0) if count else before
    loaded = sum(4.0 if count else 1.0 for count in visits)  # of a set's four registers one holds the lane's place from the start
    return sum_, rest, {"shuffle": float(of), "ldmatrix": loaded}.get(step.kind, 0.0)


def check(step: Step, ends: np.ndarray, steps: int) -> None:
    """Raises RuntimeError where a thread's sums, (blocks, threads, 2), aren't what so many steps give."""
    sum_, rest, slope = right(step, steps)
    lanes = np.arange(ends.shape[1]) % 32
    multiplies = adds = np.ones(ends.shape[1], bool)
    if step.how == "other warps":
        adds = np.arange(ends.shape[1]) // 128 % 2 == 1
        multiplies = ~adds
    _, before, flat = right(replace(step, products=0, others=0), steps)
    values = np.where(adds, rest + slope * lanes, before + flat * lanes)
    good = (ends[..., 0] == np.where(multiplies, sum_, 0.0)) & np.isclose(ends[..., 1], values, rtol=1e-6, atol=0.0)
    if not good.all():
        raise RuntimeError(f"{step} gives wrong values: its clocks are worth nothing.")


def measure(cp: Any, steps_of: Sequence[Step], sms: int) -> list[results.Row]:
    """A row a step: its clocks, the median of blocks and launches. `cp` is CuPy, or its twin (whose clock means nothing)."""
    names = tuple(dict.fromkeys(step.name for step in steps_of))
    module = cp.RawModule(code=KERNEL, options=("--std=c++17",), name_expressions=names)
    pairs = cp.asarray(np.repeat(np.array([0x3C003C00, 0x2C002C00], np.uint32), [8, 4]))  # A of ones, B of 1/16 (fp16): a product adds 1 to every sum
    rows: list[results.Row] = []
    for step in steps_of:
        warps, kernel, readings = 4 * step.warps, module.get_function(step.name), []
        for _ in range(REPEATS):
            ends, took = cp.full((sms, 32 * warps, 2), np.nan, dtype=cp.float32), cp.zeros((sms, warps, 2), dtype=cp.int64)
            kernel((sms,), (32 * warps,), (np.int32(STEPS), np.int32(WARM), np.float32(0.5), np.float32(1), pairs, ends, took))
            check(step, cp.asnumpy(ends), STEPS + WARM)
            clocks = cp.asnumpy(took)
            readings.append(np.median(clocks[..., 1].max(axis=1) - clocks[..., 0].min(axis=1)) / (STEPS * step.done))
        rows.append(
            {"how": step.how, "kind": step.kind, "warps": step.warps, "products": step.products, "others": step.others,
             "clocks": round(float(np.median(readings)), 2)}
        )  # fmt: skip
    return rows


def bounds(rows: Sequence[results.Row], row: results.Row) -> tuple[float, float]:
    """Clocks of a row if its two kinds overlapped wholly, and if their times added: from what each takes alone at best."""
    alone = {kind: min(r["clocks"] / (r["products"] + r["others"]) for r in rows if (r["how"], r["kind"]) == ("alone", kind)) for kind in ("none", row["kind"])}
    parts = row["products"] * alone["none"], row["others"] * alone[row["kind"]]
    return max(parts), sum(parts)


def main(argv: Sequence[str] = ()) -> int:
    """Measure the table on this machine's GPU and put it into its results file."""
    asked = options(COMMAND, __doc__).parse_args(argv)
    from lanewise.cp import real_cupy

    cp = real_cupy()
    sms = int(cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"])
    table = record(cp, "mma_beside", COMMAND, measure(cp, every(), sms), asked.out)
    print(table, flush=True)
    for row in table.rows:
        if row["how"] in ("same warp", "other warps"):
            overlapped, added = bounds(table.rows, row)
            print(f"{row['how']:11} {row['kind']:8} {row['warps']} warps, {row['products']} products beside {row['others']:2}: {row['clocks']:7.1f} clocks;",
                  f"overlapped {overlapped:7.1f}, added {added:7.1f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
