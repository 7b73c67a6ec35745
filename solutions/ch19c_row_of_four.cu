// The weights of 16 queries for 16 keys, P = softmax(scale * Q K^T), straight
// from the fragments of the scores.
//
// grid:  1 block          block: 32 threads: one warp
// Q, K:  fp16 (16, 16), read
// P:     float32 (16, 16), written     LSE: float32 (16), written
#include <ptx.cuh>

extern "C" __global__ void row_of_four(const __half* Q, const __half* K,
                                       float* P, float* LSE, float scale) {
    constexpr int d = 16;
    const int group = threadIdx.x / 4;     // my rows: group and group + 8
    const int pair = threadIdx.x % 4 * 2;  // where my pairs begin
    const __half* at = Q + group * d + pair;
    const unsigned q[4] = {
        *(const unsigned*)at, *(const unsigned*)(at + 8 * d),
        *(const unsigned*)(at + 8), *(const unsigned*)(at + 8 * d + 8)};
    float s[2][4] = {};  // two fragments of 16 queries x 8 keys
    for (int j = 0; j < 2; ++j) {
        const __half* k = K + (8 * j + group) * d + pair;
        ptx::mma_m16n8k16(s[j], q, *(const unsigned*)k,
                          *(const unsigned*)(k + 8), __half());
    }

    //@solution m and l of my upper and of my lower row, then P and LSE
    for (int h = 0; h < 2; ++h) {
        // Of row group + 8 h I hold elements 2 h and 2 h + 1 of each
        // fragment. The rest of it lies in the lanes of my group of four.
        float m = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]),
                        fmaxf(s[1][2 * h], s[1][2 * h + 1]));
        for (int w = 1; w <= 2; w *= 2) {
            m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));
        }
        float l = 0.0f;
        for (int j = 0; j < 2; ++j) {
            for (int e = 2 * h; e < 2 * h + 2; ++e) {
                s[j][e] = expf(scale * (s[j][e] - m));
                l += s[j][e];
            }
        }
        for (int w = 1; w <= 2; w *= 2) {
            l += __shfl_xor_sync(0xffffffffu, l, w);
        }
        const int row = group + 8 * h;
        for (int j = 0; j < 2; ++j) {
            P[row * 16 + 8 * j + pair] = s[j][2 * h] / l;
            P[row * 16 + 8 * j + pair + 1] = s[j][2 * h + 1] / l;
        }
        if (pair == 0) LSE[row] = scale * m + logf(l);
    }
    //@stub
    //@ // Chapter 10's: my keys, then all lanes.
    //@ float m = s[0][0];
    //@ for (int i = 0; i < 8; ++i) m = fmaxf(m, s[i / 4][i % 4]);
    //@ for (int w = 16; w > 0; w /= 2) {
    //@     m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, w));
    //@ }
    //@ float l = 0.0f;
    //@ for (int i = 0; i < 8; ++i) {
    //@     s[i / 4][i % 4] = expf(scale * (s[i / 4][i % 4] - m));
    //@     l += s[i / 4][i % 4];
    //@ }
    //@ for (int w = 16; w > 0; w /= 2) {
    //@     l += __shfl_xor_sync(0xffffffffu, l, w);
    //@ }
    //@ for (int i = 0; i < 8; ++i) {
    //@     const int row = group + i % 4 / 2 * 8;
    //@     P[row * 16 + i / 4 * 8 + pair + i % 2] = s[i / 4][i % 4] / l;
    //@     if (pair == 0) LSE[row] = scale * m + logf(l);
    //@ }
    //@end
}
