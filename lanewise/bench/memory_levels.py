"""Latency of each memory level by pointer chase, and bandwidth by stride; results/<gpu>.json, tables memory_levels and bandwidth_by_stride.

A chase: every place holds the address of the next, so a load can't begin before the one before it has answered. Clock cycles over the number of
steps are the latency. One thread does it alone (32 where the row says so). The places form one ring in random order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench.record import options, record
from lanewise.names import find_course

COMMAND = "python -m lanewise.bench.memory_levels"
REPEATS = 9  # launches a row; the median counts
KIB, MIB = 1 << 10, 1 << 20

# All have one signature: the ring, where each thread's chase ended, what it took (clock cycles, nanoseconds), steps, steps before the clock starts,
# and a distance. The loops are unrolled, so that counting costs next to nothing.
KERNELS = r"""
__device__ long long cycles() { long long c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return c; }
__device__ long long nanoseconds() { long long c; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(c) :: "memory"); return c; }
#define CHASE(NAME, FIRST) extern "C" __global__ void NAME(FIRST ring, int* end, long long* took, int steps, int warm, int apart)
#define TIMED(STEP) \
    for (int k = 0; k < warm; ++k) { STEP; } \
    const long long n0 = nanoseconds(), c0 = cycles(); \
    _Pragma("unroll 64") for (int k = 0; k < steps; ++k) { STEP; } \
    const long long c1 = cycles(), n1 = nanoseconds(); \
    if (threadIdx.x == 0) { took[0] = c1 - c0; took[1] = n1 - n0; }

// v = v / 2 + 1, which soon is 2.
CHASE(registers, const int*) {
    float v = 1.0f, half = 0.5f, one = 1.0f;
    TIMED(asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(half), "f"(one)))
    end[0] = (int)v;
}
// ring[i]: which of 1024 places follows place i.
CHASE(shared, const int*) {
    __shared__ unsigned places[1024];
    const unsigned base = (unsigned)__cvta_generic_to_shared(places);
    for (int i = 0; i < 1024; ++i) places[i] = base + 4 * ring[i];
    unsigned at = base;
    TIMED(asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at) :: "memory"))
    end[0] = (at - base) / 4;
}
CHASE(local, const int*) {
    int places[1024];
    for (int i = 0; i < 1024; ++i) places[i] = 4 * ring[i];
    int at = 0;
    TIMED(at = *(int*)((char*)places + at))
    end[0] = at / 4;
}
// Offsets in bytes. Lane L starts `apart` places further on than lane L - 1.
__constant__ int table[256];
CHASE(constant, const int*) {
    int at = 4 * apart * threadIdx.x;
    TIMED(at = *(const int*)((const char*)table + at))
    end[threadIdx.x] = at / 4;
}
// Place i lies i * apart bytes behind the start of the ring and holds the address of the place after it.
extern "C" __global__ void link_ring(int* ring, const int* next, int places, int apart) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < places) *(char**)((char*)ring + (size_t)i * apart) = (char*)ring + (size_t)next[i] * apart;
}
CHASE(through_l1, int*) {
    unsigned long long at = (unsigned long long)ring;
    TIMED(asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at) :: "memory"))
    end[0] = (int)((at - (unsigned long long)ring) / apart);
}
CHASE(past_l1, int*) {
    unsigned long long at = (unsigned long long)ring;
    TIMED(asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at) :: "memory"))
    end[0] = (int)((at - (unsigned long long)ring) / apart);
}
#ifdef TEXTURE
CHASE(through_texture, unsigned long long) {
    int at = 0;
    TIMED(at = tex1Dfetch<int>(ring, at))
    end[0] = at;
}
#endif
"""


def ring(places: int, seed: int = 3) -> np.ndarray:
    """next[i] for one ring through all places, in random order, int32."""
    order = np.random.default_rng(seed).permutation(places)
    following = np.empty(places, np.int32)
    following[order] = np.roll(order, -1)
    return following


def reached(following: np.ndarray, steps: int, start: int = 0) -> int:
    """Where a chase of so many steps must end."""
    at = start
    for _ in range(steps % len(following)):
        at = int(following[at])
    return at


class Chases:
    """Runs chases of `steps` steps and collects their rows. `cp` is CuPy, or its twin (whose clock means nothing)."""

    def __init__(self, cp: Any, steps: int):
        self.cp, self.steps = cp, steps
        self.module = cp.RawModule(code=KERNELS)
        self.rows: list[results.Row] = []

    def add(self, level: str, what: str, kernel: Any, memory: Any, wanted: int, warm: int, apart: int = 0, threads: int = 1, broom: Any = None) -> None:
        """One row: the median of REPEATS launches, after one that isn't counted. A `broom` is an array to write before each launch, to sweep the caches.

        Raises RuntimeError where the last thread's chase doesn't end at `wanted`.
        """
        end, took = self.cp.zeros(32, dtype=self.cp.int32), self.cp.zeros(2, dtype=self.cp.int64)
        kernel = self.module.get_function(kernel) if isinstance(kernel, str) else kernel
        readings = []
        for _ in range(REPEATS + 1):
            if broom is not None:
                broom[...] = 1
            kernel((1,), (threads,), (memory, end, took, np.int32(self.steps), np.int32(warm), np.int32(apart)))
            readings.append(self.cp.asnumpy(took) / self.steps)
        ended = int(self.cp.asnumpy(end)[threads - 1])
        if ended != wanted:
            raise RuntimeError(f"The chase through {level} ended at {ended} instead of {wanted}: its reading is worth nothing.")
        cycles, nanoseconds = (round(float(value), 1) for value in np.median(readings[1:], axis=0))
        self.rows.append({"level": level, "what": what, "cycles": cycles, "ns": nanoseconds})
        print(f"{level:38} {cycles:8.1f} cycles {nanoseconds:8.1f} ns", flush=True)

    def add_global(self, level: str, kernel: str, size: int, apart: int, warm: bool) -> None:
        """A ring of `size` bytes in global memory, a place every `apart` bytes. Warm: gone round once before the clock starts; else swept from the caches."""
        places = size // apart
        following = ring(places)
        memory = self.cp.zeros(size // 4, dtype=self.cp.int32)
        self.module.get_function("link_ring")((-(-places // 256),), (256,), (memory, self.cp.asarray(following), np.int32(places), np.int32(apart)))
        before = places if warm else 0
        broom = None if warm else self.cp.zeros(size // 4, dtype=self.cp.int32)
        what = f"ring of {size // MIB} MiB" if size >= MIB else f"ring of {size // KIB} KiB"
        self.add(level, what, kernel, memory, reached(following, self.steps + before), before, apart, broom=broom)

    def add_texture(self) -> None:
        """A ring of 4096 ints in a texture: only on a GPU."""
        runtime, texture = self.cp.cuda.runtime, self.cp.cuda.texture
        following = ring(4096)
        memory = self.cp.asarray(following)
        form = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindSigned)
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeLinear, arr=memory, chDesc=form, sizeInBytes=memory.nbytes)
        handle = texture.TextureObject(resource, texture.TextureDescriptor())
        kernel = self.cp.RawKernel("#define TEXTURE\n" + KERNELS, "through_texture")
        self.add("texture", "ring of 16 KiB", kernel, np.uint64(handle.ptr), reached(following, self.steps + 4096), 4096)


def memory_levels(cp: Any, far: int = 256 * MIB, near: int = 8 * MIB, steps: int = 4096) -> list[results.Row]:
    """One row a level: cycles and ns of one dependent step. `far`: bytes of a ring that doesn't fit the L2 cache, `near`: of one that does."""
    chases = Chases(cp, steps)
    small, tiny = ring(1024), ring(256)
    following = cp.asarray(small)
    cp.ndarray((256,), cp.int32, chases.module.get_global("table"))[...] = cp.asarray(4 * tiny)
    chases.add("registers", "multiply-adds, each on the one before", "registers", following, 2, 64)
    chases.add("shared memory", "ring of 4 KiB", "shared", following, reached(small, steps + 1024), 1024)
    chases.add_global("L1 cache", "through_l1", 16 * KIB, 8, warm=True)
    chases.add("local memory", "array of 4 KiB; an addition a step", "local", following, reached(small, steps + 1024), 1024)
    for lanes, threads, apart in (("", 1, 0), (", 32 lanes, one place", 32, 0), (", 32 lanes, 32 places", 32, 7)):
        end = reached(tiny, steps + 256, apart * (threads - 1))
        chases.add("constant memory" + lanes, "ring of 1 KiB", "constant", following, end, 256, apart, threads)
    if hasattr(cp.cuda, "texture"):
        chases.add_texture()
    chases.add_global("L2 cache", "past_l1", near, 128, warm=True)
    chases.add_global("global memory", "past_l1", far, 4096, warm=False)
    return chases.rows


