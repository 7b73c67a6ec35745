// rank[i] = how many lower lanes of my warp hold an element of my kind, the
// two kinds being: positive, and not positive.
//
// grid:  ceil(n / 128) blocks      block: 128 threads = 4 warps
// x:     float32 (n), read
// rank:  int32 (n), written
// n:     any n >= 1
// This kernel is broken: some lanes are called to a vote and never come.
extern "C" __global__ void ballot_branch(const float* x, int* rank, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;            // 0 .. 31
    const unsigned below = (1u << lane) - 1u;     // bits of the lanes below me

    // TODO (6 lines): let all 32 lanes vote together, and branch afterwards
    if (i < n) {
        if (x[i] > 0.0f) {
            const unsigned votes = __ballot_sync(0xffffffffu, true);
            rank[i] = __popc(votes & below);
        } else {
            const unsigned votes = __ballot_sync(0xffffffffu, true);
            rank[i] = __popc(votes & below);
        }
    }
}
