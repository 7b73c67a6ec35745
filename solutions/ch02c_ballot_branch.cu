// rank[i] = how many lower lanes of my warp also hold a positive element,
// for positive elements; -1 for the others. (The first half of a compaction.)
//
// grid:  ceil(n / 128) blocks      block: 128 threads = 4 warps
// x:     float32 (n), read
// rank:  int32 (n), written
// n:     any n >= 1
// This kernel is broken: some lanes are asked to vote and never come.
extern "C" __global__ void ballot_branch(const float* x, int* rank, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;            // 0 .. 31
    const unsigned below = (1u << lane) - 1u;     // bits of the lanes below me

    //@solution let all 32 lanes reach the ballot, and branch afterwards
    const bool positive = i < n && x[i] > 0.0f;
    const unsigned votes = __ballot_sync(0xffffffffu, positive);

    // Excluded: lanes past the end. They voted (no), but own no element.
    if (i < n) {
        rank[i] = positive ? __popc(votes & below) : -1;
    }
    //@stub
    //@ if (i < n) {
    //@     if (x[i] > 0.0f) {
    //@         const unsigned votes = __ballot_sync(0xffffffffu, true);
    //@         rank[i] = __popc(votes & below);
    //@     } else {
    //@         rank[i] = -1;
    //@     }
    //@ }
    //@end
}
