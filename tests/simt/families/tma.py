"""Tensor copies: boxes of arrays of 1 to 5 axes to shared memory and back, in every swizzle, inside and outside of the array (PTX ISA 9.7.9.27).

A load dumps all of the shared memory around its box, so that each byte's place shows. One launch copies four boxes of four arrays, drawn at random.
A copy that never reports its bytes is given up after a while: the first word of the output then says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .case import Case
from .rounding import from_bfloat16, to_bfloat16

SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
ROOM = 24 * 1024  # bytes of shared memory for a box
UNTOUCHED = 0xA5A5A5A5
TRIES = 1 << 22
MAP = "blockIdx.x == 0 ? &m0 : blockIdx.x == 1 ? &m1 : blockIdx.x == 2 ? &m2 : &m3"

HEAD = f"""
struct __align__(64) TensorMap {{ char bytes[128]; }};
__device__ unsigned address(const void* p) {{ return static_cast<unsigned>(__cvta_generic_to_shared(p)); }}
__device__ bool done(unsigned bar, unsigned parity) {{
    unsigned ok;
    asm volatile("{{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }}"
                 : "=r"(ok) : "r"(bar), "r"(parity) : "memory");
    return ok;
}}
__device__ bool wait(unsigned bar, unsigned parity) {{
    for (int i = 0; i < {TRIES}; ++i) if (done(bar, parity)) return true;
    return false;
}}
"""


@dataclass(frozen=True)
class Box:
    """A box of a random array. `coordinates` as in PTX, the contiguous axis first; `offset` where it lies in shared memory."""

    array: np.ndarray = field(repr=False)
    box: tuple[int, ...]
    swizzle: str
    steps: tuple[int, ...]
    fill: str
    coordinates: tuple[int, ...]
    offset: int
    bfloat16: bool = False

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(-(-n // s) for n, s in zip(self.box, self.steps, strict=True))

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.counts)) * self.array.itemsize

    def map(self, array: np.ndarray | None = None):
        """The tensor map as the simulator makes it; the run on a GPU makes the driver's of it."""
        from lanewise import simt

        extra = {"dtype": "bfloat16"} if self.bfloat16 else {}
        return simt.tensor_map(self.array if array is None else array, self.box, self.swizzle, element_strides=self.steps, fill=self.fill, **extra)

    def places(self) -> np.ndarray:
        """The byte address, from the start of shared memory's window, of every byte of the box: shape counts + (itemsize,)."""
        inner = self.counts[-1] * self.array.itemsize
        pitch = SPANS[self.swizzle] or inner
        rows = int(np.prod(self.counts[:-1]))
        at = self.offset + np.arange(rows)[:, None] * pitch + np.arange(inner)
        line, piece, byte = at // 128, at // 16 % 8, at % 16
        piece ^= line % 8 & {0: 0, 32: 1, 64: 3, 128: 7}[SPANS[self.swizzle]]
        return (line * 128 + piece * 16 + byte).reshape(*self.counts, self.array.itemsize)

    def elements(self) -> list[np.ndarray]:
        """Along each axis of the array, the index of every element of the box; some lie outside."""
        starts = tuple(reversed(self.coordinates))
        return [start + step * np.arange(n) for start, step, n in zip(starts, self.steps, self.counts, strict=True)]

    def inside(self) -> tuple[np.ndarray, ...]:
        """For every element of the box its index in the array, cut to the array; and whether it lies inside."""
        grids = np.meshgrid(*self.elements(), indexing="ij")
        ok = np.logical_and.reduce([(g >= 0) & (g < n) for g, n in zip(grids, self.array.shape, strict=True)])
        return (*(np.clip(g, 0, n - 1) for g, n in zip(grids, self.array.shape, strict=True)), ok)

    def image(self) -> np.ndarray:
        """Shared memory after a load, as 32-bit words."""
        *index, ok = self.inside()
        values = self.array[tuple(index)].copy()
        values[~ok] = np.nan if self.fill == "nan" else 0
        if self.fill == "nan":
            kind = np.dtype(f"u{self.array.itemsize}")
            values.view(kind)[~ok] = {2: 0x7FF7, 4: 0x7FF77FF7, 8: 0x7FF77FF77FF77FF7}[self.array.itemsize]
        memory = np.full(ROOM // 4, UNTOUCHED, np.uint32)
        memory.view(np.uint8)[self.places().reshape(-1)] = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        return memory


ANY = ("u1", "u2", "i4", "f2", "f4", "f8", "i8")


def drawn(rng: np.random.Generator, rank: int, swizzle: str, dtypes: tuple = ANY, way: str = "") -> Box:
    """A random array and a box of it. `way`: "stepped" (a step along the outer axes), "filled" (NaN outside), "narrow" (rows shorter than the swizzle),
    "stored" (for a copy to the array)."""
    dtype = np.dtype(str(rng.choice(dtypes if way != "filled" else ("f2", "f4", "f8"))))
    unit = 16 // dtype.itemsize
    span = SPANS[swizzle] or 256 * dtype.itemsize
    inner = unit * int(rng.integers(1, min(span // 16, 256 // unit) + 1))
    if SPANS[swizzle] and way != "narrow":
        inner = span // dtype.itemsize
    while True:
        rest = [int(n) for n in rng.integers(1, {1: 2, 2: 129, 3: 17, 4: 8, 5: 5}[rank], rank - 1)]
        if int(np.prod(rest)) * (SPANS[swizzle] or inner * dtype.itemsize) <= ROOM - 1024:
            break
    shape = [int(n) for n in rng.integers(1, {1: 2, 2: 90, 3: 20, 4: 9, 5: 6}[rank], rank - 1)] + [unit * int(rng.integers(1, 2 * inner // unit + 2))]
    if rank == 1:
        shape[-1] -= int(rng.integers(0, unit))  # one axis needs no stride
    array = rng.integers(0, 256, int(np.prod(shape)) * dtype.itemsize).astype(np.uint8).view(dtype).reshape(shape)
    if dtype.kind == "f":
        array = rng.integers(-100, 100, shape).astype(dtype)
    box = (*rest, inner)
    steps = (*(int(n) for n in rng.integers(1, 4, rank - 1)), 1) if way == "stepped" else (1,) * rank
    fill = "nan" if way == "filled" else "zero"
    # What a GPU takes: the first coordinate a multiple of 16 bytes; none below 0 where the box is stored.
    low = [0 if way == "stored" else -(b // 2) - 1 for b in box]
    first, *others = (int(rng.integers(a, n + 2)) for a, n in zip(reversed(low), reversed(shape), strict=True))
    coordinates = (first // unit * unit, *others)
    offset = 128 * int(rng.integers(0, 8))
    return Box(array, box, swizzle, steps, fill, coordinates, offset)


def _numbers(boxes: list[Box]) -> np.ndarray:
    """For each box: five coordinates, its offset, its bytes."""
    return np.array([[*b.coordinates, *[0] * (5 - len(b.coordinates)), b.offset, b.nbytes] for b in boxes], np.int32)


def _maps(count: int) -> str:
    return ", ".join(f"const __grid_constant__ TensorMap m{k}" for k in range(count))


def _coordinates(rank: int, first: int) -> tuple[str, str]:
    return ", ".join(f"%{first + k}" for k in range(rank)), ", ".join(f'"r"(n[{k}])' for k in range(rank))


def load_source(rank: int) -> str:
    places, operands = _coordinates(rank, 3)
    copy = f"""asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {{{places}}}], [%2];"
                     ::"r"(address(memory) + n[5]), "l"(map), "r"(address(&bar)), {operands} : "memory");"""
    return f"""{HEAD}
extern "C" __global__ void load_{rank}d({_maps(4)}, const int* numbers, unsigned* y) {{
    extern __shared__ __align__(1024) unsigned memory[];
    __shared__ __align__(8) unsigned long long bar;
    const int* n = numbers + 7 * blockIdx.x;
    for (int i = threadIdx.x; i < {ROOM // 4}; i += blockDim.x) memory[i] = {UNTOUCHED}u;
    if (threadIdx.x == 0) {{
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {{
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&bar)), "r"(n[6]) : "memory");
        const TensorMap* map = {MAP};
        {copy}
    }}
    bool ok = wait(address(&bar), 0);
    __syncthreads();
    unsigned* out = y + blockIdx.x * {ROOM // 4 + 1};
    if (threadIdx.x == 0) out[0] = ok;
    for (int i = threadIdx.x; i < {ROOM // 4}; i += blockDim.x) out[1 + i] = memory[i];
}}"""


def load(rank: int, swizzle: str, number: int, way: str = "") -> Case:
    def boxes() -> list[Box]:
        rng = np.random.default_rng([rank, SPANS[swizzle], number, len(way)])
        return [drawn(rng, rank, swizzle, way=way) for _ in range(4)]

    def args() -> list:
        four = boxes()
        return [*(b.map() for b in four), _numbers(four), np.zeros((4, ROOM // 4 + 1), np.uint32)]

    return Case(
        name=f"tma.{way or 'load'}_{rank}d_{swizzle}_{number}", source=load_source(rank), entry=f"load_{rank}d", args=args, outputs=(5,),
        expect=lambda *_: [np.stack([np.r_[np.uint32(1), b.image()] for b in boxes()])], grid=4, block=128, shared_bytes=ROOM,
    )  # fmt: skip


def store_source(rank: int, operation: str = "") -> str:
    places, operands = _coordinates(rank, 2)
    name = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile" if operation else f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile"
    copy = f"""asm volatile("{name}.bulk_group [%0, {{{places}}}], [%1];" ::"l"(map), "r"(address(memory) + n[5]), {operands} : "memory");"""
    return f"""{HEAD}
extern "C" __global__ void store_{rank}d({_maps(4)}, const int* numbers, const unsigned* x) {{
    extern __shared__ __align__(1024) unsigned memory[];
    const int* n = numbers + 7 * blockIdx.x;
    for (int i = threadIdx.x; i < {ROOM // 4}; i += blockDim.x) memory[i] = x[blockIdx.x * {ROOM // 4} + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {{
        const TensorMap* map = {MAP};
        {copy}
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}"""


def store(rank: int, swizzle: str, number: int = 0, operation: str = "", type: str = "") -> Case:
    """`operation` of PTX `type`: what is in the array already is combined with the box."""
    dtypes = {"": ANY, "f16": ("f2",), "bf16": ("u2",), "f32": ("f4",), "u32": ("u4",), "s32": ("i4",), "u64": ("u8",),
              "s64": ("i8",), "b32": ("u4",), "b64": ("u8",)}[type]  # fmt: skip

    def boxes() -> tuple[list[Box], np.ndarray]:
        rng = np.random.default_rng([rank, SPANS[swizzle], number, len(operation), sum(map(ord, operation + type))])
        four = [drawn(rng, rank, swizzle, dtypes, "stored") for _ in range(4)]
        image = rng.integers(0, 256, (4, ROOM)).astype(np.uint8)
        if type == "bf16":
            four = [Box(bfloat16s(rng, b.array.shape), b.box, b.swizzle, b.steps, b.fill, b.coordinates, b.offset, True) for b in four]
            image = bfloat16s(rng, (4, ROOM // 2)).view(np.uint8)
        if type in ("f16", "f32"):  # whole numbers in float32: sums are exact, and no subnormal is flushed
            numbers = rng.standard_normal((4, ROOM // 2)) if type == "f16" else rng.integers(-99, 99, (4, ROOM // 4))
            image = numbers.astype(dtypes[0]).view(np.uint8)
        return four, np.ascontiguousarray(image).view(np.uint32)

    def args() -> list:
        four, image = boxes()
        return [*(b.map(b.array.copy()) for b in four), _numbers(four), image]

    def expect(*_) -> list[np.ndarray]:
        four, image = boxes()
        out = []
        for b, memory in zip(four, image, strict=True):
            values = memory.view(np.uint8)[b.places()].view(b.array.dtype)[..., 0]
            *index, ok = b.inside()
            whole = b.array.copy()
            at = tuple(i[ok] for i in index)
            whole[at] = combined(operation, type, whole[at], values[ok])
            out.append(whole)
        return out

    label = f"{operation}_{type}" if operation else "store"
    return Case(
        name=f"tma.{label}_{rank}d_{swizzle}_{number}", source=store_source(rank, operation), entry=f"store_{rank}d", args=args, outputs=(0, 1, 2, 3),
        expect=expect, grid=4, block=128, shared_bytes=ROOM,
    )  # fmt: skip


def bfloat16s(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Bits of random bfloat16 numbers between 2^-7 and 2^8 in size."""
    return (rng.integers(0, 2, shape) << 15 | rng.integers(120, 135, shape) << 7 | rng.integers(0, 128, shape)).astype(np.uint16)


def combined(operation: str, type: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What a reduction leaves."""
    if not operation:
        return new
    if type == "bf16":
        a, b = from_bfloat16(old), from_bfloat16(new)
        return to_bfloat16({"add": a + b, "min": np.minimum(a, b), "max": np.maximum(a, b)}[operation])
    with np.errstate(over="ignore"):
        return {
            "add": lambda: old + new, "min": lambda: np.minimum(old, new), "max": lambda: np.maximum(old, new), "and": lambda: old & new,
            "or": lambda: old | new, "xor": lambda: old ^ new, "inc": lambda: np.where(old >= new, 0, old + 1).astype(old.dtype),
            "dec": lambda: np.where((old == 0) | (old > new), new, old - 1).astype(old.dtype),
        }[operation]()  # fmt: skip


REDUCTIONS = (
    [("add", t) for t in ("u32", "s32", "u64", "f32", "f16", "bf16")]
    + [(op, t) for op in ("min", "max") for t in ("u32", "s32", "u64", "s64", "f16", "bf16")]
    + [("inc", "u32"), ("dec", "u32")]
    + [(op, t) for op in ("and", "or", "xor") for t in ("b32", "b64")]
)


def refused(name: str, case: Case, coordinates: tuple[int, int]) -> Case:
    """The case of rank 2 with other coordinates in its first block: a GPU stops with an illegal instruction."""

    def args() -> list:
        out = case.args()
        out[4][0, :2] = coordinates
        return out

    return replace(case, name=f"tma.refused_{name}", args=args, outputs=(), expect=None, faulty=True)


CASES: list[Case] = [
    *(load(rank, swizzle, number) for rank in range(1, 6) for swizzle in SPANS for number in range(5)),
    *(load(rank, swizzle, number, "narrow") for rank in (2, 3) for swizzle in ("32B", "64B", "128B") for number in range(2)),
    *(load(rank, "none", number, "filled") for rank in range(1, 6) for number in range(2)),
    *(load(rank, swizzle, 0, "stepped") for rank in range(2, 6) for swizzle in ("none", "128B")),
    *(store(rank, swizzle) for rank in range(1, 6) for swizzle in SPANS),
    *(store(1 + k % 5, tuple(SPANS)[k % 4], 1, op, t) for k, (op, t) in enumerate(REDUCTIONS)),
    refused("load_unaligned", load(2, "128B", 0), (1, 0)),
    refused("store_unaligned", store(2, "none"), (1, 0)),
    refused("store_before_the_array", store(2, "none"), (0, -1)),
    refused("reduction_before_the_row", store(2, "none", 0, "add", "f32"), (-4, 0)),
]
