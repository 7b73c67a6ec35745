// Which tile is best? Each thread judges one candidate by the cost model: how
// many of its blocks an SM of an H200 holds, and clocks for a pair of query and
// key. The order isn't that of the resident warps.
//
// grid:  1 block              block: 64 threads, a thread for a candidate
// registers, shared, warps:   int32 (n), read: of a thread, bytes of a block,
//        of a block           pairs: int32 (n), read: Br * Bc
// units: float32 (4, n), read: clocks that a tile takes of the tensor cores,
//        of issue (of all else), of shared memory and of the unit for powers
// wait:  float32 (n), read: clocks of its longest chain, which a block that is
//        alone can't fill
// blocks: int32 (n), written  cost: float32 (n), written: infinity if none fits
// rank:  int32 (n), written: 0 for the cheapest; equal ones in their order
// n:     1 .. 64
#include <math_constants.h>

extern "C" __global__ void rank_tiles(
    const int* registers, const int* shared, const int* warps,
    const int* pairs, const float* units, const float* wait, int* blocks,
    float* cost, int* rank, int n) {
    __shared__ float costs[64];
    const int i = threadIdx.x;
    if (i < n) {
        // Registers are given out in portions of 256 a warp, a quarter of the
        // 65,536 for each scheduler; shared memory in portions of 128 bytes.
        const int by_warp = (registers[i] * 32 + 255) / 256 * 256;
        const int taken = (shared[i] + 1024 + 127) / 128 * 128;
        int fit = min(64 / warps[i], 65536 / 4 / by_warp * 4 / warps[i]);
        fit = min(fit, min(32, 233472 / taken));
        blocks[i] = fit;

        // TODO (6 lines): clocks a tile: its highest roof, or what one block
        //   takes
        // More warps, less cost.
        const float each = fit > 0 ? 1.0f / (fit * warps[i]) : CUDART_INF_F;
        cost[i] = each;
        costs[i] = each;
    }
    __syncthreads();  // costs of all candidates are there

    if (i < n) {
        int before = 0;
        for (int j = 0; j < n; ++j) {
            // TODO (1 line): is candidate j before me?
            before += costs[j] <= costs[i];
        }
        rank[i] = before;
    }
}
