"""Random CUDA C kernels, each with the same program as Python for one thread at a time: an oracle that knows nothing of groups and batches.

A kernel computes with 32-bit unsigned numbers under nested conditions, loops whose trip counts depend on data, switches, early returns, device
functions, a local array, shared memory between barriers, shuffles and votes where whole warps stand, and atomics whose order doesn't matter.
Every access is ordered, so the simulator must find no error whatever the schedule is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

M = 0xFFFFFFFF
SIZE = 64  # elements of the input
COUNTERS = 8  # elements of each array of atomics
OUT = 4  # elements a thread owns in each output


def signed(a: int) -> int:
    return a - (1 << 32) if a >> 31 else a


def quotient(a: int, b: int) -> int:
    """C's division of signed numbers: towards zero."""
    q = abs(a) // abs(b)
    return (-q if (a < 0) != (b < 0) else q) & M


def bits_of(x) -> int:
    return int(np.float32(x).view(np.uint32))


def float_of(a: int):
    return np.float32(np.uint32(a & 0xFFFF))


ENVIRONMENT = {
    "M": M, "W": (1 << 64) - 1, "S": signed, "DIV": quotient,
    "popc": lambda a: a.bit_count(), "clz": lambda a: 32 - a.bit_length(), "brev": lambda a: int(f"{a:032b}"[::-1], 2),
    "min": min, "max": max, "BITS": bits_of, "FLOAT": float_of, "F": np.float32,
}  # fmt: skip

HEADER = """
__device__ __noinline__ unsigned helper(unsigned a, unsigned b) {
  unsigned r = b;
  for (unsigned i = 0; i < (a & 7u); ++i) {
    if ((r & 3u) == 1u) return r ^ i;
    r = r * 5u + i;
  }
  return r + a;
}
__device__ __noinline__ unsigned deep(unsigned depth, unsigned a) {
  if (depth == 0u) return a * 3u;
  unsigned r = deep(depth - 1u, a + depth);
  return (r & 1u) ? r ^ a : r + depth;
}
__device__ __noinline__ unsigned neighbour(unsigned v, unsigned width) {
  return v + __shfl_sync(0xffffffffu, v, ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32u + 1u) % width);
}
"""

PYTHON_HEADER = """
def helper(a, b):
  r = b
  i = 0
  while i < (a & 7):
    if (r & 3) == 1:
      return r ^ i
    r = (r * 5 + i) & M
    i += 1
  return (r + a) & M
def deep(depth, a):
  if depth == 0:
    return a * 3 & M
  r = deep(depth - 1, (a + depth) & M)
  return r ^ a if r & 1 else (r + depth) & M
"""


