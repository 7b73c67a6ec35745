// out[i] = sum over all j of |x[i] - x[j]|. A block keeps 128 x[j] at a time
// in shared memory, so each x[j] is fetched once a block, not once a thread.
//
// grid:  ceil(n / 128) blocks      block: 128 threads
// x:     float32 (n), read
// out:   float32 (n), written
// n:     any n >= 1
// This kernel is broken: it gives right answers on a good day.
extern "C" __global__ void all_distances(const float* x, float* out, int n) {
    __shared__ float tile[128];
    const int t = threadIdx.x;                  // 0 .. 127
    const int i = blockIdx.x * 128 + t;         // my element
    const float mine = i < n ? x[i] : 0.0f;     // past the end: not used
    float sum = 0.0f;

    for (int start = 0; start < n; start += 128) {
        const int left = min(128, n - start);   // the last tile may be short
        if (t < left) {
            tile[t] = x[start + t];             // tile[0 .. left - 1]
        }
        __syncthreads();  // every tile[] of this round is filled

        // TODO (4 lines): repair this part: when may the next round refill
        //   tile[]?
        for (int k = 0; k < left; ++k) {
            sum += fabsf(mine - tile[k]);
        }
    }

    // Excluded: threads without an element.
    if (i < n) {
        out[i] = sum;
    }
}
