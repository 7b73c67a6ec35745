"""mma.sync and wmma.h beyond tensor.py: elements of 4 bits and of one, m8n8k4, and mma.sp. Fragments are dealt out by formulas that stand here alone.

One warp; each lane loads its registers as they are, multiplies and stores. Numbers are small and whole, so that every sum is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .case import Case

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "s4": 4, "u4": 4, "b1": 1, "f32": 32, "s32": 32}
Place = Callable[[int, int], tuple[int, ...]]  # lane, element → where in the matrix


def run_of(type: str) -> int:
    """Elements of a register."""
    return 32 // BITS[type]


def place_a(m: int, type: str) -> Place:
    """9.7.14.5, "Matrix Fragments for …": rows g and g + 8 take turns, register by register; then further along k."""
    run, bands = run_of(type), m // 8
    return lambda lane, i: (lane // 4 + 8 * (i // run % bands), run * (lane % 4) + i % run + 4 * run * (i // run // bands))


def place_b(type: str) -> Place:
    run = run_of(type)
    return lambda lane, i: (run * (lane % 4) + i % run + 4 * run * (i // run), lane // 4)


def place_c(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2


def place_quad(use: str, layout: str, type: str = "f16") -> Place:
    """9.7.14.5.1: (product, row, column)."""

    def place(lane: int, i: int) -> tuple[int, int, int]:
        product, low, upper = lane // 4 % 4, lane % 4, 4 * (lane // 16)
        if use == "c" and type == "f32":
            return product, lane % 2 + i // 2 % 2 * 2 + upper, i // 4 * 4 + lane // 2 % 2 * 2 + i % 2
        if use == "c":
            return product, low + upper, i
        if (use, layout) in (("a", "col"), ("b", "row")):
            return (product, i + upper, low) if use == "a" else (product, low, i + upper)
        return (product, low + upper, i) if use == "a" else (product, i, low + upper)

    return place


def dealt(matrix: np.ndarray, place: Place, count: int) -> np.ndarray:
    """(32 lanes, `count` elements)."""
    return np.array([[matrix[place(lane, i)] for i in range(count)] for lane in range(32)])


def encoded(x: np.ndarray, type: str) -> np.ndarray:
    """Numbers, lane by lane, as the 32-bit words of the registers."""
    if type in ("f16", "f32", "s32"):
        return np.ascontiguousarray(x.astype({"f16": np.float16, "f32": np.float32, "s32": np.int32}[type])).view(np.uint32)
    if type == "tf32":
        return np.ascontiguousarray(x.astype(np.float32)).view(np.uint32)
    if type == "bf16":
        return np.ascontiguousarray((np.ascontiguousarray(x.astype(np.float32)).view(np.uint32) >> 16).astype(np.uint16)).view(np.uint32)
    if type == "e5m2":
        return np.ascontiguousarray((np.ascontiguousarray(x.astype(np.float16)).view(np.uint16) >> 8).astype(np.uint8)).view(np.uint32)
    if type == "e4m3":
        table = {0: 0, 1: 0x38, 2: 0x40, 3: 0x44, 4: 0x48}
        codes = np.vectorize(lambda v: table[abs(int(v))] | (0x80 if v < 0 else 0))(x)
        return np.ascontiguousarray(codes.astype(np.uint8)).view(np.uint32)
    bits = BITS[type]
    parts = (x.astype(np.int64) & (1 << bits) - 1).reshape(len(x), -1, 32 // bits)
    return (parts << np.arange(0, 32, bits)).sum(axis=2).astype(np.uint32)


LIMITS = {"s4": (-8, 8), "u4": (0, 16), "b1": (0, 2), "s8": (-128, 128), "u8": (0, 256), "s32": (-1000, 1000)}


def drawn(seed: int, type: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(*LIMITS.get(type, (-4, 5)), shape)


@dataclass(frozen=True)
class Operand:
    """A matrix dealt out: the type of its elements, and how many registers of it a lane has."""

    type: str
    registers: int
    place: Place

    @property
    def count(self) -> int:
        return self.registers * run_of(self.type)


def product(
    name: str, instruction: str, a: Operand, b: Operand, c: Operand, d: Operand, draw: Callable[[], list[np.ndarray]], exact: Callable, sparse=None
) -> Case:
    """`draw`: the matrices A, B, C as numbers (A as it is held); `exact(A, B, C)`: D. `sparse`: (metadata words of the lanes, selector)."""
    letters = {x: "f" if o.type == "f32" else "r" for x, o in (("c", c), ("d", d))}
    number = iter(range(99))
    lists = ["{" + ", ".join(f"%{next(number)}" for _ in range(o.registers)) + "}" for o in (d, a, b, c)]
    tail = f", %{next(number)}, {sparse[1]}" if sparse is not None else ""
    ins = [f'"{letters.get(x, "r")}"({x}[{j}])' for x, o in (("a", a), ("b", b), ("c", c)) for j in range(o.registers)]
    ins += ['"r"(M[lane])'] if sparse is not None else []
    held = {x: "float" if letter == "f" else "unsigned" for x, letter in letters.items()}
    entry = name.replace(".", "_")
    source = f"""
