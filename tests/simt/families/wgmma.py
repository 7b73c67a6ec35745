"""wgmma in every type, layout and width: matrices packed as PTX ISA 9.7.15.5.1 draws them, by a formula for each element that stands here alone.

One kernel a case: it copies an image of shared memory from global memory, multiplies in one or two steps along K, and stores the accumulators as they
lie in the registers. Whole numbers make the sums exact, so that those cases are equal bit for bit; random ones are within `bound`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .case import Case, Tolerance
from .rounding import from_bfloat16, to_bfloat16

DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}  # k of one instruction: 32 bytes
SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}  # bytes → bits 62 and 63
LINE = 32  # bytes of a row along K that one instruction takes


@dataclass(frozen=True)
class Layout:
    """A matrix of MN rows by `steps` instructions along K: an image of bytes, and how a descriptor finds it."""

    mn: int
    steps: int
    swizzle: int
    major: str  # "k" or "mn"

    @property
    def size(self) -> int:
        if self.major == "mn":
            span = self.swizzle or 16
            return -(-self.mn * 2 // span) * span * 16 * self.steps
        return self.mn * (self.swizzle or LINE * self.steps)

    @property
    def leading(self) -> int:
        if self.major == "mn":
            return self.panel if self.swizzle else self.mn * 16
        return self.mn * 16  # no swizzle: columns of core matrices one after the other

    @property
    def stride(self) -> int:
        return 8 * (self.swizzle or 16)

    @property
    def panel(self) -> int:
        """Bytes of `swizzle` contiguous bytes along MN, for all k."""
        return self.swizzle * 16 * self.steps

    @property
    def step(self) -> int:
        """Bytes from one instruction's matrix to the next one's along K."""
        if self.major == "k":
            return LINE if self.swizzle else 2 * self.leading
        return 16 * self.swizzle if self.swizzle else 2 * self.leading

    def place(self, mn: np.ndarray, byte: np.ndarray) -> np.ndarray:
        """Where byte `byte` of row `mn` lies (K-major); MN-major: byte `mn` of line `byte` (= k)."""
        if not self.swizzle:
            if self.major == "k":
                return mn // 8 * self.stride + mn % 8 * 16 + byte // 16 * self.leading + byte % 16
            return mn // 16 * self.stride + mn % 16 + byte // 8 * self.leading + byte % 8 * 16
        if self.major == "k":
            at = mn * self.swizzle + byte
        else:
            at = mn // self.swizzle * self.panel + byte * self.swizzle + mn % self.swizzle
        rows = self.swizzle // 16 - 1
        return at ^ (at >> 7 & rows) << 4

    def image(self, matrix: np.ndarray) -> np.ndarray:
        """The bytes of `matrix`, (mn, k) of its elements' bits."""
        out = np.full(self.size, 0xA5, np.uint8)
        lines = np.ascontiguousarray(matrix.T if self.major == "mn" else matrix).view(np.uint8)
        line, byte = np.indices(lines.shape)
        out[self.place(byte, line) if self.major == "mn" else self.place(line, byte)] = lines
        return out


