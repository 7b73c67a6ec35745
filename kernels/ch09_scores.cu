// S = scale * Q K^T, one thread a score: attention's first matrix product.
//
// grid:  (ceil(Nk / 32), ceil(Nq / 8), heads)      block: (32, 8) threads
// Q:     float32 (heads, Nq, 64), read, 16-byte aligned
// K:     float32 (heads, Nk, 64), read, 16-byte aligned
// S:     float32 (heads, Nq, Nk), written: Nq * Nk scores for each head
// scale: usually 1 / sqrt(64)
extern "C" __global__ void scores(const float* Q, const float* K, float* S,
                                  int Nq, int Nk, float scale) {
    constexpr int d = 64;
    const int col = blockIdx.x * 32 + threadIdx.x;  // the key
    const int row = blockIdx.y * 8 + threadIdx.y;   // the query
    const int head = blockIdx.z;

    // Excluded: threads past the last key or the last query.
    if (col >= Nk || row >= Nq) return;

    // q points at my query's row, k at my key's: 16 float4 each. The lanes of
    // a warp share q, and read 32 different rows of K.
    const float4* q = (const float4*)(Q + ((size_t)head * Nq + row) * d);
    const float4* k = (const float4*)(K + ((size_t)head * Nk + col) * d);
    float dot = 0.0f;
    for (int c = 0; c < d / 4; ++c) {
        const float4 a = q[c];
        const float4 b = k[c];
        dot += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    S[((size_t)head * Nq + row) * Nk + col] = scale * dot;
}