@dataclass
class Writer:
    """C and Python lines side by side."""

    random: random.Random
    c: list[str] = field(default_factory=list)
    py: list[str] = field(default_factory=list)
    depth: int = 1
    names: int = 0
    returned: bool = False  # some thread may have left: no more warp-wide instructions
    budget: int = 40  # statements left
    uniform_loops: int = 0  # loops around us that all threads of a block run together

    def line(self, c: str, py: str) -> None:
        self.c.append("  " * self.depth + c)
        self.py.append("  " * self.depth + py)

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    # ------------------------------------------------------------------ expressions: (C, Python)

    def variable(self) -> str:
        return self.random.choice("abcd")

    def value(self, level: int = 2) -> tuple[str, str]:
        r = self.random
        if level == 0 or r.random() < 0.15:
            kind = r.randrange(8)
            if kind == 0:
                k = r.choice((0, 1, 2, 3, 7, 31, 255, 1000003, 0x80000000, M))
                return f"{k}u", str(k)
            if kind == 1:
                return "t", "t"
            if kind == 2:
                return "bid", "bid"
            return (self.variable(),) * 2
        (x, px), (y, py) = self.value(level - 1), self.value(level - 1)
        (z, pz), (w, pw) = (self.value(level - 1), self.value(level - 1)) if level > 1 else (self.value(0), self.value(0))
        return r.choice(
            (
                lambda: (f"({x} + {y})", f"(({px} + {py}) & M)"),
                lambda: (f"({x} - {y})", f"(({px} - {py}) & M)"),
                lambda: (f"({x} * {y})", f"(({px} * {py}) & M)"),
                lambda: (f"({x} ^ {y})", f"({px} ^ {py})"),
                lambda: (f"({x} & {y})", f"({px} & {py})"),
                lambda: (f"({x} | {y})", f"({px} | {py})"),
                lambda: (f"({x} << ({y} & 31u))", f"(({px} << ({py} & 31)) & M)"),
                lambda: (f"({x} >> ({y} & 31u))", f"({px} >> ({py} & 31))"),
                lambda: (f"({x} / ({y} | 1u))", f"({px} // ({py} | 1))"),
                lambda: (f"({x} % ({y} | 1u))", f"({px} % ({py} | 1))"),
                lambda: (f"(unsigned)((int){x} >> ({y} & 31u))", f"((S({px}) >> ({py} & 31)) & M)"),
                lambda: (f"(unsigned)((int){x} / (int)(({y} & 1023u) + 1u))", f"DIV(S({px}), ({py} & 1023) + 1)"),
                lambda: (f"__umulhi({x}, {y})", f"(({px} * {py}) >> 32)"),
                lambda: (f"(unsigned)(((unsigned long long){x} * {y}) >> 17)", f"((({px} * {py}) >> 17) & M)"),
                lambda: (f"(~{x})", f"({px} ^ M)"),
                lambda: (f"min({x}, {y})", f"min({px}, {py})"),
                lambda: (f"max({x}, {y})", f"max({px}, {py})"),
                lambda: (f"(unsigned)__popc({x})", f"popc({px})"),
                lambda: (f"(unsigned)__clz({x})", f"clz({px})"),
                lambda: (f"__brev({x})", f"brev({px})"),
                lambda: (f"(unsigned)(unsigned char){x}", f"({px} & 255)"),
                lambda: (f"(unsigned)(int)(short){x}", f"((({px} & 0xFFFF) ^ 0x8000) - 0x8000 & M)"),
                lambda: (f"A[{x} % {SIZE}u]", f"A[{px} % {SIZE}]"),
                lambda: (f"A[({x} + t) % {SIZE}u]", f"A[(({px} + t) & M) % {SIZE}]"),
                lambda: (f"({x} < {y} ? {z} : {w})", f"({pz} if {px} < {py} else {pw})"),
                lambda: (f"((int){x} < (int){y} ? {z} : {w})", f"({pz} if S({px}) < S({py}) else {pw})"),
                lambda: (f"__float_as_uint(__fmaf_rn((float)({x} & 0xFFFFu), 0.5f, (float)({y} & 0xFFFFu)))", f"BITS(FLOAT({px}) * F(0.5) + FLOAT({py}))"),
            )
        )()

    def condition(self) -> tuple[str, str]:
        r = self.random
        (x, px), (y, py) = self.value(1), self.value(1)
        k = r.randrange(1, 5)
        return r.choice(
            (
                lambda: (f"{x} < {y}", f"{px} < {py}"),
                lambda: (f"(int){x} >= (int){y}", f"S({px}) >= S({py})"),
                lambda: (f"({x} & {k}u) != 0u", f"({px} & {k}) != 0"),
                lambda: (f"{x} % {k + 1}u == 1u", f"{px} % {k + 1} == 1"),
                lambda: (f"(({x} ^ bid) & 1u) == 0u && {y} % 3u != 0u", f"(({px} ^ bid) & 1) == 0 and {py} % 3 != 0"),
                lambda: (f"(bid & {k}u) != 0u || ({y} & 1u)", f"(bid & {k}) != 0 or {py} & 1"),
                lambda: (f"t < ({x} & 63u)", f"t < ({px} & 63)"),
                lambda: (f"t == {k}u", f"t == {k}"),
            )
        )()

    def uniform_condition(self) -> tuple[str, str]:
        """The same for all threads of a block."""
        k = self.random.randrange(1, 4)
        return self.random.choice(
            (
                lambda: (f"(bid & {k}u) != 0u", f"(bid & {k}) != 0"),
                lambda: (f"bid % 3u == {k - 1}u", f"bid % 3 == {k - 1}"),
                lambda: (f"(A[bid % {SIZE}u] & {k}u) == 0u", f"(A[bid % {SIZE}] & {k}) == 0"),
                lambda: (f"n > {k * 10}u", f"n > {k * 10}"),
            )
        )()

    # ------------------------------------------------------------------ statements

    def statements(self, count: int, level: int, uniform: bool, loop: bool = False) -> None:
        before = len(self.py)
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.statement(level, uniform, loop)
        if len(self.py) == before:
            self.line(";", "pass")

    def block(self, head: tuple[str, str], count: int, level: int, uniform: bool, loop: bool = False) -> None:
        self.line(head[0] + " {", head[1] + ":")
        self.depth += 1
        self.statements(count, level, uniform, loop)
        self.depth -= 1
        self.c.append("  " * self.depth + "}")

    def statement(self, level: int, uniform: bool, loop: bool) -> None:
        r = self.random
        choices = [self.assign] * 5 + [self.store, self.atomic, self.local, self.call, self.wide]
        if level:
            choices += [self.branch, self.branch, self.repeat, self.drain, self.switch]
        if loop:
            choices += [self.leave_loop]
        if uniform:
            choices += [self.exchange, self.exchange, self.count, self.shared_atomics, self.narrow_exchange]
            if not self.returned:
                choices += [self.shuffle, self.shuffle, self.vote, self.among_some, self.among_some, self.in_function]
            if level:
                choices += [self.uniform_branch, self.uniform_loop]
        if level < 3:
            choices += [self.leave]
        kind = r.choice(choices)
        kind(level, uniform)

    def assign(self, level: int, uniform: bool) -> None:
        v, (c, py) = self.variable(), self.value()
        self.line(f"{v} = {c};", f"{v} = {py}")

    def store(self, level: int, uniform: bool) -> None:
        c, py = self.value(1)
        k = self.random.randrange(OUT)
        self.random.choice(
            (
                lambda: self.line(f"O[i * {OUT}u + {k}u] = {c};", f"O[i * {OUT} + {k}] = {py}"),
                lambda: self.line(f"B[i * {OUT}u + ({c} & 3u)] = (unsigned char)d;", f"B[i * {OUT} + ({py} & 3)] = d & 255"),
                lambda: self.line(f"H[i * {OUT}u + {k}u] += (unsigned short){c};", f"H[i * {OUT} + {k}] = (H[i * {OUT} + {k}] + {py}) & 0xFFFF"),
                lambda: self.line(f"((uint4*)O)[i] = make_uint4(a, {c}, t, d);", f"O[i * 4:i * 4 + 4] = [a, {py}, t, d]"),
                lambda: self.line(f"{self.variable()} ^= 0u; a = O[i * {OUT}u + (d & 3u)];", f"a = O[i * {OUT} + (d & 3)]"),
            )
        )()

    def atomic(self, level: int, uniform: bool) -> None:
        (x, px), (y, py) = self.value(1), self.value(1)
        n = COUNTERS
        self.random.choice(
            (
                lambda: self.line(f"atomicAdd(&C[{x} % {n}u], {y});", f"C[{px} % {n}] = (C[{px} % {n}] + {py}) & M"),
                lambda: self.line(f"atomicMax(&C[{n}u + {x} % {n}u], {y});", f"C[{n} + {px} % {n}] = max(C[{n} + {px} % {n}], {py})"),
                lambda: self.line(f"atomicXor(&C[{2 * n}u + bid % {n}u], {y});", f"C[{2 * n} + bid % {n}] ^= {py}"),
            )
        )()

    def local(self, level: int, uniform: bool) -> None:
        (x, px), (y, py) = self.value(1), self.value(1)
        v = self.variable()
        self.line(f"local[{x} & 3u] = {y};", f"local[{px} & 3] = {py}")
        self.line(f"{v} += local[d & 3u];", f"{v} = ({v} + local[d & 3]) & M")

    def call(self, level: int, uniform: bool) -> None:
        (x, px), v = self.value(1), self.variable()
        if self.random.random() < 0.6:
            self.line(f"{v} = helper({x}, c);", f"{v} = helper({px}, c)")
        else:
            self.line(f"{v} = deep({x} & 3u, b);", f"{v} = deep({px} & 3, b)")

    def branch(self, level: int, uniform: bool) -> None:
        c, py = self.condition()
        self.block((f"if ({c})", f"if {py}"), self.random.randrange(1, 4), level - 1, False)
        if self.random.random() < 0.6:
            self.block(("else", "else"), self.random.randrange(1, 3), level - 1, False)

    def uniform_branch(self, level: int, uniform: bool) -> None:
        c, py = self.uniform_condition()
        self.block((f"if ({c})", f"if {py}"), self.random.randrange(1, 4), level - 1, True)
        if self.random.random() < 0.6:
            self.block(("else", "else"), self.random.randrange(1, 3), level - 1, True)

    def repeat(self, level: int, uniform: bool) -> None:
        (x, px), j = self.value(1), self.name("j")
        k = self.random.randrange(2, 7)
        self.line(f"unsigned {j}n = {x} % {k}u;", f"{j}n = {px} % {k}")
        self.block((f"for (unsigned {j} = 0; {j} < {j}n; ++{j})", f"for {j} in range({j}n)"), self.random.randrange(1, 4), level - 1, False, True)

    def uniform_loop(self, level: int, uniform: bool) -> None:
        j, k = self.name("j"), self.random.randrange(2, 5)
        self.line(f"unsigned {j}n = (bid + A[bid % {SIZE}u]) % {k}u;", f"{j}n = (bid + A[bid % {SIZE}] & M) % {k}")
        self.uniform_loops += 1
        self.block((f"for (unsigned {j} = 0; {j} < {j}n; ++{j})", f"for {j} in range({j}n)"), self.random.randrange(1, 4), level - 1, True)
        self.uniform_loops -= 1

    def drain(self, level: int, uniform: bool) -> None:
        """A loop that runs until a value is used up."""
        v, guard = self.variable(), self.name("g")
        self.line(f"unsigned {guard} = 0;", f"{guard} = 0")
        self.line(f"while ({v} > 3u && {guard} < 6u) {{", f"while {v} > 3 and {guard} < 6:")
        self.depth += 1
        self.line(f"{guard} += 1u; {v} >>= {guard};", f"{guard} += 1; {v} >>= {guard}")
        self.statements(self.random.randrange(0, 3), level - 1, False, True)
        self.depth -= 1
        self.c.append("  " * self.depth + "}")

    def switch(self, level: int, uniform: bool) -> None:
        """Cases, some of which fall through."""
        x, px = self.value(1)
        k, count = self.name("k"), self.random.randrange(2, 7)
        self.line(f"switch ({x} % {count + 1}u) {{", f"{k} = {px} % {count + 1}; {k}f = False")
        for case in range(count):
            self.line(f"case {case}:", f"if {k} == {case} or {k}f:")
            self.depth += 1
            self.statements(self.random.randrange(1, 3), level - 1, False)
            if self.random.random() < 0.7:
                self.line("break;", f"{k}f = False; {k} = -1")
            else:
                self.line(";", f"{k}f = True")
            self.depth -= 1
        self.c.append("  " * self.depth + "}")

    def leave_loop(self, level: int, uniform: bool) -> None:
        c, py = self.condition()
        word = self.random.choice(("break", "continue"))
        self.line(f"if ({c}) {word};", f"if {py}: {word}")

    def leave(self, level: int, uniform: bool) -> None:
        # not in a loop around a barrier: turns that were unrolled share one way out, which then seems to lie behind the barrier
        if self.random.random() < 0.7 or self.uniform_loops:
            return
        c, py = self.condition()
        self.returned = True
        # not a store: the compiler would share it with the one at the end, and a return that doesn't show in the PTX looks like a skipped barrier
        self.line(f"if ({c}) {{ atomicAdd(&C[t % {COUNTERS}u], a); return; }}", f"if {py}: C[t % {COUNTERS}] = C[t % {COUNTERS}] + a & M; return")

    # ------------------------------------------------------------------ where all threads of a block stand

    def barrier(self) -> None:
        self.line("__syncthreads();", "yield ('barrier', 0)")

    def exchange(self, level: int, uniform: bool) -> None:
        """Shared memory, written and then read in another order."""
        x, px = self.value(1)
        v, k = self.variable(), self.random.randrange(1, 40)
        if self.random.random() < 0.5:
            self.line(f"s[t] = {x};", f"s[t] = {px}")
        else:
            c, py = self.condition()
            self.line(f"if ({c}) s[t] = {x};", f"if {py}: s[t] = {px}")
        self.barrier()
        self.random.choice(
            (
                lambda: self.line(f"{v} ^= s[(t + {k}u) % T];", f"{v} ^= s[(t + {k}) % T]"),
                lambda: self.line(f"{v} += s[T - 1u - t];", f"{v} = {v} + s[T - 1 - t] & M"),
                lambda: self.line(f"{v} = s[{x} % T];", f"{v} = s[{px} % T]"),
                lambda: self.line(f"if (s[{k}u % T] & 1u) {v} += s[0];", f"if s[{k} % T] & 1: {v} = {v} + s[0] & M"),
            )
        )()
        self.barrier()

    def shared_atomics(self, level: int, uniform: bool) -> None:
        (x, px), (y, py) = self.value(1), self.value(1)
        c, pc = self.condition()
        self.line(f"if ({c}) atomicAdd(&hist[{x} & 7u], {y});", f"if {pc}: k = {px} & 7; hist[k] = hist[k] + {py} & M")
        self.barrier()
        self.line("a += hist[c & 7u];", "a = a + hist[c & 7] & M")
        self.barrier()

    def count(self, level: int, uniform: bool) -> None:
        c, py = self.condition()
        kind = self.random.choice(("count", "or", "and"))
        v = self.variable()
        self.line(f"{v} = (unsigned)(__syncthreads_{kind}({c}) {'!= 0' if kind != 'count' else ''});", f"{v} = yield ('{kind}', bool({py}))")

    def shuffle(self, level: int, uniform: bool) -> None:
        (x, px), v = self.value(1), self.variable()
        k = self.random.randrange(1, 32)
        full = "0xffffffffu"
        self.random.choice(
            (
                lambda: self.line(f"{v} = __shfl_sync({full}, {x}, d % width);", f"{v} = yield ('shuffle', ({px}, d % width))"),
                lambda: self.line(f"{v} = __shfl_sync({full}, {x}, {k}u % width);", f"{v} = yield ('shuffle', ({px}, {k} % width))"),
                lambda: self.line(f"b = __shfl_sync({full}, a, (lane ^ {k}u) % width);", f"b = yield ('shuffle', (a, (lane ^ {k}) % width))"),
            )
        )()

    def among_some(self, level: int, uniform: bool) -> None:
        """Lanes that a vote has chosen, on a branch of their own."""
        (c, py), (x, px), v, m = self.condition(), self.value(1), self.variable(), self.name("m")
        self.line(f"bool {m}c = {c}; unsigned {m} = __ballot_sync(0xffffffffu, {m}c);", f"{m}c = bool({py}); {m} = yield ('ballot', {m}c)")
        call, kind = self.random.choice(
            (
                (f"__shfl_sync({m}, {x}, __ffs({m}) - 1)", "first"),
                (f"__reduce_add_sync({m}, {x})", "sum"),
                (f"__match_any_sync({m}, {x} & 3u)", "alike"),
            )
        )
        self.line(f"if ({m}c) {v} = {call};", f"{m} = yield ('{kind}', (int({px}), {m}c)); {v} = {m} if {m}c else {v}")

    def in_function(self, level: int, uniform: bool) -> None:
        x, px = self.value(1)
        self.line(f"b = neighbour({x}, width);", f"k = {px}; b = k + (yield ('shuffle', (k, (lane + 1) % width))) & M")

    def wide(self, level: int, uniform: bool) -> None:
        """64-bit numbers and doubles."""
        (x, px), (y, py) = self.value(1), self.value(1)
        self.random.choice(
            (
                lambda: self.line(f"e = e * {x} + {y};", f"e = (e * {px} + {py}) & W"),
                lambda: self.line(f"e = (e >> ({x} & 63u)) ^ ((unsigned long long){y} << 20);", f"e = (e >> ({px} & 63)) ^ ({py} << 20)"),
                lambda: self.line(f"a ^= (unsigned)(e / ({x} | 1u));", f"a ^= (e // ({px} | 1)) & M"),
                lambda: self.line(f"f = f * 0.5 + (double){x};", f"f = f * 0.5 + {px}"),
                lambda: self.line(f"if (f > (double){x}) d ^= (unsigned)(f / 3.0);", f"d ^= int(f / 3.0) if f > {px} else 0"),
            )
        )()

    def narrow_exchange(self, level: int, uniform: bool) -> None:
        """Shared memory in pieces of 1, 2, 8 and 16 bytes."""
        (x, px), v = self.value(1), self.variable()
        type, bits, array = self.random.choice((("unsigned char", 8, "s1"), ("unsigned short", 16, "s2"), ("unsigned long long", 64, "s8")))
        k = self.random.randrange(1, 33)
        value, pvalue = (f"((unsigned long long){x} << 32 | a)", f"({px} << 32 | a)") if bits == 64 else (x, px)
        back, pback = f"{array}[(t * {k}u) % T]", f"{array}[t * {k} % T]"
        if bits == 64:
            back, pback = f"(unsigned)({back} >> 16)", f"({pback} >> 16 & M)"
        self.line(f"{array}[t] = ({type}){value};", f"{array}[t] = {pvalue} & {(1 << bits) - 1}")
        self.barrier()
        self.line(f"{v} ^= {back};", f"{v} ^= {pback}")
        self.barrier()

    def vote(self, level: int, uniform: bool) -> None:
        c, py = self.condition()
        kind = self.random.choice(("ballot", "any", "all"))
        v = self.variable()
        self.line(f"{v} ^= (unsigned)__{kind}_sync(0xffffffffu, {c});", f"{v} ^= yield ('{kind}', bool({py}))")