def draw(rng, type: str, shape, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """(bits, values) of random elements."""
    if type == "b1":
        bits = rng.integers(0, 2, shape).astype(np.uint8)
        return np.packbits(bits, axis=-1, bitorder="little"), bits.astype(np.float64)
    if type in ("s8", "u8"):
        values = rng.integers(-128, 128, shape) if type == "s8" else rng.integers(0, 256, shape)
        return values.astype(np.int8 if type == "s8" else np.uint8).view(np.uint8), values.astype(np.float64)
    x = rng.integers(-4, 5, shape).astype(np.float32) if whole else rng.standard_normal(shape).astype(np.float32)
    if type == "f16":
        half = x.astype(np.float16)
        return half.view(np.uint16), half.astype(np.float64)
    if type == "bf16":
        bits = to_bfloat16(x.reshape(-1)).reshape(shape)
        return bits, from_bfloat16(bits).astype(np.float64)
    if type == "tf32":
        kept = x.view(np.uint32) & np.uint32(0xFFFFE000)
        return kept, kept.view(np.float32).astype(np.float64)
    wide = x.astype(np.float16).view(np.uint16)
    if type == "e5m2":
        bits = (wide >> 8).astype(np.uint8)
        return bits, (bits.astype(np.uint16) << 8).view(np.float16).astype(np.float64)
    table = e4m3_values()
    bits = np.abs(x[..., None].clip(-400, 400) - table[:127]).argmin(axis=-1) if not (x < 0).any() else nearest(x, table)
    return bits.astype(np.uint8), table[bits]


def nearest(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    size = np.abs(np.abs(x)[..., None] - table[:127]).argmin(axis=-1)
    return size + 128 * (x < 0)


def e4m3_values() -> np.ndarray:
    """The value of every e4m3 pattern: 4 exponent bits, bias 7, no infinities."""
    code = np.arange(256)
    exponent, fraction = code >> 3 & 15, code & 7
    size = np.where(exponent > 0, 2.0 ** (exponent - 7.0) * (1 + fraction / 8), 2.0**-6 * fraction / 8)
    size[code & 127 == 127] = np.nan
    return np.where(code > 127, -size, size)


def bound(type: str, terms: float, k: int, halves: int) -> float:
    """How far a sum of products may be off. `terms`: the largest sum of |a| |b| and |d|.

    Tensor cores add in float32 in an order of their own, and cut what falls below the last bit of the largest term: one such step a product and one
    for the addend, each at most 2^-22 of the sum. With 8-bit floats Hopper keeps about 14 bits of the sum inside an instruction: 2^-12.
    `halves`: instructions whose result is rounded to float16, by 2^-11 of it at most.
    """
    return terms * ((2.0**-12 if type in ("e4m3", "e5m2") else (k + 1) * 2.0**-22) + halves * 2.0**-11)


def wgmma(name, n, a="f16", b="", d="f32", a_swizzle=128, b_swizzle=128, a_major="k", b_major="k", registers=False, steps=2, whole=True, start=1,
          signs=(1, 1), saturate=False, groups=1):  # fmt: skip
    """`start`: whether D counts in the first step. `groups`: warpgroups, each with an A of its own; B is shared."""
    b = b or a
    k = DEPTH[a]
    steps = min(steps, *(s // LINE for s, major in ((a_swizzle, a_major), (b_swizzle, b_major)) if s and major == "k"), 2)
    A, B = Layout(64, steps, a_swizzle, a_major), Layout(n, steps, b_swizzle, b_major)
    halves = d == "f16"
    count = n // 4 if halves else n // 2
    entry = name
    round_up = lambda size: -(-size // 1024) * 1024  # noqa: E731
    b_at = groups * round_up(A.size)
    total = b_at + round_up(B.size)
    letter, ctype = ("f", "float") if d == "f32" else ("r", "unsigned")
    constant = lambda x: f"{(x.leading >> 4) << 16 | (x.stride >> 4) << 32 | SWIZZLES[x.swizzle] << 62}ull"  # noqa: E731
    floats = a not in ("s8", "u8", "b1")
    numbers = ", ".join(f"%{j}" for j in range(count))
    operand = f"{{%{count}, %{count + 1}, %{count + 2}, %{count + 3}}}" if registers else f"%{count}"
    after = count + (4 if registers else 1)
    tail = ""
    if floats:
        tail = f", {signs[0]}, {signs[1]}"
        if k == 16:
            tail += (f", {int(a_major == 'mn')}" if not registers else "") + f", {int(b_major == 'mn')}"
    kind = "s32.b1.b1.and.popc" if a == "b1" else f"{'satfinite.' if saturate else ''}{d}.{a}.{b}"
    statement = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{kind} {{{numbers}}}, {operand}, %{after}, p{tail};"
    given = ", ".join(f'"r"(w[4 * step + {r}])' for r in range(4)) if registers else f'"l"(da + step * {A.step >> 4})'
    result = "unsigned" if whole or not floats else "__half" if halves else "float"
    count_words = 4 * steps
    fetch = f"""unsigned w[{count_words}];
    for (int j = 0; j < {count_words}; ++j) {{ w[j] = fragments[threadIdx.x * {count_words} + j]; asm volatile("" : "+r"(w[j]) :: "memory"); }}"""
    source = f"""{"#include <cuda_fp16.h>" if result == "__half" else ""}
extern "C" __global__ void __launch_bounds__({128 * groups}) {entry}(const uint4* image, const unsigned* fragments, const unsigned* C, {result}* D) {{
    extern __shared__ uint4 memory[];
    unsigned at = ((unsigned)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024, end = at + {total};
    for (unsigned i = at + threadIdx.x * 16; i < end; i += {128 * groups} * 16) {{
        uint4 x = image[(i - at) / 16];
        asm volatile("st.shared.v4.u32 [%0], {{%1, %2, %3, %4}};" ::"r"(i), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
    }}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned group = threadIdx.x / 128;
    unsigned long long da = (at + group * {round_up(A.size)} & 0x3ffff) >> 4 | {constant(A)};
    unsigned long long db = (at + {b_at} & 0x3ffff) >> 4 | {constant(B)};
    {ctype} d[{count}];
    for (int j = 0; j < {count}; ++j) d[j] = {"__uint_as_float" if letter == "f" else ""}(C[threadIdx.x * {count} + j]);
    {fetch if registers else ""}
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < {steps}; ++step) {{
        asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{after + 1}, 0; {statement} }}"
            : {", ".join(f'"+{letter}"(d[{j}])' for j in range(count))}
            : {given}, "l"(db + step * {B.step >> 4}), "r"((int)(step > 0 || {start})));
    }}
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int j = 0; j < {count}; ++j) {{
        asm volatile("" : "+{letter}"(d[j]) :: "memory");
        reinterpret_cast<unsigned*>(D)[threadIdx.x * {count} + j] = {"__float_as_uint" if letter == "f" else ""}(d[j]);
    }}
}}"""
    seed = sum(name.encode())

    def data():
        rng = np.random.default_rng(seed)
        parts = [draw(rng, a, (64, k * steps), whole) for _ in range(groups)]
        right = draw(rng, b, (n, k * steps), whole)
        shape = (groups, 64, n)
        if d == "s32":
            addend = rng.integers(-(1 << 31), 1 << 31, shape) if saturate else rng.integers(-1000, 1000, shape)
        else:
            addend = rng.integers(-8, 9, shape).astype(np.float32) if whole else rng.standard_normal(shape).astype(np.float32)
        return parts, right, addend.astype({"s32": np.int32, "f32": np.float32, "f16": np.float16}[d])

    def args():
        parts, right, addend = data()
        image = np.zeros(total, np.uint8)
        for group, (bits, _) in enumerate(parts):
            image[group * round_up(A.size) :][: A.size] = A.image(bits)
        image[b_at:][: B.size] = B.image(right[0])
        fragments = np.concatenate([rows_of_lanes(np.ascontiguousarray(bits).view(np.uint32), steps) for bits, _ in parts])
        return [image.view(np.uint32), fragments, dealt(addend), np.zeros((128 * groups, 4 * count // dtype.itemsize), dtype)]

    def expect(*_):
        parts, right, addend = data()
        out = []
        for (_, left), add in zip(parts, addend, strict=True):
            product = left @ right[1].T * signs[0] * signs[1] + (add.astype(np.float64) if start else 0)
            if saturate:
                product = product.clip(-(2**31), 2**31 - 1)
            out.append(product.astype(add.dtype))
        return [dealt(np.stack(out)).view(dtype)]

    dtype = np.dtype({"unsigned": np.uint32, "__half": np.float16, "float": np.float32}[result])
    tolerance = Tolerance()
    if result != "unsigned":
        parts, right, addend = data()
        terms = max(float((np.abs(left) @ np.abs(right[1]).T + np.abs(add)).max()) for (_, left), add in zip(parts, addend.astype(np.float64), strict=True))
        tolerance = Tolerance(absolute=bound(a, terms, k * steps, steps if halves else 0))
    return Case(
        name=f"wgmma.{name}", source=source, entry=entry, args=args, outputs=(3,), expect=expect, block=128 * groups, shared_bytes=total + 1024,
        tolerances=(tolerance,),
    )  # fmt: skip


def rows_of_lanes(words: np.ndarray, steps: int) -> np.ndarray:
    """A (64 rows of 8 words a step) as fragments, (128 threads, steps, 4 registers): row lane/4 (+ 8), word lane%4 (+ 4)."""
    thread = np.arange(128)
    row, word = thread // 32 * 16 + thread % 32 // 4, thread % 4
    out = np.empty((128, steps, 4), np.uint32)
    for step in range(steps):
        for r in range(4):
            out[:, step, r] = words[row + r % 2 * 8, step * 8 + word + r // 2 * 4]
    return out


def dealt(matrices: np.ndarray) -> np.ndarray:
    """(groups, 64, n) as the accumulators' words, (128 · groups, registers): pairs of columns 8 j + 2 (lane%4), rows lane/4 and + 8 in turn."""
    groups, _, n = matrices.shape
    thread = np.arange(128)
    row, col = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
    out = np.empty((groups, 128, n // 2), matrices.dtype)
    for e in range(n // 2):
        out[:, :, e] = matrices[:, row + e // 2 % 2 * 8, col + e // 4 * 8 + e % 2]
    return np.ascontiguousarray(out).view(np.uint32).reshape(groups * 128, -1)


# ------------------------------------------------------------------------------------------------ the table

WIDTHS = (8, 24, 64, 96, 128, 200, 256)
CASES: list[Case] = []
for _type in ("f16", "bf16"):
    for _k, _swizzle in enumerate(SWIZZLES):
        _n = WIDTHS[(2 * _k + (_type == "bf16")) % len(WIDTHS)]
        CASES.append(wgmma(f"wgmma_{_type}_n{_n}_s{_swizzle}", _n, _type, a_swizzle=_swizzle, b_swizzle=_swizzle, whole=_type == "f16"))
        CASES.append(wgmma(f"wgmma_{_type}_mn_n64_s{_swizzle}", 64, _type, a_swizzle=_swizzle, b_swizzle=_swizzle, a_major="mn", b_major="mn"))
        CASES.append(wgmma(f"wgmma_{_type}_b_mn_n{_n}_s{_swizzle}", _n, _type, b_swizzle=_swizzle, b_major="mn", registers=True, whole=_type == "bf16"))
CASES += [
    wgmma("wgmma_f16_mn_n256", 256, a_major="mn", b_major="mn", whole=False),
    wgmma("wgmma_f16_a_mn_b_k", 40, a_major="mn", a_swizzle=64, b_swizzle=32),
    wgmma("wgmma_f16_mixed_layouts", 32, a_swizzle=0, b_swizzle=64, b_major="mn"),
    wgmma("wgmma_f16_two_groups", 128, groups=2),
    wgmma("wgmma_f16_two_groups_registers", 72, groups=2, registers=True, whole=False),
    wgmma("wgmma_f16_overwrites", 16, start=0),
    wgmma("wgmma_f16_negated", 48, signs=(-1, 1)),
    wgmma("wgmma_bf16_both_negated", 48, "bf16", signs=(-1, -1), start=0),
    wgmma("wgmma_f16_half_result", 64, d="f16"),
    wgmma("wgmma_f16_half_result_random", 16, d="f16", whole=False, a_swizzle=32),
    wgmma("wgmma_f16_half_result_registers", 128, d="f16", registers=True, start=0),
]
for _k, _swizzle in enumerate(SWIZZLES):
    _n = WIDTHS[_k]
    CASES.append(wgmma(f"wgmma_tf32_n{_n}_s{_swizzle}", _n, "tf32", a_swizzle=_swizzle, b_swizzle=_swizzle, whole=_k % 2 == 0))
    CASES.append(wgmma(f"wgmma_e4m3_n{_n}_s{_swizzle}", _n, "e4m3", a_swizzle=_swizzle, b_swizzle=_swizzle, whole=_k % 2 == 1))
    CASES.append(wgmma(f"wgmma_s8_n{_n}_s{_swizzle}", _n, "s8", d="s32", a_swizzle=_swizzle, b_swizzle=_swizzle))
    CASES.append(wgmma(f"wgmma_b1_n{_n}_s{_swizzle}", _n, "b1", d="s32", a_swizzle=_swizzle, b_swizzle=_swizzle))
CASES += [
    wgmma("wgmma_tf32_registers", 64, "tf32", registers=True, whole=False),
    wgmma("wgmma_e5m2", 64, "e5m2", whole=False),
    wgmma("wgmma_e4m3_e5m2", 128, "e4m3", "e5m2", registers=True),
    wgmma("wgmma_e5m2_e4m3_half", 32, "e5m2", "e4m3", d="f16"),
    wgmma("wgmma_u8_s8", 64, "u8", "s8", d="s32", registers=True),
    wgmma("wgmma_s8_u8", 96, "s8", "u8", d="s32", a_swizzle=0),
    wgmma("wgmma_u8_saturates", 32, "u8", "u8", d="s32", saturate=True),
    wgmma("wgmma_b1_registers", 128, "b1", d="s32", registers=True),
]
