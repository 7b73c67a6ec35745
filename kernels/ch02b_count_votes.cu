// Each warp counts how many of its 32 elements are above a limit.
//
// grid:  ceil(n / 256) blocks      block: 256 threads = 8 warps
// x:     float32 (n), read
// limit: an element counts if x > limit
// count: int32 (grid * 8), written: one number a warp
// n:     any n >= 1; elements past the end don't count
extern "C" __global__ void count_votes(const float* x, float limit,
                                       int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;  // 0 .. 31
    const int warp = i / 32;            // 0 .. grid * 8 - 1, over all blocks

    // TODO (3 lines): every lane votes, __ballot_sync collects, __popc counts
    const int total = 0;

    // Excluded: all lanes but one, since a warp has one number to write.
    if (lane == 0) {
        count[warp] = total;
    }
}
