// S = scale * Q K^T through shared memory: a block's 8 queries share its 32
// keys, so each row is fetched once a block instead of once a score.
//
// grid:   (ceil(Nk / 32), ceil(Nq / 8), heads)      block: (32, 8) threads
// shared: 32 keys and 8 queries, each 16 float4 and one of padding
// Q:      float32 (heads, Nq, 64), read, 16-byte aligned, as is K
// K:      float32 (heads, Nk, 64), read
// S:      float32 (heads, Nq, Nk), written
extern "C" __global__ void scores_tile(const float4* Q, const float4* K,
                                       float* S, int Nq, int Nk, float scale) {
    __shared__ float4 Ks[32][17], Qs[8][17];
    const int x = threadIdx.x, y = threadIdx.y;     // 0 .. 31, 0 .. 7
    const int t = y * 32 + x;                       // 0 .. 255
    const int first_key = blockIdx.x * 32, first_query = blockIdx.y * 8;
    const size_t head = blockIdx.z;
    Q += (head * Nq + first_query) * 16;            // now at my block's first
    K += (head * Nk + first_key) * 16;              // query, and first key

    // TODO (5 lines): 512 float4 of keys, 128 of queries: neighbours read
    //   neighbours
    // Ks and Qs are still empty.

    // Excluded: threads past the last key or query; no barrier follows.
    if (first_key + x >= Nk || first_query + y >= Nq) return;
    float dot = 0.0f;
    for (int c = 0; c < 16; ++c) {
        // TODO (1 line): take both from the tile
        const float4 a = Q[y * 16 + c], b = K[x * 16 + c];
        dot += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    S[(head * Nq + first_query + y) * Nk + first_key + x] = scale * dot;
}
