// total[c] = the sum of row c of x: four blocks share a row, and the first one
// reads the others' sums where they lie, in their shared memory.
//
// grid:  4 rows, in clusters of 4     block: 128 threads
// x:     float32 (rows, N), read      total: float32 (rows), written
// N:     any >= 1
#include <ptx_hopper.cuh>

extern "C" __global__ void __cluster_dims__(4) __launch_bounds__(128)
cluster_sum(const float* x, float* total, int N) {
    __shared__ float sums[4];  // of my warps
    __shared__ float mine;     // of my block
    const int rank = ptx::cluster_rank();  // 0 to 3: block of the cluster
    const int row = blockIdx.x / 4;

    float sum = 0;
    for (int i = rank * 128 + threadIdx.x; i < N; i += 512)
        sum += x[(size_t)row * N + i];
    for (int far = 16; far > 0; far /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, far);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();  // sums is filled
    if (threadIdx.x == 0) mine = sums[0] + sums[1] + sums[2] + sums[3];
    ptx::cluster_arrive();
    ptx::cluster_wait();  // mine is there in all four blocks

    if (rank == 0 && threadIdx.x == 0) {
        float all = 0;
        const unsigned here = ptx::shared_address(&mine);
        for (int block = 0; block < 4; ++block)
            all += ptx::load_cluster(ptx::map_to_rank(here, block));
        total[row] = all;
    }
    ptx::cluster_arrive();
    ptx::cluster_wait();  // nobody leaves before its sum has been read
}
