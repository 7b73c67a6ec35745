// Three warpgroups take turns at something there is only one of: 0, 1, 2, 0, ..
// What each does between its turns runs beside the others'.
//
// grid:  1                        block: 384 threads: warpgroup w is 0, 1 or 2
// x:     float32 (steps, 384), read      sums: float32 (3), written
// order: int32 (3 steps), written: who had the n-th turn
// sums[w]: of exp(x) of my columns, all steps
// steps: any >= 1
#include <ptx_hopper.cuh>

// Turns so far. In shared memory compute-sanitizer would call the hand-over a
// race: it misses that a read before an arrival comes before a write after the
// wait for it.
__device__ int taken;

extern "C" __global__ void __launch_bounds__(384) turns(
    const float* x, int* order, float* sums, int steps) {
    constexpr int groups = 3;
    __shared__ float parts[groups][4];  // sums of warps
    const int w = threadIdx.x / 128, warp = threadIdx.x / 32 % 4;
    const bool first = threadIdx.x % 128 == 0;

    if (threadIdx.x == 0) taken = 0;  // mine is the first turn
    // Barrier 1 + w: it is warpgroup w's turn. 128 threads wait at it, and the
    // 128 of the one before arrive.
    //@solution who lets warpgroup 0 begin?
    if (w == groups - 1) ptx::named_barrier_arrive(1, 256);
    //@end

    float sum = 0;
    for (int n = 0; n < steps; ++n) {
        //@solution wait for my turn, take it, pass it on
        ptx::named_barrier_sync(1 + w, 256);
        if (first) order[taken++] = w;
        ptx::named_barrier_arrive(1 + (w + 1) % groups, 256);
        //@stub
        //@ ptx::named_barrier_sync(1, 384);
        //@ if (first) order[taken++] = w;
        //@ ptx::named_barrier_sync(1, 384);
        //@end
        sum += expf(x[n * 384 + threadIdx.x]);  // while others have the turn
    }

    for (int far = 16; far > 0; far /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, far);
    if (threadIdx.x % 32 == 0) parts[w][warp] = sum;
    ptx::named_barrier_sync(4 + w, 128);  // my four parts are there
    if (first)
        sums[w] = parts[w][0] + parts[w][1] + parts[w][2] + parts[w][3];
}