extern "C" __global__ void {entry}(const unsigned* A, const unsigned* B, const {held["c"]}* C, const unsigned* M, {held["d"]}* D) {{
    int lane = threadIdx.x;
    unsigned a[{a.registers}], b[{b.registers}];
    {held["c"]} c[{c.registers}];
    {held["d"]} d[{d.registers}];
    for (int j = 0; j < {a.registers}; ++j) a[j] = A[lane * {a.registers} + j];
    for (int j = 0; j < {b.registers}; ++j) b[j] = B[lane * {b.registers} + j];
    for (int j = 0; j < {c.registers}; ++j) c[j] = C[lane * {c.registers} + j];
    asm volatile("{instruction} {", ".join(lists)}{tail};"
                 : {", ".join(f'"={letters["d"]}"(d[{j}])' for j in range(d.registers))}
                 : {", ".join(ins)});
    for (int j = 0; j < {d.registers}; ++j) D[lane * {d.registers} + j] = d[j];
}}
"""

    def words(x: np.ndarray, o: Operand) -> np.ndarray:
        made = encoded(dealt(x, o.place, o.count), o.type)
        return made.view(np.float32) if o.type == "f32" else made

    def args() -> list:
        matrices = draw()
        metadata = sparse[0] if sparse is not None else np.zeros(32, np.uint32)
        return [*(words(x, o) for x, o in zip(matrices, (a, b, c), strict=True)), metadata, np.zeros((32, d.registers), words(matrices[2], d).dtype)]

    return Case(
        name=f"narrow.{name}", source=source, entry=entry, args=args, outputs=(4,), expect=lambda *_: [words(exact(*draw()), d)], block=32,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ 4 bits, one bit


def small(seed: int, shape: tuple[int, int, int], a: str, b: str, extra: str = "", operation: str = "") -> Case:
    m, n, k = shape
    out = Operand("s32", m * n // 32, place_c)
    base = 2**31 - 2000 if extra else 0

    def exact(x, y, z):
        if operation == "xor":
            total = (x[:, :, None] ^ y[None]).sum(axis=1) + z
        else:
            total = x @ y + z
        return total.clip(-(1 << 31), (1 << 31) - 1) if extra else total

    tail = f".{operation}.popc" if operation else ""
    name = f"m{m}n{n}k{k}_{a}_{b}{extra.replace('.', '_')}{'_' + operation if operation else ''}"
    return product(
        name, f"mma.sync.aligned.m{m}n{n}k{k}.row.col{extra}.s32.{a}.{b}.s32{tail}",
        Operand(a, m * k * BITS[a] // 1024, place_a(m, a)), Operand(b, k * n * BITS[b] // 1024, place_b(b)), out, out,
        lambda: [drawn(seed, a, m, k), drawn(seed + 1, b, k, n), base + drawn(seed + 2, "s32", m, n)], exact,
    )  # fmt: skip


CASES = [
    small(10 * number + len(extra), shape, a, b, extra)
    for number, (shape, a, b) in enumerate(
        (shape, a, b) for shape in ((8, 8, 32), (16, 8, 32), (16, 8, 64)) for a, b in (("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4"))
    )
    for extra in (("", ".satfinite") if a == b else ("",))
]
CASES += [small(300 + k, (m, 8, k), "b1", "b1", operation=operation) for m, k in ((8, 128), (16, 128), (16, 256)) for operation in ("xor", "and")]

# ------------------------------------------------------------------------------------------------ m8n8k4


def quads(seed: int, a_layout: str, b_layout: str, d: str, c: str) -> Case:
    count = {"f16": 4, "f32": 8}
    return product(
        f"m8n8k4_{a_layout}_{b_layout}_{d}_{c}", f"mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d}.f16.f16.{c}",
        Operand("f16", 2, place_quad("a", a_layout)), Operand("f16", 2, place_quad("b", b_layout)),
        Operand(c, count[c], place_quad("c", "", c)), Operand(d, count[d], place_quad("c", "", d)),
        lambda: [drawn(seed, "f16", 4, 8, 4), drawn(seed + 1, "f16", 4, 4, 8), drawn(seed + 2, c, 4, 8, 8)], lambda x, y, z: x @ y + z,
    )  # fmt: skip


CASES += [
    quads(400 + number, a, b, d, c)
    for number, (a, b, d, c) in enumerate(
        (a, b, d, c) for a in ("row", "col") for b in ("row", "col") for d, c in (("f16", "f16"), ("f32", "f32"), ("f32", "f16"))
    )
]

# ------------------------------------------------------------------------------------------------ mma.sp


def sparse(seed: int, shape: tuple[int, int, int], a: str, b: str, d: str, selector: int, ordered: bool) -> Case:
    """A keeps half of the elements of every chunk: 2 of 4, 1 of 2 of tf32, 4 of 8 in pairs of 4-bit ones."""
    m, n, k = shape
    rng = np.random.default_rng(seed)
    chunk = {32: 2, 16: 4, 8: 4, 4: 8}[BITS[a]]
    chunks = k // chunk
    pairs = [(0, 1), (2, 3)] if chunk == 2 else [(i, j) for i in range(4) for j in range(i + 1, 4)]
    which = np.array(pairs)[rng.integers(0, len(pairs), (m, chunks))]
    kept = drawn(seed + 1, a, m, k // 2)
    codes = which[..., 0] | which[..., 1] << 2
    metadata = rng.integers(0, 1 << 32, 32, dtype=np.uint64).astype(np.uint32)  # what other lanes hold is not read
    lanes = chunks // 4
    for group in range(8):
        for j in range(lanes):
            if BITS[a] >= 16:
                mine = np.concatenate([codes[group, 4 * j : 4 * j + 4], codes[group + 8, 4 * j : 4 * j + 4]])
            else:
                mine = codes[group + 8 * (j % 2), 8 * (j // 2) : 8 * (j // 2) + 8]
            metadata[4 * group + selector * lanes + j] = (mine.astype(np.uint64) << np.arange(0, 32, 4, dtype=np.uint64)).sum()

    def exact(x, y, z):
        whole = np.zeros((m, k), np.int64)
        for row in range(m):
            for number in range(chunks):
                first, second = which[row, number]
                if chunk == 2:
                    whole[row, 2 * number + first // 2] = x[row, number]
                    continue
                width = chunk // 4
                for half, quarter in enumerate((first, second)):
                    for e in range(width):
                        whole[row, number * chunk + quarter * width + e] = x[row, number * chunk // 2 + half * width + e]
        return whole @ y + z

    per = 2 if d == "f16" else 1
    out = Operand(d, m * n // 32 // per, place_c)
    name = f"sp_m{m}n{n}k{k}_{a}_{b}_{d}_{selector}"
    return product(
        name, f"mma.sp{'::ordered_metadata' if ordered else ''}.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{a}.{b}.{d}",
        Operand(a, m * k // 2 * BITS[a] // 1024, place_a(m, a)), Operand(b, k * n * BITS[b] // 1024, place_b(b)), out, out,
        lambda: [kept, drawn(seed + 2, b, k, n), drawn(seed + 3, d, m, n)], exact, (metadata, selector),
    )  # fmt: skip


_SPARSE = (
    *(((16, 8, 16), a, a, d, s) for a, d in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")) for s in range(4)),
    *(((16, 8, 32), a, a, d, s) for a, d in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")) for s in range(2)),
    *(((16, 8, 8), "tf32", "tf32", "f32", s) for s in range(4)),
    *(((16, 8, 16), "tf32", "tf32", "f32", s) for s in range(2)),
    *(((16, 8, 32), a, b, "s32", s) for a, b in (("s8", "s8"), ("u8", "s8")) for s in range(2)),
    *(((16, 8, 64), a, b, "s32", 0) for a, b in (("s8", "u8"), ("u8", "u8"))),
    *(((16, 8, 64), a, b, "s32", s) for a, b in (("s4", "s4"), ("u4", "s4")) for s in range(2)),
    *(((16, 8, 128), a, b, "s32", 0) for a, b in (("s4", "u4"), ("u4", "u4"))),
    *(((16, 8, 64), a, b, "f32", 0) for a, b in (("e4m3", "e4m3"), ("e5m2", "e4m3"))),
)
CASES += [sparse(500 + 10 * number, *kind, ordered=number % 2 == 1) for number, kind in enumerate(_SPARSE)]

# ------------------------------------------------------------------------------------------------ wmma.h


def tiles(seed: int, type: str, operation: str, shared: bool) -> Case:
    """A product of wmma.h's experimental types; A from global or from shared memory, the rows of which lie two tiles apart."""
    k = {"b1": 128}.get(type, 32)
    words = k * BITS[type] // 32  # of a row
    call = f"bmma_sync(c, a, b, c, bmmaBitOp{operation.upper()})" if operation else "mma_sync(c, a, b, c)"
    entry = f"wmma_{type}{operation}{'_shared' if shared else ''}"
    copied = f"__shared__ __align__(128) unsigned S[{16 * words}]; for (int j = threadIdx.x; j < {16 * words}; j += 32) S[j] = A[j]; __syncwarp();"
    source = f"""
#include <mma.h>
using namespace nvcuda::wmma;
using experimental::bmmaBitOpXOR; using experimental::bmmaBitOpAND;
extern "C" __global__ void {entry}(const unsigned* A, const unsigned* B, const int* C, int* D) {{
    fragment<matrix_a, 8, 8, {k}, experimental::precision::{type}, row_major> a;
    fragment<matrix_b, 8, 8, {k}, experimental::precision::{type}, col_major> b;
    fragment<accumulator, 8, 8, {k}, int> c;
    {copied if shared else "const unsigned* S = A;"}
    load_matrix_sync(a, S, {2 * k});
    load_matrix_sync(b, B, {k});
    load_matrix_sync(c, C, 8, mem_row_major);
    {call};
    store_matrix_sync(D, c, 8, mem_row_major);
}}
"""

    def draw() -> list[np.ndarray]:
        return [drawn(seed, type, 8, k), drawn(seed + 1, type, 8, k), drawn(seed + 2, "s32", 8, 8)]

    def args() -> list:
        a, b, c = draw()
        apart = np.concatenate([encoded(a, type), encoded(drawn(seed + 3, type, 8, k), type)], axis=1)
        return [apart, encoded(b, type), c.astype(np.int32), np.zeros((8, 8), np.int32)]

    def expect(*_) -> list[np.ndarray]:
        a, b, c = draw()
        pairs = {"": a @ b.T, "xor": (a[:, None] ^ b[None]).sum(axis=2), "and": (a[:, None] & b[None]).sum(axis=2)}
        return [(pairs[operation] + c).astype(np.int32)]

    return Case(name=f"narrow.{entry}", source=source, entry=entry, args=args, outputs=(3,), expect=expect, block=32)


CASES += [
    tiles(900 + 10 * number + shared, type, operation, shared)
    for number, (type, operation) in enumerate((("s4", ""), ("u4", ""), ("b1", "xor"), ("b1", "and")))
    for shared in (False, True)
]
