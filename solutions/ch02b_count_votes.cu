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

    //@solution every lane votes, __ballot_sync collects, __popc counts
    // A lane past the end votes too, and votes no: the `&&` guards the read.
    const bool above = i < n && x[i] > limit;

    // Bit L of `votes` is lane L's answer; all 32 lanes get the same word.
    const unsigned votes = __ballot_sync(0xffffffffu, above);
    const int total = __popc(votes);    // how many bits are set
    //@stub
    //@ const int total = 0;
    //@end

    // Excluded: all lanes but one, since a warp has one number to write.
    if (lane == 0) {
        count[warp] = total;
    }
}
