// part[block] = the sum of the block's 256 elements of x, by halves.
//
// grid:  ceil(n / 256) blocks      block: 256 threads = 8 warps
// x:     float32 (n), read
// part:  float32 (grid), written: one sum a block
// n:     any n >= 1; what is missing in the last block counts as 0
extern "C" __global__ void tree_sum(const float* x, float* part, int n) {
    __shared__ float s[256];                    // one place a thread
    const int t = threadIdx.x;                  // 0 .. 255
    const int i = blockIdx.x * 256 + t;         // my element, or past the end

    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();  // every s[] is filled

    for (int half = 128; half > 0; half /= 2) {
        // Excluded: the upper half. Its numbers are taken, not changed.
        if (t < half) {
            s[t] += s[t + half];
        }
        __syncthreads();  // the sum of all 256 is now that of s[0 .. half - 1]
    }

    // Excluded: all threads but one, since a block has one number to write.
    if (t == 0) {
        part[blockIdx.x] = s[0];
    }
}
