"""Headers of the toolkit: cooperative groups, cub's block and warp primitives, cuda::atomic_ref. They compile for seconds each."""

from __future__ import annotations

import numpy as np

from .case import Case, Tolerance


def values(seed, n, low=-100, high=100):
    return np.random.default_rng(seed).integers(low, high, n).astype(np.int32)


def case(entry, source, expect, n=128, results=None, tolerance=None, **more) -> Case:
    return Case(
        name=f"libraries.{entry}",
        source=source,
        entry=entry,
        args=lambda: [values(len(entry), n), np.zeros(results or n, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [np.asarray(expect(x)).astype(np.int32)],
        tolerances=(tolerance or Tolerance(),),
        slow=True,
        **more,
    )


GROUPS = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n"
# cub checks for the C++ headers of the host compiler, which a run-time compiler hasn't: only its block and warp headers compile.
CUB = "#include <cub/block/block_reduce.cuh>\n#include <cub/block/block_scan.cuh>\n#include <cub/warp/warp_reduce.cuh>\n"

CASES: list[Case] = [
    case(
        "tiles",
        GROUPS
        + """
extern "C" __global__ void tiles(const int* x, int* y) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int v = x[block.thread_rank()];
    int sum = cg::reduce(tile, v, cg::plus<int>());
    int most = cg::reduce(tile, v, cg::greater<int>());
    int next = tile.shfl_down(v, 1);
    int votes = __popc(tile.ballot(v > 0));
    tile.sync();
    y[block.thread_rank()] = sum + 10 * most + (tile.thread_rank() == 15 ? 0 : next) * 100 + votes + tile.meta_group_rank() * 100000;
}""",
        lambda x: np.concatenate([tile_expected(part, k) for k, part in enumerate(x.reshape(8, 16))]),
    ),
    case(
        "block_group",
        GROUPS
        + """
extern "C" __global__ void block_group(const int* x, int* y) {
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int t = block.thread_rank();
    s[t] = x[t];
    block.sync();
    int v = s[(t + 1) % block.size()];
    for (int step = warp.size() / 2; step > 0; step /= 2) v += warp.shfl_xor(v, step);
    y[t] = v + block.group_index().x + warp.meta_group_size();
}""",
        lambda x: np.repeat(np.roll(x, -1).reshape(4, 32).sum(1), 32) + 4,
    ),
    case(
        "coalesced",
        GROUPS
        + """
extern "C" __global__ void coalesced(const int* x, int* y) {
    int t = threadIdx.x;
    y[t] = 0;
    if (x[t] > 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        y[t] = active.thread_rank() * 1000 + active.size();
    }
}""",
        lambda x: np.concatenate([coalesced_expected(part) for part in x.reshape(4, 32)]),
    ),
    case(
        "block_reduce",
        CUB
        + """
extern "C" __global__ void block_reduce(const int* x, int* y) {
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}""",
        lambda x: x.reshape(3, 128).sum(1),
        n=384,
        results=3,
        grid=3,
    ),
    case(
        "block_scan",
        CUB
        + """
extern "C" __global__ void block_scan(const int* x, int* y) {
    using Scan = cub::BlockScan<int, 128>;
    __shared__ typename Scan::TempStorage storage;
    int v = x[threadIdx.x], before, total;
    Scan(storage).ExclusiveSum(v, before, total);
    y[threadIdx.x] = before * 2 + total;
}""",
        lambda x: (np.cumsum(x) - x) * 2 + x.sum(),
    ),
    case(
        "warp_reduce",
        CUB
        + """
extern "C" __global__ void warp_reduce(const int* x, int* y) {
    using Reduce = cub::WarpReduce<int>;
    __shared__ typename Reduce::TempStorage storage[4];
    int warp = threadIdx.x / 32;
    int sum = Reduce(storage[warp]).Sum(x[threadIdx.x]);
    y[threadIdx.x] = 0;
    if (threadIdx.x % 32 == 0) y[threadIdx.x] = sum;
}""",
        lambda x: np.where(np.arange(128) % 32 == 0, np.repeat(x.reshape(4, 32).sum(1), 32), 0),
    ),
    case(
        "atomic_ref",
        """
#include <cuda/atomic>
extern "C" __global__ void atomic_ref(const int* x, int* y) {
    cuda::atomic_ref<int, cuda::thread_scope_device> total(y[0]);
    total.fetch_add(x[threadIdx.x], cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_block> most(y[1]);
    most.fetch_max(x[threadIdx.x]);
}""",
        lambda x: [x.sum(), max(0, x.max())],
        results=2,
    ),
]


def tile_expected(x, k):
    following = np.append(x[1:], 0)
    return x.sum() + 10 * x.max() + following * 100 + (x > 0).sum() + k * 100000


def coalesced_expected(x):
    active = x > 0
    return np.where(active, (np.cumsum(active) - 1) * 1000 + active.sum(), 0)
