// Each thread adds up elements of x in `rounds` rounds; in every round, the
// threads together read the whole of x once.
//
// grid:   n / 128 blocks      block: 128 threads
// x:      float32 (n), read `rounds` times; n a multiple of 128
// y:      float32 (n), written
extern "C" __global__ void read_again(const float* x, float* y, int n,
                                      int rounds) {
    const int i = blockIdx.x * 128 + threadIdx.x;   // 0 .. n - 1
    const int far = max(128, n / rounds / 128 * 128);  // blocks on
    int k = i;                          // my element of this round
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        sum += x[k];
        k += far;                       // far away: no neighbour just read it
        if (k >= n) k -= n;             // after the end comes the start
    }
    y[i] = sum;
}
