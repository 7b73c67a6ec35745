"""The copy engine's own counters: boxes and runs of bytes, inside and outside of the array, one request a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from families.case import Case

HEAD = """#include <ptx_hopper.cuh>
using namespace ptx;
"""
BEGIN = """    __shared__ __align__(1024) float tile[16][32];
    __shared__ __align__(8) unsigned long long full;
    const unsigned to = shared_address(tile), bar = shared_address(&full);
    const int t = threadIdx.x, block = blockIdx.x + gridDim.x * blockIdx.y;
"""
READY = """    if (t == 0) {
        mbarrier_init(bar, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect_tx(bar, BYTES);
    }
"""
FILL = """    for (int i = t; i < 512; i += 64) tile[i / 32][i % 32] = 1 + i % 7;
    fence_proxy_async();
    __syncthreads();
    if (t == 0) {
        COPY
        bulk_commit();
        bulk_wait<0>();
    }
"""
WHOLE = (16, 32)  # of a tile: rows, float32
Pair = tuple[int, int]


def source(entry: str, parameters: str, body: str, qualifier: str = "") -> str:
    return f'{HEAD}extern "C" __global__ void {qualifier}{entry}({parameters}) {{\n{BEGIN}{body}}}\n'


def numbers(*shape: int) -> np.ndarray:
    return np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)


def places(grid: Pair, box: Pair, at: Pair, step: int = 1) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each block, which rows and columns of the last matrix its box has; some lie outside."""
    for by in range(grid[1]):
        for bx in range(grid[0]):
            yield at[0] + box[0] * by + np.arange(0, box[0], step), at[1] + box[1] * bx + np.arange(box[1])


def coordinates(shape: tuple[int, ...], box: Pair, at: Pair) -> str:
    """Of a block's box, as C: column 32 bx, row 16 by, last matrix."""
    others = "".join(f", {n - 1}" for n in reversed(shape[:-2]))
    return f"{box[1]} * (int)blockIdx.x + {at[1]}, {box[0]} * (int)blockIdx.y + {at[0]}{others}"


def load(entry: str, shape: tuple[int, ...], grid: Pair, swizzle: str = "none", box: Pair = WHOLE, at: Pair = (0, 0), step: int = 1) -> Case:
    """Every block brings a box (each `step`-th row of it), the last thread reads one element of it."""
    rank = len(shape)

    def args() -> list:
        from lanewise import simt

        tensor = simt.tensor_map(numbers(*shape), (*(1,) * (rank - 2), *box), swizzle, element_strides=(*(1,) * (rank - 2), step, 1))
        return [tensor, np.zeros(grid[0] * grid[1], np.float32)]

    def expect(x, y) -> list[np.ndarray]:
        matrix = x.passed.reshape(-1, *shape[-2:])[-1]
        found = []
        for rows, cols in places(grid, box, at, step):
            r, c = rows[2], cols[2 if swizzle == "none" else 10]
            found.append(matrix[r, c] if 0 <= r < shape[-2] and 0 <= c < shape[-1] else 0)
        return [np.array(found, np.float32)]

    body = f"""{READY.replace("BYTES", str(4 * box[0] // step * box[1]))}    if (t == 0) tma_load_{rank}d(to, &x, bar, {coordinates(shape, box, at)});
    __syncthreads();
    mbarrier_wait_parity(bar, 0);
    if (t == 63) y[block] = (&tile[0][0])[{2 * box[1] + 2}];
"""
    return Case(
        name=f"copies.{entry}", source=source(entry, "const __grid_constant__ TensorMap x, float* y", body), entry=entry, args=args, outputs=(1,),
        expect=expect, grid=grid, block=64,
    )  # fmt: skip


def store(entry: str, shape: tuple[int, ...], grid: Pair, add: bool = False, box: Pair = WHOLE, at: Pair = (0, 0)) -> Case:
    """Every block writes a box, or adds it to what is there."""
    rank = len(shape)

    def args() -> list:
        from lanewise import simt

        return [simt.tensor_map(numbers(*shape) % 5, (*(1,) * (rank - 2), *box))]

    def expect(x) -> list[np.ndarray]:
        out = x.passed.copy()
        matrix, tile = out.reshape(-1, *shape[-2:])[-1], 1 + np.arange(box[0] * box[1], dtype=np.float32).reshape(box) % 7
        for rows, cols in places(grid, box, at):
            r, c = ((0 <= rows) & (rows < shape[-2])), ((0 <= cols) & (cols < shape[-1]))
            there = np.ix_(rows[r], cols[c])
            matrix[there] = tile[np.ix_(r, c)] + (matrix[there] if add else 0)
        return [out]

    copy = f"tma_{'add' if add else 'store'}_{rank}d(&x, to, {coordinates(shape, box, at)});"
    return Case(
        name=f"copies.{entry}", source=source(entry, "const __grid_constant__ TensorMap x", FILL.replace("COPY", copy)), entry=entry, args=args,
        outputs=(0,), expect=expect, grid=grid, block=64,
    )  # fmt: skip


def runs(entry: str, body: str, expect: Callable[..., list[np.ndarray]]) -> Case:
    """Plain copies between x and y, four of a whole tile."""
    return Case(
        name=f"copies.{entry}", source=source(entry, "const float* x, float* y", body), entry=entry,
        args=lambda: [numbers(65, 32), numbers(65, 32) % 5], outputs=(1,), expect=expect, grid=4, block=64,
    )  # fmt: skip


def load_runs(entry: str, shift: int) -> Case:
    """`shift`: in float32, from the start of the array."""

    def expect(x, y) -> list[np.ndarray]:
        out = y.copy()
        out.reshape(-1)[:4] = x.reshape(-1)[shift + 66 :: 512][:4]
        return [out]

    return runs(entry, f"""{READY.replace("BYTES", "2048")}    if (t == 0) bulk_load(to, x + 512 * block + {shift}, 2048, bar);
    __syncthreads();
    mbarrier_wait_parity(bar, 0);
    if (t == 63) y[block] = tile[2][2];
""", expect)  # fmt: skip


def store_runs(entry: str, copy: str, shift: int, add: bool = False) -> Case:
    def expect(x, y) -> list[np.ndarray]:
        out = y.copy()
        part = out.reshape(-1)[shift : shift + 2048]
        part[...] = np.tile(1 + np.arange(512) % 7, 4) + (part if add else 0)
        return [out]

    return runs(entry, FILL.replace("COPY", copy.replace("TO", f"y + 512 * block + {shift}")), expect)


ADD = """asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(TO), "r"(to), "r"(2048) : "memory");"""
HALVES = f"""{READY.replace("BYTES", "2048")}    cluster_arrive();
    cluster_wait();
    if (t == 0) tma_load_2d_multicast(shared_address(tile[8 * cluster_rank()]), &x, bar, 0, 16 * (blockIdx.x / 2) + 8 * cluster_rank(), 3);
    mbarrier_wait_parity(bar, 0);
    if (t == 63) y[block] = tile[2][2] + tile[15][31];
    cluster_arrive();
    cluster_wait();
"""


def multicast(entry: str, rows: int) -> Case:
    """A cluster of two: each block brings half of a tile, for both."""

    def args() -> list:
        from lanewise import simt

        return [simt.tensor_map(numbers(rows, 32), (8, 32)), np.zeros(4, np.float32)]

    def expect(x, y) -> list[np.ndarray]:
        tiles = np.zeros((32, 32), np.float32)
        tiles[:rows] = x.passed
        return [np.repeat(tiles[2::16, 2] + tiles[15::16, 31], 2)]

    return Case(
        name=f"copies.{entry}", source=source(entry, "const __grid_constant__ TensorMap x, float* y", HALVES, "__cluster_dims__(2, 1, 1) "), entry=entry,
        args=args, outputs=(1,), expect=expect, grid=4, block=64,
    )  # fmt: skip


CASES: list[Case] = [
    load("load_whole", (64, 96), (3, 4)),
    load("load_swizzled", (64, 96), (3, 4), "128B"),
    load("load_ragged", (60, 100), (4, 4)),
    load("load_ragged_sectors", (60, 104), (4, 4)),
    load("load_outside", (16, 32), (2, 2)),
    load("load_before", (40, 100), (4, 4), at=(-5, -4)),
    load("load_before_sectors", (40, 96), (4, 4), at=(-5, -8)),
    load("load_narrow", (64, 4), (1, 4), box=(16, 4)),
    load("load_narrow_apart", (64, 96), (3, 4), box=(16, 4)),
    load("load_48_bytes", (64, 12), (1, 4), box=(16, 12)),
    load("load_48_bytes_apart", (64, 100), (9, 4), box=(16, 12)),
    load("load_steps", (64, 96), (3, 4), step=2),
    load("load_steps_ragged", (60, 100), (4, 4), step=4),
    load("load_3d", (3, 40, 64), (2, 3)),
    store("store_whole", (64, 96), (3, 4)),
    store("store_ragged", (60, 100), (4, 4)),
    store("store_shifted", (40, 100), (4, 4), at=(5, 4)),
    store("store_narrow", (64, 4), (1, 4), box=(16, 4)),
    store("store_48_bytes", (64, 12), (1, 4), box=(16, 12)),
    store("store_3d", (3, 40, 64), (2, 3)),
    store("add_3d", (3, 40, 64), (2, 3), add=True),
    load_runs("load_runs", 0),
    load_runs("load_runs_shifted", 4),
    store_runs("store_runs", "bulk_store(TO, to, 2048);", 0),
    store_runs("store_runs_shifted", "bulk_store(TO, to, 2048);", 4),
    store_runs("add_runs", ADD, 0, add=True),
    store_runs("add_runs_shifted", ADD, 4, add=True),
    multicast("multicast_halves", 32),
    multicast("multicast_ragged", 30),
]  # fmt: skip
