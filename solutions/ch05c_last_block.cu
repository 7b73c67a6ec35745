// total = the sum of x in one launch: each block writes its part, and the
// block that is done last adds up the parts. The order of additions is fixed.
//
// grid:  ceil(n / 256) blocks      block: 256 threads = 8 warps
// x:     float32 (n), read
// part:  float32 (grid), written: one sum a block
// done:  int32 (1), read and written: how many blocks are done; 0 before
//        the launch and 0 again after it
// total: float32 (1), written
// n:     any n >= 1
extern "C" __global__ void last_block(const float* x, float* part, int* done,
                                      float* total, int n) {
    __shared__ float s[8];                      // one place a warp
    __shared__ bool last;                       // is my block the last one?
    const int t = threadIdx.x;                  // 0 .. 255
    const int lane = t % 32, warp = t / 32;     // 0 .. 31, 0 .. 7
    const int i = blockIdx.x * 256 + t;         // my element, or past the end

    float v = i < n ? x[i] : 0.0f;
    for (int step = 16; step > 0; step /= 2) {
        v += __shfl_down_sync(0xffffffffu, v, step);
    }
    if (lane == 0) {
        s[warp] = v;
    }
    __syncthreads();  // s[] holds the sums of the 8 warps

    if (t == 0) {
        v = 0.0f;
        for (int w = 0; w < 8; ++w) {
            v += s[w];
        }
        //@solution publish the part, take a number, see whether it is the last
        part[blockIdx.x] = v;
        __threadfence();  // whoever sees my number sees my part, too
        last = atomicAdd(done, 1) == gridDim.x - 1;
        __threadfence();  // if it is the last, I see the parts of all others
        //@stub
        //@ part[blockIdx.x] = v;
        //@ last = blockIdx.x == gridDim.x - 1;
        //@end
    }
    __syncthreads();  // `last` is set, and thread 0's fences hold for us all

    // Excluded: all blocks but the last, and all its warps but one.
    if (last && warp == 0) {
        v = 0.0f;
        for (int b = lane; b < gridDim.x; b += 32) {
            v += part[b];
        }
        //@solution let lane 0 write the total, and leave done as it was found
        for (int step = 16; step > 0; step /= 2) {
            v += __shfl_down_sync(0xffffffffu, v, step);
        }
        if (lane == 0) {
            *total = v;
            *done = 0;  // ready for the next launch
        }
        //@stub
        //@ *total = v;
        //@end
    }
}
