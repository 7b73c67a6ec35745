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

    //@solution 512 float4 of keys, 128 of queries: neighbours read neighbours
    for (int k = t; k < 512; k += 256) {
        // Excluded: keys past the last one.
        if (first_key + k / 16 < Nk) Ks[k / 16][k % 16] = K[k];
    }
    // Excluded: half of the threads, and queries past the last one.
    if (t < 128 && first_query + t / 16 < Nq) Qs[t / 16][t % 16] = Q[t];
    __syncthreads();  // the tile's keys and queries are in place
    //@stub
    //@ // Ks and Qs are still empty.
    //@end

    // Excluded: threads past the last key or query; no barrier follows.
    if (first_key + x >= Nk || first_query + y >= Nq) return;
    float dot = 0.0f;
    for (int c = 0; c < 16; ++c) {
        //@solution take both from the tile
        const float4 a = Qs[y][c], b = Ks[x][c];
        //@stub
        //@ const float4 a = Q[y * 16 + c], b = K[x * 16 + c];
        //@end
        dot += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    S[(head * Nq + first_query + y) * Nk + first_key + x] = scale * dot;
}
