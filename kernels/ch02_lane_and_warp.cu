// Writes for every thread of a block which lane and which warp it is.
//
// grid:  1 block      block: any number of threads, 1 .. 1024
// lane:  int32 (blockDim.x), written: 0 .. 31, my place in my warp
// warp:  int32 (blockDim.x), written: my warp's number in the block
extern "C" __global__ void lane_and_warp(int* lane, int* warp) {
    const int t = threadIdx.x;  // 0 .. blockDim.x - 1

    lane[t] = t % 32;
    warp[t] = t / 32;
}