@dataclass
class RandomKernel:
    source: str
    python: str

    def threads(self):
        scope = dict(ENVIRONMENT)
        exec(compile(PYTHON_HEADER + self.python, "<oracle>", "exec"), scope)
        return scope["thread"]

    def expected(self, grid: int, block: int, A: list[int]) -> dict[str, list[int]]:
        """What every array holds afterwards."""
        thread = self.threads()
        lanes = grid * block * OUT
        arrays = {"O": [0] * lanes, "B": [0] * lanes, "H": [0] * lanes, "C": [0] * (3 * COUNTERS)}
        with np.errstate(all="ignore"):
            for bid in range(grid):
                s, hist = [0] * block, [0] * 8
                narrow = {name: [0] * block for name in ("s1", "s2", "s8")} if "s8=()" in self.python else {}
                run_block([thread(t, bid, block, A, s, hist, **arrays, **narrow) for t in range(block)])
        return arrays


def run_block(threads: list) -> None:
    """All threads of a block from one meeting point to the next."""
    alive: dict[int, object] = dict(enumerate(threads))
    answers: dict[int, object] = {}
    while alive:
        asked: dict[int, tuple] = {}
        for t in list(alive):
            try:
                asked[t] = alive[t].send(answers.get(t))  # type: ignore[attr-defined]
            except StopIteration:
                del alive[t]
        answers = {}
        if not asked:
            return
        kinds = {kind for kind, _ in asked.values()}
        assert len(kinds) == 1, "the generator let threads meet at different places"
        kind = kinds.pop()
        if kind in ("barrier", "count", "or", "and"):
            values = [v for _, v in asked.values()]
            one = {"barrier": 0, "count": sum(values), "or": int(any(values)), "and": int(all(values))}[kind]
            answers = dict.fromkeys(asked, one)
            continue
        for t, (_, v) in asked.items():
            warp = {u: x for u, (_, x) in asked.items() if u >> 5 == t >> 5}
            if kind in ("first", "sum", "alike"):
                chosen = {u: x for u, (x, yes) in sorted(warp.items()) if yes}
                if t in chosen:
                    alike = sum(1 << (u & 31) for u, x in chosen.items() if x & 3 == chosen[t] & 3)
                    answers[t] = {"first": next(iter(chosen.values())), "sum": sum(chosen.values()) & M, "alike": alike}[kind]
            elif kind == "shuffle":
                answers[t] = warp[(t & ~31) + v[1]][0]
            else:
                answers[t] = {"ballot": sum(1 << (u & 31) for u, x in warp.items() if x), "any": int(any(warp.values())), "all": int(all(warp.values()))}[kind]


