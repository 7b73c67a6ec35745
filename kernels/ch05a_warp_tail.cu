// part[block] = the sum of the block's 256 elements of x. Once 64 numbers are
// left, one warp adds them up without waiting for the block.
//
// grid:  ceil(n / 256) blocks      block: 256 threads = 8 warps
// x:     float32 (n), read
// part:  float32 (grid), written: one sum a block
// n:     any n >= 1; what is missing in the last block counts as 0
// This kernel is broken: it trusts 32 lanes to advance in step.
extern "C" __global__ void warp_tail(const float* x, float* part, int n) {
    __shared__ float s[256];
    const int t = threadIdx.x;                  // 0 .. 255
    const int i = blockIdx.x * 256 + t;         // my element, or past the end

    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();  // every s[] is filled

    for (int half = 128; half > 32; half /= 2) {
        if (t < half) {
            s[t] += s[t + half];
        }
        __syncthreads();  // the sum of all 256 is now that of s[0 .. half - 1]
    }

    // Excluded: warps 1 .. 7. The last 64 numbers belong to warp 0.
    if (t < 32) {
        // TODO (6 lines): repair the tail: what must hold before a lane reads
        //   s[]?
        volatile float* w = s;  // "each store happens where it is written"
        w[t] += w[t + 32];
        w[t] += w[t + 16];
        w[t] += w[t + 8];
        w[t] += w[t + 4];
        w[t] += w[t + 2];
        w[t] += w[t + 1];
    }

    if (t == 0) {
        part[blockIdx.x] = s[0];
    }
}