def bandwidth_by_stride(cp: Any, n: int = 1 << 25, strides: Sequence[int] = range(1, 33), times: int = 20) -> list[results.Row]:
    """Chapter 3's strided copy of n floats, a row a stride: bytes wanted (8 n) and bytes moved (in sectors) in a second.

    Raises RuntimeError where a copy comes out wrong.
    """
    text = (find_course().kernels_dir / "ch03_strided_copy.cu").read_text(encoding="utf-8")
    kernel = cp.RawKernel(text, "strided_copy")
    x, y = cp.arange(n * max(strides), dtype=cp.float32), cp.zeros(n, dtype=cp.float32)
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    rows: list[results.Row] = []
    for stride in strides:
        for attempt in range(times + 3):  # three to warm up
            if attempt == 3:
                start.record()
            kernel((-(-n // 256),), (256,), (x, y, np.int32(n), np.int32(stride)))
        stop.record()
        stop.synchronize()
        milliseconds = cp.cuda.get_elapsed_time(start, stop) / times
        probe = np.array([0, 1, n // 2, n - 1])
        if not np.array_equal(cp.asnumpy(y)[probe], (probe * stride).astype(np.float32)):
            raise RuntimeError(f"The copy with stride {stride} is wrong: its time is worth nothing.")
        sectors = len({4 * stride * lane // 32 for lane in range(32)})
        rates = {name: round(amount / milliseconds / 1e6, 1) for name, amount in (("wanted_gb_s", 8 * n), ("moved_gb_s", n * sectors + 4 * n))}
        rows.append({"stride": stride, "sectors_a_request": sectors, **rates})
        print(f"stride {stride:2}: {sectors:2} sectors a request, {rates['wanted_gb_s']:8.1f} GB/s wanted, {rates['moved_gb_s']:8.1f} GB/s moved", flush=True)
    return rows


def main(argv: Sequence[str] = ()) -> int:
    """Measure both tables on this machine's GPU and put them into its results file."""
    parser = options(COMMAND, __doc__)
    parser.add_argument("--only", choices=["memory_levels", "bandwidth_by_stride"], help="measure one of the two tables")
    asked = parser.parse_args(argv)
    from lanewise.cp import real_cupy

    cp = real_cupy()
    for name, measure in (("memory_levels", memory_levels), ("bandwidth_by_stride", bandwidth_by_stride)):
        if asked.only in (None, name):
            record(cp, name, COMMAND, measure(cp), asked.out, cuda=str(cp.cuda.runtime.runtimeGetVersion()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
