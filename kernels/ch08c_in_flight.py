import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths

KB = 1024


def data(*kernels):
    """regs, shared, block, loads: n int32 each, one column of `kernels`; warps, bytes: n int32."""

    def make(rng):
        columns = np.array(kernels, dtype=np.int32).T
        named = {name: np.ascontiguousarray(column) for name, column in zip(("regs", "shared", "block", "loads"), columns, strict=True)}
        outputs = {"warps": np.empty(len(kernels), np.int32), "bytes": np.empty(len(kernels), np.int32)}
        return {**named, **outputs, "n": np.int32(len(kernels))}

    return make


def any_kernels(n):
    """n kernels of all sizes; many take little shared memory, a few too much."""

    def make(rng):
        shared = rng.integers(0, 232 * KB, n) // rng.integers(1, 40, n)
        return data(*zip(rng.integers(1, 256, n), shared, rng.integers(1, 1025, n), rng.integers(1, 9, n), strict=True))(rng)

    return make


def launch(data):
    return Launch(ceil_div(data["warps"].size, 64), 64, "regs shared block loads warps bytes n")


def reference(data):
    """Counted out, not computed: blocks are placed one after the other for as long as there is room."""
    warps = []
    for regs, shared, block in zip(data["regs"], data["shared"], data["block"], strict=True):
        width = -(-int(block) // 32)
        per_warp = -(-int(regs) * 32 // 256) * 256
        taken = -(-(int(shared) + KB) // 128) * 128
        slots = 4 * (16384 // per_warp)
        blocks = 0
        while blocks < 32 and (blocks + 1) * width <= min(64, slots) and (blocks + 1) * taken <= 228 * KB and shared <= 227 * KB:
            blocks += 1
        warps.append(blocks * width)
    return {"warps": np.array(warps), "bytes": np.array(warps) * 512 * data["loads"]}


exercise = Exercise(
    title="Resident warps, and the bytes they keep under way",
    reference=reference,
    cases=(
        Case("full, with one load; a quarter full, with eight", data((32, 0, 256, 1), (128, 0, 256, 8)), launch),
        Case("limits one by one", data((16, 0, 32, 1), (96, 0, 128, 2), (32, 48 * KB, 256, 1), (40, 0, 1024, 4), (32, 228 * KB, 256, 1)), launch),
        Case("thin warps and odd sizes", data((33, 1, 1, 1), (65, 100, 33, 3), (255, 0, 1024, 1), (72, 5000, 400, 2)), launch),
        Case("70 kernels of all sizes", any_kernels(70), launch),
        Case("others", any_kernels(100), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"{n} kernels", any_kernels(n), launch) for (n,) in lengths(rng, 64)],
    hints=(
        "Work in warps. How many of the 16384 registers of its part does one warp take, so how many whole warps does each of the four parts hold?",
        "by_regs = 4 * (16384 / per_warp) / w with per_warp rounded up to 256; by_shared = 228 KB / (shared + 1 KB, rounded up). Then 64 / w, and 32.",
    ),
)
