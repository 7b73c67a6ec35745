"""Random kernels in which lanes and warps meet in parts: masks that __match_any_sync makes, numbered barriers for some warps, lanes apart at barrier.sync,
lanes that stay a shuffle ahead of others.

Every meeting is right: lanes that name each other pass one mask, whole warps come to bar.sync and bar.arrive. So the simulator must be quiet, whatever the
schedule is. The answer is worked out beside the text, for all threads of a block at a time. A `Fault` is an edit that makes one meeting wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

u32 = np.uint32


@dataclass(frozen=True)
class Operation:
    """What lanes of one mask do: `c` with {m} for it; `of` takes their values and their numbers and gives one value, or one for each."""

    c: str
    of: Callable[[np.ndarray, np.ndarray], Any]


OPERATIONS = [
    Operation("__reduce_add_sync({m}, v)", lambda v, lanes: v.sum(dtype=u32)),
    Operation("__reduce_max_sync({m}, v & 1023u)", lambda v, lanes: (v & u32(1023)).max()),
    Operation("__shfl_sync({m}, v, __ffs({m}) - 1)", lambda v, lanes: v[0]),
    Operation("(unsigned)__popc(__ballot_sync({m}, v & 4u))", lambda v, lanes: u32((v & u32(4) != 0).sum())),
    Operation("(unsigned)__any_sync({m}, (v & 7u) == 3u)", lambda v, lanes: u32((v & u32(7) == 3).any())),
    Operation(
        "(unsigned)__popc(__match_any_sync({m}, v & 1u))", lambda v, lanes: np.where(v & u32(1) == 1, (v & u32(1)).sum(), (~v & u32(1)).sum()).astype(u32)
    ),
]


@dataclass(frozen=True)
class Fault:
    """`find` occurs once in the source; with `replace` in its place one of the errors is of kind `kind`."""

    find: str
    replace: str
    kind: str


@dataclass
class Meetings:
    """A kernel `k(const unsigned* x, unsigned* y)` of one block, and what it makes of x."""

    random: random.Random
    warps: int
    threads: int
    lines: list[str] = field(default_factory=list)
    steps: list[Callable[[np.ndarray], Any]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    names: int = 0
    numbers: int = 0  # barriers in use so far

    # ------------------------------------------------------------------ steps

    def parts(self) -> None:
        """Lanes of equal value work together, each class on a side of its own, some of them several times."""
        r, k = self.random, self.random.randrange(2, 5)
        self.names += 1
        m, cls, n = f"m{self.names}", f"c{self.names}", self.names
        mask = f"__match_any_sync(0xffffffffu, {cls})"
        self.lines.append(f"  unsigned {cls} = (v >> {n % 5}) % {k}u, {m} = {mask};")
        self.faults.append(Fault(f"{m} = {mask}", f"{m} = {mask} ^ (l == 3u ? 16u : 0u)", "warp-mask"))  # one too many, or a friend left out
        operations = [r.choice(OPERATIONS) for _ in range(k)]
        turns = [r.choice((1, 1, 2, 3)) for _ in range(k)]
        if r.random() < 0.5:  # one instruction for all
            operations, turns = operations[:1] * k, turns[:1] * k
            self.lines.append(f"  for (unsigned i = 0; i < {turns[0]}u; ++i) v += {operations[0].c.format(m=m)};")
        elif r.random() < 0.5:  # a loop whose classes leave it one after another
            operations, turns = operations[:1] * k, [j + 1 for j in range(k)]
            self.lines += ["  #pragma unroll 1", f"  for (unsigned i = 0; i <= {cls}; ++i) v += {operations[0].c.format(m=m)};"]
        else:
            for j in range(k):
                loop = f"for (unsigned i = 0; i < {turns[j]}u; ++i) " if turns[j] > 1 else ""
                self.lines.append(f"  {'else ' if j else ''}if ({cls} == {j}u) {{ {loop}v += {operations[j].c.format(m=m)}; }}")

        def step(v, cls_of=lambda v: (v >> u32(n % 5)) % u32(k)):
            classes = cls_of(v)
            for warp in range(0, self.threads, 32):
                w = slice(warp, min(warp + 32, self.threads))
                for j in range(k):
                    here = np.flatnonzero(classes[w] == j)
                    for _ in range(turns[j] if len(here) else 0):
                        lanes = v[w][here]
                        v[warp + here] = lanes + operations[j].of(lanes, here)
            return v

        self.steps.append(step)

    def ahead(self) -> None:
        """Some lanes stay one shuffle ahead of the others, through a few lines or a loop: the n-th of one meets the n-th of the other."""
        r = self.random
        bit, far, turns, rolled = r.randrange(5), r.randrange(1, 32), r.randrange(1, 4), r.random() < 0.5
        first, middle, last = (r.randrange(1, 100) for _ in range(3))
        shuffle = f"__shfl_sync(0xffffffffu, v, (l + {far}u) % min(32u, {self.threads}u - 32u * w))"
        loop = ["  #pragma unroll 1"] if rolled else []
        self.lines += [f"  if (l >> {bit} & 1u) v = {first}u * v + {shuffle};", *loop, f"  for (int i = 0; i < {turns}; ++i) v = {middle}u * v + {shuffle};"]
        self.names += 1
        end = f"  if (!(l >> {bit} & 1u)) v = {last}u * v + {shuffle};  // {self.names}"
        self.lines.append(end)
        if self.threads >> bit:  # there are lanes of both kinds
            self.faults.append(Fault(end, "", "warp-mask"))

        def step(v):
            for warp in range(0, self.threads, 32):
                w = slice(warp, min(warp + 32, self.threads))
                lanes = np.arange(len(v[w]))
                early = lanes >> bit & 1 == 1
                for n in range(turns + 1):
                    factor = np.where(early, first if n == 0 else middle, middle if n < turns else last).astype(u32)
                    v[w] = factor * v[w] + v[w][(lanes + far) % len(lanes)]
            return v

        self.steps.append(step)

    def some_warps(self) -> None:
        """A few warps exchange words at a barrier of their own, the others don't come."""
        chosen = sorted(self.random.sample(range(self.warps), self.random.randrange(1, self.warps + 1)))
        self.numbers = self.numbers % 15 + 1
        meet = self.random.choice((f"bar.sync {self.numbers}, {32 * len(chosen)};", f"barrier.sync {self.numbers}, {32 * len(chosen)};"))
        picked = sum(1 << w for w in chosen)
        apart = meet.startswith("barrier") and self.random.random() < 0.6
        first = f'asm volatile("{meet}" ::: "memory");'
        reached = f"if (l % 3u == 0u) {{ {first} }} else {{ v ^= 5u; {first} }}" if apart else first
        self.lines += [f"  if ({picked}u >> w & 1u) {{", "    s[t] = v;", f"    {reached}", f"    v += s[{self.far(chosen)}];", f"    {first}", "  }"]
        if meet.startswith("bar.sync"):
            self.faults.append(Fault(f"    s[t] = v;\n    {reached}", f"    s[t] = v;\n    if (l != 7u) {reached}", "barrier-divergence"))

        def step(v):
            s = v.copy()
            for t in range(self.threads):
                if t // 32 in chosen:
                    if apart and t % 32 % 3:
                        v[t] ^= u32(5)
                    at = t ^ 32 if chosen == list(range(self.warps)) and (t ^ 32) < self.threads else t ^ 1 if (t ^ 1) < self.threads else t
                    v[t] += s[at]
            return v

        self.steps.append(step)

    def far(self, chosen: list[int]) -> str:
        near = f"((t ^ 1u) < {self.threads}u ? t ^ 1u : t)"
        return f"((t ^ 32u) < {self.threads}u ? t ^ 32u : {near})" if chosen == list(range(self.warps)) else near

    def hand_over(self) -> None:
        """One warp arrives, another waits for it and takes its words; then the other way round, at another number."""
        if self.warps < 2:
            return
        a, b = self.random.sample(range(self.warps), 2)
        first, second = self.numbers % 15 + 1, (self.numbers + 1) % 15 + 1
        self.numbers = second
        there, back = (f'asm volatile("bar.MODE {number}, 64;" ::: "memory");' for number in (first, second))
        size = f"min(32u, {self.threads}u - {32 * a}u)"
        self.lines += [
            f"  if (w == {a}u) {{ s[t] = v; {there.replace('MODE', 'arrive')} {back.replace('MODE', 'sync')} v ^= s[t]; }}",
            f"  if (w == {b}u) {{ {there.replace('MODE', 'sync')} v += s[{32 * a}u + l % {size}]; {back.replace('MODE', 'arrive')} }}",
        ]
        arrives = there.replace("MODE", "arrive")
        self.faults.append(Fault(f"s[t] = v; {arrives}", f"s[t] = v; if (l < 2u) {{ {arrives} }}", "barrier-divergence"))

        def step(v):
            given = v[32 * a : min(32 * a + 32, self.threads)].copy()
            for t in range(32 * b, min(32 * b + 32, self.threads)):
                v[t] += given[t % 32 % len(given)]
            v[32 * a : 32 * a + len(given)] = 0
            return v

        self.steps.append(step)

    def everybody(self) -> None:
        self.lines += ["  __syncthreads();"]

    # ------------------------------------------------------------------ the whole

    def source(self) -> str:
        body = "\n".join(self.lines)
        return f"""
extern "C" __global__ void k(const unsigned* x, unsigned* y) {{
  __shared__ unsigned s[{32 * self.warps}];
  const unsigned t = threadIdx.x, l = t % 32u, w = t / 32u, i0 = blockIdx.x * blockDim.x + t;
  unsigned v = x[i0];
{body}
  y[i0] = v;
}}
"""

    def expected(self, x: np.ndarray) -> np.ndarray:
        out = x.copy().reshape(-1, self.threads)
        with np.errstate(over="ignore"):
            for row in out:
                for step in self.steps:
                    step(row)
        return out.ravel()


def generate(seed: int) -> Meetings:
    r = random.Random(seed)
    warps = r.randrange(1, 6)
    made = Meetings(r, warps, r.choice((32 * warps, 32 * warps, 32 * warps - r.randrange(1, 28))))
    for _ in range(r.randrange(3, 8)):  # numbers of barriers are not used again: nothing would order their meetings
        made.random.choice((made.parts, made.parts, made.ahead, made.some_warps, made.hand_over))()
        if r.random() < 0.6:
            made.everybody()
    return made