def generate(seed: int) -> RandomKernel:
    w = Writer(random.Random(seed))
    for c, py in (
        ("unsigned a = A[t % 64u], b = bid * 7u + t, c = A[(bid + t * 3u) % 64u];", "a = A[t % 64]; b = bid * 7 + t; c = A[(bid + t * 3) % 64]"),
        ("unsigned d = t * 2654435761u;", "d = t * 2654435761 & M"),
        ("unsigned long long e = (unsigned long long)a << 31 | b; double f = (double)(c & 1023u);", "e = a << 31 | b; f = float(c & 1023)"),
        ("unsigned local[4] = {a, 1u, b, 3u};", "local = [a, 1, b, 3]"),
        ("s1[t] = 0; s2[t] = 0; s8[t] = 0; s[t] = a ^ d; if (t < 8u) hist[t] = 0u; for (unsigned h = t + T; h < 8u; h += T) hist[h] = 0u;", "s[t] = a ^ d"),
    ):
        w.line(c, py)
    w.barrier()
    w.statements(w.random.randrange(3, 12), 3, True)
    w.line(f"O[i * {OUT}u + 1u] = a ^ b ^ (unsigned)e;", f"O[i * {OUT} + 1] = a ^ b ^ e & M")
    w.line(f"O[i * {OUT}u + 2u] = c + d + (unsigned)(f * 0.25);", f"O[i * {OUT} + 2] = c + d + int(f * 0.25) & M")
    c = "\n".join(w.c)
    source = f"""{HEADER}
extern "C" __global__ void k(const unsigned* A, unsigned* O, unsigned char* B, unsigned short* H, unsigned* C, unsigned n) {{
  __shared__ unsigned s[1024];
  __shared__ unsigned hist[8];
  __shared__ unsigned char s1[1024];
  __shared__ unsigned short s2[1024];
  __shared__ unsigned long long s8[1024];
  const unsigned T = blockDim.x * blockDim.y * blockDim.z, t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned bid = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), i = bid * T + t, lane = t & 31u, width = min(32u, T - (t & ~31u));
{c}
}}
"""
    py = "\n".join(w.py)
    python = f"""
def thread(t, bid, T, A, s, hist, O, B, H, C, s1=(), s2=(), s8=()):
  n = {SIZE}; i = bid * T + t; lane = t & 31; width = min(32, T - (t & ~31))
{py}
  yield from ()
"""
    return RandomKernel(source, python)
